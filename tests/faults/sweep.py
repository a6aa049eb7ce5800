"""
Runs commands with one system call failing at a time, and judges how each ends.

Right is: the run ends, with the right results where the fault can be borne,
else with an exit code and a sentence that says what failed; and nothing is
left.
"""
import argparse
import collections
import multiprocessing
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))

import calls
import supervisor
import tap

DEADLINE_S = 3  # of a wait between ranks
SLACK_S = 12  # a busy machine's

BUILD = os.path.abspath(os.environ.get("BUILD", "build/gcc-debug"))

# name; command; right(outcome, folder): why what a successful run did is wrong, or ""; files that
# may stay in its folder; environment: what it has beside the usual; prepare(folder): makes what the
# command reads.
Run = collections.namedtuple(
    "Run", "name command right files environment prepare", defaults=((), {}, lambda folder: None)
)


def environment_of(run, folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    return {
        **kept,
        "LD_PRELOAD": os.path.join(BUILD, "tests", "faults", "begin.so"),
        "ASAN_OPTIONS": "verify_asan_link_order=0",
        "OPENBLAS_NUM_THREADS": "1",
        "TESSERA_DEADLINE": f"{DEADLINE_S}s",
        "TMPDIR": folder,
        "HOME": folder,
        "XDG_CACHE_HOME": folder,
        **run.environment,
    }


def attempt(run, fault):
    """One run of it. Returns its outcome, and what it left in the folder that was its own."""
    folder = tempfile.mkdtemp(prefix="faults-")
    try:
        run.prepare(folder)
        before = set(os.listdir(folder))
        looked_at = {fault.call.split()[0]} if fault else set(supervisor.NUMBERS) - calls.TOO_MANY
        limit_s = DEADLINE_S + SLACK_S
        made = supervisor.Supervisor(
            run.command, environment_of(run, folder), folder, BUILD, looked_at, fault, limit_s
        ).run()
        why = run.right(made, folder) if made.code == 0 else ""
        stray = sorted(set(os.listdir(folder)) - before - set(run.files))
        return made, why, stray
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judge(fault, made, why, stray):
    """What is wrong with a run under a fault, or nothing."""
    if made.hung:
        return "did not end"
    if made.left:
        return f"left {', '.join(made.left)} running"
    if stray:
        return f"left {', '.join(stray)} in its folder"
    if made.code < 0 or re.search(
        r"killed by signal (?!9 )|did not end when the world did", made.err
    ):
        return f"crashed (exit code {made.code}): {made.err.strip()}"
    if made.code == 0:
        return why and f"succeeded, but {why}"
    if fault.error in calls.FAILING[fault.call][0].split():
        return f"exit code {made.code} for what can be borne: {made.err.strip()}"
    return names_cause(fault.error, made.out + made.err)


def names_cause(error, text):
    cause = (
        re.escape(os.strerror(getattr(supervisor.errno, error)))
        + "|"
        + calls.CAUSES.get(error, "$^")
    )
    if not re.search(cause, text):
        return (
            f"no sentence names the cause ({error}): {text.strip()[-1500:] or 'nothing was said'}"
        )
    return ""


def faults_of(counts, most):
    """What to try: each error of each call that a clean run made, at its first `most` times and at
    its last."""
    for (process, call), count in sorted(counts.items()):
        if call not in calls.FAILING:
            continue
        for error in " ".join(calls.FAILING[call]).split():
            for number in sorted({*range(1, min(count, most) + 1), count}):
                yield supervisor.Fault(process, call, number, error)


def unknown_calls(counts):
    return sorted({call for _, call in counts} - set(calls.FAILING) - calls.PASSED)


def _try(task):
    run, fault = task
    made, why, stray = attempt(RUNS[run], fault)
    return run, fault, made.met, made.seconds, judge(fault, made, why, stray) if made.met else ""


RUNS = {}  # by name; here, so that the processes that share the work need not be told


def clean_counts(run):
    """The calls of a run without faults: more of those that hang on who comes first. Ends the test
    where it is not right."""
    counts = collections.Counter()
    for _ in range(3):
        made, why, stray = attempt(run, None)
        if made.code != 0 or why or stray or made.left:
            tap.verdict(
                False, f"{run.name}: without a fault",
                f"exit code {made.code}, {why} {stray} {made.left}\n{made.out}{made.err}"
            )
            return None
        counts |= made.counts
    unknown = unknown_calls(counts)
    tap.verdict(
        not unknown, f"{run.name}: every system call has its line in calls.py", ", ".join(unknown)
    )
    return counts


def sweep(arguments):
    """A verdict for each call of each run."""
    tasks, trouble, tried = [], collections.defaultdict(list), collections.Counter()
    for run in RUNS.values():
        counts = clean_counts(run)
        tasks += [
            (run.name, fault)
            for fault in faults_of(counts or {}, arguments.most)
            if not arguments.call or fault.call == arguments.call
        ]
    context = multiprocessing.get_context("fork")
    slowest = 0
    with context.Pool(arguments.jobs, supervisor.adopt_orphans) as pool:
        for run, fault, met, seconds, why in pool.imap_unordered(_try, tasks):
            tried[run, fault.call] += met
            slowest = max(slowest, seconds)
            if why:
                trouble[run, fault.call].append(f"{case_of(run, fault)}: {why}")
    for run, call in sorted(tried):
        tap.verdict(
            not trouble[run, call], f"{run}: {call} fails ({tried[run, call]} times)",
            "\n".join(trouble[run, call])
        )
    print(
        f"# {sum(tried.values())} faults of {len(tasks)} were met; the slowest run took"
        f" {slowest:.1f} s"
    )


def case_of(run, fault):
    return f"--case '{run}/{fault.process}/{fault.call}/{fault.number}/{fault.error}'"


def repeat(case):
    """One case again, with all that it prints."""
    name, process, call, number, error = case.split("/")
    fault = supervisor.Fault(process, call, int(number), error)
    made, why, stray = attempt(RUNS[name], fault)
    print(
        f"{made.out}{made.err}exit code {made.code} after {made.seconds:.2f} s; the fault was"
        f" {'met' if made.met else 'not met'}"
    )
    tap.verdict(not judge(fault, made, why, stray), case, judge(fault, made, why, stray))


def main(runs):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--most", type=int, default=int(os.environ.get("TSR_FAULTS_MOST", "1")),
        help=(
            "how many calls of a kind fail, one a run: the first so many, and the last (default:"
            " %(default)s)"
        )
    )
    parser.add_argument(
        "--jobs", type=int, default=2 * (os.cpu_count() or 1),
        help="runs at one time (default: %(default)s)"
    )
    parser.add_argument("--run", help="this run alone, such as '2 as process'")
    parser.add_argument("--call", help="this call alone, such as 'sendmsg'")
    parser.add_argument("--case", help="one fault again, as it was printed")
    arguments = parser.parse_args()
    supervisor.adopt_orphans()
    RUNS.update((run.name, run) for run in runs if arguments.run in (None, run.name))
    reason = supervisor.why_not()
    if reason:
        print(f"ok - faults # skip {reason}")
    elif arguments.case:
        repeat(arguments.case)
    else:
        sweep(arguments)
    return tap.exit_code()
