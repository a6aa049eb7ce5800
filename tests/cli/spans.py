#!/usr/bin/env python3
"""
Spans of the host go to the libraries of profilers that are there: a fake one
counts what is pushed and popped, and each process writes a file.
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

RANKS, RUNS = 2, 3


def run(folder, *libraries, placement="process"):
    """What each process told: pushes, pops, pops of nothing, names."""
    told = os.path.join(folder, "told")
    fakes = [os.path.join(os.environ["BUILD"], "tests", "fakes", name) for name in libraries]
    path = ":".join(fakes + [os.environ.get("LD_LIBRARY_PATH", "")])
    done = subprocess.run(
        [
            "tessera", "bench", "gemm-all-scatter", "-n", str(RANKS), "-p", placement, "--pattern",
            "bulk-synchronous", "--shape", "32x32x16", "--iterations", str(RUNS),
            "-w", "0", "--no-tuned"
        ], env={**os.environ, "LD_LIBRARY_PATH": path, "FAKE_RANGES": told},
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False
    )
    verdict(done.returncode == 0, f"{libraries}, {placement}: the bench runs", done.stderr)
    rows = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            pushed, popped, below, names = file.read().rstrip("\n").split(" ", 3)
        rows.append((int(pushed), int(popped), int(below), names.split(";")))
        os.remove(os.path.join(folder, name))
    return rows


def check_one(folder, library, placement):
    rows = run(folder, library, placement=placement)
    processes = RANKS if placement == "process" else 1
    name = f"{library}, {placement}"
    verdict(
        len(rows) == processes and all(row[0] for row in rows), f"{name}: each rank has spans",
        str(rows)
    )
    verdict(
        all(pushed == popped and below == 0 for pushed, popped, below, _ in rows),
        f"{name}: each span that begins ends, in its thread", str(rows)
    )
    wanted = {
        "open gemm-all-scatter", "run bulk-synchronous", "tsr_launch gas_gemm",
        "tsr_launch gas_all_scatter", "tsr_stream_sync", "tsr_barrier"
    }
    verdict(
        all(wanted <= set(names) for *_, names in rows), f"{name}: spans have names", str(rows)
    )
    # a plan, the runs, and of each run two kernels twice
    least = (1 + RUNS + 4 * RUNS) * RANKS // processes
    verdict(all(row[0] >= least for row in rows), f"{name}: no span is missing", str(rows))


def main():
    if os.environ["BUILD"].endswith("tsan"):
        print("ok - spans # skip the fake libraries are not built for it")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for placement in ("process", "thread"):
            for library in ("nvtx", "roctx"):
                check_one(folder, library, placement)
        verdict(run(folder) == [], "without a library nothing is called")
        both = run(folder, "nvtx", "roctx")
        verdict(
            len(both) == 2 * RANKS and all(row[0] == row[1] for row in both),
            "both libraries get the spans", str(both)
        )
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
