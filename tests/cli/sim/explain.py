#!/usr/bin/env python3
"""
--explain on simulated machines: every workload says why it runs as it does. What
it says is what ran; the chosen candidate costs least, but for the margin that
its rule has; and costs are what their formulas make of their parts.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "harness"))
import tap  # noqa: E402

TESSERA = os.path.join(os.path.abspath(os.environ["BUILD"]), "tessera")
# Of the first three the clock is known. mi300x has no figures of links.
MACHINES = ("h200x1", "h100x2", "h200x8", "mi300x5")
SHAPES = (
    "gemm-all-scatter --shape 4096x4096x4096 --pattern fused-workgroup-specialized,banded",
    "gemm-all-scatter --shape 2048x1024x4096 --pattern fused-sequential,bulk-synchronous",
    "all-gather-gemm --shape 4096x4096x2048 --pattern push",
    "gemm-all-reduce --shape 4096x2048x4096 --sums bf16 --pattern own-chunk-last,communicators",
    "ring-attention --sequence 8192 --pattern rotate",
    "moe --tokens 2048 --layer 16x1024x2048 --pattern fused",
)


def run(*words):
    return subprocess.run(
        [TESSERA, *words], capture_output=True, text=True, timeout=240, check=False
    )


def workloads():
    return re.findall(r"^[a-z][a-z-]*$", run("bench", "--list").stdout, re.MULTILINE)


def explained(folder, *words):
    """What was printed, and the rows of the JSON; none if the command failed."""
    path = os.path.join(folder, "run.json")
    done = run("sim", *words, "--explain", "--json", path)
    if done.returncode != 0:
        return done.stdout + done.stderr, []
    with open(path, encoding="utf-8") as file:
        return done.stdout, json.load(file)["patterns"]


def as_typed(value):
    """A value as the command prints it: "128x256x64" of extents."""
    parts = list(value.values()) if isinstance(value, dict) else value
    return "x".join(map(str, parts)) if isinstance(parts, list) else str(value)


def by_formula(choice, candidate):
    """What the formula makes of the candidate's parts. Parts that it lacks are 0."""
    text = re.sub(
        r"[A-Za-z]([A-Za-z ]*[A-Za-z])?",
        lambda name: "max" if name[0] == "max" else repr(candidate["parts"].get(name[0], 0)),
        choice["formula"]
    )
    return eval(text, {"__builtins__": {}, "max": max})  # pylint: disable=eval-used


def faults_of_costs(choice):
    compared = [c for c in choice["candidates"] if c["cost"] is not None and not c["left_out"]]
    if not compared:
        return
    least = min(c["cost"] for c in compared)
    chosen = [c for c in compared if c["value"] == choice["value"]]
    if len(chosen) != 1:
        yield f"{len(chosen)} candidates are the chosen one"
    elif chosen[0]["cost"] > least * (1 + choice["margin"]) * (1 + 1e-9):
        yield f"{chosen[0]} was chosen, and {least} is the least cost"
    for candidate in compared:
        if abs(by_formula(choice, candidate) - candidate["cost"]) > 1e-6 * candidate["cost"]:
            yield f"{candidate} is not {choice['formula']}"
        if not candidate["bound"]:
            yield f"{candidate}: not said what bounds it"
    ratios = {f"{c['predicted_ns'] / c['cost']:.9g}" for c in compared if c["predicted_ns"]}
    if len(ratios) > 1:
        yield f"several units: {ratios}"


def faults_of_choice(row, choice, text):
    value, name = choice["value"], choice["parameter"]
    if not choice["rule"]:
        yield "no reason"
    if choice["chosen"] != value:
        yield f"recorded {choice['chosen']}, and used {value}"
    # A run may leave the number to the plan; then it is 0 there.
    ran = row["pattern"] if name == "pattern" else row[name.replace("-", "_")]
    if ran not in (value, 0) or (ran == 0 and name != "bands" and value != 0):
        yield f"{ran} ran, and {value} was explained"
    line = rf"^  {name} +{re.escape(as_typed(value))} +{re.escape(choice['rule'] or '?')}$"
    if not re.search(line, text, re.MULTILINE):
        yield f"not printed: {line}"
    if any(c["cost"] is not None and not c["left_out"] for c in choice["candidates"]):
        if not re.search(rf"^    > {re.escape(as_typed(value))} ", text, re.MULTILINE):
            yield "the chosen candidate is not marked"
    yield from faults_of_costs(choice)


