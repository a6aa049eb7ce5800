"""
Kernels compiled for GPUs: which toolkits are here, and the builders of device
code.
"""
import itertools
import os
import re
import shutil
import subprocess

import SCons.Tool
from SCons.Script import Action, Exit

import clangs
from programs import unit_of

AMD_ARCHES = ("gfx942", "gfx90a")
# The forms in which kernels are compiled: a define, what stands behind the unit's name
# (TSR_IMAGE_RECORDED and TSR_IMAGE_NODES in backends/gpu/gpu.h), and behind its folder's. The
# second keeps the record of a run (backends/gpu/dev/record.h), the third reaches ranks on other
# nodes (backends/gpu/dev/far.h).
PLAIN = ("", "", "")
RECORDED = ("TSR_RECORDED", ":recorded", "-recorded")
NODES = ("TSR_NODES", ":nodes", "-nodes")
NVIDIA_ARCH = "sm_90a"


class Toolkit:
    """A compiler of device code for one architecture: how a unit becomes assembly, and assembly an
    image."""

    def __init__(
        self, backend, arch, compile_command, assemble_command, assembly_suffix, image_suffix,
        include=None
    ):
        self.backend, self.arch = backend, arch
        self.include = include  # the folder of the headers that the backend's host half needs
        self.program_command = None  # how a program in the vendor's own language is built
        # how the front end alone looks at a unit, and what it leaves
        self.read_command, self.read_suffix = None, None
        self.compile_command, self.assemble_command = compile_command, assemble_command
        self.assembly_suffix, self.image_suffix = assembly_suffix, image_suffix


def toolkits(env):
    """The toolkits that the option `backends` asks for. Says in a line what is missing; what was
    named must be there."""
    wanted = env["backends"].split(",")
    found = []
    for backend, find in (("cuda", _find_cuda), ("hip", _find_hip)):
        if backend not in wanted and "auto" not in wanted:
            continue
        kits, why = find(env)
        found += kits
        if why and (backend in wanted or backend == "hip" and env["hip_clang"]):
            print(f"scons: backends={env['backends']}: {backend}: {why}")
            Exit(2)
        if why and not env.GetOption("silent"):
            print(f"{backend}: not built: {why}")
    return found


def hosted(env):
    """Backends whose host half is built: what is compiled for them can run. Says what HIP on
    NVIDIA's GPUs lacks, and ends."""
    found = [name for name in ("cuda", "hip") if toolkit_of(env, name)]
    if env["hip_platform"] == "nvidia":
        why = _lacks_hip_on_nvidia(env)
        if why:
            print("scons: hip_platform=nvidia: " + why)
            Exit(2)
        found = ["cuda", "hip"]
    return found


def _lacks_hip_on_nvidia(env):
    kit = toolkit_of(env, "cuda")
    if not kit:
        return "the kernels are compiled by nvcc there, and cuda is not built"
    include = "#include <hip/nvidia_detail/nvidia_hip_runtime_api.h>"
    command = [
        env["CC"], "-E", "-D__HIP_PLATFORM_NVIDIA__", "-isystem", kit.include, "-x", "c", "-o",
        os.devnull, "-"
    ]
    answer = subprocess.run(command, input=include, capture_output=True, text=True, check=False)
    return (
        ""
        if answer.returncode == 0
        else "no headers of HIP's NVIDIA platform (ci/install-deps installs libamdhip64-dev)"
    )


def _find_cuda(_):
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        return (
            [], "no nvcc on PATH nor in /usr/local/cuda/bin (the CUDA toolkit, 13 or later, has it)"
        )
    include = _cuda_headers(nvcc)
    if not include:
        return (
            [],
            (
                f"{nvcc} cannot compile for {NVIDIA_ARCH}, or its toolkit has no cuda_runtime_api.h"
                " or cuda.h"
            )
        )
    version = _cuda_version(include)
    if version < 13:
        return (
            [],
            (
                f"{nvcc} is of CUDA {version}; the scoped atomics that the kernels need came with"
                " CUDA 13"
            )
        )
    flags = f"-gencode=arch=compute_90a,code={NVIDIA_ARCH}"
    compile_command = f"{nvcc} -x cu -std=c++17 -O3 -arch=compute_90a -ptx"
    kit = Toolkit(
        "cuda", NVIDIA_ARCH, compile_command, f"{nvcc} {flags} -cubin", ".ptx", ".cubin", include
    )
    kit.program_command = f"{nvcc} -std=c++17 -O3 {flags}"
    kit.read_command, kit.read_suffix = f"{compile_command} -fdevice-syntax-only", ".read"
    return [kit], ""


def _cuda_headers(nvcc):
    """The folder of headers of a toolkit that is whole, or None. nvcc may be a wrapper that lives
    elsewhere, so it is asked."""
    command = [
        nvcc, "--dryrun", "-x", "cu", f"-gencode=arch=compute_90a,code={NVIDIA_ARCH}", "-c",
        os.devnull, "-o", os.devnull
    ]
    answer = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    top = re.search(r"^#\$ TOP=(.*)$", answer.stderr, re.MULTILINE)
    if answer.returncode or not top:
        return None
    include = os.path.join(os.path.realpath(top.group(1).strip()), "include")
    whole = all(
        os.path.exists(os.path.join(include, name)) for name in ("cuda_runtime_api.h", "cuda.h")
    )
    return include if whole else None


