"""
The world: its ranks, its heap, its end.
"""

import ctypes
import os
import weakref
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _declarations, _dlpack, _numbers, dtypes, errors
from ._native import call, lib, name_of_result
from .product import Product
from .stream import Event, Kernel, Stream
from .team import Team
from .tensor import Allocation, Tensor, leases_of
from .window import register

Shape = Union[int, Sequence[int]]
Name = Optional[str]


class Device(NamedTuple):
    """The properties of a rank's device. `ordinal` is its number among those that the vendor's
    runtime shows to this process, -1 on the emulator; `shared_bytes` is shared memory of a
    block."""

    name: str
    ordinal: int
    resident_blocks: int
    workers_per_block: int
    shared_bytes: int
    tile_depth: int
    parallel_blocks: int


class HeapUsage(NamedTuple):
    """How much of a rank's heap is in use, in bytes. The same on every rank. `largest_bytes` is the
    largest allocation that would succeed now."""

    heap_bytes: int
    free_bytes: int
    largest_bytes: int
    allocations: int


class World:
    """
    N ranks, each a process with one device and one heap. tessera.init makes it. They are on `nodes`
    nodes, of which this rank's is `node`: ranks of other nodes are reached by messages.

    As a context manager it is closed at the end of the block. If the block ends by an exception,
    the world is aborted instead, so that no rank waits for this one: the other ranks get an
    AbortedError whose sentence quotes the exception.

    A process that was forked from a rank is no rank: calls of the world fail there.
    """

    def __init__(self, handle: ctypes.c_void_p):
        self._handle, self._end = handle, ""
        self.allocations: Dict[int, Allocation] = {}  # by address; those that no rank has freed
        self.products: List[Product] = []  # those that are not closed
        self.rank: int = lib.tsr_world_rank(handle)
        self.size: int = lib.tsr_world_size(handle)
        self.nodes: int = lib.tsr_world_nodes(handle)
        self.node: int = lib.tsr_world_node(handle, self.rank)
        self.backend: str = lib.tsr_world_backend(handle).decode()
        self.team = Team(self, lib.tsr_world_team(handle))
        self.dlpack_device = (_dlpack.DEVICES[self.backend], max(self.device().ordinal, 0))
        _worlds.add(self)

    def __repr__(self) -> str:
        end = f", {self._end}" if self._end else ""
        return f"tessera.World(rank {self.rank} of {self.size} on {self.backend}{end})"

    @property
    def handle(self) -> ctypes.c_void_p:
        """The tsr_world_t. Raises ArgumentError after close()."""
        if self._end:
            raise errors.ArgumentError(f"this world {self._end}: join another with tessera.init()")
        return self._handle

    def device(self) -> Device:
        """This rank's device. Any thread."""
        props = _declarations.DeviceProps(size=ctypes.sizeof(_declarations.DeviceProps))
        call("tsr_world_device", self.handle, ctypes.byref(props))
        return Device(
            props.name.decode(), props.ordinal, props.resident_blocks, props.workers_per_block,
            props.shared_bytes, props.tile_depth, props.parallel_blocks
        )

    def node_of(self, rank: int) -> int:
        """The node of a rank, from 0 on; -1 if there is no such rank. Nodes are numbered in the
        order of their lowest ranks. Any thread. The team of my node: Team.split_node."""
        return lib.tsr_world_node(self.handle, _numbers.whole(rank, "rank", *_numbers.INT))

    @property
    def deadline_ns(self) -> int:
        """The default deadline of every wait, in nanoseconds (TESSERA_DEADLINE)."""
        return lib.tsr_world_deadline_ns(self.handle)

    def heap_usage(self) -> HeapUsage:
        """How much of this rank's heap is in use (not collective)."""
        usage = _declarations.HeapUsage(size=ctypes.sizeof(_declarations.HeapUsage))
        call("tsr_heap_usage", self.handle, ctypes.byref(usage))
        return HeapUsage(
            usage.heap_bytes, usage.free_bytes, usage.largest_bytes, usage.allocations
        )

    # ---------------------------------------------------------------- together

    def barrier(self) -> None:
        """
        Waits for all of this rank's streams, then for every rank. What any rank did before it
        happens before what any rank does after it, on hosts and on devices.

        Called by:  every rank, one thread a rank (collective).
        Raises:     DeadlineError and PeerLostError (both name the ranks that did not come),
                    MismatchError (another rank made another collective call), KernelError,
                    AbortedError.
        """
        call("tsr_barrier", self.handle)

    def abort(self, sentence: str) -> None:
        """
        Ends the world for a reason of the program's own: the waits of every rank return, and later
        collective calls raise AbortedError with `sentence`. Any thread (not collective).
        """
        lib.tsr_abort(self.handle, sentence.encode())

    def refuse_while_in_use(self, allocations: Sequence[Allocation], what: str) -> None:
        """Collective: raises InUseError on all ranks if arrays on these allocations live on any."""
        counts = self._counts(allocations)
        if any(counts):
            users = ", ".join(
                f"rank {rank} has {count}" for rank, count in enumerate(counts) if count
            )
            raise errors.InUseError(
                f"{what} while arrays on this memory live ({users}): drop them on every rank, such"
                " as by del, and call this again"
            )

    def _counts(self, allocations: Sequence[Allocation]) -> Sequence[int]:
        mine = leases_of(allocations).to_bytes(8, "little")
        return [int.from_bytes(count, "little") for count in self.team.gather_all(mine)]

    def close(self) -> None:
        """
        Leaves the world: waits for this rank's streams and for every rank, unmaps the heaps, closes
        the device. Afterwards calls of the world, its tensors and its streams raise ArgumentError.
        A second call does nothing.

        If arrays of NumPy or PyTorch on the heap live on any rank, the memory stays mapped on all
        ranks until their processes end, so that no array loses its memory.

        Called by:  every rank (collective).
        Raises:     MismatchError, PeerLostError, DeadlineError, AbortedError. The world is closed
                    even then.
        """
        if self._end:
            return
        handle, self._end = self.handle, "is closed"
        live = leases_of(list(self.allocations.values()))
        try:
            others = self.team.gather_all_on(live.to_bytes(8, "little"))
        except errors.TesseraError:
            if not live:
                lib.tsr_finalize(handle)  # releases what is local
            raise
        if any(any(count) for count in others):
            call("tsr_barrier", handle)
        else:
            for product in self.products:
                product.destroy()
            call("tsr_finalize", handle)

    def __enter__(self) -> "World":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
            return
        if self._end:
            return
        if not issubclass(kind, errors.WorldLostError):
            self.abort(f"rank {self.rank} ended by {kind.__name__}: {value}")
        # The frames of the exception hold arrays: what they refer to stays mapped.
        self._end = "was aborted"

    # ---------------------------------------------------------------- the heap

    def alloc(self, size_bytes: int, align_bytes: int = 0, name: Optional[str] = None) -> Tensor:
        """
        Allocates `size_bytes` at the same offset on every rank, as a tensor of u8. `align_bytes` is
        a power of two, at most 2 MiB; 0 means 256. The memory is not initialised, as in empty().

        Called by:  every rank (collective), with the same arguments.
        Raises:     ArgumentError, NoMemoryError (the world goes on), MismatchError, and those of
                    barrier().
        """
        size_bytes = _numbers.whole(size_bytes, "size_bytes", *_numbers.UINT64)
        align_bytes = _numbers.whole(align_bytes, "align_bytes", *_numbers.UINT64)
        out = ctypes.c_void_p()
        called = name.encode() if name else None
        call("tsr_heap_alloc", self.handle, size_bytes, align_bytes, called, ctypes.byref(out))
        allocation = Allocation(self, out.value, name or "unnamed")
        self.allocations[out.value] = allocation
        return Tensor(allocation, out.value, "u8", (size_bytes, ), (1, ))

    def _shaped(
        self, call_name: str, dtype: Any, shape: Shape, *arguments: Any, name: Name = None
    ) -> Tensor:
        """A constructor that takes a shape. One without dimensions has an element: in C as one
        dimension."""
        extents = _numbers.extents(shape)
        in_c = extents or (1, )
        made = self._made(
            call_name, dtype, len(in_c), (ctypes.c_int64 * len(in_c))(*in_c), *arguments, name=name
        )
        return made if extents else Tensor(made.allocation, made.data, made.dtype, (), ())

    def _made(self, call_name: str, dtype: Any, *arguments: Any, name: Name = None) -> Tensor:
        """A constructor of the library: its arguments stand between the dtype and the result."""
        made = _declarations.Tensor()
        number = dtypes.NUMBERS[dtypes.name_of(dtype)]
        call(call_name, self.handle, number, *arguments, ctypes.byref(made))
        shape = tuple(made.shape[: made.dims])
        name = name or name_of_result()
        call("tsr_tensor_name", self.handle, ctypes.byref(made), name.encode("utf-8", "replace"))
        allocation = Allocation(self, made.data, name)
        self.allocations[made.data] = allocation
        return Tensor(
            allocation, made.data, dtypes.NAMES[made.dtype], shape,
            tuple(made.stride[: made.dims])
        )

    # All constructors allocate, so they are collective: every rank calls them with the same dtype
    # and shape; values may differ. They raise ArgumentError, NoMemoryError (the world goes on),
    # MismatchError, and the errors of barrier(). They succeed on all ranks or on none. `name` is
    # the tensor's in reports: by default the variable that it is assigned to, or file and line.

    def empty(self, shape: Shape, dtype: Any = "f32", *, name: Name = None) -> Tensor:
        """A tensor that is not initialised: its first 16 MiB are the byte 0xFF (NaN, or -1).
        Collective."""
        return self._shaped("tsr_tensor_empty", dtype, shape, name=name)

    def zeros(self, shape: Shape, dtype: Any = "f32", *, name: Name = None) -> Tensor:
        """A tensor of 0. Collective."""
        return self._shaped("tsr_tensor_zeros", dtype, shape, name=name)

    def ones(self, shape: Shape, dtype: Any = "f32", *, name: Name = None) -> Tensor:
        """A tensor of 1. Collective."""
        return self._shaped("tsr_tensor_ones", dtype, shape, name=name)

    def full(self, shape: Shape, value: float, dtype: Any = "f32", *, name: Name = None) -> Tensor:
        """A tensor of `value`, which ranks may choose for themselves. Collective."""
        number, kind = _numbers.index_of(value), dtypes.name_of(dtype)
        if number is None or _numbers.is_double(number):
            return self._shaped("tsr_tensor_full", dtype, shape, value, name=name)
        import numpy

        _numbers.whole(number, "value", *_numbers.INT64)
        tensor = self.empty(shape, kind, name=name)
        tensor.write(numpy.full(tensor.shape, number, numpy.int64))
        return tensor

    def arange(
        self, begin: float, end: float, step: float = 1, dtype: Any = "f32", *, name: Name = None
    ) -> Tensor:
        """begin, begin + step, ..., without end: one dimension. Collective."""
        numbers = [_numbers.index_of(value) for value in (begin, end, step)]
        if dtypes.name_of(dtype) == "i64" and None not in numbers and numbers[2] and max(
            abs(numbers[0]), abs(numbers[1])
        ) > 1 << 53:
            return self._long_arange(*numbers, name=name)
        values = (
            _numbers.double(value, what)
            for value, what in ((begin, "begin"), (end, "end"), (step, "step"))
        )
        return self._made("tsr_tensor_arange", dtype, *values, name=name)

    def _long_arange(self, *numbers: int, name: Name) -> Tensor:
        """The library's counts in doubles."""
        import numpy

        for number in numbers:
            _numbers.whole(number, "begin, end or step", *_numbers.INT64)
        return self.array(numpy.arange(*numbers, dtype=numpy.int64), name=name)

    def linspace(
        self, begin: float, end: float, count: int, dtype: Any = "f32", *, name: Name = None
    ) -> Tensor:
        """`count` values from begin to end, both included: one dimension. Collective."""
        return self._made(
            "tsr_tensor_linspace", dtype, _numbers.double(begin, "begin"),
            _numbers.double(end, "end"), _numbers.whole(count, "count", *_numbers.INT64), name=name
        )

    def rand(self, shape: Shape, seed: int, dtype: Any = "f32", *, name: Name = None) -> Tensor:
        """Uniform in [0, 1); the same seed gives the same values on every backend. Collective."""
        return self._shaped("tsr_tensor_rand", dtype, shape, _seed(seed), name=name)

    def uniform(
        self, shape: Shape, low: float, high: float, seed: int, dtype: Any = "f32", *,
        name: Name = None
    ) -> Tensor:
        """Uniform in [low, high). Collective."""
        return self._shaped(
            "tsr_tensor_uniform", dtype, shape, _numbers.double(low, "low"),
            _numbers.double(high, "high"), _seed(seed), name=name
        )

    def randn(self, shape: Shape, seed: int, dtype: Any = "f32", *, name: Name = None) -> Tensor:
        """Normal with mean 0 and deviation 1. Collective."""
        return self._shaped("tsr_tensor_randn", dtype, shape, _seed(seed), name=name)

    def randint(
        self, shape: Shape, low: int, high: int, seed: int, dtype: Any = "i64", *, name: Name = None
    ) -> Tensor:
        """Integers in [low, high). Collective."""
        low, high = (
            _numbers.whole(value, what, *_numbers.INT64)
            for value, what in ((low, "low"), (high, "high"))
        )
        return self._shaped("tsr_tensor_randint", dtype, shape, low, high, _seed(seed), name=name)

    def array(self, values: Any, dtype: Any = None, *, name: Name = None) -> Tensor:
        """
        A tensor that holds a copy of `values`: an array of the same shape on every rank, or what
        NumPy makes one of. `dtype` is that of the values by default.

        Called by:  every rank (collective).
        """
        import numpy

        values = numpy.asarray(values)
        tensor = self.empty(values.shape, values.dtype if dtype is None else dtype, name=name)
        tensor.write(values)
        return tensor

    def window(self, array: Any, name: str = "window") -> Tensor:
        """
        The tensor on the memory of an array that lies outside the heap: nothing is copied, and
        kernels and collectives of all ranks work on the array's own memory. Tensor.free ends that
        (so does the end of the world), and the array goes on with what was written to it last.

        Each rank passes an array of its own, dense and row-major, and of the same size. On the
        emulator its memory begins at a page and has whole pages to itself: tessera.pages makes such
        arrays. On CUDA it is a tensor of PyTorch on this rank's GPU, out of a pool of
        tessera.torch_pool; the window has whole units of 2 MiB. In calls of this package the tensor
        that is returned takes the array's place, because it has an address of its own. Until the
        window is freed the array must not be resized; the tensor keeps it alive. Order is that of
        arrays on the heap: before reading what a stream writes, call Stream.sync.

        Called by:  every rank (collective), with the same name.
        Raises:     ArgumentError (memory that is no whole pages, is shared with other processes, or
                    is part of another window; on CUDA that of PyTorch's own pool, or that begins
                    inside of what a pool has allocated at once), UnsupportedError (on AMD's GPUs,
                    and with TESSERA_CUDA_HEAP=ipc), NoMemoryError (the heap has no room for it),
                    MismatchError (other sizes), and those of barrier().
        """
        tensor = register(self, array, name)
        self.allocations[tensor.data] = tensor.allocation
        return tensor

    def from_dlpack(self, array: Any) -> Tensor:
        """
        The tensor on the memory of an array that lies in the heap: of what numpy() or torch() made,
        of a part of it, or of a transpose. Nothing is copied. A tensor that lies in the heap is
        returned as it is.

        Called by:  any rank (not collective).
        Raises:     NotFoundError (the memory is outside the heap).
        """
        if isinstance(array, Tensor):
            return array
        pointer, dtype, shape, stride = _dlpack.describe(array)
        if 0 in shape:
            return self._empty_part(pointer, dtype, shape, stride)
        offset = ctypes.c_size_t()
        found = lib.tsr_heap_find(self.handle, pointer, None, ctypes.byref(offset)) == 0
        allocation = self.allocations.get(pointer - offset.value) if found else None
        if allocation is None:
            raise errors.NotFoundError(
                f"this {type(array).__name__} lies outside the symmetric heap, where other ranks"
                " cannot reach it: make it with World.empty(...).numpy() or .torch(), or copy it"
                " with World.array"
            )
        return Tensor(allocation, pointer, dtype, shape, stride)

    def _empty_part(
        self, pointer: int, dtype: str, shape: Tuple[int, ...], stride: Tuple[int, ...]
    ) -> Tensor:
        """A part without elements lies nowhere: PyTorch gives it no address, and NumPy any. Calls
        check addresses all the same, so it gets one in the heap that fits its elements."""
        offset = ctypes.c_size_t()
        found = lib.tsr_heap_find(self.handle, pointer, None, ctypes.byref(offset)) == 0
        allocation = self.allocations.get(pointer - offset.value) if found else None
        if allocation is None:
            allocation = next(iter(self.allocations.values()), None)
            if allocation is None:
                allocation = Allocation(self, 0, "an empty array")
            pointer = allocation.pointer
        return Tensor(allocation, pointer, dtype, shape, stride)

    # ---------------------------------------------------------------- streams

    def stream(self, collectives: bool = True, native: Any = None) -> Stream:
        """
        A stream of all ranks. For its collectives it allocates their state in the heap, which
        collective_state() tells of. `native` is a stream that there is already, such as
        torch.cuda.current_stream(): what is queued there and work of Tessera are in one order. It
        is a stream of PyTorch, or the address of a cudaStream_t or hipStream_t.

        Called by:  every rank (collective); with `collectives` False any rank by itself.
        Raises:     NoMemoryError, SystemFailure, UnsupportedError (`native` on the emulator), and
                    those of barrier().
        """
        state = self.collective_state() if collectives else None
        return Stream(self.team, state, owns_state=collectives, native=native)

    def collective_state(self, team_size: Optional[int] = None) -> Tensor:
        """
        The state of collectives of a team with at most `team_size` ranks; by default, of any team.
        It serves one collective at a time, always in the same team: give each stream its own. It
        has 10 MiB, 384 bytes, and 768 bytes for each rank: mostly room for values on their way.

        Called by:  every rank (collective).
        """
        ranks = _numbers.whole(team_size or self.size, "team_size", 1, _numbers.INT[1])
        size_bytes = lib.tsr_collective_state_bytes(ranks)
        state = self.alloc(size_bytes, 128, "state of collectives")
        call("tsr_memset_heap", self.handle, state.data, 0, size_bytes)
        self.barrier()  # a peer writes there as soon as its own call returns
        return state

    def product(
        self, kind: str, m: int, n: int, k: int, dtype: Any = "bf16", **options: Any
    ) -> Product:
        """
        A matrix product over the ranks, ready to be run: Product says which kinds and options there
        are.

        Called by:  every rank (collective), with the same arguments.
        Raises:     ArgumentError, NotFoundError (no such pattern; the sentence lists all),
                    MismatchError, NoMemoryError, UnsupportedError, ResidencyError, and those of
                    barrier().
        """
        product = Product(self, kind, m, n, k, dtype, **options)
        self.products.append(product)
        return product

    def event(self) -> Event:
        """An event, which marks a point in a stream (not collective)."""
        return Event(self)

    def kernel(self, name: str, variant: str = "") -> Kernel:
        """
        A kernel by its name, and its variant if it has several: of a shared library that
        tessera.load_kernels has loaded.

        Called by:  any rank (not collective).
        Raises:     NotFoundError.
        """
        return Kernel(name, variant)


