"""The tools that a mutant is run under, and what each of them says."""
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field

import mutant as mutants

# The verdicts, best first: of several instances the best counts.
CAUGHT, OTHERWISE, EQUIVALENT, EXPLAINED, MISSED, BROKEN = (
    "caught", "caught otherwise", "equivalent", "explained", "missed", "does not compile"
)

HOST_CLASSES = ("program-failure", "collective-mismatch")  # these may point at no line of a kernel


@dataclass
class Verdict:
    state: str
    why: str = ""
    findings: list = field(default_factory=list)


@dataclass
class Run:
    code: int  # None: it had to be ended
    text: str


def run(command, limit_s, environment):
    """Under a time limit, in a process group of its own, nothing of which is left."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=mutants.ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        output.seek(0)
        return Run(code, output.read().decode(errors="replace"))


def environment_of(instance, extra):
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")
    }
    environment.update(OPENBLAS_NUM_THREADS="1", TESSERA_DEADLINE="2s", TESSERA_HEAP_SIZE="16M")
    if "resident" in instance:
        environment["TESSERA_CPUEMU_RESIDENT_BLOCKS"] = str(instance["resident"])
    environment.update(extra)
    return environment


class Plain:
    """The parallel executor, some runs: a wrong result, an expired wait and a misuse are what it
    can show."""

    name = "plain"
    judges = False  # whether a mutant that it misses is a failure

    def __init__(self, options):
        self.recipe = mutants.Recipe(options.build)
        self.runs, self.limit_s = options.runs, options.limit

    def verdict(self, mutant, target, program, sites):
        del sites  # a wrong result has none
        for name in mutant.instances:
            for _ in range(self.runs):
                why, said = self.once(target, target["instances"][name], program.path)
                if why:
                    return Verdict(CAUGHT, why, [said])
        return Verdict(MISSED)

    def command(self, instance, program):
        if "seeds" in instance:  # a test whose bug shows in a schedule of slower threads
            head = [self.recipe.command, "check", "-n", "3", "--seeds", str(instance["seeds"])]
            head += ["--nodes", str(instance["nodes"])] if "nodes" in instance else []
            return head + [program] + instance.get("arguments", [])
        if "ranks" not in instance:
            return [program]  # a test of the library: it starts its worlds itself
        head = [
            self.recipe.command, "run", "-n", str(instance["ranks"]), "--placement", "thread", "--",
            program
        ]
        return head + instance.get("arguments", [])

    def once(self, target, instance, program):
        """What is wrong with one run, "" where nothing is, and the line that says so."""
        # a test of the library runs many worlds
        limit_s = self.limit_s if "ranks" in instance else 6 * self.limit_s
        # what carries messages between nodes is looked for beside the program, which lies elsewhere
        carrier = os.path.join(self.recipe.build, "plugins", "libtessera-net-ucx.so")
        environment = environment_of(instance, {"TESSERA_NET_PLUGIN": carrier})
        done = run(self.command(instance, program), limit_s, environment)
        said = _first_line(done.text)
        if done.code == 0:
            return ("" if _prints_right(target, instance, done.text) else "wrong result"), said
        return (_kind_of_failure(done) if "ranks" in instance else "failing test"), said


JUDGED_WRONG = re.compile(
    r"^(?!tessera: ).*(?:\bwrong\b| is \S+, not ).*$", re.MULTILINE | re.IGNORECASE
)


def _first_line(text):
    """The program's own verdict, or the library's sentence, or else the first line."""
    wrong, lines = JUDGED_WRONG.search(text), text.strip().splitlines() or ["not a word"]
    return (
        wrong.group(0)
        if wrong
        else next((line for line in lines if line.startswith("tessera: ")), lines[0])[:300]
    )


def _kind_of_failure(done):
    if done.code is None:
        return "hangs"
    if done.code < 0 or done.code > 128 or "killed by signal" in done.text:
        return "crash"
    if JUDGED_WRONG.search(done.text):
        return "wrong result"
    return "deadline" if " waited " in _first_line(done.text) else "error"


def _prints_right(target, instance, text):
    """A program that does not judge its result itself prints it: a line for each rank."""
    if "prints" not in target:
        return True
    ranks = instance["ranks"]
    for rank in range(ranks):
        words = {"rank": rank, "ranks": ranks, "from_previous": 1000 + (rank + ranks - 1) % ranks}
        if not re.search(target["prints"].format(**words), text, re.MULTILINE):
            return False
    return True


class Tsan(Plain):
    """The same in a build with ThreadSanitizer, which names no class but the data race."""

    name = "tsan"
    RACES = ("data-race", "scope-race", "reuse", "unwritten-read")
    FRAME = re.compile(r"^\s+#\d+ .* (\S+?):(\d+)(?::\d+)?(?: \(|$)", re.MULTILINE)

    def __init__(self, options):
        super().__init__(options)
        self.recipe = mutants.Recipe(options.tsan_build)

    def verdict(self, mutant, target, program, sites):
        best = Verdict(MISSED)
        for name in mutant.instances:
            if "seeds" in target["instances"][name]:
                continue  # `tessera check` is no run that ThreadSanitizer could watch
            for _ in range(self.runs):
                verdict = self.once_watched(
                    mutant, target, target["instances"][name], program.path, sites
                )
                if verdict.state == CAUGHT:
                    return verdict
                if verdict.state == OTHERWISE:
                    best = verdict
                    break  # what it does otherwise, it does each time, and slowly
        return best

    def once_watched(self, mutant, target, instance, program, sites):
        environment = environment_of(instance, {"TSAN_OPTIONS": "exitcode=66 halt_on_error=0"})
        limit_s = 2 * self.limit_s if "ranks" in instance else 12 * self.limit_s
        done = run(self.command(instance, program), limit_s, environment)
        if "WARNING: ThreadSanitizer" in done.text:
            where = [(file, int(line)) for file, line in self.FRAME.findall(done.text)]
            right = set(mutant.classes) & set(self.RACES) and points_right(
                where, mutant, target, sites
            )
            state = CAUGHT if right or mutant.kind in ("original", "library") else OTHERWISE
            return Verdict(state, "data race", where[:8])
        if done.code:
            return Verdict(OTHERWISE, _kind_of_failure(done), [_first_line(done.text)])
        if done.code == 0 and not _prints_right(target, instance, done.text):
            return Verdict(OTHERWISE, "wrong result", [_first_line(done.text)])
        return Verdict(MISSED) if done.code == 0 else Verdict(OTHERWISE, "hangs")


class Check:
    """`tessera check`: the class and the site of a finding have to be right."""

    name = "check"
    judges = True

    def __init__(self, options):
        self.recipe = mutants.Recipe(options.build)
        self.command = (
            shlex.split(options.check)
            if options.check
            else [self.recipe.command, "check", "--no-slowdown"]
        )
        self.options = options
        asked = run(self.command + ["--help"], options.limit, environment_of({}, {}))
        self.here = asked.code == 0

    def verdict(self, mutant, target, program, sites):
        if mutant.kind == "library" or "small" not in target:
            return Verdict(MISSED, "not a kernel")
        best = Verdict(MISSED)
        for name in mutant.instances:
            best = _better(
                best,
                self.judged(
                    mutant, target, self.report(target["instances"][name], program.path, []), sites
                )
            )
            if best.state == CAUGHT:
                return best
        if best.state == MISSED and not best.why and mutant.explained:
            return Verdict(EXPLAINED, mutant.explained)
        if (
            best.state == MISSED
            and not best.why
            and mutant.kind != "original"
            and self.options.exhaustive
        ):
            return self.exhausted(mutant, target, program, sites)
        return best

    def report(self, instance, program, more, seeds=None):
        """What it wrote: the report, and "" or why there is none."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            options = [
                "-n", str(instance["ranks"]), "--seeds", str(seeds or self.options.seeds), "--json",
                path
            ]
            if "resident" in instance:
                options += ["--resident-blocks", str(instance["resident"])]
            line = self.command + options + more + [program] + instance.get("arguments", [])
            done = run(
                line, self.options.check_limit,
                environment_of(instance, {"TESSERA_DEADLINE": "30s"})
            )
            if done.code is None:
                return None, "hangs"
            try:
                with open(path, encoding="utf-8") as file:
                    return json.load(file), "" if done.code in (0, 1) else f"exit code {done.code}"
            except (OSError, ValueError):
                return (
                    None,
                    f"exit code {done.code} and no report: "
                    + (done.text.strip().splitlines() or ["no word"])[-1][:120]
                )

    def judged(self, mutant, target, answer, sites):
        report, why = answer
        if report is None:
            return Verdict(MISSED, why)
        findings = [
            each
            for each in report.get("findings", [])
            if each.get("severity", "finding") != "warning"
        ]
        told = [summary(each) for each in findings]
        if not findings:
            return Verdict(MISSED, why)
        if mutant.kind == "original":
            return Verdict(CAUGHT, told[0]["class"], told)
        for finding, told_one in zip(findings, told):
            where = [tuple(site) for site in told_one["sites"]]
            if (
                finding.get("class") in mutant.classes
                and (
                    points_right(where, mutant, target, sites)
                    or not where
                    and finding.get("class") in HOST_CLASSES
                )
                and links_right(finding, mutant)
            ):
                return Verdict(CAUGHT, told_one["class"], told)
        return Verdict(OTHERWISE, told[0]["class"], told)

    def exhausted(self, mutant, target, program, sites):
        """Where the seeds show nothing: every schedule of small instances of what they ran."""
        path = program.small()
        for name in mutant.instances:
            report, why = self.report(
                target["small"][name], path, ["--strategy", "exhaustive"], self.options.schedules
            )
            verdict = self.judged(mutant, target, (report, why), sites)
            if verdict.state != MISSED or report is None:
                return verdict
            if report.get("complete") is not True:
                return Verdict(MISSED, "not exhausted")
        return Verdict(EQUIVALENT, "exhaustive")


