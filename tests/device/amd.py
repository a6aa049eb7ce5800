"""
What is checked of the kernels that clang made for AMD: of every version of
clang the rules, and of the one whose golden lines are kept those lines too.
"""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
import assembly
import counts
import kept
import paths
import clangs  # assembly.py knows its folder

ARCHES = ("gfx942", "gfx90a")
BEGIN = re.compile(rf"({assembly.ENTRY}\w+):")
ORDERED = re.compile(r"buffer_|atomic|(?:load|store) .*(?:sc0|sc1|glc)")
# What the intermediate code says of an atomic whose memory is a device's own.
PROMISE = re.compile(r"!amdgpu\.no\.(remote|fine\.grained)\.memory")
# gfx90a's own arithmetic on floats in memory.
NATIVE_FLOAT = re.compile(r"(?:global|flat)_atomic_(?:pk_)?(?:add|min|max)_(?:f|bf)(?:16|32|64)\b")


def broken_rules(where, function, body):
    for number, sentence in paths.broken(body):
        unflagged = function.startswith(assembly.INTERPRETERS) or assembly.MARKED.search(function)
        if not (unflagged and " flag" in sentence):
            yield f"{where}:{number}: {sentence}"
    for instruction in body:
        if instruction.text.startswith(("s_swappc", "s_call")):
            yield f"{where}:{instruction.number}: a call is left: callbacks and the API are inlined"


def unacquired_polls(where, body):
    """gfx942: a kernel that looks at flags can invalidate before it goes on, whatever it reads
    then."""
    for number in paths.unfollowed_polls(body):
        yield f"{where}:{number}: a load at system scope, and no buffer_inv sc0 sc1 comes after it"


def lost_sums(arch, where, body):
    """gfx90a: arithmetic on floats that does nothing where memory is fine-grained, as heaps are."""
    for instruction in body:
        if arch == "gfx90a" and NATIVE_FLOAT.match(instruction.text):
            yield (
                f'{where}:{instruction.number}: "{instruction.text}" does nothing in memory that'
                " other devices see"
            )


def promises(where, lines):
    """Atomics of which intermediate code promises that no other device's memory is touched: heaps
    are in it. The port says otherwise of each (TSR_HIP_ANY_MEMORY in backends/hip/dev/order.h)."""
    for number, line in enumerate(lines, 1):
        found = sorted(set(PROMISE.findall(line)))
        if found and "atomicrmw" in line:
            kinds = " or ".join(kind.replace(".", "-") for kind in found)
            yield f"{where}:{number}: an atomic that promises to touch no {kinds} memory"


def readings(folder):
    """Problems of what the front end left below a folder: {folder}/**/*.ll."""
    found = sorted(glob.glob(f"{folder}/**/*.ll", recursive=True))
    if not found:
        at = os.path.relpath(folder, assembly.ROOT)
        yield f"no intermediate code in {at}: run `scons device`"
    atomics = 0
    for path in found:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
        atomics += sum("atomicrmw" in line for line in lines)
        yield from promises(os.path.relpath(path, assembly.ROOT), lines)
    if found and not atomics:
        yield f"{len(found)} files of intermediate code, and no atomic in any: the search is blind"


def by_known_clang(arch, found, what):
    """Whether the clang made these assemblies of which the checks know `what`; says so if not."""
    version = clangs.version_in(found[0][1])
    if version != clangs.KNOWN:
        print(f"{arch}: by clang {version}: {what} are of clang {clangs.KNOWN}, and are left out")
    return version == clangs.KNOWN


def check(arch, found, by_line=True):
    """Problems, and a line that counts what was looked at. by_line: with golden lines."""
    probes, shipped, problems, count = assembly.Golden(arch), assembly.Shipped(arch), [], 0
    for unit, path in found:
        for name, lines in assembly.functions(path, BEGIN):
            function, body = name[len(assembly.ENTRY):], paths.instructions(lines)
            where = f"{arch}: {unit}: {function}"
            tokens = [instruction.token for instruction in body if instruction.token]
            count += 1
            problems += broken_rules(where, function, body)
            problems += lost_sums(arch, where, body)
            if "RELAXED" not in function and not assembly.MARKED.search(function):
                problems += unacquired_polls(where, body)
            if unit == assembly.KEPT_UNIT:
                names = kept.of_isa(body)
                problems += [f"{where}: {lost}" for lost in kept.problems(function, names)]
            if os.path.basename(unit) in assembly.GOLDEN_UNITS:
                problems += [
                    f"{where}: {problem}" for problem in counts.problems(arch, function, tokens)
                ]
                differing = probes.compare(function, assembly.squeeze(tokens))
                problems += differing if by_line else []
            if assembly.is_shipped(unit) and by_line:
                problems += shipped.compare(
                    unit, function, [token for token in tokens if ORDERED.match(token)]
                )
    problems += (probes.finish() + shipped.finish()) if by_line else []
    problems += [] if count else [f"{arch}: no kernel found"]
    return (
        problems,
        (
            f"{arch}: {count} kernels in {len(found)} units; {len(probes.seen)} probes,"
            f" {shipped.seen()} shipped"
        )
    )
