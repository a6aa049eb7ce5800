#!/usr/bin/env python3
"""
Worlds that find themselves through PMIx: started by Open MPI's mpirun, on one
node and on two. The second node's daemon is started by a script in place of
ssh, on this machine: as it is, or, where root may, in a network namespace and
with a host name of its own. Debian has no PRRTE; ranks without Open MPI's
variables stand for its.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import lane  # noqa: E402
import tap  # noqa: E402

LIMIT_S = 120
SIZES = (2, 3, 5, 8)
SETTINGS = {
    **os.environ, "TESSERA_DEADLINE": "60s", "TESSERA_HEAP_SIZE": "16M", "TESSERA_LOG": "info",
    "TESSERA_BACKEND": "cpuemu",
    "TESSERA_NET_PLUGIN": os.path.join(lane.BUILD, "plugins", "libtessera-net-ucx.so"),
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    # it shares a map of the machine at an address that is not always free, and then crashes
    "OMPI_MCA_rtc": "^hwloc",
}
AS_PRRTE = ["env", "-u", "OMPI_COMM_WORLD_RANK", "-u", "OMPI_COMM_WORLD_SIZE"]
# mpirun says: AGENT HOST COMMAND... Daemons that share a folder may fail when both make it.
AGENT = """#!/bin/sh
folder=$OMPI_MCA_orte_tmpdir_base
host=$1
shift
mkdir -p "$folder/$host"
command=$(printf %s "$*" | sed "s#$folder#$folder/$host#g")
export OMPI_MCA_orte_tmpdir_base="$folder/$host"
{enter}exec sh -c "$command"
"""


class Nodes:
    """Two nodes: `before` starts mpirun on the first one, `agent` a daemon on the second."""

    def __init__(self, folder, name, before=(), enter=""):
        self.before, self.agent = list(before), os.path.join(folder, f"agent-{name}")
        with open(self.agent, "w", encoding="ascii") as file:
            file.write(AGENT.format(enter=enter))
        os.chmod(self.agent, 0o755)

    def options(self, ranks):
        """The first ranks are on node 0, one more than on node 1 where they are odd."""
        first = (ranks + 1) // 2
        hosts = f"tsr-a:{first},tsr-b:{ranks - first}"
        return ["--host", hosts, "--mca", "plm_rsh_agent", self.agent]


@contextlib.contextmanager
def scratch():
    """A folder for what mpirun leaves behind where it is killed."""
    with tempfile.TemporaryDirectory() as folder:
        SETTINGS["OMPI_MCA_orte_tmpdir_base"] = os.path.join(folder, "sessions")
        os.mkdir(SETTINGS["OMPI_MCA_orte_tmpdir_base"])
        yield folder


def mpirun(ranks, nodes, program, **settings):
    """Returns its exit code, and what it and its ranks printed."""
    command = ["mpirun", *(nodes.options(ranks) if nodes else []), "-n", str(ranks), *program]
    return lane.run(
        (nodes.before if nodes else []) + command, limit_s=LIMIT_S, env={**SETTINGS, **settings}
    )


def world(name, ranks, nodes=None, before=(), log=None, **settings):
    """A world is right, and knows its nodes; `log` is in what it logs."""
    with tempfile.TemporaryDirectory() as folder:
        code, text = mpirun(ranks, nodes, [*before, lane.WORLD, folder], **settings)
        right = code == 0 and len(lane.ranks_that_are_right(ranks, folder)) == ranks
        met = re.search(r"info: 2 nodes, which have met at (\S+)", text)
        right = right and (met is not None) == (nodes is not None)
        tap.verdict(
            right and (log is None or log in text), f"{ranks} ranks, {name}",
            f"exit code {code}\n{text}"
        )


def one_after_the_other(name, ranks, nodes=None):
    """Processes that join three worlds."""
    code, text = mpirun(ranks, nodes, [os.path.join(lane.BUILD, "tests", "faults", "worlds"), "3"])
    wanted = sorted(
        f"world {number}: rank {rank} of {ranks}, sum {ranks * (ranks + 1) // 2}"
        for number in (1, 2, 3)
        for rank in range(ranks)
    )
    told = sorted(line for line in text.splitlines() if line.startswith("world "))
    tap.verdict(
        code == 0 and told == wanted, f"three worlds of {ranks} ranks, {name}",
        f"exit code {code}\n{text}"
    )


def ends(name, nodes, script, *sentences, limit_s=30.0, **settings):
    """A world of four does not come about, in time, and all ranks that wait say why."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code, text = mpirun(
            4, nodes, ["sh", "-c", script, "sh", lane.WORLD, folder],
            **{"TESSERA_DEADLINE": "3s", **settings}
        )
        took_s = time.monotonic() - begin
        good = code not in (0, None) and took_s < limit_s and not os.listdir(folder)
        for sentence in sentences:
            good = good and sentence in text
        tap.verdict(good, name, f"exit code {code} after {took_s:.1f} s\n{text}")


def failures(name, nodes):
    """Of a rank that does not come, and of where rank 0 listens."""
    # mpirun ends all ranks when it sees the code
    ends(
        f"{name}: a rank that fails before it joins", nodes,
        'if [ $PMIX_RANK = 3 ]; then exit 5; fi; exec "$@"'
    )
    # the rank lives on: mpirun ends all ranks when one leaves where others have called PMIx_Init
    for rank in (0, 3):
        ends(
            f"{name}: rank {rank} never joins", nodes,
            f'if [ $PMIX_RANK = {rank} ]; then exec sleep 25; fi; exec "$@"',
            "has waited 3 s for the other ranks, but not all have come"
        )
    ends(
        f"{name}: rank 0 cannot listen", nodes, 'exec "$@"',
        "TESSERA_NET_INTERFACE is 'nonesuch', but no interface", TESSERA_NET_INTERFACE="nonesuch"
    )
    ends(
        f"{name}: no libpmix.so.2", nodes,
        f'LD_LIBRARY_PATH={lane.BUILD}/tests/fakes/pmix_broken exec "$@"',
        "Open MPI started ranks on several nodes, and PMIx alone knows where rank 0 is, but it "
        "cannot be loaded"
    )


