#!/usr/bin/env python3
"""
bench/compare-choices, with a made-up `tessera sim`: its arithmetic, the commands
that it runs, and what it says where one fails.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "harness"))
import tap  # noqa: E402

# The second pattern is chosen. Of M = 1 it takes three times as long as the first one; else it is
# the faster one. Four ranks cannot be simulated.
FAKE = """#!{python} -SE
import json, os, sys
words = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "log"), "a") as log:
    print(*words[: words.index("--json")], file=log)
options = {{w: words[i + 1] for i, w in enumerate(words[:-1]) if w[:2] == "--"}}
if options["--machine"] == "h200x4":
    sys.exit("no such machine")
first = 1000 if options["--shape"].startswith("1x") else 4000
rows = [("push", first), ("pull", 3000)]
with open(options["--json"], "w") as file:
    chosen = rows[1:] if options["--pattern"] == "fastest" else rows
    json.dump({{"patterns": [{{"pattern": p, "median_ns": ns}} for p, ns in chosen]}}, file)
"""


def compare(folder, *words):
    done = subprocess.run(
        [os.path.join(ROOT, "bench", "compare-choices"), "--tessera", f"{folder}/tessera", *words],
        capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout, done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "tessera")
        with open(program, "w", encoding="utf-8") as file:
            file.write(FAKE.format(python=sys.executable))
        os.chmod(program, 0o755)
        one = ("--workload", "moe --top-k 2", "--machine", "h200x2", "--shapes", "2")
        code, out, err = compare(folder, *one, "--verbose")
        # of 10 shapes one, with M = 1, loses 200 percent
        tap.verdict(
            code == 0 and "| moe --top-k 2 | h200x2 | 10 | 20.0 | 200.0 |" in out,
            "mean and worst", out + err
        )
        tap.verdict(
            re.search(r"^moe --top-k 2, h200x2, 1x8192x8192: pull 3.0 us, push 1.0 us$", err, re.M),
            "what loses most", err
        )
        with open(os.path.join(folder, "log"), encoding="utf-8") as file:
            log = file.read().splitlines()
        tap.verdict(
            len(log) == 20 and all("--no-tuned" in line for line in log)
            and sum("--pattern fastest" in line for line in log) == 10,
            "two simulations for each shape", log
        )
        again = compare(folder, *one)
        with open(os.path.join(folder, "log"), encoding="utf-8") as file:
            tap.verdict(file.read().splitlines()[20:] == log, "a seed draws the same", again)
        code, out, err = compare(folder, *one, "--machine", "h200x4")
        tap.verdict(
            code == 1 and "h200x4 |" not in out and "no such machine" in err,
            "a simulation that fails", out + err
        )
        code, out, err = compare(f"{folder}/nowhere")
        tap.verdict(code == 1 and "cannot be started" in err, "no command", err)
    return tap.exit_code()


if __name__ == "__main__":
    sys.exit(main())
