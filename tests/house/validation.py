#!/usr/bin/env python3
"""
bench/validate-model, on made-up measurements and with a made-up `tessera sim`:
the arithmetic of its tables and of the formulas, the commands that it runs, and
what it keeps hidden.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [
    os.path.join(ROOT, "tests", "harness"), os.path.join(ROOT, "model", "perf", "python")
]
import closed_forms  # noqa: E402
import division  # noqa: E402
import measured  # noqa: E402
import tables  # noqa: E402
import tap  # noqa: E402

# Answers with the times of times.json beside it: those of the first key whose words are all in the
# command line. It keeps a list of its command lines.
FAKE = """#!{python} -SE
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
words = sys.argv[1:]
with open(os.path.join(here, "log"), "a") as log:
    print(*words[: words.index("--json")], file=log)
options = {{w: words[i + 1] for i, w in enumerate(words[:-1]) if w[:2] == "--"}}
with open(os.path.join(here, "times.json")) as file:
    times = json.load(file)
line = " " + " ".join(words) + " "
answer = next(v for k, v in times.items() if all(" " + w + " " in line for w in k.split(",")))
if answer == "hang":
    import subprocess, time
    child = subprocess.Popen(["sleep", "300"])
    with open(os.path.join(here, "child"), "w") as file:
        print(child.pid, file=file)
    time.sleep(300)
if isinstance(answer, str):
    sys.exit(answer)
tile = [int(n) for n in options.get("--tile", "1x1x1").split("x")]
row = {{"pattern": options["--pattern"], "tile": tile, "blocks": int(options.get("--blocks", 0))}}
row.update(answer if isinstance(answer, dict) else {{"median_ns": answer}})
m, n, k = options["--shape"].split("x")
with open(options["--json"], "w") as file:
    shape = {{"m": int(m), "n": int(n), "k": int(k)}}
    json.dump({{"shape": shape, "dtype": options["--dtype"], "patterns": [row]}}, file)
