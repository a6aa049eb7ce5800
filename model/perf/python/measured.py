"""
What bench/results/ holds of workloads: a point for each pattern that ran right,
and for each trial of a search.
"""
import argparse
import glob
import json
import os
import re
import statistics
from dataclasses import dataclass

OF_RESULTS = {  # what a result has beside the parameters that say what is computed
    "workload", "backend", "placement", "ranks", "seed", "integers", "warmup", "baseline",
    "patterns", "date", "device", "resident_blocks"
}  # fmt: skip
OF_PATTERNS = {  # what a pattern or a trial has beside the parameters that say how
    "pattern", "median_ns", "gflops", "times_ns", "traffic", "verdict", "faster_than_baseline",
    "over_floor", "tuned_on", "trials", "taxes", "samples", "abandoned", "best"
}  # fmt: skip
# What plans did before a parameter was there.
BEFORE = {("gemm-all-scatter", "parts"): "1"}
LATER = re.compile(r"(^|[-_])before[-_]")  # in names of files: what a later one was compared with


class Unfit(Exception):
    """Why a file is no results, in one sentence."""


@dataclass
class Point:
    """One configuration of one problem, and how long it took."""

    workload: str
    backend: str
    device: str
    ranks: int
    problem: tuple  # (key, text): shape, dtype and all else that says what is computed
    pattern: str
    config: tuple  # (key, text): tile, blocks and all else that says how; none is "0"
    median_ns: int
    spread: float  # of the middle half of the samples, over the median; None: not kept
    samples: int
    chosen_by: str  # "plan", "search", "memory" (of an earlier search), "command"; "trial"
    abandoned: bool  # the search gave it up
    commit: str
    date: str
    file: str

    @property
    def unit(self):
        """The problem, on any number of ranks of any device."""
        return (self.workload, self.problem)

    def value(self, key, default=None):
        return dict(self.problem + self.config).get(key, default)


def text_of(value):
    """A parameter as an option of the command has it, or None where it is none."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return "x".join(map(str, value)) if any(value) else None
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return None
    return str(value) if value not in (0, "") else None


def parameters(row, others):
    """Those of a result, of a pattern or of a trial; shapes first."""
    found = {key: text_of(value) for key, value in row.items() if key not in others}
    found = {key: text for key, text in found.items() if text is not None}
    return tuple(sorted(found.items(), key=lambda item: (item[0] not in ("shape", "tile"), item)))


def spread_of(times):
    if len(times) < 4:
        return None
    low, middle, high = statistics.quantiles(times, n=4)
    return (high - low) / middle if middle else None


def given(command, config):
    """Whether the command line says how."""
    return any("--" + key.replace("_", "-") in command for key, _ in config)


def points_of_pattern(result, row, command, common):
    verdict = row.get("verdict")
    if verdict and not verdict["ok"]:
        return
    config = parameters(row, OF_PATTERNS)
    if "tile" in row and "parts" not in row and (result["workload"], "parts") in BEFORE:
        config += (("parts", BEFORE[result["workload"], "parts"]),)
    by = (
        "search" if row.get("trials") else "memory" if row.get("tuned_on")
        else "command" if given(command, config) else "plan"
    )
    if row.get("median_ns"):
        yield Point(
            **common, pattern=row["pattern"], config=config, median_ns=row["median_ns"],
            spread=spread_of(row.get("times_ns", [])), samples=len(row.get("times_ns", [])),
            chosen_by=by, abandoned=False
        )
    for trial in row.get("trials") or []:
        if trial.get("median_ns"):
            yield Point(
                **common, pattern=row["pattern"], config=parameters(trial, OF_PATTERNS),
                median_ns=trial["median_ns"], spread=None, samples=trial["samples"],
                chosen_by="trial", abandoned=trial["abandoned"]
            )


def points_of_file(path):
    """The points of a file that bench/run-results or `tessera bench --json` has written."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        raise Unfit(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise Unfit(f"{path} is no JSON ({error})") from error
    if "patterns" in report:
        report = {"runs": [{"code": 0, "command": [], "result": report}]}
    for run in report.get("runs", []):
        result = run.get("result")
        if run["code"] or not result:
            continue
        common = {
            "workload": result["workload"], "backend": result["backend"],
            "device": result["device"], "ranks": result["ranks"],
            "problem": parameters(result, OF_RESULTS), "commit": report.get("commit", "unknown"),
            "date": result["date"], "file": os.path.basename(path),
        }
        for row in result["patterns"]:
            yield from points_of_pattern(result, row, run["command"], common)


def newest(points):
    """Of points that repeat one another the newest: the code has changed between them. What a plan
    chooses takes the place of what it chose before, whatever that was."""
    kept = {}
    for point in sorted(points, key=lambda p: (p.date, p.samples)):
        how = () if point.chosen_by in ("plan", "search", "memory") else point.config
        kept[point.unit, point.device, point.ranks, point.pattern, point.chosen_by, how] = point
    return sorted(
        kept.values(),
        key=lambda p: (p.workload, p.device, p.ranks, p.problem, p.pattern, p.chosen_by, p.config)
    )


def read(folder, since=""):
    """All points of a folder of results that are of this date or later, the newest of each."""
    paths = sorted(glob.glob(os.path.join(folder, "*.json")))
    if not paths:
        raise Unfit(f"{folder} has no results: no file *.json")
    found = []
    for path in paths:
        if not LATER.search(os.path.basename(path)):
            found += [point for point in points_of_file(path) if point.date >= since]
    return newest(found)


def kind_of(device, named=()):
    """What machines of such devices are called: h200 of "NVIDIA H200". `named`: pairs of the
    beginning of a device's name, and the kind."""
    for beginning, kind in named:
        if device.startswith(beginning):
            return kind
    match = re.search(r"\b(?:MI|GB|[A-Z])\d+\w*", device)
    if not match:
        raise Unfit(f"no kind of machine is known of the device '{device}': --machine-map says it")
    return match.group(0).lower()


def pair_of(text):
    """What --machine-map takes: the beginning of a device's name, and the kind."""
    device, _, kind = text.partition("=")
    if not device or not kind:
        raise argparse.ArgumentTypeError(f"'{text}' is not DEVICE=KIND, such as 'NVIDIA H200=h200'")
    return device, kind


def machine_of(point, named=()):
    return f"{kind_of(point.device, named)}x{point.ranks}"


def words(parameters_):
    return " ".join(f"{key.replace('_', '-')} {text}" for key, text in parameters_)


def options(parameters_):
    """The parameters as options of the command."""
    return [
        word for key, text in parameters_ for word in ("--" + key.replace("_", "-"), text)
    ]
