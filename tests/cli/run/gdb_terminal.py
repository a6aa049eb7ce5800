#!/usr/bin/env python3
"""
tessera run --gdb of one rank: the debugger has the terminal, Ctrl-C ends no
rank, and afterwards the shell reads the terminal again.
"""
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
import tap  # noqa: E402

BUILD = os.path.abspath(os.environ["BUILD"])
TESSERA = os.path.join(BUILD, "tessera")
COMPILER, VARIANT = os.path.basename(BUILD).rsplit("-", 1)
LIMIT_S = 60
DIES = """#include <stdlib.h>
#include "tessera/tessera.h"
static void __attribute__((noinline)) fall(tsr_world_t *world)
{
	if (tsr_world_rank(world) == 1)
		abort();
}
TSR_MAIN(world, argc, argv)
{
	fall(world);
	return 0;
}
"""
# What is typed, and what must have come before.
TALK = (
    (b"(gdb) ", b"\x03"),
    (b"(gdb) ", b"set pagination off\n"),
    (b"(gdb) ", b"run\n"),
    (b"SIGABRT", b""),
    (b"(gdb) ", b"bt\n"),
    (b"fall (world=", b""),
    (b"(gdb) ", b"kill\n"),
    (b"(y or n)", b"y\n"),
    (b"(gdb) ", b"quit\n"),
    (b"ended with ", b"a word\n"),
    (b"the shell reads a word", b""),
)


def talk(command):
    """Types what TALK says into a terminal; returns what was waited for in vain, and what came."""
    process, terminal = pty.fork()
    if process == 0:
        script = f"{command}; echo ended with $?; read word; echo the shell reads $word"
        os.environ["TERM"] = "dumb"
        os.execvp("sh", ["sh", "-c", script])
    came, end_s = b"", time.monotonic() + LIMIT_S
    missing = None
    for wanted, typed in TALK:
        while wanted not in came and time.monotonic() < end_s:
            if not select.select([terminal], [], [], 0.2)[0]:
                continue
            try:
                came += os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
        if wanted not in came:
            missing = wanted
            break
        came = came.split(wanted, 1)[1]
        os.write(terminal, typed)
    os.close(terminal)
    os.waitpid(process, 0)
    return missing, came


def main():
    if VARIANT in ("asan", "tsan"):
        print("ok - a debugger on a terminal # skip sanitizers and gdb both want to trace")
        return tap.exit_code()
    tries = ["gdb", "-q", "-batch", "-ex", "run", "--args", "true"]
    gdb = shutil.which("gdb")
    if not gdb or subprocess.run(tries, capture_output=True, check=False).returncode:
        print("ok - a debugger on a terminal # skip no gdb here that may trace")
        return tap.exit_code()
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "dies.c"), os.path.join(folder, "dies")
        with open(source, "w", encoding="ascii") as file:
            file.write(DIES)
        subprocess.run(
            [TESSERA, "cc", source, "-o", program], env=dict(os.environ, CC=COMPILER), check=True
        )
        missing, came = talk(f"{TESSERA} run -n 2 --gdb=1 {program}")
        tap.verdict(
            missing is None, "the debugger of one rank has the terminal, and gives it back",
            f"no {missing} came, but:\n{came.decode(errors='replace')}"
        )
    return tap.exit_code()


sys.exit(main())
