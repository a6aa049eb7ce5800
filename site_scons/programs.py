"""
What the rooms build from: sources by folder, objects that know their unit,
tests that are run.
"""
import glob
import os
import re
import subprocess

import variants


def add_methods(env):
    for method in (Sources, UnitObjects, RunAlias):
        env.AddMethod(method)


def Sources(env, *patterns):
    """The sources below the calling SConscript's folder that match, sorted; `**/` descends."""
    here = env.Dir(".").srcnode()
    root = here.abspath
    found = set()
    for pattern in patterns:
        if pattern.startswith("**/"):
            for folder, _, _ in os.walk(root):
                found.update(
                    _matches(env, root, os.path.join(os.path.relpath(folder, root), pattern[3:]))
                )
        else:
            found.update(_matches(env, root, pattern))
    return sorted(found)


def _matches(env, root, pattern):
    return [os.path.relpath(path, root) for path in glob.glob(os.path.join(root, pattern))]


def unit_of(env, source):
    """The name of a translation unit: its path from the top, or from where the build writes
    sources, without the suffix."""
    path = env.File(source).srcnode().path
    return os.path.splitext(
        os.path.relpath(path, variants.GENERATED) if is_generated(env, source) else path
    )[0]


def is_generated(env, source):
    return env.File(source).srcnode().path.startswith(variants.GENERATED + "/")


def _object_of(env, source):
    """What a unit's object is made from, and where: beside the source, but for those that the build
    writes once for all variants."""
    return [f"$BUILD/{unit_of(env, source)}", source] if is_generated(env, source) else [source]


def UnitObjects(env, sources, **overrides):
    """
    Objects that may define kernels. Each is told its unit's name, which its device images carry
    too. They are linked as they are, never from an archive: the linker would leave out an object
    that only the descriptors' section refers to.
    """
    defines = overrides.pop("CPPDEFINES", env["CPPDEFINES"])
    return [
        env.Object(
            *_object_of(env, source),
            CPPDEFINES=defines + [("TSR_UNIT", '\\"%s\\"' % unit_of(env, source))], **overrides
        )
        for source in sources
    ]


def RunAlias(env, name, tests, needs, options=""):
    """
    `scons name` builds the tests and what they need, and runs them whatever ran before. Their
    counts are left in <build>/<last part of name>.tally.
    """
    build = env.Dir("$BUILD").path
    run = f"@ci/run-tests --build {build} --tally {build}/{os.path.basename(name)}.tally {options} "
    alias = env.Alias(name, list(tests) + list(needs), run + " ".join(test.path for test in tests))
    env.AlwaysBuild(alias)


def shared_library(env, target, objects, **overrides):
    """
    libtessera.so, and the name that programs keep of it: libtessera.so.1, and before version 1.0.0
    libtessera.so.0.1, because there each minor version may break what was. The version stands in
    include/tessera/version.h.
    """
    name = os.path.basename(target)
    with open(env.File("#include/tessera/version.h").abspath, encoding="ascii") as file:
        number = dict(
            re.findall(r"#define TSR_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", file.read(), re.MULTILINE)
        )
    kept = number["MAJOR"] if number["MAJOR"] != "0" else f"0.{number['MINOR']}"
    version = "{MAJOR}.{MINOR}.{PATCH}".format(**number)
    made = env.SharedLibrary(
        target, objects, SHLIBVERSION=version, SONAME=f"lib{name}.so.{kept}", **overrides
    )
    env.Depends(made, "#include/tessera/version.h")
    env.NoCache(made)  # out of a cache it would come without its links
    return made


# What a GPU's backend uses of the library and the shared one does not show: no state is in it.
PRIVATE_TO_PLUGINS = ["src/base/os/descriptor", "src/base/settings/visible"]


