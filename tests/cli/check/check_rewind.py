#!/usr/bin/env python3
"""
Schedules that are run in one process, one after the other, are what they are in
processes of their own: every line that a program sends is the same to the byte,
and what a program changes of its process in one schedule is not there in the
next.
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

BUILD = os.environ["BUILD"]
LIMIT_S = 300
GEMM = (
    "tessera", "workload", "gemm-all-scatter", "--tile", "16x16x16", "--runs", "1", "--in-flight",
    "2"
)
KEEPS = "tests/planted/process/keeps"
SAME = (
    (3, "strategy=random,seeds=12", *GEMM, "--pattern", "all", "--shape", "48x48x32"),
    (3, "strategy=pct,seeds=12", *GEMM, "--pattern", "fused-sequential", "--shape", "48x48x32"),
    (
        2, "strategy=random,weak=cache,seeds=8", *GEMM, "--pattern", "bulk-synchronous", "--shape",
        "33x50x20"
    ),
    (
        3, "strategy=random,seeds=12,first=5,stride=3", *GEMM, "--pattern", "producer-consumer",
        "--shape", "48x48x32"
    ),
    (2, "strategy=random,seeds=20", "tests/planted/races/unsynchronised", "relaxed"),
    (
        2, "strategy=random,seeds=12,resident_blocks=2", "tests/planted/races/unsynchronised",
        "residency"
    ),
    (2, "strategy=random,seeds=12", "tests/planted/races/unsynchronised", "crossed"),
    (2, "strategy=random,seeds=12", "tests/planted/memory/astray", "wait-any"),
    (3, "strategy=random,seeds=12", "tests/planted/progress/livelock", "kept"),
    (2, "strategy=random,seeds=12", "tests/planted/process/fickle", "exits"),
)


def lines_of(ranks, options, program, *arguments):
    """What the program sends."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")
    }
    environment.update(
        TESSERA_SIZE=str(ranks), TESSERA_PLACEMENT="thread", TESSERA_BACKEND="cpuemu",
        TESSERA_HEAP_SIZE="16M"
    )
    with tempfile.TemporaryFile() as sent:
        environment["TESSERA_CHECK"] = (
            f"version=1,ranks={ranks},{options},report_fd={sent.fileno()}"
        )
        subprocess.run(
            [os.path.join(BUILD, program), *arguments],
            env=environment,
            pass_fds=[sent.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=False,
        )
        sent.seek(0)
        return sent.read().decode().splitlines()


def first_difference(one, other):
    return next((f"{a}\n{b}" for a, b in zip(one + ["nothing"], other + ["nothing"]) if a != b), "")


def main():
    if "tsan" in BUILD:
        print(
            "ok - schedules # skip ThreadSanitizer takes the fibres of a forked process for threads"
            " that have ended"
        )
        return 0
    for ranks, options, *program in SAME:
        apart, together = (
            lines_of(ranks, f"{options},reuse={reuse}", *program) for reuse in (0, 1)
        )
        ran = sum('"type":"schedule"' in line for line in apart)
        verdict(
            ran >= 8 and apart == together, f"{options}: {' '.join(program)}",
            f"{ran} schedules\n" + first_difference(apart, together)
        )
    for what in ("memory", "mapping", "descriptor", "thread", "settings"):
        lines = lines_of(2, "strategy=random,seeds=12", KEEPS, what)
        ran = sum('"type":"schedule"' in line for line in lines)
        wrong = [line for line in lines if '"type":"finding"' in line]
        verdict(ran == 12 and not wrong, f"nothing is kept: {what}", "\n".join(lines))
    lines = lines_of(2, "strategy=random,seeds=8", KEEPS, "process")
    if any('"type":"finding"' in line for line in lines):
        verdict(True, "processes are used again")
    else:
        print(
            "ok - processes are used again # skip not here: the system does not say which pages"
            " were written, or this is a sanitizer's build"
        )
    return exit_code()


sys.exit(main())
