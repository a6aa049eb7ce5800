#!/usr/bin/env python3
"""
Ranks in namespaces of their own, as containers are: of processes, of mounts, of
the network, of users, and all but the network.
"""
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))

import lane
import tap

# With nothing of /tmp and /dev/shm in common. The program may lie below /tmp itself, so it is
# opened before.
PRIVATE = (
    'exec 9<"$0" 8<"$1"; mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm && exec'
    " /proc/self/fd/9 /proc/self/fd/8"
)

UNSHARE = ["unshare"] if os.geteuid() == 0 else ["unshare", "--map-root-user"]


def possible(*options):
    """Whether this machine lets us make such a namespace; says so in a line where it does not."""
    try:
        code, text = lane.run([*UNSHARE, *options, "true"])
    except OSError as error:
        code, text = -1, str(error)
    if code != 0:
        lane.skip(f"namespaces: {' '.join(options)}", text.strip() or "unshare failed")
    return code == 0


def worlds(name, before):
    """Worlds of 1, 2 and 3 whose ranks are started by these commands."""
    for ranks in (1, 2, 3):
        with tempfile.TemporaryDirectory() as folder:
            code, text = lane.run(
                [lane.TESSERA, "run", "-n", str(ranks), *before, lane.WORLD, folder]
            )
            right = code == 0 and len(lane.ranks_that_are_right(ranks, folder)) == ranks
            tap.verdict(right, f"namespaces: {ranks} ranks, {name}", f"exit code {code}\n{text}")


def network():
    """Names of sockets are the network's: such ranks may not find each other, but then they say so,
    within the deadline."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        environment = {**os.environ, "TESSERA_DEADLINE": "3s"}
        code, text = lane.run(
            [lane.TESSERA, "run", "-n", "2", *UNSHARE, "--net", lane.WORLD, folder], env=environment
        )
        right = code == 0 and len(lane.ranks_that_are_right(2, folder)) == 2
        told = (
            code == 1 and time.monotonic() - begin < 30
            and len(re.findall("never arrived within .* in one network namespace: ", text)) == 2
        )
        tap.verdict(
            right or told, "namespaces: a network for each rank", f"exit code {code}\n{text}"
        )


def main():
    if possible("--pid", "--fork"):
        worlds("a PID namespace each", [*UNSHARE, "--pid", "--fork", "--kill-child"])
    if possible("--mount"):
        worlds("private /tmp and /dev/shm", [*UNSHARE, "--mount", "sh", "-c", PRIVATE])
    if possible("--user"):
        worlds("a user namespace each", ["unshare", "--user", "--map-root-user"])
    if possible("--pid", "--fork", "--mount", "--ipc", "--uts"):
        worlds(
            "a container each",
            [
                *UNSHARE, "--pid", "--fork", "--kill-child", "--mount", "--ipc", "--uts", "sh",
                "-c", PRIVATE
            ]
        )
    if possible("--net"):
        network()


main()
sys.exit(tap.exit_code())
