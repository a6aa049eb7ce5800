"""
For lanes: the same programs and tests in other surroundings. What a lane needs
and this machine has not, it says in a line.
"""
import os
import re
import subprocess
import tempfile

import tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build", "gcc-debug"))
TESSERA = os.path.join(BUILD, "tessera")
WORLD = os.path.join(BUILD, "tests", "faults", "world")
LIMIT_S = 120

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def skip(name, why):
    print(f"ok - {name} # skip {why}")


def run(command, limit_s=LIMIT_S, **options):
    """Returns its exit code (None: it did not end, and was ended), and what it printed. The pipes
    are not its standard descriptors' only users."""
    with tempfile.TemporaryFile() as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True,
            **options
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, 9)
            process.wait()
        sink.seek(0)
        return code, sink.read().decode("utf-8", "replace")


def ranks_that_are_right(ranks, folder):
    """Those of a world that wrote their line into `folder`, and were right."""

    def read(rank):
        try:
            with open(os.path.join(folder, f"rank.{rank}"), encoding="ascii") as file:
                return file.read()
        except OSError:
            return ""

    return [rank for rank in range(ranks) if read(rank) == f"rank {rank} of {ranks}: 0 wrong\n"]


def world(name, ranks, before=(), placement="process", **options):
    """A world of `ranks`, each started by the command `before`, is right."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        code, text = run(
            [TESSERA, "run", "-n", str(ranks), "--placement", placement, *before, WORLD, folder],
            **options
        )
        tap.verdict(
            code == 0 and len(ranks_that_are_right(ranks, folder)) == ranks, name,
            f"exit code {code}\n{text}"
        )


def tests(lane, paths, **options):
    """Runs tests of the suite as the lane has it: a verdict for each program and script."""
    code, text = run(
        [os.path.join(ROOT, "ci", "run-tests"), "--build", BUILD, *paths], limit_s=900, **options
    )
    told = re.findall(
        r"^(\S+): (?:(\d+) passed)?(?:, )?(?:(\d+) failed)?(?:, )?(?:(\d+) skipped)? \(", text,
        re.MULTILINE
    )
    for path, _, failures, _ in told:
        tap.verdict(not failures, f"{lane}: {os.path.basename(path)}", text)
    tap.verdict(len(told) == len(paths), f"{lane}: every test was run", text)
