"""
Starts a program of Python once for each rank, on this machine:

    python -m tessera -n 4 program.py ARGUMENT...
    python -m tessera -n 4 -m module ARGUMENT...
"""

import argparse
import ctypes
import os
import subprocess
import sys

from . import _declarations
from ._native import lib


def make_parser():
    """The parser of this command's own options, and those of them that have a value."""
    parser = argparse.ArgumentParser(
        prog="python -m tessera", description="Starts a program of Python once for each rank.",
        usage="%(prog)s -n RANKS [OPTIONS] (PROGRAM | -m MODULE) [ARGUMENT...]", allow_abbrev=False,
        epilog="PROGRAM is a file. Options of Python itself, such as -O and -W, stand before "
        "-m tessera; ranks get them too."
    )
    valued = [
        parser.add_argument("-n", "--ranks", type=int, required=True, help="number of ranks"),
        parser.add_argument("--nodes", type=int, default=0, help="emulated nodes on this machine"),
        parser.add_argument(
            "--backend", help="cpuemu, cuda or hip (default: TESSERA_BACKEND)"
        )
    ]  # fmt: skip
    return parser, [name for option in valued for name in option.option_strings]


def split(words, valued):
    """This command's own words, and those that follow Python in a rank's: from the program on,
    from -m, or behind --."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return words[:at], words[at + 1:]
        if not word.startswith("-") or (word.startswith("-m") and word not in valued):
            return words[:at], words[at:]
        at += 2 if word in valued else 1
    return words, []


def main() -> int:
    """Returns the exit code of the first rank that failed, or 0."""
    parser, valued = make_parser()
    own, program = split(sys.argv[1:], valued)
    options = parser.parse_args(own)
    if not program or program == ["-m"]:
        parser.error("which program? Name a file, or -m and a module, behind the options")
    flags = subprocess._args_from_interpreter_flags()  # as multiprocessing hands them on
    words = [sys.executable, *flags, *program]
    argv = (ctypes.c_char_p * (len(words) + 1))(*(os.fsencode(word) for word in words), None)
    launcher = _declarations.Launcher(
        size=ctypes.sizeof(_declarations.Launcher), ranks=options.ranks, nodes=options.nodes,
        backend=os.fsencode(options.backend) if options.backend else None
    )
    return lib.tsr_launch_program(ctypes.byref(launcher), argv)


sys.exit(main())
