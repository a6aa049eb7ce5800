"""
Starts a program of Python once for each rank, on this machine:

    python -m tessera -n 4 program.py ARGUMENT...
"""

import argparse
import ctypes
import sys

from . import _declarations
from ._native import lib


def main() -> int:
    """Returns the exit code of the first rank that failed, or 0."""
    parser = argparse.ArgumentParser(
        prog="python -m tessera", description="Starts a program of Python once for each rank."
    )
    parser.add_argument("-n", "--ranks", type=int, required=True, help="number of ranks")
    parser.add_argument("--nodes", type=int, default=0, help="emulated nodes on this machine")
    parser.add_argument("--backend", help="cpuemu, cuda or hip (default: TESSERA_BACKEND)")
    parser.add_argument("program", help="a file, or -m and a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the program")
    options = parser.parse_args()
    words = [sys.executable, options.program, *options.arguments]
    argv = (ctypes.c_char_p * (len(words) + 1))(*(word.encode() for word in words), None)
    backend = options.backend.encode() if options.backend else None
    launcher = _declarations.Launcher(
        size=ctypes.sizeof(_declarations.Launcher), ranks=options.ranks, backend=backend,
        nodes=options.nodes
    )
    return lib.tsr_launch_program(ctypes.byref(launcher), argv)


sys.exit(main())
