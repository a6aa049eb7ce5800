"""
Tensors in the symmetric heap, and arrays of NumPy and PyTorch on the same
memory.
"""

import ctypes
import gc
import weakref
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

from . import _declarations, _dlpack, _numbers, dtypes, errors
from ._native import call, lib

if TYPE_CHECKING:
    import numpy
    import torch

    from .world import World


class Lease:
    """Held by each array on memory of the heap, as long as it lives."""

    def __init__(self, allocation: "Allocation", interface: Optional[dict] = None):
        self.allocation = allocation
        self.__array_interface__ = interface
        allocation.leases.add(self)


class Allocation:
    """One allocation of the heap. The world keeps it until a rank frees it. `owner` is what frees
    it, if that is no tensor."""

    def __init__(self, world: "World", pointer: int, name: str, owner: str = ""):
        self.world, self.pointer, self.name, self.owner = world, pointer, name, owner
        self.leases: "weakref.WeakSet[Lease]" = weakref.WeakSet()
        self.freed = False

    def free(self) -> None:
        """Collective: Tensor.free says what it does."""
        if self.owner:
            raise errors.ArgumentError(f"'{self.name}' belongs to {self.owner}, which frees it")
        self.world.refuse_while_in_use([self], f"'{self.name}' cannot be freed")
        call("tsr_heap_free", self.world.handle, self.pointer)
        self.freed = True
        del self.world.allocations[self.pointer]


