#!/usr/bin/env python3
"""
--explain: what was given and what an earlier search has found say so; one rank
prints; and nothing is said without the option. tests/cli/sim/explain.py has what
workloads choose.
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

SHORT = "--shape 200x210x37 --iterations 1 -w 0".split()
SENDS, BANDED = "fused-workgroup-specialized", "banded"


def bench(folder, *words, workload="gemm-all-scatter"):
    settings = {**os.environ, "TESSERA_TUNE_FILE": os.path.join(folder, "tune.json")}
    return subprocess.run(
        ["tessera", "bench", workload, *words], capture_output=True, text=True, timeout=600,
        stdin=subprocess.DEVNULL, env=settings
    )


def explained(folder, *words):
    """The run, and of each pattern the choices by their parameters."""
    path = os.path.join(folder, "report.json")
    done = bench(folder, *SHORT, *words, "--explain", "--json", path)
    if done.returncode != 0:
        return done, {}
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["patterns"]
    return done, {
        row["pattern"]: {choice["parameter"]: choice for choice in row["explain"]} for row in rows
    }


def verdict(good, name, run):
    tap.verdict(good, name, run.stdout + run.stderr)


def line(run, param):
    """What is printed of a parameter, of the first pattern."""
    found = re.search(rf"^  {param} +(.*)$", run.stdout, re.MULTILINE)
    return found.group(1) if found else ""


def what_is_given(folder):
    run, why = explained(
        folder, "-n", "2", "--pattern", SENDS, "--tile", "32x32x16", "--blocks", "12",
        "--comm-blocks", "3", "--parts", "1"
    )
    choices = why.get(SENDS, {})
    for param, text in (
        ("tile", "32x32x16"), ("blocks", "12"), ("comm-blocks", "3"), ("parts", "1")
    ):
        verdict(
            choices.get(param, {}).get("origin") == "given"
            and re.fullmatch(rf"{text} +given", line(run, param)), f"{param} is given", run
        )
        verdict(not choices.get(param, {}).get("candidates", [0]), f"{param} is not priced", run)
    run, why = explained(folder, "-n", "2", "--pattern", SENDS, "--comm-blocks", "3")
    origins = {param: choice["origin"] for param, choice in why.get(SENDS, {}).items()}
    verdict(
        origins.get("comm-blocks") == "given" and origins.get("tile") == "chosen"
        and why[SENDS]["tile"]["candidates"], "what is left open is chosen", run
    )


def what_is_made_of_it(folder):
    run, why = explained(folder, "-n", "2", "--pattern", BANDED, "--comm-blocks", "3")
    choice = why.get(BANDED, {}).get("comm-blocks", {})
    verdict(
        (choice.get("origin"), choice.get("asked"), choice.get("value")) == ("given", 3, 0)
        and "given as 3, and made 0: in this pattern no block" in line(run, "comm-blocks"),
        "a value that is changed says why", run
    )


def what_is_found(folder):
    words = ["-n", "2", "--pattern", "work-queue"]
    run, why = explained(folder, *words, "--tune")
    verdict(
        why.get("work-queue", {}).get("tile", {}).get("origin") == "found by --tune"
        and line(run, "tile").endswith("found by --tune"), "--tune has found it", run
    )
    run, why = explained(folder, *words)
    choices = why.get("work-queue", {})
    verdict(
        all(choices.get(p, {}).get("origin") == "found by --tune" for p in ("tile", "parts"))
        and re.search(r"found by --tune, \d{4}-\d\d-\d\dT", line(run, "tile")),
        "an earlier --tune has found it", run
    )
    run, why = explained(folder, *words, "--no-tuned")
    verdict(
        all(c["origin"] == "chosen" for c in why.get("work-queue", {"": {"origin": ""}}).values()),
        "--no-tuned: the workload chooses", run
    )


def one_rank_prints(folder):
    for placement in ("process", "thread"):
        run, why = explained(folder, "-n", "3", "--placement", placement, "--pattern", SENDS)
        verdict(
            why and run.stdout.count(f"why {SENDS}:") == 1
            and len(re.findall(r"^  tile ", run.stdout, re.MULTILINE)) == 1,
            f"one rank prints, of ranks that are each a {placement}", run
        )


def without_it(folder):
    path = os.path.join(folder, "report.json")
    run = bench(folder, *SHORT, "-n", "2", "--pattern", SENDS, "--json", path)
    with open(path, encoding="utf-8") as file:
        row = json.load(file)["patterns"][0]
    verdict("why " not in run.stdout and "explain" not in row, "without --explain: nothing", run)
    told, why = explained(folder, "-n", "2", "--pattern", SENDS)
    verdict(
        why and all(
            choice["value"] == (list(row["tile"]) if param == "tile" else
                                row[param.replace("-", "_")])
            for param, choice in why[SENDS].items()
        ), "the same runs with --explain and without", told
    )


def without_parameters(folder):
    run = bench(folder, "-n", "2", "--iterations", "1", "--explain", workload="collectives")
    verdict(
        run.returncode == 0
        and "why one-call:\n  nothing is chosen here" in run.stdout,
        "a workload without such parameters says so", run
    )


def misuse(folder):
    for words, sentence in (
        (("--explain=tile",), "--explain"),
        (("--explain", "tile"), "'tile' is not an option"),
        (("--explian",), "did you mean"),
    ):
        run = bench(folder, "-n", "2", *words)
        verdict(
            run.returncode == 2 and not run.stdout and len(run.stderr.splitlines()) == 1
            and sentence in run.stderr, f"{' '.join(words)}: one sentence", run
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        what_is_given(folder)
        what_is_made_of_it(folder)
        what_is_found(folder)
        one_rank_prints(folder)
        without_it(folder)
        without_parameters(folder)
        misuse(folder)
    return tap.exit_code()


sys.exit(main())
