#!/usr/bin/env python3
"""
--pattern fastest runs something, and runs it right: for every workload that knows
its fastest pattern, with all blocks and with one, which leaves none that could
send beside others.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
import tap  # noqa: E402

LIMIT_S = 120
FASTEST = "-n 2 --backend cpuemu --pattern fastest --verify --iterations 1 -w 0".split()


def bench(*words):
    done = subprocess.run(
        ["tessera", "bench", *words], capture_output=True, text=True, timeout=LIMIT_S,
        check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout + done.stderr


def first_cases():
    """(workload, options of its first case)"""
    _, text = bench("--list")
    return re.findall(r"^(\S+)\n(?: .*\n)*?  cases:\n +(--.*)$", text, re.MULTILINE)


def main():
    cases, known = first_cases(), 0
    for workload, options in cases:
        code, text = bench(workload, *FASTEST, *options.split())
        if "does not know which" in text:
            continue
        known += 1
        tap.verdict(code == 0 and re.search(r" ok$", text, re.MULTILINE), workload, text)
        one = re.sub(r" ?--(blocks|comm-blocks|fill-blocks) \d+", "", options)
        code, text = bench(workload, *FASTEST, "--blocks", "1", *one.split())
        tap.verdict(
            code == 0 and re.search(r" ok$", text, re.MULTILINE), f"{workload}, one block", text
        )
    tap.verdict(known >= 4, f"{known} of {len(cases)} workloads know their fastest pattern")
    return tap.exit_code()


if __name__ == "__main__":
    sys.exit(main())