"""
FIGURES = {
    "multiprocessors": 100, "clock": 1, "tensor_rate": 450, "memory_rate": 1000, "epilogue": 1000,
    "link_pair": 100, "link_all": 80, "signal": 1000
}  # fmt: skip
FITTING = {
    "workload": "gemm-all-scatter", "device": "NVIDIA H200", "ranks": 2, "dtype": "bf16",
    "patterns": ["push"], "shapes": [], "coefficients": []
}  # fmt: skip
DEFAULT_TILE = [128, 256, 64]


def row(pattern, ns, tile=None, trials=(), **more):
    return {
        "pattern": pattern, "median_ns": ns, "times_ns": [ns] * 4, "tile": tile or DEFAULT_TILE,
        "blocks": 132, "parts": 1, "trials": list(trials), **more
    }  # fmt: skip


def trial(ns, tile):
    return {
        "median_ns": ns, "samples": 20, "abandoned": False, "tile": tile, "blocks": 132, "parts": 1
    }


class Made:
    """Made-up results, machine, fitting set and command, in a folder."""

    def __init__(self, folder, runs, times, **fitting):
        self.folder = folder
        self.results = os.path.join(folder, "results")
        for name in ("results", "machines"):
            os.mkdir(os.path.join(folder, name))
        machine = {
            "backend": "cuda", "devices": ["NVIDIA H200"], "is_default": True,
            "figures": {name: {"value": value} for name, value in FIGURES.items()}
        }
        self.write("times.json", times)
        self.write("fitting.json", {**FITTING, **fitting})
        self.write(os.path.join("machines", "h200.json"), machine)
        self.write(os.path.join("results", "a.json"), {"commit": "0123abc", "runs": runs})
        with open(self.path("tessera"), "w", encoding="utf-8") as file:
            file.write(FAKE.format(python=sys.executable))
        os.chmod(self.path("tessera"), 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, value):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(value, file)

    def run(self, *options):
        """What it ended with, what it printed, and what it wrote as JSON."""
        if os.path.exists(self.path("log")):
            os.remove(self.path("log"))
        command = [
            os.path.join(ROOT, "bench", "validate-model"), "--results", self.results,
            "--machines", self.path("machines"), "--fitting", self.path("fitting.json"),
            "--tessera", self.path("tessera"), "--json", self.path("out.json"), *options
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        written = {}
        if os.path.exists(self.path("out.json")):
            with open(self.path("out.json"), encoding="utf-8") as file:
                written = json.load(file)
            os.remove(self.path("out.json"))
        return done, written

    def log(self):
        if not os.path.exists(self.path("log")):
            return []
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read().splitlines()


def run_of(shape, rows, ranks=2, **more):
    result = {
        "workload": "gemm-all-scatter", "backend": "cuda", "ranks": ranks,
        "device": "NVIDIA H200", "shape": dict(zip("mnk", shape)), "dtype": "bf16",
        "date": "2026-02-02", "patterns": rows, **more
    }  # fmt: skip
    return {"shape": "-", "command": [], "code": 0, "result": result}


def shape(number):
    return (number, 512, 64)


def has(done, *lines):
    return [line for line in lines if line not in done.stdout.splitlines()]


# ------------------------------------------------------------------ the tables


def errors_add_up(folder):
    """Ten shapes whose predictions are 1, 2, ... 10 percent wrong, every second one too small."""
    runs = [run_of(shape(n), [row("push", 100000)]) for n in range(1, 11)]
    times = {f"{n}x512x64": 100000 - 1000 * n * (-1) ** n for n in range(1, 11)}
    made = Made(folder, runs, times)
    done, written = made.run("--reveal", "--seed", "3")
    group = [e for e in written["errors"] if e["machine"] == "all" and e["workload"] == "all"]
    tap.verdict(
        done.returncode == 0 and sum(e["points"] for e in group) == 10 and {e["which"] for e in
        group} == {"hidden", "tuning view"}, "all points are there", done.stdout + done.stderr
    )  # fmt: skip
    sizes = sorted(abs(p["model_us"] / p["measured_us"] - 1) for p in written["points"])
    tap.verdict(
        [round(100 * s) for s in sizes] == list(range(1, 11)), "each point has its error", sizes
    )
    both = tables.three([-n / 100 * (-1) ** n for n in range(1, 12)])
    wanted = {"number": 11, "median": 0.06, "at_90": 0.1, "worst": 0.11, "bias": 0.01}
    tap.verdict(
        both.keys() == wanted.keys()
        and all(math.isclose(both[k], wanted[k]) for k in wanted), "median, 90th percentile, worst",
        both
    )  # fmt: skip
    listed = re.findall(r"^- ([+-][\d.]+) %: ", done.stdout, re.M)
    tap.verdict(
        listed == [f"{-n * (-1) ** n:+.1f}" for n in range(10, 0, -1)],
        "the worst come first", listed
    )


def a_row_of_errors(folder):
    """One pattern that is 10 percent too slow by the simulation, in one row."""
    made = Made(folder, [run_of(shape(1), [row("push", 100000)])], {"push": 110000})
    done, _ = made.run("--reveal")
    found = re.search(
        r"^\| (?:hidden|tuning view) \| gemm-all-scatter \| h200x2 \| push \| 1 \| 0.0 \|"
        r" 10.0 10.0 10.0 \| 10.0 \| ", done.stdout, re.M
    )  # fmt: skip
    tap.verdict(bool(found), "a row of errors", done.stdout)


def choices_add_up(folder):
    """The simulation prefers pull, which loses 10 percent, and of the trials of push one that loses
    4; the plan's tile of push loses 6."""
    other, third = [128, 128, 64], [128, 192, 64]
    trials = [trial(100000, other), trial(104000, third), trial(300000, [64, 64, 64])]
    rows = [row("push", 106000), row("pull", 110000)]
    runs = [run_of(shape(1), rows), run_of(shape(1), [row("push", 100500, other, trials)])]
    times = {
        "fastest": {"pattern": "pull", "median_ns": 1}, "pull": 50000, "128x192x64": 60000,
        "128x128x64": 61000, "push": 62000
    }  # fmt: skip
    made = Made(folder, runs, times)
    done, written = made.run("--reveal", "--fastest")
    by = {c["among"]: c for c in written["choices"]}
    tap.verdict(
        set(by) == {"all patterns", "push"} and by["all patterns"]["configurations"] == 4
        and math.isclose(by["all patterns"]["chosen_loses"], 0.1)
        and by["all patterns"]["chosen"].startswith("pull ")
        and math.isclose(by["all patterns"]["plan_loses"], 0.1)
        and math.isclose(by["push"]["chosen_loses"], 0.04)
        and math.isclose(by["push"]["plan_loses"], 0.06)
        and math.isclose(by["push"]["best_us"], 100),
        "what choices lose", json.dumps(written.get("choices"), indent=1) + done.stderr
    )  # fmt: skip
    _, unasked = made.run("--reveal")
    by = {c["among"]: c for c in unasked["choices"]}
    tap.verdict(
        by["all patterns"]["plan_loses"] is None and math.isclose(by["push"]["plan_loses"], 0.06),
        "which pattern Tessera takes is not guessed", by
    )
    wide = [line for line in made.log() if "64x64x64" in line]
    made.run("--reveal", "--within", "3")
    tap.verdict(
        not wide and any("64x64x64" in line for line in made.log()), "trials are within a bound"
    )
    made.run("--reveal", "--trials", "1")
    tap.verdict(not any("128x192x64" in line for line in made.log()), "of a search the best alone")


