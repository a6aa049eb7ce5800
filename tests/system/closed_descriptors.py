#!/usr/bin/env python3
"""
Programs that are started with some of the descriptors 0, 1 and 2 closed, as
daemons and careless parents start them. The next descriptor that such a program
opens becomes its standard output, and what it prints goes there.
"""
import itertools
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))

import lane
import tap

HELLO = os.path.join(lane.BUILD, "examples", "hello")
LITMUS = os.path.join(lane.ROOT, "tests", "litmus", "MP.rel.acq.diffGPU-ss.litmus")
PRODUCT = (
    "bench gemm-all-scatter -n 2 --pattern fused-sequential --shape 128x128x64 --iterations 1 -w 0"
    " --verify --no-tuned --json".split()
)

# What leaves its results in a file, and the file. The standard output may be closed: then the
# command says that it is lost.
WRITING = (
    [*PRODUCT, "out.json"],
    "perf put -n 2 -b 8 -e 8 -N 2 -m 1 -w 0 --json out.json".split(),
    ["litmus", LITMUS, "--json", "out.json"],
    ["check", "-n", "2", "--seeds", "3", "--no-slowdown", "--json", "out.json", HELLO],
)
PRINTING = (["--version"], ["--help"], ["info"], ["litmus", LITMUS])


def without(closed, command, **options):
    """Runs a command with these descriptors closed."""

    def close():
        for fd in closed:
            os.close(fd)

    return lane.run(command, preexec_fn=close, **options)


def name_of(closed):
    return "without " + " and ".join(map(str, closed))


def ends_well(closed, code):
    """What prints, and whose output is lost, must not say that all is well; anything else must."""
    return code not in (None, 0) and code > 0 if 1 in closed else code == 0


def worlds(closed):
    for placement, ranks in (("process", 1), ("process", 3), ("thread", 3)):
        with tempfile.TemporaryDirectory() as folder:
            code, text = without(
                closed,
                [
                    lane.TESSERA, "run", "-n", str(ranks), "--placement", placement, lane.WORLD,
                    folder
                ]
            )
            right = (
                ends_well(closed, code) and len(lane.ranks_that_are_right(ranks, folder)) == ranks
            )
            tap.verdict(
                right, f"{name_of(closed)}: {ranks} as {placement}", f"exit code {code}\n{text}"
            )


def commands(closed):
    for command in WRITING:
        with tempfile.TemporaryDirectory() as folder:
            code, text = without(closed, [lane.TESSERA, *command], cwd=folder)
            try:
                with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
                    whole = bool(json.load(file))
            except (OSError, ValueError):
                whole = False
            tap.verdict(
                whole and ends_well(closed, code), f"{name_of(closed)}: {command[0]} --json",
                f"exit code {code}, file whole: {whole}\n{text}"
            )
    for command in PRINTING:
        code, text = without(closed, [lane.TESSERA, *command])
        told = (
            2 in closed
            or 1 not in closed
            or all("what was printed is lost" in line for line in text.splitlines() or [""])
        )
        tap.verdict(
            told and ends_well(closed, code), f"{name_of(closed)}: {command[0]}",
            f"exit code {code}\n{text}"
        )


for count in (1, 2, 3):
    for combination in itertools.combinations((0, 1, 2), count):
        worlds(combination)
        commands(combination)
sys.exit(tap.exit_code())
