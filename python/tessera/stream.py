"""
Streams: launches, collectives and events.
"""

import ctypes
from typing import TYPE_CHECKING, Any, Optional

from . import _declarations, _numbers, errors
from ._kept import Kept
from ._native import call, lib

if TYPE_CHECKING:
    from .team import Team
    from .tensor import Tensor
    from .world import World

_REDUCTIONS = {
    "sum": _declarations.CONSTANTS["TSR_REDUCE_SUM"],
    "max": _declarations.CONSTANTS["TSR_REDUCE_MAX"],
    "min": _declarations.CONSTANTS["TSR_REDUCE_MIN"],
}


class Kernel:
    """A kernel, found by its name. World.kernel makes it."""

    def __init__(self, name: str, variant: str = ""):
        self.name, self.variant = name, variant
        self.handle = lib.tsr_kernel_find(name.encode(), variant.encode() or None)
        if not self.handle:
            raise errors.NotFoundError(
                f"there is no kernel '{name}'{f' {variant}' if variant else ''}: load the shared"
                " library that has it with tessera.load_kernels"
            )


class Event:
    """A point in a stream, with a time stamp."""

    def __init__(self, world: "World"):
        self._world, self._handle = world, ctypes.c_void_p()
        call("tsr_event_create", world.handle, ctypes.byref(self._handle))

    @property
    def handle(self) -> ctypes.c_void_p:
        """The tsr_event_t. Raises ArgumentError after close() and after the end of the world."""
        self._world.handle  # raises where the world is closed
        if not self._handle:
            raise errors.ArgumentError("this event is closed: make another with World.event")
        return self._handle

    def record(self, stream: "Stream") -> None:
        """Marks the point after the stream's work so far. Does not wait."""
        call("tsr_event_record", self.handle, stream.handle)

    def sync(self) -> None:
        """Waits on the host until the mark is reached. Raises what Stream.sync raises."""
        call("tsr_event_sync", self.handle)

    def elapsed_ns(self, end: "Event") -> int:
        """Nanoseconds from this mark to `end`. Both must be reached."""
        out = ctypes.c_uint64()
        call("tsr_event_elapsed_ns", self.handle, end.handle, ctypes.byref(out))
        return out.value

    def close(self) -> None:
        """Destroys the event (not collective)."""
        if self._handle:
            call("tsr_event_destroy", self.handle)
            self._handle = ctypes.c_void_p()


