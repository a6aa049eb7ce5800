"""
How long a product that communicates should take by formulas, from the figures
of a machine file: what a simulation has to be better than.

Of a rank: P is the time of its product, S that of what it sends, M that of its
memory, all in seconds.

- the largest of the three;
- ParallelKittens' sum (section 3.1.1): launches, the largest of the three, what
  nothing overlaps, and one meeting;
- a smooth maximum: launches and (S^p + P^p + M^p)^(1/p).
"""
import glob
import json
import math
import os
from dataclasses import dataclass

BYTES = {"bf16": 2, "f16": 2, "f32": 4}
# Seconds of one launch: `tessera bench NAME -n 2 --taxes` on two H100s, 2026-11-25, where one is
# 0.6 percent of 0.72 to 0.76 ms (docs/performance.md). Machine files have no such figure.
LAUNCH = 4.5e-6
TWO_LAUNCHES = {
    "bulk-synchronous", "producer-consumer", "copy-engines", "store-add"
}  # of which the second begins after the first, or beside it
# The K of the tiles that tensor cores multiply, in Tessera's kernels; no formula is for others.
FAST_DEPTH = {"cuda": 64}
FORMS = ("max", "sum", "smooth")
TITLES = {"max": "max(S, P, M)", "sum": "ParallelKittens' sum", "smooth": "smooth maximum"}


# ------------------------------------------------------------------ the machine


def read_machines(folder):
    machines = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            machine = json.load(file)
        if isinstance(machine.get("figures"), dict):
            machines[os.path.basename(path)[: -len(".json")]] = machine
    return machines


def machine_for(machines, name, kind, point):
    """The name of the file for a point: the machine's, its kind's, that of such devices, or the
    default of its backend, as the library takes it."""
    named = [file for file in (name, kind) if file in machines]
    named += [
        file for file, machine in machines.items()
        if machine["backend"] == point.backend
        and any(point.device.startswith(device) for device in machine["devices"])
    ]
    named += [
        file for file, machine in machines.items()
        if machine["backend"] == point.backend and machine["is_default"]
    ]
    return named[0] if named else None


@dataclass
class Figures:
    """In SI units; None: not known."""

    multiprocessors: int
    clock: float
    operations: float  # of a multiprocessor, for each cycle, of 16-bit elements
    memory: float
    epilogue: float  # cycles
    pair: float
    to_all: float
    signal: float


def figures_of(machine):
    def value(name):
        return machine["figures"].get(name, {}).get("value")

    clock, rate, count = value("clock"), value("tensor_rate"), value("multiprocessors")
    # The data sheet's rate is that of the highest clock, which the file does not have. What a
    # multiprocessor does in a cycle is a power of two.
    operations = (
        2 ** round(math.log2(rate * 1e12 / (count * clock * 1e9))) if clock and rate else None
    )
    return Figures(
        count, clock and clock * 1e9, operations, scaled(value("memory_rate"), 1e9),
        value("epilogue") or 0, scaled(value("link_pair"), 1e9), scaled(value("link_all"), 1e9),
        (value("signal") or 0) * 1e-9
    )


def scaled(value, unit):
    return value and value * unit


# ------------------------------------------------------------------ what a rank does


@dataclass
class Work:
    """Of the rank that has most to do."""

    m: int  # its product; 0: none
    n: int
    k: int
    sent: float  # bytes to all others
    kept: float  # bytes read and written in its own memory
    sends_result: bool  # what is sent is the product's result: no product hides the last sends