def _seed(seed: int) -> int:
    return _numbers.whole(seed, "seed", *_numbers.UINT64)


_worlds: "weakref.WeakSet[World]" = weakref.WeakSet()


def _forget_worlds() -> None:
    """In a forked process: sockets and threads of the library are the parent's."""
    for world in _worlds:
        world._end = world._end or "belongs to the process that was forked"


os.register_at_fork(after_in_child=_forget_worlds)


@contextmanager
def _environment(values: Dict[str, Any]) -> Iterator[None]:
    """Variables for the time of a call; those that are None stay as they are."""
    given = {name: str(value) for name, value in values.items() if value is not None}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is not None:
                os.environ[name] = value
            else:
                os.environ.pop(name, None)


def unique_id() -> bytes:
    """
    A new id for a world that no launcher describes: one process makes it and sends it to all ranks,
    and each passes it to init. It is a secret too: a process of the same user that has it can join.

    Called by:  one process, which need not become a rank.
    """
    made = _declarations.UniqueId()
    call("tsr_unique_id_get", ctypes.byref(made))
    return bytes(made.bytes)


def init(
    rank: Optional[int] = None, size: Optional[int] = None, unique_id: Optional[bytes] = None, *,
    backend: Optional[str] = None, heap_size: Union[int, str, None] = None
) -> World:
    """
    Joins the world that the environment describes: torchrun, `tessera run`, `python -m tessera`,
    Open MPI, PMI or Slurm. Without any of them the world has one rank. By hand: every process
    passes its `rank`, the number of ranks in `size`, and the bytes that one of them got of
    tessera.unique_id().

    `backend` is "cpuemu", "cuda" or "hip" (TESSERA_BACKEND; default: the best one that has a
    device). `heap_size` is a number of bytes or a text such as "2G" (TESSERA_HEAP_SIZE).

    Called by:  every rank, once for each world (collective).
    Raises:     ConfigError, NotFoundError (backend), NoDeviceError, PeerLostError (names the ranks
                that never joined), MismatchError (ranks have different settings), SystemFailure.
    """
    given = [value is not None for value in (rank, size, unique_id)]
    if any(given) and not all(given):
        raise errors.ArgumentError(
            "tessera.init takes rank, size and unique_id together, or none of them: then the"
            " environment names the rank"
        )
    handle = ctypes.c_void_p()
    with _environment({"TESSERA_BACKEND": backend, "TESSERA_HEAP_SIZE": heap_size}):
        if unique_id is None:
            call("tsr_init", ctypes.byref(handle))
        else:
            made = _declarations.UniqueId()
            if len(unique_id) != len(made.bytes):
                raise errors.ArgumentError(
                    f"unique_id has {len(unique_id)} bytes: pass the {len(made.bytes)} that"
                    " tessera.unique_id() returned"
                )
            made.bytes[:] = unique_id
            rank, size = (
                _numbers.whole(number, what, *_numbers.INT)
                for number, what in ((rank, "rank"), (size, "size"))
            )
            call(
                "tsr_world_create_by_id", ctypes.byref(made), rank, size, ctypes.byref(handle)
            )
    return World(handle)
