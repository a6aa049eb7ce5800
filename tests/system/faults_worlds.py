#!/usr/bin/env python3
"""
Worlds of 1, 2 and 3 ranks, as processes and as threads, and windows on the
program's memory, with one system call failing at a time. tests/faults/README.md says how.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

import sweep


def right(ranks):
    def judge(made, _):
        wanted = [f"rank {rank} of {ranks}: 0 wrong" for rank in range(ranks)]
        # A write that is cut in two may have another rank's line in its middle.
        return (
            "" if sorted(made.out) == sorted("\n".join(wanted) + "\n") else f"printed {made.out!r}"
        )

    return judge


def world(ranks, placement, name="world"):
    program = os.path.join(sweep.BUILD, "tests", "faults", name)
    command = [
        os.path.join(sweep.BUILD, "tessera"), "run", "-n", str(ranks), "--placement", placement,
        program
    ]
    what = f"{ranks} as {placement}" if name == "world" else f"{name}, {ranks} as {placement}"
    return sweep.Run(what, command, right(ranks))


sys.exit(
    sweep.main(
        [world(ranks, placement) for placement in ("process", "thread") for ranks in (1, 2, 3)]
        + [world(2, placement, "windowed") for placement in ("process", "thread")]
    )
)
