#!/usr/bin/env python3
"""
Every call of a block behind every other one on the same memory, without a
meeting between the two: tessera check reports those pairs that need one by
docs/order-in-a-block.md, and no others.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

BUILD = os.environ["BUILD"]
PROGRAM = os.path.join(BUILD, "tests/planted/races/pairs")
SOURCE = "tests/planted/races/pairs.c"

ATOMIC_READS = {"atomic_cas", "atomic_load", "atomic_acquire", "atomic_half", "wait_word", "wait"}
ATOMIC = ATOMIC_READS | {"atomic_store", "atomic_release", "atomic_add", "signal"}
READS = ATOMIC_READS | {
    "put_from", "put_2d_from", "put_all_from", "put_signal_from", "put_marked_from", "get_from",
    "copy_from", "sum_rows", "get_value", "get_record", "tile_load", "load", "rows_load", "frag_add"
}
MEETS_BEFORE = {"atomic_release", "signal"}
MEETS_AFTER = {"atomic_acquire", "wait", "put_signal_from"}
# by fragments of one kind at one place
LOADS, STORES = {"tile_load", "load"}, {"tile_store", "store"}
SAME_PLACE = {(a, b) for a in LOADS for b in STORES} | {
    ("rows_load", "rows_store"), ("frag_add", "frag_save")
}


def calls():
    """The calls of the program, and where each is made: by number, and by line."""
    names, lines, name = [], {}, None
    with open(SOURCE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            begins = re.match(r"TSR_FN void (\w+)\(tsr_coop_t \*c,", line)
            listed = re.search(r"\bCALL\(\d+, .*, (\w+)\);", line)
            name = begins.group(1) if begins else None if line == "}\n" else name
            if listed:
                names.append(listed.group(1))
            elif name and not begins and re.search(r"\btsr_(?!frag_zero|rows_fill)\w+\(c,", line):
                lines[number] = name
    return names, lines


def needs_meeting(first, second):
    """The table of docs/order-in-a-block.md."""
    if first in READS and second in READS:
        return False
    if {first, second} <= ATOMIC | {"store_add"}:
        return False
    if second in MEETS_BEFORE or first in MEETS_AFTER:
        return False
    return (first, second) not in SAME_PLACE


def run(memory, ranks, *arguments):
    """The findings: pairs of calls that race within the coop, and the rest."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [
            "tessera", "check", "-n", str(ranks), "--seeds", "1", "--no-slowdown", "--weak",
            memory, "--json", report, PROGRAM, *map(str, arguments)
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if not os.path.exists(report):
            return set(), [result.stderr]
        with open(report, encoding="utf-8") as file:
            found = json.load(file)["findings"]
    pairs, others = set(), []
    for finding in found:
        if finding["class"] == "coop-race":
            now, before = finding["access"][:2]
            pairs.add((LINES.get(before["line"]), LINES.get(now["line"])))
        else:
            others.append(f"{finding['class']} {[each['line'] for each in finding['access']]}")
    return pairs, others


def told(want, got):
    return "\n".join(
        [f"silent: {a}, then {b}" for a, b in sorted(want - got)] +
        [f"told without need: {a}, then {b}" for a, b in sorted(got - want, key=str)]
    )


NAMES, LINES = calls()
verdict(
    len(NAMES) == 38 and set(LINES.values()) == set(NAMES), "the calls and their lines are known",
    set(NAMES) ^ set(LINES.values())
)
for kind, ranks in (("fresh", 1), ("words", 1), ("peer", 2), ("shared", 1)):
    for memory in ("view", "cache"):
        # each call is in some pair that is told of
        pairs, others = run(memory, ranks, kind, "unmet")
        made = {each for pair in pairs for each in pair}
        want = {(a, b) for a in made for b in made if needs_meeting(a, b)}
        few = {"fresh": 38, "words": 38, "peer": 25, "shared": 17}[kind]
        verdict(
            pairs == want and len(made) == few and not others,
            f"pairs that need a meeting, and no others: {kind} memory, {memory}",
            told(want, pairs) + f"\n{len(made)} calls; {others}"
        )
    pairs, others = run("view", ranks, kind, "met")
    verdict(not pairs and not others, f"and none that meets: {kind} memory", f"{pairs} {others}")

# What a fragment reads where it then writes needs no meeting; what others have read there does.
for between, last in sorted(SAME_PLACE):
    for kind in ("fresh", "words"):
        pairs, others = run("view", 1, kind, "again", NAMES.index(between), NAMES.index(last))
        want = {(each, last) for each in NAMES if needs_meeting(each, last)}
        got = {pair for pair in pairs if pair[1] == last}
        verdict(
            got == want and not others,
            f"a {between} and a {last} of one fragment hide no earlier call: {kind} memory",
            told(want, got)
        )
sys.exit(exit_code())
