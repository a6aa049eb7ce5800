#!/usr/bin/env python3
"""
How long tessera litmus takes where threads are many or retry, measured as the
processor time of its own process; and what it says of a test that would take
too long.
"""
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

UNLOOPED = "tests/litmus/SB.sc.diffGPU-ss.litmus"
FOLDER = tempfile.TemporaryDirectory()
MEASURED = not os.environ.get("BUILD", "").endswith(("-tsan", "-asan"))  # sanitizers cost time


def litmus(name, columns, question):
    """Writes a test, each of whose threads is on a device of its own; returns its path."""
    rows = [[f"P{number}" for number in range(len(columns))]]
    rows += [
        [column[i] if i < len(column) else "" for column in columns]
        for i in range(max(map(len, columns)))
    ]
    table = "\n".join(" | ".join(row) + " ;" for row in rows)
    place = " ".join(f"(agent (wg (wave (wi {number}))))" for number in range(len(columns)))
    path = os.path.join(FOLDER.name, name + ".litmus")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"LISA {name}\n{{ }}\n{table}\nscopes: (system {place})\nexists ({question})\n")
    return path


def increments(count):
    """Each adds 1 by a compare-and-swap that is tried until it succeeds."""
    column = [
        "r[rlx,system] r0 x", "L: mov r1 (add r0 1)", "cas[rlx,system] r2 r0 r1 x",
        "mov r3 (neq r2 r0)", "mov r0 r2", "b[] r3 L"
    ]
    return litmus(f"increments-{count}", [column] * count, f"x={count}")


def locks(count):
    """Each takes a lock by trying, adds 1 plainly, and gives it back."""
    column = [
        "L: rmw[acq,system] r0 1 l", "b[] r0 L", "r[na,wi] r1 x", "mov r2 (add r1 1)",
        "w[na,wi] x r2", "w[rel,system] l 0"
    ]
    return litmus(f"locks-{count}", [column] * count, f"x={count}")


def rings(order_of_store, order_of_load, fence=""):
    """Eight threads of store buffering in a ring."""
    ring = "abcdefgh"
    columns = [
        [
            f"w[{order_of_store},system] {ring[n]} 1", fence,
            f"r[{order_of_load},system] r0 {ring[(n + 1) % 8]}"
        ]
        for n in range(8)
    ]
    return litmus(
        f"SB-8-{order_of_store}{'-f' * bool(fence)}", columns,
        " /\\ ".join(f"{n}:r0=0" for n in range(8))
    )


def readers(order_of_store, order_of_load):
    """Two writers, and six who read what they write in one order or the other."""
    columns = [[f"w[{order_of_store},system] {x} 1"] for x in "xy"]
    columns += [
        [
            f"r[{order_of_load},system] r0 {'xy'[n % 2]}",
            f"r[{order_of_load},system] r1 {'yx'[n % 2]}"
        ]
        for n in range(6)
    ]
    shown = [f"{n}:r0=1 /\\ {n}:r1=0" for n in range(2, 8)]
    return litmus(f"IRIW-8-{order_of_store}", columns, " /\\ ".join(shown))


def writers(places, order):
    """Eight writers of the same location or two."""
    columns = [[f"w[{order},system] {x} {n + 1}" for x in places] for n in range(8)]
    return litmus(f"{len(places)}W-8-{order}", columns, "x=8" + " /\\ y=1" * (len(places) > 1))


def counters():
    columns = [["rmw[acqrel,system] r0 (add r0 1) x"]] * 8
    return litmus("ADD-8", columns, "x=8")


def endless(count):
    """Writers who read each other, again and again: more outcomes than anybody waits for."""
    columns = [
        [f"w[rlx,system] x {n + 1}"] + [f"r[rlx,system] r{i} x" for i in range(4)]
        for n in range(count)
    ]
    shown = [f"{n}:r{i}=1" for n in range(count) for i in range(4)]
    return litmus("endless", columns, " /\\ ".join(shown))


