#!/usr/bin/env python3
"""
--tune: what was tried, what is remembered and recalled, and that the file
survives damage and many writers.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
import tap  # noqa: E402

SHAPE = "200x210x37"
ROW = re.compile(
    r"^  (\S+) +(\d+)x(\d+)x(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +([\d.]+)(?:  (best|given up))?$",
    re.MULTILINE
)
TUNED = "as --tune has found them: "


def verdict(good, name, run=None):
    tap.verdict(good, name, "\n".join((run.stdout + run.stderr).splitlines()[-20:]) if run else "")


def command(*arguments):
    words = "tessera bench gemm-all-scatter --iterations 3 -w 0 -n 3"
    return [*words.split(), *arguments]


def bench(*arguments, path=None, **environment):
    # ThreadSanitizer does not see how OpenBLAS's own threads meet.
    settings = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment}
    if path:
        settings["TESSERA_TUNE_FILE"] = path
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
        env=settings
    )


def entries(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["entries"]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check_round_trip(folder):
    path, report = os.path.join(folder, "made", "by", "tune.json"), os.path.join(
        folder, "report.json"
    )
    pattern = "fused-workgroup-specialized"
    run = bench(
        "--shape", SHAPE, "--pattern", pattern, "--tune", "--verify", "--json", report, path=path
    )
    rows = ROW.findall(run.stdout)
    best = [row for row in rows if row[9] == "best"]
    verdict(
        run.returncode == 0 and not run.stderr and len(rows) > 4, "what was tried is printed", run
    )
    verdict(len(best) == 1 and all(row[0] == pattern for row in rows), "one of them is best", run)
    verdict(len({row[1:7] for row in rows}) == len(rows), "nothing is tried twice", run)
    verdict(
        len({row[1:4] for row in rows}) > 2 and len({row[4:6] for row in rows}) > 2,
        "tiles and splits are tried", run
    )
    verdict({row[6] for row in rows} == {"1", "2"}, "whole tiles and halves are tried", run)
    finished = [float(row[8]) for row in rows if row[9] != "given up"]
    verdict(float(best[0][8]) == min(finished), "the best is the fastest of those that ended", run)
    hopeless = [row for row in rows if int(row[7]) < 3]
    verdict(
        all(row[9] == "given up" and int(row[7]) == 1 for row in hopeless),
        "three samples of each, or one", run
    )
    verdict(
        all(float(row[8]) > 2 * min(finished) for row in hopeless), "one of what is twice as slow",
        run
    )

    entry = entries(path)[0]
    choice = [
        str(n) for n in [*entry["tile"], entry["blocks"], entry["comm_blocks"], entry["parts"]]
    ]
    verdict(
        choice == list(best[0][1:7]) and entry["shape"] == [200, 210, 37], "the best is remembered",
        run
    )
    with open(report, encoding="utf-8") as file:
        trials = json.load(file)["patterns"][0]["trials"]
    verdict(
        len(trials) == len(rows) and sum(trial["best"] for trial in trials) == 1,
        "the JSON has the trials"
    )

    # A choice that nobody would make by himself shows that it is the file's.
    entry.update(tile=[32, 32, 16], blocks=5, comm_blocks=3, parts=2)
    write(path, json.dumps({"version": 1, "entries": [entry]}))
    check_recall(path, report, pattern)


def used(report):
    with open(report, encoding="utf-8") as file:
        run = json.load(file)["patterns"][0]
    return run["tile"], run["blocks"], run["comm_blocks"], run["parts"]


def check_recall(path, report, pattern):
    planted = ([32, 32, 16], 5, 3, 2)
    plain = ("--shape", SHAPE, "--pattern", pattern, "--json", report)
    run = bench(*plain, "--verify", path=path)
    verdict(run.returncode == 0 and used(report) == planted, "a later run uses it", run)
    verdict(f"{TUNED}{pattern} (" in run.stdout, "and says so", run)
    for name, arguments in {
        "--no-tuned leaves it out": (*plain, "--no-tuned"),
        "a tile of one's own leaves it out": (*plain, "--tile", "16x16x16"),
        "blocks of one's own leave it out": (*plain, "--blocks", "6"),
        "another dtype is another key": (*plain, "--dtype", "f32"),
        "another shape is another key": (*plain, "--shape", "200x210x38"),
    }.items():
        run = bench(*arguments, path=path)
        verdict(
            run.returncode == 0 and used(report) != planted and TUNED not in run.stdout, name, run
        )
    entry = entries(path)[0]
    for name, change in {
        "a tile that is not built": {"tile": [48, 48, 16]},
        "more blocks than are resident": {"blocks": 100000},
        "parts that no tile has": {"parts": 9},
        "an entry of other kinds": {"blocks": "many"},
    }.items():
        write(path, json.dumps({"version": 1, "entries": [{**entry, **change}, 7]}))
        run = bench(*plain, path=path)
        verdict(
            run.returncode == 0 and not run.stderr and TUNED not in run.stdout,
            name + " is passed over", run
        )


def check_damage(folder):
    path = os.path.join(folder, "damaged.json")
    plain = ("--shape", SHAPE, "--pattern", "fused-sequential")
    for name, text in {
        "half a file": '{"version": 1, "entries": [',
        "an empty file": "",
        "another version": '{"version": 2, "entries": []}',
        "no list": '{"version": 1, "entries": 3}',
        "a list": "[]",
    }.items():
        write(path, text)
        run = bench(*plain, path=path)
        told = (
            run.stderr.count("\n") == 1
            and path in run.stderr
            and "repair it or remove it" in run.stderr
        )
        verdict(run.returncode == 0 and told, name + ": one sentence, and the run goes on", run)
        run = bench(*plain, "--tune", path=path)
        told = run.stderr.count("\n") == 1 and path in run.stderr and not run.stdout
        verdict(run.returncode == 2 and told, name + ": --tune refuses before it begins", run)
        run = bench(*plain, "--no-tuned", path=path)
        verdict(run.returncode == 0 and not run.stderr, name + ": --no-tuned does not look", run)
        with open(path, encoding="utf-8") as file:
            verdict(file.read() == text, name + " is left alone")
    verdict(os.listdir(folder) == ["damaged.json"], "and nothing is left beside it")


def check_places(folder):
    plain = ("--shape", "16x16x16", "--pattern", "fused-sequential", "--tune")
    run = bench(*plain, XDG_CACHE_HOME=folder)
    verdict(
        run.returncode == 0 and len(entries(f"{folder}/tessera/tune.json")) == 1, "XDG_CACHE_HOME",
        run
    )
    run = bench(*plain, XDG_CACHE_HOME="", HOME=folder)
    verdict(
        run.returncode == 0 and len(entries(f"{folder}/.cache/tessera/tune.json")) == 1, "HOME", run
    )
    run = bench(*plain, XDG_CACHE_HOME="", HOME="")
    verdict(run.returncode == 2 and "set HOME" in run.stderr, "no home is one sentence", run)
    run = bench(*plain, XDG_CACHE_HOME="", HOME="/dev/null")
    verdict(
        run.returncode == 1 and "by TESSERA_TUNE_FILE" in run.stderr,
        "a home that is no folder: what to set", run
    )
    run = bench(*plain, path=f"{folder}/tessera/tune.json/below")
    verdict(
        run.returncode == 1 and run.stderr.count("\n") == 1,
        "a folder that cannot be is one sentence", run
    )
    run = bench(*plain, "--no-tuned")
    verdict(
        run.returncode == 2 and "contradict" in run.stderr,
        "--tune --no-tuned contradict each other", run
    )


def check_many_writers(folder):
    """Each replaces the whole file: without the lock some of the entries would be lost."""
    path = os.path.join(folder, "shared.json")
    shapes = [f"{rows}x16x16" for rows in range(16, 24)]
    settings = {**os.environ, "TESSERA_TUNE_FILE": path}
    arguments = ("--pattern", "fused-sequential", "--tile", "16x16x16", "--blocks", "1", "--tune")
    runs = [
        subprocess.Popen(
            command("--shape", shape, *arguments), env=settings, stdout=subprocess.PIPE
        )
        for shape in shapes
    ]
    codes = [(run.communicate(timeout=600), run.returncode)[1] for run in runs]
    found = sorted(entry["shape"][0] for entry in entries(path))
    verdict(codes == [0] * len(shapes), "writers at one time")
    verdict(found == list(range(16, 24)), f"no entry is lost: {found}")
    verdict(os.listdir(folder) == ["shared.json"], "no other file is left")


for check in (check_round_trip, check_damage, check_places, check_many_writers):
    with tempfile.TemporaryDirectory() as place:
        check(place)
sys.exit(tap.exit_code())
