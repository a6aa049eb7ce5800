"""
For tests of the Python package: an interpreter that has a package such as
NumPy, and programs that each rank of a world runs.
"""
import os
import re
import shutil
import subprocess
import sys

from tap import exit_code, verdict

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LIMIT_S = 300


def environment(**more):
    """That of a process which uses the package of the clone, on the library of this build."""
    return {
        **os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "PYTHONDONTWRITEBYTECODE": "1",
        "TSR_LIBRARY": os.path.join(os.environ["BUILD"], "libtessera.so"),
        "TESSERA_BACKEND": "cpuemu", "TESSERA_HEAP_SIZE": "64M", "OMP_NUM_THREADS": "1", **more
    }


def interpreter_with(package):
    """The first interpreter that can import a package: the one that TSR_PYTHON names, this one, the
    system's, that of ci/install-torch. None if none can."""
    torch = os.path.join(ROOT, "build", "torch", "bin", "python")
    for python in (os.environ.get("TSR_PYTHON"), sys.executable, "/usr/bin/python3", torch):
        if python and shutil.which(python):
            done = subprocess.run(
                [python, "-c", f"import {package}"], capture_output=True, check=False,
                stdin=subprocess.DEVNULL
            )
            if done.returncode == 0:
                return python
    return None


def usable(title, package="numpy", installer="NumPy: run ci/install-deps"):
    """An interpreter with the package, if this build has the library that Python loads. Otherwise
    None, and the line that says why `title` is skipped."""
    python = interpreter_with(package)
    if python and os.path.exists(os.path.join(os.environ["BUILD"], "libtessera.so")):
        return python
    why = "this variant has no shared library" if python else f"no {installer}"
    print(f"ok - {title} # skip {why}")
    return None


def run(command, **more):
    """Runs a command to its end. Returns its exit code and all that it printed."""
    done = subprocess.run(
        command, env=environment(**more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False
    )
    return done.returncode, done.stdout


def in_world(python, ranks, program, *arguments, **more):
    """The same of a program that each rank runs."""
    return run([python, "-m", "tessera", "-n", str(ranks), program, *arguments], **more)


def verdicts(python, worlds, program, bodies, start=in_world, **more):
    """A program whose ranks run bodies (rank_main), in each of these worlds: one check a body."""
    for ranks in worlds:
        code, output = start(python, ranks, os.path.abspath(program), "rank", **more)
        for body in bodies:
            done = output.count(f"done {body.__name__}\n")
            verdict(done == ranks, f"{body.__name__} on {ranks}", "see below")
        verdict(code == 0, f"all ranks of {ranks} end well", output)
    return exit_code()


def rank_main(bodies, *arguments):
    """What each rank of such a program does. Returns its world, closed."""
    import tessera

    tessera.World.errors = tessera.errors
    with tessera.init() as world:
        for body in bodies:
            body(world, *arguments)
            os.write(1, f"done {body.__name__}\n".encode())
    return world


def raises(kind, call, *patterns):
    """The exception of a call that must fail; its sentence matches the patterns."""
    try:
        got = call()
    except kind as error:
        for pattern in patterns:
            says("sentence", (error, pattern))
        return error
    raise AssertionError(f"no {kind.__name__}, but {got}")


def says(name, *matches):
    """A check within a rank: `matches` are pairs of an exception's text and a pattern."""
    for text, pattern in matches:
        if not re.search(pattern, str(text)):
            raise AssertionError(f"{name}: '{text}' does not match '{pattern}'")
