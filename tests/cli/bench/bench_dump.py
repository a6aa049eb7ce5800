#!/usr/bin/env python3
"""
--dump and --json: the raw arrays alone, read by nobody's code but this, give
the product that the bench says it made.
"""
import array
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

M, N, K, RANKS = 91, 73, 37, 5
PATTERNS = (
    "bulk-synchronous", "producer-consumer", "fused-sequential", "fused-workgroup-specialized",
    "fused-wave-specialized", "banded", "work-queue"
)
# bytes an element, significant bits
FORMATS = {"bf16": (2, 8), "f16": (2, 11), "f32": (4, 24)}


def tessera(*arguments):
    command = ["tessera", "bench", "gemm-all-scatter", "--iterations=2", "-w", "0", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
    )


def read_array(path, dtype, count):
    """The file's elements as floats."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) != count * FORMATS[dtype][0]:
        raise ValueError(f"{path} has {len(data)} bytes for {count} elements of {dtype}")
    if dtype == "f32":
        return list(struct.unpack(f"<{count}f", data))
    if dtype == "f16":
        return list(struct.unpack(f"<{count}e", data))
    halves = struct.unpack(f"<{count}H", data)
    return list(struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *(h << 16 for h in halves))))


def product(a, b):
    rows = [array.array("d", a[i * K:(i + 1) * K]) for i in range(M)]
    cols = [array.array("d", b[j::N]) for j in range(N)]
    return [math.fsum(x * y for x, y in zip(row, col)) for row in rows for col in cols]


def first_wrong(c, want, dtype, exact):
    """The first element that is not `want` rounded once, up to K roundings in f32 where inputs are
    not integers."""
    digits = FORMATS[dtype][1]
    for i, (got, expected) in enumerate(zip(c, want)):
        half_ulp = math.ldexp(1.0, math.frexp(expected)[1] - digits - 1)
        bound = half_ulp if exact else 1.01 * half_ulp + K * 2.0**-23 * K
        if not abs(got - expected) <= bound:
            return f"C({i // N}, {i % N}) is {got}, expected {expected} within {bound}"
    return None


def try_dump(folder, dtype, integers):
    name = f"{dtype}, {'integers' if integers else 'random'}"
    prefix = os.path.join(folder, f"dump-{dtype}-{integers}")
    done = tessera(
        "-n", str(RANKS), "--shape", f"{M}x{N}x{K}", "--dtype", dtype, "--seed", "77", "--dump",
        prefix, "--verify", "--json", prefix + ".results", *(["--integers"] if integers else [])
    )
    verdict(done.returncode == 0, f"{name}: runs", done.stderr)
    if done.returncode:
        return
    with open(prefix + ".json", encoding="utf-8") as file:
        manifest = json.load(file)
    verdict(
        manifest["shape"] == {"m": M, "n": N, "k": K}
        and manifest["dtype"] == dtype
        and sorted(manifest["c"]) == sorted(PATTERNS),
        f"{name}: the manifest says what was run", manifest
    )
    a = read_array(os.path.join(folder, manifest["a"]["file"]), dtype, M * K)
    b = read_array(os.path.join(folder, manifest["b"]["file"]), dtype, K * N)
    verdict(
        len(set(a)) > 8 and len(set(b)) > 8 and max(map(abs, a + b)) <= (4 if integers else 1),
        f"{name}: inputs are spread out"
    )
    want = product(a, b)
    for pattern in PATTERNS:
        c = read_array(os.path.join(folder, manifest["c"][pattern]["file"]), dtype, M * N)
        wrong = first_wrong(c, want, dtype, integers)
        verdict(wrong is None, f"{name}: {pattern} recomputed", wrong)
    check_results(name, prefix + ".results")


def check_results(name, path):
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    verdict(
        [p["pattern"] for p in results["patterns"]] == list(PATTERNS)
        and all(p["verdict"]["ok"] for p in results["patterns"]),
        f"{name}: the JSON has every pattern", results
    )
    for p in results["patterns"]:
        element = FORMATS[results["dtype"]][0]
        traffic = p["traffic"]
        verdict(traffic is None or traffic["remote_written_bytes"] == (RANKS - 1) * M * N * element,
                f"{name}: {p['pattern']} stores each element to each peer once", traffic)


def same_inputs_in_any_world(folder):
    files = []
    for ranks in (1, 3):
        prefix = os.path.join(folder, f"world-{ranks}")
        done = tessera(
            "-n", str(ranks), "--shape", f"{M}x{N}x{K}", "--pattern", "fused-sequential", "--dump",
            prefix
        )
        verdict(done.returncode == 0, f"{ranks} ranks: runs", done.stderr)
        files.append([open(f"{prefix}.{part}.raw", "rb").read() for part in ("a", "b")])
    verdict(files[0] == files[1], "A and B are the same in a world of 1 and of 3")


def full_disk(folder):
    """What cannot be written is said in one sentence, whichever file it is."""
    for part in ("json", "a.raw", "b.raw", "c.fused-sequential.raw"):
        prefix = os.path.join(folder, "full-" + part)
        os.symlink("/dev/full", f"{prefix}.{part}")
        done = tessera(
            "-n", "2", "--shape", f"{M}x{N}x{K}", "--pattern", "fused-sequential", "--dump", prefix
        )
        verdict(
            done.returncode == 1
            and done.stderr.count("\n") == 1
            and "cannot be written" in done.stderr,
            f"{part} on a full disk", f"{done.returncode}: {done.stderr}"
        )
    done = tessera(
        "-n", "2", "--shape", f"{M}x{N}x{K}", "--pattern", "fused-sequential", "--json", "/dev/full"
    )
    verdict(
        done.returncode == 1 and done.stderr.count("\n") == 1 and "/dev/full" in done.stderr,
        "results on a full disk", done.stderr
    )


with tempfile.TemporaryDirectory() as scratch:
    for each in FORMATS:
        for whole in (False, True):
            try_dump(scratch, each, whole)
    same_inputs_in_any_world(scratch)
    if os.path.exists("/dev/full"):
        full_disk(scratch)
sys.exit(exit_code())
