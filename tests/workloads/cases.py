#!/usr/bin/env python3
"""
Every workload that is registered, in each of its patterns and cases, in worlds
of 1, 2, 3, 5 and 8: every element of every output, of integers bit for bit,
after the first run, after repeated ones and after timed ones. `tessera bench
--list` says what there is.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "python")
)
import tap  # noqa: E402
from workloads import listed  # noqa: E402

WORLDS = (1, 2, 3, 5, 8)
LIMIT_S = 120


def run(words):
    return subprocess.run(
        ["tessera", "bench"] + words, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        timeout=LIMIT_S, check=False
    )


def workloads():
    """All that are registered, as bench/python/workloads.py gives them."""
    return listed(run(["--list"]).stdout)


def try_case(workload, pattern, case, number):
    """One case in all worlds; its placement and its inputs take turns."""
    failed = []
    for index, ranks in enumerate(WORLDS):
        inputs = ["--integers"] if index % 2 == 0 else ["--seed", str(number * 10 + index)]
        placement = ["--placement", "thread"] if (number + index) % 2 else []
        done = run(
            [
                workload, "-n", str(ranks), "--pattern", pattern, "--verify", "--iterations=1",
                "-w", "0", "--no-tuned"
            ]
            + inputs
            + placement
            + case.split()
        )
        row = [line for line in done.stdout.splitlines() if line.startswith(pattern + " ")]
        if done.returncode or len(row) != 1 or not row[0].endswith(" ok"):
            failed.append(
                f"{ranks} ranks, exit code {done.returncode}: {' '.join(row)}"
                f" {done.stderr.strip()[:300]}"
            )
    tap.verdict(not failed, f"{workload}, {pattern}, {case}", "\n".join(failed))


def main():
    found = workloads()
    tap.verdict(bool(found), "there are workloads")
    for name, parts in found.items():
        tap.verdict(
            parts["patterns"] and parts["cases"] and parts["parameters"],
            f"{name} has patterns, parameters and cases"
        )
        for pattern in parts["patterns"]:
            for number, case in enumerate(parts["cases"]):
                try_case(name, pattern, case, number)
    sys.exit(tap.exit_code())


if __name__ == "__main__":
    main()
