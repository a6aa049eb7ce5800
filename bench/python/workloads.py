"""
What `tessera bench --list` says: the workloads, with their patterns, parameters
and cases.
"""
import re

NAME = re.compile(r"[a-z][\w-]*")
SECTION = re.compile(r"  ([a-z ]+):(  .*)?")  # and headings of columns


def listed(text):
    """{name: {"patterns": [...], "parameters": [...], "cases": [...], "large cases": [...]}}; a
    case is its options as a line."""
    found, name, section = {}, None, None
    for line in text.splitlines():
        match = SECTION.fullmatch(line)
        if NAME.fullmatch(line):
            name, section = line, None
            found[name] = {"patterns": [], "parameters": [], "cases": [], "large cases": []}
        elif match:
            section = match.group(1)
        elif section and line.strip():
            found[name][section].append(line.split()[0] if section == "patterns" else line.strip())
    return found


def shaped(found):
    """The names of those whose problem is a shape M x N x K, which is what curves are over."""
    return [
        name for name, parts in found.items()
        if any(line.startswith("--shape ") for line in parts["parameters"])
    ]
