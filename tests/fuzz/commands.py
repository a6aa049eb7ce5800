#!/usr/bin/env python3
"""
Calls every command with arguments and settings made at random, and files that
are almost right. Whatever it is given, a command ends soon, says in one line
what it was misused by, and is not killed by a signal. TSR_FUZZ_SECONDS, or
--seconds: how long.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))

import tap

BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build", "gcc-debug"))
TESSERA = os.path.join(BUILD, "tessera")
HELLO = os.path.join(BUILD, "examples", "hello")
LIMIT_S = 60  # of one command, on a busy machine

# A command; what keeps what it does small (options given later win); and what it works on.
COMMANDS = {
    "run": ("", ["true", "false", "no-such-program", HELLO]),
    "bench": ("", ["gemm-all-scatter --shape 64x64x32 --iterations 1 -w 0", "gemm", ""]),
    "bench gemm-all-scatter": (
        "-n 2 --shape 64x64x32 --iterations 1 -w 0 --pattern banded --no-tuned", [""]
    ),
    "perf": (
        "-n 2 -e 8 -N 1 -m 1 -w 0",
        [
            "put", "get", "copy", "put-signal", "marked", "atomic", "signal", "barrier",
            "all-gather", "nothing"
        ]
    ),
    "litmus": ("--unroll 1 --runs 10", ["test.litmus", "oracle.jsonl", "folder", "nothing"]),
    "check": ("-n 2 --seeds 2 --no-slowdown", [HELLO, "true", "no-such-program"]),
    "info": ("", ["", "more"]),
    "cc": ("", ["no-such-file.c", "test.c", ""]),
    "": ("", ["--version", "--help", "-h", "chekc", "run --help"]),
}
BEYOND = ("/", "..")  # what such a folder holds nobody here knows: any number of litmus tests
LAST = {"check": "--time-limit 2s", "": ""}  # what no other argument may undo

# Values that people mistype, and that are at the end of a range. None makes a right command long.
VALUES = """
    0 1 2 3 5 -1 -0 +1 01 0x10 1e3 1.5 1. .5 nan inf 65 9999999999 18446744073709551616
    -9223372036854775809 8K 8k 1KiB 1M 1G 99999T 1x1x1 64x64x32 64x64 64x64x32x1 0x0x0 axbxc
    64X64X32 16x16x16 f32 bf16 f16 f33 banded all banded,banded banded, ,banded process thread fibre
    cpuemu cuda hip cpuem random pct exhaustive view cache off axioms views explore interleaving
    tessera porf 1ms 2s 1h -1s 2 s default 1:1 1:0+2:1 2:1+1:1 1: :1 / /dev/null /dev/full
    /nonexistent/file . .. out.json folder % %s %n \\ ' " ; $HOME ~ * -- - = ==
