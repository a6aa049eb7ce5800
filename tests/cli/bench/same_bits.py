#!/usr/bin/env python3
"""
Products whose sums are added in a fixed order have the same bits in every run,
with any number of blocks, and whoever gets the sums. Inputs are random, so that
another order of additions shows.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

SHAPE = "67x40x211"
RUNS = (("1", ), ("3", "--bands", "2"), ("4", ))  # blocks, and options
# one letter for each order of additions: by rank, own first, along the ring
ORDERS = {
    "gemm-reduce-scatter": {"bulk-synchronous": "r", "own-chunk-last": "o", "ring": "n"},
    "gemm-all-reduce": {"bulk-synchronous": "r", "own-chunk-last": "o", "communicators": "r"},
}


def whole(folder, parts):
    """The bytes of C: one file, or one for each rank's rows."""
    c = b""
    for part in parts if isinstance(parts, list) else [parts]:
        with open(os.path.join(folder, part["file"]), "rb") as file:
            c += file.read()
    return c


def outputs(folder, workload, ranks, dtype, blocks, options):
    """{pattern: bytes of C} of one run; empty after a failure."""
    prefix = os.path.join(folder, "dump")
    done = subprocess.run(
        [
            "tessera", "bench", workload, "-n", ranks, "--shape", SHAPE, "--tile", "16x16x16",
            "--dtype", dtype, "--sums", dtype, "--blocks", blocks, "--iterations=3", "-w", "0",
            "--dump", prefix, *options
        ],
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        verdict(False, f"{workload} on {ranks} ranks runs with {blocks} blocks", done.stderr)
        return {}
    with open(prefix + ".json", encoding="utf-8") as file:
        manifest = json.load(file)
    return {pattern: whole(folder, manifest["c"][pattern]) for pattern in ORDERS[workload]}


def try_world(folder, ranks, dtype):
    by_order = {}
    for workload, orders in ORDERS.items():
        for blocks, *options in RUNS:
            # one block cannot both compute and communicate
            if workload == "gemm-all-reduce" and blocks == "1":
                blocks = "2"
            for pattern, c in outputs(folder, workload, ranks, dtype, blocks, options).items():
                by_order.setdefault(orders[pattern], {}).setdefault(c, []).append(
                    f"{workload} {pattern} with {blocks} blocks {' '.join(options)}"
                )
    for order, results in sorted(by_order.items()):
        verdict(
            len(results) == 1, f"{ranks} ranks, {dtype}: order {order} has one result",
            list(results.values())
        )
    verdict(
        len(set().union(*by_order.values())) > 1,
        f"{ranks} ranks, {dtype}: another order shows"
    )


with tempfile.TemporaryDirectory() as work:
    for world in ("3", "5"):
        try_world(work, world, "f32")
    try_world(work, "5", "bf16")
sys.exit(exit_code())
