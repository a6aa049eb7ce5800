#!/usr/bin/env python3
"""
The files of machines: those that are there are as they must be, and each kind
of fault is found, with its place. The build makes its table of the same files,
and stops at the same faults.
"""
import copy
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "..", "site_scons")]
import machines  # noqa: E402
import tap  # noqa: E402


def spoilt(change):
    """What is said of the files after `change` of a copy of them, in one text."""
    copied = copy.deepcopy(machines.read())
    change(copied)
    return "\n".join(machines.faults(copied))


def figure(name, **values):
    return lambda files: files["h200"]["figures"][name].update(values)


FAULTS = [
    (
        "a figure is missing", lambda files: files["h200"]["figures"].pop("fence"),
        "h200: lacks fence"
    ),
    (
        "a figure is none of the header's",
        lambda files: files["h200"]["figures"].update(fense={"value": 1}),
        "h200: fense: is no figure"
    ),
    (
        "a figure has another unit", figure("signal", unit="us"),
        "h200: signal: is in us, and the header says ns"
    ),
    (
        "a figure comes from nowhere", figure("signal", **{"from": "memory"}),
        "h200: signal: comes from 'memory'"
    ),
    (
        "a measurement has no date", figure("signal", date="yesterday"),
        "h200: signal: lacks the date"
    ),
    ("a figure has no source", figure("l2", source=""), "h200: l2: lacks its source"),
    ("a figure is no number", figure("l2", value="50"), "h200: l2: 50 is no number"),
    ("a figure is below 0", figure("l2", value=-1), "h200: l2: -1 is no number"),
    ("null is called measured", figure("l2", value=None), "h200: l2: what is not known has null"),
    (
        "a number is called not known",
        lambda files: files["cpuemu"]["figures"]["fence"].update(value=1),
        "cpuemu: fence: what is not known has null"
    ),
    ("a figure has a key too many", figure("l2", note="x"), "h200: l2: has note"),
    ("a file lacks a key", lambda files: files["mi300x"].pop("devices"), "mi300x: lacks devices"),
    (
        "a file has another name inside", lambda files: files["mi300x"].update(name="mi300a"),
        "mi300x: is called mi300a"
    ),
    (
        "a file names no device", lambda files: files["mi300x"].update(devices=[]),
        "mi300x: names 0 devices"
    ),
    (
        "a backend has no default", lambda files: files["h200"].update(is_default=False),
        "backend cuda has 0 default"
    ),
    (
        "a backend has two", lambda files: files["mi300x"].update(backend="cuda"),
        "backend cuda has 2 default"
    ),
    ("the emulator has no file", lambda files: files.pop("cpuemu"), "there is no cpuemu"),
]


def row_a_line(path):
    """Whether each figure of a file stands in a line of its own, so that a change of one is one
    line."""
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    names = json.loads("\n".join(lines))["figures"]
    return all(
        any(line.startswith(f'  "{name}": {{') and line.rstrip(",").endswith("}") for line in lines)
        for name in names
    )


def main():
    files = machines.read()
    tap.verdict(len(machines.figures()) > 20, "the header lists figures", machines.figures())
    tap.verdict(
        {"h200", "mi300x", "cpuemu"} <= files.keys(), "the kinds of devices have files",
        files.keys()
    )
    found = list(machines.faults(files))
    tap.verdict(not found, "the files are as they must be", "\n".join(found))
    crowded = [
        name for name in files if not row_a_line(os.path.join(machines.FOLDER, f"{name}.json"))
    ]
    tap.verdict(not crowded, "a figure is a line", crowded)
    for name, change, wanted in FAULTS:
        told = spoilt(change)
        tap.verdict(wanted in told, name, f"wanted '{wanted}' in: {told}")
    sys.exit(tap.exit_code())


main()