def tessera(*arguments):
    """Exit code, stdout, stderr, and seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        ["tessera", "litmus", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=500, check=False
    )
    return (
        done.returncode, done.stdout, done.stderr,
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    )


def takes_at_most(seconds, witness, path, observed, *options):
    code, out, err, used = tessera(path, "--on", witness, *options)
    what = (
        f"{os.path.basename(path)[:-7]} {' '.join(options)} by {witness}: {observed}, in"
        f" {seconds} s"
    )
    told = re.search(r"^Observation \S+ (.*)$", out, re.MULTILINE)
    print(f"# {used:.2f} s")
    right = (
        code == 0
        and told is not None
        and told.group(1) == observed
        and (used <= seconds or not MEASURED)
    )
    verdict(right, what, f"exit code {code}, {used:.2f} s, {told and told.group(1)}, {err}")


def said_on_a_terminal(*arguments):
    """What is written to a terminal that is the command's stderr."""
    master, slave = pty.openpty()
    subprocess.run(
        ["tessera", "litmus", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=slave, timeout=500, check=False
    )
    os.close(slave)
    text = b""
    try:
        while more := os.read(master, 4096):
            text += more
    except OSError:  # nobody has the other end any more
        pass
    os.close(master)
    return text.decode()


for witness in ("axioms", "views"):
    takes_at_most(1, witness, increments(3), "Always 1 0")
    takes_at_most(5, witness, increments(4), "Always 1 0", "--unroll", "1")
    takes_at_most(5, witness, increments(4), "Always 1 0")
    takes_at_most(5, witness, locks(4), "Always 1 0")
    takes_at_most(2, witness, rings("rlx", "rlx"), "Sometimes 1 255")
    takes_at_most(2, witness, rings("sc", "sc"), "Never 0 255")
    takes_at_most(2, witness, rings("rlx", "rlx", "f[sc,system]"), "Never 0 255")
    takes_at_most(2, witness, readers("rel", "acq"), "Sometimes 1 4095")
    takes_at_most(2, witness, readers("sc", "sc"), "Never 0 2727")
    takes_at_most(2, witness, writers("x", "rlx"), "Sometimes 1 7")
    takes_at_most(2, witness, writers("x", "sc"), "Sometimes 1 7")
    takes_at_most(2, witness, writers("xy", "rel"), "Sometimes 1 63")
    takes_at_most(3, witness, counters(), "Always 1 0")

quick = increments(2)
for witness in ("axioms", "views", "cache", "explore"):
    if witness == "explore" and not MEASURED:
        continue  # ThreadSanitizer cannot follow its forks
    slow, other = (endless(4), UNLOOPED) if witness == "explore" else (endless(8), quick)
    code, out, err, _ = tessera(
        slow, other, "--on", witness, "--limit", "1", "--runs", "1000000000"
    )
    wanted = (
        rf"^not judged by {witness}: endless: given up after \d+\.\d s \(limit 1 s; --limit raises"
        r" it\)$"
    )
    right = (
        code == 1
        and re.search(wanted, out, re.MULTILINE)
        and re.search("^not judged 1$", out, re.MULTILINE)
    )
    judged = re.search("^(Test increments-2 |agree 1 of 2$)", out, re.MULTILINE)
    verdict(
        right and judged, f"{witness} gives up what takes too long, and goes on",
        f"{code}: {out[:300]} {err}"
    )
slow = endless(8)
code, out, err, _ = tessera(slow, "--limit", "6")
verdict(
    err
    == "tessera litmus: endless takes long, 5 s so far; --limit says how long a test may take\n",
    "a test that takes long is named", err
)
text = said_on_a_terminal(slow, "--limit", "2")
verdict(
    "\r\033[Kendless: 1 s" in text and text.endswith("\r\033[K"),
    "on a terminal by a line that goes away again", repr(text)
)
code, out, err, _ = tessera(quick, "--limit", "-1")
verdict(code == 2 and "--limit" in err, "a limit below zero is refused", err)
sys.exit(exit_code())