def _cuda_version(include):
    with open(os.path.join(include, "cuda.h"), encoding="utf-8", errors="replace") as header:
        found = re.search(r"^#define CUDA_VERSION (\d+)", header.read(), re.MULTILINE)
    return int(found.group(1)) // 1000 if found else 0


def _find_hip(env):
    clang, note, why = clangs.find(env["hip_clang"])
    if why:
        return [], why
    if note and not env.GetOption("silent"):
        print(note)
    return [_hip_toolkit(clang, arch) for arch in AMD_ARCHES], ""


def _hip_toolkit(clang, arch):
    compile_command = clangs.compile_command(clang, arch)
    kit = Toolkit(
        "hip", arch, compile_command, f"{clang} --target=amdgcn-amd-amdhsa -mcpu={arch}", ".s",
        ".hsaco"
    )
    kit.read_command, kit.read_suffix = f"{compile_command} {clangs.READ_OPTIONS}", ".ll"
    return kit


def add_methods(env):
    for method in (
        DeviceAssemblies, CodeObjects, DeviceImages, RecordedImages, DeviceReadings, DeviceProgram,
        NamedImage, HipPlatform
    ):
        env.AddMethod(method)


def DeviceAssemblies(env, sources):
    """What the toolkits make of units with kernels: [(toolkit, unit, assembly)]. Checks read it,
    and images are made from it."""
    made = [
        (kit, unit_of(env, source), _assembly(env, kit, source))
        for source in sources
        for kit in env["TOOLKITS"]
    ]
    env.Alias("device", [assembly for _, _, assembly in made])
    return made


def CodeObjects(env, sources, backend):
    """What the driver loads of units with kernels, for checks to read."""
    made = [
        _image(env, kit, unit, _path(env, kit, unit, kit.assembly_suffix, PLAIN))
        for unit in (unit_of(env, source) for source in sources)
        for kit in env["TOOLKITS"]
        if kit.backend == backend
    ]
    env.Alias("device", made)
    return made


def DeviceImages(env, sources):
    """Objects with the device code of these units for each toolkit, to be linked beside the units'
    own objects."""
    made = [
        _embedded(env, kit, unit, _image(env, kit, unit, assembly))
        for kit, unit, assembly in env.DeviceAssemblies(sources)
    ]
    env.Alias("device", made)
    return made + (_images_of(env, sources, NODES) if env["nodes"] else [])


def _images_of(env, sources, form):
    """Objects with the device code of these units in another form."""
    made = []
    for source, kit in itertools.product(sources, env["TOOLKITS"]):
        unit = unit_of(env, source)
        image = _image(env, kit, unit, _assembly(env, kit, source, form), form)
        made.append(_embedded(env, kit, unit, image, form=form))
    env.Alias("device", made)
    return made


def RecordedImages(env, sources):
    """The same of code that keeps the record of a run, beside that which does not; none where the
    build is without."""
    return _images_of(env, sources if env["recorded"] else [], RECORDED)


def DeviceReadings(env, sources):
    """What the toolkits' front ends make of units with kernels: that they accept them, and of clang
    the names of the kernels. Each unit is read in every form that it may have."""
    made = [
        _reading(env, kit, source, form)
        for source in sources
        for kit in env["TOOLKITS"]
        for form in [PLAIN, NODES] + ([RECORDED] if keeps_record(env.File(source)) else [])
    ]
    env.Alias("device", made)
    return made


def NamedImage(env, kit, source, symbol, form=PLAIN):
    """The object of device code that the library itself uses, for one toolkit: it is found by its
    symbol, a tsr_image_t."""
    unit = unit_of(env, source)
    image = _image(env, kit, unit, _assembly(env, kit, source, form), form)
    return _embedded(env, kit, unit, image, symbol, form)


def forms(env):
    """The forms in which this build compiles kernels of which all are wanted."""
    return [PLAIN] + [RECORDED] * bool(env["recorded"]) + [NODES] * bool(env["nodes"])


def DeviceProgram(env, kit, target, source):
    """A program in the vendor's own language, without the library."""
    action = _action(env, f"{kit.program_command} -o $TARGET $SOURCE")
    return env.Command(target, source, action, source_scanner=SCons.Tool.CScanner)[0]


