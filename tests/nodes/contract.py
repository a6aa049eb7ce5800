#!/usr/bin/env python3
"""
The contract tests, which know nothing of nodes, in worlds on two and four
emulated nodes: ranks of different nodes have nothing of each other mapped.
"""
import glob
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import lane  # noqa: E402
import tap  # noqa: E402

LIMIT_S = 300
# nodes, and in TSR_WORLDS (tests/harness/world_test.h) the ranks and what they are
PLACES = ((2, "2,3,8 process"), (4, "5 process"))
# Tests of one node: of sentences that name no node, of 256 ranks on one machine, of all pages of a
# heap, and of deadlines in which nodes may not find each other on a busy machine. What expires
# between nodes is tested in tests/unit/net and tests/unit/bootstrap.
OF_ONE_NODE = {
    "teams/test_team_ends", "teams/test_team_many", "memory/test_pointer_edges",
    "signals/test_expired"
}


def programs():
    """room/name of every contract test that is built."""
    folder = os.path.join(lane.BUILD, "tests", "contract")
    found = glob.glob(os.path.join(folder, "*", "test_*"))
    return sorted(
        os.path.relpath(path, folder)
        for path in found
        if "." not in os.path.basename(path) and os.access(path, os.X_OK)
    )


def run(program, nodes, worlds):
    path = os.path.join(lane.BUILD, "tests", "contract", program)
    settings = {**os.environ, "TESSERA_NODES": str(nodes), "TSR_WORLDS": worlds}
    try:
        done = subprocess.run(
            [path, "-j1"], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=settings,
            timeout=LIMIT_S, check=False
        )
        code, text = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, text = None, f"it did not end within {LIMIT_S} s"
    tap.verdict(code == 0, f"{program} on {nodes} nodes, {worlds}", text[-3000:])


def main():
    if not os.path.exists(os.path.join(lane.BUILD, "plugins", "libtessera-net-ucx.so")):
        lane.skip("contract tests on several nodes", "no UCX: nothing carries their messages")
        return 0
    found = [program for program in programs() if program not in OF_ONE_NODE]
    tap.verdict(len(found) > 30, f"{len(found)} contract tests are built")
    for program in found:
        for nodes, worlds in PLACES:
            run(program, nodes, worlds)
    return tap.exit_code()


sys.exit(main())
