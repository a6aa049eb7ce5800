#!/usr/bin/env python3
"""
The command blocks of every page (*.md), run as they stand there, and what the
pages say that they print. A block is indented by four columns behind an empty
line. It holds commands, or what the last command prints, or is excused below.
Whatever is neither fails, and so does an excuse that no page needs.

Times and line numbers may differ from the page's; words, shapes, sizes, counts
and the columns of tables may not. A line "..." of a page stands for any lines.
C and Python in fences have to stand in a file of examples/, or of tests/python/
if only one vendor's GPUs can run them. Links lead to
files, paths in backquotes are those of files, and names in backquotes
(`tsr_...`) are those of the source. Files of make, CMake and Meson in fences
stand, part by part, in those of a project that CI builds.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import python_ranks  # noqa: E402
import tap  # noqa: E402
from page_blocks import EXITS, alike, blocks_of, commands_of  # noqa: E402

ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ["BUILD"])
COMPILER, VARIANT = re.match(r"(.+)-(\w+)$", os.path.basename(BUILD)).groups()
SANITIZERS = {"asan": "-fsanitize=address,undefined", "tsan": "-fsanitize=thread"}
PYTHON = python_ranks.interpreter_with("numpy")
LIMIT_S = 600

# Commands that are not run, and why; instead their programs and options are looked for.
EXCUSES = {
    r"ci/install-deps": "installs packages",
    r"apt-get |findings/": "installs packages",
    r"DEB_BUILD_OPTIONS=\w+ dpkg-buildpackage": "tests/install/packages.sh does it",
    r"python3 -m venv ": "tests/python/wheel.py does it",
    r"pip install": "tests/python/wheel.py does it, in an environment of its own",
    r"torchrun ": "needs PyTorch: tests/python/torch_arrays.py runs the example",
    r"scons ": "builds: CI does it before this test",
    r"ci/test": "runs this test",
    r"ci/arm64": "takes minutes: ci/nightly runs it",
    r"ci/mutants ": "ci/test and ci/nightly run it",
    r"tests/mutants/run": "takes minutes: ci/test runs a part of it, ci/nightly all",
    r"ci/litmus-gpu": "needs a GPU",
    r"TESSERA_BACKEND=cuda tessera run ": "needs GPUs",
    r"TESSERA_BACKEND=hip ci/gpu |ci/node|bench/run-results ": "needs a GPU",
    r"build/clang-19-fuzz/": "needs the fuzzers' build: tests/fuzz/search.py runs it there",
    r"tests/system/faults_worlds.py --most": "takes minutes: ci/test runs it with fewer calls",
}
NOT_OURS = ("apt-get", "dpkg-buildpackage", "pip", "python3", "torchrun")
# Blocks that are neither commands nor output: page and first line.
TEXTS = {
    (
        "docs/order-in-a-block.md", "tsr_get(block, tmp, source, bytes, next);"
    ): "C, with a line that it is about"
}
# Fences in other languages, and the files that their parts have to stand in.
PROJECT = {
    language: f"tests/install/project/{name}"
    for language, name in (
        ("make", "Makefile"), ("cmake", "CMakeLists.txt"), ("meson", "meson.build")
    )
}
# Put behind commands that would take long; options given later win.
SMALLER = [
    (r"bench .*--(baseline|tune)", "--shape 96x80x64 --iterations 2 -w 0"),
    (r"bench ", "--iterations 2 -w 0"),
    (r"perf put", "-e 64K -N 2 -w 0"),
    (r"perf signal", "-N 2 -w 0"),
]
PLACES = {"FOLDER": "tests/fuzz/corpus/fuzz_litmus", "FILE": "examples/hello.c"}
NAME = re.compile(r"\b(?:tsr|TSR)_\w+")
PASTED = {"tsr_body_"}  # TSR_KERNEL puts the kernel's name behind it
needed = set()  # the excuses that a page needs


def prepare(folder):
    """The repository as a user in it sees it, and a compiler that goes with this build of the
    library."""
    os.mkdir(os.path.join(folder, "build"))
    for name in os.listdir(ROOT):
        if name != "build" and not name.startswith("."):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    for name in ("gcc-debug", "gcc-release"):
        os.symlink(BUILD, os.path.join(folder, "build", name))
    os.symlink(os.path.join(ROOT, "build", "generated"), os.path.join(folder, "build", "generated"))
    with open(os.path.join(folder, "compiler"), "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec {COMPILER} {SANITIZERS.get(VARIANT, "")} "$@"\n')
    os.chmod(os.path.join(folder, "compiler"), 0o755)
    os.mkdir(os.path.join(folder, "programs"))
    os.symlink(os.path.join(folder, "compiler"), os.path.join(folder, "programs", "cc"))
    with open(os.path.join(folder, "programs", "python"), "w", encoding="ascii") as file:
        file.write(
            f"#!/bin/sh\nexport PYTHONPATH={ROOT}/python TSR_LIBRARY={BUILD}/libtessera.so"
            f' PYTHONDONTWRITEBYTECODE=1\nunset PYTHONUNBUFFERED\nexec {PYTHON} "$@"\n'
        )
    os.chmod(os.path.join(folder, "programs", "python"), 0o755)


def meant(command):
    """What is run for a command: the command of ci/demo's last lines, other files and sizes, and
    everything else as it stands."""
    if command == "ci/demo":
        with open(os.path.join(ROOT, "ci", "demo"), encoding="ascii") as file:
            text = file.read()
        command = re.search(
            r"export (\S+=\S+)\nexec build/\S+?/(tessera .*) \"\$@\"", text
        ).expand(r"\1 \2")
        command = command.replace('"$workload"', re.search(r"workload=(\w\S*) ;;", text)[1])
    # scons man, a line before it, is excused
    command = re.sub(r"^(?=man -M build/man )", "man/generate build/man && ", command)
    for word, place in PLACES.items():
        command = re.sub(rf"\b{word}\b", place, command)
    return command + next(
        (f" {words}" for pattern, words in SMALLER if re.search(pattern, command)), ""
    )


def run(command, exports, folder):
    settings = dict(
        os.environ,
        BUILD=BUILD,
        PATH=":".join([BUILD, os.path.join(folder, "programs"), os.environ["PATH"]]),
        CC=os.path.join(folder, "compiler"),
        OPENBLAS_NUM_THREADS="1",
        TESSERA_TUNE_FILE=os.path.join(folder, "tuned.json"),
    )
    return subprocess.run(
        "; ".join([*exports, meant(command)]),
        shell=True, cwd=folder, env=settings, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


def cannot_run(command):
    """Why this machine or this build cannot run a command that others run."""
    program = re.sub(r"^(?:[A-Z_]+=\S+ )*", "", command).split()[0]
    if (
        program.startswith(("nvcc", "clang"))
        and subprocess.run(["which", program], capture_output=True, check=False).returncode
    ):
        return f"no {program}"
    if (
        re.search("hip_platform=nvidia|--backends [a-z,]*cuda", command)
        and subprocess.run(["which", "nvcc"], capture_output=True, check=False).returncode
    ):
        return "no nvcc"
    if program == "python" and not PYTHON:
        return "no NumPy: run ci/install-deps"
    if program == "python" and not os.path.exists(os.path.join(BUILD, "libtessera.so")):
        return "this variant has no shared library"
    reader = re.search(r"\b(gdb|valgrind|man)(?: -|=)", command)
    if reader and not shutil.which(reader.group(1)):
        return f"no {reader.group(1)}"
    if reader and VARIANT in SANITIZERS and reader.group(1) != "man":
        return f"{reader.group(1)} does not run a program with a sanitizer"
    if program.startswith(("tests/system/", "tests/fuzz/commands")) and VARIANT != "debug":
        return "it runs in the debug variant alone"
    if VARIANT == "tsan" and command.startswith("tessera check"):
        return "ThreadSanitizer takes the fibres of a forked process for threads that have ended"
    return ""


def faults_of_excused(command):
    """What of an excused command does not exist: its program, or an option of it. scons has a list
    of its targets and options."""
    words = re.sub(r"^(?:[A-Z_]+=\S+ )*", "", command).split()
    if words[0] == "scons":
        # the platform needs cuda
        quicker = [] if "hip_platform=nvidia" in words else ["backends=cpuemu"]
        tried = subprocess.run(
            ["scons", "-Q", "-n", *quicker, *words[1:]], cwd=ROOT, capture_output=True, text=True,
            check=False
        )
        return (
            f"exit code {tried.returncode}\n{(tried.stdout + tried.stderr)[-500:]}"
            if tried.returncode
            else ""
        )
    if words[0] in NOT_OURS:
        return ""
    program = os.path.join(ROOT, words[0])
    if words[0].startswith("build/"):  # of another build, made of a source of this name
        program = program.replace(os.path.join(ROOT, *words[0].split("/")[:2]), ROOT) + ".c"
    helping = [program, "--help"]
    if words[0] == "tessera":
        program = os.path.join(BUILD, "tessera")
        helping = [program, words[1], "--help"]
    if not os.path.exists(program):
        return f"there is no {words[0]}"
    options = [word for word in words[1:] if word.startswith("--")]
    told = (
        subprocess.run(
            helping, cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout
        if options
        else ""
    )
    return "".join(
        f"{words[0]} has no {option}\n" for option in options if not re.search(rf"{option}\b", told)
    )


def try_command(page, command, exports, folder):
    """A verdict, and what the command has printed: None where it was not run."""
    name = f"{page}: {command}"
    excuse = next((pattern for pattern in EXCUSES if re.match(pattern, command)), None)
    needed.update({excuse} - {None})
    why = cannot_run(command)
    if why:
        return (True, f"{name} # skip {why}", ""), None
    if excuse:
        faults = faults_of_excused(command)
        return (not faults, f"{name}: is there ({EXCUSES[excuse]})", faults), None
    result = run(command, exports, folder)
    printed = result.stdout + result.stderr
    wanted = next((code for pattern, code in EXITS.items() if re.match(pattern, command)), 0)
    return (
        result.returncode == wanted, name, f"exit code {result.returncode}\n" + printed[-2000:]
    ), printed.splitlines()


def verdicts_on(page, text, folder):
    """Of each block: whether it is good, its name, and why it is not."""
    with_output, printed, exports = "", None, []
    examples = "".join(
        open(path, encoding="utf-8").read()
        for places in ("examples/**/*.[cp]*", "tests/python/*.py")
        for path in glob.glob(os.path.join(ROOT, places), recursive=True)
    )
    for kind, block in blocks_of(text):
        commands = commands_of(block)
        if kind in ("c", "python"):
            yield " ".join("".join(block).split()) in " ".join(
                examples.replace("\n", "").split()
            ), f"{page}: {block[0]}", "neither in examples/ nor in tests/python/"
        elif kind in PROJECT:
            with open(os.path.join(ROOT, PROJECT[kind]), encoding="ascii") as file:
                held = file.read()
            parts = "\n".join(block).split("\n\n")
            yield all(part.strip() in held for part in parts), f"{page}: {block[0]}", (
                f"not in {PROJECT[kind]}"
            )
        elif (page, block[0]) in TEXTS:
            needed.add((page, block[0]))
        elif commands:
            for command in commands:
                if command.startswith("export "):
                    exports.append(command)
                    continue
                verdict, printed = try_command(page, command, exports, folder)
                with_output = command
                yield verdict
        elif with_output:
            if printed is not None:
                yield alike(printed, block), f"{page}: what {with_output} prints", "\n".join(
                    ["it prints:", *printed[:40], "and the page says:", *block]
                )
            with_output = ""
        else:
            yield (
                False, f"{page}: {block[0]}",
                (
                    "neither a command, nor what the last one prints, nor excused in"
                    " tests/cli/pages.py"
                )
            )


def missing_files(page, text):
    """The links of a page and the paths in its text that lead nowhere."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    links = [
        link.split("#")[0]
        for link in re.findall(r"\]\(([^)\s]+)\)", text)
        if not link.startswith("http")
    ]
    rooms = "|".join(
        name for name in os.listdir(ROOT) if not name.startswith(".") and name != "build"
    )
    paths = re.findall(rf"`((?:{rooms})/[\w./-]*)`", text)
    found = [(link, os.path.join(ROOT, os.path.dirname(page), link)) for link in links if link] + [
        (path, os.path.join(ROOT, path)) for path in paths
    ]
    return [name for name, path in found if not os.path.exists(path) and not glob.glob(path + ".*")]


