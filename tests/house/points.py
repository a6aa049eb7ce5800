#!/usr/bin/env python3
"""
model/perf/points, on made-up results: which points it takes, what it says of
each, and what it refuses in one sentence.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "harness"))
import tap  # noqa: E402

TIMES = [90, 100, 100, 100, 100, 100, 110, 120]


def pattern(name="push", median=100, **more):
    return {
        "pattern": name, "median_ns": median, "times_ns": TIMES, "verdict": None, "tuned_on": None,
        "trials": [], "tile": [128, 256, 64], "blocks": 132, "comm_blocks": 0, **more
    }  # fmt: skip


def run(patterns, code=0, command=(), date="2026-02-02", shape=(8, 16, 32), **more):
    result = {
        "workload": "gemm-all-scatter", "backend": "cuda", "ranks": 2, "device": "NVIDIA H200",
        "shape": dict(zip("mnk", shape)), "dtype": "bf16", "date": date, "patterns": patterns,
        **more
    }  # fmt: skip
    return {"shape": "-", "command": list(command), "code": code, "result": result}


def write(folder, name, *runs):
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
        json.dump({"commit": "0123abc", "runs": list(runs)}, file)


def points(folder, *options):
    command = [os.path.join(ROOT, "model", "perf", "points"), *options]
    if folder:
        command += ["--results", folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def listed(folder, *options):
    """What it writes as JSON."""
    with tempfile.TemporaryDirectory() as other:
        path = os.path.join(other, "points.json")
        done = points(folder, "--json", path, *options)
        if done.returncode:
            return done.stderr
        with open(path, encoding="utf-8") as file:
            return json.load(file)["points"]


def finds(name, runs, expected, *options):
    """`runs`: {file: [runs]}; `expected`: a list of keys and values that each point has."""
    with tempfile.TemporaryDirectory() as folder:
        for file, of_file in runs.items():
            write(folder, file, *of_file)
        found = listed(folder, *options)
    good = len(found) == len(expected) and all(
        point.items() >= keys.items() for point, keys in zip(found, expected)
    )
    tap.verdict(good, name, json.dumps(found, indent=1))


def takes():
    finds(
        "all that identifies a point",
        {"a": [run([pattern(comm_blocks=4, parts=2)], along=1, sums="f32", rows=0)]},
        [
            {
                "workload": "gemm-all-scatter", "machine": "h200x2", "shape": "8x16x32",
                "along": "1", "sums": "f32", "dtype": "bf16", "pattern": "push",
                "tile": "128x256x64", "blocks": "132", "comm_blocks": "4", "parts": "2",
                "median_us": 0.1, "spread": 0.075, "samples": 8, "chosen_by": "plan",
                "commit": "0123abc", "date": "2026-02-02", "file": "a.json"
            }
        ]
    )  # fmt: skip
    finds("parts before there were any", {"a": [run([pattern()])]}, [{"parts": "1"}])
    finds("the newest of two", {
        "a": [run([pattern(median=1)])], "b": [run([pattern(median=2)], date="2026-02-03")]
    }, [{"median_us": 0.002, "file": "b.json"}])  # fmt: skip
    finds("the newest, in another tile", {
        "b": [run([pattern(median=1, tile=[64, 64, 64])])],
        "a": [run([pattern(median=2)], date="2026-02-03")]
    }, [{"tile": "128x256x64"}])  # fmt: skip
    finds("what is older, left out", {
        "a": [run([pattern()]), run([pattern()], shape=(1, 2, 3), date="2026-02-03")]
    }, [{"shape": "1x2x3"}], "--since", "2026-02-03")  # fmt: skip
    finds(
        "no run that failed, no wrong result, no time of 0",
        {
            "a": [
                run([pattern()], code=1), run([pattern("pull", verdict={"ok": False})]),
                run([pattern("marked", 0), pattern("copy-engines", verdict={"ok": True})])
            ]
        }, [{"pattern": "copy-engines"}]
    )
    finds("no file called before", {
        "a-before-b": [run([pattern(median=1)], date="2026-12-31")], "a": [run([pattern()])]
    }, [{"file": "a.json"}])  # fmt: skip
    finds("a number given in the command", {
        "a": [run([pattern()], command=["--blocks", "132"]), run([pattern("pull", tuned_on="x")])]
    }, [{"chosen_by": "memory"}, {"chosen_by": "command"}])  # fmt: skip
    trial = {"tile": [64, 128, 64], "blocks": 8, "median_ns": 50, "samples": 3}
    trials = [dict(trial, abandoned=True), dict(trial, abandoned=False, blocks=9)]
    searched = {"a": [run([pattern(trials=trials)])]}
    finds("a search without its trials", searched, [{"chosen_by": "search"}])
    finds("a search and its trials", searched, [
        {"chosen_by": "search"}, {"chosen_by": "trial", "blocks": "8", "abandoned": True},
        {"chosen_by": "trial", "blocks": "9", "abandoned": False}
    ], "--trials")  # fmt: skip


def refuses(name, sentence, text=None, **more):
    with tempfile.TemporaryDirectory() as folder:
        if text is not None:
            with open(os.path.join(folder, "a.json"), "w", encoding="utf-8") as file:
                file.write(text)
        elif more:
            write(folder, "a", run([pattern()], **more))
        done = points(folder)
    lines = done.stderr.splitlines()
    tap.verdict(
        done.returncode == 2 and len(lines) == 1 and bool(re.search(sentence, lines[0])), name,
        done.stdout + done.stderr
    )


def stored():
    """Those of this repository: it reads all files, and each row of the summary adds up."""
    done = points(None)
    rows = re.findall(r"^\| (?!workload|---|all \|)(.*) \|$", done.stdout, re.M)
    total = re.search(r"^\| all \| \| \| \d+ \| (\d+) \| (\d+) \|$", done.stdout, re.M)
    sums = [sum(int(row.split(" | ")[i]) for row in rows) for i in (4, 5)]
    tap.verdict(
        done.returncode == 0 and len(rows) > 30 and total
        and sums == [int(n) for n in total.groups()] and min(sums) > 400,
        "the results that are stored", done.stdout + done.stderr
    )  # fmt: skip


def main():
    takes()
    refuses("no results", "has no results")
    refuses("no JSON", "a.json is no JSON", "{")
    refuses("results of perf alone", "has no such point", '{"command": [], "result": {}}')
    refuses("a device without a kind", "--machine-map", device="CPU emulator")
    stored()
    sys.exit(tap.exit_code())


if __name__ == "__main__":
    main()
