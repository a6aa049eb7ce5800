#!/usr/bin/env python3
"""
What the Python package says of the C API, and what a compiler reads in the
headers: functions, sizes and members of structures, values of constants.
"""
import ctypes
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
HEADERS = "#include <stddef.h>\n" + "".join(
    f'#include "tessera/{name}.h"\n' for name in ("tessera", "launcher", "products")
)
COMPILER = ["gcc", "-std=c11", "-D_GNU_SOURCE", f"-I{ROOT}", f"-I{ROOT}/include", "-x", "c", "-"]


def declarations():
    """The module alone: the package loads the library."""
    path = os.path.join(ROOT, "python", "tessera", "_declarations.py")
    spec = importlib.util.spec_from_file_location("declarations", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def declared():
    """The functions of the headers: {name: (result, arguments)}."""
    text = subprocess.run(
        [*COMPILER, "-fsyntax-only", "-aux-info", "/dev/stdout"], input=HEADERS,
        capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"\*/ extern ([^()]*?)(tsr_\w+) \((.*)\);", text)
    return {name: (result.strip(), arguments.split(", ")) for result, name, arguments in found}


def compiled(folder, expressions):
    """The values of expressions in C."""
    program = os.path.join(folder, "values")
    lines = "".join(f'\tprintf("%lld\\n", (long long)({text}));\n' for text in expressions)
    source = f"#include <stdio.h>\n{HEADERS}int main(void)\n{{\n{lines}\treturn 0;\n}}\n"
    subprocess.run([*COMPILER, "-o", program], input=source, text=True, check=True)
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return [int(line) for line in output.split()]


def layout_of(name, structure):
    """[(expression in C, what Python takes it for)] of a structure, and its members in order."""
    expected = [(f"sizeof({name})", ctypes.sizeof(structure))]
    for member, _ in structure._fields_:
        field = getattr(structure, member)
        expected.append((f"offsetof({name}, {member})", field.offset))
        expected.append((f"sizeof((({name} *)0)->{member})", field.size))
    return expected


def main():
    module, known = declarations(), declared()
    verdict(len(known) > 50, "the headers declare functions", known)
    for name, result, arguments in module.functions(module.FUNCTIONS + module.PRODUCTS):
        verdict(
            known.get(name) == (result, arguments), f"{name} is declared alike",
            f"Python: {result} {arguments}\nC: {known.get(name)}"
        )
    with open(os.path.join(ROOT, "include", "tessera", "status.h"), encoding="ascii") as file:
        statuses = set(re.findall(r"^\t(TSR_ERR_\w+) =", file.read(), re.MULTILINE))
    taken = {name for name in module.CONSTANTS if name.startswith("TSR_ERR_")}
    verdict(statuses == taken, "each status is known", statuses ^ taken)
    layouts = {name: layout_of(name, taken) for name, taken in module.STRUCTURES.items()}
    layouts["constants"] = list(module.CONSTANTS.items())
    with tempfile.TemporaryDirectory() as folder:
        for name, expected in layouts.items():
            values = compiled(folder, [text for text, _ in expected])
            wrong = [
                f"{text}: Python {taken}, C {value}"
                for (text, taken), value in zip(expected, values)
                if taken != value
            ]
            verdict(not wrong, f"{name}: {len(expected)} values", "\n".join(wrong))
    return exit_code()


sys.exit(main())
