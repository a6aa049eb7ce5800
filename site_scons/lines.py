"""
Lines of device code of each kernel, for `tessera bench --list`. A kernel's code
is its body and the device functions below kernels/ that it calls, directly or
through others: functions of the device API are not counted. Blank lines and
comments are not counted. A line is one of communication where it belongs to a
statement that moves data to or from another rank, signals, or waits.
"""
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = "build/generated/kernels/device_functions.c"
DEFINITION = re.compile(r"(?:TSR_FN\b[^;{}]*?|TSR_KERNEL\w*\()\b(?P<name>\w+)\s*[(,]")
COMMUNICATES = re.compile(
    r"\btsr_(put|get|copy|store|signal|wait|barrier|lock|unlock|atomic|fence|all_gather"
    r"|all_reduce|reduce|all_to_all|broadcast|take_marked|frag_send|frag_add_sent)\w*\("
)


def _without_comments(text):
    """The same lines, without what stands in comments."""
    def blank(match):
        return re.sub(r"[^\n]", "", match.group())
    return re.sub(r"/\*.*?\*/", blank, text, flags=re.DOTALL)


def _functions(text):
    """(name, is a kernel, lines of its definition) of each device function."""
    lines, begin = _without_comments(text).split("\n"), None
    for number, line in enumerate(lines):
        if line.startswith(("TSR_FN", "TSR_KERNEL")):
            begin = number
        elif line == "}" and begin is not None:
            definition = [line for line in lines[begin:number + 1] if line.strip()]
            name = DEFINITION.match("\n".join(definition)).group("name")
            yield name, definition[0].startswith("TSR_KERNEL"), definition
            begin = None


def _communication(definition):
    """How many lines belong to statements that communicate."""
    body = definition[definition.index("{") + 1:-1]
    count, statement = 0, []
    for line in body:
        statement.append(line)
        if line.rstrip().endswith((";", "{", "}", ":")) or re.match(
            r"\s*(if|for|while|else)\b.*\)$", line
        ):
            count += len(statement) * bool(COMMUNICATES.search("\n".join(statement)))
            statement = []
    return count


def counted():
    """{function: (lines, of communication, functions it calls, whether it is a kernel)}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "kernels", "*", "*.h"))):
        with open(path, encoding="utf-8") as file:
            for name, kernel, definition in _functions(file.read()):
                if name in found:
                    raise SystemExit(
                        f"{os.path.relpath(path, ROOT)}: device function {name} is defined twice"
                    )
                found[name] = (kernel, definition)
    result = {}
    for name, (kernel, definition) in found.items():
        words = set(re.findall(r"\w+", "\n".join(definition)))
        calls = sorted(other for other in words & found.keys() if other != name)
        result[name] = (len(definition), _communication(definition), calls, kernel)
    return result


def _reached(name, functions):
    """A function and all that it calls, directly or through others."""
    seen, todo = set(), [name]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += functions[at][2]
    return seen


def text():
    """The table as C."""
    functions = counted()
    names = sorted(functions)
    rows = "".join(
        f"\t{{{functions[name][0]}, {functions[name][1]}}}, /* {name} */\n" for name in names
    )
    kernels = [name for name in names if functions[name][3]]
    reached = "".join(
        f"static const short {name}[] = {{"
        + ", ".join(str(names.index(other)) for other in sorted(_reached(name, functions)))
        + ", -1};\n"
        for name in kernels
    )
    listed = "".join(f'\t{{"{name}", {name}}},\n' for name in kernels)
    return (
        "/* Made by the build from kernels/: site_scons/lines.py. */\n"
        '#include <stddef.h>\n\n#include "kernels/lines.h"\n\n'
        f"const device_lines_t device_functions[DEVICE_FUNCTIONS_MOST] = {{\n{rows}}};\n\n"
        f"{reached}\n"
        f"const device_kernel_t device_kernels[] = {{\n{listed}\t{{NULL, NULL}},\n}};\n"
    )


def _write(target, source, env):
    with open(target[0].path, "w", encoding="utf-8") as file:
        file.write(source[0].read())


_made = []


def made(env):
    """The unit that the build writes, one for all builds."""
    if not _made:
        action = env.Action(_write, "  make    $TARGET")
        _made.append(env.Command("#" + TARGET, env.Value(text()), action)[0])
    return _made[0]
