"""
The options of the build: what may be said on the command line, and a clear
sentence for what may not.
"""
import difflib
import platform
import shutil
from collections import namedtuple

from SCons.Script import Exit
from SCons.Variables import BoolVariable, Variables

Variant = namedtuple("Variant", "flags link_flags defines")


# Sanitizers report lines, and need no more of the debug information, which fills the disk.
def _sanitized(*names):
    switch = "-fsanitize=" + ",".join(names)
    return Variant(
        ["-O1", "-g1", "-fno-omit-frame-pointer", switch, "-fno-sanitize-recover=all"], [switch], []
    )


# What libFuzzer needs of all code that it is to see; its own entry is linked by tests/fuzz.
_FUZZED = ["-fsanitize=fuzzer-no-link,address,undefined"]

VARIANTS = {
    "debug": Variant(["-O1", "-g"], [], []),
    "release": Variant(["-O3", "-g"], [], ["NDEBUG"]),
    "asan": _sanitized("address", "undefined"),
    "tsan": _sanitized("thread"),
    "fuzz": Variant(
        ["-O1", "-g1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"] + _FUZZED, _FUZZED,
        []
    ),
}

BACKENDS = ("cpuemu", "cuda", "hip")
HIP_PLATFORMS = ("amd", "nvidia")
TILES = ("all", "few")


def variables(arguments, installs):
    """Those of the command line; `installs`: it asks for an installation."""
    opts = Variables(None, arguments)
    opts.Add(
        "variant",
        "flavour of the build: "
        + ", ".join(VARIANTS)
        + " (asan is with ubsan; fuzz, by clang alone, has tests/fuzz and no other test)",
        "release" if installs else "debug"
    )
    opts.Add("CC", "C compiler, such as gcc or clang-19", "gcc")
    opts.Add(
        "backends",
        "auto: those whose toolkit is present; or a list such as cuda,hip, whose toolkits must be"
        " present. cpuemu is always built",
        "auto",
    )
    opts.Add(
        "hip_platform",
        "whose GPUs the hip backend runs on: amd, or nvidia (HIP's headers over CUDA: its host half"
        " on NVIDIA's GPUs)",
        "amd",
    )
    opts.Add(
        "hip_clang",
        "clang that compiles kernels for AMD GPUs, a name or a path; empty: clang-19, which the"
        " checks of device code know, or a later one where there is no clang-19",
        "",
    )
    opts.Add(
        "tiles",
        "which tiles of the workloads have code for GPUs: all, or few (those that"
        " kernels/*/variants.list calls so)",
        "all"
    )
    opts.Add(
        BoolVariable(
            "recorded",
            "compile kernels for GPUs a second time, with what keeps the record of a run (tessera"
            " bench --record, --trace); no: the record is the emulator's alone",
            True
        )
    )
    opts.Add(
        BoolVariable(
            "nodes",
            "compile kernels for GPUs a further time, as worlds of GPUs on several nodes run them",
            False
        )
    )
    opts.Add(
        "builds",
        "builds to make in one go, as COMPILER-VARIANT, such as gcc-debug,clang-19-tsan, in place"
        " of the one that CC and variant name; the first is for the backends asked for, the others"
        " for cpuemu alone",
        "",
    )
    opts.Add(
        BoolVariable(
            "gpu_tests",
            "compile the tests' own kernels for GPUs to the end, so that they run there; no: as far"
            " as the compilers' front ends read them",
            True
        )
    )
    opts.Add(
        "cache",
        "folder that keeps what was built, device code included, for other clones; none where it is"
        " empty",
        ""
    )
    opts.Add("PREFIX", "folder that scons install puts library and command below", "/usr/local")
    opts.Add("DESTDIR", "what is put before PREFIX, for makers of packages", "")
    opts.Add("LIBDIR", "folder of the libraries below PREFIX, such as lib64", "lib")
    opts.Add(BoolVariable("strip", "install without debug information", True))
    opts.Add(BoolVariable("verbose", "print whole command lines", False))
    return opts


def builds(env):
    """[(compiler, variant, backends)] of what one run of scons builds."""
    named = [name.rpartition("-")[::2] for name in env["builds"].split(",") if name] or [
        (env["CC"], env["variant"])
    ]
    return [
        (compiler, variant, "cpuemu" if i else env["backends"])
        for i, (compiler, variant) in enumerate(named)
    ]


def check(env, opts):
    """Ends the build with a sentence where an option or its value is unknown, and elsewhere than on
    Linux."""
    if platform.system() != "Linux":
        _fail(
            f"Tessera runs on Linux, and this is {platform.system()}: ranks share memory by"
            " Linux's memfd and futex; build in a Linux container or a virtual machine"
        )
    for name in opts.UnknownVariables():
        _refuse(f"unknown option '{name}'", name, opts.keys())
    if env["tiles"] not in TILES:
        _refuse(f"unknown tiles '{env['tiles']}'", env["tiles"], TILES)
    if env["hip_platform"] not in HIP_PLATFORMS:
        _refuse(f"unknown hip_platform '{env['hip_platform']}'", env["hip_platform"], HIP_PLATFORMS)
    for compiler, variant, _ in builds(env):
        if variant not in VARIANTS:
            _refuse(f"unknown variant '{variant}'", variant, VARIANTS)
        if variant == "fuzz" and "clang" not in compiler:
            _fail(f"variant=fuzz, CC={compiler}: libFuzzer is clang's: add CC=clang-19")
        if not shutil.which(compiler):
            _fail(
                f"CC={compiler}: no such program on PATH; ci/install-deps installs gcc and clang-19"
            )
    for name in env["backends"].split(","):
        if name not in BACKENDS + ("auto",):
            _refuse(f"unknown backend '{name}'", name, BACKENDS + ("auto",))


def _refuse(what, word, known):
    near = difflib.get_close_matches(word, known, 1, 0.5)
    hint = f"did you mean '{near[0]}'?" if near else "known: " + ", ".join(known)
    _fail(f"{what}: {hint}")


def _fail(sentence):
    print("scons: " + sentence)
    Exit(2)
