"""
The shared library, and calls of it: a status becomes an exception, and reports
of the library name the Python line that made the call.
"""

import ctypes
import functools
import glob
import linecache
import os
import re
import sys

from . import _declarations, errors

_HERE = os.path.dirname(os.path.abspath(__file__))
_kept = {}  # strings that the library got: it keeps the pointers


def _path(name):
    """libtessera.so that TSR_LIBRARY names, or that of the wheel, or a library beside it."""
    library = os.environ.get("TSR_LIBRARY") or os.path.join(_HERE, "lib", "libtessera.so")
    return library if name == "libtessera.so" else os.path.join(os.path.dirname(library), name)


def _load(name, functions):
    try:
        # global, as libraries of kernels call it
        loaded = ctypes.CDLL(_path(name), mode=ctypes.RTLD_GLOBAL)
        _declarations.declare(loaded, functions)
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"tessera cannot use its library ({error}): install the wheel, or set TSR_LIBRARY to"
            " the libtessera.so of the same version"
        ) from None
    return loaded


library_path = _path("libtessera.so")
# What libtessera.so needs lies beside it in a wheel. The loader takes what is loaded already.
for _needed in sorted(glob.glob(os.path.join(_HERE, "lib", "needed", "*.so*"))):
    ctypes.CDLL(_needed)
lib = _load("libtessera.so", _declarations.FUNCTIONS)
# These two only note a place: giving up the interpreter's lock for them would take longer.
_site = ctypes.PyDLL(library_path)
_site.tsr_site_begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
_site.tsr_site_begin.restype = None


@functools.lru_cache(maxsize=None)
def products():
    """The library of products, loaded where the first is made."""
    return _load("libtessera-kernels.so", _declarations.PRODUCTS)


def check(status):
    """Raises the exception of a status that is not TSR_OK, with the library's sentence."""
    if status != 0:
        raise errors.BY_STATUS[status](lib.tsr_last_error().decode("utf-8", "replace"))


def _caller():
    """File and line of the innermost frame outside of this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    name = frame.f_code.co_filename
    file = _kept.get(name)
    if file is None:
        file = _kept.setdefault(name, os.path.relpath(name).encode("utf-8", "replace"))
    return file, frame.f_lineno


_ASSIGNED = re.compile(r"\s*([A-Za-z_][\w.\[\]]*)\s*(?::[^=]*)?=(?!=)")


def name_of_result():
    """How the innermost line outside of this package names what it makes: by the variable that it
    assigns to, or by file and line."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    assigned = _ASSIGNED.match(linecache.getline(file, line))
    return assigned.group(1) if assigned else f"{os.path.basename(file)}:{line}"


def call(name, *arguments, library=lib):
    """Calls a function that returns a status."""
    function = getattr(library, name)
    file, line = _caller()
    _site.tsr_site_begin(_kept.setdefault(name, name.encode("ascii")), file, line)
    check(_site.tsr_site_end(function(*arguments)))
