"""
Matrix products over ranks: communication and computation in one kernel.
"""

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

from . import _declarations, _numbers, dtypes, errors
from ._kept import Kept
from ._native import call, products
from .tensor import Allocation, Tensor

if TYPE_CHECKING:
    from .stream import Stream
    from .world import World

_CONSTANTS = _declarations.CONSTANTS
KINDS = {
    "gemm-all-scatter": _CONSTANTS["TSR_PRODUCT_GEMM_ALL_SCATTER"],
    "all-gather-gemm": _CONSTANTS["TSR_PRODUCT_ALL_GATHER_GEMM"],
    "gemm-reduce-scatter": _CONSTANTS["TSR_PRODUCT_GEMM_REDUCE_SCATTER"],
    "gemm-all-reduce": _CONSTANTS["TSR_PRODUCT_GEMM_ALL_REDUCE"],
}
GATHERS = {
    "a-by-rows": _CONSTANTS["TSR_GATHER_A_BY_ROWS"],
    "a-by-columns": _CONSTANTS["TSR_GATHER_A_BY_COLUMNS"],
    "b-by-rows": _CONSTANTS["TSR_GATHER_B_BY_ROWS"],
}
_MATRICES = {name: _CONSTANTS["TSR_PRODUCT_" + name.upper()] for name in "abc"}


class Part(NamedTuple):
    """A matrix of rows x cols elements, and the part that this rank has. If `in_place`, memory
    holds the whole matrix, with this rank's part in its place; else the part alone."""

    rows: int
    cols: int
    first_row: int
    first_col: int
    part_rows: int
    part_cols: int
    in_place: bool

    @property
    def shape(self) -> Sequence[int]:
        """The shape of the memory."""
        return (self.rows, self.cols) if self.in_place else (self.part_rows, self.part_cols)


