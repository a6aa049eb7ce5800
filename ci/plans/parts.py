"""
What the plans of ci/test and ci/nightly have in common: parts that are run one
after the other, counted and timed. At the end stand the time of each part and,
alone on the last line, the counts of the whole.
"""
import collections
import os
import resource
import shutil
import subprocess
import time

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
CLANG = "clang-19" if shutil.which("clang-19") else "clang"
BUILDS = (
    "gcc-debug", "gcc-asan", f"{CLANG}-tsan", "gcc-release", f"{CLANG}-fuzz", f"{CLANG}-debug"
)
JOBS = f"-j{os.cpu_count() or 1}"
TEST_JOBS = f"-j{(os.cpu_count() or 1) + 1}"  # some tests wait more than they compute

counts, times = collections.Counter(passed=0, failed=0, skipped=0), []


def build(title, *arguments):
    """One test: scons makes these targets."""
    if _timed(title, ["scons", "-Q", "-k", JOBS, *arguments]):
        _failed(title, "something does not compile")
    else:
        counts["passed"] += 1


def build_torch():
    """What the tests with PyTorch need, which are skipped without it."""
    if _timed("PyTorch", ["ci/install-torch"]):
        skip("PyTorch", "ci/install-torch could not install it")


def tests(title, tally, *command):
    """What leaves its counts in a file. Where it leaves none, one test has failed."""
    if os.path.exists(tally):
        os.remove(tally)
    _timed(title, command)
    try:
        with open(tally, encoding="ascii") as file:
            passed, failed, skipped = map(int, file.read().split())
    except (OSError, ValueError):
        _failed(title, "it did not come to running tests")
    else:
        counts.update(passed=passed, failed=failed, skipped=skipped)


def skip(title, why):
    print(f"\nskipped: {title}: {why}", flush=True)
    counts["skipped"] += 1


def nvcc_is_here():
    return bool(shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK))


def end():
    """Prints the times and the counts. Returns the exit code of the whole."""
    print("\n== times ==")
    for title, seconds, busy in [*times, ("all", *map(sum, list(zip(*times))[1:]))]:
        print(f"{title + ':':24}{seconds:6.0f} s, {busy:6.0f} s of CPU")
    print("\n{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


def _timed(title, command):
    print(f"\n== {title} ==", flush=True)
    start, busy = time.monotonic(), _cpu_seconds()
    code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    times.append((title, time.monotonic() - start, _cpu_seconds() - busy))
    return code


def _cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _failed(title, why):
    print(f"FAILED {title}: {why}", flush=True)
    counts["failed"] += 1
