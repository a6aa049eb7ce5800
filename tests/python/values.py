#!/usr/bin/env python3
"""
What becomes of values that are easily lost, in the Python package with NumPy on
the emulator: NaN and zeros with a sign.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from tap import exit_code, verdict  # noqa: E402

WORLDS = (1, 2, 3, 5)

# ---------------------------------------------------------------- what each rank runs


def extremes(world):
    """NaN wins, whoever has it, and -0 is less than +0."""
    import numpy

    n = world.size
    with world.stream() as stream:
        for dtype in ("f64", "f32", "f16", "bf16"):
            mine, whole = world.empty((2 * n, 2), dtype), world.empty((2 * n, 2), dtype)
            part = world.empty((2, 2), dtype)
            for holder in range(n):
                for op, zero in (("max", 0.0), ("min", -0.0)):
                    held = [numpy.nan, zero] if world.rank == holder else [1, -zero]
                    mine.write([held] * (2 * n))
                    for call, got in (
                        (lambda: stream.all_reduce(whole, mine, op), whole),
                        (lambda: stream.reduce(whole, mine, op, holder), whole),
                        (lambda: stream.reduce_scatter(part, mine, 0, op), part)
                    ):
                        world.barrier()
                        call()
                        stream.sync()
                        values = got.read()
                        assert numpy.isnan(values[:, 0]).all(), (dtype, op, holder, values)
                        signs = numpy.signbit(values[:, 1]) == numpy.signbit(zero)
                        assert signs.all(), (dtype, op, holder, values)
                    world.barrier()


BODIES = (extremes,)

# ---------------------------------------------------------------- and who starts the ranks


def main():
    python = python_ranks.interpreter_with("numpy")
    if not python or not os.path.exists(os.path.join(os.environ["BUILD"], "libtessera.so")):
        why = "this variant has no shared library" if python else "no NumPy: run ci/install-deps"
        print(f"ok - Python # skip {why}")
        return 0
    for ranks in WORLDS:
        code, output = python_ranks.in_world(python, ranks, os.path.abspath(__file__), "rank")
        for body in BODIES:
            done = output.count(f"done {body.__name__}\n")
            verdict(done == ranks, f"{body.__name__} on {ranks}", "see below")
        verdict(code == 0, f"all ranks of {ranks} end well", output)
    return exit_code()


def rank_main():
    import tessera

    tessera.World.errors = tessera.errors
    with tessera.init() as world:
        for body in BODIES:
            body(world)
            os.write(1, f"done {body.__name__}\n".encode())


sys.exit(rank_main() if sys.argv[1:] else main())
