#!/usr/bin/env python3
"""
tessera run and the signals of shells: nohup, Ctrl-Z and fg, and a pipe that is
read no more.
"""
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

PATIENT = os.path.join(os.environ["BUILD"], "tests/planted/process/patient")
RANKS, DEADLINE, STOPPED = 3, 5, 6  # seconds; stopped for longer than any wait may last


def start(*program, ignored=()):
    """A launcher in a process group of its own, as a shell with job control starts it, which
    signals reach by its number alone. It ignores these signals and no others, also where this test
    has been started by nohup."""

    def prepare():
        os.setpgid(0, 0)
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    environment = dict(os.environ, TESSERA_DEADLINE=f"{DEADLINE}s", TESSERA_HEAP_SIZE="1M")
    return subprocess.Popen(
        ["tessera", "run", "-n", str(RANKS), *program], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, preexec_fn=prepare
    )


def end(launcher):
    """Its exit code and what it and its ranks have printed; it is killed where it does not end."""
    try:
        out, err = launcher.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        launcher.kill()
        out, err = launcher.communicate()
    return launcher.returncode, (out or b"").decode(), err.decode()


def field(pid, index):
    """A field of /proc/PID/stat, counted from the state, 0."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[index]
    except OSError:
        return ""


def children(launcher):
    return [
        int(pid)
        for pid in os.listdir("/proc")
        if pid.isdigit() and field(pid, 1) == str(launcher.pid)
    ]


def within(seconds, happens):
    end_at = time.monotonic() + seconds
    while not happens() and time.monotonic() < end_at:
        time.sleep(0.02)
    return happens()


def ranks(launcher):
    """Its children but the guardian, which leads their group."""
    return [pid for pid in children(launcher) if field(pid, 2) != str(pid)]


launcher = start(PATIENT, "wait")
ready = launcher.stdout.readline()
pids = ranks(launcher)
launcher.send_signal(signal.SIGTSTP)  # as Ctrl-Z does
stopped = within(60, lambda: all(field(pid, 0) == "T" for pid in [launcher.pid, *pids]))
verdict(
    ready == b"ready\n" and len(pids) == RANKS and stopped,
    "Ctrl-Z stops the launcher and the ranks",
    f"{ready}, ranks {pids}, states {[field(pid, 0) for pid in [launcher.pid, *pids]]}"
)
time.sleep(STOPPED)
launcher.send_signal(signal.SIGCONT)  # as fg does
verdict(
    within(60, lambda: all(field(pid, 0) != "T" for pid in [launcher.pid, *pids])),
    "fg continues them"
)
result = end(launcher)
verdict(result == (0, "", ""), "and no deadline has expired while they were stopped", result)

launcher = start(PATIENT, "wait", ignored=(signal.SIGHUP, signal.SIGINT))
launcher.stdout.readline()
for number in (signal.SIGHUP, signal.SIGINT):
    for pid in [launcher.pid, *ranks(launcher)]:
        os.kill(pid, number)
result = end(launcher)
verdict(
    result == (0, "", ""), "SIGHUP and SIGINT that were ignored at the start stay ignored", result
)

launcher = start(PATIENT, "wait")
launcher.stdout.readline()
launcher.send_signal(signal.SIGHUP)
result = end(launcher)
verdict(result[0] == 129, "SIGHUP that was not ignored ends a run", result)

for what, program in (("a world", (PATIENT, "print")), ("ranks that join no world", ("yes",))):
    launcher = start(*program)
    launcher.stdout.readline()
    launcher.stdout.close()
    launcher.stdout = None  # as `head -1` leaves it
    code, _, err = end(launcher)
    verdict(
        (code, err) == (141, ""), f"{what} whose output is read no more ends without a word",
        f"exit code {code}\n{err}"
    )
sys.exit(exit_code())