def parts(extent, ranks):
    return -(-extent // ranks)


def of_all_scatter(point, m, n, k, e):
    share = parts(n, point.ranks)
    sent = (point.ranks - 1) * m * share * e
    return Work(m, share, k, sent, (m * k + k * share + m * n) * e, True)


def of_all_gather(point, m, n, k, e):
    ranks, tile = point.ranks, tile_of(point)
    if point.value("operand") == "2":
        rows = parts(m, ranks)
        shard, again = parts(k, ranks) * n * e, parts(rows, tile[0])
        work = Work(rows, n, k, 0, (rows * k + k * n + rows * n) * e, False)
    else:
        columns = parts(n, ranks)
        by_rows = point.value("along") != "2"
        shard = (parts(m, ranks) * k if by_rows else m * parts(k, ranks)) * e
        again = parts(columns, tile[1])
        work = Work(m, columns, k, 0, (m * k + k * columns + m * columns) * e, False)
    # `pull` reads another rank's operand as often as tiles need it.
    work.sent = (ranks - 1) * shard * (again if point.pattern == "pull" else 1)
    work.kept += (ranks - 1) * shard
    return work


def of_reduce_scatter(point, m, n, k, e):
    ranks, sums = point.ranks, BYTES[point.value("sums", "f32")]
    depth, sent = parts(k, ranks), (ranks - 1) * m * n * sums / ranks
    return Work(m, n, depth, sent, (m * depth + depth * n) * e + m * n * sums + 2 * sent, True)


def of_all_reduce(point, m, n, k, e):
    work = of_reduce_scatter(point, m, n, k, e)
    spread = (point.ranks - 1) * m * n * e / point.ranks
    work.sent += spread
    work.kept += spread
    return work


SHAPED = {
    "gemm-all-scatter": of_all_scatter,
    "all-gather-gemm": of_all_gather,
    "gemm-reduce-scatter": of_reduce_scatter,
    "gemm-all-reduce": of_all_reduce,
}


def of_collective(point):
    """`bytes` are a shard's, or of the whole where all ranks have the same."""
    sent = (point.ranks - 1) * int(point.value("bytes"))
    if point.value("operation") == "all-reduce":
        sent = 2 * sent / point.ranks
    return Work(0, 0, 0, sent, 2 * sent, False)


def tile_of(point):
    return [int(extent) for extent in point.value("tile", "128x256x64").split("x")]


def work_of(point):
    """None: there is no formula for the workload."""
    if point.workload in SHAPED:
        shape = [int(extent) for extent in point.value("shape").split("x")]
        return SHAPED[point.workload](point, *shape, BYTES[point.value("dtype")])
    return of_collective(point) if point.workload == "collectives" else None


# ------------------------------------------------------------------ times


@dataclass
class Terms:
    """Seconds."""

    send: float
    product: float
    memory: float
    launches: float
    meeting: float
    last: float  # sends that nothing overlaps


def rounds_of(tiles, blocks, divided):
    """Rounds in which blocks compute tiles; the last tiles may be divided into parts of K."""
    if divided > 1 and blocks >= divided and tiles % blocks:
        return tiles // blocks + parts(tiles % blocks * divided, blocks) / divided
    return parts(tiles, blocks)


def terms_of(point, figures):
    """None where there is no formula, or a figure is not known."""
    work, link = work_of(point), figures.to_all if point.ranks > 2 else figures.pair
    if not work or (work.sent and not link) or not figures.memory:
        return None
    send, product, last = work.sent / link if work.sent else 0, 0, 0
    if work.m and work.n and work.k:
        if not figures.operations or point.value("dtype") == "f32":
            return None
        tile = tile_of(point)
        if tile[2] != FAST_DEPTH.get(point.backend, tile[2]):
            return None
        tiles = parts(work.m, tile[0]) * parts(work.n, tile[1])
        blocks = int(point.value("blocks", figures.multiprocessors))
        blocks = max(1, min(blocks - int(point.value("comm_blocks", 0)), tiles))
        cycles = 2 * tile[0] * tile[1] * parts(work.k, tile[2]) * tile[2] / figures.operations
        rounds = rounds_of(tiles, blocks, int(point.value("parts", 1)))
        product = rounds * (cycles + figures.epilogue) / figures.clock
        last = send * ((tiles - 1) % blocks + 1) / tiles if work.sends_result else 0
    if point.pattern == "bulk-synchronous":
        last = min(send, product)
    return Terms(
        send, product, work.kept / figures.memory,
        LAUNCH * (2 if point.pattern in TWO_LAUNCHES else 1),
        figures.signal if point.ranks > 1 else 0, last
    )


def smooth(terms, power):
    largest = max(terms.send, terms.product, terms.memory)
    if not largest:
        return terms.launches
    sum_ = sum((t / largest) ** power for t in (terms.send, terms.product, terms.memory))
    return terms.launches + largest * sum_ ** (1 / power)


def seconds(terms, power):
    """{form: seconds}."""
    largest = max(terms.send, terms.product, terms.memory)
    return {
        "max": largest,
        "sum": terms.launches + largest + terms.last + terms.meeting,
        "smooth": smooth(terms, power),
    }


def fitted_power(pairs, default=4.0):
    """The exponent, 2 to 16, with which the smooth maximum is nearest to (terms, measured seconds).
    Below 2 it would be nearer to a sum."""
    if not pairs:
        return default
    return min(
        (2 + i / 4 for i in range(57)),
        key=lambda power: sum(abs(math.log(smooth(terms, power) / s)) for terms, s in pairs)
    )
