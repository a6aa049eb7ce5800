#!/usr/bin/env python3
"""
The finding that tessera check shows first of a planted bug, and whether its
cure is right: tests/planted/cures.tsv has a line for each bug. Of these cures
95 % must be right. Lines: program, its bug, right or wrong as a person has
judged it, the class, and the begin of the change without lines' numbers.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../harness"))
from tap import exit_code, verdict  # noqa: E402

PLANTED = os.path.join(HERE, "..", "..", "planted", "cures.tsv")
FIRST = re.compile(
    r"^(?:finding|warning): ([\w-]+):.*?^  change +(.*?)^  (?:cause|replay) ", re.S | re.M
)
PLACE = re.compile(r"\S*?(\w+\.[ch]):\d+")


def first_finding(program, bug):
    """Its class, and its change on one line without the numbers of lines."""
    path = os.path.join(os.environ["BUILD"], "tests", "planted", program)
    ran = subprocess.run(
        ["tessera", "check", "-n", "3", "--seeds", "15", "--no-slowdown", path, bug],
        capture_output=True, text=True, timeout=120
    )
    found = FIRST.search(ran.stdout)
    return (found[1], PLACE.sub(r"\1", " ".join(found[2].split()))) if found else ("none", "")


def main():
    with open(PLANTED, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    right = 0
    for program, bug, judged, kind, change in rows:
        shown = first_finding(program, bug)
        same = shown[0] == kind and shown[1].startswith(change)
        right += same and judged == "right"
        verdict(same, f"{program} {bug}: its first cure is the {judged} one", f"{shown}")
    verdict(
        100 * right >= 95 * len(rows), f"right cures come first: {right} of {len(rows)}",
        "less than 95 %"
    )
    return exit_code()


sys.exit(main())
