#!/usr/bin/env python3
"""
The Python package with NumPy on the emulator, in worlds of several sizes:
tensors, arrays on the heap's memory, collectives, teams, lifetimes, errors.
"""
import ctypes
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from python_ranks import raises  # noqa: E402
from tap import verdict  # noqa: E402

WORLDS = (1, 2, 3, 5)
FLOATS, INTEGERS = ("f64", "f32", "f16", "bf16"), ("i64", "i32", "i8", "u8")


# ---------------------------------------------------------------- what each rank runs


def constructors(world):
    import numpy

    for dtype in FLOATS + INTEGERS:
        for tensor, values in (
            (world.zeros((2, 3), dtype), numpy.zeros((2, 3))),
            (world.ones(5, dtype), numpy.ones(5)),
            (world.full((2, 2), 3 + world.rank, dtype), numpy.full((2, 2), 3 + world.rank)),
            (world.arange(1, 9, 2, dtype), numpy.arange(1, 9, 2)),
            (world.linspace(0, 4, 5, dtype), numpy.linspace(0, 4, 5)),
            (world.array(values=[[1, 2], [3, 4 + world.rank]], dtype=dtype), None),
        ):
            if values is None:
                values = numpy.array([[1, 2], [3, 4 + world.rank]])
            assert tensor.dtype == dtype and tensor.shape == values.shape
            assert numpy.array_equal(tensor.read(), values), (dtype, tensor.read())
            tensor.free()
    same = world.rand((40, 50), 7), world.rand((40, 50), 7), world.rand((40, 50), 8)
    first, second, other = (tensor.read() for tensor in same)
    assert (first >= 0).all() and (first < 1).all() and first.std() > 0.2
    assert numpy.array_equal(first, second) and not numpy.array_equal(first, other)
    values = world.uniform(1000, -3, 5, 1).read()
    assert values.min() >= -3 and values.max() < 5 and values.min() < -2
    assert abs(world.randn(10000, 3).read().mean()) < 0.1
    assert set(world.randint(1000, -2, 3, 1).read()) == {-2, -1, 0, 1, 2}
    assert world.array(numpy.float16([1, 2])).dtype == "f16"
    assert world.empty(4).read().view(numpy.uint8).min() == 255


def bf16(world):
    import numpy

    tensor = world.empty(6, "bf16")
    tensor.write([1.00390625, 1.01171875, numpy.inf, -0.0, 3.3e38, numpy.nan])
    got = tensor.read()
    assert numpy.array_equal(got[:3], numpy.float32([1.0, 1.015625, numpy.inf])), got  # ties
    assert numpy.signbit(got[3]) and got[3] == 0 and numpy.isnan(got[5])
    raises(world.errors.UnsupportedError, tensor.numpy, "NumPy has no bf16: use torch")


def arrays(world):
    import numpy

    tensor = world.array(numpy.arange(24, dtype=numpy.float32).reshape(4, 6) + 100 * world.rank)
    array = tensor.numpy()
    assert array.ctypes.data == tensor.data and array.flags.writeable
    array[1, 2] = -1
    assert tensor.read()[1, 2] == -1
    assert numpy.asarray(tensor).ctypes.data == tensor.data
    assert numpy.asarray(tensor, numpy.float64).dtype == numpy.float64
    taken = numpy.from_dlpack(tensor)
    assert taken.ctypes.data == tensor.data and taken[1, 2] == -1
    for part in (array[1:3], array[:, 2:4], array.T, array[::2, ::3], array[2]):
        back = world.from_dlpack(part)
        assert back.data == part.ctypes.data and back.shape == part.shape
        assert [stride * 4 for stride in back.stride] == list(part.strides)
        assert numpy.array_equal(back.read(), part)
        assert numpy.array_equal(numpy.from_dlpack(back), part)
    assert world.from_dlpack(tensor) is tensor
    world.barrier()
    for rank in range(world.size):
        at = (ctypes.c_float * 24).from_address(tensor.pointer(rank))
        assert at[3] == 100 * rank + 3
    world.barrier()
    raises(ValueError, lambda: tensor.pointer(world.size), "rank")
    raises(world.errors.NotFoundError, lambda: world.from_dlpack(array.copy()), "outside the symm")
    raises(world.errors.ArgumentError, lambda: world.from_dlpack("text"), "a str is no array")
    raises(BufferError, lambda: tensor.__dlpack__(copy=True), "copy the array")