def HipPlatform(env):
    """
    The library that stands in for HIP's runtime where the option `hip_platform` is not amd; none
    where it is. C++, because HIP's headers for NVIDIA's GPUs are, and by nvcc, which knows where
    CUDA is. Alone the driver is linked, by its stub: a program opens the library when it runs.
    """
    if env["hip_platform"] == "amd":
        return []
    kit = toolkit_of(env, "cuda")
    nvcc = kit.compile_command.split()[0]
    stubs = os.path.join(os.path.dirname(kit.include), "lib64", "stubs")
    flags = (
        "-x c++ -std=c++17 -O2 -D__HIP_PLATFORM_NVIDIA__"
        " -Xcompiler=-fPIC,-fvisibility=hidden,-fno-exceptions,-Wall"
    )
    return env.Command(
        "$BUILD/libtessera-hip-nvidia.so",
        "#backends/hip/nvidia/platform.cpp",
        _action(
            env,
            f"{nvcc} {flags} $_CPPINCFLAGS -shared -cudart=static -o $TARGET $SOURCE -L{stubs}"
            " -lcuda"
        ),
        source_scanner=SCons.Tool.CScanner,
    )


def toolkit_of(env, backend):
    """The first toolkit of a backend, or None where the build has none."""
    return next((kit for kit in env["TOOLKITS"] if kit.backend == backend), None)


def defines_kernels(source):
    """Whether a source has a kernel of its own, as programs, tools and examples may or may not."""
    return (
        re.search(rb"^\s*TSR_KERNEL(_SPLIT|_WIDE|_SHARED)?\(", source.get_contents(), re.MULTILINE)
        is not None
    )


def keeps_record(source):
    """Whether a source records what its kernels do, and so wants code that does."""
    return b"tsr_record_start(" in source.get_contents()


def half_program(env):
    """The program that takes from a source what device compilers read. The same in every variant,
    as device code is."""
    sources = env.Glob("#tools/device_half/*.c")
    return env.Command(
        _folder(env) + "/device-half", sources,
        _action(env, "$CC $CFLAGS $_CPPDEFFLAGS -I. -o $TARGET $SOURCES")
    )[0]


def _half(env, source):
    """The device half of a source, one for all toolkits: its host half is C's alone."""
    half = f"{_folder(env)}/{unit_of(env, source)}.half.c"
    made = env["DEVICE_HALVES"].get(half)
    if not made:
        action = _action(env, f"{env['DEVICE_HALF'].path} $SOURCE $TARGET")
        made = env.Command(
            half, env.File(source).srcnode(), action, source_scanner=SCons.Tool.CScanner
        )[0]
        env.Depends(made, env["DEVICE_HALF"])
        env["DEVICE_HALVES"][half] = made
    return made


def _assembly(env, kit, source, form=PLAIN):
    return _compiled(env, kit, source, kit.compile_command, kit.assembly_suffix, form)


def _reading(env, kit, source, form):
    return _compiled(env, kit, source, kit.read_command, kit.read_suffix, form)


def _compiled(env, kit, source, command, suffix, form=PLAIN):
    unit = unit_of(env, source)
    made = env.Command(
        _path(env, kit, unit, suffix, form),
        _half(env, source),
        _action(env, f"{command} $_CPPDEFFLAGS $_CPPINCFLAGS -o $TARGET $SOURCE"),
        CPPDEFINES=env["CPPDEFINES"]
        + [("TSR_UNIT", f'\\"{unit}\\"')]
        + ([form[0]] if form[0] else []),
        # SCons looks for no includes in the sources of a command of one's own.
        source_scanner=SCons.Tool.CScanner,
    )[0]
    # Nor does it follow an include whose name is a macro, as a port's are.
    env.Depends(
        made,
        env.Glob("#backends/common/dev/*.h")
        + env.Glob("#backends/gpu/dev/*.h")
        + env.Glob("#backends/gpu/dev/*/*.h")
        + env.Glob(f"#backends/{kit.backend}/dev/*.h")
    )
    return made


def _image(env, kit, unit, assembly, form=PLAIN):
    """The code object that the vendor's driver loads."""
    path = _path(env, kit, unit, kit.image_suffix, form)
    command = f"{kit.assemble_command} -o $TARGET $SOURCE"
    # Tests may want a kernel whose products wait, and for several nodes some must do.
    if kit.backend == "cuda" and "kernels/" in unit and form != NODES:
        command = f"site_scons/assemble {command}"
    return env.Command(path, assembly, _action(env, command))[0]


def _embedded(env, kit, unit, image, symbol=None, form=PLAIN):
    name = unit + form[1]
    strings = {"FILE": image.path, "UNIT": name, "BACKEND": kit.backend, "ARCH": kit.arch}
    defines = " ".join(f"'-DTSR_IMAGE_{name}=\"{value}\"'" for name, value in strings.items())
    if symbol:
        defines += f" -DTSR_IMAGE_SYMBOL={symbol}"
    command = _action(env, f"$CC -c {defines} tools/embed.S -o $TARGET")
    path = _path(env, kit, unit, ".o", form)
    return env.Command(path, [image, "#tools/embed.S"], command)[0]


def _path(env, kit, unit, suffix, form=PLAIN):
    return f"{_folder(env)}/{kit.arch}{form[2]}/{unit}{suffix}"


def _folder(env):
    """Device code is the same in every variant, but for what NDEBUG leaves out of release."""
    return "#build/device-" + ("release" if env["variant"] == "release" else "debug")


def _action(env, command):
    return Action(command, None if env["verbose"] else "  compile $TARGET")