class Product:
    """
    C = A * B, with A of m x k, B of k x n and C of m x n elements. World.product makes it; calling
    it runs it. Rank r of W has the share [r*E/W, (r+1)*E/W) of an extent E:

        gemm-all-scatter     A is whole on every rank, each has its share of B's columns; C is whole
                             on every rank
        all-gather-gemm      each rank has its share of A's rows, which all gather, and of B's
                             columns; it gets its share of C's columns. `gather` names other
                             divisions: "a-by-columns", "b-by-rows".
        gemm-reduce-scatter  each rank has its share of A's columns and of B's rows; it gets its
                             share of C's rows
        gemm-all-reduce      the same, and C is whole on every rank

    `dtype` is bf16, f16 or f32; sums are f32. `given` names the matrices that each run is given,
    such as "abc"; the product allocates the others: they are the attributes a, b and c. `sums` is
    the dtype in which ranks send sums (default: f32). `pattern` is how ranks communicate, as
    `tessera bench --list` names it; by default the one that should take least time.

    On the emulator products need OpenBLAS on the machine.
    """

    def __init__(
        self, world: "World", kind: str, m: int, n: int, k: int, dtype: Any = "bf16", *,
        given: str = "", gather: str = "a-by-rows", sums: Any = None, pattern: Optional[str] = None
    ):
        for text, known, what in (
            (kind, KINDS, "product"), (gather, GATHERS, "gather"), *
            ((letter, _MATRICES, "matrix") for letter in given)
        ):
            if text not in known:
                raise errors.ArgumentError(f"{text!r} is no {what}: {', '.join(known)} are")
        m, n, k = (
            _numbers.whole(extent, what, *_numbers.INT64)
            for extent, what in ((m, "m"), (n, "n"), (k, "k"))
        )
        self.world, self.kind, self.given = world, kind, given
        self._library = products()
        self._views = Kept(self._make_view)
        self._handle = ctypes.c_void_p()
        desc = _declarations.ProductDesc(
            size=ctypes.sizeof(_declarations.ProductDesc), kind=KINDS[kind], m=m, n=n, k=k,
            dtype=dtypes.NUMBERS[dtypes.name_of(dtype)],
            given=sum(_MATRICES[letter] for letter in set(given)), gather=GATHERS[gather],
            sums=dtypes.NUMBERS[dtypes.name_of(sums)] if sums is not None else 0,
            pattern=pattern.encode() if pattern else None
        )
        self._call(
            "tsr_product_create", world.handle, ctypes.byref(desc), ctypes.byref(self._handle)
        )
        self.pattern: str = self._library.tsr_product_pattern(self._handle).decode()
        self._own = {
            letter: self._made(letter) for letter in _MATRICES if letter not in given
        }

    def _call(self, name: str, *arguments: Any) -> None:
        call(name, *arguments, library=self._library)

    @property
    def handle(self) -> ctypes.c_void_p:
        """The tsr_product_t. Raises ArgumentError after close() and after the end of the world."""
        self.world.handle  # raises where the world is closed
        if not self._handle:
            raise errors.ArgumentError("this product is closed: make another with World.product")
        return self._handle

    def _made(self, letter: str) -> Tensor:
        """The product's own memory of a matrix."""
        view, offset = _declarations.View(), ctypes.c_size_t()
        number = _MATRICES[letter]
        self._call("tsr_product_view", self.handle, number, ctypes.byref(view))
        call("tsr_heap_find", self.world.handle, view.data, None, ctypes.byref(offset))
        base = view.data - offset.value
        allocation = self.world.allocations.get(base)
        if allocation is None:
            allocation = Allocation(self.world, base, f"{letter} of {self.kind}", "a product")
            self.world.allocations[base] = allocation
        return Tensor(
            allocation, view.data, dtypes.NAMES[view.dtype], (view.rows, view.cols), (view.ld, 1)
        )

    def __repr__(self) -> str:
        return f"tessera.Product({self.kind}, {self.pattern})"

    def part(self, matrix: str) -> Part:
        """Which part of matrix "a", "b" or "c" this rank has (not collective)."""
        part = _declarations.ProductPart(size=ctypes.sizeof(_declarations.ProductPart))
        self._call("tsr_product_part", self.handle, _MATRICES[matrix], ctypes.byref(part))
        return Part(
            part.rows, part.cols, part.first_row, part.first_col, part.part_rows, part.part_cols,
            bool(part.in_place)
        )

    @property
    def a(self) -> Tensor:
        """The product's own A, of the shape that part("a") names; ArgumentError if it is given."""
        return self._mine("a")

    @property
    def b(self) -> Tensor:
        """The product's own B."""
        return self._mine("b")

    @property
    def c(self) -> Tensor:
        """The product's own C."""
        return self._mine("c")

    def _mine(self, letter: str) -> Tensor:
        if letter not in self._own:
            raise errors.ArgumentError(
                f"{letter} is given to each run of this product, which has no memory of its own for"
                " it"
            )
        return self._own[letter]

    def __call__(self, stream: "Stream", a: Any = None, b: Any = None, c: Any = None) -> None:
        """
        Starts one run behind the stream's earlier work, and returns. `a`, `b` and `c` are the given
        matrices: tensors, or arrays on memory of the heap, of the shape that part() names. A matrix
        that peers read or write must be at the same place on all ranks: the operand that is
        gathered, and C of all-scatter and all-reduce. Behind the run on the stream, C is complete
        on this rank. On the host, call Stream.sync first.

        Called by:  every rank, equally often, on a stream of the world.
        Raises:     ArgumentError, AbortedError, UnsupportedError.
        """
        call(
            "tsr_product_run", self.handle, stream.handle, self._view_of(a), self._view_of(b),
            self._view_of(c), library=self._library
        )

    def _view_of(self, array: Any) -> Any:
        """A reference to the view of a given matrix; None for None."""
        return None if array is None else self._views.get(array)

    def _make_view(self, array: Any) -> Any:
        view = _declarations.View()
        struct = self.world.from_dlpack(array).struct()
        call("tsr_tensor_view", ctypes.byref(struct), ctypes.byref(view))
        return ctypes.byref(view)

    def close(self) -> None:
        """
        Waits for the product's runs and for every rank, and frees its memory. A second call does
        nothing. Products that are not closed end with the world.

        Called by:  every rank (collective).
        Raises:     InUseError, on all ranks alike, while arrays on its memory live on any.
        """
        if not self._handle:
            return
        own = {tensor.allocation.pointer: tensor.allocation for tensor in self._own.values()}
        self.world.refuse_while_in_use(list(own.values()), "a product cannot be closed")
        for pointer, allocation in own.items():
            allocation.freed = True
            del self.world.allocations[pointer]
        self.world.products.remove(self)
        self.destroy()

    def destroy(self) -> None:
        """close() without a look at arrays: for the end of the world."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        self._call("tsr_product_destroy", handle)

    def __enter__(self) -> "Product":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
