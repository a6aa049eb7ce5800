#!/usr/bin/env python3
"""
Windows of the Python package on the CUDA backend, whose driver here is one
without a GPU (tests/unit/backends/fake/cuda.h). Stand-ins for tensors of PyTorch
lie in memory that the functions of its pools have allocated.
"""
import ctypes
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from tap import exit_code, verdict  # noqa: E402

WORLDS = (1, 2, 3)
UNIT = 2 << 20


class Stand:
    """What the package asks of a tensor of PyTorch."""

    def __init__(self, pointer, shape, dtype="f32"):
        self.pointer, self.shape, self.dtype = pointer, shape, dtype

    def data_ptr(self):
        return self.pointer

    def is_neg(self):
        return False

    def is_conj(self):
        return False

    def stride(self):
        steps, step = [], 1
        for extent in reversed(self.shape):
            steps.append(step)
            step *= extent
        return tuple(reversed(steps))


def pool(library):
    alloc, free = library.tsr_pool_alloc, library.tsr_pool_free
    alloc.restype = ctypes.c_void_p
    alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    free.restype, free.argtypes = None, [ctypes.c_void_p, *alloc.argtypes]
    return alloc, free


def refused(world, tensor, sentence):
    try:
        world.window(tensor)
    except world.errors.ArgumentError as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"a window that should say {sentence}")


def body(world, library):
    alloc, free = pool(library)
    ordinal = world.device().ordinal
    assert world.backend == "cuda" and ordinal == world.rank % 4
    piece = alloc(10 * UNIT, ordinal, None)  # as PyTorch's pools do, of which a tensor has a part
    assert piece
    tensor = Stand(piece, (1000, 300))
    host = (ctypes.c_float * 300000).from_address(piece)
    host[0], host[299999] = world.rank + 1, -world.rank
    with world.window(tensor, "activations") as window:
        assert window.shape == (1000, 300) and window.name == "activations"
        assert window.data != piece
        read = window.read()
        assert read[0, 0] == world.rank + 1 and read[999, 299] == -world.rank
        window.write(read + 1)
        assert host[0] == world.rank + 2  # both ways
        refused(world, tensor, "overlaps that of a window")
    assert host[0] == world.rank + 2
    refused(world, Stand(piece + UNIT, (10, )), "begins 2 MiB inside of what was allocated")
    refused(world, Stand(piece + 512, (10, )), "tessera.torch_pool")
    refused(world, Stand(ctypes.addressof(ctypes.create_string_buffer(8)) & -UNIT, (2, )),
            "is no memory of a GPU")
    world.window(tensor).free()
    free(piece, 10 * UNIT, ordinal, None)


def main():
    build = os.environ["BUILD"]
    python = python_ranks.interpreter_with("numpy")
    needed = [
        os.path.join(build, name) for name in
        ("libtessera.so", "plugins/libtessera-cuda.so", "tests/unit/backends/fake/libcuda.so")
    ]
    missing = [path for path in needed if not os.path.exists(path)]
    if not python or missing:
        why = f"{missing[0]} is not built" if missing else "no NumPy: run ci/install-deps"
        print(f"ok - windows on CUDA # skip {why}")
        return 0
    settings = {
        "LD_PRELOAD": needed[2], "TESSERA_BACKEND": "cuda", "TESSERA_HEAP_SIZE": "4M"
    }
    for ranks in WORLDS:
        code, output = python_ranks.in_world(
            python, ranks, os.path.abspath(__file__), "rank", **settings
        )
        verdict(code == 0 and output.count("done\n") == ranks, f"windows on {ranks}", output)
    return exit_code()


def rank_main():
    import tessera
    from tessera import _native

    tessera.World.errors = tessera.errors
    with tessera.init() as world:
        body(world, _native.lib)
        os.write(1, b"done\n")


sys.exit(rank_main() if sys.argv[1:] else main())