class Tensor:
    """
    A strided array in the symmetric heap, with the same shape, dtype and offset on every rank. This
    object is this rank's copy. World.empty and its like make one; World.from_dlpack finds the one
    that an array of NumPy or PyTorch lies in.

    Garbage collection never frees memory of the heap, because freeing is collective: free() does,
    and the end of the world. A tensor is a context manager that frees at the end of the block, but
    not after an exception, which other ranks may not have.
    """

    def __init__(
        self, allocation: Allocation, pointer: int, dtype: str, shape: Tuple[int, ...],
        stride: Tuple[int, ...]
    ):
        self.allocation, self._pointer = allocation, pointer
        self.dtype, self.shape, self.stride = dtype, shape, stride
        # a single element without dimensions is one of one dimension in C
        shape, stride = (shape, stride) if shape else ((1, ), (1, ))
        self._struct = _declarations.Tensor(
            data=pointer, dtype=dtypes.NUMBERS[dtype], dims=len(shape)
        )
        self._struct.shape[: len(shape)] = shape
        self._struct.stride[: len(shape)] = stride

    @property
    def world(self) -> "World":
        """The world in whose heap it lies."""
        return self.allocation.world

    @property
    def name(self) -> str:
        """The name of its allocation in reports."""
        return self.allocation.name

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * dtypes.BITS[self.dtype] // 8

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        state = ", freed" if self.allocation.freed else ""
        return f"tessera.Tensor({self.dtype} {list(self.shape)}, '{self.name}'{state})"

    def struct(self) -> "ctypes.Structure":
        """The tsr_tensor_t that C calls get. Raises ArgumentError after free()."""
        self.world.handle  # raises where the world is closed
        if self.allocation.freed:
            raise errors.ArgumentError(f"'{self.name}' has been freed: allocate another tensor")
        return self._struct

    @property
    def data(self) -> int:
        """The address of this rank's copy, for arguments of kernels. Raises ArgumentError after
        free()."""
        return self.struct().data

    def pointer(self, rank: Optional[int] = None) -> int:
        """
        The address, in this process, of this rank's copy, or of `rank`'s copy. For kernels of one's
        own and for libraries that take addresses. On a GPU the host cannot read there.

        Called by:  any rank (not collective).
        Raises:     ArgumentError (no such rank, or one whose heap is not mapped here; or a run of
                    `tessera check`, which must see each access).
        """
        world, mine = self.world, self.data
        of = world.rank if rank is None else _numbers.whole(rank, "rank", *_numbers.INT)
        pointer = lib.tsr_native_pointer(world.handle, mine, of)
        if not pointer:
            raise errors.ArgumentError(lib.tsr_last_error().decode("utf-8", "replace"))
        return pointer

    def free(self) -> None:
        """
        Frees the whole allocation that the tensor lies in, on every rank. First waits for this
        rank's streams and for every rank.

        Called by:  every rank (collective).
        Raises:     InUseError, on all ranks alike, while arrays of NumPy or PyTorch on this memory
                    live on any rank; the sentence names the ranks. Drop the arrays and call again.
                    Also MismatchError, and the errors of World.barrier.
        """
        self.struct()
        self.allocation.free()

    def __enter__(self) -> "Tensor":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None and not self.allocation.freed:
            self.free()

    # ---------------------------------------------------------------- other packages, no copy

    def __dlpack_device__(self) -> Tuple[int, int]:
        """DLPack's device: (1, 0), the CPU, on the emulator; (2, n) on cuda; (10, n) on hip."""
        return self.world.dlpack_device

    def __dlpack__(
        self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None
    ) -> Any:
        """
        A capsule of DLPack, which numpy.from_dlpack and torch.from_dlpack take. No elements are
        copied. The array that they make keeps the memory from being freed.

        Orders nothing, whatever `stream` is: before another package reads what a stream of Tessera
        writes, call Stream.sync.

        Called by:  any rank (not collective).
        Raises:     BufferError (a copy, or another device, is asked for).
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError(
                "a tensor of the heap is exported where it is, without a copy: copy the array that"
                " you get"
            )
        pointer = self.pointer()
        return _dlpack.capsule_of(
            Lease(self.allocation), self.__dlpack_device__(), pointer, self.dtype, self.shape,
            self.stride, max_version
        )

    def numpy(self) -> "numpy.ndarray":
        """
        This rank's copy as an array of NumPy on the same memory, which may be written. It keeps the
        memory from being freed. Before reading what a stream writes, call Stream.sync; before
        reading what another rank's stream writes here, also World.barrier.

        Called by:  any rank (not collective).
        Raises:     UnsupportedError (the memory of a GPU, or bf16, which NumPy does not have).
        """
        import numpy

        pointer = self.pointer()
        if self.__dlpack_device__()[0] != _dlpack.CPU:
            raise errors.UnsupportedError(
                f"'{self.name}' is memory of a GPU, where NumPy cannot read: use read() and"
                " write(), or torch()"
            )
        step = dtypes.BITS[self.dtype] // 8
        interface = {
            "version": 3, "data": (pointer, False), "shape": self.shape,
            "strides": tuple(step * stride for stride in self.stride),
            "typestr": dtypes.typestr_of(self.dtype)
        }
        return numpy.asarray(Lease(self.allocation, interface))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "numpy.ndarray":
        """numpy.asarray(tensor) is tensor.numpy()."""
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"{self.dtype} as {dtype} needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def torch(self) -> "torch.Tensor":
        """
        This rank's copy as a torch.Tensor on the same memory. In all else like numpy(), but on the
        device's memory too.

        Called by:  any rank (not collective).
        """
        import torch

        return torch.from_dlpack(self)

    # ---------------------------------------------------------------- copies

    def read(self) -> "numpy.ndarray":
        """
        A copy of this rank's elements in host memory, on any backend; of bf16 as float32. Returns
        when the copy is done.

        Called by:  any rank (not collective).
        Raises:     SystemFailure.
        """
        import numpy

        host = numpy.empty(self.shape, _host_dtype(self.dtype))
        call(
            "tsr_tensor_read", self.world.handle, ctypes.byref(self.struct()),
            host.ctypes.data_as(ctypes.c_void_p)
        )
        if self.dtype == "bf16":
            return (host.astype(numpy.uint32) << 16).view(numpy.float32)
        return host

    def write(self, values: Any) -> None:
        """
        Copies `values` (an array of the same shape, or what NumPy makes one of) into this rank's
        elements, on any backend. Values are converted as NumPy does it; to bf16 they are rounded to
        nearest even. Returns when the copy is done. What kernels still read or write must have
        ended: call Stream.sync first.

        Called by:  any rank (not collective).
        Raises:     ArgumentError (another shape), SystemFailure.
        """
        import numpy

        if self.dtype == "bf16":
            host = numpy.asarray(_as_bf16(numpy.asarray(values)), order="C")
        else:
            host = numpy.asarray(values, _host_dtype(self.dtype), order="C")
        if host.shape != self.shape:
            raise errors.ArgumentError(
                f"values of shape {list(host.shape)} do not fit '{self.name}', which has"
                f" {list(self.shape)}"
            )
        call(
            "tsr_tensor_write", self.world.handle, ctypes.byref(self.struct()),
            host.ctypes.data_as(ctypes.c_void_p)
        )


def _host_dtype(dtype: str) -> str:
    return "<u2" if dtype == "bf16" else dtypes.typestr_of(dtype)


def _as_bf16(values: "numpy.ndarray") -> "numpy.ndarray":
    """The bits of values as bf16: rounded once, to nearest, ties to even; NaN stays a NaN."""
    import numpy

    single = _odd_floats(values)
    bits = single.view(numpy.uint32)
    rounded = (bits.astype(numpy.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(single), (bits >> 16) | 0x40, rounded).astype("<u2")


def _odd_floats(values: "numpy.ndarray") -> "numpy.ndarray":
    """Values as f32, rounded to odd: towards zero, with the last bit set where that is not exact.
    Rounding the result to 16 bits gives the same as rounding the value."""
    import numpy

    if values.dtype.kind in "iu":
        # 53 bits and more: those that a double does not hold are one bit, which says if any is set
        high = (values >> 11) | ((values & 2047) != 0)
        few = (values < 1 << 53) & (values > -(1 << 53))
        values = numpy.where(
            few, values.astype(numpy.float64), high.astype(numpy.float64) * 2048
        ) if values.dtype.itemsize == 8 else values.astype(numpy.float64)
    if values.dtype.kind != "f":
        values = values.astype(numpy.float64)
    if values.dtype.itemsize > 8:
        values = _odd(values, numpy.float64, numpy.uint64)
    if values.dtype.itemsize > 4:
        return _odd(values, numpy.float32, numpy.uint32)
    return numpy.asarray(values, numpy.float32, order="C")


def _odd(values: "numpy.ndarray", kind: Any, bits: Any) -> "numpy.ndarray":
    """Floats as a shorter type, rounded to odd."""
    import numpy

    with numpy.errstate(over="ignore", invalid="ignore"):
        near = numpy.asarray(values.astype(kind), order="C")
    back = near.astype(values.dtype)
    exact = (back == values) | numpy.isnan(values)
    # the bits order floats by magnitude, infinity included
    towards = near.view(bits) - (~exact & (abs(back) > abs(values))).astype(bits)
    return (towards | (~exact).astype(bits)).astype(bits).view(kind)


def leases_of(allocations: Sequence[Allocation]) -> int:
    """How many arrays live on these allocations. Those that only garbage holds do not count."""
    count = sum(len(allocation.leases) for allocation in allocations)
    if count:
        gc.collect()
        count = sum(len(allocation.leases) for allocation in allocations)
    return count
