"""
The figures of machines. model/perf/machines/*.json says what each can do,
kernels/choices/machine.h which figures there are, and the build makes a table of C
of them: the host halves of kernels read no JSON.
"""
import glob
import json
import os
import re

import variants

FOLDER = os.path.join(variants.ROOT, "model", "perf", "machines")
HEADER = os.path.join(variants.ROOT, "kernels", "choices", "machine.h")
TABLE = f"{variants.GENERATED}/kernels/choices/machines.c"
MOST_DEVICES = 4
OTHERWISE = "cpuemu"  # the machine, and the backend, of which nothing is known

# Where a figure may come from. What was measured or fitted has a date.
DATED = ("measured", "fitted")
ORIGINS = DATED + ("data sheet", "assumed", "code", "not known")
KEYS = {"name", "what", "backend", "devices", "is_default", "figures"}
WRITTEN = {"schema", "version", "commit"}  # a file that tessera calibrate wrote has these too
DATE = re.compile(r"20\d\d-\d\d-\d\d")


def figures():
    """{name: unit}, in the order of the header."""
    with open(HEADER, encoding="ascii") as file:
        return dict(
            re.findall(r'^\tFIGURE\((\w+), "([^"]+)", "[^"]+"\)', file.read(), re.MULTILINE)
        )


def read():
    """{name: machine} of every file, in the order of names."""
    machines = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path, encoding="ascii") as file:
            machines[os.path.splitext(os.path.basename(path))[0]] = json.load(file)
    return machines


def faults(machines):
    """What is wrong with them, one sentence each."""
    known = figures()
    for name, machine in machines.items():
        missing, more = sorted(KEYS - machine.keys()), sorted(machine.keys() - KEYS - WRITTEN)
        if missing or more:
            yield (
                f"{name}: lacks {', '.join(missing) or 'nothing'}, and has"
                f" {', '.join(more) or 'nothing'} that no machine has"
            )
            continue
        if machine["name"] != name:
            yield f"{name}: is called {machine['name']} inside"
        if not machine["devices"] or len(machine["devices"]) >= MOST_DEVICES:
            yield (
                f"{name}: names {len(machine['devices'])} devices; it may name 1 to"
                f" {MOST_DEVICES - 1}"
            )
        for figure in sorted(known.keys() - machine["figures"].keys()):
            yield f"{name}: lacks {figure}; give null where it is not known"
        for figure, told in machine["figures"].items():
            yield from (
                f"{name}: {figure}: {fault}" for fault in _faults_of(told, known.get(figure))
            )
    if OTHERWISE not in machines:
        yield f"there is no {OTHERWISE}, which devices without a machine take"
    for backend in sorted(
        {machine.get("backend") for machine in machines.values()} | {OTHERWISE}, key=str
    ):
        count = sum(
            machine.get("backend") == backend and machine.get("is_default") is True
            for machine in machines.values()
        )
        if count != 1:
            yield f"backend {backend} has {count} default machines; one must be"


def _faults_of(told, unit):
    if unit is None:
        yield "is no figure of kernels/choices/machine.h"
    elif told.get("unit") != unit:
        yield f"is in {told.get('unit')}, and the header says {unit}"
    if told.get("from") not in ORIGINS:
        yield f"comes from '{told.get('from')}': say {', '.join(ORIGINS)}"
    if (told.get("value") is None) != (told.get("from") == "not known"):
        yield "what is not known has null, and nothing else has"
    elif told["value"] is not None and not (
        isinstance(told["value"], (int, float)) and told["value"] >= 0
    ):
        yield f"{told['value']} is no number from 0 on"
    if told.get("from") in DATED and not DATE.fullmatch(told.get("date", "")):
        yield "lacks the date of the measurement"
    if told.get("from") in ORIGINS[:-1] and not told.get("source"):
        yield "lacks its source"
    more = sorted(told.keys() - {"value", "unit", "from", "source", "date"})
    if more:
        yield f"has {', '.join(more)} that no figure has"


def text():
    """The table in C. A file that is not as it must be stops the build."""
    machines = read()
    wrong = list(faults(machines))
    if wrong:
        raise SystemExit("model/perf/machines: " + "\nmodel/perf/machines: ".join(wrong))
    lines = [
        "/* Made by the build from model/perf/machines/. */",
        '#include "kernels/choices/machine.h"',
        "", "const machine_t machine_table[] = {"
    ]
    for name, machine in machines.items():
        devices = ", ".join(json.dumps(device) for device in machine["devices"])
        lines.append(
            f'\t{{.name = "{name}", .backend = "{machine["backend"]}", .device = {{{devices}}},'
            f' .is_default = {int(machine["is_default"])},'
        )
        lines += [
            f"\t .{figure} = {machine['figures'][figure]['value'] or 0}," for figure in figures()
        ]
        lines.append("\t},")
    lines += ["};", "const int machine_count = sizeof machine_table / sizeof *machine_table;"]
    lines += [
        (
            "const machine_t *const machine_otherwise ="
            f" &machine_table[{list(machines).index(OTHERWISE)}];"
        ),
        ""
    ]
    return "\n".join(lines)


_made = []


def made(env):
    """The table as the build writes it, one for all builds."""
    if not _made:
        _made.append(
            env.Command(
                "#" + TABLE, env.Value(text()), env.Action(variants.write, "  make    $TARGET")
            )[0]
        )
    return _made[0]
