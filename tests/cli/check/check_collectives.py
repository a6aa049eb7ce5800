#!/usr/bin/env python3
"""
Ranks that pass different things to a collective on a stream, and states of
collectives that are misused: in a plain run, with ranks as processes and as
threads, on one node and on two, and under tessera check, in worlds of 2, 3 and 5.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

BUILD = os.path.abspath(os.environ["BUILD"])
TESSERA = os.path.join(BUILD, "tessera")
PLANTED = os.path.join(BUILD, "tests", "planted", "collective")
WORLDS = (2, 3, 5)
WHO = r"rank \d+(?: of team '[a-z]+' \(rank \d+ of the world\))?"
LINE = r" at tests/planted/collective/\w+\.c:\d+"
# What differs, as both ranks' values; {call} is of the kind's name.
PLACE = r"with {side} at '\w+'\+\d+"
DIFFER = {
    "gather_dst": PLACE, "scatter_src": PLACE, "broadcast_dst": PLACE, "broadcast_src": PLACE,
    "broadcast_root": r"with root \d", "all_gather_dst": PLACE,
    "all_gather_apart": r"with dst of rows \d+ elements apart",
    "all_gather_dim": r"along dimension \d", "all_to_all_dst": PLACE, "all_reduce_dst": PLACE,
    "all_reduce_src": PLACE, "reduce_dst": PLACE, "reduce_src": PLACE,
    "reduce_scatter_src": PLACE,
    "all_reduce_apart": r"with dst (?:of rows \d+ elements apart|without gaps)",
    "all_reduce_op": r"with TSR_REDUCE_\w+", "all_reduce_dtype": r"with elements of \w+",
    "all_reduce_shape": r"with f32 \[\d+, \d+\] of all ranks",
    "reduce_scatter_dim": r"along dimension \d",
    "all_reduce_count": r"with f32 \[\d+, \d+\] of all ranks", "broadcast_call": None,
    "all_reduce_team": r"in (?:the world|team 'others')",
}
FREED = "it was released, or never allocated"
SENTENCE = {
    "small": "its state is too small",
    "dirty": "with a state that is not cleared",
    "uncleared": "with a state that is not cleared",
    "cleared": f"{WHO} calls .*{LINE} with a state that it has cleared [01] times since its first"
    f" use, where {WHO} calls .*{LINE} with a state that it has cleared [01] times",
    "another": f"rank \\d+ has called tsr_stream_all_reduce{LINE} with the state '\\w+'\\+0, and"
    f" rank \\d+ tsr_stream_all_reduce{LINE} with the state '\\w+'\\+0: pass the same state",
    "streams": f"its state, 'state'\\+0, is in use by tsr_stream_all_reduce{LINE} on another"
    " stream",
    "team": r"in team 'half': its state, 'state'\+0, has been used in the world",
    "freed": FREED,
    "reused": "with a state that is not cleared, or is other memory",
    "within": "with a state that is too small",
}
# Where ranks are explored, this is what they find of it.
EXPLORED = {
    "another": "each waits for the rank of the other",
    "reused": FREED,  # memory that is freed is not reused there
    "within": r"it ends \d+ bytes behind the end of 'state'",
}


def differs(kind):
    """The pattern of the sentence."""
    call = r"calls tsr_stream_\w+" + LINE
    value = DIFFER[kind]
    if value is None:
        return f"{WHO} {call}, where {WHO} {call}: make the same collectives"
    value = value.replace("{side}", kind[-3:])
    return f"{WHO} {call} {value}, where {WHO} {call} {value}: "


def run(ranks, program, kind, *options, check=False):
    """The exit code and all that was printed, with white space as one blank."""
    how = ["check", "--seeds", "3"] if check else ["run", *options]
    environment = {
        **os.environ,
        "TESSERA_DEADLINE": "5s" if program == "disagree" else "2s",
        # these programs end where they are refused, with all that they have
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    done = subprocess.run(
        [TESSERA, *how, "-n", str(ranks), os.path.join(PLANTED, program), kind],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=120, check=False,
    )
    return done.returncode, " ".join(done.stdout.decode("utf-8", "replace").split())


def try_kind(job):
    """One kind in one world; returns what `verdict` takes."""
    program, kind, pattern, ranks, how = job
    explored = how == "explored"
    options = () if explored else ("--placement", how.split()[0])
    if how.startswith("process on"):
        options += ("--nodes", how.split()[2])
    code, text = run(ranks, program, kind, *options, check=explored)
    if pattern is None:
        good = code == 0 and (re.search("no finding", text) if explored else not text)
    else:
        good = code == 1 and re.search(EXPLORED.get(kind, pattern) if explored else pattern, text)
        good = good and (not explored or "finding: " in text)
    return good, f"{program} {kind}, {ranks} ranks: {how}", f"{code}: {text}"


tried = [("disagree", one, differs(one)) for one in DIFFER]
tried += [("states", one, said) for one, said in SENTENCE.items()] + [("disagree", "right", None)]
HOW = ["process", "thread", "explored"]
if os.path.exists(os.path.join(BUILD, "plugins", "libtessera-net-ucx.so")):
    HOW += ["process on 2 nodes"]
jobs = [(*one, size, how) for one in tried for size in WORLDS for how in HOW]
# they sleep most of the time
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for outcome in pool.map(try_kind, jobs):
        verdict(*outcome)
sys.exit(exit_code())
