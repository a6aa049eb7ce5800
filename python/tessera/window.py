"""
Windows: arrays of the program's own that become tensors of the heap, without a
copy.
"""

import ctypes
import functools
import mmap
from typing import TYPE_CHECKING, Any, Sequence, Union

from . import _dlpack, _numbers, dtypes, errors
from ._native import call, lib, library_path
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
    extents = _numbers.extents(shape)
    size_bytes = host.itemsize
    for extent in extents:
        size_bytes *= extent
    room = numpy.zeros(_whole_pages(size_bytes) + mmap.PAGESIZE, numpy.uint8)
    first = -room.ctypes.data % mmap.PAGESIZE
    return room[first : first + size_bytes].view(host).reshape(extents)


def _whole_pages(size_bytes: int, unit: int = mmap.PAGESIZE) -> int:
    return -(-max(size_bytes, 1) // unit) * unit


@functools.lru_cache(maxsize=None)
def _torch_allocator() -> Any:
    """One for the process, and for good: pools do not keep it."""
    import torch

    if not torch.version.cuda:
        raise errors.UnsupportedError(
            "this PyTorch is not for CUDA: on AMD's GPUs there are no windows, so make tensors by"
            " World.empty; on the emulator arrays by tessera.pages"
        )
    return torch.cuda.memory.CUDAPluggableAllocator(
        library_path, "tsr_pool_alloc", "tsr_pool_free"
    )


def torch_pool() -> Any:
    """
    A pool of PyTorch (torch.cuda.MemPool) whose memory World.window takes. It belongs to the device
    that is current, so call torch.cuda.set_device before:

        pool = tessera.torch_pool()
        with torch.cuda.use_mem_pool(pool):
            weights = torch.empty(4096, 4096, dtype=torch.bfloat16, device="cuda")

    PyTorch cuts tensors out of larger pieces. A window begins where a piece does: the first tensor
    of a pool does so, and each tensor of 10 MiB or more that finds nothing free in it. For many
    small ones take views of one tensor. Keep the pool as long as its tensors.

    Called by:  any process (not collective); no world need be there.
    Raises:     ImportError (no PyTorch), UnsupportedError (PyTorch without CUDA).
    """
    import torch

    return torch.cuda.MemPool(_torch_allocator().allocator())


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


def _window_bytes(world: "World", array: Any, pointer: int, size_bytes: int) -> int:
    """Whole units, where the array's memory has as many. That of a GPU is mapped in such units."""
    unit = lib.tsr_window_unit_bytes(world.handle)
    if unit == 0:
        return size_bytes  # there are no windows, and the call says why
    whole = _whole_pages(size_bytes, unit)
    on_gpu = world.backend != "cpuemu"
    return whole if on_gpu or _owned_bytes(array, pointer, size_bytes) >= whole else size_bytes


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
    size_bytes = _window_bytes(world, array, pointer, size_bytes)
    out = ctypes.c_void_p()
    call(
        "tsr_window_register", world.handle, pointer, size_bytes, name.encode(), ctypes.byref(out)
    )
    return Tensor(Window(world, out.value, name, array), out.value, dtype, shape, dense)
