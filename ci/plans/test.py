"""
From a fresh clone to the tests of every commit, in some 50 minutes of two
cores. site_scons/suites.py says which tests run in which variant; what takes
longer is left to ci/nightly: the other variants, all tiles of the kernels and
the tests' own kernels compiled for GPUs to the end, most mutants, and fuzzing
for long.
"""
import os
import sys

import parts

MUTANTS_S = 45  # of wall clock
FUZZ_S = 6  # of each target

os.environ.setdefault("TSR_FUZZ_SECONDS", str(FUZZ_S))
parts.build(
    "build", f"builds={','.join(parts.BUILDS)}", "tiles=few", "gpu_tests=no", "recorded=no", "ci"
)
if parts.nvcc_is_here():
    parts.build(
        "HIP on NVIDIA's GPUs", "tiles=few", "gpu_tests=no", "recorded=no", "hip_platform=nvidia",
        "build/gcc-debug/libtessera-hip-nvidia.so"
    )
else:
    parts.skip("HIP on NVIDIA's GPUs", "no nvcc")
parts.tests(
    "tests", "build/ci.tally", "ci/run-tests", parts.TEST_JOBS, "--tally", "build/ci.tally",
    "--list", "build/ci.list"
)
parts.tests("mutants", "build/mutants.tally", "ci/mutants", str(MUTANTS_S))
sys.exit(parts.end())
