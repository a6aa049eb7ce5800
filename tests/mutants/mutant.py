"""
What a mutant is, where the lists of them come from, and how one becomes a
program.
"""
import fnmatch
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field

from source import Source
from weaken import CLASSES, weakenings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# where a mutant is made, as compilers name it
WORK = re.compile(r"\S*" + "/".join(("mutants", "work", "[^/]+", "")))
COMPILE_LIMIT_S = 120


class Refused(Exception):
    """A mutant that cannot be made: an edit that does not fit its source, or what does not
    compile."""


@dataclass
class Mutant:
    id: str
    target: str
    kind: str  # "hand", "library", "original", or a kind of weaken.CLASSES
    changed: str
    edits: list  # {"file", "before", "after"} or, of a weakening, {"file", "start", "end", "after"}
    instances: list
    classes: list = field(default_factory=list)  # what a report may be called
    # {"file", "text"}: where it may point; none: anywhere in the target's sources
    sites: list = field(default_factory=list)
    line: int = 0
    iris: str = ""
    thread: str = ""
    # sites as well: the signal, and who reads it, that a report has to name beside them
    link: list = field(default_factory=list)
    explained: str = ""  # why nobody can catch it, where its target says so


def _read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


def source_text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def targets():
    """Those of this folder, and those of workloads, which keep their own."""
    found = _read("targets.json")
    for path in sorted(glob.glob(os.path.join(ROOT, "kernels", "*", "mutants.json"))):
        found.update(json.loads(source_text(os.path.relpath(path, ROOT))))
    return found


def sources_of(target):
    """{file: names of the instances that run what it holds}."""
    return target.get("sources") or {unit: list(target["instances"]) for unit in target["kernels"]}


def originals(all_targets):
    """The programs. The library's tests are run as they are elsewhere."""
    for name, target in all_targets.items():
        if "small" not in target:
            continue
        yield Mutant(f"{name}:original", name, "original", "nothing", [], list(target["instances"]))


def hand(all_targets):
    for entry in _read("hand.json"):
        yield _written(entry, "hand", all_targets)


def library(all_targets):
    for entry in _read("library.json"):
        yield _written(entry, "library", all_targets)


def _written(entry, kind, all_targets):
    target = all_targets[entry["target"]]
    return Mutant(
        entry["name"],
        entry["target"],
        kind,
        entry["changed"],
        entry["edits"],
        entry.get("instances") or list(target["instances"]),
        entry.get("classes", []),
        entry.get("sites", []),
        0,
        entry.get("iris", ""),
        entry.get("thread", ""),
        entry.get("link", []),
    )


def generated(all_targets):
    """Every weakening of every target's sources."""
    for name, target in all_targets.items():
        if "small" not in target:
            continue  # a test of the library, no kernel
        for file, instances in sources_of(target).items():
            yield from weakened(name, file, instances, explanations_of(target, file))


def explanations_of(target, file):
    """
    [{"call", "kinds", "why"}]: the weakenings of a source that change nothing, and that no
    exhaustive search can show to be so, since the smallest instance is too large. The call begins
    with "call".
    """
    return target.get("explained", {}).get(file, [])


def weakened(name, file, instances, explanations):
    source, count = Source(source_text(file)), {}
    for weakening in weakenings(source):
        line = source.line_of(weakening.start)
        key = f"{name}:{os.path.basename(file)}:{line}:{weakening.operation}:{weakening.kind}"
        count[key] = count.get(key, 0) + 1
        before = " ".join(source.text[weakening.start : weakening.end].split())
        kind = weakening.kind if count[key] == 1 else f"{weakening.kind}:{count[key]}"
        yield Mutant(
            f"{name}:{os.path.basename(file)}:{line}:{weakening.operation}:{kind}",
            name,
            weakening.kind,
            f"{before}  =>  {' '.join(weakening.after.split())}",
            [
                {
                    "file": file, "start": weakening.start, "end": weakening.end,
                    "after": weakening.after
                }
            ],
            instances,
            CLASSES[weakening.kind],
            [],
            line,
            explained=next(
                (
                    each["why"]
                    for each in explanations
                    if weakening.call.startswith(each["call"]) and kind in each["kinds"]
                ), ""
            ),
        )


def selected(mutants, patterns):
    return [
        each
        for each in mutants
        if not patterns or any(fnmatch.fnmatch(each.id, pattern) for pattern in patterns)
    ]


def rotated(mutants, seed):
    """The same mutants in an order that the seed decides, and nothing else: a budget of time takes
    the first of them."""
    return sorted(mutants, key=lambda each: hashlib.sha256(f"{seed} {each.id}".encode()).digest())


# ---------------------------------------------------------------- from a mutant to a program


def pattern_of(text):
    """Matches the text however its lines are broken; white space at its ends as it is."""
    words = text.split()
    begin, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return re.escape(begin) + r"\s+".join(map(re.escape, words)) + re.escape(end)


