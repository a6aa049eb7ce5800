"""
All tests, which take hours: every test in every variant that
site_scons/suites.py names, under valgrind too; all tiles and the tests' own
kernels for every GPU toolkit present, packed as ci/gpu and ci/node want them;
the probes of device code by each later clang that is here; every mutant; five
minutes of fuzzing a target; and contract tests on an emulated arm64.
"""
import glob
import os
import sys

import parts

FUZZ_S = 300  # of each target

os.environ.setdefault("TSR_FUZZ_SECONDS", str(FUZZ_S))
os.environ.setdefault("TSR_EVERY_WORLD", "1")
os.environ.setdefault("TSR_POINTS", "100")  # of tests/nodes/failures.py
os.environ.setdefault("TSR_WIRE_RUNS", "100000")  # of each litmus test between nodes
parts.build_torch()
for build in parts.BUILDS:
    compiler, _, variant = build.rpartition("-")
    options = [
        f"variant={variant}", f"CC={compiler}",
        f"backends={'auto' if build == parts.BUILDS[0] else 'cpuemu'}"
    ]
    parts.build(f"build {build}", *options)
    if compiler == "gcc" or variant != "debug":
        parts.tests(
            f"tests {build}", f"build/{build}/test.tally", "scons", "-Q", "-k", parts.JOBS,
            *options, "test"
        )
parts.tests(
    "memcheck", "build/gcc-debug/memcheck.tally", "scons", "-Q", "-k", parts.JOBS, "memcheck"
)
parts.build("kernels for GPUs", "device", "gpu")
parts.build("commands for GPUs", "variant=release", "gpu")
parts.tests(
    "checks", "build/checks.tally", "ci/run-tests", "--tally", "build/checks.tally",
    *sorted(glob.glob("ci/checks/*"))
)
parts.tests(
    "later clangs", "build/clangs.tally", "ci/run-tests", "--tally", "build/clangs.tally",
    "ci/clangs"
)
parts.tests("mutants", "build/mutants.tally", "ci/mutants", "0")
parts.tests("arm64", "build/arm64.tally", "ci/arm64", "--tally", "build/arm64.tally")
sys.exit(parts.end())
