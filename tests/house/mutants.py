#!/usr/bin/env python3
"""
The mutants themselves: what is generated from a source, that every one can be
made, and how a report is judged.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RUN = os.path.join(ROOT, "tests", "mutants", "run")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(RUN), os.path.join(ROOT, "tests", "harness")]
import mutant as mutants  # noqa: E402
from source import Source  # noqa: E402
from tap import exit_code, verdict  # noqa: E402
from weaken import OPERATIONS, weakenings  # noqa: E402

SAMPLE = """/* tsr_wait(in a comment) */
#define tsr_signal(coop_, ...) tsr_signal(TSR_AT(coop_), __VA_ARGS__)
TSR_KERNEL(sample, args_t, a)
{
	int next = (tsr_rank(block) + 1) % tsr_size(block);
	move(block, "tsr_sync(block);", next);
	for (int i = 1; i < tsr_size(block); i++)
		tsr_wait(block, &a->flags[i], 7, i);
	if (tsr_atomic_add(block, a->count, f(1, 2), next, TSR_ACQ_REL, TSR_SCOPE_DEVICE) == 3) {
		tsr_signal_local(block, a->flags, 2, TSR_SCOPE_BLOCK);
	}
	tsr_fence(block, TSR_SEQ_CST, TSR_SCOPE_SYSTEM);
	tsr_atomic_load(block, a->count, next, TSR_SEQ_CST, TSR_SCOPE_BLOCK);
	tsr_wait_word(block, a->count, TSR_CMP_LT, 4, next, TSR_ACQUIRE, TSR_SCOPE_SYSTEM, next, &seen);
	tsr_atomic_store(block, a->count, 0, next, TSR_RELAXED, TSR_SCOPE_BLOCK);
	tsr_atomic_store(block, a->flags, 5, next, TSR_RELAXED, TSR_SCOPE_BLOCK);
}
"""

WANTED = """
tsr_wait removed (0)
tsr_wait order ({ while (tsr_atomic_load(block, &a->flags[i], tsr_rank(block), TSR_RELAXED, \
TSR_SCOPE_SYSTEM) < (uint64_t)(7)) { } TSR_WAIT_OK; })
tsr_wait scope ({ while (tsr_atomic_load(block, &a->flags[i], tsr_rank(block), TSR_ACQUIRE, \
TSR_SCOPE_DEVICE) < (uint64_t)(7)) { } TSR_WAIT_OK; })
tsr_wait value (7) + 1
tsr_wait value (7) - 1
tsr_wait moved-up for (int i = 1; i < tsr_size(block); i++) tsr_wait(block, &a->flags[i], 7, i); \
move(block, "tsr_sync(block);", next);
tsr_wait moved-down if (tsr_atomic_add(block, a->count, f(1, 2), next, TSR_ACQ_REL, \
TSR_SCOPE_DEVICE) == 3) { tsr_signal_local(block, a->flags, 2, TSR_SCOPE_BLOCK); } for (int i = \
1; i < tsr_size(block); i++) tsr_wait(block, &a->flags[i], 7, i);
tsr_atomic_add removed (0)
tsr_atomic_add order TSR_ACQUIRE
tsr_atomic_add order TSR_RELEASE
tsr_atomic_add scope TSR_SCOPE_BLOCK
tsr_atomic_add peer ((next) + 1) % tsr_size(block)
tsr_atomic_add value (f(1, 2)) + 1
tsr_atomic_add value (f(1, 2)) - 1
tsr_signal_local removed (0)
tsr_signal_local order tsr_atomic_store(block, a->flags, (uint64_t)(2), tsr_rank(block), \
TSR_RELAXED, TSR_SCOPE_BLOCK)
tsr_signal_local value (2) + 1
tsr_signal_local value (2) - 1
tsr_fence removed ((void)0)
tsr_fence order TSR_ACQ_REL
tsr_fence scope TSR_SCOPE_DEVICE
tsr_atomic_load removed (0)
tsr_atomic_load order TSR_ACQUIRE
tsr_atomic_load peer ((next) + 1) % tsr_size(block)
tsr_wait_word removed (0)
tsr_wait_word order TSR_RELAXED
tsr_wait_word scope TSR_SCOPE_DEVICE
tsr_wait_word peer ((next) + 1) % tsr_size(block)
tsr_wait_word value (4) + 1
tsr_wait_word value (4) - 1
tsr_atomic_store removed (0)
tsr_atomic_store peer ((next) + 1) % tsr_size(block)
tsr_atomic_store value (0) + 1
tsr_atomic_store value (0) - 1
tsr_atomic_store value (5) + 1
tsr_atomic_store value (5) - 1
"""


def sample():
    found = [
        f"{w.operation} {w.kind} {' '.join(w.after.split())}" for w in weakenings(Source(SAMPLE))
    ]
    wanted = WANTED.strip().splitlines()
    for line in wanted:
        verdict(line in found, f"of the sample: {line[:70]}", "\n".join(found))
    moves = sum(" moved-" in line for line in found)
    extra = [line for line in found if line not in wanted and " moved-" not in line]
    verdict(not extra, "of the sample: nothing else", "\n".join(extra))
    verdict(
        moves == 13, "of the sample: thirteen moves, none of two relaxed atomics", "\n".join(found)
    )


def lists():
    targets = mutants.targets()
    for each in list(mutants.hand(targets)) + list(mutants.library(targets)):
        try:
            texts = mutants.edited(each)
            sites = mutants.sites_of(each, texts)
            lines = [
                text.count("\n") - mutants.source_text(name).count("\n")
                for name, text in texts.items()
            ]
            verdict(
                not any(lines), f"{each.id} can be made, and moves no line", f"{lines}, {sites}"
            )
        except mutants.Refused as refused:
            verdict(False, f"{each.id} can be made", refused)
    generated = list(mutants.generated(targets))
    names = [each.id for each in generated]
    verdict(
        len(set(names)) == len(names) > 300, "generated mutants have names of their own", len(names)
    )
    bugs = {each.iris for each in mutants.hand(targets)} | {
        each.iris for each in mutants.library(targets)
    }
    verdict(
        {f"M{i}" for i in range(1, 16)} <= bugs, "each of the fifteen bugs has a mutant",
        sorted(bugs)
    )
    for name, target in targets.items():
        small = target.get("small")
        if small:
            texts = mutants.edited(
                mutants.Mutant(name, name, "original", "", [], []), target.get("small_edits", [])
            )
            verdict(
                set(small) == set(target["instances"]), f"{name} has a small instance for each",
                f"{set(small)}, {set(texts)}"
            )
    first = [each.id for each in mutants.rotated(generated, 1)]
    verdict(
        first == [each.id for each in mutants.rotated(generated, 1)] != names,
        "a seed decides the order, and nothing else"
    )
    for name, target in targets.items():
        for file in target.get("explained", {}):
            for entry in mutants.explanations_of(target, file):
                for kind in entry["kinds"]:
                    one = [{**entry, "kinds": [kind]}]
                    verdict(
                        any(each.explained for each in mutants.weakened(name, file, [], one)),
                        f"{name}: {entry['call']} {kind} is a mutant", entry["why"]
                    )
    covered = {file for target in targets.values() for file in mutants.sources_of(target)}
    shipped = subprocess.run(
        ["ci/list-files", "kernels/*", "examples/*"], cwd=ROOT, capture_output=True, text=True,
        check=True
    ).stdout.split()
    for name in (name for name in shipped if name.endswith((".c", ".h"))):
        ordered = [
            call.name
            for call in Source(mutants.source_text(name)).calls(OPERATIONS)
            if call.name != "tsr_gemm"
        ]
        if ordered:
            verdict(
                name in covered, f"{name} is mutated",
                f"{ordered}: tests/mutants/targets.json has no target for it"
            )


FAKE = """#!/usr/bin/env python3
import json, os, sys, time
if "--help" in sys.argv:
    sys.exit(0)
