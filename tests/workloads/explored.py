#!/usr/bin/env python3
"""
Every workload that is registered, in each of its patterns and cases, explored
by tessera check in worlds of 2 and 3, with each of the memories, and on two
nodes: nothing is found. tests/mutants shows that something would be.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
from cases import tap  # noqa: E402

SEEDS = 4
# AddressSanitizer takes three times as long.
LIMIT_S = cases.LIMIT_S * (3 if os.environ["BUILD"].endswith("-asan") else 1)
MEMORIES = ("--weak view", "--weak cache", "--nodes 2")


def explore(workload, pattern, case, ranks, memory):
    command = [
        "tessera", "check", "-n", str(ranks), "--seeds", str(SEEDS), *memory.split(),
        "--no-slowdown", "--quiet-limit", f"{LIMIT_S}s", workload, "--pattern", pattern
    ]
    done = subprocess.run(
        command + case.split(), capture_output=True, text=True, stdin=subprocess.DEVNULL,
        timeout=LIMIT_S, check=False
    )
    good = done.returncode == 0 and done.stdout.rstrip().endswith("no finding")
    tap.verdict(
        good, f"{workload}, {pattern}, {case}, {ranks} ranks, {memory}",
        f"exit code {done.returncode}\n{(done.stdout + done.stderr)[-1500:]}"
    )


def main():
    explored = 0
    for name, parts in cases.workloads().items():
        for pattern in parts["patterns"]:
            for number, case in enumerate(parts["cases"]):
                explore(name, pattern, case, 2 + number % 2, MEMORIES[explored % len(MEMORIES)])
                explored += 1
    sys.exit(tap.exit_code())


if __name__ == "__main__":
    main()
