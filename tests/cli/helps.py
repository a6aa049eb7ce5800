#!/usr/bin/env python3
"""
What all commands have in common: a help of 80 columns at most, one meaning for
a letter, and JSON and CSV wherever there is a table.
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import tap  # noqa: E402

BUILD = os.path.abspath(os.environ["BUILD"])
TESSERA = os.path.join(BUILD, "tessera")
COLUMNS = 80
TEST = "tests/litmus/2+2W.fsc.sameGPU-aa.litmus"
# Commands that print a table, and the member of their JSON that holds its rows.
TABLES = {
    "bench gemm-all-scatter": (
        "-n 2 --shape 64x64x64 --pattern banded,bulk-synchronous --iterations 1 -w 0", "patterns"
    ),
    "sim gemm-all-scatter": (
        "--machine h200x2 --shape 64x64x64 --pattern banded,bulk-synchronous", "patterns"
    ),
    "perf": ("put -n 2 -b 8 -e 16 -N 2 -w 0", "rows"),
    "litmus": (TEST, "tests"),
    "check": (f"--worlds 1-2 --seeds 2 --no-slowdown {BUILD}/examples/hello", "worlds"),
    "info": ("kernels --filter perf_put", "kernels"),
}


def run(words, *more):
    return subprocess.run([TESSERA, *words.split(), *more], capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip


def help_of(command):
    return run(command, "--help").stdout


def section(text, head):
    """The names that a section of a help lists."""
    listed = re.search(rf"^{head}:\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  ([a-z][\w-]*) ", listed[1], re.MULTILINE) if listed else []


def too_wide(helps):
    return [
        f"{command}: {line}"
        for command, text in helps.items()
        for line in text.split("\n")
        if len(line.expandtabs()) > COLUMNS
    ]


def conflicts(helps):
    """Letters that stand for options of different names."""
    meanings = {}
    for command, text in helps.items():
        for letter, name in re.findall(r"^ {2,6}-(\w), --([\w-]+)", text, re.MULTILINE):
            meanings.setdefault(letter, {}).setdefault(name, []).append(command)
    return [f"-{letter} is {names}" for letter, names in meanings.items() if len(names) > 1]


def options_of(text):
    """The long options that a help lists."""
    return set(re.findall(r"^ {2,6}(?:-\w, )?--([\w-]+)", text, re.MULTILINE))


def check_abbreviations(helps):
    """The first letters of an option are no option: they would change with the next new one."""
    taken, tried = [], 0
    for command, text in helps.items():
        if command == "tessera":
            continue
        command += " gemm-all-scatter" if command == "sim" else ""  # which reads no option before
        for option in sorted(options_of(text)):
            short = option[:-1]
            for words in ([f"--{short}=1", "--help"], [f"--{short}", "--help"]):
                done = run(command, *words)
                tried += 1
                if done.returncode != 2 or f"unknown option '--{short}'" not in done.stderr:
                    taken.append(f"{command} {words}: {done.returncode} {done.stderr}")
    tap.verdict(
        tried > 100 and not taken, f"abbreviated options are refused, {tried} times",
        "\n".join(taken)
    )


def check_helps():
    helps = {"tessera": help_of("")}
    for command in section(helps["tessera"], "commands"):
        helps[command] = help_of(command)
    for workload in section(helps["bench"], "workloads"):
        for command in ("bench", "sim"):
            helps[f"{command} {workload}"] = help_of(f"{command} {workload}")
    empty = [command for command, text in helps.items() if not text.startswith(("usage", "tess"))]
    tap.verdict(len(helps) > 12 and not empty, "every command has a help", f"{len(helps)}, {empty}")
    wide = too_wide(helps)
    tap.verdict(not wide, f"helps have {COLUMNS} columns at most", "\n".join(wide))
    differ = conflicts(helps)
    tap.verdict(not differ, "a letter has one meaning in all commands", "\n".join(differ))
    planted = {**helps, "planted": "  -n, --nodes N   number\n" + " " * COLUMNS + "x\n"}
    tap.verdict(
        len(conflicts(planted)) == 1 and len(too_wide(planted)) == 1,
        "a letter of two meanings and a wide line would be found"
    )
    check_abbreviations(helps)
    lack = [
        f"{command} {option}"
        for command in TABLES
        for option in ("--json", "--csv")
        if not re.search(rf"{option} FILE ", helps[command])
    ]
    tap.verdict(not lack, "commands that print tables write JSON and CSV", f"not: {lack}")


def text_of(value):
    """A plain value as CSV has it."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ";".join(text_of(part) for part in value)
    return value if isinstance(value, str) else json.dumps(value)


