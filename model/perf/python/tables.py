"""
How far predictions are from measurements: tables of errors, of what choices
lose, and of what more GPUs bring.
"""
import collections
import math
import statistics
from dataclasses import dataclass, field

import measured
from closed_forms import FORMS, TITLES

MODEL = "model"
NAMES = {MODEL: "simulation", **TITLES}


@dataclass
class Judged:
    """A point, and what was predicted of it."""

    point: measured.Point
    role: str
    machine: str
    command: tuple
    predicted: dict = field(default_factory=dict)  # {MODEL or a form: seconds}
    why: str = None  # there is no time of the model

    @property
    def seconds(self):
        return self.point.median_ns * 1e-9

    def error(self, by):
        """Signed; None: nothing was predicted."""
        time = self.predicted.get(by)
        return None if time is None else time / self.seconds - 1

    @property
    def pattern(self):
        return self.point.pattern + (", trials" if self.point.chosen_by == "trial" else "")


# ------------------------------------------------------------------ statistics


def at_ninety(values):
    """The least value that nine tenths of the values do not exceed."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]


def three(values):
    """Median, 90th percentile and worst of values without sign; null: there are none."""
    if not values:
        return None
    sizes = [abs(value) for value in values]
    return {
        "number": len(sizes), "median": statistics.median(sizes), "at_90": at_ninety(sizes),
        "worst": max(sizes), "bias": statistics.median(values)
    }  # fmt: skip


def errors(judged, by):
    return three([e for e in (j.error(by) for j in judged) if e is not None])


def percent(value, digits=1):
    return "-" if value is None else f"{100 * value:.{digits}f}"


def cell(found):
    if not found:
        return "-"
    return f"{percent(found['median'])} {percent(found['at_90'])} {percent(found['worst'])}"


def row(*cells):
    return "| " + " | ".join(str(text) for text in cells) + " |"


def head(*cells):
    return [row(*cells), row(*["---"] * len(cells))]


# ------------------------------------------------------------------ errors


def grouped(judged):
    """(role, workload, machine, pattern): those of a pattern, of a machine, of a workload, and
    all of a role; "" stands for all."""
    groups = collections.defaultdict(list)
    for j in judged:
        names = (j.point.workload, j.machine, j.pattern)
        for most in range(4):
            groups[(j.role, *names[:most], *[""] * (3 - most))].append(j)
    return groups


def accuracy(judged):
    """Rows of the table of errors, and the same as JSON."""
    lines = head(
        "which", "workload", "machine", "pattern", "points", "spread", NAMES[MODEL], "its bias",
        *[TITLES[form] for form in FORMS], "failed"
    )
    found = []
    groups = grouped(judged)
    for key in sorted(groups, key=lambda key: [(not part, part) for part in key]):
        group = groups[key]
        by = {name: errors(group, name) for name in NAMES}
        failed = sum(j.why is not None for j in group)
        names = [part or "all" for part in key]
        spreads = [j.point.spread for j in group if j.point.spread is not None]
        spread = statistics.median(spreads) if spreads else None
        lines.append(
            row(
                *names, len(group), percent(spread), cell(by[MODEL]),
                percent(by[MODEL] and by[MODEL]["bias"]), *[cell(by[form]) for form in FORMS],
                failed
            )
        )
        found.append(
            {
                **dict(zip(("which", "workload", "machine", "pattern"), names)),
                "points": len(group), "spread": spread, "failed": failed, "errors": by
            }
        )
    return lines, found


# ------------------------------------------------------------------ choices


def fastest_of(judged):
    """{(pattern, config): [judged of the least measured time, names of how it was chosen]}; one
    configuration may have been measured as a trial and again."""
    least = {}
    for j in judged:
        key = (j.point.pattern, j.point.config)
        kept, by = least.setdefault(key, [j, set()])
        by.add(j.point.chosen_by)
        if j.seconds < kept.seconds:
            least[key][0] = j
    return least


def plan_of(least, fastest):
    """What `tessera bench` chooses: the plan's configuration of the pattern, or of the one that
    Tessera takes for the fastest. None: not known, or nothing else was measured."""
    plans = [j for j, by in least.values() if "plan" in by]
    patterns = {pattern for pattern, _ in least}
    if len(patterns) > 1:
        plans = [j for j in plans if j.point.pattern == fastest]
    return plans[0] if len(plans) == 1 else None


def choice(judged, by, fastest=None):
    """What is lost by the choice of the model or a form, and by the plan's, against the best that
    was measured. None: there is nothing to choose."""
    least = fastest_of(j for j in judged if j.predicted.get(by) is not None)
    if len(least) < 2:
        return None
    all_ = [j for j, _ in least.values()]
    best = min(all_, key=lambda j: j.seconds)
    chosen = min(all_, key=lambda j: j.predicted[by])
    plan = plan_of(least, fastest)
    return {
        "configurations": len(all_), "best": named(best), "best_us": best.seconds * 1e6,
        "chosen": named(chosen), "chosen_loses": chosen.seconds / best.seconds - 1,
        "plan": plan and named(plan), "plan_loses": plan and plan.seconds / best.seconds - 1,
    }


def named(j):
    return f"{j.point.pattern} {measured.words(j.point.config)}"


def choices(judged, by=MODEL, fastest=None):
    """Rows, and JSON: among all configurations of a problem, and among those of one pattern.
    `fastest`: {(workload, machine, problem): the pattern that Tessera takes for the fastest}."""
    groups = collections.defaultdict(list)
    for j in judged:
        problem = (j.role, j.point.workload, j.machine, measured.words(j.point.problem))
        groups[(*problem, "")].append(j)
        groups[(*problem, j.point.pattern)].append(j)
    found = []
    for key, group in sorted(groups.items()):
        lost = choice(group, by, (fastest or {}).get((*key[1:3], group[0].point.problem)))
        if lost:
            names = ("which", "workload", "machine", "problem", "among")
            found.append({**dict(zip(names, (*key[:-1], key[-1] or "all patterns"))), **lost})
    lines = head(
        "which", "workload", "machine", "problem", "among", "configurations", "best", "us",
        f"the {NAMES[by]}'s", "loses %", "tessera bench's", "loses %"
    )
    lines += [
        row(
            *[c[name] for name in ("which", "workload", "machine", "problem", "among")],
            c["configurations"], c["best"], f"{c['best_us']:.1f}", c["chosen"],
            percent(c["chosen_loses"]), c["plan"] or "-", percent(c["plan_loses"])
        )
        for c in found
    ]
    return lines, found


def choices_in_short(found_by):
    """Of {MODEL or a form: what choices() has found}: a row for each, and the plans' beside it."""
    lines = head(
        "which", "among", "by", "choices", "loses %", "choices of both", "loses %",
        "tessera bench loses %"
    )
    for by, found in found_by.items():
        groups = collections.defaultdict(list)
        for c in found:
            among = "all patterns" if c["among"] == "all patterns" else "one pattern"
            groups[c["which"], among].append(c)
        for key, group in sorted(groups.items()):
            both = [c for c in group if c["plan_loses"] is not None]
            lines.append(
                row(
                    *key, NAMES[by], len(group), cell(three([c["chosen_loses"] for c in group])),
                    len(both), cell(three([c["chosen_loses"] for c in both])),
                    cell(three([c["plan_loses"] for c in both]))
                )
            )
    return lines


