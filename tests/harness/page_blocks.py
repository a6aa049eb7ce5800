"""
The command blocks of pages, and whether a command has printed what its page
shows. tests/cli/pages.py runs them beside a build, and ci/newcomer on a machine
that has nothing.
"""
import re

COMMAND = re.compile(
    r"(?:[A-Z_]+=\S+ )*"
    r"(?:tessera|python3?|pip|apt-get|dpkg-buildpackage|torchrun|scons|export|sed|gdb|valgrind|man|"
    r"cc|nvcc|clang-\d+|"
    r"(?:build|bench|ci|findings|model|tests|tools|\.venv)/\S+)(?: |$)"
)

# bugs are planted there, so that there is something to find
EXITS = {r"tessera check .*\./(unsynchronised|broken|silent)": 1, r".*tessera run .*\./silent": 1}


def blocks_of(text):
    """The blocks of a page, each as its kind and lines: indented, or the language of a fence."""
    kind, block, before = None, [], ""
    for line in text.split("\n") + [""]:
        if kind is None and line.startswith("```"):
            kind = line[3:] or "indented"
        elif kind is None and line.startswith("    ") and not before:
            kind, block = "", [line[4:]]
        elif kind == "" and line.startswith("    "):
            block.append(line[4:])
        elif kind == "" or kind and line.startswith("```"):
            yield kind or "indented", block
            kind, block = None, []
        elif kind:
            block.append(line)
        before = line.strip()


def commands_of(block):
    """The commands of a block, without comments; empty where it holds something else."""
    lines = [line for line in re.sub(r"\\\n\s*", "", "\n".join(block)).split("\n") if line.strip()]
    commands = [re.sub(r"(^|\s+)#.*", "", line) for line in lines]
    return commands if commands and all(COMMAND.match(command) for command in commands) else []


def steady(line):
    """A line without what differs from run to run, and from edit to edit: times, progress,
    addresses, numbers of lines and of schedules."""
    line = re.sub(r"(\d+ of \d+|yes|no)(?= +(?:ok|wrong)$)", "EARLY", line.rstrip())
    line = re.sub(r"^(tessera: rank )\d+(?=, block)", r"\1N", line)  # the first to give up
    line = re.sub(
        r"(?<=\.c:)\d+|(?<=--replay )\d+|(?<=with seed )\d+|\b0x[0-9a-f]+", "N", line
    )
    return " ".join(re.sub(r"(?<![\w.])\d+\.\d+(?=x?(?:\s|$))", "TIME", line).split())


def alike(printed, wanted):
    """Whether the lines are the same, with any lines at `...`, and the lines of ranks in any
    order."""
    printed, wanted = [steady(line) for line in printed], [steady(line) for line in wanted]
    if all(re.match(r"(\[\d+\] )?rank ", line) for line in printed + wanted):
        return sorted(printed) == sorted(wanted)
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in wanted
    )
    return bool(re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)))


def steps_of(text):
    """The commands of a page in their order, each with the lines that the page shows of its output,
    or None."""
    steps = []
    for kind, block in blocks_of(text):
        commands = commands_of(block) if kind == "indented" else []
        if commands:
            steps += [(command, None) for command in commands]
        elif kind == "indented" and steps and steps[-1][1] is None:
            steps[-1] = (steps[-1][0], block)
    return steps
