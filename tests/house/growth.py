#!/usr/bin/env python3
"""
bench/draw-growth, on made-up runs: what it draws and prints, and what it refuses
in one sentence.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "harness"))
import tap  # noqa: E402


def write(folder, ranks, length, times, **more):
    """A file as `tessera bench --json` writes it; `times`: {pattern: us}."""
    path = os.path.join(folder, f"{len(os.listdir(folder))}.json")
    run = {
        "workload": "a-workload", "backend": "made-up", "device": "a device", "dtype": "f16",
        "ranks": ranks, "length": length,
        "patterns": [
            {"pattern": name, "median_ns": us * 1000, "verdict": None}
            for name, us in times.items()
        ],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**run, **more}, file)
    return path


def run(*arguments):
    command = [os.path.join(ROOT, "bench", "draw-growth"), "--by", "length", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def prints(files, rows, *options):
    done = run("--table", *options, *files)
    missing = [row for row in rows if row not in done.stdout.splitlines()]
    tap.verdict(
        done.returncode == 0 and not missing, f"a table {' '.join(options)}",
        f"{missing}\n{done.stdout}{done.stderr}"
    )


def draws(folder, files):
    if not shutil.which("gnuplot"):
        print("ok - the picture # skip there is no gnuplot here: ci/install-deps installs it")
        return
    picture = os.path.join(folder, "growth.svg")
    done = run("--out", picture, *files)
    with open(picture, encoding="utf-8") as file:
        text = file.read()
    markers = len(re.findall(r"<use xlink:href='#gpPt\d+' transform='translate", text))
    tap.verdict(
        done.returncode == 0 and markers >= 4 and ">2 GPUs<" in text and ">length<" in text,
        f"a picture with {markers} points", done.stdout + done.stderr
    )
    os.remove(picture)


def refuses(name, pattern, *arguments):
    done = run("--table", *arguments)
    lines = done.stderr.splitlines()
    tap.verdict(
        done.returncode == 2 and len(lines) == 1 and bool(re.search(pattern, lines[0])), name,
        done.stdout + done.stderr
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        files = [
            write(folder, ranks, length, {"slow": 2 * length / ranks, "fast": length / ranks})
            for ranks in (2, 1)
            for length in (64, 32)
        ]
        prints(files, ["| 32 | 32.0 | 16.0 |", "| 64 | 64.0 | 32.0 |"])
        prints(files, ["| 32 | 64.0 | 32.0 |", "| 64 | 128.0 | 64.0 |"], "--pattern", "slow")
        draws(folder, files)
        wrong = [{"pattern": "fast", "median_ns": 1, "verdict": {"ok": False}}]
        refuses("a wrong result", "no right result", write(folder, 1, 8, {}, patterns=wrong))
        refuses("no such pattern", "no right result", "--pattern", "other", files[0])
        refuses("the same twice", "one run too many", files[0], files[0])
        refuses(
            "two devices", "cannot stand in one picture", files[0],
            write(folder, 1, 8, {"fast": 1}, device="another")
        )
        refuses("no such parameter", "no run with a parameter", write(folder, 1, "x", {"fast": 1}))
        refuses("no such file", "cannot read", os.path.join(folder, "absent.json"))
        with open(os.path.join(folder, "broken"), "w", encoding="utf-8") as file:
            file.write("{")
        refuses("no JSON", "is no JSON", file.name)
    sys.exit(tap.exit_code())


if __name__ == "__main__":
    main()
