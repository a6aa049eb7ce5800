#!/usr/bin/env python3
"""
The wheel: built of this build's library, installed into a fresh environment by
pip without an index, and used there with no file of the clone.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from tap import exit_code, verdict  # noqa: E402

LIMIT_S = 300
# Without NumPy, which a fresh environment lacks: elements are read at their address.
PROGRAM = """
import ctypes, os, sys
import tessera
with tessera.init(backend="cpuemu", heap_size="16M") as world, world.stream() as stream:
    x = world.full(4, world.rank + 1)
    stream.all_reduce(x, x)
    stream.sync()
    world.product("gemm-all-reduce", 8, 8, 8, "f32").part("c")
    sums = list((ctypes.c_float * 4).from_address(x.pointer()))
    assert sums == [sum(range(1, world.size + 1))] * 4, sums
with open("/proc/self/maps") as file:
    assert sys.argv[1] not in file.read(), "a library of the clone is loaded"
assert not any(os.path.realpath(path).startswith(sys.argv[1]) for path in sys.path)
os.write(1, f"rank {world.rank} of {world.size}, {tessera.__version__}\\n".encode())
"""

BEHIND_PIP = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "setuptools" and "pip" in sys.modules:
            raise AssertionError("setuptools is imported behind pip")
sys.meta_path.insert(0, Finder())
"""


def without_clone(command, folder):
    """A process that knows nothing of the clone."""
    done = subprocess.run(
        command, cwd=folder, env={"PATH": os.defpath, "HOME": folder, "PIP_NO_CACHE_DIR": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=LIMIT_S, check=False
    )
    return done.returncode, done.stdout


def python_with_venv():
    """An interpreter that makes environments with pip."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python):
            code, _ = python_ranks.run([python, "-c", "import ensurepip, venv"])
            if code == 0:
                return python
    return None


def plugins():
    """The names of the build's plug-ins: backends, and what carries messages between nodes."""
    paths = glob.glob(os.path.join(os.environ["BUILD"], "plugins", "libtessera-*.so"))
    return [re.search(r"/libtessera-([\w-]+)\.so$", path)[1] for path in sorted(paths)]


def system_builds(build, folder):
    """The system's Python builds it with its own setuptools, and fetches nothing. As in Debian 12,
    whose setuptools cannot be imported behind its pip."""
    python, parts = "/usr/bin/python3", ("pip", "setuptools", "wheel")
    if not os.path.exists(python) or any(
        python_ranks.run([python, "-c", f"import {part}"])[0] for part in parts
    ):
        print("ok - the system's Python # skip it lacks pip, setuptools or wheel")
        return
    output = os.path.join(folder, "system")
    with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="ascii") as file:
        file.write(BEHIND_PIP)
    code, text = python_ranks.run(
        [python, build, os.environ["BUILD"], "--output", output], PIP_NO_INDEX="1",
        PYTHONPATH=folder
    )
    verdict(
        code == 0 and glob.glob(os.path.join(output, "*.whl")),
        "the system's Python builds the wheel with its own setuptools", text
    )


def try_wheel(wheel, folder):
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    verdict(
        any(re.search(r"lib/needed/libsodium\.so\.\d+$", name) for name in names),
        "the wheel has what its library needs", names
    )
    ours = {"tessera/lib/libtessera.so", "tessera/lib/libtessera-kernels.so"}
    ours |= {f"tessera/lib/tessera/plugins/libtessera-{name}.so" for name in plugins()}
    verdict(ours <= set(names), "the wheel has the libraries, and plug-ins", names)
    environment = os.path.join(folder, "environment")
    code, output = without_clone([python_with_venv(), "-m", "venv", environment], folder)
    verdict(code == 0, "a fresh environment", output)
    python = os.path.join(environment, "bin", "python")
    code, output = without_clone([python, "-m", "pip", "install", "--no-index", wheel], folder)
    verdict(code == 0, "pip installs the wheel without an index", output)
    program = os.path.join(folder, "program.py")
    with open(program, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    for ranks in (1, 3):
        command = [python, "-m", "tessera", "-n", str(ranks), program, python_ranks.ROOT]
        code, output = without_clone(command, folder)
        verdict(
            code == 0 and output.count(f" of {ranks}, ") == ranks,
            f"a program on {ranks} runs without the clone", output
        )
    code, output = without_clone([python, program, python_ranks.ROOT], folder)
    verdict(code == 0, "a program by itself is a world of one", output)
    command = [python, "-m", "pip", "uninstall", "--yes", "tessera"]
    code, output = without_clone(command, folder)
    left = glob.glob(os.path.join(environment, "lib", "*", "site-packages", "tessera*"))
    verdict(code == 0 and not left, "pip removes all of it", f"{output}\n{left}")


def main():
    library = os.path.join(os.environ["BUILD"], "libtessera.so")
    if not os.path.exists(library) or not python_with_venv() or not shutil.which("readelf"):
        print("ok - wheel # skip no shared library, no venv or no readelf: run ci/install-deps")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        build = os.path.join(python_ranks.ROOT, "python", "build")
        command = [build, os.environ["BUILD"], "--plugins", ",".join(plugins()), "--output", folder]
        code, output = python_ranks.run(command)
        wheels = glob.glob(os.path.join(folder, "*.whl"))
        verdict(code == 0 and len(wheels) == 1, "python/build makes a wheel", output)
        if wheels:
            verdict(wheels[0] in output, "and says its name", output)
            tag = r"tessera-\d+\.\d+\.\d+-py3-none-manylinux_2_\d+_\w+\.whl"
            verdict(
                re.fullmatch(tag, os.path.basename(wheels[0])), "its name has the platform",
                wheels[0]
            )
            try_wheel(wheels[0], folder)
        system_builds(build, folder)
        code, output = python_ranks.run([build, os.path.join(folder, "none")])
        verdict(
            code == 1 and "scons builds it" in output, "where no library is, no wheel is made",
            output
        )
    return exit_code()


sys.exit(main())
