"""
Windows: arrays of the program's own that become tensors of the heap, without a
copy.
"""

import ctypes
import mmap
from typing import TYPE_CHECKING, Any, Sequence, Union

from . import _dlpack, dtypes, errors
from ._native import call
from .tensor import Allocation, Tensor

if TYPE_CHECKING:
    import numpy

    from .world import World


def pages(shape: Union[int, Sequence[int]], dtype: Any = "f32") -> "numpy.ndarray":
    """
    An array of NumPy that holds 0 and has whole pages of memory to itself, as World.window wants
    it. It is an array like any other: no world need be there.

    Called by:  any process (not collective).
    Raises:     UnsupportedError (bf16, which NumPy does not have).
    """
    import numpy

    host = numpy.dtype(dtypes.typestr_of(dtypes.name_of(dtype)))
    extents = (shape, ) if isinstance(shape, int) else tuple(shape)
    size_bytes = host.itemsize
    for extent in extents:
        size_bytes *= extent
    room = numpy.zeros(_whole_pages(size_bytes) + mmap.PAGESIZE, numpy.uint8)
    first = -room.ctypes.data % mmap.PAGESIZE
    return room[first : first + size_bytes].view(host).reshape(extents)


def _whole_pages(size_bytes: int) -> int:
    return -(-max(size_bytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE


class Window(Allocation):
    """A window in the heap. It keeps the array whose memory it is."""

    def __init__(self, world: "World", pointer: int, name: str, array: Any):
        super().__init__(world, pointer, name)
        self.array = array

    def free(self) -> None:
        """Collective: the memory is the array's alone again, with what was written to it last."""
        self.world.refuse_while_in_use([self], f"the window '{self.name}' cannot be released")
        call("tsr_window_release", self.world.handle, self.pointer)
        self.freed = True
        del self.world.allocations[self.pointer]


def _owned_bytes(array: Any, pointer: int, size_bytes: int) -> int:
    """The bytes from `pointer` on that an array of NumPy may use: those of what owns its memory."""
    owner = array
    while getattr(owner, "base", None) is not None and hasattr(owner.base, "ctypes"):
        owner = owner.base
    if not hasattr(owner, "ctypes"):
        return size_bytes
    return owner.ctypes.data + owner.nbytes - pointer


def register(world: "World", array: Any, name: str) -> Tensor:
    """The tensor on an array's memory. Collective."""
    pointer, dtype, shape, stride = _dlpack.describe(array)
    dense = _dlpack.dense(shape)
    size_bytes = dtypes.BITS[dtype] // 8
    for extent in shape:
        size_bytes *= extent
    if any(extent > 1 and got != wanted for extent, got, wanted in zip(shape, stride, dense)):
        raise errors.ArgumentError(
            f"this array of shape {list(shape)} is not dense and row-major, so it is no window:"
            " register the array that it is a part of"
        )
    if _owned_bytes(array, pointer, size_bytes) >= _whole_pages(size_bytes):
        size_bytes = _whole_pages(size_bytes)
    out = ctypes.c_void_p()
    call(
        "tsr_window_register", world.handle, pointer, size_bytes, name.encode(), ctypes.byref(out)
    )
    return Tensor(Window(world, out.value, name, array), out.value, dtype, shape, dense)
