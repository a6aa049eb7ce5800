#!/usr/bin/env python3
"""
What CI runs as root, as a user without privileges who may open 1024 files:
`ulimit -n 1024`, as most machines have it.
"""
import glob
import os
import resource
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))

import lane
import tap

FILES = 1024
UNIT = (
    "base/test_options bootstrap/test_detect bootstrap/test_exchange"
    " bootstrap/test_foreign_launchers bootstrap/test_launcher bootstrap/test_lost"
    " heap/test_allocator heap/test_heap registry/test_registry tensor/test_tensor world/test_world"
).split()
CLI = "bench/bench.sh bench/bench_tune.py cc/cc.sh examples.sh help.sh info.sh run/run.sh".split()


def limit_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def may_read():
    """Whether the user can reach what the tests read. A clone below /root is out of reach."""
    code, text = lane.run([lane.TESSERA, "--version"], cwd="/", **lane.NOBODY)
    return code == 0, text


def main():
    ordinary = {"preexec_fn": limit_files, "cwd": lane.ROOT}
    if os.geteuid() == 0:
        try:
            allowed, text = may_read()
        except OSError as error:
            allowed, text = False, str(error)
        if not allowed:
            return lane.skip(
                "as an ordinary user", f"nobody cannot execute {lane.TESSERA}: {text.strip()}"
            )
        ordinary.update(lane.NOBODY)
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        ordinary["env"] = {
            **os.environ, "HOME": home, "TMPDIR": home, "XDG_CACHE_HOME": home,
            "CCACHE_DISABLE": "1"
        }
        for ranks in (1, 2, 3, 34, 64):  # every rank has a descriptor of every other
            lane.world(f"ordinary user: {ranks} ranks", ranks, **ordinary)
        lane.world("ordinary user: 5 ranks as threads", 5, placement="thread", **ordinary)
        programs = [os.path.join(lane.BUILD, "tests", "unit", name) for name in UNIT]
        programs += sorted(
            path[:-2]
            for path in glob.glob(os.path.join(lane.BUILD, "tests", "errors", "test_*.o"))
            if ".plain" not in path
        )
        lane.tests(
            "ordinary user",
            programs + [os.path.join(lane.ROOT, "tests", "cli", name) for name in CLI], **ordinary
        )
    return None


main()
sys.exit(tap.exit_code())
