#!/usr/bin/env python3
"""
Files of measurements have a line for each row: those of `tessera bench` and
`tessera perf`, and of bench/python/json_rows.py.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "harness"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "bench", "python"))
import json_rows  # noqa: E402
import tap  # noqa: E402

VALUE = {
    "machine": {"gpus": ["a", "b"], "driver": None},
    "empty": [],
    "runs": [
        {"shape": "1x2x3", "median": 1.5, "times": [1, 2]},
        {
            "result": {
                "trials": [{"tile": [1, 2]}, {"tile": [3, 4]}], "steps": {"copy": {"times": [5]}}
            }
        },
        "a\nb",
    ],
    "rows": [{"size": 8}],
}
TEXT = r"""{
 "machine": {"gpus": ["a", "b"], "driver": null},
 "empty": [],
 "runs": [
  {"shape": "1x2x3", "median": 1.5, "times": [1, 2]},
  {
   "result": {
    "trials": [
     {"tile": [1, 2]},
     {"tile": [3, 4]}
    ],
    "steps": {
     "copy": {"times": [5]}
    }
   }
  },
  "a\nb"
 ],
 "rows": [
  {"size": 8}
 ]
}
"""
# the two libraries print different digits of one number
REAL = re.compile(r"-?\d+(\.\d+(e[-+]?\d+)?|e[-+]?\d+)")


def written(folder, name, *command):
    """What the command writes with --json, and the same by json_rows."""
    path = os.path.join(folder, f"{name}.json")
    environment = {
        **os.environ, "TESSERA_CPUEMU_RESIDENT_BLOCKS": "4",
        "TESSERA_TUNE_FILE": os.path.join(folder, "tune.json")
    }
    done = subprocess.run(
        ["tessera", *command, "--json", path], env=environment, capture_output=True, text=True,
        timeout=300, check=False
    )
    if done.returncode:
        tap.verdict(False, name, done.stderr)
        return ""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    value = json.loads(text)
    tap.verdict(
        REAL.sub("R", text) == REAL.sub("R", json_rows.text(value)), f"{name}: both writers agree",
        text
    )
    return text


def lines(text, pattern):
    return len(re.findall(pattern, text or "", re.MULTILINE))


def main():
    tap.verdict(json_rows.text(VALUE) == TEXT, "a line for each row", json_rows.text(VALUE))
    tap.verdict(json.loads(json_rows.text(VALUE)) == VALUE, "which is the same JSON")
    with tempfile.TemporaryDirectory() as folder:
        few = ("gemm-all-scatter", "-n", "2", "--shape", "64x64x32", "--iterations=2", "-w", "0")
        text = written(folder, "bench", "bench", *few, "--baseline")
        tap.verdict(
            lines(text, r'^ *\{"pattern": .*"times_ns": \[\d+, \d+\].*\},?$') == 7,
            "bench: a line for each pattern", text
        )
        tap.verdict(
            lines(text, r'^ *"product": \{"median_ns": \d+, "times_ns": .*\},?$') == 1,
            "and for each step of the libraries", text
        )
        text = written(
            folder, "bench --tune", "bench", *few, "--pattern", "fused-sequential", "--tune"
        )
        trials = len(json.loads(text)["patterns"][0]["trials"]) if text else 0
        tap.verdict(
            lines(text, r'^ *\{"median_ns": .*"tile": \[\d+, \d+, \d+\].*\},?$') == trials > 2,
            "and for each trial", text
        )
        text = written(
            folder, "perf", "perf", "put", "-n", "2", "-b", "8", "-e", "64", "-N", "2", "-w", "0",
            "-m", "1"
        )
        tap.verdict(
            lines(text, r'^ *\{"what": .*"size_bytes": \d+.*\},?$') == 4,
            "perf: a line for each size", text
        )
    return tap.exit_code()


if __name__ == "__main__":
    sys.exit(main())