ORDER = (CAUGHT, OTHERWISE, EQUIVALENT, EXPLAINED, MISSED)


def _better(one, other):
    return other if ORDER.index(other.state) < ORDER.index(one.state) else one if one.why else other


def summary(finding):
    return {"class": finding.get("class", ""), "sites": [list(site) for site in places(finding)]}


def places(node):
    """Every file and line in a finding, wherever it stands."""
    if isinstance(node, dict):
        if isinstance(node.get("file"), str) and isinstance(node.get("line"), int):
            yield os.path.normpath(node["file"]), node["line"]
        for value in node.values():
            yield from places(value)
    elif isinstance(node, list):
        for value in node:
            yield from places(value)
    elif isinstance(node, str):
        match = re.fullmatch(r"(\S+\.[ch]):(\d+)", node)
        if match:
            yield os.path.normpath(match.group(1)), int(match.group(2))


def points_right(where, mutant, target, sites):
    """A written mutant says where; of a weakening the report has to point into the sources that it
    is in."""
    if sites:
        return any(
            _is_file(file, name) and first <= line <= last
            for file, line in where
            for name, first, last in sites
        )
    inside = list(mutants.sources_of(target)) + target["kernels"]
    return any(_is_file(file, name) for file, _ in where for name in inside)


def links_right(finding, mutant):
    """Where a written mutant says which edge is missing, the report names it: what was signalled,
    and who has read that."""
    wanted = mutants.statements(mutant.link, mutants.edited(mutant))
    told = [
        (os.path.normpath(each.get("file", "")), each.get("line", 0))
        for each in finding.get("access", [])[2:]
        if "call" in each
    ]
    return (
        not wanted
        or len(told) == len(wanted)
        and all(
            _is_file(file, name) and first <= line <= last
            for (file, line), (name, first, last) in zip(told, wanted)
        )
    )


def _is_file(path, name):
    path = os.path.normpath(path)
    return path == name or path.endswith("/" + name) or name.endswith("/" + path) and "/" in path
