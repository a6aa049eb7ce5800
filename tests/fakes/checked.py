#!/usr/bin/env python3
"""
A program that speaks the protocol of src/explore/wire/protocol.h without
exploring anything: what it says follows from its arguments, the seed and the
script alone.

  checked.py MODE [--shape AxBxC]

Modes say what goes wrong and, of those that have their own, how many
interleavings there are.

A schedule is 60 choices of three alternatives. `needle` fails where choice 12
is answered by 1 and choice 40 by 2, on 3 ranks or more, with 8 rows and 4
columns or more, and at least 2 resident blocks. `moved` fails on 3 ranks or
more, by other seeds in each world.
"""
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

CHOICES = 60
# the key that asks for one run by the parallel executor, of which nothing but launches is said
BY_THREADS = "parallel"


def asked():
    """The options: a dictionary of texts."""
    return dict(pair.split("=", 1) for pair in os.environ["TESSERA_CHECK"].split(","))


class Program:
    def __init__(self, mode, shape):
        self.mode, self.shape = mode, shape
        self.options = asked()
        self.out = int(self.options["report_fd"])
        self.ranks = int(self.options["ranks"])
        self.resident = int(self.options["resident_blocks"]) or 64

    def say(self, line, /, **members):
        os.write(self.out, ("\n" + json.dumps({"type": line, **members}) + "\n").encode())

    def raw(self, text):
        os.write(self.out, text.encode())

    def finding(
        self, name, line=40, other=28, allocation="inbox", swapped=False, link=False, **members
    ):
        now = {
            "call": "tsr_get", "file": "kernel.c", "line": line, "kind": "read", "rank": 1,
            "kernel": "send", "launch": 0, "block": 2, "worker": 0, "tile": [0, 64], "target": 1,
            "allocation": allocation, "offset": 4096, "bytes": 64, "order": "plain"
        }
        before = {**now, "call": "tsr_put", "line": other, "kind": "write", "rank": 0}
        access = [before, now] if swapped else [now, before]
        if link:  # what is known of the edge that is missing
            access.append({**before, "call": "tsr_signal", "line": 30})
        self.say("finding", **{"class": name, "access": access, **members})

    def script_of(self, seed):
        fd = int(self.options["script_fd"])
        if fd >= 0:
            text = os.pread(fd, 1 << 20, 0).decode().strip()
            return (
                []
                if text == "default"
                else [list(map(int, pair.split(":"))) for pair in text.split("+")]
            )
        chance = random.Random(seed)
        drawn = [[index, chance.randrange(3)] for index in range(CHOICES)]
        return [pair for pair in drawn if pair[1]]

    def needle(self, script):
        rows, columns, _ = self.shape
        return (
            [12, 1] in script
            and [40, 2] in script
            and self.ranks >= 3
            and rows >= 8
            and columns >= 4
            and self.resident >= 2
        )

    def schedule(self, seed):
        """One schedule; what its program's exit code is."""
        script, mode, code = self.script_of(seed), self.mode, 0
        self.say("begin", seed=seed)
        if mode == "race" or mode == "needle" and self.needle(script):
            self.finding("data-race")
            self.finding("data-race", swapped=True)  # the same, the other way round
        if mode == "moved" and self.ranks >= 3 and (seed - self.ranks) % 7 == 0:
            self.finding("data-race")
        if mode == "linked":
            self.finding("data-race", link=seed == 3)
        if mode == "two":
            self.finding("data-race" if seed % 2 else "reuse")
        if mode == "many":
            self.finding("misuse", line=seed)
        if mode == "warning":
            self.finding("load-buffering", severity="warning")
        if mode == "fails" and seed % 3 == 0:
            code = 7
        if mode == "dies" and seed == 2:
            self.raw('{"type":"finding","cla')  # as a child that is killed leaves it
            code = 128 + signal.SIGSEGV
        if mode == "hangs" and seed == 3:
            time.sleep(1000)
        if mode == "gone" and seed == 3:
            self.finding(
                "deadlock", line=9, other=9,
                nodes=[{"rank": 0, "state": "waits"}, {"rank": 1, "state": "waits"}],
                edges=[{"from": 0, "to": 1}, {"from": 1, "to": 0}]
            )
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "slow":
            time.sleep(0.05)
        if self.options["trace"] == "1" and mode != "eventless":
            self.events()
        if mode == "third" and self.ranks >= 3:
            self.finding("deadlock", line=9, other=9)
        if mode == "common" or mode == "rare" and seed == 150:
            self.finding("data-race")
        seen = {
            "same": 0, "third": 0, "common": 0, "rare": 0, "fresh": seed,
            "fresher": seed * (self.ranks > 2), "some": min(seed, 300)
        }.get(mode, script[:1])
        digest = hashlib.md5(json.dumps(seen).encode()).hexdigest()
        self.say(
            "schedule", seed=seed, digest=digest, choices=CHOICES, steps=3 * CHOICES,
            tasks=self.ranks + 2, shadow_bytes=1 << 20, heap_bytes=3 << 20, script=script,
            exit=code, pruned=mode == "pruned" and seed > 1
        )
        return code

    def events(self):
        worker = {"kernel": "send", "launch": 0, "block": 2, "worker": 0}
        self.say("event", name="tsr_launch", kind="call", rank=0, begin=0, end=1)
        self.say(
            "event", name="tsr_signal", kind="write", rank=0, **worker, begin=3, end=3,
            file="kernel.c", line=30, flow_out=5
        )
        self.say(
            "event", name="tsr_wait", kind="wait", rank=1, **worker, begin=1, end=6,
            file="kernel.c", line=38, flow_in=5, detail="'flag' >= 1"
        )

    def run_parallel(self):
        """A kernel of 50 ms, or of 550 where it is late; what its program's exit code is."""
        if self.mode == "unlaunched":
            return 0
        time.sleep(0.05)
        began_ns = time.monotonic_ns()
        if self.mode == "late":  # the first launch is said behind another, long after it was made
            time.sleep(0.5)
            self.say("launch", at_ns=time.monotonic_ns())
        self.say("launch", at_ns=began_ns)
        self.say("launch", **({} if self.mode == "untimed" else {"at_ns": time.monotonic_ns()}))
        time.sleep(1000 if self.mode == "endless" else 0.05)
        return 3 if self.mode == "unparallel" else 0

    def run(self):
        if self.mode == "prefix":
            self.finding("collective-mismatch")
        self.say("prefix", version=2 if self.mode == "version" else 1, tasks=self.ranks, steps=10)
        if self.mode == "garbage":
            self.raw(
                "this is no JSON\n[1,"
                ' 2]\n\n{"type":"rumour"}\n{"type":"finding","class":"gossip"}\n{}\n'
            )
        first, stride, count = (int(self.options[key]) for key in ("first", "stride", "seeds"))
        if int(self.options["script_fd"]) >= 0:
            count = 1
        for number in range(count or 9):
            self.schedule(first + number * stride)
        self.say(
            "end",
            **(
                {"complete": False, "why": "it is a fake"}
                if self.mode == "broken"
                else {"complete": True}
            )
        )
        if self.mode == "lingers":
            time.sleep(1000)


def main():
    mode = sys.argv[1]
    shape = sys.argv[sys.argv.index("--shape") + 1] if "--shape" in sys.argv else "64x64x64"
    print("the program prints this")
    print("the program complains", file=sys.stderr, flush=True)
    if mode == "mute":
        return 0
    if mode == "early" or mode == "lonely" and asked()["ranks"] != "2":
        return 5
    if mode == "environment":
        os.environ["TESSERA_CHECK"] = os.environ["TESSERA_CHECK"].replace("report_fd", "fd")
        print(
            {key: value for key, value in os.environ.items() if key.startswith("TESSERA_")},
            file=sys.stderr
        )
        return 5
    if mode == "silent":
        # A child of its own, which must not be left either; its last argument is what it is looked
        # for by.
        subprocess.run(
            [sys.executable, "-c", "import time; time.sleep(1000)", sys.argv[0]], check=False
        )
    program = Program(mode, [int(extent) for extent in shape.split("x")])
    if program.options.get(BY_THREADS) == "1":
        return program.run_parallel()
    program.run()
    return 0


sys.exit(main())