mode, report = os.environ["FAKE"], {"findings": []}
if mode == "hang":
    time.sleep(60)
if mode == "silence":
    sys.exit(0)
exhaustive = "exhaustive" in sys.argv
if mode.startswith("finding "):
    kind, line = mode.split()[1:]
    access = {"file": "./tests/mutants/relay.c", "line": int(line)}
    report["findings"] = [{"class": kind, "accesses": [access]}]
if mode == "warning":
    report["findings"] = [{"class": "load-buffering", "severity": "warning"}]
if exhaustive:
    report["complete"] = mode == "equivalent"
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump(report, file)
sys.exit(1 if report["findings"] else 0)
"""


def judged(folder, name, answer, pattern, code, wanted, of="original,hand"):
    """Runs one mutant under a check that answers as told."""
    options = [
        "--check", os.path.join(folder, "check"), "--tools", "check", "--set", of, "--exhaustive"
    ]
    command = [
        RUN, "--build", os.environ["BUILD"], *options, "--check-limit", "2", "--jobs", "1", pattern
    ]
    done = subprocess.run(
        command, env={**os.environ, "FAKE": answer}, capture_output=True, text=True, timeout=120,
        check=False
    )
    verdict(
        done.returncode == code and re.search(wanted, done.stdout), name,
        f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    )


def reports():
    line = 1 + next(
        i
        for i, text in enumerate(mutants.source_text("tests/mutants/relay.c").splitlines())
        if "tsr_get(" in text
    )
    swapped = "copy-with-its-ranks-swapped"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "check")
        with open(path, "w", encoding="ascii") as file:
            file.write(FAKE)
        os.chmod(path, 0o755)
        judged(
            folder, "right class, right site", f"finding data-race {line}", swapped, 0,
            "check: caught: data-race"
        )
        judged(
            folder, "wrong class", f"finding deadlock {line}", swapped, 1,
            "caught otherwise: deadlock"
        )
        judged(
            folder, "wrong site", f"finding data-race {line - 8}", swapped, 1,
            "caught otherwise: data-race"
        )
        judged(folder, "no finding", "nothing", swapped, 1, "missed: not exhausted")
        judged(folder, "a warning is no finding", "warning", swapped, 1, "missed: not exhausted")
        judged(
            folder, "every schedule without a finding", "equivalent", swapped, 0,
            "equivalent: exhaustive"
        )
        edited_small = "message_passing_load_store:*:tsr_signal:order"
        judged(
            folder, "every schedule of a program made smaller", "equivalent", edited_small, 0,
            "equivalent: exhaustive", "generated"
        )
        judged(folder, "a check that hangs", "hang", swapped, 1, "missed: hangs")
        judged(
            folder, "a check that reports nothing", "silence", swapped, 1,
            "missed: exit code 0 and no report"
        )
        judged(
            folder, "an original that raises something", f"finding data-race {line}",
            "relay:original", 1, "not silent"
        )
        judged(folder, "an original that raises nothing", "nothing", "relay:original", 0, "silent")
        judged(folder, "an original whose check hangs", "hang", "relay:original", 1, "hangs")


sample()
lists()
reports()
sys.exit(exit_code())
