#!/usr/bin/env python3
"""The headings of findings have colours on a terminal, and nowhere else."""
import os
import pty
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../harness"))
from tap import exit_code, verdict  # noqa: E402

PROGRAM = os.path.join(os.environ["BUILD"], "tests", "planted", "races", "credit")
COMMAND = ["tessera", "check", "-n", "2", "--seeds", "5", "--no-slowdown", PROGRAM, "early"]
HEADING = r"^\033\[1;31mfinding: reuse:\033\[0m a buffer is written again"


def on_a_terminal(**more):
    """What the command prints to a terminal, in an environment with `more` in it."""
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        COMMAND, stdout=theirs, stderr=subprocess.DEVNULL, env={**environment, **more}
    ) as command:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the other end is closed
            pass
        command.wait(timeout=600)
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


said = on_a_terminal(TERM="xterm")
verdict(re.search(HEADING, said, re.M), "headings are coloured on a terminal", said[:400])
verdict(said.count("\033") == 2 * said.count("finding: "), "and nothing else is", said[:400])
for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
    said = on_a_terminal(**{"TERM": "xterm", name: value})
    verdict(
        "finding: reuse: a buffer" in said and "\033" not in said, f"not with {name}={value}",
        said[:400]
    )
ran = subprocess.run(COMMAND, capture_output=True, text=True, timeout=600)
verdict(
    "finding: reuse: a buffer" in ran.stdout and "\033" not in ran.stdout, "nor in a pipe",
    ran.stdout[:400]
)
sys.exit(exit_code())
