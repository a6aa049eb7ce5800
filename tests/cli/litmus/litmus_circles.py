#!/usr/bin/env python3
"""
tessera check warns of load buffering in circles of three and four threads
exactly where the axioms allow them: loads, then stores that the next thread
loads, with orders, scopes and fences drawn at random.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

SEED, COUNT = 20261121, {3: 60, 4: 20}
LOCATIONS = "xyzw"


def scopes(draw, count):
    """Devices of their own; one device; or one of two devices that has all but the first."""
    blocks = [f"(wg (wave (wi {i})))" for i in range(count)]
    return draw.choice(
        (
            "(system " + " ".join(f"(agent {block})" for block in blocks) + ")",
            "(system (agent " + " ".join(blocks) + "))",
            f"(system (agent {blocks[0]}) (agent " + " ".join(blocks[1:]) + "))",
        )
    )


def thread(draw, number, count, scope):
    load, store = draw.choice(("rlx", "acq", "acq", "acq")), draw.choice(
        ("rlx", "rel", "rel", "rel")
    )
    fence = [f"f[{draw.choice(('acqrel', 'acq', 'rel'))},{scope}]"] if draw.random() < 0.2 else []
    return [
        f"r[{load},{scope}] r0 {LOCATIONS[number]}", *fence,
        f"w[{store},{scope}] {LOCATIONS[(number + 1) % count]} 1"
    ]


def litmus(draw, name, count):
    place = scopes(draw, count)
    # Device scope where all are on one device; system scope else: no two accesses race.
    scope = "agent" if place.count("agent") == 1 and draw.random() < 0.5 else "system"
    columns = [thread(draw, number, count, scope) for number in range(count)]
    rows = [[f"P{number}" for number in range(count)]]
    rows += [
        [column[i] if i < len(column) else "" for column in columns]
        for i in range(max(map(len, columns)))
    ]
    table = "\n".join(" | ".join(cell.ljust(24) for cell in row) + ";" for row in rows)
    condition = " /\\ ".join(f"{number}:r0=1" for number in range(count))
    return (
        f'LISA {name}\n"a circle"\nExpect=Sometimes\n{{ }}\n{table}\nscopes: {place}\nexists'
        f" ({condition})\n"
    )


def tessera(*arguments):
    return subprocess.run(
        ["tessera", "litmus", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=500, check=False
    ).stdout


def compare(folder, count):
    draw = random.Random(SEED + count)
    names = [f"circle-{count}-{i:03d}" for i in range(COUNT[count])]
    for name in names:
        with open(os.path.join(folder, name + ".litmus"), "w", encoding="ascii") as file:
            file.write(litmus(draw, name, count))
    differs = dict(
        re.findall(
            r"^differs (\S+): expected Sometimes, but it is (\S+)",
            tessera(folder, "--on", "axioms"), re.MULTILINE
        )
    )
    told = re.split(r"^Test ", tessera(folder, "--on", "explore", "--verbose"), flags=re.MULTILINE)[
        1:
    ]
    warned = {text.split()[0] for text in told if "Warning load-buffering" in text}
    allowed = {name for name in names if name not in differs}
    forbidden = {name for name in names if differs.get(name) == "Never"}
    verdict(
        len(told) == len(names) and len(allowed | forbidden) == len(names),
        f"{len(names)} circles of {count}", f"{differs}"
    )
    verdict(
        allowed and allowed <= warned, f"{len(allowed)} that the model allows are warned of",
        f"not {sorted(allowed - warned)}"
    )
    verdict(
        forbidden and not forbidden & warned, f"{len(forbidden)} that it forbids are not",
        f"but {sorted(forbidden & warned)}"
    )


if os.environ.get("BUILD", "").endswith(("-tsan", "-asan")):
    print(
        "ok - circles # skip schedules are forked, which ThreadSanitizer cannot follow and"
        " AddressSanitizer makes slow"
    )
    sys.exit(0)
for threads in COUNT:
    with tempfile.TemporaryDirectory() as place:
        compare(place, threads)
sys.exit(exit_code())