def growth_adds_up(folder):
    """On four GPUs 0.6 of the time on two, and 0.66 by the simulation."""
    runs = [run_of(shape(1), [row("push", 100000)]), run_of(shape(1), [row("push", 60000)], 4)]
    made = Made(folder, runs, {"h200x2": 200000, "h200x4": 132000})
    done, written = made.run("--reveal")
    found = written["two_to_four"][0]
    tap.verdict(
        found["pattern"] == "push" and math.isclose(found["measured"], 0.6)
        and math.isclose(found["errors"]["model"]["median"], 0.1), "from two GPUs to four",
        done.stdout
    )  # fmt: skip


# ------------------------------------------------------------------ the commands


def commands(folder):
    rows = [row("push", 1000, comm_blocks=4, bands=0), row("push", 1000, comm_blocks=4)]
    trials = [trial(1000, DEFAULT_TILE)]
    runs = [
        run_of(shape(1), rows[:1], along=2), run_of(shape(2), [row("pull", 900, trials=trials)])
    ]
    made = Made(folder, runs, {"sim": 1000})
    made.run("--reveal")
    wanted = [
        "sim gemm-all-scatter --machine h200x2 --shape 1x512x64 --along 2 --dtype bf16"
        " --pattern push --tile 128x256x64 --blocks 132 --comm-blocks 4 --parts 1 --no-tuned"
        " --iterations 1 --warmup 1",
        "sim gemm-all-scatter --machine h200x2 --shape 2x512x64 --dtype bf16"
        " --pattern pull --tile 128x256x64 --blocks 132 --parts 1 --no-tuned"
        " --iterations 1 --warmup 1"
    ]  # fmt: skip
    tap.verdict(sorted(made.log()) == wanted, "each command runs once, and has all options",
                "\n".join(made.log()))  # fmt: skip
    made.run("--reveal", "--machine-map", "NVIDIA H=big", "--options", "-i 3", "--jobs", "2")
    log = made.log()
    tap.verdict(
        len(log) == 2 and all("--machine bigx2" in l and l.endswith("-i 3") for l in log),
        "names of machines, other options, and two at a time", "\n".join(log)
    )


def failures(folder):
    runs = [run_of(shape(n), [row("push", 1000)]) for n in range(1, 7)]
    times = {
        "1x512x64": "no such machine", "2x512x64": {"median_ns": 1, "blocks": 7},
        "3x512x64": {"median_ns": 0}, "4x512x64": {"pattern": "pull", "median_ns": 1},
        "5x512x64": "hang", "6x512x64": 1100
    }  # fmt: skip
    made = Made(folder, runs, times)
    done, written = made.run("--reveal", "--limit", "2")
    said = [
        "- code 1: no such machine", "- it simulated blocks 7 in place of 132",
        "- a time of 0 ns is none", "- it did not end within 2 s"
    ]  # fmt: skip
    missing = has(done, *said)
    good = [p["why"] for p in written["points"]].count(None)
    tap.verdict(
        done.returncode == 1 and not missing and good == 1 and "of push: " in done.stdout
        and "5 simulations failed" in done.stdout, "simulations that fail are said", f"{missing}"
        f"\n{done.stdout}{done.stderr}"
    )  # fmt: skip
    with open(made.path("child"), encoding="utf-8") as file:
        child = file.read().strip()
    until = time.monotonic() + 10
    while alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    tap.verdict(not alive(child), "nothing is left of one that hangs")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ------------------------------------------------------------------ what is hidden


