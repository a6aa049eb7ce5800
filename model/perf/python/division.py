"""
Which points the model may be fitted to, which are for looking at while it is
worked on, and which stay hidden until it is done.
"""
import collections
import hashlib
import json

from measured import Unfit

MOST = {"patterns": 2, "shapes": 3, "coefficients": 6}
FITTED, VIEW, HIDDEN = "fitted", "tuning view", "hidden"


def read_fitting(path):
    """The fitting set, as model/perf/fitting.json says it."""
    try:
        with open(path, encoding="utf-8") as file:
            fitting = json.load(file)
    except (OSError, ValueError) as error:
        raise Unfit(f"{path} cannot be read: {error}") from error
    lacking = {"workload", "device", "ranks", "dtype", *MOST} - set(fitting)
    if lacking:
        raise Unfit(f"{path} lacks {', '.join(sorted(lacking))}")
    for key, most in MOST.items():
        if len(set(fitting[key])) != len(fitting[key]) or len(fitting[key]) > most:
            raise Unfit(f"{path}: {key}: at most {most}, each once")
    return fitting


def is_fitted(point, fitting):
    return (
        point.workload == fitting["workload"] and point.device == fitting["device"]
        and point.ranks == fitting["ranks"] and point.value("dtype") == fitting["dtype"]
        and point.pattern in fitting["patterns"] and point.value("shape") in fitting["shapes"]
        and point.chosen_by != "trial"
    )  # fmt: skip


def drawn(seed, *what):
    """A number that the seed draws for something, the same on every machine."""
    return hashlib.sha256(repr((seed, *what)).encode()).digest()


def divide(points, fitting, seed, share=0.5):
    """
    A role for each point, in their order. Of what is held out whole problems are drawn, for all
    patterns and any number of GPUs: who has seen one pattern at a shape knows much of the others.
    Each problem is drawn by itself, so that what was hidden stays so when results are added.
    """
    return [
        FITTED if is_fitted(point, fitting)
        else VIEW if int.from_bytes(drawn(seed, point.unit)[:4], "big") < share * 2 ** 32
        else HIDDEN for point in points
    ]  # fmt: skip


def some_trials(points, most, within, seed):
    """The points without most trials of searches: of each search the best, and others that took at
    most `within` times as long, as the seed draws them, `most` in all."""
    kept, searches = [], collections.defaultdict(list)
    for point in points:
        if point.chosen_by == "trial":
            searches[point.unit, point.device, point.ranks, point.pattern].append(point)
        else:
            kept.append(point)
    for trials in searches.values():
        best = min(trials, key=lambda p: p.median_ns)
        rest = [p for p in trials if p is not best and p.median_ns <= within * best.median_ns]
        rest.sort(key=lambda p: drawn(seed, p.unit, p.pattern, p.config))
        kept += ([best] + rest)[:most]
    return kept