def names_of_code():
    """Every word of the sources that looks like a call, a type or a constant of Tessera."""
    listed = subprocess.run(
        ["ci/list-files", "*.h", "*.c", "python/*.py", "SConstruct", "man/generate"], cwd=ROOT,
        capture_output=True, text=True, check=True
    ).stdout.split()
    return {
        name
        for path in listed
        for name in NAME.findall(open(os.path.join(ROOT, path), encoding="utf-8").read())
    }


def unknown_names(text, known):
    """The calls, types and constants in a page's backquotes that no source has. A name may be the
    beginning of others (`tsr_atomic_*`), or one that a macro pastes together."""
    named = {name for quoted in re.findall(r"`([^`\n]+)`", text) for name in NAME.findall(quoted)}
    return sorted(
        name
        for name in named - known
        if not (name.endswith("_") and any(each.startswith(name) for each in known))
        and not any(each.endswith("_") and name.startswith(each) for each in PASTED & known)
    )


PLANTED = {
    "a command that nobody knows": "\n    frobnicate --all\n",
    "a block that nobody needs": (
        "\n    tessera --version\n\nprints\n\n    ...\n\nand\n\n    tessera-0.1\n"
    ),
    "another output": "\n    tessera --version\n\nprints\n\n    Tessera\n",
    "another size": (
        "\n    tessera bench gemm-all-scatter -n 2 --pattern banded --shape 512x512x64 --verify"
        "\n\nprints\n\n    ...\n"
        "    banded 32x32x16 4.151 2.124 .. 6.178 0.008 3 512.0K 512.0K 2.0M no ok\n"
    ),
    "an option that does not exist": "\n    tessera bench gemm-all-scatter -n 2 --sheep 64x64x64\n",
    "an option that does not exist, excused": "\n    tests/mutants/run --everything\n",
    "a target that does not exist, excused": "\n    scons sheep\n",
    "a setting of the build that does not exist, excused": "\n    scons sheep=yes\n",
    "a program that does not exist, excused": (
        "\n    build/clang-19-fuzz/tests/fuzz/fuzz_sheep FILE\n"
    ),
    "C that is in no example": "```c\nint sheep;\n```\n",
    "Python that is in no example": "```python\nsheep = 1\n```\n",
    "a part of a Makefile that is in no project": "```make\nsheep: wool\n```\n",
}


