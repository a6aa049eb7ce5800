"""
Runs `tessera sim` for a configuration, and reads what time it gives.
"""
import concurrent.futures
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile

from measured import OF_PATTERNS, OF_RESULTS, Unfit, options, parameters


def command_of(point, machine, more=()):
    """The command line of a point; without the file that it writes."""
    return (
        "tessera", "sim", point.workload, "--machine", machine,
        *options(point.problem), "--pattern", point.pattern, *options(point.config),
        "--no-tuned", *more
    )  # fmt: skip


def fastest_of(program, point, machine, more, limit):
    """The pattern that Tessera takes for the fastest of a problem; None where it knows none."""
    command = (
        "tessera", "sim", point.workload, "--machine", machine,
        *options(point.problem), "--pattern", "fastest", "--no-tuned", *more
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        try:
            finished(program, [*command, "--json", path], limit)
            with open(path, encoding="utf-8") as file:
                return json.load(file)["patterns"][0]["pattern"]
        except (Failed, OSError, ValueError, KeyError, IndexError):
            return None


def shown(command):
    return shlex.join(command)


class Failed(Exception):
    """Why there is no time, in one sentence."""


def finished(program, command, limit):
    """What a command has printed as errors; its processes are gone when this returns."""
    try:
        process = subprocess.Popen(
            command, executable=program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, start_new_session=True
        )
    except OSError as error:
        raise Unfit(f"{program} cannot be started: {error.strerror}") from error
    try:
        said = process.communicate(timeout=limit)[1].strip()
    except subprocess.TimeoutExpired as error:
        raise Failed(f"it did not end within {limit:g} s") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=10)
            process.stderr.close()
    if process.returncode:
        last = said.splitlines()[-1] if said else "it said nothing"
        raise Failed(f"code {process.returncode}: {last}")


def median_of(path, point):
    """Nanoseconds of the point's pattern, if that and nothing else was simulated."""
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        rows = [row for row in result["patterns"] if row["pattern"] == point.pattern]
        ns = rows[0]["median_ns"]
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise Failed(f"it wrote no time of {point.pattern}: {error!r}") from error
    ran = dict(parameters(result, OF_RESULTS) + parameters(rows[0], OF_PATTERNS))
    for key, text in point.problem + point.config:
        if ran.get(key, text) != text:
            raise Failed(f"it simulated {key} {ran[key]} in place of {text}")
    if not isinstance(ns, (int, float)) or not 0 < ns < float("inf"):
        raise Failed(f"a time of {ns} ns is none")
    return ns


def simulate(program, command, point, limit, verbose):
    """(ns, None), or (None, why not)."""
    if verbose:
        print("$ " + shown(command), file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        try:
            finished(program, [*command, "--json", path], limit)
            return median_of(path, point), None
        except Failed as why:
            return None, str(why)


def simulate_all(program, runs, limit, jobs=1, verbose=False):
    """{command: (ns, why)} of (command, point); each command runs once."""
    once = {}
    for command, point in runs:
        once.setdefault(command, point)
    if jobs == 1:
        return {
            command: simulate(program, command, point, limit, verbose)
            for command, point in once.items()
        }
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        started = {
            command: pool.submit(simulate, program, command, point, limit, verbose)
            for command, point in once.items()
        }
        return {command: future.result() for command, future in started.items()}