def stopped_server():
    """A server that does not answer: its ranks end at the deadline, and say so."""
    with tempfile.TemporaryDirectory() as folder:
        go = os.path.join(folder, "go")
        script = (
            f'while ! [ -e {go} ]; do sleep 0.1; done; "$@" >{folder}/said.$PMIX_RANK 2>&1; '
            f"echo $? >{folder}/code.$PMIX_RANK"
        )
        process = subprocess.Popen(
            ["mpirun", "-n", "2", *AS_PRRTE, "sh", "-c", script, "sh", lane.WORLD, folder],
            env={**SETTINGS, "TESSERA_DEADLINE": "2s"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(2)
        process.send_signal(signal.SIGSTOP)
        with open(go, "w", encoding="ascii"):
            pass
        said, end = [], time.monotonic() + 30
        while time.monotonic() < end and len(said) < 2:
            time.sleep(0.2)
            said = [
                open(os.path.join(folder, f"said.{rank}"), encoding="utf-8").read()
                for rank in (0, 1)
                if os.path.exists(os.path.join(folder, f"code.{rank}"))
            ]
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        told = [text for text in said if "PMIx server has not answered rank" in text]
        tap.verdict(len(told) == 2, "a server that has stopped", said)


# ------------------------------------------------------------------ network namespaces


SPACES = ["--net", "--uts", "--mount"]


def holder():
    """A process in namespaces of its own, which end with it. Its /sys has its interfaces, which
    UCX reads there."""
    process = subprocess.Popen(
        [
            "unshare", "--net", "--uts", "--mount", "--kill-child", "--fork", "sh", "-c",
            "mount -t sysfs none /sys && echo $$ && read end"
        ],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    if not line.strip():
        raise OSError(process.stderr.read().strip() or "unshare failed")
    return process, line.strip()


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def wait_for_cable(enter, interface):
    """The kernel says a little later that it carries something; UCX uses none that does not."""
    end = time.monotonic() + 10
    state = ""
    while state != "up" and time.monotonic() < end:
        done = subprocess.run(
            [*enter, "cat", f"/sys/class/net/{interface}/operstate"], capture_output=True,
            text=True, check=False
        )
        state = done.stdout.strip()
        time.sleep(0.02)
    if state != "up":
        raise OSError(f"the interface {interface} is '{state}'")


@contextlib.contextmanager
def namespaces(folder):
    """Two nodes with a cable between them."""
    held = []
    try:
        for _ in range(2):
            held.append(holder())
        pids = [pid for _, pid in held]
        command(
            "ip", "link", "add", "tsr0", "netns", pids[0], "type", "veth", "peer", "name", "tsr1",
            "netns", pids[1]
        )
        for node, pid in enumerate(pids):
            enter = ["nsenter", "--target", pid, *SPACES]
            command(*enter, "hostname", f"tsr-{'ab'[node]}")
            command(*enter, "ip", "address", "add", f"10.77.0.{node + 1}/24", "dev", f"tsr{node}")
            command(*enter, "ip", "link", "set", f"tsr{node}", "up")
            command(*enter, "ip", "link", "set", "lo", "up")
        for node, pid in enumerate(pids):
            wait_for_cable(["nsenter", "--target", pid, *SPACES], f"tsr{node}")
        enter = [" ".join(["nsenter", "--target", pid, *SPACES, ""]) for pid in pids]
        yield Nodes(folder, "netns", enter[0].split(), f'exec {enter[1]}sh -c "$command"\n')
    finally:
        for process, _ in held:
            process.communicate("\n")


def try_all(folder):
    for ranks in SIZES:
        world("one node", ranks)
    world("one node, as PRRTE starts them", 3, before=AS_PRRTE)
    one_after_the_other("one node", 3)
    stopped_server()
    if not os.path.exists(SETTINGS["TESSERA_NET_PLUGIN"]):
        lane.skip("worlds by PMIx on several nodes", "no UCX: nothing carries their messages")
        return tap.exit_code()
    nodes = Nodes(folder, "here")
    for ranks in SIZES:
        world("two nodes", ranks, nodes)
    world("two nodes, as PRRTE starts them", 5, nodes, AS_PRRTE)
    world(
        "two nodes, an interface", 3, nodes, log="have met at 127.0.0.1:",
        TESSERA_NET_INTERFACE="lo"
    )
    for ranks in (2, 3, 5):
        one_after_the_other("two nodes", ranks, nodes)
    failures("two nodes", nodes)
    try:
        with namespaces(folder) as apart:
            for ranks in SIZES:
                world("two network namespaces", ranks, apart, log="tcp over tsr0")
            one_after_the_other("two network namespaces", 4, apart)
    except OSError as error:
        lane.skip("worlds by PMIx in network namespaces", str(error))
    return tap.exit_code()


def main():
    if shutil.which("mpirun") is None or b"Open MPI" not in subprocess.run(
        ["mpirun", "--version"], capture_output=True, check=False
    ).stdout:
        lane.skip("worlds by PMIx", "Open MPI's mpirun is not installed (ci/install-deps)")
        return 0
    with scratch() as folder:
        return try_all(folder)


sys.exit(main())
