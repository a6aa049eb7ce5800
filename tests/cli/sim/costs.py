#!/usr/bin/env python3
"""
Kernels on a simulated machine take as long as its figures say: times that
follow by hand. And what never ends is said to.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "harness"))
import tap  # noqa: E402

BUILD = os.path.abspath(os.environ["BUILD"])


def simulate(*words):
    return subprocess.run(
        [f"{BUILD}/tests/simulated/costs", *map(str, words)], capture_output=True, text=True,
        timeout=60, check=False
    )


def ns(*words):
    done = simulate(*words)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def figures(machine):
    """The machine's, by name."""
    text = subprocess.run(
        [f"{BUILD}/tessera", "sim", "--figures", "--machine", machine], capture_output=True,
        text=True, timeout=60, check=True
    ).stdout
    return {name: float(value) for name, value in re.findall(r"^(\w+) +([\d.e+]+) ", text, re.M)}


def near(measured, expected, most=0.002):
    return abs(measured / expected - 1) <= most


h = figures("h200x2")
LAUNCH = h["launch"] * 1e3
# the load of the first bytes, and the arrival of the last ones
PUT = LAUNCH + h["memory_latency"] + h["link_latency"] / 2
MIB = 1 << 20


def main():
    tap.verdict(
        near(ns("h200x2", "put", 1, 8 * MIB), PUT + 8 * MIB / h["block_copy"]),
        "one block puts at its own rate"
    )
    tap.verdict(
        near(ns("h200x2", "put", 64, 8 * MIB), PUT + 64 * 8 * MIB / h["link_pair"]),
        "many blocks share a link"
    )
    tap.verdict(
        near(ns("h200x4", "put", 64, 8 * MIB), PUT + 64 * 8 * MIB / h["link_all"]),
        "a ring of four is bound by what a device sends to all"
    )
    # a signal is a fence, its way, and the load that sees it
    way = h["fence"] + h["link_latency"] / 2 + h["memory_latency"] / 2
    rounds = (ns("h200x2", "ping", 1100) - ns("h200x2", "ping", 100)) / 1000
    tap.verdict(near(rounds, 2 * way, 0.01), "a signal and its answer", f"{rounds} and {2 * way}")
    tile = 128 * 256 * 2 / h["tensor_width"] / h["clock"]
    deep = ns("h200x1", "product", 64 * 1100) - ns("h200x1", "product", 64 * 100)
    tap.verdict(near(deep, tile * 64 * 1000, 0.01), "tensor cores bound a product", deep)
    times = {ns("h200x8", "put", 77, 999999) for _ in range(3)}
    tap.verdict(len(times) == 1, "runs are the same", times)
    for to_all in (0, 1):
        right = [ns("h200x1", "table", rows, to_all) / 64 for rows in (1, 17, 1000)]
        tap.verdict(right == [1, 17, 1000], f"tables have values, {to_all}", right)
    stuck = simulate("h200x2", "stuck")
    tap.verdict(
        stuck.returncode == 1 and "deadlock" in stuck.stderr
        and re.search(
            r"rank 0, block 0, worker 0 of kernel costs_stuck waits at .*costs\.c:\d+"
            r" \(tsr_wait\) for 7 from rank 1", stuck.stderr
        ) is not None,
        "who waits for nobody is named", stuck.stderr
    )
    until = simulate("h200x2", "until")
    tap.verdict(
        until.returncode == 0 and float(until.stdout) < 1e6, "a wait with a deadline expires",
        until.stdout + until.stderr
    )
    soon, late = (ns("h200x2", "beside", deadline, 8 * MIB) for deadline in (1000, 10**9))
    tap.verdict(
        near(soon, LAUNCH + h["memory_latency"] / 2 + 1000) and near(soon, ns("h200x2", "until")),
        "at its own time, while others go on", soon
    )
    tap.verdict(
        PUT + 8 * MIB / h["block_copy"] < late < 1.1 * (PUT + 8 * MIB / h["block_copy"]),
        "and not where it has ended before", late
    )
    spin = simulate("h200x2", "spin")
    tap.verdict(
        spin.returncode == 1 and "rank 0, block 0, worker 0 of kernel costs_spin has run for"
        in spin.stderr, "a worker that polls for ever is named", spin.stdout + spin.stderr
    )
    return tap.exit_code()


sys.exit(main())
