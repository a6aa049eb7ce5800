"""
Reads what the device compilers made of the kernels, for the checks `isa` and
`ptx`: which units, their functions, and the golden lines of the probes and of
what is shipped. The build leaves it below build/device-debug/ (scons device),
or device-release.
"""
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "site_scons")
)
import variants  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTRY = "tsr_entry_"
GOLDEN_UNITS = (
    "probe_atomics", "probe_types", "probe_signals", "probe_adds", "probe_marked", "probe_order"
)
KEPT_UNIT = "tests/device/probe_order"  # of which kept.py says what must be left
SKIPPED = 77


def units():
    """Every unit with kernels that is built for GPUs: probes, the library, workloads, tools,
    examples."""
    sources = subprocess.run(
        ["ci/list-files", "tests/device/*.c", "src/*.c", "tools/*.c", "examples/*.c"], cwd=ROOT,
        capture_output=True, text=True, check=True
    ).stdout.split()
    return [os.path.splitext(source)[0] for source in sources if _has_kernels(source)] + [
        variant.unit for variant in variants.listed()
    ]


def _has_kernels(source):
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        text = file.read()
    return bool(re.search(r"^(TSR_KERNEL(?!_DECL)|PROBE_|TSR_TILE)", text, re.MULTILINE))


def folder_of(arch):
    """Where the code of an architecture is; None where none is built."""
    return next(
        filter(
            os.path.isdir, (f"{ROOT}/build/device-{kind}/{arch}" for kind in ("debug", "release"))
        ),
        None
    )


def assemblies(arch, suffix, tool):
    """[(unit, path)] for one architecture. Ends the check: skipped where nothing is built, failed
    where something is missing."""
    folder = folder_of(arch)
    if not folder:
        here = shutil.which(tool) or shutil.which(f"/usr/local/cuda/bin/{tool}")
        print(f"no code for {arch}: " + ("`scons device` makes it" if here else f"no {tool} here"))
        return None
    found = [(unit, f"{folder}/{unit}{suffix}") for unit in units()]
    optional = {variant.unit for variant in variants.listed() if not variant.few}
    left_out = [unit for unit, path in found if unit in optional and not os.path.exists(path)]
    if left_out:
        print(
            f"note: {len(left_out)} variants of kernels have no code for {arch} here: `scons device"
            " tiles=all` makes it"
        )
    found = [(unit, path) for unit, path in found if unit not in left_out]
    missing = [unit for unit, path in found if not os.path.exists(path)]
    newest = max((os.path.getmtime(os.path.join(ROOT, name)), name) for name in _sources())
    stale = [
        unit for unit, path in found if unit not in missing and os.path.getmtime(path) < newest[0]
    ]
    if missing:
        sys.exit(f"no code for {arch} of {', '.join(missing)}: run `scons device`")
    if stale:
        print(
            f"note: code for {arch} of {len(stale)} units is older than {newest[1]}; `scons device`"
            " looks whether that matters"
        )
    return found


def _sources():
    listed = subprocess.run(
        ["ci/list-files", "include/tessera/dev/*.h", "backends/*/dev/*.h"], cwd=ROOT,
        capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


# Kernels that run any litmus test: every order is in them, their words are data and flags at once,
# and a path through them takes any order for any other.
INTERPRETERS = "litmus_run_"


# Kernels with such a name take words that carry their own flag (tsr_take_marked), and so do
# collectives in one step. They go on without acquiring: what they look at is all that they are
# told.
MARKED = re.compile("marked|tsr_stream_|(all_to_all|all_reduce|reduce_scatter)$")


def is_shipped(unit):
    """Whether a unit is for users, and no probe."""
    return not unit.startswith("tests/")


class Golden:
    """The golden lines of one architecture: `function: token; token; ...`. With --bless they are
    written instead of compared."""

    def __init__(self, arch, what="", folder="tests/device"):
        self.path = os.path.join(ROOT, folder, "golden", f"{arch}{what}.txt")
        self.bless = "--bless" in sys.argv
        self.seen = {}
        self.lines = {}
        if not self.bless and os.path.exists(self.path):
            with open(self.path, encoding="ascii") as file:
                pairs = (
                    line.rstrip("\n").split(": ", 1) for line in file if not line.startswith("#")
                )
                self.lines = {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}

    def compare(self, function, tokens):
        """Problems of one function."""
        line = "; ".join(tokens)
        self.seen[function] = line
        if self.bless or self.lines.get(function) == line:
            return []
        expected = self.lines.get(function, "nothing: it is not in the file")
        return [f"{function}:\n    expected {expected}\n    found    {line}"]

    def finish(self):
        """Problems of the whole: functions that were not seen."""
        if not self.bless:
            return [
                f"{function} is a golden line, but no function"
                for function in self.lines
                if function not in self.seen
            ]
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="ascii") as file:
            file.write(
                "# What the ordered operations of each function compile to; compared by ci/checks,"
                " written by its option --bless.\n"
            )
            file.write(
                "# Look at every line that changes: it is the memory model, as the hardware gets"
                " it.\n"
            )
            file.writelines(f"{function}: {line}\n" for function, line in sorted(self.seen.items()))
        return []


