#!/usr/bin/env python3
"""
The finding that tessera check shows first of a planted bug, and whether its
cure is right: tests/planted/cures.tsv has a line for each kind of each program
of tests/planted. Of the cures of all bugs 95 % must be right.

A line has, between tabs:

    program    below tests/planted
    arguments  which say the kind; "-" for none
    how        options that differ from HOW; "run ...": tessera run in its place
    fits       classes of findings that fit the bug
    key        the cure that is right, or why there is no bug: written from the
               program's source, by who had not seen what is shown
    judged     right or wrong: whether who does what is shown has mended the bug
               as the key says; sound: there is no bug; endless: nor is there an
               end
    class      of what is shown: of the first finding; no-verdict: a sentence why
               nothing can be said; run-failure: what tessera run says
    change     the begin of what is shown, without the numbers of lines; "-": none
"""
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../harness"))
from tap import exit_code, verdict  # noqa: E402

PLANTED = os.path.join(HERE, "..", "..", "planted")
HOW = {"-n": "3", "--seeds": "15"}
FIRST = re.compile(r"^(?:finding|warning): ([\w-]+):(.*?)^  replay ", re.S | re.M)
CHANGE = re.compile(r"^  change +(.*?)^  \w", re.S | re.M)
PLACE = re.compile(r"\S*?(\w+\.[ch]):\d+")
TABLE = re.compile(r"const char \*const \w+\[\w+\] = \{(.*?)\};", re.S)
LITERAL = re.compile(r'"([^"]*)"')
OTHERS = re.compile(r'strcmp\((?:argv\[1\]|how), "([^"]*)"\)|\bCASE(S?)\((?!name_)(\w+)\)')


def kinds_of(source):
    """What a program's arguments may say, from its text."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    names = {name for table in TABLE.findall(text) for name in LITERAL.findall(table)}
    for said, workers, case in OTHERS.findall(text):
        names |= {said or case} | ({f"workers_{case}"} if workers else set())
    return names


def check_that_all_are_told(rows):
    """No kind of a program is left out."""
    for source in sorted(glob.glob(os.path.join(PLANTED, "*", "*.c"))):
        program = os.path.relpath(source, PLANTED)[:-len(".c")]
        kinds = kinds_of(source)
        told = {word for row in rows if row[0] == program for word in row[1].split()}
        missing = sorted(kinds - told)
        verdict(
            kinds and not missing, f"{program}: each of its kinds has a line",
            f"cures.tsv has none for: {', '.join(missing) or 'any'}"
        )


def command(program, arguments, how):
    """The command line of a row."""
    path = os.path.join(os.environ["BUILD"], "tests", "planted", program)
    words = [] if how == "-" else how.split()
    kind = [] if arguments == "-" else arguments.split()
    if words[:1] == ["run"]:
        return ["tessera", *words, path, *kind]
    usual = [word for option in HOW if option not in words for word in (option, HOW[option])]
    return ["tessera", "check", "--no-slowdown", *usual, *words, path, *kind]


def shown(ran):
    """Class and cure of what a command has printed first: on one line, without lines' numbers."""
    found = FIRST.search(ran.stdout)
    change = CHANGE.search(found[2] + "  end") if found else None
    last = (ran.stderr.splitlines() or [""])[-1]
    if found:
        kind, text = found[1], change[1] if change else ""
    elif ran.args[1] == "run" and ran.returncode != 0:
        kind, text = "run-failure", last
    elif ran.returncode == 3:
        kind, text = "no-verdict", last
    else:
        kind, text = "none", ""
    return kind, PLACE.sub(r"\1", " ".join(text.split()))


def check_row(row):
    """Whether it shows what was judged. Returns what it shows."""
    program, arguments, how, fits, _, judged, kind, change = row
    ran = subprocess.run(
        command(program, arguments, how), capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL
    )
    is_shown = shown(ran)
    name = f"{program} {arguments}: "
    if judged == "sound":
        verdict(
            is_shown[0] == "none" and ran.returncode == 0, name + "nothing is wrong",
            f"{is_shown} {ran.stderr}"
        )
        return is_shown
    same = is_shown[0] == kind and is_shown[1].startswith("" if change == "-" else change)
    verdict(same, name + f"its first cure is the {judged} one", f"{is_shown}")
    if judged == "right":
        verdict(
            kind in fits.split() and change != "-", name + "a cure of a class that fits",
            f"{kind} is not one of: {fits}"
        )
    return is_shown


def main():
    with open(os.path.join(PLANTED, "cures.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    check_that_all_are_told(rows)
    for row in rows:
        if row[5] != "endless":
            check_row(row)
    bugs = [row[5] for row in rows if row[5] not in ("sound", "endless")]
    verdict(
        100 * bugs.count("right") >= 95 * len(bugs),
        f"right cures come first: {bugs.count('right')} of {len(bugs)}", "less than 95 %"
    )
    return exit_code()


sys.exit(main())
