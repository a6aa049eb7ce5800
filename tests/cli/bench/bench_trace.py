#!/usr/bin/env python3
"""
--trace and --picture: the files say what the run did. Rows of the trace are
compared with each other and with what the bench prints.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

RANKS, TILES = 3, 4 * 4  # of each rank's part: 192 x 64, tiles of 48 x 16
SHAPE = ["--shape", "192x192x32", "--tile", "16x16x16", "--dtype", "bf16"]
ROUNDING_US = 0.01


def bench(*arguments, name="gemm-all-scatter"):
    words = f"bench {name} -n {RANKS} --iterations 2 -w 0 --no-tuned"
    command = ["tessera", *words.split()]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=600,
        stdin=subprocess.DEVNULL
    )


class Trace:
    """The rows of a file by what they are."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        self.about, self.rows = whole["otherData"], whole["traceEvents"]
        self.by_kind = collections.defaultdict(list)
        for row in self.rows:
            self.by_kind[row["ph"]].append(row)

    def slices(self, name=None):
        return [row for row in self.by_kind["X"] if name in (None, row["name"])]

    def runs(self):
        """{(rank, thread): the runs of kernels there}."""
        found = collections.defaultdict(list)
        for row in self.slices():
            if "role" in row["args"]:
                found[row["pid"], row["tid"]].append(row)
        return found


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def inside(inner, outer):
    begin, end = inner["ts"], inner["ts"] + inner.get("dur", 0)
    return (
        outer["ts"] <= begin + ROUNDING_US and end <= outer["ts"] + outer["dur"] + ROUNDING_US
    )


def nothing_outside(trace):
    """Whether each event is within a run of its worker's kernel."""
    runs = trace.runs()
    events = [
        row for row in trace.rows if row["ph"] in "Xisf" and "role" not in row.get("args", {})
    ]
    return all(
        any(inside(row, run) for run in runs[row["pid"], row["tid"]]) for row in events
    ) and len(events) > 0


def arrows_fit(trace):
    """Whether each arrow begins at a signal, ends with a wait of its rank, and not before."""
    begins = {row["id"]: row for row in trace.by_kind["s"]}
    ends = {row["id"]: row for row in trace.by_kind["f"]}
    at = {(row["pid"], row["tid"], row["ts"]) for row in trace.by_kind["i"]}
    waits = {
        (row["pid"], row["tid"], nanoseconds(row["ts"]) + nanoseconds(row["dur"]))
        for row in trace.slices("wait")
    }
    return begins.keys() == ends.keys() and len(begins) > 0 and all(
        (begins[i]["pid"], begins[i]["tid"], begins[i]["ts"]) in at
        and (ends[i]["pid"], ends[i]["tid"], nanoseconds(ends[i]["ts"])) in waits
        and begins[i]["ts"] <= ends[i]["ts"]
        for i in begins
    )


def nothing_left_in_flight(trace):
    """Whether bytes in flight are never negative, and none in the end."""
    for rank in range(RANKS):
        counts = [row["args"]["bytes"] for row in trace.by_kind["C"] if row["pid"] == rank]
        if any(row["pid"] == rank for row in trace.slices("send")) != bool(counts):
            return False
        if counts and (min(counts) < 0 or counts[-1] != 0):
            return False
    return True


def check_fused(folder):
    path, picture = os.path.join(folder, "t.json"), os.path.join(folder, "p.svg")
    done = bench(*SHAPE, "--pattern", "fused-sequential", "--trace", path, "--picture", picture)
    verdict(done.returncode == 0, "a traced run succeeds", done.stderr)
    trace = Trace(path)
    wanted = {
        "workload": "gemm-all-scatter", "pattern": "fused-sequential",
        "problem": "192x192x32 bf16", "backend": "cpuemu", "clock_error_us": 0.0, "events_lost": 0
    }
    told = {name: trace.about.get(name) for name in wanted}
    verdict(told == wanted, "the trace says what was run", str(trace.about))
    names = {row["args"]["name"] for row in trace.by_kind["M"] if row["name"] == "process_name"}
    verdict(names == {f"rank {r}" for r in range(RANKS)}, "a process a rank", str(names))
    per_rank = collections.Counter(row["pid"] for row in trace.slices("product"))
    verdict(
        per_rank == {r: 12 * TILES // 4 for r in range(RANKS)}, "a slice a product",
        str(per_rank)
    )
    sent = sum(row["args"]["bytes"] for row in trace.slices("send"))
    verdict(
        sent == 192 * 192 * 2 * (RANKS - 1), "sends add up to what peers got", f"{sent} bytes"
    )
    verdict(nothing_outside(trace), "no event is outside of its worker's run")
    verdict(arrows_fit(trace), "arrows go from signals to waits, and never back in time")
    verdict(nothing_left_in_flight(trace), "bytes in flight are zero in the end")
    check_picture(picture)


def check_picture(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    verdict(
        texts[0] == "gemm-all-scatter, fused-sequential, 192x192x32 bf16 on cpuemu",
        "the picture has a heading", str(texts)
    )
    verdict(
        all(f"rank {r}" in texts for r in range(RANKS))
        and all(texts.count(row) == RANKS for row in ("product", "send", "wait")),
        "a picture has three rows a rank", str(texts)
    )
    verdict(sum(bool(re.fullmatch(r"[\d.e+]+ us", text)) for text in texts) >= 3, "and times")
    paths = [element.get("d") for element in root.iter() if element.tag.endswith("path")]
    moved = [row for row in paths if len(set(re.findall(r"V([\d.]+)", row))) > 2]
    verdict(len(paths) == 3 * RANKS and len(moved) >= 2 * RANKS, "rows rise and fall", str(paths))


def check_all_patterns(folder):
    path, picture = os.path.join(folder, "a.b", "all.json"), os.path.join(folder, "a.b", "all")
    os.mkdir(os.path.join(folder, "a.b"))
    done = bench(
        "--shape", "32x64x32", "--tile", "16x16x16", "--pattern",
        "bulk-synchronous,own-chunk-last", "--trace", path, "--picture", picture,
        name="gemm-reduce-scatter"
    )
    verdict(done.returncode == 0, "two patterns are traced", done.stderr)
    wanted = {
        f"all-{pattern}{suffix}" for pattern in ("bulk-synchronous", "own-chunk-last")
        for suffix in (".json", "")
    }
    found = set(os.listdir(os.path.join(folder, "a.b")))
    verdict(found == wanted, "each pattern has files of its own", str(found))
    for name in sorted(found):
        if name.endswith(".json"):
            trace = Trace(os.path.join(folder, "a.b", name))
            verdict(
                nothing_outside(trace) and arrows_fit(trace) and nothing_left_in_flight(trace),
                f"{name} is of one piece"
            )


def check_refusals(folder):
    for option in ("--trace", "--picture"):
        done = bench(*SHAPE, option, os.path.join(folder, "none", "file"))
        verdict(
            done.returncode == 2 and option in done.stderr and done.stderr.count("\n") == 1,
            f"{option}: a folder that does not exist is refused before anything runs",
            f"{done.returncode}: {done.stderr}"
        )
        done = bench(*SHAPE, "--pattern", "banded", option, "/dev/full")
        verdict(
            done.returncode == 1 and "/dev/full" in done.stderr,
            f"{option}: a full disk is said to be", f"{done.returncode}: {done.stderr}"
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_fused(folder)
        check_all_patterns(folder)
        check_refusals(folder)
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
