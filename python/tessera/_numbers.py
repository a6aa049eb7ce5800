"""
Numbers for C, whose types hold less than Python's: they go as they are, or the
call is refused.
"""

import operator
from typing import Any, Optional

from . import errors

INT = -(1 << 31), (1 << 31) - 1
INT64 = -(1 << 63), (1 << 63) - 1
UINT64 = 0, (1 << 64) - 1  # size_t, too


def whole(value: Any, what: str, low: int, high: int) -> int:
    """`value` as an int, which any type of NumPy's or PyTorch's integers may be. Raises
    ArgumentError outside low .. high."""
    number = index_of(value)
    if number is None:
        raise errors.ArgumentError(f"{what} is {value!r}: pass a whole number")
    if not low <= number <= high:
        raise errors.ArgumentError(f"{what} is {number}: pass one from {low} to {high}")
    return number


def index_of(value: Any) -> Optional[int]:
    """`value` as an int, if it is a whole number by its type."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def is_double(number: int) -> bool:
    """Whether a double holds it exactly."""
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def double(value: Any, what: str) -> Any:
    """`value`, which a double holds. Raises ArgumentError for other whole numbers."""
    number = index_of(value)
    if number is None:
        return value
    if not is_double(number):
        raise errors.ArgumentError(
            f"{what} is {number}, and goes as a double, which is another number: pass one that a"
            " double holds, or write the values with World.array"
        )
    return float(number)


def extents(shape: Any) -> tuple:
    """A shape: one extent, or a sequence of them."""
    number = index_of(shape)
    return tuple(
        whole(extent, "an extent", *INT64)
        for extent in (tuple(shape) if number is None else (number, ))
    )


def raw(data: Any, what: str) -> bytes:
    """The bytes of an object that has some. Raises ArgumentError for others, such as text."""
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise errors.ArgumentError(
            f"{what} is of type {type(data).__name__}: pass bytes; of text, text.encode()"
        ) from None
