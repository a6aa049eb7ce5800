#!/usr/bin/env python3
"""
Every workload in each of its patterns, on two and four emulated nodes: every
element of every output. Kernels, plans and cases are those of one node.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads"))
import cases  # noqa: E402
from cases import tap  # noqa: E402

import lane  # noqa: E402

LIMIT_S = 180
WORLDS = ((2, 2), (3, 2), (5, 4), (8, 2))  # ranks and nodes, which cases take in turn
MOST_CASES = 2  # of a pattern


def run(workload, pattern, case, number):
    ranks, nodes = WORLDS[number % len(WORLDS)]
    inputs = ["--integers"] if number % 2 == 0 else ["--seed", str(number)]
    command = [
        "tessera", "bench", workload, "-n", str(ranks), "--nodes", str(nodes), "--pattern", pattern,
        "--verify", "--iterations=1", "-w", "0", "--no-tuned", *inputs, *case.split()
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
            check=False
        )
        code, text = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, text = None, f"it did not end within {LIMIT_S} s"
    rows = [line for line in text.splitlines() if line.startswith(pattern + " ")]
    good = code == 0 and len(rows) == 1 and rows[0].endswith(" ok")
    name = f"{workload}, {pattern}, {case}, {ranks} ranks on {nodes} nodes"
    tap.verdict(good, name, text[-2000:])


def main():
    if not os.path.exists(os.path.join(lane.BUILD, "plugins", "libtessera-net-ucx.so")):
        lane.skip("workloads on several nodes", "no UCX: nothing carries their messages")
        return 0
    number = 0
    for name, parts in cases.workloads().items():
        for pattern in parts["patterns"]:
            for case in parts["cases"][:MOST_CASES]:
                run(name, pattern, case, number)
                number += 1
    return tap.exit_code()


if __name__ == "__main__":
    sys.exit(main())
