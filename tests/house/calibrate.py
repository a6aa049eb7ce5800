#!/usr/bin/env python3
"""
model/perf/calibrate measures what it says, and writes a file that the build
takes: with a command in place of `tessera` whose device is known.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "harness"), os.path.join(ROOT, "site_scons")]
import machines  # noqa: E402
import tap  # noqa: E402

# A device of 1.25 GHz, whose simulation takes what its clock and shares say.
FAKE = '''#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
value = lambda name, default: next((words[i + 1] for i in range(len(words) - 1)
                                    if words[i] == name), default)
sets = dict(words[i + 1].split("=") for i in range(len(words)) if words[i] == "--set")
def row(us, gbps=0, reference=0):
    return {"time_us": us, "busbw_gbps": gbps, "reference_us": reference}
if words[0] == "perf":
    assert value("-n", "") == "2"
    one = value("-V", "") == "1"
    rows = {"put": [row(9, 44.5 if one else 371)], "signal": [row(1.5, 0, 0.7)]}[words[1]]
    if "--via" in words:
        rows = [row(2.5), row(700, 390)]
    told = {"device": "Fake 1", "rows": rows}
    if words[1] == "signal" and %(broken)s:
        sys.exit("no signals today")
else:
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


def calibrate(folder, broken=False):
    fake, output = os.path.join(folder, "tessera"), os.path.join(folder, "fake.json")
    with open(fake, "w", encoding="ascii") as file:
        file.write(FAKE % {"broken": broken})
    os.chmod(fake, 0o755)
    done = subprocess.run(
        [
            os.path.join(ROOT, "model", "perf", "calibrate"), "--name", "h100", "--tessera", fake,
            "--output", output
        ], capture_output=True, text=True, timeout=120, check=False
    )
    with open(output, encoding="ascii") as file:
        return done, json.load(file)


def main():
    with tempfile.TemporaryDirectory() as folder:
        done, machine = calibrate(folder)
        figures = machine["figures"]
        wrong = {
            name: (figures[name]["value"], value) for name, value in EXPECTED.items()
            if abs(figures[name]["value"] / value - 1) > 0.002
            or figures[name]["from"] != "measured"
        }
        tap.verdict(done.returncode == 0 and not wrong, "figures are those of the device", wrong)
        faults = [
            fault for fault in machines.faults({**machines.read(), "h100": machine})
            if fault.startswith("h100")
        ]
        tap.verdict(not faults, "the build takes the file", "\n".join(faults))
        known = machines.read()["h100"]["figures"]
        tap.verdict(
            all(figures[name] == known[name] for name in figures if name not in EXPECTED),
            "what was not measured is as it was"
        )
        done, machine = calibrate(folder, broken=True)
        tap.verdict(
            done.returncode == 0 and "not measured: perf signal" in done.stderr
            and machine["figures"]["signal"] == known["signal"]
            and machine["figures"]["clock"]["value"] == 1.25,
            "what cannot be measured is said, and the rest is measured", done.stderr
        )
    return tap.exit_code()


sys.exit(main())
