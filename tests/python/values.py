#!/usr/bin/env python3
"""
What becomes of values that are easily lost, in the Python package with NumPy on
the emulator: NaN and zeros with a sign, roundings, whole numbers that C's types do
not hold, parts without elements, and elements at odd places.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from python_ranks import raises  # noqa: E402

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


def roundings(world):
    """Of f64 and i64 to bf16: once."""
    import numpy

    def read(values):
        return world.array(values, "bf16").read().astype(numpy.float64)

    between = 1 + 2**-8 + 2**-40  # half a unit and a little
    tensor = world.zeros(1, "bf16")
    tensor.write(numpy.float64([between]))
    full = world.full(1, between, "bf16")
    for got in (read(numpy.float64([between])), tensor.read(), full.read()):
        assert got[0] == 1.0078125, got
    assert read([-between])[0] == -1.0078125
    for sign in (1, -1):
        for bits in (40, 62):
            number = sign * ((1 << bits) + (1 << (bits - 8)) + 1)
            right = sign * ((1 << bits) + (1 << (bits - 7)))
            assert int(read(numpy.int64([number]))[0]) == right, number
            assert int(world.full(1, number, "bf16").read()[0]) == right, number
            assert int(world.full(1, number, "f32").read()[0]) == int(numpy.float32(number))
    assert read(numpy.int64([5, -3, 0, -(2**63)])).tolist() == [5, -3, 0, -(2.0**63)]
    assert read(numpy.uint64([2**64 - 1, 7])).tolist() == [2.0**64, 7]
    values = numpy.random.default_rng(1).random(100000)
    values = numpy.concatenate((values, numpy.round(values * 2**20) / 2**20 + 2.0**-45))
    fraction, exponent = numpy.frexp(values)
    right = numpy.ldexp(numpy.rint(numpy.ldexp(fraction, 8)), exponent - 8)
    assert (read(values) == right).all() and (read(-values) == -right).all()
    if numpy.finfo(numpy.longdouble).nmant > 60:
        assert read(numpy.longdouble([1 + numpy.longdouble(2)**-8 + numpy.longdouble(2)**-60])) > 1
    assert read([1e300, -1e300, 1e-300]).tolist() == [numpy.inf, -numpy.inf, 0]
    assert numpy.isnan(read([numpy.nan])[0])


def whole_numbers(world):
    """Those that C's types do not hold are refused, and the others are what they are."""
    import numpy

    error, n, team = world.errors.ArgumentError, world.size, world.team
    with world.stream() as stream:
        x = world.zeros(n)
        raises(error, lambda: team.split(2**32), "colour is 4294967296: pass one from 0")
        raises(error, lambda: team.split(-2**31 - 5), "colour is -2147483653")
        raises(error, lambda: team.split(0, 2**31), "key is 2147483648")
        raises(error, lambda: team.split("a"), "colour is 'a': pass a whole number")
        raises(error, lambda: team.create([2**32]), "a rank of the list is 4294967296")
        raises(error, lambda: team.broadcast(b"x", 2**32), "root is 4294967296")
        raises(error, lambda: team.world_rank(2**32), "rank is 4294967296")
        raises(error, lambda: world.node_of(2**32), "rank is 4294967296")
        raises(error, lambda: x.pointer(2**32), "rank is 4294967296")
        raises(error, lambda: stream.reduce(x, x, "sum", 2**32), "dimension is 4294967296")
        raises(error, lambda: stream.broadcast(x, x, 2**32), "dimension is 4294967296")
        raises(error, lambda: world.collective_state(2**32 + 1), "team_size is 4294967297")
        raises(error, lambda: world.product("gemm-all-reduce", 2**64 + 8, 8, 8), "m is 18446")
    for call in (world.zeros, world.empty, lambda shape: world.full(shape, 1)):
        raises(error, lambda: call(2**64 + 4), "an extent is 18446744073709551620")
        raises(error, lambda: call((2, 2**63)), "an extent is 9223372036854775808")
    raises(error, lambda: world.zeros("4"), "an extent is '4'")
    raises(error, lambda: world.alloc(2**64 + 64), "size_bytes is 18446744073709551680")
    raises(error, lambda: world.alloc(-1), "size_bytes is -1")
    raises(error, lambda: world.randint(3, 2**64, 2**64 + 3, 1), "low is 18446744073709551616")
    raises(error, lambda: world.rand(3, 2**64), "seed is 18446744073709551616")
    raises(error, lambda: world.rand(3, -1), "seed is -1")
    raises(error, lambda: world.uniform(3, 2**53 + 1, 2**60, 1, "f64"), "low is .* as a double")
    raises(error, lambda: world.linspace(0, 2**53 + 1, 3), "end is .* as a double")
    raises(error, lambda: world.full(3, 2**64 + 1, "i64"), "value is 18446744073709551617")
    raises(error, lambda: team.gather_all("ab"), "data is of type str: pass bytes")
    raises(error, lambda: team.broadcast("ab"), "data is of type str: pass bytes")
    assert team.gather_all(bytearray(b"ab")) == [b"ab"] * n
    assert team.gather_all(numpy.int32([258]).data) == [b"\x02\x01\0\0"] * n
    assert world.zeros(numpy.int64(4)).shape == (4, )
    assert world.zeros((numpy.int32(2), 3)).shape == (2, 3)
    assert world.full(2, 2**53 + 1, "i64").read().tolist() == [2**53 + 1] * 2
    assert world.full(1, numpy.int64(-2**53 - 1), "i64").read()[0] == -2**53 - 1
    assert world.arange(2**53 + 1, 2**53 + 4, dtype="i64").read().tolist() == [
        2**53 + 1, 2**53 + 2, 2**53 + 3
    ]
    assert world.arange(2**53 - 2, 2**53 + 2, dtype="i64").read()[-1] == 2**53 + 1
    assert world.arange(-2**53 - 3, -2**53, 2, dtype="i64").read()[1] == -2**53 - 1
    made = team.split(numpy.int64(2**31 - 1), -2**31)
    assert made.size == n


