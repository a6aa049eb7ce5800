"""
Tessera from Python: a world of ranks that share a symmetric heap, with arrays
of NumPy and PyTorch on it, collectives, and kernels of one's own.

    import tessera

    with tessera.init() as world, world.stream() as stream:
        x = world.full(4, world.rank)
        stream.all_reduce(x, x)
        stream.sync()
        print(x.numpy())

A call that is not collective may be made by one rank alone. A collective call
is made by every rank, in the same order: it waits for the others, at most for
the deadline of the world (TESSERA_DEADLINE). Errors are exceptions with the
library's sentence: tessera.errors.
"""

import ctypes

from . import errors
from ._native import lib as _lib
from .errors import TesseraError
from .product import Part, Product
from .stream import Event, Kernel, Stream
from .team import Team
from .tensor import Tensor
from .window import pages, torch_pool
from .world import Device, HeapUsage, World, init, unique_id

__version__ = _lib.tsr_version_text().decode()
__all__ = [
    "Device", "Event", "HeapUsage", "Kernel", "Part", "Product", "Stream", "Team", "Tensor",
    "TesseraError", "World", "errors", "init", "load_kernels", "pages", "torch_pool", "unique_id"
]


def load_kernels(path: str) -> None:
    """
    Loads a shared library that holds kernels (`tessera cc -shared kernels.c -o kernels.so`), so
    that World.kernel finds them.

    Called by:  any rank (not collective); every rank that launches them.
    Raises:     OSError (it cannot be loaded).
    """
    ctypes.CDLL(path)
