#!/usr/bin/env python3
"""
The figures of papers, in model/perf/published.json: each has all that identifies
it, and the place in the paper.
"""
import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "harness"))
import tap  # noqa: E402

BOUNDS = {"exactly", "about", "at least", "at most", "above", "below"}


def workloads():
    """The names by which workloads are registered, and patterns and operations that are none."""
    found = {"put", "signal"}
    for path in glob.glob(os.path.join(ROOT, "kernels", "*", "workload.c")):
        with open(path, encoding="utf-8") as file:
            found.add(re.findall(r'^\t\.name = "([\w-]+)",$', file.read(), re.M)[-1])
    return found


def faults_of(entry, known):
    keys = {
        "workload", "machine", "shape", "options", "dtype", "pattern", "figure", "bound", "unit",
        "baseline", "source", "from"
    }  # fmt: skip
    if set(entry) - {"note"} != keys:
        yield f"its keys differ: {set(entry) ^ keys}"
        return
    for name in entry["workload"].split(","):
        if name not in known:
            yield f"{name} is no workload"
    if not isinstance(entry["figure"], (int, float)) or entry["figure"] <= 0:
        yield "no figure"
    if entry["bound"] not in BOUNDS or entry["from"] not in ("table", "text", "picture"):
        yield "bound or from is unknown"
    if entry["machine"] and not re.fullmatch(r"[a-z]+\d+x?x[1248]", entry["machine"]):
        yield f"machine {entry['machine']}"
    if entry["shape"] and not re.fullmatch(r"\d+x\d+x\d+", entry["shape"]):
        yield f"shape {entry['shape']}"
    if not re.search(r"section \d|page, ", entry["source"]):
        yield "the source says no section"
    if (entry["unit"] == "times as fast") != bool(entry["baseline"]):
        yield "a ratio, and what it is to, go together"


def main():
    with open(os.path.join(ROOT, "model", "perf", "published.json"), encoding="utf-8") as file:
        entries = json.load(file)["figures"]
    known = workloads()
    faults = [(fault, entry) for entry in entries for fault in faults_of(entry, known)]
    tap.verdict(len(entries) > 50 and not faults, "figures of papers", json.dumps(faults, indent=1))
    table = {
        (entry["shape"], entry["figure"]) for entry in entries
        if entry["unit"] == "ms" and "table 3" in entry["source"] and entry["machine"] == "h100x8"
    }
    tap.verdict(
        len(table) == 10 and ("32768x32768x32768", 11.828) in table, "the ten times of table 3",
        table
    )
    spoilt = dict(entries[0], figure=0)
    tap.verdict(bool(list(faults_of(spoilt, known))), "a figure of 0 is a fault")
    sys.exit(tap.exit_code())


if __name__ == "__main__":
    main()