def hides(folder):
    runs = [
        run_of(shape(n), [row("push", 1000), row("pull", 1000)], ranks)
        for n in range(1, 9)
        for ranks in (2, 4)
    ]
    fitted_shapes = {"1x512x64", "2x512x64"}
    made = Made(folder, runs, {"sim": 1000}, shapes=sorted(fitted_shapes))
    seen = {}
    for seed in ("1", "1", "2"):
        done, written = made.run("--seed", seed)
        now = {(p["which"], p["shape"], p["machine"], p["pattern"]) for p in written["points"]}
        tap.verdict(seen.get(seed, now) == now, f"seed {seed} draws the same again")
        seen[seed] = now
        view = {p[1] for p in now if p[0] == "tuning view"}
        ran = {re.search(r"--shape (\S+)", line).group(1) for line in made.log()}
        shown = set(re.findall(r"\b\d+x512x64\b", done.stdout))
        fitted = {p[1:] for p in now if p[0] == "fitted"}
        tap.verdict(
            0 < len(view) < 8 and ran == view | fitted_shapes and shown <= ran
            and len(made.log()) == len(now) and fitted ==
            {(text, "h200x2", "push") for text in fitted_shapes}
            and len(now) == 4 * len(view) + 2 - len(view & fitted_shapes),
            f"seed {seed}: what is hidden is neither run nor shown",
            f"{sorted(view)}\n{done.stdout}"
        )  # fmt: skip
    tap.verdict(seen["1"] != seen["2"], "another seed draws others")
    _, written = made.run("--seed", "1", "--reveal")
    every = {(p["which"], p["shape"], p["machine"], p["pattern"]) for p in written["points"]}
    tap.verdict(len(every) == 32 and seen["1"] < every, "--reveal adds the rest")
    some = len(made.run("--seed", "1", "--reveal", "--most", "5")[1]["points"])
    tap.verdict(some == 5 and len(made.log()) == 5, "--most takes some points alone", some)


def half():
    """Of many problems half is for view, and more results change nothing of it."""
    points = [
        measured.Point(
            "a", "cuda", "d", 2, (("shape", str(n)),), "p", (), 1, None, 1, "plan", False, "", "",
            ""
        ) for n in range(1000)
    ]  # fmt: skip
    roles = division.divide(points, FITTING, 1)
    share = roles.count(division.VIEW)
    tap.verdict(450 < share < 550 and roles.count(division.HIDDEN) == 1000 - share, "half", share)
    tap.verdict(division.divide(points[::3], FITTING, 1) == roles[::3], "each problem by itself")


def refuses(folder):
    made = Made(folder, [run_of(shape(1), [row("push", 1000)])], {"sim": 1000})
    for name, fitting, sentence in (
        ("three patterns to fit", {"patterns": ["a", "b", "c"]}, "patterns: at most 2"),
        ("seven coefficients", {"coefficients": list("abcdefg")}, "coefficients: at most 6"),
        ("a shape twice", {"shapes": ["1x1x1"] * 2}, "shapes: at most 3, each once"),
    ):
        made.write("fitting.json", {**FITTING, **fitting})
        done, _ = made.run()
        tap.verdict(
            done.returncode == 2 and len(done.stderr.splitlines()) == 1
            and sentence in done.stderr, name, done.stderr
        )  # fmt: skip
    made.write("fitting.json", FITTING)
    for name, options, sentence in (
        ("no such command", ("--tessera", made.path("absent"), "--reveal"), "cannot be started"),
        ("no such workload", ("--workload", "none"), "no point is left"),
    ):
        done, _ = made.run(*options)
        tap.verdict(
            done.returncode == 2 and len(done.stderr.splitlines()) == 1
            and sentence in done.stderr, name, done.stderr
        )  # fmt: skip


