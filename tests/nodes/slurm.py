#!/usr/bin/env python3
"""
Worlds that Slurm starts, on one node and on two: srun without PMI, with PMI-2 and
with PMIx. Slurm's daemons run on this machine, with a folder and ports of their
own, and both nodes are this machine under two names. Takes root, as slurmd does;
nothing of an installed Slurm is used but its programs.
"""
import contextlib
import ctypes
import os
import re
import shutil
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

LIMIT_S, START_S, END_S, STEPS_S = 120, 30, 20, 10
SIZES = (2, 3, 5)
HOST = socket.gethostname().split(".")[0]
NODES = (HOST, f"{HOST}-b")  # in the order of names: rank 0 is found by that of the first one
CONFIGURATION = """
ClusterName=tsr
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
KillWait=2
NodeName={nodes[0]} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 State=UNKNOWN
NodeName={nodes[1]} NodeHostname={nodes[1]} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 State=UNKNOWN
PartitionName=all Nodes={nodes[0]},{nodes[1]} Default=YES MaxTime=INFINITE State=UP
"""


def environment(folder):
    """Without what a job of Slurm would have set for this test itself."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("SLURM")},
        "SLURM_CONF": os.path.join(folder, "slurm.conf"), "TESSERA_DEADLINE": "60s",
        "TESSERA_HEAP_SIZE": "16M", "TESSERA_LOG": "info", "TESSERA_BACKEND": "cpuemu",
        "TESSERA_NET_PLUGIN": os.path.join(lane.BUILD, "plugins", "libtessera-net-ucx.so")
    }


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def configure(folder):
    for name in ["state"] + [f"{kind}-{node}" for kind in ("spool", "tmp") for node in NODES]:
        os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, "slurm.conf"), "w", encoding="ascii") as file:
        file.write(
            CONFIGURATION.format(
                folder=folder, host=HOST, ports=free_ports(3), nodes=NODES
            )
        )


def logs(folder):
    text = ""
    for name in sorted(os.listdir(folder)):
        if name.endswith((".log", ".out")):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                text += f"--- {name}\n{file.read()[-1500:]}\n"
    return text


def wait_until_idle(folder):
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        done = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%T"], env=environment(folder),
            capture_output=True, text=True, timeout=START_S, check=False
        )
        if done.stdout.split() == ["idle", "idle"]:
            return
        time.sleep(0.2)
    raise OSError(f"Slurm's nodes are not there after {START_S} s\n{logs(folder)}")


def adopt():
    """Slurm's daemons leave each step to a process that outlives them: it becomes a child of this
    test."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def end_steps():
    """Waits for these processes, and ends those that do not end by themselves."""
    end = time.monotonic() + STEPS_S
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0 and time.monotonic() > end:
                with open("/proc/thread-self/children", encoding="ascii") as file:
                    for child in file.read().split():
                        os.kill(int(child), signal.SIGKILL)
            time.sleep(0 if pid else 0.05)


@contextlib.contextmanager
def daemons(folder):
    """Slurm's daemons, which end with the test; what they print is in the folder."""
    first, second = (["slurmd", "-D", "-N", node] for node in NODES)
    # PMIx tells nodes by their host names
    named = ["unshare", "--uts", "sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", NODES[1]]
    commands = [["slurmctld", "-D"], first, named + second]
    started = []
    try:
        for number, command in enumerate(commands):
            with open(os.path.join(folder, f"daemon-{number}.out"), "wb") as out:
                started.append(
                    subprocess.Popen(
                        command, env=environment(folder), stdin=subprocess.DEVNULL, stdout=out,
                        stderr=out
                    )
                )
        wait_until_idle(folder)
        yield
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        end_steps()


def world(folder, ranks, nodes, mpi):
    """A world is right, and knows its nodes."""
    with tempfile.TemporaryDirectory() as results:
        code, text = lane.run(
            [
                "srun", f"--nodes={nodes}", f"--ntasks={ranks}", f"--mpi={mpi}",
                "--kill-on-bad-exit", lane.WORLD, results
            ],
            limit_s=LIMIT_S, env=environment(folder)
        )  # fmt: skip
        right = code == 0 and len(lane.ranks_that_are_right(ranks, results)) == ranks
        met = re.search(r"info: 2 nodes, which have met at (\S+)", text)
        tap.verdict(
            right and (met is not None) == (nodes > 1),
            f"srun --mpi={mpi}, {ranks} ranks, nodes: {nodes}", f"exit code {code}\n{text}"
        )
        return right


def ends(folder, mpi, rank, sentence):
    """A rank never joins: the others end in time, and say so."""
    with tempfile.TemporaryDirectory() as results:
        script = f'if [ $SLURM_PROCID = {rank} ]; then exit 0; fi; exec "$@"'
        code, text = lane.run(
            [
                "srun", "--nodes=2", "--ntasks=3", f"--mpi={mpi}", "sh", "-c", script, "sh",
                lane.WORLD, results
            ],
            limit_s=LIMIT_S, env={**environment(folder), "TESSERA_DEADLINE": "3s"}
        )  # fmt: skip
        good = code not in (0, None) and sentence in text and not os.listdir(results)
        tap.verdict(
            good, f"srun --mpi={mpi}: rank {rank} never joins", f"exit code {code}\n{text}"
        )


def cannot_name_nodes():
    done = subprocess.run(
        ["unshare", "--uts", "hostname", NODES[1]], capture_output=True, text=True, check=False
    )
    return done.stderr.strip() if done.returncode != 0 else None


def try_all(folder):
    listed = subprocess.run(
        ["srun", "--mpi=list"], env=environment(folder), capture_output=True, text=True,
        timeout=START_S, check=False
    )
    kinds = re.findall(r"\b(none|pmi2|pmix)\b", listed.stdout + listed.stderr)
    good = True
    for mpi in sorted(set(kinds) | {"none"}):
        for ranks in SIZES:
            good &= world(folder, ranks, 1, mpi)
            good &= world(folder, ranks, 2, mpi)
    ends(folder, "none", 0, f"cannot reach rank 0's node at {HOST}:")
    ends(folder, "none", 2, "rank 2 of 3 never arrived within 3 s")
    if "pmix" in kinds:
        ends(folder, "pmix", 0, "has waited 3 s for the other ranks, but not all have come")
    if not good:
        print("# " + logs(folder).replace("\n", "\n# "))


def is_known(name):
    try:
        socket.gethostbyname(name)
    except OSError:
        return False
    return True


def main():
    missing = [name for name in ("slurmctld", "slurmd", "srun") if shutil.which(name) is None]
    why = None
    if missing:
        why = f"Slurm is not installed: no {', '.join(missing)} (slurm-wlm on Debian)"
    elif os.geteuid() != 0:
        why = "slurmd takes root"
    elif not is_known(HOST):
        why = f"the name of this machine, {HOST}, is not known"
    elif not os.path.exists(os.path.join(lane.BUILD, "plugins", "libtessera-net-ucx.so")):
        why = "no UCX: nothing carries messages between nodes"
    if why:
        lane.skip("worlds by Slurm", why)
        return 0
    why = cannot_name_nodes()
    if why:
        lane.skip("worlds by Slurm", why)
        return 0
    adopt()
    with tempfile.TemporaryDirectory() as folder:
        configure(folder)
        try:
            with daemons(folder):
                try_all(folder)
        except OSError as error:
            tap.verdict(False, "Slurm's daemons start", str(error))
    return tap.exit_code()


sys.exit(main())
