#!/usr/bin/env python3
"""
Windows of the Python package on the emulator: arrays of NumPy, and of PyTorch
if it is there, that the program has made itself become tensors of the heap.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from python_ranks import raises  # noqa: E402

WORLDS = (1, 2, 3, 5)


# ---------------------------------------------------------------- what each rank runs


def memory(world):
    import mmap

    import numpy
    import tessera

    same = {"f32": "f4", "i64": "i8", "u8": "u1", "f64": "f8"}
    for shape, dtype in ((7, "f32"), ((3, 5), "i64"), ((1000, 3), "u8"), ((), "f64")):
        array = tessera.pages(shape, dtype)
        assert array.shape == (shape if isinstance(shape, tuple) else (shape, ))
        assert array.ctypes.data % mmap.PAGESIZE == 0 and not array.any()
        assert array.dtype == numpy.dtype(same[dtype])
    raises(world.errors.UnsupportedError, lambda: tessera.pages(4, "bf16"), "NumPy has no bf16")


def sums(world):
    """The array itself is reduced: its memory, no copy."""
    import numpy
    import tessera

    array = tessera.pages((5, 77))
    array[:] = numpy.arange(5 * 77).reshape(5, 77) + world.rank
    with world.stream() as stream, world.window(array, "activations") as tensor:
        assert tensor.shape == (5, 77) and tensor.dtype == "f32" and tensor.name == "activations"
        stream.all_reduce(tensor, tensor)
        stream.sync()
        wanted = world.size * numpy.arange(5 * 77) + world.size * (world.size - 1) // 2
        assert numpy.array_equal(array.ravel(), wanted)
        array[0, 0] = -5  # both ways
        assert tensor.read()[0, 0] == -5
        tensor.write(array + 1)
        assert array[0, 0] == -4
    assert tensor.allocation.freed
    assert array[0, 0] == -4 and array[4, 76] == wanted[-1] + 1
    array[0, 0] = 3


def arrays(world):
    """Collectives take arrays on the window; while one lives the window is not freed."""
    import tessera

    array = tessera.pages(4096, "i32")
    tensor = world.window(array)
    inside = tensor.numpy()
    inside[7] = 11
    assert array[7] == 11 and world.from_dlpack(inside).allocation is tensor.allocation
    raises(world.errors.InUseError, tensor.free, "the window 'window' cannot be released while")
    del inside
    tensor.free()
    raises(world.errors.ArgumentError, tensor.free, "has been freed")
    world.window(array).free()  # and again


def refusals(world):
    import mmap

    import numpy
    import tessera

    array = tessera.pages(4096)
    errors = world.errors
    raises(errors.ArgumentError, lambda: world.window(array[1:]), "begins at a multiple of")
    raises(errors.ArgumentError, lambda: world.window(array[::2]), "not dense and row-major")
    for flags, count, sentence in (
        (mmap.MAP_SHARED, mmap.PAGESIZE, "is shared already"),
        (mmap.MAP_PRIVATE, 100, "100 bytes; a window has a multiple of"),
    ):
        room = mmap.mmap(-1, mmap.PAGESIZE, flags=flags | mmap.MAP_ANONYMOUS)
        part = numpy.frombuffer(room, "u1", count)
        raises(errors.ArgumentError, lambda part=part: world.window(part), sentence)
    raises(errors.ArgumentError, lambda: world.window([1, 2, 3]), "is no array")
    with world.window(array):
        raises(errors.ArgumentError, lambda: world.window(array), "overlaps that of a window")
    if world.size > 1:
        other = tessera.pages(8192 if world.rank else 4096, "u8")
        raises(errors.MismatchError, lambda: world.window(other), "tsr_window_register")


def torch_tensors(world):
    import tessera

    try:
        import torch
    except ImportError:
        raises(ImportError, tessera.torch_pool, "torch")
        return
    if not torch.version.cuda:
        raises(world.errors.UnsupportedError, tessera.torch_pool, "is not for CUDA")
    tensor = torch.from_numpy(tessera.pages((8, 128)))
    tensor.fill_(world.rank + 1)
    with world.stream() as stream, world.window(tensor) as window:
        stream.all_reduce(window, window)
        stream.sync()
        assert (tensor == world.size * (world.size + 1) / 2).all()


def left(world):
    """The world ends with a window: main looks at the array then."""
    import tessera

    array = tessera.pages(1024)
    array[:] = world.rank
    world.left = array, world.window(array)
    world.left[1].write(array + 1)


BODIES = (memory, sums, arrays, refusals, torch_tensors, left)


def main():
    python = python_ranks.usable("windows of Python")
    return python_ranks.verdicts(python, WORLDS, __file__, BODIES) if python else 0


if sys.argv[1:]:
    world = python_ranks.rank_main(BODIES)
    array, tensor = world.left
    assert (array == world.rank + 1).all()
    raises(world.errors.ArgumentError, tensor.read, "is closed")
else:
    sys.exit(main())
