#!/usr/bin/env python3
"""
tessera calibrate measures what it says, and writes a file that the build and
tessera sim take: with a command in place of `tessera` whose device is known, and
for real on the emulator.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "harness"), os.path.join(ROOT, "site_scons")]
import machines  # noqa: E402
import tap  # noqa: E402

BUILD = os.path.abspath(os.environ["BUILD"])
TESSERA = os.path.join(BUILD, "tessera")
H100 = os.path.join(ROOT, "model", "perf", "machines", "h100.json")

# A device of 1.25 GHz, whose simulation takes what its clock and shares say.
FAKE = '''#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
value = lambda name, default: next((words[i + 1] for i in range(len(words) - 1)
                                    if words[i] == name), default)
sets = dict(word[6:].split("=") for word in words if word.startswith("--set="))
def row(us, gbps=0, reference=0):
    return {"time_us": us, "busbw_gbps": gbps, "reference_us": reference}
if words[0] == "info":
    told = {"backends": [{"name": "cpuemu", "devices": 1, "device": "CPU emulator",
                          "figures": "cpuemu"},
                         {"name": "cuda", "devices": 1, "device": "Fake 1", "figures": "h100"}]}
elif words[0] == "perf":
    assert "--ranks=2" in words
    one = value("-V", "") == "1"
    rows = {"put": [row(9, 44.5 if one else 371)], "signal": [row(1.5, 0, 0.7)]}[words[1]]
    if "--via" in words:
        rows = [row(2.5)] if value("-b", "") == "128" else [row(700, 390)]
    told = {"device": "Fake 1", "rows": rows}
    if words[1] == "signal" and %(broken)s:
        sys.exit("no signals today")
else:
    if words[0] == "sim" and not [word for word in words if word.startswith("--machine=h100x")]:
        sys.exit("the simulation of another kind")
    clock = float(sets.get("clock", 1.54)) if words[0] == "sim" else 1.25
    parts = {"worker_part": 0.8, "attend_part": 0.6}
    ns = 1e6 / clock
    for name, true in parts.items():
        pattern = {"worker_part": "fused-wave-specialized", "attend_part": "local"}[name]
        if value("--pattern", "") == pattern:
            ns /= float(sets.get(name, 1)) if words[0] == "sim" else true
    if "--taxes" in words:
        ns = 11000
    taxes = {"launches": 2, "launch_ns": 8000} if "--taxes" in words else None
    told = {"patterns": [{"median_ns": ns, "taxes": taxes}]}
json.dump(told, open(value("--json", ""), "w"))
'''
EXPECTED = {
    "link_pair": 371, "block_rate": 44.5, "signal": 1500, "fence": 800, "memory_latency": 490,
    "link_latency": 910, "copy_start": 2.5, "copy_rate": 390, "launch": 4,
    "clock": 1.25, "worker_part": 0.8, "attend_part": 0.6,
    "first_operand": 11 - 4 - 1.45 / 1.25
}


def command(*words):
    return subprocess.run(
        [TESSERA, *words], capture_output=True, text=True, timeout=400, check=False
    )


def calibrate(folder, *words, broken=False):
    """With the device that is known, whose nearest kind is an H100."""
    fake, output = os.path.join(folder, "fake"), os.path.join(folder, "h100.json")
    with open(fake, "w", encoding="ascii") as file:
        file.write(FAKE % {"broken": broken})
    os.chmod(fake, 0o755)
    done = command("calibrate", "--tessera", fake, "--output", output, *words)
    with open(output, encoding="ascii") as file:
        return done, json.load(file)


def a_known_device(folder):
    done, machine = calibrate(folder, "--backend", "cuda", "--base", H100)
    figures, known = machine["figures"], machines.read()["h100"]["figures"]
    wrong = {
        name: (figures[name]["value"], value) for name, value in EXPECTED.items()
        if abs(figures[name]["value"] / value - 1) > 0.002 or figures[name]["from"] != "measured"
    }
    tap.verdict(
        done.returncode == 0 and not wrong, "figures are those of the device", (wrong, done.stderr)
    )
    faults = [
        fault for fault in machines.faults({**machines.read(), "h100": machine})
        if fault.startswith("h100")
    ]
    tap.verdict(not faults, "the build takes the file", "\n".join(faults))
    with open(H100, encoding="ascii") as file:
        base = json.load(file)
    tap.verdict(
        all(machine[key] == base[key] for key in base if key != "figures"),
        "which is of the devices of --base", machine
    )
    tap.verdict(
        all(figures[name] == known[name] for name in figures if name not in EXPECTED),
        "what was not measured is as in the file of --base"
    )
    _, machine = calibrate(folder, "--like", "h100")
    told = machine["figures"]["l2"]
    tap.verdict(
        (told["value"], told["from"], told["source"]) == (50, "assumed", "as on h100"),
        "without one it is as of the nearest kind", told
    )
    done, machine = calibrate(folder, "--like", "h100", "--base", H100, broken=True)
    tap.verdict(
        done.returncode == 0 and "not measured: perf signal: no signals today" in done.stderr
        and machine["figures"]["signal"] == known["signal"]
        and machine["figures"]["clock"]["value"] == 1.25,
        "what cannot be measured is said, and the rest is measured", done.stderr
    )


def the_emulator(folder):
    path, told = os.path.join(folder, "here.json"), os.path.join(folder, "told.json")
    done = command("calibrate", "--backend", "cpuemu", "-o", path)
    with open(path, encoding="ascii") as file:
        machine = json.load(file)
    figures = machine["figures"]
    tap.verdict(
        done.returncode == 0 and machine["name"] == "here" and figures["cores"]["value"] ==
        len(os.sched_getaffinity(0)) and all(
            figures[name]["from"] == "measured"
            for name in ("link_pair", "tensor_width", "attend_part", "launch")
        ), "the emulator is measured", done.stderr or figures
    )
    done = command(
        "sim", "gemm-all-scatter", f"--machine={path},3", "--set", "cores=1", "--json", told
    )
    with open(told, encoding="ascii") as file:
        slow = json.load(file)["patterns"]
    command("sim", "gemm-all-scatter", f"--machine={path},3", "--set=cores=3", "--json", told)
    with open(told, encoding="ascii") as file:
        fast = json.load(file)["patterns"]
    ratios = [x["median_ns"] / y["median_ns"] for x, y in zip(slow, fast)]
    tap.verdict(
        done.returncode == 0 and ratios and all(2 < ratio < 3.1 for ratio in ratios),
        "a simulation takes the file, and three processors are up to three times as fast", ratios
    )


def misuse(folder):
    bad = os.path.join(folder, "bad.json")
    with open(bad, "w", encoding="ascii") as file:
        file.write('{"name": "bad", "backend": "cuda", "figures": {"clock": {"value": "fast"}}}')
    for sentence, *words in (
        ("into which file", "calibrate"), ("cannot write", "calibrate", "-o", "/no-such/x"),
        ("give 1 or 2", "calibrate", "-o", bad, "-n", "3"),
        ("no such kind", "calibrate", "-o", bad, "--like", "abacus"),
        ("is no machine's file", "calibrate", "-o", bad + "2", "--base", __file__),
        ("cannot run", "calibrate", "-o", bad + "2", "--tessera", "/no-such"),
        ("cannot read", "sim", "moe", "--machine", "/no-such.json,2"),
        ("is no machine's file", "sim", "moe", "--machine", f"{__file__},2"),
        ("clock is no number of GHz", "sim", "moe", "--machine", f"{bad},2"),
        ("no machine", "sim", "moe", "--machine", f"{bad},0")
    ):
        done = command(*words)
        tap.verdict(
            done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1,
            f"{' '.join(words[:1])}: {sentence}", done.stderr
        )
    tap.verdict(not os.path.exists(bad + "2"), "and no file is left of it")


def main():
    with tempfile.TemporaryDirectory() as folder:
        a_known_device(folder)
        misuse(folder)
        if BUILD.endswith(("asan", "tsan")):
            print("ok - the emulator # SKIP its products take minutes under a sanitizer")
        else:
            the_emulator(folder)
    return tap.exit_code()


sys.exit(main())