def edited(mutant, more=()):
    """
    {file: its text with the mutant's edits, and more}. Lines may be broken elsewhere than in an
    edit, and stay where they are: what is cut out leaves its newlines.
    """
    texts = {}
    for edit in [*mutant.edits, *more]:
        text = texts.get(edit["file"]) or source_text(edit["file"])
        if "start" in edit:
            start, end = edit["start"], edit["end"]
        else:
            found = list(re.finditer(pattern_of(edit["before"]), text))
            if len(found) != 1:
                raise Refused(
                    f"{edit['file']} has {len(found)} places, and not one, that read:"
                    f" {edit['before']}"
                )
            start, end = found[0].span()
        lines = text.count("\n", start, end) - edit["after"].count("\n")
        texts[edit["file"]] = text[:start] + edit["after"] + "\n" * max(lines, 0) + text[end:]
    return texts


def sites_of(mutant, texts):
    """[(file, first line, last line)] of the statements that a report may point at."""
    return statements(mutant.sites, texts)


def statements(sites, texts):
    found = []
    for site in sites:
        text = texts.get(site["file"]) or source_text(site["file"])
        if text.count(site["text"]) != 1:
            raise Refused(
                f"{site['file']} has {text.count(site['text'])} places, and not one, that read:"
                f" {site['text']}"
            )
        start = text.index(site["text"])
        found.append(
            (
                site["file"], text.count("\n", 0, start) + 1,
                text.count("\n", 0, text.index(";", start)) + 1
            )
        )
    return found


class Made:
    """A mutant's programs: the one that runs, and where it takes more than smaller arguments, the
    one that can be exhausted."""

    def __init__(self, recipe, mutant, target, folder):
        self.path = recipe.make(mutant, target, edited(mutant), folder)
        self._recipe, self._mutant, self._target, self._folder = recipe, mutant, target, folder

    def small(self):
        more = self._target.get("small_edits")
        if not more:
            return self.path
        return self._recipe.make(
            self._mutant, self._target, edited(self._mutant, more), self._folder + "-small"
        )


class Recipe:
    """How the build compiles and links, as it has written it down."""

    def __init__(self, build):
        path = os.path.join(ROOT, build, "tests", "mutants", "recipe.json")
        with open(path, encoding="utf-8") as file:
            recipe = json.load(file)
        self.build = os.path.join(ROOT, build)
        self.compile, self.link = shlex.split(recipe["compile"]), shlex.split(recipe["link"])
        self.libraries, self.archive, self.command = (
            shlex.split(recipe["libraries"]), recipe["library"], recipe["command"]
        )

    def make(self, mutant, target, texts, folder):
        """Writes the mutant's sources below `folder`, compiles what they are read by, links, and
        returns the program."""
        os.makedirs(folder, exist_ok=True)
        units = target["kernels"] + _files(target.get("host", []))
        for name, text in texts.items():
            _write(os.path.join(folder, name), text)
        objects = []
        for unit in units:
            changed = (
                unit in texts
                or unit in target["kernels"]
                and any(name.endswith(".h") for name in texts)
            )
            objects.append(self._object(unit, target, folder, folder if changed else None))
        program = os.path.join(folder, mutant.target)
        self._do(self.link + ["-o", program] + objects + [self.archive] + self.libraries)
        return program

    def _object(self, unit, target, folder, shadow):
        """An object of the tree's, made once for all mutants of a target, or of the mutant's
        own."""
        kept = os.path.join(
            os.path.dirname(folder), "kept",
            "-".join(target.get("flags", ["plain"])).replace("/", "_")
        )
        made = os.path.join(shadow or kept, unit.replace("/", "_") + ".o")
        if not shadow and os.path.exists(made):
            return made
        os.makedirs(os.path.dirname(made), exist_ok=True)
        path, first = unit, []
        if shadow:
            path = os.path.join(shadow, unit)
            if not os.path.exists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                shutil.copy(os.path.join(ROOT, unit), path)
            first = [f"-I{shadow}", f"-I{shadow}/include", f"-I{shadow}/backends"]
            first += ["-iquote", os.path.dirname(unit), f"-fmacro-prefix-map={shadow}/="]
        flags = (
            first + target.get("flags", []) + [f'-DTSR_UNIT="{os.path.splitext(unit)[0]}"', "-w"]
        )
        scratch = f"{made}.{os.getpid()}.{hash(folder) & 0xFFFFFF:x}"
        # Two mutants may make what they share at one time: each its own, and the last one stays.
        self._do(self.compile[:1] + flags + self.compile[1:] + ["-o", scratch, path])
        os.replace(scratch, made)
        return made

    @staticmethod
    def _do(command):
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=COMPILE_LIMIT_S, check=False
        )
        if done.returncode:
            errors = (
                [line for line in done.stderr.splitlines() if "error" in line]
                or done.stderr.splitlines()
                or ["no reason given"]
            )
            raise Refused(WORK.sub("", errors[0]))


def _files(patterns):
    """The sources that are meant: names, or all in a folder."""
    return [
        os.path.relpath(path, ROOT)
        for pattern in patterns
        for path in sorted(glob.glob(os.path.join(ROOT, pattern)))
    ]


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
