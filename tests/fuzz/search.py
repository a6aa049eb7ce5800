#!/usr/bin/env python3
"""
Lets libFuzzer look for inputs that break a target, each for a while:
TSR_FUZZ_SECONDS, or --seconds. What it finds is left in <build>/found/; copied
to tests/fuzz/corpus/NAME/ it is run by every variant from then on.
tests/fuzz/README.md says more.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))

import tap

BUILD = os.environ.get("BUILD", os.path.abspath("build/clang-19-fuzz"))
MORE_SEEDS = {"fuzz_litmus": [os.path.join(HERE, "..", "litmus")]}
HUNG_S = 30  # a busy machine may stand still for 10 s
MEMORY_MB, LONGEST = 2048, 16384  # of one input


def search(program, seconds):
    """Returns the target's name, what libFuzzer said, how many inputs it tried, and the file of the
    one that broke it."""
    name = os.path.basename(program)
    found = os.path.join(BUILD, "found", name, "")
    os.makedirs(found, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        words = os.path.join(HERE, f"{name}.dict")
        command = [
            program, f"-max_total_time={seconds}", f"-timeout={HUNG_S}",
            f"-report_slow_units={HUNG_S}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={LONGEST}"
        ]
        command += [f"-artifact_prefix={found}", "-print_final_stats=1", "-reload=0"]
        command += [f"-dict={words}"] if os.path.exists(words) else []
        command += [scratch, os.path.join(HERE, "corpus", name), *MORE_SEEDS.get(name, [])]
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds + 120,
            check=False
        )
    tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", ended.stderr)
    broke = re.search(r"Test unit written to (\S+)", ended.stderr)
    if broke:
        why = (
            f"{ended.stderr[-6000:]}\n--- the input: {broke.group(1)}; to keep it: cp it to"
            f" tests/fuzz/corpus/{name}/"
        )
    else:
        why = ended.stderr[-3000:] if ended.returncode else ""
    return name, why, int(tried.group(1)) if tried else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=int, default=int(os.environ.get("TSR_FUZZ_SECONDS", "15")),
        help="for each target (default: %(default)s)"
    )
    parser.add_argument("targets", nargs="*", help="such as fuzz_litmus (default: all)")
    arguments = parser.parse_args()
    programs = [
        path[:-2] for path in sorted(glob.glob(os.path.join(BUILD, "tests", "fuzz", "fuzz_*.o")))
    ]
    programs = [
        path
        for path in programs
        if not arguments.targets or os.path.basename(path) in arguments.targets
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name, why, tried in pool.map(
            lambda program: search(program, arguments.seconds), programs
        ):
            tap.verdict(not why and tried > 0, name, why or "it tried no input")
            print(f"# {name}: {tried} inputs in {arguments.seconds} s")
    tap.verdict(bool(programs), "there are targets")
    return tap.exit_code()


sys.exit(main())
