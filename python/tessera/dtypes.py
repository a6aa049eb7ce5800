"""
Element types. Wherever a dtype is asked for, any of these will do: the
library's name ("bf16"), a dtype of NumPy, a dtype of PyTorch.
"""

import functools
from typing import Any

from . import errors
from ._declarations import CONSTANTS

# name: (code and bits of DLPack, type string of NumPy's array interface)
_TABLE = {
    "f64": (2, 64, "<f8"),
    "f32": (2, 32, "<f4"),
    "f16": (2, 16, "<f2"),
    "bf16": (4, 16, None),
    "i64": (0, 64, "<i8"),
    "i32": (0, 32, "<i4"),
    "i8": (0, 8, "|i1"),
    "u8": (1, 8, "|u1"),
}
_LONG = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int8": "i8",
    "uint8": "u8",
}
NUMBERS = {name: CONSTANTS["TSR_" + name.upper()] for name in _TABLE}
NAMES = {number: name for name, number in NUMBERS.items()}
BITS = {name: bits for name, (_, bits, _) in _TABLE.items()}
DLPACK = {name: (code, bits) for name, (code, bits, _) in _TABLE.items()}
BY_DLPACK = {key: name for name, key in DLPACK.items()}


@functools.lru_cache(maxsize=None)
def name_of(dtype: Any) -> str:
    """The library's name of a dtype: "f32" for "f32", numpy.float32, numpy.dtype("float32") and
    torch.float32."""
    if isinstance(dtype, str) and dtype in _TABLE:
        return dtype
    text = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    short = _LONG.get(text.rpartition(".")[2])
    if short is None:
        raise errors.ArgumentError(f"{dtype!r} is no element type: {', '.join(_TABLE)} are")
    return short


def typestr_of(name: str) -> str:
    """The type string of NumPy's array interface."""
    typestr = _TABLE[name][2]
    if typestr is None:
        raise errors.UnsupportedError(
            f"NumPy has no {name}: use torch() in place of numpy(), or read() and write(), which"
            " convert from and to f32"
        )
    return typestr
