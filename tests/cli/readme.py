#!/usr/bin/env python3
"""
The command lines of README.md and examples/README.md, run as they stand there, and what the pages say that they print. What is made
for machines with more time (searches, 64 MiB) runs with smaller numbers behind it, and the demo's own table in release alone.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import tap  # noqa: E402

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ["BUILD"])
COMPILER, VARIANT = re.match(r"(.+)-(\w+)$", os.path.basename(BUILD)).groups()
SANITIZERS = {"asan": "-fsanitize=address,undefined", "tsan": "-fsanitize=thread"}
SMALLER = [  # what is put behind a command that would take long
    (r"bench .*--(baseline|tune)", "--shape 96x80x64 -i 2 -w 0"),
    (r"perf put", "-e 64K -N 2 -w 0"),
    (r"perf signal", "-N 2 -w 0"),
]
WITH_BUGS = re.compile(r"tessera check .*\./unsynchronised")  # planted, so that there is something to find
NO_FORKS = "tsan"  # ThreadSanitizer takes the fibres of a forked process for threads that have ended


def blocks(path):
    """The indented blocks of a page, each as its lines."""
    block = []
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        for line in file.read().split("\n") + [""]:
            if line.startswith("    "):
                block.append(line[4:])
            elif block:
                yield block
                block = []


def run(command, folder):
    small = next((f" {words}" for pattern, words in SMALLER if re.search(pattern, command)), "")
    compiler = os.path.join(folder, "compiler")
    settings = dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"], CC=compiler, OPENBLAS_NUM_THREADS="1",
                    TESSERA_TUNE_FILE=os.path.join(folder, "tuned.json"))
    return subprocess.run(re.sub(r"\s+#.*", "", command) + small, shell=True, cwd=folder, env=settings, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=600, check=False)


def prepare(folder):
    """The repository's sources as a user in it sees them, and a compiler that goes with this build of the library."""
    os.mkdir(os.path.join(folder, "build"))
    for name in ("examples", "kernels", "tests", "include", "build/generated"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    with open(os.path.join(folder, "compiler"), "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec {COMPILER} {SANITIZERS.get(VARIANT, "")} "$@"\n')
    os.chmod(os.path.join(folder, "compiler"), 0o755)


def steady(line):
    """A line without what changes when somebody edits a program: numbers of lines, and of seeds."""
    return re.sub(r"\.c:\d+", ".c:N", re.sub(r"--replay \d+", "--replay N", " ".join(line.split())))


def contains(printed, wanted):
    """Whether the lines come in this order; ... stands for any, and how lines are broken does not count."""
    text = " ".join(steady(line) for line in printed)
    at = 0
    for part in re.split(r" ?\.\.\. ?", " ".join(steady(line) for line in wanted)):
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def prints_what_it_says(result, wanted, name):
    printed = (result.stdout + result.stderr).splitlines()
    alike = sorted(printed) == sorted(wanted) or contains(printed, wanted)
    tap.verdict(alike, name, "it prints:\n" + "\n".join(printed[:25]) + "\nand the page says:\n" + "\n".join(wanted))


def columns(line, heads):
    """What stands in a line of the demo's table, by the column's head."""
    names = ["pattern", "tile", "median ms", "spread ms", "TFLOP/s", "launches", "written", "read", "to peers", "early", "verdict"]
    assert " ".join(heads.split()) == " ".join(names), heads
    cells = re.sub(r" \.\. ", "..", re.sub(r"(\d) of (\d)", r"\1of\2", line)).split()
    return dict(zip(names, cells))


def demo(wanted):
    result = subprocess.run([os.path.join(BUILD, "tessera"), "bench", "gemm-all-scatter", "-n", "8", "--pattern", "all", "--verify"],
                            env=dict(os.environ, TESSERA_BACKEND="cpuemu"), capture_output=True, text=True, timeout=600, check=False)
    printed = result.stdout.splitlines()
    tap.verdict(printed[:2] == wanted[:2], "the demo's head is as README.md shows it", "\n".join(printed[:2] + wanted[:2]))
    for shown, line in zip(wanted[2:], printed[2:] + [""] * len(wanted)):
        expected, got = columns(shown, wanted[1]), columns(line, wanted[1])
        same = [expected[name] == got.get(name) for name in ("pattern", "tile", "launches", "written", "read", "to peers", "verdict")]
        tap.verdict(all(same), f"README.md's line of {expected['pattern']}", f"it prints: {line}\nthe page says: {shown}")


def can_run(command):
    return not (VARIANT == NO_FORKS and command.startswith("tessera check"))


def try_page(path, folder):
    """Each command, and behind it what it prints, where the page says so."""
    last, count = None, 0
    for block in blocks(path):
        commands = [line for line in block if line.startswith("tessera ")]
        if block[0].startswith("GEMM + all-scatter"):
            if VARIANT == "release":
                demo(block)
        elif commands:
            for command in commands:
                last = run(command, folder) if can_run(command) else None
                if not last:
                    continue
                tap.verdict(last.returncode == (1 if WITH_BUGS.match(command) else 0), f"{path}: {command}", f"exit code {last.returncode}\n" + (last.stdout + last.stderr)[-2000:])
                count += 1
        elif last and not block[0].startswith(("ci/", "export", "N passed")):
            prints_what_it_says(last, block, f"{path}: what {last.args.split()[1]} prints")
            last = None
    return count


def main():
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        tap.verdict(try_page("README.md", folder) >= 9, "README.md's commands are found")
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        try_page("examples/README.md", folder)
        with open(os.path.join(ROOT, "examples", "README.md"), encoding="utf-8") as file:
            page = file.read()
        for example in sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))):
            name = os.path.basename(example)[:-2]
            tap.verdict(f"tessera cc examples/{name}.c" in page and f" ./{name}" in page, f"examples/README.md builds and runs {name}")
    return tap.exit_code()


sys.exit(main())
