#!/usr/bin/env python3
"""
The litmus tests over the wire: devices are processes on emulated nodes, and a
network that is late lets what is weak show. No forbidden outcome may show. What
shows of the allowed ones is printed.

--runs N runs each test so often (TSR_WIRE_RUNS in ci/nightly).
"""
import argparse
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import lane  # noqa: E402
import tap  # noqa: E402

RUNS = 1000
SHOWN_RUNS = 40000  # of those that must show; a second or two
LIMIT_S = 7200
TESTS = os.path.join(lane.ROOT, "tests", "litmus")
# nodes, and how late messages are: as they come, and so that they overtake each other
NETWORKS = ((2, "60us,60us"), (4, None))
# What one run in twenty shows at least where a message takes some time: if it does not show,
# devices are not on different nodes, or wait for each other.
SHOWN = ("SB.rlx.diffGPU-ss", "2+2W.rlx.diffGPU-ss")
# what queues to other nodes let through (model/memory/README.md), seldom
SEEN = SHOWN + (
    "MP.rlx.rlx.diffGPU-ss", "S.rlx.diffGPU-ss", "R.ra.diffGPU-ss", "MP.barrier.rlx.diffGPU-ss"
)


def run(tests, nodes, late, runs):
    """Returns the exit code and what was printed."""
    command = [
        lane.TESSERA, "litmus", *tests, "--on", "cpuemu", "--nodes",
        str(nodes), "--runs",
        str(runs), "-v"
    ]
    command += ["--net-delay", late] if late else []
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
        check=False
    )
    return done.returncode, done.stdout + done.stderr


def observed(text, test):
    """How often the test's question held, of how many runs."""
    found = re.search(rf"^Observation {re.escape(test)} \w+ (\d+) (\d+)$", text, re.M)
    return (int(found[1]), int(found[1]) + int(found[2])) if found else (0, 0)


def main():
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--runs", type=int, default=int(os.environ.get("TSR_WIRE_RUNS", RUNS)))
    runs = reader.parse_args().runs
    if not os.path.exists(os.path.join(lane.BUILD, "plugins", "libtessera-net-ucx.so")):
        lane.skip("litmus tests on several nodes", "no UCX: nothing carries their messages")
        return 0
    for nodes, late in NETWORKS:
        where = f"on {nodes} nodes" + (f", {late} late" if late else "")
        code, text = run([TESTS], nodes, late, runs)
        agree = re.search(r"^agree (\d+) of (\d+)$", text, re.M)
        tap.verdict(
            code == 0 and agree and agree[1] == agree[2] and int(agree[2]) > 100,
            f"{runs} runs of each test {where}: none shows what is forbidden", "\n".join(
                line for line in text.splitlines()
                if line.startswith(("differs", "not judged", "tessera", "agree"))
            )
        )
        for test in SEEN:
            weak, all_runs = observed(text, test)
            print(f"# {test} {where}: weak in {weak} of {all_runs} runs")
        _, text = run([f"{TESTS}/{test}.litmus" for test in SHOWN], nodes, late, SHOWN_RUNS)
        for test in SHOWN:
            weak, all_runs = observed(text, test)
            tap.verdict(
                weak > 0, f"{test} {where}: what is weak shows in {weak} of {all_runs} runs", text
            )
    return tap.exit_code()


sys.exit(main())
