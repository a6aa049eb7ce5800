#!/usr/bin/env python3
"""
Ranks that load different releases of what carries messages between nodes refuse
the world with one sentence, all of them, before they use it. The transport is
that of the tests, which says the release that it is told.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import lane  # noqa: E402
import tap  # noqa: E402

TRANSPORT = os.path.join(lane.BUILD, "tests", "fakes", "libcarrier.so")
WORLDS = os.path.join(lane.BUILD, "tests", "faults", "worlds")
DEADLINE_S = 60


def run(ranks, nodes, other):
    """A world in which rank `other` has another release; None: no rank has."""
    script = (
        f'[ "$TESSERA_RANK" != "{other}" ] || export TSR_TEST_RELEASE="datagrams 2.0"; '
        f"exec {WORLDS} 1"
    )
    settings = {
        **os.environ, "TESSERA_NET_PLUGIN": TRANSPORT, "TESSERA_DEADLINE": f"{DEADLINE_S}s",
        "TESSERA_BACKEND": "cpuemu", "TESSERA_HEAP_SIZE": "16M"
    }
    return lane.run(
        [lane.TESSERA, "run", "-n", str(ranks), "--nodes", str(nodes), "sh", "-c", script],
        limit_s=DEADLINE_S, env=settings
    )


def main():
    for ranks, nodes in ((2, 2), (3, 2), (5, 3)):
        code, text = run(ranks, nodes, None)
        tap.verdict(code == 0, f"{ranks} ranks on {nodes} nodes with one release", text)
        for other in range(ranks):
            code, text = run(ranks, nodes, other)
            # who differs from rank 0 is named; where rank 0 differs from all, rank 1 is
            named = f"rank {other or 1} on node "
            told = [
                line for line in text.splitlines()
                if named in line and "datagrams 2.0" in line and "datagrams 1.0" in line
                and "let all ranks load one release" in line
            ]
            tap.verdict(
                code not in (0, None) and len(told) == ranks,
                f"{ranks} ranks on {nodes} nodes: rank {other} has another release",
                f"exit code {code}\n{text}"
            )
    return tap.exit_code()


sys.exit(main())