def names(world):
    """A team's name is cut between letters."""
    for name, kept in (
        ("\u00e4" * 20, "\u00e4" * 15), ("a" + "\u00e4" * 20, "a" + "\u00e4" * 15),
        ("\U0001f600" * 9, "\U0001f600" * 7), ("b" * 40, "b" * 31), ("\u00e4" * 15, "\u00e4" * 15)
    ):
        assert world.team.split(0, name=name).name == kept
        assert world.team.create(range(world.size), name).name == kept


def empty_parts(world):
    """More ranks than rows: their parts take part, and are read and written."""
    import numpy

    n, r = world.size, world.rank
    lo, hi = 3 * r // n, 3 * (r + 1) // n
    whole = world.array(numpy.arange(12.0).reshape(3, 4), "f32")
    with world.stream() as stream:
        mine, part = whole.numpy(), world.from_dlpack(whole.numpy()[lo:hi])
        assert part.read().shape == (hi - lo, 4) and (part.read() == mine[lo:hi]).all()
        part.write(numpy.zeros((hi - lo, 4)))
        assert (mine[lo:hi] == 0).all() and mine.sum() == 66 - sum(range(4 * lo, 4 * hi))
        raises(world.errors.ArgumentError, lambda: part.write([1, 2, 3]), "do not fit")
        world.barrier()
        stream.all_gather(mine, mine[lo:hi])
        stream.all_reduce(mine[:0], mine[:0])
        stream.sync()
        assert (mine == 0).all()
    empty = world.from_dlpack(numpy.zeros((0, 4), numpy.float32))  # of NumPy's own memory
    assert empty.read().shape == (0, 4) and empty.nbytes == 0


def without_dimensions(world):
    import numpy

    tensor = world.full((), 3 + world.rank, "f64")
    assert tensor.shape == () and tensor.size == 1 and tensor.read() == 3 + world.rank
    array = tensor.numpy()
    assert array.shape == () and array == 3 + world.rank
    assert world.array(numpy.float32(7)).read() == 7 and world.zeros(()).read().shape == ()
    raises(TypeError, lambda: len(tensor), "no length")
    with world.stream() as stream:
        stream.all_reduce(array, tensor)
        stream.sync()
    assert tensor.read() == sum(3 + rank for rank in range(world.size))
    world.barrier()
    tensor.write(-1)
    assert array == -1
    del array
    tensor.free()


def odd_places(world):
    """f32 at an odd byte is refused, and the world goes on."""
    import numpy

    room = world.zeros(64 * world.size, "u8").numpy()
    odd = numpy.ndarray((8, ), numpy.float32, room, 1)
    with world.stream() as stream:
        raises(
            world.errors.ArgumentError, lambda: stream.all_reduce(odd, odd),
            "dst begins at .*, where no f32 can lie; let it begin at a multiple"
        )
        raises(
            world.errors.ArgumentError, lambda: stream.broadcast(odd, odd), "where no f32 can lie"
        )
    odd[...] = world.rank + 1
    assert (world.from_dlpack(odd).read() == world.rank + 1).all()
    world.barrier()


def empty_products(world):
    """Of given matrices: some ranks have no rows, or no columns."""
    import tessera

    for kind in tessera.product.KINDS:
        for given in ("abc", "c", "a", "b"):
            for m, n in ((3, 16), (16, 3), (2, 2)):
                with world.stream() as stream:
                    product = world.product(kind, m, n, 8, "f32", given=given)
                    matrices, rooms = {}, []
                    for letter in given:
                        shape = product.part(letter).shape
                        rooms.append(world.zeros((16, 16)))
                        matrices[letter] = rooms[-1].numpy()[:shape[0], :shape[1]]
                    product(stream, **matrices)
                    stream.sync()
                    world.barrier()
                    matrices.clear()
                    product.close()
                    for room in rooms:
                        room.free()


BODIES = (
    extremes, roundings, whole_numbers, names, empty_parts, without_dimensions, odd_places,
    empty_products
)

# ---------------------------------------------------------------- and who starts the ranks


def main():
    python = python_ranks.usable("Python")
    return python_ranks.verdicts(python, WORLDS, __file__, BODIES) if python else 0


if sys.argv[1:]:
    python_ranks.rank_main(BODIES)
else:
    sys.exit(main())
