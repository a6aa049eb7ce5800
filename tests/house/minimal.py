#!/usr/bin/env python3
"""
README's two commands begin on a minimal Debian, where no compiler, no SCons and
no Python is on PATH before ci/install-deps installs them. Here PATH has the
commands of the packages of priority "required" alone. An apt-get in it links
the commands of the packages that it is asked for, as far as this machine has
them. A scons in it builds nothing, and refuses a compiler that is not on PATH.
ci/newcomer runs the same commands for real.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import tap  # noqa: E402

CI = os.path.join(HERE, "..", "..", "ci")
OF_PACKAGE = re.compile(r"(?:/usr)?/s?bin/[^/]+$")

# What apt-get does in place of the real one: another process of this script.
APT_GET = """#!/bin/sh
[ "$1" = update ] && exit
PATH=/usr/sbin:/usr/bin:/sbin:/bin exec {python} {script} --install {folder} "$@"
"""
SCONS = """#!/bin/sh
for word; do
	case $word in
	CC=*) compilers="$compilers ${word#CC=}" ;;
	builds=*) compilers="$compilers $(echo "${word#builds=}" | sed 's/-[a-z]*\\(,\\|$\\)/ /g')" ;;
	esac
done
for compiler in $compilers; do
	command -v "$compiler" >/dev/null || {
		echo "scons: CC=$compiler: no such program on PATH"
		exit 2
	}
done
mkdir -p build/gcc-release
printf '#!/bin/sh\\necho "ran $*"\\n' >build/gcc-release/tessera
printf '#!/bin/sh\\necho "ok - a test"\\n' >a_test.sh
printf 'build/gcc-debug %s/a_test.sh\\n' "$PWD" >build/ci.list
chmod +x build/gcc-release/tessera a_test.sh
"""
MUTANTS = "#!/bin/sh\necho 1 0 0 >build/mutants.tally\n"

DEMO_ENDS, TEST_ENDS = r"ran bench .*", r"\d+ passed, 0 failed, .*"
CASES = [
    ("ci/demo alone", [["ci/demo"]], DEMO_ENDS),
    ("ci/test alone", [["ci/test"]], TEST_ENDS),
    # Python is there then, and the second compiler is not.
    ("ci/test behind ci/demo", [["ci/demo"], ["ci/test"]], TEST_ENDS),
]


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def commands_of(packages):
    """The paths of the commands of packages, and those by which Debian's alternatives name them."""
    paths = {path for path in lines_of("dpkg", "-L", *packages) if OF_PACKAGE.match(path)}
    real = {os.path.realpath(path) for path in paths}
    links = (
        entry.path
        for folder in ("/usr/bin", "/usr/sbin")
        for entry in os.scandir(folder)
        if entry.is_symlink()
    )
    return paths | {
        path
        for path in links
        if os.readlink(path).startswith("/etc/alternatives/") and os.path.realpath(path) in real
    }


def link(packages, folder):
    for path in commands_of(packages):
        place = os.path.join(folder, os.path.basename(path))
        if not os.path.lexists(place):
            os.symlink(path, place)


def minimal():
    """The packages that every Debian has, and apt."""
    told = lines_of("dpkg-query", "-W", "-f", "${Essential} ${Priority} ${Package}\n")
    rows = [line.split() for line in told]
    return ["apt"] + [row[-1] for row in rows if row[0] == "yes" or "required" in row]


def install(folder, *words):
    """What apt-get install does: the packages named, and those that they depend on."""
    named = [word for word in words if word[0] not in "-=" and word != "install"]
    without = [f"--no-{kind}" for kind in (
        "recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"
    )]  # fmt: skip
    tree = lines_of("apt-cache", "depends", "--recurse", "--installed", *without, *named)
    link({line for line in tree if line[:1].isalnum()} | set(named), folder)
    write(os.path.join(folder, "scons"), SCONS)


def write(path, text):
    if os.path.lexists(path):
        os.remove(path)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)


def run(commands, folder):
    """Runs commands in a fresh clone on a machine of its own. Returns how the last one ended."""
    programs, clone = os.path.join(folder, "bin"), os.path.join(folder, "clone")
    os.mkdir(programs)
    link(minimal(), programs)
    shutil.copytree(CI, os.path.join(clone, "ci"))
    write(os.path.join(clone, "ci", "mutants"), MUTANTS)
    write(
        os.path.join(programs, "apt-get"),
        APT_GET.format(python=sys.executable, script=os.path.abspath(__file__), folder=programs)
    )
    for command in commands:
        ended = subprocess.run(
            [os.path.join(clone, command[0]), *command[1:]], cwd=folder,
            env={"PATH": programs, "HOME": folder}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False
        )  # fmt: skip
    return ended


def main():
    if sys.argv[1:2] == ["--install"]:
        return install(*sys.argv[2:])
    if not shutil.which("dpkg-query"):
        print("ok - a minimal Debian # skip no dpkg")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        link(minimal(), folder)
        there = [name for name in ("python3", "gcc", "scons", "make") if name in os.listdir(folder)]
        tap.verdict(not there, "a minimal Debian has no tools to build with", there)
        tap.verdict("sh" in os.listdir(folder), "it has a shell")
    for name, commands, last in CASES:
        with tempfile.TemporaryDirectory() as folder:
            ended = run(commands, folder)
        printed = ended.stdout.splitlines() or [""]
        tap.verdict(
            ended.returncode == 0 and re.fullmatch(last, printed[-1]),
            f"{name} begins with nothing but a minimal Debian",
            f"exit code {ended.returncode}\n" + "\n".join(printed[-20:])
        )
    return tap.exit_code()


sys.exit(main())
