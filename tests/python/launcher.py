#!/usr/bin/env python3
"""
`python -m tessera`: files and modules as programs, names that are not UTF-8,
and the options of Python itself, which ranks get too.
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from tap import exit_code, verdict  # noqa: E402

# What each rank says of itself.
PROGRAM = """
import os, sys, warnings
os.write(1, os.fsencode(f"{__name__} {sys.argv[1:]} -O{sys.flags.optimize} -W{sys.warnoptions} "
                        f"-X{sys.flags.dev_mode} of {os.environ['TESSERA_SIZE']}\\n"))
"""
SAYS = "__main__ {} -O{} -W{} -X{} of {}\n"


def starts(name, before, ours, program, wanted, **more):
    """A launcher whose ranks each say `wanted`."""
    command = [sys.executable, *before, "-m", "tessera", *ours, *program]
    code, output = python_ranks.run(command, **more)
    verdict(
        code == 0 and output == wanted * output.count("\n") and output,
        name, f"exit code {code}, wanted {wanted!r}\n{output!r}"
    )  # fmt: skip


def try_programs(folder):
    file = os.path.join(folder, "told.py")
    with open(file, "w", encoding="ascii") as out:
        out.write(PROGRAM)
    plain, here = SAYS.format("['-n', 'x']", 0, [], False, 2), {"PYTHONPATH": ""}
    here["PYTHONPATH"] = os.pathsep.join((os.path.join(python_ranks.ROOT, "python"), folder))
    starts("a file", [], ["-n", "2"], [file, "-n", "x"], plain)
    starts("a file behind --", [], ["-n", "2", "--"], [file, "-n", "x"], plain)
    starts("a module", [], ["-n", "2"], ["-m", "told", "-n", "x"], plain, **here)
    starts("a module in one word", [], ["--ranks=2"], ["-mtold", "-n", "x"], plain, **here)
    starts("a module behind --", [], ["-n", "2", "--"], ["-m", "told", "-n", "x"], plain, **here)
    starts(
        "a module's own --help", [], ["-n", "1", "--nodes", "1"], ["-m", "told", "--help"],
        SAYS.format("['--help']", 0, [], False, 1), **here
    )
    flags = ["-OO", "-W", "error", "-X", "dev"]
    wanted = SAYS.format([], 2, ["default", "error"], True, 2)
    starts("Python's own options, and a file", flags, ["-n", "2"], [file], wanted)
    starts("and a module", flags, ["-n", "2"], ["-m", "told"], wanted, **here)


def try_names(folder):
    """Linux has names of bytes."""
    name = os.path.join(os.fsencode(folder), b"p\xe9.py")
    with open(name, "w", encoding="ascii") as out:
        out.write(PROGRAM)
    for locale in ("C.UTF-8", "C"):
        starts(
            f"a name that is not UTF-8, in {locale}", [], ["-n", "2"], [name, b"\xff"],
            SAYS.format("['\\udcff']", 0, [], False, 2), LC_ALL=locale
        )


def try_refusals():
    for name, words, sentence in (
        ("no program", ["-n", "2"], "which program?"),
        ("-m without a module", ["-n", "2", "-m"], "which program?"),
        ("no ranks", ["told.py"], "-n/--ranks"),
        ("an abbreviated option", ["--rank", "2", "told.py"], "-n/--ranks"),
        ("an unknown option", ["-n", "2", "--verbose", "told.py"], "--verbose"),
    ):
        code, output = python_ranks.run([sys.executable, "-m", "tessera", *words])
        verdict(
            code == 2 and sentence in output and "Traceback" not in output, name,
            f"exit code {code}\n{output}"
        )


def main():
    if not os.path.exists(os.path.join(os.environ["BUILD"], "libtessera.so")):
        print("ok - Python # skip this variant has no shared library")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try_programs(folder)
        try_names(folder)
    try_refusals()
    return exit_code()


sys.exit(main())