class Shipped:
    """The golden lines of what is shipped: a workload's in its folder, all others beside those of
    the probes."""

    def __init__(self, arch):
        self.arch, self.goldens = arch, {}
        for folder in ["tests/device"] + sorted(
            {_workload(variant.unit) for variant in variants.listed()}
        ):
            self.goldens[folder] = Golden(arch, "-shipped", folder)

    def compare(self, unit, function, tokens, kind=""):
        """Problems of one kernel: its ordered operations, how often apart. All variants of a kind
        have the same."""
        golden = self.goldens[_workload(unit)]
        name, operations = function.split("__")[0] + kind, sorted(set(tokens)) or ["none"]
        if golden.bless and golden.seen.get(name, "; ".join(operations)) != "; ".join(operations):
            return [
                f"{function}: has other ordered operations than another variant of it:"
                f" {'; '.join(operations)}"
            ]
        return golden.compare(name, operations)

    def finish(self):
        return [problem for golden in self.goldens.values() for problem in golden.finish()]

    def seen(self):
        return sum(len(golden.seen) for golden in self.goldens.values())


class Allowances:
    """
    The shipped kernels that may use memory of a thread's own: where registers do not suffice, it
    costs speed. Lines of `ARCH-local.txt` beside the golden lines: a pattern of names and variants,
    bytes a thread at most, and why.
    """

    def __init__(self, arch):
        self.name, self.limits, self.used = f"{arch}-local.txt", [], set()
        for folder in ("tests/device/golden", "kernels/*/golden"):
            for path in sorted(glob.glob(os.path.join(ROOT, folder, self.name))):
                with open(path, encoding="ascii") as file:
                    rows = [line.split(None, 2) for line in file if not line.startswith("#")]
                self.limits += [(pattern, int(limit)) for pattern, limit, _ in rows]

    def allow(self, function, used_bytes):
        """Whether a kernel may use so many bytes."""
        fitting = [row for row in self.limits if fnmatch.fnmatchcase(function, row[0])]
        self.used.update(fitting if used_bytes else [])
        return used_bytes <= max((limit for _, limit in fitting), default=0)

    def unused(self, names):
        """Problems of lines that allow what no kernel needs. A build with tiles=few lacks some."""
        for pattern, _ in sorted(set(self.limits) - self.used):
            if fnmatch.filter(names, pattern):
                yield (
                    f"{self.name} allows {pattern} memory of its own, and none has any: take the"
                    " line out"
                )


def _workload(unit):
    """The folder of a unit's golden lines."""
    return os.path.dirname(os.path.dirname(unit)) if "/variants/" in unit else "tests/device"


def functions(path, begin):
    """[(name, [(line number, text)])] of the kernels of an assembly; `begin` matches the line that
    opens one and names it."""
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = begin.match(line)
            if match:
                found.append((match.group(1), []))
            elif found:
                found[-1][1].append((number, line))
    return found


def squeeze(tokens):
    """The same token again says nothing new."""
    return [token for i, token in enumerate(tokens) if i == 0 or token != tokens[i - 1]]


def report(problems, counted):
    """Prints, and ends the check. One that looked at no kernel is no pass."""
    for problem in problems:
        print(problem)
    print(counted)
    sys.exit(bool(problems))
