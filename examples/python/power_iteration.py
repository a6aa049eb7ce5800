"""
The largest eigenvalue of a symmetric matrix, by power iteration. Each rank has
some rows of the matrix. NumPy multiplies them with the vector, right in the
symmetric heap; an all-gather gives every rank the whole new vector.

    python -m tessera -n 4 examples/python/power_iteration.py
"""
import numpy

import tessera

SIZE, ROUNDS = 240, 20


def matrix():
    """Symmetric, the same on every rank, with one eigenvalue far above the others."""
    values = numpy.random.default_rng(1).standard_normal((SIZE, SIZE))
    values[0, 0] += 10 * SIZE
    return values + values.T


def main():
    with tessera.init(heap_size="16M") as world, world.stream() as stream:
        whole = matrix()
        first, last = (SIZE * rank // world.size for rank in (world.rank, world.rank + 1))
        rows = whole[first:last]
        # Collectives take arrays of NumPy too, if these lie in the heap.
        vector = world.full(SIZE, SIZE**-0.5, "f64").numpy()
        # All ranks allocate the same: room for the part of the rank that has most rows.
        part = world.zeros(-(-SIZE // world.size), "f64").numpy()[:last - first]
        for _ in range(ROUNDS):
            numpy.matmul(rows, vector, out=part)
            world.barrier()  # nobody still reads the vector, which all write now
            stream.all_gather(vector, part)
            stream.sync()
            length = numpy.linalg.norm(vector)
            vector /= length
        expected = abs(numpy.linalg.eigvalsh(whole)).max()
        if abs(length - expected) > 1e-6 * expected:
            raise SystemExit(f"rank {world.rank}: {length}, and LAPACK says {expected}")
        if world.rank == 0:
            print(f"the largest eigenvalue is {length:.6f}: ok")


main()
