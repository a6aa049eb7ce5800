"""
Where tests run. For a folder of tests/ with its rooms, or tests of their own
(`*` stands for any), in which variants ci/test runs them, and in which
ci/nightly and `scons test` do so beside these. `memcheck` is the debug variant
under valgrind, `checks` is ci/checks/.

Debug runs nearly all; of unit tests valgrind runs the debug variant. What needs
AddressSanitizer is memory, what needs ThreadSanitizer is threads and scopes,
what needs release is what the optimiser may break. Valgrind is for reads of
what nobody wrote, which AddressSanitizer does not see. What explores schedules
is deterministic and of one thread: debug is enough, and unit tests show the
explorer to AddressSanitizer.
"""

import fnmatch

TABLE = {
    # tests                  ci/test                    ci/nightly too
    "baseline":             ("debug asan",              "release tsan"),
    "checks":               ("debug",                   ""),
    "checks/lockstep":      ("",                        "debug"),
    "cli":                  ("debug asan",              "release tsan"),
    "cli/check/check_* cli/litmus/litmus_circles cli/litmus/litmus_explore"
    " cli/litmus/litmus_witnesses cli/mutants cli/perf cli/run/lost":
                            ("debug",                   "asan release tsan"),
    "cli/litmus/litmus_size":
                            ("",                        "debug asan release tsan"),
    "cli/tsan/litmus_races": ("tsan",                   ""),
    "cli/tsan/planted cli/tsan/scopes":
                            ("debug tsan",              "asan release"),
    "cli/manual":           ("debug",                   ""),
    "cli/sim/costs cli/sim/explain cli/sim/workloads":
                            ("debug",                   "asan release"),
    "cli/pages":            ("debug",                   "release asan tsan"),
    "contract":             ("debug asan tsan release", "memcheck"),
    "contract/memory/test_pointer_edges contract/products/test_dot contract/products/test_operands"
    " contract/test_pure contract/tiles/test_large contract/tiles/test_value":
                            ("debug asan release",      "tsan memcheck"),
    # Ranks are processes there, which ThreadSanitizer does not see.
    "contract/worlds/test_unique_id contract/worlds/test_mpi":
                            ("debug asan",              "release memcheck"),
    "errors":               ("debug asan",              "release tsan memcheck"),
    "fuzz":                 ("debug asan",              "release tsan"),
    "fuzz/commands":        ("debug",                   ""),
    "fuzz/search":          ("fuzz",                    ""),
    "house":                ("debug",                   ""),
    "install":              ("debug",                   "release"),
    "install/source_package":
                            ("",                        "debug"),
    "litmus":               ("debug asan",              "release tsan"),
    "litmus/test_operations litmus/test_blocks":
                            ("debug asan tsan",         "release"),
    "litmus/test_cache litmus/test_nodes":
                            ("debug",                   "asan release tsan"),
    "multi":                ("debug asan tsan release", "memcheck"),
    "multi/test_backends_agree multi/test_*_plan":
                            ("debug",                   "asan tsan release memcheck"),
    "nodes":                ("debug",                   "asan"),
    # libpmix.so.2 leaves five bytes behind.
    "nodes/pmix nodes/slurm":
                            ("debug",                   ""),
    "python":               ("debug",                   "release"),
    "python/declarations":  ("debug",                   ""),
    "python/torch_arrays":  ("",                        "debug"),
    "python/torch_gpu":     ("",                        ""),  # ci/gpu's
    "python/torch_window":  ("",                        ""),  # by hand, on two GPUs
    "system":               ("debug",                   ""),
    "system/faults_commands":
                            ("",                        "debug"),
    "workloads":            ("debug asan",              "release tsan"),
    "workloads/explored":   ("debug asan",              "release"),
    "unit":                 ("asan memcheck",           "debug release tsan"),
    "unit/bootstrap/test_launcher unit/bootstrap/test_lost_nodes unit/bootstrap/test_stopped"
    " unit/caches/test_cache_random"
    " unit/explore/test_reversals unit/explore/test_shadow_oracle unit/explore/test_shadow_random"
    " unit/explore/test_strategy unit/explore/test_stuck unit/tensor/test_random"
    " unit/tensor/test_tensor unit/tools/test_litmus_ptx":
                            ("debug asan",              "release tsan memcheck"),
    # Ranks are processes that map gigabytes of addresses.
    "unit/backends/test_cuda_windows":
                            ("debug asan",              "release"),
    # Ranks are processes, with UCX in them, whose threads neither tool knows.
    "unit/net/* unit/backends/test_cuda_nodes unit/collectives/test_far_calls":
                            ("debug asan",              "release"),
    # Ranks are other processes, which load libraries of the tests.
    "unit/bootstrap/test_pmix":
                            ("debug asan",              "release"),
    "unit/world/test_node_bytes unit/kernels/test_node_sums":
                            ("debug",                   "asan release"),
    # Those that tests/system runs as another user too.
    "unit/base/test_options unit/bootstrap/test_detect unit/bootstrap/test_exchange"
    " unit/bootstrap/test_foreign_launchers unit/bootstrap/test_lost unit/heap/test_allocator"
    " unit/heap/test_heap unit/registry/test_registry unit/world/test_world":
                            ("debug asan memcheck",     "release tsan"),
}  # fmt: skip

_ROWS = {name: where for names, where in TABLE.items() for name in names.split()}


def runs_in(test, variant, nightly=False):
    """Whether a test (`folder/name`, without suffix) runs in a variant: by ci/test, or by
    ci/nightly as well."""
    rows = (
        where for name, where in _ROWS.items() if "/" in name and fnmatch.fnmatchcase(test, name)
    )
    often, seldom = next(rows, None) or _ROWS[test.split("/")[0]]
    return variant in often.split() or nightly and variant in seldom.split()


def unknown(tests):
    """The rows of single tests for which no test is there."""
    return sorted(name for name in _ROWS if "/" in name and not fnmatch.filter(tests, name))