def plugin(env, name, objects, shared):
    """
    libtessera-NAME.so: a backend that libtessera.so loads (src/registry/plugins.c). What it needs
    of that library is what this shows to all, and copies of some objects. It is looked for nowhere,
    because it is there when a plug-in is loaded.
    """
    entry = env.Object(
        f"$BUILD/plugins/{name}", "#backends/gpu/plugin/entry.c",
        CPPDEFINES=env["CPPDEFINES"] + [("TSR_PLUGIN_BACKEND", f"tsr_backend_{name}")]
    )
    copies = [env.File(f"$BUILD/{path}.o") for path in PRIVATE_TO_PLUGINS]
    return env.SharedLibrary(
        f"$BUILD/plugins/tessera-{name}", objects + entry + copies,
        LIBS=[shared[0], "m", "dl"], SHLINKFLAGS=env["SHLINKFLAGS"] + ["-Wl,-z,defs"]
    )[0]


def lacks_ucx(env):
    """Why the carrier of messages between nodes is not built; "" where it is."""
    answer = subprocess.run(
        [env["CC"], "-E", "-o", os.devnull, "-x", "c", "-"], input="#include <ucp/api/ucp.h>",
        capture_output=True, text=True, check=False
    )
    return "" if answer.returncode == 0 else "no <ucp/api/ucp.h> (ci/install-deps installs it)"


def carrier(env, objects):
    """
    libtessera-net-ucx.so: what carries messages between nodes (src/net/load.c loads it). It uses
    nothing of libtessera, so one file serves programs that link the archive and programs that link
    the shared library.
    """
    return env.SharedLibrary(
        "$BUILD/plugins/tessera-net-ucx", objects, LIBS=["ucp", "ucs"],
        SHLINKFLAGS=env["SHLINKFLAGS"]
    )[0]


def commit():
    """The commit that is built, with -dirty where files of it were changed; "unknown" outside of a
    clone."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return told.stdout.strip() or "unknown"


def install_aliases(env, names, built, plugins):
    """
    `scons install` and `scons uninstall`: install/install with this build's files, and those of its
    plug-ins that are named. `scons installation` makes these alone.
    """
    keep = "" if env["strip"] else " --no-strip"
    run = (
        "@install/install --build $BUILD_PATH --prefix '$PREFIX' --destdir '$DESTDIR' --libdir"
        f" '$LIBDIR' --plugins '{','.join(plugins)}'{keep}"
    )
    local = env.Clone(BUILD_PATH=env.Dir("$BUILD").path)
    install, uninstall, installation = names
    env.Alias(installation, built)
    env.AlwaysBuild(local.Alias(install, built, run))
    env.AlwaysBuild(local.Alias(uninstall, [], run + " --remove"))


def kernels_library(env, kernels, shared):
    """
    libtessera-kernels, as archive and, in the variants that have libtessera.so, as shared library:
    the workloads with their kernels and images, behind the calls of tessera/products.h. The archive
    holds one object: only the section of descriptors refers to most units, and a linker takes from
    an archive what is referred to. What is hidden is made local in it, so that it clashes with no
    name of a program.
    """
    objects = kernels.objects + kernels.images
    whole = env.Command(
        "$BUILD/kernels/whole.o", objects,
        env.Action(
            [
                "$CC -r -nostdlib -o $TARGET $SOURCES",
                "objcopy --localize-hidden $TARGET",
            ],
            "  link    $TARGET",
        )
    )
    flags = ["-Wl,-rpath,'$$ORIGIN'", "-Wl,-z,start-stop-visibility=hidden"]
    archive = env.StaticLibrary("$BUILD/tessera-kernels", whole)
    return archive + (
        shared_library(
            env, "$BUILD/tessera-kernels", objects, LIBS=[shared[0]] + env["LIBS"],
            SHLINKFLAGS=env["SHLINKFLAGS"] + flags
        )
        if shared
        else []
    )


def write_lines(target, source, env):
    with open(target[0].path, "w", encoding="ascii") as file:
        file.writelines(f"{line.read()}\n" for line in source)