class Stream:
    """
    A queue of launches and collectives of one rank. Each begins when the one before it has ended;
    different streams are not ordered among each other. World.stream and Team.stream make it.

    Collectives take tensors of Tessera, and arrays of NumPy and PyTorch on memory of the heap.
    Every member of the team calls them, as often and in the same order. They return without
    waiting: behind the call on the stream, `dst` is there, and `src` may be written again. On the
    host, call sync() first. The C header tessera/collective.h says which shapes and strides fit.
    They raise ArgumentError, AbortedError and UnsupportedError; then nothing is started.

    As a context manager it is closed at the end of the block. After an exception it is left to the
    end of the world, because other ranks may not come.
    """

    def __init__(
        self, team: "Team", state: Optional["Tensor"] = None, owns_state: bool = False,
        native: Any = None
    ):
        self.team, self._state, self._owns_state = team, state, owns_state
        self._handle = ctypes.c_void_p()
        self._structs = Kept(self._make_struct)
        self._native = native  # which must live as long as this
        if native is None:
            call("tsr_stream_create", team.handle, ctypes.byref(self._handle))
        else:
            pointer = getattr(native, "cuda_stream", native)
            call("tsr_stream_from_native", team.handle, pointer, ctypes.byref(self._handle))

    @property
    def handle(self) -> ctypes.c_void_p:
        """The tsr_stream_t. Raises ArgumentError after close() and after the end of the world."""
        self.team.world.handle  # raises where the world is closed
        if not self._handle:
            raise errors.ArgumentError("this stream is closed: make another with World.stream")
        return self._handle

    @property
    def native(self) -> int:
        """The cudaStream_t or hipStream_t behind the stream, for other libraries, such as for
        torch.cuda.ExternalStream. Raises UnsupportedError on the emulator."""
        out = ctypes.c_void_p()
        call("tsr_stream_native", self.handle, ctypes.byref(out))
        return out.value or 0

    def sync(self) -> None:
        """
        Waits until all work on the stream has ended. Every rank sees its stores after a later
        World.barrier.

        Called by:  any rank (not collective).
        Raises:     DeadlineError (a wait in a kernel expired; the sentence says who waited for
                    whom), KernelError, PeerLostError, AbortedError.
        """
        call("tsr_stream_sync", self.handle)

    def close(self) -> None:
        """
        Waits for the stream's work, then destroys the stream. A second call does nothing.

        Called by:  every rank (collective) if World.stream made it with `collectives`, because the
                    state of the collectives is freed; else any rank by itself.
        Raises:     what sync() raises.
        """
        if not self._handle:
            return
        handle, self._handle = self.handle, ctypes.c_void_p()
        call("tsr_stream_destroy", handle)
        if self._owns_state:
            self._state.free()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()

    def wait(self, event: Event) -> None:
        """Later work of this stream begins after the event's last recorded mark is reached. Does
        not wait on the host."""
        call("tsr_stream_wait_event", self.handle, event.handle)

    def launch(self, kernel: Kernel, blocks: int, arguments: ctypes.Structure) -> None:
        """
        Starts `kernel` with `blocks` blocks behind the stream's earlier work, and returns. The
        arguments are a ctypes.Structure of the same layout as the kernel's struct; they are copied.
        Addresses in it are Tensor.data.

        Called by:  any rank (not collective).
        Raises:     ArgumentError (another size than the kernel takes, blocks < 1),
                    UnsupportedError, AbortedError.
        """
        blocks = _numbers.whole(blocks, "blocks", *_numbers.INT)
        call(
            "tsr_launch_sized", self.handle, kernel.handle, blocks, ctypes.byref(arguments),
            ctypes.sizeof(arguments)
        )

    # ---------------------------------------------------------------- collectives

    def _collective(self, name: str, dst: Any, src: Any, *arguments: int) -> None:
        if self._state is None:
            raise errors.ArgumentError(
                "this stream has no state for collectives: make it with World.stream(), or with"
                " Team.stream(World.collective_state())"
            )
        numbers = [
            _numbers.whole(value, "a root or dimension", *_numbers.INT) for value in arguments
        ]
        call(
            name, self.handle, self._structs.get(dst), self._structs.get(src), *numbers,
            self._state.data
        )

    def _make_struct(self, array: Any) -> Any:
        return ctypes.byref(self.team.world.from_dlpack(array).struct())

    def all_reduce(self, dst: Any, src: Any, op: str = "sum") -> None:
        """Combines the elements of all members' `src` into every member's `dst`: "sum", "max" or
        "min", in rank order, with the same bits on all. A NaN makes a maximum or minimum NaN,
        whoever has it, and -0 is less than +0."""
        self._collective("tsr_stream_all_reduce", dst, src, _reduction(op))

    def reduce(self, dst: Any, src: Any, op: str = "sum", root: int = 0) -> None:
        """The same into the root's `dst` alone."""
        self._collective("tsr_stream_reduce", dst, src, _reduction(op), root)

    def reduce_scatter(self, dst: Any, src: Any, dim: int = 0, op: str = "sum") -> None:
        """The same, of which rank r gets part r along dimension `dim` in its `dst`."""
        self._collective("tsr_stream_reduce_scatter", dst, src, dim, _reduction(op))

    def all_gather(self, dst: Any, src: Any, dim: int = 0) -> None:
        """Rank r's `src` becomes part r of every member's `dst`, along dimension `dim`."""
        self._collective("tsr_stream_all_gather", dst, src, dim)

    def all_to_all(self, dst: Any, src: Any, split: int = 0, place: int = 0) -> None:
        """Part r of `src` along dimension `split` goes to rank r, where it becomes my part of `dst`
        along dimension `place`."""
        self._collective("tsr_stream_all_to_all", dst, src, split, place)

    def broadcast(self, dst: Any, src: Any, root: int = 0) -> None:
        """The root's `src` becomes every member's `dst`."""
        self._collective("tsr_stream_broadcast", dst, src, root)

    def gather(self, dst: Any, src: Any, dim: int = 0, root: int = 0) -> None:
        """Rank r's `src` becomes part r of the root's `dst`, along `dim`."""
        self._collective("tsr_stream_gather", dst, src, dim, root)

    def scatter(self, dst: Any, src: Any, dim: int = 0, root: int = 0) -> None:
        """Part r of the root's `src`, along `dim`, becomes rank r's `dst`."""
        self._collective("tsr_stream_scatter", dst, src, dim, root)


def _reduction(op: str) -> int:
    if op not in _REDUCTIONS:
        raise errors.ArgumentError(f"{op!r} is no reduction: {', '.join(_REDUCTIONS)} are")
    return _REDUCTIONS[op]
