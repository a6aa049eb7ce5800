"""
Which clang compiles kernels for AMD GPUs, and how it is called. Stands without
SCons, for the checks of what clang made of them use it too.
"""
import os
import re
import shutil
import subprocess

# What the checks of device code know line by line (tests/device/golden/). Of others they know the
# rules alone: ci/clangs tries those that are here.
KNOWN = 19
NEWER = (20, 21, 22)
IDENT = re.compile(r"^\s*\.ident\s+\"[^\"]*clang version (\d+)\.", re.MULTILINE)


def names(versions):
    return [f"clang-{version}" for version in versions]


def version_of(clang):
    """The major version; 0 of what is no clang."""
    try:
        answer = subprocess.run(
            [clang, "-dumpversion"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
            check=False
        )
    except OSError:
        return 0
    major = answer.stdout.split(".")[0].strip()
    return int(major) if major.isdigit() else 0


def has_lld(clang, version):
    beside = os.path.join(os.path.dirname(os.path.realpath(clang)), "ld.lld")
    return bool(shutil.which(beside) or shutil.which(f"ld.lld-{version}"))


def find(asked=""):
    """(path, note, ""), or ("", "", why there is none). `asked` is a name or a path; without, the
    known version is taken where it is here, else the newest of the others. The note says in a line
    that the checks do not know the one that was found."""
    candidates = [asked] if asked else names([KNOWN]) + ["clang"] + names(reversed(NEWER))
    usable = []
    for clang in filter(None, map(shutil.which, candidates)):
        version = version_of(clang)
        if version >= KNOWN and has_lld(clang, version):
            usable.append((version != KNOWN, -version, clang))
    if not usable:
        wanted = f"hip_clang={asked} is no" if asked else "no"
        return "", "", (
            f"{wanted} clang {KNOWN} or later with its lld (ci/install-deps installs clang-{KNOWN}"
            f" and lld-{KNOWN})"
        )
    foreign, version, clang = min(usable)
    note = (
        f"hip: compiled by {clang}, of version {-version}: the checks of device code know clang"
        f" {KNOWN} (ci/install-deps installs it)"
    )
    return clang, note if foreign else "", ""


def compile_command(clang, arch):
    return (
        f"{clang} -x hip -std=c++17 -O3 -nogpulib -nogpuinc --offload-device-only"
        f" --offload-arch={arch} -S"
    )


# What the front end alone leaves: intermediate code, with all that it promises of each access.
READ_OPTIONS = "-emit-llvm -Xclang -disable-llvm-passes"


def version_in(path):
    """The version of clang that made an assembly; None where it does not say so."""
    with open(path, encoding="utf-8") as file:
        found = IDENT.search(file.read())
    return int(found.group(1)) if found else None
