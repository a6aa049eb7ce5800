#!/usr/bin/env python3
"""
Every workload in every pattern on simulated machines of one to eight devices:
nothing waits for ever, each takes some time, and the same twice. And what if
links were faster?
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
MACHINES = ("h200x1", "h100x2", "h200x3", "mi300x5", "h200x8")
LARGE = "--shape 4096x8192x4096 --pattern bulk-synchronous"


def run(*words):
    return subprocess.run(
        [TESSERA, *words], capture_output=True, text=True, timeout=240, check=False
    )


def workloads():
    return re.findall(r"^[a-z][a-z-]*$", run("bench", "--list").stdout, re.MULTILINE)


def times(folder, workload, options):
    """Nanoseconds by pattern; or what was said instead."""
    path = os.path.join(folder, "run.json")
    done = run("sim", workload, *options.split(), "--json", path)
    if done.returncode != 0:
        return done.stderr
    with open(path, encoding="utf-8") as file:
        return {row["pattern"]: row["median_ns"] for row in json.load(file)["patterns"]}


def every_workload(folder):
    for workload in workloads():
        for machine in MACHINES:
            first = times(folder, workload, f"--machine {machine}")
            good = isinstance(first, dict) and first and all(ns > 1000 for ns in first.values())
            tap.verdict(good, f"{workload} on {machine}", first)
        again = times(folder, workload, f"--machine {MACHINES[-1]}")
        tap.verdict(first == again, f"{workload} takes the same time twice", f"{first}\n{again}")


def what_if(folder):
    whole = times(folder, "gemm-all-scatter", f"--machine h200x4 {LARGE}")
    faster = times(folder, "gemm-all-scatter", f"--machine h200x4 {LARGE} --set link_all=690GB/s")
    both = f"{whole}, {faster}"
    if not all(isinstance(told, dict) for told in (whole, faster)):
        tap.verdict(False, "what if links were twice as fast", both)
        return
    # 3 x 16 MiB out of each device
    saved = whole["bulk-synchronous"] - faster["bulk-synchronous"]
    tap.verdict(
        abs(saved / (3 * (16 << 20) * (1 / 345 - 1 / 690)) - 1) < 0.05,
        "links of twice the rate save half of their time", both
    )


def as_measured():
    """--model simulates the very configuration that was run: here that was simulated too."""
    for workload in workloads():
        done = run("sim", workload, "--machine", "h200x2", "--model")
        rows = re.findall(
            r"^[a-z-]+ +([\d.]+) +([\d.]+) +(?:[\d.]+)((?: +[\d.]+ / [\d.]+| +-)+)$",
            done.stdout, re.MULTILINE
        )
        pairs = [
            pair for row in rows
            for pair in [row[:2], *re.findall(r"([\d.]+) / ([\d.]+)", row[2])]
        ]
        tap.verdict(
            rows and len(pairs) > len(rows)
            and all(abs(float(x) - float(y)) <= 0.2 + 0.01 * float(x) for x, y in pairs)
            and "not simulated" not in done.stdout,
            f"{workload} --model simulates what was run", done.stdout + done.stderr
        )


def taxes():
    for workload in workloads():
        done = run("sim", workload, "--machine", "h200x2", "--taxes")
        tap.verdict(
            done.returncode == 0 and re.search(r"recorded [+-]0\.0%", done.stdout),
            f"{workload} --taxes", done.stdout + done.stderr
        )


def lost_output():
    for words in (("gemm-all-scatter",), ("--figures",)):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [TESSERA, "sim", *words], stdout=full, stderr=subprocess.PIPE, text=True,
                timeout=240, check=False
            )
        tap.verdict(
            done.returncode == 1 and "cannot be written" in done.stderr,
            f"sim {words[0]} says that its output is lost", done.stderr
        )


def refusals():
    for words, sentence in (
        (("gemm-all-scatter", "--machine", "b200x8"), "no machine b200x8: name a kind"),
        (("gemm-all-scatter", "--machine", "h200x0"), "no machine h200x0"),
        (("gemm-all-scatter", "--machine", "cpuemux2"), "is not known; give it"),
        (("gemm-all-scatter", "--set", "speed=3"), "--set speed=3: write FIGURE=VALUE"),
        (("gemm-all-scatter", "--set", "link_all=fast"), "link_all is a number of GB/s"),
        (("gemm-all-scatter", "--set", "link_all=1TB/s"), "link_all is given in GB/s"),
        (("gemm-all-scatter", "-n", "4"), "--machine says what it runs on"),
        (("gemm-all-scatter", "--machine"), "--machine needs a value"),
        (("gemm-all-gather",), "did you mean"),
    ):
        done = run("sim", *words)
        tap.verdict(
            done.returncode == 2 and sentence in done.stderr, f"refused: {' '.join(words)}",
            f"{done.returncode}: {done.stderr}"
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        every_workload(folder)
        taxes()
        lost_output()
        what_if(folder)
    as_measured()
    refusals()
    return tap.exit_code()


sys.exit(main())