def section(text, pattern):
    """What is printed of a pattern."""
    found = re.search(rf"^why {pattern}:\n((?:  .*\n)+)", text, re.MULTILINE)
    return found.group(1) if found else ""


def faults(text, rows):
    if not rows:
        yield text
    for row in rows:
        printed = section(text, row["pattern"])
        if not printed:
            yield f"nothing about {row['pattern']}"
        for choice in row["explain"]:
            if choice["origin"] != "chosen":
                yield f"{choice['parameter']} was not given, but is {choice['origin']}"
            for fault in faults_of_choice(row, choice, printed):
                yield f"{row['pattern']}, {choice['parameter']}: {fault}"


def verdict(name, text, rows):
    found = list(faults(text, rows))
    tap.verdict(not found, name, "\n".join(found[:10]))


def every_workload(folder):
    for workload in workloads():
        for machine in MACHINES:
            text, rows = explained(folder, workload, "--machine", machine)
            verdict(f"{workload} on {machine} says why", text, rows)


def priced_choices(folder):
    """Larger shapes, in which there is something to price."""
    for words in SHAPES:
        text, rows = explained(folder, *words.split(), "--machine", "h200x4")
        verdict(words, text, rows)
        choices = [choice for row in rows for choice in row["explain"]]
        candidates = [c for choice in choices for c in choice["candidates"]]
        tap.verdict(
            any(c["predicted_ns"] for c in candidates), f"{words}: costs are times", text
        )


def units(folder):
    """Costs are times if the clock is known and matrix units multiply the chosen tile."""
    for words, known in (
        ("gemm-all-scatter --machine h200x2", True),
        ("gemm-all-scatter --machine h200x2 --dtype f32", False),
        ("gemm-all-scatter --machine mi300x2", False),
        ("moe --machine h200x2 --padding 16", False),
    ):
        text, rows = explained(folder, *words.split())
        choices = [c for row in rows for c in row["explain"] if c["parameter"] == "tile"]
        times = {
            candidate["predicted_ns"] is not None
            for choice in choices for candidate in choice["candidates"]
            if candidate["cost"] is not None and not candidate["left_out"]
        }
        tap.verdict(
            times == {known}
            and re.search(r"^ +us = " if known else r"^ +cost = ", text, re.MULTILINE),
            f"{words}: {'times' if known else 'costs, because a time is not known'}", text
        )


def a_figure_changes_what_is_said(folder):
    words = "gemm-all-scatter --machine h200x4 --shape 4096x4096x4096".split()
    pattern = ["--pattern", "fused-workgroup-specialized"]
    costs = []
    for more in ([], ["--set", "send_depth=480"]):
        _, rows = explained(folder, *words, *pattern, *more)
        choice = [c for c in rows[0]["explain"] if c["parameter"] == "comm-blocks"][0]
        costs.append((choice["value"], choice["candidates"][0]["cost"]))
    tap.verdict(costs[0] != costs[1], "what links take is in the costs", costs)


def lists(choice, text):
    """Whether the patterns are printed: in a table if they are priced, else in one line."""
    names = [c["value"] for c in choice["candidates"]]
    priced = any(c["cost"] is not None for c in choice["candidates"])
    lines = (
        [rf"^    [> ] {name} +[0-9]|not compared: {name}: " for name in names] if priced else
        ["compared: " + ", ".join(names) + "$"]
    )
    return choice["value"] in names and all(re.search(line, text, re.MULTILINE) for line in lines)


def fastest(folder):
    for workload in workloads():
        words = [workload, "--machine", "h200x4", "--pattern", "fastest"]
        text, rows = explained(folder, *words)
        if not rows:
            tap.verdict("does not know which of its patterns is fastest" in text or
                        "fastest" in text, f"{workload} knows no fastest pattern", text)
            continue
        verdict(f"{workload} --pattern fastest", text, rows)
        first = rows[0]["explain"][0]
        tap.verdict(
            first["parameter"] == "pattern" and lists(first, text),
            f"{workload} lists the patterns that it compared", text
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        every_workload(folder)
        priced_choices(folder)
        units(folder)
        a_figure_changes_what_is_said(folder)
        fastest(folder)
    return tap.exit_code()


sys.exit(main())