""".split()
VALUES += [
    "", " ", "\t", "\n", "1 ", " 1", "ä", "\u2028", "\x7f", "a" * 300, "a" * 5000, "9" * 400, ",",
    ",,"
]

# By what the help calls a value: such as are right.
FITTING = {
    "SIZE": "8 16 1K", "0|1": "0 1", "P,...": "all banded bulk-synchronous,banded",
    "P": "process thread", "B": "cpuemu", "MxNxK": "64x64x32 16x16x16",
    "FILE": "out.json test.litmus script", "STRATEGY": "random pct exhaustive",
    "MEMORY": "view cache off", "SEED|SCHEDULE": "1 7 default 3:1 2:1+5:1",
    "WITNESS": "axioms views cache interleaving explore cpuemu", "HOW": "lanes api",
    "VARIANT": "tessera incl porf", "D": "f32 bf16 1s 2", "T": "f32 i8",
}  # fmt: skip

SETTINGS = (
    "BACKEND PLACEMENT RANK SIZE JOB HEAP_SIZE DEADLINE CPUEMU_RESIDENT_BLOCKS CPUEMU_WORKERS"
    " CPUEMU_SHARED_SIZE SPREAD_PASSES TUNE_FILE CHECK LOG NOTHING"
)


def options_of(command):
    """Its options as its help lists them: {option: what its value is called, or nothing}."""
    text = subprocess.run(
        [TESSERA, *command.split(), "--help"], capture_output=True, text=True, check=False
    ).stdout
    found = {}
    for short, long_, value in re.findall(
        r"^ +(-\w)?,? *(--[\w-]+)?([ =][A-Z0][\w|,.]*|\[=[A-Z]+\])?  ", text, re.MULTILINE
    ):
        found.update({name: value.strip(" =[]") for name in (short, long_) if name})
    return found


def damage(text, chance):
    """The text with some characters changed, dropped, doubled or moved."""
    text = list(text)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text)) if text else 0
        change = chance.randrange(4)
        if change == 0 and text:
            text[at] = chance.choice("019xyP|;:=()[]{}, \n\\/~ra")
        elif change == 1 and text:
            del text[at : at + chance.randint(1, 5)]
        elif change == 2:
            text[at:at] = text[at : at + chance.randint(1, 20)]
        else:
            text.insert(at, chance.choice(VALUES[:40]))
    return "".join(text)


def make_arguments(command, options, chance):
    small, subjects = COMMANDS[command]
    values = [value for value in VALUES if command != "litmus" or value not in BEYOND]
    words = small.split()
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        name = chance.choice(sorted(options) or ["-x"])
        value = chance.choice(
            FITTING.get(options.get(name), "1 2 3").split() if chance.random() < 0.5 else values
        )
        if chance.random() < 0.1:
            name = damage(name, chance)
        words += (
            [f"{name}={value}"]
            if name.startswith("--") and chance.random() < 0.3
            else [name] + [value] * (bool(options.get(name)) ^ (chance.random() < 0.05))
        )
    subject = chance.choice(subjects) if chance.random() < 0.9 else chance.choice(values)
    last = LAST.get(command, "").split()
    place = chance.random() < 0.3 and subject not in ("true", "false", HELLO)
    return command.split() + (
        subject.split() + words + last if place else words + last + subject.split()
    )


def make_files(folder, chance):
    litmus = os.path.join(ROOT, "tests", "litmus")
    source = chance.choice(
        sorted(
            name
            for name in os.listdir(litmus)
            if name.startswith(("MP", "SB", "LB", "Co")) and name.endswith(".litmus")
        )
    )
    with open(os.path.join(litmus, source), encoding="utf-8") as file:
        test = damage(file.read(), chance)
    os.mkdir(os.path.join(folder, "folder"))
    for name, text in (
        ("test.litmus", test), ("folder/test.litmus", test),
        ("test.c", "int main(void) { return 0; }"),
        ("oracle.jsonl", damage('{"name":"a","litmus":"LISA a"}\n', chance))
    ):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def make_environment(chance):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    made = {}
    if chance.random() < 0.2:
        made["TESSERA_" + chance.choice(SETTINGS.split())] = chance.choice(VALUES)
    return {**kept, "TESSERA_DEADLINE": "5s", **made}, made


def judge(command, code, out, err):
    """What is wrong with how it ended, or nothing."""
    if code is None:
        return f"did not end within {LIMIT_S} s"
    if code < 0:
        return f"was ended by signal {-code}"
    if re.search(r"killed by signal|Sanitizer|runtime error|Assertion", err):
        return "crashed"
    if code not in (0, 1, 2, 3) and command not in ("run", ""):
        return f"exit code {code}"
    if (
        code == 2
        and (out or err.count("\n") != 1)
        and not err.startswith("usage")
        and command != "run"
    ):
        return "was misused, and did not say so in one line"
    if code not in (0, 2) and not (out + err).strip() and command != "run":
        return "failed without a word"
    return ""


def attempt(seed, options):
    """One command. Returns its name, how long it took, and what is wrong with it and how to call it
    again."""
    chance = random.Random(seed)
    command = chance.choice(sorted(COMMANDS))
    arguments = [
        word for word in make_arguments(command, options[command], chance) if "\0" not in word
    ]
    environment, made = make_environment(chance)
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder, chance)
        began = time.monotonic()
        process = subprocess.Popen(
            [TESSERA, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True
        )
        try:
            out, err = process.communicate(timeout=LIMIT_S)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            code = None
    took = time.monotonic() - began
    why = judge(command, code, out, err)
    told = " ".join(
        [
            *(f"{name}={shlex.quote(value)}" for name, value in made.items()), "tessera",
            *map(shlex.quote, arguments)
        ]
    )
    return (
        command, took,
        why and f"--seed {seed}: {why}: {told}\nexit code {code}\n{out[-500:]}\n{err[-1500:]}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=float(os.environ.get("TSR_FUZZ_SECONDS", "15")),
        help="default: %(default)s"
    )
    parser.add_argument("--seed", type=int, help="this one alone, as it was printed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    options = {command: options_of(command) for command in COMMANDS}
    first = (
        arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 40)
    )
    end = time.monotonic() + arguments.seconds
    tried, broken, slowest = (
        {command: 0 for command in COMMANDS}, {command: [] for command in COMMANDS}, [(0, first)]
    )

    def work(worker):
        for number in range(worker, 1 if arguments.seed is not None else 1 << 30, arguments.jobs):
            if number and time.monotonic() > end:
                break
            command, took, why = attempt(first + number, options)
            tried[command] += 1
            slowest[0] = max(slowest[0], (took, first + number))
            broken[command] += [why] if why else []

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(work, range(arguments.jobs)))
    for command, count in tried.items():
        if count:
            tap.verdict(
                not broken[command], f"tessera {command}".strip() + ": any arguments",
                "\n".join(broken[command][:20])
            )
    print(
        f"# {sum(tried.values())} commands from seed {first} on; the slowest took"
        f" {slowest[0][0]:.1f} s, seed {slowest[0][1]}"
    )
    return tap.exit_code()


sys.exit(main())