def is_plain(value):
    """Whether it has a column of its own."""
    parts = value if isinstance(value, list) else [value]
    return not any(isinstance(part, (dict, list)) for part in parts)


def same(value, text):
    return text == text_of(value) or (
        isinstance(value, float) and abs(float(text) - value) <= 1e-6 * abs(value)
    )


def check_head(command, root):
    """A document begins with what its form is, and with what wrote it."""
    name = command.split()[0].replace("sim", "bench")
    build = dict(line.split(None, 1) for line in run("info build").stdout.splitlines()[2:])
    wanted = {
        "schema": f"tessera-{name}/1", "version": build["version"], "commit": build["commit"]
    }
    head = dict(list(root.items())[:3]) if isinstance(root, dict) else root
    tap.verdict(head == wanted, f"{command}: what its JSON is", f"wanted {wanted}: {head}")


def check_documents(folder):
    """What else commands write as JSON, each with the member that tells of it."""
    path, hello = os.path.join(folder, "one"), os.path.join(BUILD, "examples", "hello")
    product = "gemm-all-scatter -n 1 --shape 16x16x16 --iterations 1 -w 0 --pattern banded"
    for words, file, schema, member in (
        (f"bench {product} --dump {path}", ".json", "tessera-bench-dump/1", None),
        (f"bench {product} --trace {path}", "", "tessera-bench-trace/1", "otherData"),
        (f"check -n 1 --seeds 1 --no-slowdown --trace {path} {hello}", "",
         "tessera-check-trace/1", "otherData"),
        (f"calibrate -n 1 -o {path}", "", "tessera-machine/1", None),
    ):  # fmt: skip
        if words.startswith("check") and BUILD.endswith("-tsan"):
            continue  # explores nothing there
        done = run(words)
        try:
            with open(path + file, encoding="utf-8") as text:
                told = json.load(text)
            head = told[member] if member else told
            good = head["schema"] == schema and head["version"] and head["commit"]
        except (OSError, ValueError, KeyError) as error:
            good = None
            done.stderr += f"{type(error).__name__}: {error}"
        tap.verdict(done.returncode == 0 and good, f"{schema}: what it is", done.stderr)


def check_table(command, words, member, folder):
    """CSV has the rows of JSON, with all plain members of theirs."""
    files = [os.path.join(folder, "table." + suffix) for suffix in ("json", "csv")]
    done = run(f"{command} {words}", "--json", files[0], "--csv", files[1])
    if command == "check":  # options stand before the program
        first, program = words.rsplit(" ", 1)
        done = run(f"{command} {first}", "--json", files[0], "--csv", files[1], program)
    try:
        with open(files[0], encoding="utf-8") as file:
            root = json.load(file)
        with open(files[1], encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
    except (OSError, ValueError) as error:
        tap.verdict(False, f"{command}: CSV and JSON", f"{error}\n{done.stdout}{done.stderr}")
        return
    check_head(command, root)
    rows = root[member]
    plain = [
        (value, line.get(key))
        for row, line in zip(rows, table)
        for key, value in row.items()
        if is_plain(value)
    ]
    wrong = [pair for pair in plain if pair[1] is None or not same(*pair)]
    tap.verdict(
        done.returncode == 0 and rows and len(rows) == len(table) and not wrong,
        f"{command}: CSV has the rows of JSON",
        f"exit code {done.returncode}, {len(rows)} and {len(table)} rows, {wrong}\n{done.stderr}"
    )


def main():
    check_helps()
    with tempfile.TemporaryDirectory() as folder:
        for command, (words, member) in TABLES.items():
            if command == "check" and BUILD.endswith("-tsan"):
                continue  # explores nothing there
            check_table(command, words, member, folder)
        check_documents(folder)
        for command, (words, _) in TABLES.items():
            if command in ("check", "info"):
                continue
            done = run(f"{command} {words}", "--csv", os.path.join(folder, "none", "table.csv"))
            tap.verdict(
                done.returncode in (1, 2) and "none/table.csv'" in done.stderr,
                f"{command}: CSV that cannot be written",
                f"exit code {done.returncode}\n{done.stderr}"
            )
    return tap.exit_code()


sys.exit(main())
