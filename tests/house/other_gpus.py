#!/usr/bin/env python3
"""
The CUDA port on GPUs that it was not written for: a kernel that multiplies on
Hopper's tensor cores is refused in one sentence, where ptxas would have hundreds;
one that does not is compiled.
"""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "harness"))
import tap  # noqa: E402

# with a tile for tensor cores, and without
TILE, PLAIN = "examples/window", "tests/device/probe_order"
SENTENCE = "Hopper's tensor cores has code for sm_90a alone, .* compile with -gencode"
LIMIT_S = 300


def read(nvcc, unit, arch):
    """(exit code, errors) of the front end, for one architecture."""
    answer = subprocess.run(
        [
            nvcc, "-x", "cu", "-std=c++17", f"-arch=compute_{arch}", "-ptx", "-fdevice-syntax-only",
            "-D_GNU_SOURCE", f'-DTSR_UNIT="{unit}"', "-I.", "-Iinclude", "-Ibackends", "-o",
            os.devnull, f"build/device-debug/{unit}.half.c"
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_S,
        check=False,
    )
    return answer.returncode, re.findall(r"^.*error\b.*$", answer.stdout + answer.stderr, re.M)


def main():
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    halves = [f"{ROOT}/build/device-debug/{unit}.half.c" for unit in (TILE, PLAIN)]
    if not nvcc or not all(map(os.path.exists, halves)):
        why = "the device halves are not made: scons device" if nvcc else "no nvcc"
        print(f"ok - other GPUs of NVIDIA # skip {why}")
        return 0
    for unit, arch, refused in (
        (TILE, "90a", False), (TILE, "100a", True), (TILE, "90", True), (PLAIN, "120a", False)
    ):
        code, errors = read(nvcc, unit, arch)
        told = [error for error in errors if re.search(SENTENCE, error)]
        tap.verdict(
            (code != 0 and len(told) == 1 and len(errors) <= 2) if refused else code == 0,
            f"{unit} for {arch} is {'refused in a sentence' if refused else 'compiled'}",
            f"exit code {code}\n" + "\n".join(errors)
        )
    return tap.exit_code()


if __name__ == "__main__":
    sys.exit(main())