def collectives(world):
    import numpy

    n, r = world.size, world.rank
    of_rank = [numpy.arange(6 * n).reshape(2 * n, 3) * (1 + rank) for rank in range(n)]
    with world.stream() as stream:
        mine, all_of = world.array(of_rank[r], "f32"), world.zeros((2 * n, 3), "f32")
        odd = world.zeros((7, 3), "f32")
        few, wide = world.zeros((2, 3), "f32"), world.zeros((2 * n * n, 3), "f32")
        got = all_of.numpy()
        for op, expected in (
            ("sum", sum(of_rank)), ("max", of_rank[-1]), ("min", of_rank[0])
        ):
            stream.all_reduce(all_of, mine, op)
            stream.sync()
            assert numpy.array_equal(got, expected), op
            world.barrier()
        stream.reduce(all_of, mine, root=n - 1)
        stream.reduce_scatter(few, mine.numpy())  # an array on the heap
        stream.sync()
        assert r != n - 1 or numpy.array_equal(got, sum(of_rank))
        assert numpy.array_equal(few.read(), sum(of_rank)[2 * r:2 * r + 2])
        stream.all_gather(wide, mine)
        stream.sync()
        assert numpy.array_equal(wide.read(), numpy.concatenate(of_rank))
        stream.all_to_all(all_of, mine)
        stream.sync()
        assert numpy.array_equal(
            got, numpy.concatenate([of_rank[peer][2 * r:2 * r + 2] for peer in range(n)])
        )
        world.barrier()
        stream.broadcast(all_of, mine, root=n // 2)
        stream.sync()
        assert numpy.array_equal(got, of_rank[n // 2])
        world.barrier()
        stream.gather(wide, mine, root=0)
        stream.scatter(few, mine, root=n - 1)
        stream.sync()
        assert r or numpy.array_equal(wide.read(), numpy.concatenate(of_rank))
        assert numpy.array_equal(few.read(), of_rank[n - 1][2 * r:2 * r + 2])
        raises(world.errors.ArgumentError, lambda: stream.all_reduce(odd, mine), "shape|extent")
        raises(ValueError, lambda: stream.all_reduce(mine, mine, "mean"), "sum, max, min are")
    raises(ValueError, lambda: stream.sync(), "stream is closed")
    with world.stream(collectives=False) as stream:
        raises(ValueError, lambda: stream.broadcast(mine, mine), "no state for collectives")


def events(world):
    with world.stream() as first, world.stream() as second:
        x = world.ones(1000)
        begin, end = world.event(), world.event()
        begin.record(first)
        first.all_reduce(x, x)
        end.record(first)
        second.wait(end)
        second.all_reduce(x, x)
        second.sync()
        end.sync()
        assert 0 < begin.elapsed_ns(end) < 60e9
        assert (x.read() == world.size**2).all()
        raises(world.errors.UnsupportedError, lambda: first.native, "emulator|cpuemu")
        begin.close()
        raises(ValueError, begin.sync, "event is closed")
    raises(
        world.errors.UnsupportedError, lambda: world.stream(collectives=False, native=4096),
        "emulator|cpuemu"
    )


def teams(world):
    parity = world.team.split(world.rank % 2, name="parity")
    state = world.collective_state(world.size)
    x = world.full(3, world.rank, "f64")
    with parity.stream(state) as stream:
        stream.all_reduce(x, x)
        stream.sync()
    assert (x.read() == sum(range(world.rank % 2, world.size, 2))).all()
    assert parity.world_rank(parity.rank) == world.rank and parity.name == "parity"
    number = world.rank.to_bytes(2, "little")
    assert parity.gather_all(number) == [
        rank.to_bytes(2, "little") for rank in range(world.rank % 2, world.size, 2)
    ]
    assert parity.broadcast(number, 0) == (world.rank % 2).to_bytes(2, "little")
    parity.barrier()
    parity.destroy()
    last = world.team.create([world.size - 1])
    assert (last is None) == (world.rank != world.size - 1)
    assert world.team.split(None) is None


def names(world):
    import inspect

    from tessera._native import lib

    box = world.zeros((2, 3))
    made = [world.ones(4), world.ones(4)]
    given = world.empty(5, name="halo of the north")
    annotated: object = world.array([1, 2])
    tensors = (box, *made, given, annotated)
    wanted = ["box", "made", "made", "halo of the north", "annotated"]
    assert [tensor.name for tensor in tensors] == wanted
    name = ctypes.c_char_p()
    for tensor, text in zip(tensors, wanted):
        assert lib.tsr_heap_find(world.handle, tensor.data, ctypes.byref(name), None) == 0
        assert name.value == text.encode()
    line = inspect.currentframe().f_lineno + 1
    assert world.zeros(1).name == f"worlds.py:{line}"


def lifetimes(world):
    import gc

    import numpy

    errors, last = world.errors, world.rank == world.size - 1
    before = world.heap_usage()
    tensor = world.ones((3, 3))
    held = [tensor.numpy()[1:], numpy.from_dlpack(tensor)] if last else []
    refused = raises(
        errors.InUseError, tensor.free, r"'tensor' cannot be freed",
        rf"\(rank {world.size - 1} has 2\)"
    )
    assert isinstance(refused, errors.CallError) and refused.status == -1
    assert (tensor.read() == 1).all() and all((array == 1).all() for array in held)
    capsule = tensor.__dlpack__()
    held.clear()
    raises(errors.InUseError, tensor.free, "rank 0 has 1")
    del capsule  # which nobody took
    ring = [tensor.numpy()]
    ring.append(ring)
    del ring  # garbage that only the collector finds
    tensor.free()
    raises(ValueError, tensor.numpy, "has been freed")
    raises(ValueError, tensor.free, "has been freed")
    assert world.heap_usage() == before
    array = world.ones(5).numpy()  # the tensor itself is garbage
    gc.collect()
    assert (array == 1).all()
    world.from_dlpack(array)
    tensor = world.from_dlpack(array)
    del array
    tensor.free()
    with world.zeros(100):
        assert world.heap_usage().allocations == before.allocations + 1
    assert world.heap_usage() == before


def refusals(world):
    errors = world.errors
    error = raises(
        errors.NoMemoryError, lambda: world.empty(1 << 30), "TESSERA_HEAP_SIZE"
    )
    assert error.status == -2 and error.status_name == "TSR_ERR_NO_MEMORY"
    assert isinstance(error, MemoryError) and isinstance(error, errors.CallError)
    raises(errors.ArgumentError, lambda: world.empty(0), "extent|shape")
    raises(errors.ArgumentError, lambda: world.empty(4, "complex64"), "no element type: f64")
    raises(errors.ArgumentError, lambda: world.zeros(3).write([1, 2]), r"\[2\] do not fit")
    raises(errors.NotFoundError, lambda: world.kernel("nobody"), "load_kernels")
    if world.size > 1:
        raises(
            errors.MismatchError, lambda: world.empty(4 + world.rank),
            r"rank 1 called tsr_tensor_empty\(f32 \[5\]\)"
        )
    raises(
        errors.ArgumentError, lambda: world.team.broadcast(b"x", world.size),
        "from rank|ranks 0 to"
    )
    world.barrier()  # the world goes on


def products(world):
    """Each kind, with matrices of its own and with given ones, whole numbers, odd shapes."""
    import numpy

    import tessera

    m, n, k = 33, 40, 52
    random = numpy.random.default_rng(3)
    a, b = random.integers(-3, 4, (m, k)), random.integers(-3, 4, (k, n))
    wholes = {"a": a, "b": b, "c": a @ b}
    before = world.heap_usage()
    for kind in tessera.product.KINDS:
        for given in ("", "abc", "a"):
            with world.stream() as stream, world.product(
                kind, m, n, k, "f32", given=given
            ) as product:
                run_product(world, stream, product, wholes)
            if "c" not in given:
                raises(ValueError, lambda: product.c.numpy(), "has been freed")
            raises(ValueError, lambda: product.part("a"), "product is closed")
    for tensor in run_product.given:
        tensor.free()
    assert world.heap_usage() == before
    raises(ValueError, lambda: world.product("gemm", m, n, k), "'gemm' is no product: gemm-all-")
    raises(
        world.errors.NotFoundError,
        lambda: world.product("gemm-all-reduce", m, n, k, "f32", pattern="sheep"), "ring|own-chunk"
    )
    product = world.product("gemm-all-reduce", m, n, k, "f32")  # the world ends it
    held = product.c.numpy()
    raises(world.errors.InUseError, product.close, "a product cannot be closed")
    raises(ValueError, world.from_dlpack(held).free, "belongs to a product")


def run_product(world, stream, product, wholes):
    import numpy

    matrices = {}
    for letter, whole in wholes.items():
        part = product.part(letter)
        rows = slice(part.first_row, part.first_row + part.part_rows)
        cols = slice(part.first_col, part.first_col + part.part_cols)
        if letter in product.given:
            # all ranks allocate the same, for parts that differ
            room = world.empty(part.rows * part.cols)
            run_product.given.append(room)
            matrix = room.numpy()[:part.shape[0] * part.shape[1]].reshape(part.shape)
        else:
            matrix = getattr(product, letter).numpy()
        mine = matrix[rows, cols] if part.in_place else matrix
        mine[:] = whole[rows, cols] if letter != "c" else -1
        matrices[letter] = matrix
    world.barrier()
    product(stream, **{letter: matrices[letter] for letter in product.given})
    stream.sync()
    assert numpy.array_equal(mine, wholes["c"][rows, cols]), product
    world.barrier()  # peers may still read


run_product.given = []


def kernels(world):
    import tessera

    class Arguments(ctypes.Structure):
        _fields_ = [("seen", ctypes.c_void_p), ("value", ctypes.c_uint64)]

    tessera.load_kernels(os.environ["KERNELS"])
    seen = world.zeros(1, "i64")
    with world.stream(collectives=False) as stream:
        kernel = world.kernel("from_python")
        stream.launch(kernel, 1, Arguments(seen.data, 7 + world.rank))
        raises(ValueError, lambda: stream.launch(kernel, 1, seen._struct), "args|arguments")
    world.barrier()
    assert seen.read()[0] == 7 + (world.rank - 1) % world.size


BODIES = (
    constructors, bf16, arrays, collectives, events, teams, names, lifetimes, refusals, kernels,
    products
)

# ---------------------------------------------------------------- and who starts the ranks

KERNEL = """
#include "tessera/dev.h"
typedef struct args { TSR_HEAP uint64_t *seen; uint64_t value; } args_t;
TSR_KERNEL(from_python, args_t, a)
{
	int next = (tsr_rank(block) + 1) % tsr_size(block);
	tsr_signal(block, a->seen, a->value, TSR_SIGNAL_SET, next);
}
"""


def compile_kernel(folder):
    """A shared library that holds the kernel."""
    source, made = os.path.join(folder, "kernel.c"), os.path.join(folder, "kernel.so")
    with open(source, "w", encoding="ascii") as file:
        file.write(KERNEL)
    root, build = python_ranks.ROOT, os.environ["BUILD"]
    code, output = python_ranks.run(
        [
            os.environ.get("CC", "cc"), "-std=c11", "-shared", "-fPIC", "-pthread",
            "-D_GNU_SOURCE", '-DTSR_UNIT="kernel"', f"-I{root}", f"-I{root}/include",
            f"-I{root}/backends", "-o", made, source, f"-L{build}", "-ltessera"
        ]
    )
    verdict(code == 0, "a library of kernels is compiled", output)
    return made


def main():
    import tempfile

    python = python_ranks.usable("Python")
    if not python:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        made = compile_kernel(folder)
        return python_ranks.verdicts(python, WORLDS, __file__, BODIES, KERNELS=made)


if sys.argv[1:]:
    python_ranks.rank_main(BODIES)
else:
    sys.exit(main())
