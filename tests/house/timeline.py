#!/usr/bin/env python3
"""model/perf/timeline: lags that are known, and files that it cannot compare."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "harness"))
import tap  # noqa: E402


def event(name, rank, begin, end):
    return {"ph": "X", "name": name, "pid": rank, "tid": 0, "ts": begin, "dur": end - begin}


def run(folder, measured, simulated):
    paths = [os.path.join(folder, name) for name in ("measured", "simulated")]
    for path, events in zip(paths, (measured, simulated)):
        with open(path, "w", encoding="ascii") as file:
            json.dump({"traceEvents": events}, file)
    return subprocess.run(
        [os.path.join(ROOT, "model", "perf", "timeline"), *paths], capture_output=True, text=True,
        timeout=60, check=False
    )


def main():
    # A run of 100 us on two ranks, which begins at 1000; the simulated one begins at 0.
    kernels = [event("kernel", rank, 1000, 1100) for rank in (0, 1)]
    products = [event("product", rank, 1000, 1000 + 10 * k) for rank in (0, 1) for k in range(1, 6)]
    late = [event("kernel", 0, 0, 120)] + [
        event("product", rank, 0, 10 * k + (4 if rank == 0 else 2))
        for rank in (1, 0) for k in range(5, 0, -1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        done = run(folder, kernels + products, kernels + products)
        tap.verdict("product       10    0.00    0.00    0.00" in done.stdout, "the same", done)
        done = run(folder, kernels + products, late)
        tap.verdict(
            done.returncode == 0 and "product       10    3.00    4.00    4.00" in done.stdout
            and "1.200 times" in done.stdout and "send           0       -" in done.stdout,
            "2 % on one rank, 4 % on the other, in whatever order workers come", done
        )
        done = run(folder, kernels + products, late[:-1])
        tap.verdict(
            "product       10       - (simulated: 9;" in done.stdout, "another configuration", done
        )
        for events in ([], [{"ph": "M"}], "x"):
            done = run(folder, kernels, events)
            tap.verdict(
                done.returncode == 2 and "give a file of --trace" in done.stderr
                and done.stderr.count("\n") == 1, f"no trace: {events}", done
            )
    return tap.exit_code()


sys.exit(main())