# ------------------------------------------------------------------ more GPUs


def growth(judged, few=2, many=4):
    """Of each pattern, times with many GPUs over those with few: measured, and how far the
    prediction is from it. Of plans alone, which may choose another configuration."""
    pairs = collections.defaultdict(dict)
    for j in judged:
        if j.point.chosen_by == "plan" and j.point.ranks in (few, many):
            pairs[j.point.unit, j.point.device, j.point.pattern][j.point.ranks] = j
    groups = collections.defaultdict(list)
    for (unit, device, pattern), pair in pairs.items():
        if len(pair) == 2:
            for name in (pattern, ""):
                groups[unit[0], device, name].append((pair[few], pair[many]))
    lines = head(
        "workload", "device", "pattern", "problems", f"measured, {many} over {few}",
        *[f"{name}, off by %" for name in NAMES.values()]
    )
    found = []
    for key in sorted(groups, key=lambda key: [(not part, part) for part in key]):
        group = groups[key]
        off = {name: three(offs(group, name)) for name in NAMES}
        ratio = statistics.median(b.seconds / a.seconds for a, b in group)
        names = [part or "all" for part in key]
        lines.append(
            row(*names, len(group), f"{ratio:.3f}", *[cell(off[name]) for name in NAMES])
        )
        found.append(
            {
                **dict(zip(("workload", "device", "pattern"), names)), "problems": len(group),
                "measured": ratio, "errors": off
            }
        )
    return lines, found


def offs(pairs, by):
    found = []
    for few, many in pairs:
        before, after = few.predicted.get(by), many.predicted.get(by)
        if before is not None and after is not None:
            found.append(after / before / (many.seconds / few.seconds) - 1)
    return found


# ------------------------------------------------------------------ what loses


def worst(judged, by=MODEL, most=10):
    """The points that are predicted worst, with the commands that show it."""
    sure = [j for j in judged if j.error(by) is not None]
    sure.sort(key=lambda j: -abs(j.error(by)))
    return [
        (
            f"{100 * j.error(by):+.1f} %: {j.predicted[by] * 1e6:.1f} us, measured"
            f" {j.seconds * 1e6:.1f} ({j.role}, {j.point.commit}, {j.point.file})", j
        )
        for j in sure[:most]
    ]
