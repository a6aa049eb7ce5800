"""
What is made of arrays for calls, and kept: making it takes longer than the call.
"""

from typing import Any, Callable, Dict

from . import _dlpack

MOST = 64


class Kept:
    """
    What `make` makes of an array. That of PyTorch's tensors is kept: while such a tensor lives, its
    memory is not freed, so what was true of its address still is.
    """

    def __init__(self, make: Callable[[Any], Any]):
        self._make = make
        self._kept: Dict[Any, Any] = {}

    def get(self, array: Any) -> Any:
        """Of this array."""
        if not hasattr(array, "data_ptr"):
            return self._make(array)
        key = (
            array.data_ptr(), array.shape, array.stride(), array.dtype,
            _dlpack.changes_sign(array)
        )
        made = self._kept.get(key)
        if made is None:
            if len(self._kept) >= MOST:
                self._kept.clear()
            made = self._kept[key] = self._make(array)
        return made