def main():
    pages = [
        path
        for path in glob.glob(os.path.join(ROOT, "**", "*.md"), recursive=True)
        if not path.startswith(os.path.join(ROOT, "build") + "/")
    ]
    blocks, known = 0, names_of_code()
    for path in sorted(pages):
        with tempfile.TemporaryDirectory() as folder, open(path, encoding="utf-8") as file:
            prepare(folder)
            page, text = os.path.relpath(path, ROOT), file.read()
            for verdict in verdicts_on(page, text, folder):
                tap.verdict(*verdict)
                blocks += 1
            missing = missing_files(page, text)
            tap.verdict(
                not missing, f"{page}: the files that it names are there", "\n".join(missing)
            )
            # the changelog also says what calls were called before
            unknown = [] if page == "CHANGELOG.md" else unknown_names(text, known)
            tap.verdict(
                not unknown, f"{page}: the calls that it names are there", "\n".join(unknown)
            )
    tap.verdict(blocks >= 30, "the blocks are found", f"{blocks} only")
    unneeded = (EXCUSES.keys() | TEXTS.keys()) - needed
    tap.verdict(not unneeded, "each excuse is needed", "\n".join(map(str, unneeded)))
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        for name, text in PLANTED.items():
            tap.verdict(
                not all(good for good, _, _ in verdicts_on("a page", text, folder)),
                f"planted: {name} is told"
            )
        wrong = missing_files(
            "docs/a-page.md",
            "[one](design.md#teams), [two](sheep.md), `src/base/` and `src/base/sheep.c`"
        )
        tap.verdict(
            wrong == ["sheep.md", "src/base/sheep.c"], "planted: files that are not there are told",
            wrong
        )
        wrong = unknown_names("`tsr_put(block)`, `tsr_sheep`, `tsr_wool_*`, `tsr_wait_*`", known)
        tap.verdict(
            wrong == ["tsr_sheep", "tsr_wool_"], "planted: calls that are not there are told", wrong
        )
    with open(os.path.join(ROOT, "examples", "README.md"), encoding="utf-8") as file:
        page = file.read()
    for example in sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))):
        name = os.path.basename(example)[:-2]
        tap.verdict(
            f"tessera cc examples/{name}.c" in page and f" ./{name}" in page,
            f"examples/README.md builds and runs {name}"
        )
    return tap.exit_code()


sys.exit(main())
