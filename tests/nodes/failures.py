#!/usr/bin/env python3
"""
A node fails at a random moment: its processes are killed or stopped, its TCP
connections are shut down, or its messages go nowhere. All other ranks must end
within the deadline, with a sentence that names the node, and leave nothing
behind. Each rank is started by hand, so no launcher sees what becomes of the
others.

--points N tries N moments; --seed S repeats what a run printed.
"""
import argparse
import ctypes
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import lane  # noqa: E402
import tap  # noqa: E402

POINTS = 20
DEADLINE_S = 3
SLACK_S = 5  # of a busy machine
KINDS = ("kill", "stop", "shut", "cut")
PHASES = ("start", "allocation", "kernels", "collectives", "end")
WORLDS = ((2, 2), (3, 2), (5, 3), (4, 2))  # ranks, nodes
LIFE = os.path.join(lane.BUILD, "tests", "faults", "life")
CARRIER = os.path.join(lane.BUILD, "tests", "fakes", "libcarrier.so")
UCX = os.path.join(lane.BUILD, "plugins", "libtessera-net-ucx.so")
PIDFD_GETFD = 438  # the same number on all machines


def node_of(rank, ranks, nodes):
    """As tessera run places them: the first nodes have one rank more."""
    return next(
        node for node in range(nodes)
        if rank < sum(ranks // nodes + (n < ranks % nodes) for n in range(node + 1))
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class World:
    """Ranks that were started by hand, and their outputs."""

    def __init__(self, ranks, nodes, folder, victim, cut):
        self.nodes = [node_of(rank, ranks, nodes) for rank in range(ranks)]
        self.folder, self.victim, self.processes = folder, victim, []
        self.job = f"failures-{os.getpid()}-{random.SystemRandom().randrange(1 << 30)}"
        root = f"127.0.0.1:{free_port()}"
        for rank, node in enumerate(self.nodes):
            own = {
                "TESSERA_RANK": rank,
                "TESSERA_SIZE": ranks,
                "TESSERA_JOB": self.job,
                "TESSERA_NODE": node,
                "TESSERA_LOCAL_RANK": self.nodes[:rank].count(node),
                "TESSERA_ROOT": root,
                "TESSERA_BACKEND": "cpuemu",
                "TESSERA_DEADLINE": f"{DEADLINE_S}s",
                "TESSERA_HEAP_SIZE": "4M",
                "TESSERA_NET_PLUGIN": UCX if cut is None else CARRIER,
                "UCX_POSIX_DIR": folder,  # where UCX would leave the files of shared memory
                "TSR_TEST_CARRIER": f"seed 1 delay 0 cut {cut if node == victim else 1 << 60}",
            }
            self.processes.append(self.start(rank, {key: str(own[key]) for key in own}))

    def start(self, rank, own):
        with open(self.path(rank, "out"), "wb") as out, open(self.path(rank, "err"), "wb") as err:
            return subprocess.Popen(
                [LIFE], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **own}
            )

    def path(self, rank, what):
        return os.path.join(self.folder, f"{rank}.{what}")

    def text(self, rank, what):
        with open(self.path(rank, what), encoding="utf-8", errors="replace") as file:
            return file.read()

    def ranks(self, fails):
        """Those of the node that fails, or all others."""
        return [r for r, node in enumerate(self.nodes) if (node == self.victim) == fails]

    def await_phase(self, phase):
        """Until the node that fails is there, or has ended."""
        rank = self.ranks(True)[0]
        end_s = time.monotonic() + lane.LIMIT_S
        while phase != "start" and f"rank {rank} {phase}" not in self.text(rank, "out"):
            if self.processes[rank].poll() is not None or time.monotonic() > end_s:
                return
            time.sleep(0.001)

    def signal(self, number):
        for rank in self.ranks(True):
            if self.processes[rank].poll() is None:
                self.processes[rank].send_signal(number)

    def wait(self, ranks, seconds):
        """Returns those that have not ended by then."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s and any(self.processes[r].poll() is None for r in ranks):
            time.sleep(0.01)
        return [r for r in ranks if self.processes[r].poll() is None]

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def shut_sockets(process):
    """Shuts all TCP connections of a process down: each side finds its connection closed."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    shut = 0
    try:
        held = os.pidfd_open(process.pid)
        entries = os.listdir(f"/proc/{process.pid}/fd")
    except OSError:
        return 0  # it has ended
    for entry in entries:
        copy = call(PIDFD_GETFD, held, int(entry), 0)
        if copy < 0:
            if ctypes.get_errno() == 1:
                raise PermissionError("this machine does not let a process take another's sockets")
            continue
        try:
            with socket.socket(fileno=copy) as one:
                if one.family in (socket.AF_INET, socket.AF_INET6):
                    one.getpeername()  # one that listens has no other side
                    one.shutdown(socket.SHUT_RDWR)
                    shut += 1
        except OSError:
            pass  # it is no socket, or not connected
    os.close(held)
    return shut


def fail(world, kind, phase, chance):
    """Lets the node fail; returns when it did."""
    if kind != "cut":
        world.await_phase(phase)
        time.sleep(chance.uniform(0, 0.15 if phase == "start" else 0.03))
    if kind == "kill":
        world.signal(signal.SIGKILL)
    elif kind == "stop":
        world.signal(signal.SIGSTOP)
    elif kind == "shut":
        for rank in world.ranks(True):
            shut_sockets(world.processes[rank])
    return time.monotonic()


def fault_of(world, rank, kind):
    """What is wrong with how a rank ended that did not fail; None: nothing."""
    code, out = world.processes[rank].returncode, world.text(rank, "out")
    if code == 0:
        if f"rank {rank} end, 0 wrong" not in out:
            return "it succeeded before its end"
        # without the node that failed nobody comes so far
        begun = all(f"rank {r} collectives" in world.text(r, "out") for r in world.ranks(True))
        return None if begun or kind in ("shut", "cut") else "it succeeded without the others"
    if code < 0:
        return f"signal {-code} has ended it"
    if "wrong" in out and "0 wrong" not in out:
        return "it has found wrong words"
    return None


def sentence_fault(world, kind, survivors):
    """The world says once why it has ended: who reads it must know where to look."""
    said = "".join(world.text(rank, "err") for rank in survivors)
    names = [f"node {world.victim}"] + [f"rank {r}" for r in world.ranks(True)]
    if all(world.processes[rank].returncode == 0 for rank in survivors):
        return None
    if not said.strip():
        return "nobody says why"
    # where a connection broke, both of its ends are right to name the other one
    named = any(re.search(rf"{name}\b", said) for name in names)
    return None if named or kind in ("shut", "cut") else "no sentence names the node"


def left_over(job):
    """Processes of the job."""
    left = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if entry.isdigit() and job.encode() in file.read():
                    left.append(entry)
        except OSError:
            pass
    return left


def judge(world, kind):
    faults = []
    survivors = world.ranks(False) if kind in ("kill", "stop") else range(len(world.nodes))
    begun_s = time.monotonic()
    late = world.wait(survivors, (2 if kind == "cut" else 1) * DEADLINE_S + SLACK_S)
    took_s = time.monotonic() - begun_s
    for rank in late:
        faults.append(f"rank {rank} has not ended after {took_s:.1f} s")
    for rank in survivors:
        fault = None if rank in late else fault_of(world, rank, kind)
        if fault:
            faults.append(f"rank {rank}: {fault}")
    fault = sentence_fault(world, kind, survivors)
    return faults + [fault] if fault and not late else faults, took_s


def point(seed):
    """One moment. What it is follows from the seed alone."""
    chance = random.Random(seed)
    ranks, nodes = chance.choice(WORLDS)
    kind, phase = chance.choice(KINDS), chance.choice(PHASES)
    cut = chance.randrange(1, 2000) if kind == "cut" else None
    victim = chance.randrange(nodes)
    with tempfile.TemporaryDirectory() as folder:
        world = World(ranks, nodes, folder, victim, cut)
        try:
            fail(world, kind, phase, chance)
            faults, took_s = judge(world, kind)
        finally:
            world.end()
        faults += [f"process {pid} is left" for pid in left_over(world.job)]
        faults += [f"{name} is left" for name in os.listdir(folder) if "." not in name]
        faults += [
            f"/dev/shm/{name} is left" for name in os.listdir("/dev/shm") if world.job in name
        ]
        where = f"after {cut} messages" if kind == "cut" else f"in {phase}"
        told = "\n".join(
            f"rank {r} ({world.processes[r].returncode}): {world.text(r, 'err').strip()}"
            for r in range(ranks)
        )
        tap.verdict(
            not faults, f"{kind} node {victim} of {nodes} with {ranks} ranks, {where}"
            f" (seed {seed}, {took_s:.1f} s)", "\n".join(faults) + "\n" + told
        )


def main():
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--points", type=int, default=int(os.environ.get("TSR_POINTS", POINTS)))
    reader.add_argument("--seed", type=int, help="the one moment of this seed")
    asked = reader.parse_args()
    if not os.path.exists(UCX):
        lane.skip("nodes that fail", "no UCX: nothing carries their messages")
        return 0
    if asked.seed is not None:
        point(asked.seed)
        return tap.exit_code()
    first = int.from_bytes(os.urandom(4), "little")
    for number in range(asked.points):
        point(first + number)
    return tap.exit_code()


sys.exit(main())
