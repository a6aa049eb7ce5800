#!/usr/bin/env python3
"""
The pages of commands (man/*.1) and `--help` list the same options, and the
pages' examples use no others. So do commands within the text of all other pages
(*.md).
"""
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import tap  # noqa: E402

ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
TESSERA = os.path.join(os.path.abspath(os.environ["BUILD"]), "tessera")
COMMANDS = ("run", "bench", "sim", "calibrate", "perf", "litmus", "check", "info", "cc")
WORKLOAD = "gemm-all-scatter"  # whose parameters the page of bench describes


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def options_of(words):
    """The options that a help lists: -x and --xyz."""
    text = subprocess.run(
        [TESSERA, *words, "--help"], capture_output=True, text=True, check=False
    ).stdout
    listed = re.findall(r"^ {2,6}(-\w)?(?:, )?(--[\w-]+)?[ =\[]", text, re.MULTILINE)
    return {option for pair in listed for option in pair if option}


def workloads():
    done = subprocess.run(
        [TESSERA, "bench", "--list"], capture_output=True, text=True, check=True
    )
    return re.findall(r"^[a-z][a-z-]*$", done.stdout, re.MULTILINE)


def options_of_page(text):
    """The options that a page has as items of a list."""
    items = re.findall(r"^\.It (Fl .*)$", text, re.MULTILINE)
    return {
        "-" + option
        for item in items
        for option in re.findall(r"\bFl (-?[\w-]+)", item)
        if option != "-"
    }


def wrong_options(line, helps):
    """Options in a command line `tessera COMMAND ...` that the command's help does not have."""
    words = line.split("#")[0].split()
    command = words[1] if len(words) > 1 else ""
    known = helps.get(command)
    if known is None:
        return set()
    return (
        {word.split("=")[0] for word in words[2:] if re.match(r"--[a-z][\w-]*", word)}
        - known
        - {"--help", "--list"}
    )


def main():
    helps = {command: options_of([command]) for command in COMMANDS}
    helps["bench"] = options_of(["bench", WORKLOAD])
    for command in COMMANDS:
        text = read(os.path.join(ROOT, "man", f"tessera-{command}.1"))
        page = options_of_page(text)
        differ = page ^ helps[command]
        tap.verdict(
            len(page) > 1 and not differ, f"man tessera-{command} has the options of its help",
            f"in one of them alone: {sorted(differ)}"
        )
    for workload in workloads():
        helps["bench"] |= options_of(["bench", workload])
    for command in ("check", "sim"):  # explore and simulate workloads
        helps[command] |= helps["bench"]
    lines = [
        (path, line)
        for path in glob.glob(os.path.join(ROOT, "man", "*.1"))
        for line in re.findall(r"^\.Dl (tessera .*)$", read(path), re.MULTILINE)
    ]
    for path in glob.glob(os.path.join(ROOT, "**", "*.md"), recursive=True):
        if not path.startswith(os.path.join(ROOT, "build") + "/"):
            lines += [
                (path, " ".join(line.split()))
                for line in re.findall(r"`(tessera [^`]+)`", read(path))
            ]
    wrong = [
        f"{os.path.relpath(path, ROOT)}: {line}: {option}"
        for path, line in lines
        for option in wrong_options(line, helps)
    ]
    tap.verdict(
        len(lines) > 50 and not wrong, "commands in the text of pages have options that exist",
        "\n".join(wrong) or f"{len(lines)} lines only"
    )
    planted = wrong_options("tessera perf put --sheep 3 -n 2", helps) == {
        "--sheep"
    } and options_of_page(".It Fl n , Fl -ranks Ar ranks\n") == {"-n", "--ranks"}
    tap.verdict(planted, "planted: an option that does not exist is told")
    return tap.exit_code()


sys.exit(main())