# ------------------------------------------------------------------ the formulas


def formulas(folder):
    """
    By hand: 1280 x 1280 x 1024 of a rank are 50 tiles, one round of 2 * 128 * 256 * 1024 / 4096 =
    16384 and 1000 cycles at 1 GHz; 1280 x 1280 x 2 bytes at 100 GB/s take 32.768 us; 11796480 bytes
    of memory at 1000 GB/s. All tiles are of the last round, whose sends overlap nothing. Without
    anything to fit to p is 4.
    """
    runs = [
        run_of((1280, 2560, 1024), [row("push", 1000), row("bulk-synchronous", 1000)]),
        run_of((1280, 2560, 1024), [row("push", 1000)], 4),
        run_of((1280, 2560, 1024), [row("push", 1000, [16, 16, 16])], 1)
    ]
    made = Made(folder, runs, {})
    done, written = made.run("--reveal", "--forms")
    points = {(p["machine"], p["pattern"]): p for p in written.get("points", [])}
    smooth = (32.768 ** 4 + 17.384 ** 4 + 11.79648 ** 4) ** 0.25
    wanted = {
        ("h200x2", "push"): {
            "max_us": 32.768, "sum_us": 4.5 + 32.768 + 32.768 + 1, "smooth_us": 4.5 + smooth
        },
        ("h200x2", "bulk-synchronous"): {"sum_us": 9 + 32.768 + 17.384 + 1},
        # three times a quarter of C, at 80 GB/s
        ("h200x4", "push"): {"max_us": 3 * 1280 * 640 * 2 / 80e3},
    }
    wrong = [
        (key, name, points[key][name]) for key, of_point in wanted.items()
        for name, us in of_point.items() if not math.isclose(points[key][name], us, rel_tol=1e-9)
    ]
    tap.verdict(done.returncode == 0 and not wrong, "the formulas", f"{wrong}\n{done.stderr}")
    tap.verdict(
        "max_us" not in points["h200x1", "push"], "no formula for a tile without tensor cores"
    )
    tap.verdict(not made.log(), "--forms runs nothing")


def rounds_and_fits():
    rounds = closed_forms.rounds_of
    tap.verdict(
        (rounds(132, 132, 1), rounds(133, 132, 1), rounds(133, 132, 2), rounds(264, 132, 4))
        == (1, 2, 1.5, 2), "rounds of tiles, and of parts of the last ones"
    )  # fmt: skip
    terms = [
        closed_forms.Terms(send * 1e-6, 10e-6, 3e-6, 4.5e-6, 0, 0) for send in (2, 5, 10, 20)
    ]
    pairs = [(t, closed_forms.smooth(t, 5.25)) for t in terms]
    tap.verdict(closed_forms.fitted_power(pairs) == 5.25, "the exponent is found again")
    drawn = {division.drawn(seed, "a") for seed in (1, 1, 2)}
    tap.verdict(len(drawn) == 2, "a seed draws the same for the same")


def stored():
    """The results of this repository, by the formulas alone."""
    command = [os.path.join(ROOT, "bench", "validate-model"), "--forms", "--reveal"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    rows = re.findall(r"^\| (fitted|tuning view|hidden) \| all \| all .* (\d+) \| ", done.stdout,
                      re.M)  # fmt: skip
    tap.verdict(
        done.returncode == 0 and [name for name, _ in rows] == ["fitted", "hidden", "tuning view"]
        and "| gemm-all-scatter | NVIDIA H200 | all |" in done.stdout,
        "the results that are stored", done.stdout + done.stderr
    )  # fmt: skip


def main():
    parts = (
        errors_add_up, a_row_of_errors, choices_add_up, growth_adds_up, commands, failures, hides,
        refuses, formulas
    )
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            part(folder)
    half()
    rounds_and_fits()
    stored()
    sys.exit(tap.exit_code())


if __name__ == "__main__":
    main()
