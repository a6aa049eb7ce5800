#!/usr/bin/env python3
"""
The commands, which read and write files, with one system call failing at a
time. tests/faults/README.md says how.
"""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))

import sweep

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TESSERA = os.path.join(sweep.BUILD, "tessera")
HELLO = os.path.join(sweep.BUILD, "examples", "hello")
PRODUCT = (
    "bench gemm-all-scatter -n 2 --pattern fused-sequential --shape 128x128x64 --dtype f32"
    " --iterations 1 -w 0".split()
)


def says(word):
    return lambda made, _: (
        "" if word in made.out else f"nothing in its output says '{word}': {made.out!r}"
    )


def writes(name, word=""):
    """The command's file is whole: JSON; and its output says the word."""

    def judge(made, folder):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                json.load(file)
        except (OSError, ValueError) as error:
            return f"'{name}' is no JSON: {error}"
        return says(word)(made, folder)

    return judge


def scripted(folder):
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as file:
        file.write("1:1\n")


def tuned(folder):
    with open(os.path.join(folder, "tune.json"), "w", encoding="utf-8") as file:
        json.dump({"version": 1, "entries": []}, file)


def command(name, arguments, right, **more):
    return sweep.Run(name, [TESSERA, *arguments], right, **more)


def runs(name):
    """The command made a program that can be executed."""
    return lambda _, folder: (
        "" if os.access(os.path.join(folder, name), os.X_OK) else f"'{name}' is no program"
    )


def source(folder):
    shutil.copy(os.path.join(ROOT, "examples", "hello.c"), folder)


def litmus_files(folder):
    shutil.copy(
        os.path.join(ROOT, "tests", "litmus", "MP.rel.acq.diffGPU-ss.litmus"),
        os.path.join(folder, "test")
    )
    with open(os.path.join(folder, "test"), encoding="utf-8") as file:
        line = json.dumps({"name": "MP", "litmus": file.read()})
    for name, text in (
        ("oracle.jsonl", line + "\n"),
        ("table", "test,verdict,races\nMP.rel.acq.diffGPU-ss,Forbidden,-\n")
    ):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


LITMUS = {"prepare": litmus_files}
TUNED = {"prepare": tuned, "environment": {"TESSERA_TUNE_FILE": "tune.json"}}
CHECK = ["check", "-n", "2"]
PUT = "perf put -n 2 -b 8 -e 8 -N 2 -m 1 -w 0 --json out.json".split()

RUNS = [
    command("info", ["info"], says("cpuemu")),
    command("litmus", ["litmus", "test"], says("agree 1 of 1"), **LITMUS),
    command(
        "litmus --json", ["litmus", "test", "--json", "found.json"], writes("found.json"),
        files=["found.json"], **LITMUS
    ),
    command(
        "litmus --expect", ["litmus", "test", "--expect", "table"], says("agree 1 of 1"), **LITMUS
    ),
    command("litmus, an oracle", ["litmus", "oracle.jsonl"], says("agree 1 of 1"), **LITMUS),
    command(
        "litmus --on explore", ["litmus", "test", "--on", "explore"], says("agree 1 of 1"), **LITMUS
    ),
    command("check --replay", [*CHECK, "--replay", "1", HELLO], says("no finding")),
    command(
        "check --script", [*CHECK, "--script", "script", HELLO], says("no finding"),
        prepare=scripted
    ),
    command(
        "check",
        [
            *CHECK, "--seeds", "3", "--no-slowdown", "--json", "found.json", "--trace",
            "trace.json", HELLO
        ],
        writes("found.json", "no finding"),
        files=["found.json", "trace.json"],
    ),
    command(
        "bench", [*PRODUCT, "--verify", "--json", "out.json"], writes("out.json"),
        files=["out.json"], **TUNED
    ),
    command(
        "bench --tune", [*PRODUCT, "--tune", "--blocks", "1", "--tile", "64x64x32"],
        writes("tune.json"), **TUNED
    ),
    command("perf", PUT, writes("out.json"), files=["out.json"]),
    command(
        "cc", ["cc", "hello.c", "-o", "hello"], runs("hello"), files=["hello"], prepare=source,
        environment={"CCACHE_DISABLE": "1"}
    ),
]

# Root alone makes namespaces, and not everywhere.
if os.geteuid() == 0 and shutil.which("unshare") and os.system("unshare --net true 2>&1") == 0:
    RUNS.append(
        command(
            "run --node-network",
            "run -n 2 --nodes 2 --node-network namespaces echo here".split(), says("here\nhere")
        )
    )

sys.exit(sweep.main(RUNS))
