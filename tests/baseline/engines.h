/*
 * The engines that run the steps of a baseline, and the stand-ins of vendors'
 * libraries (tests/fakes) that they find.
 */
#ifndef TESTS_BASELINE_ENGINES_H
#define TESTS_BASELINE_ENGINES_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/internal.h"
#include "world_test.h"

/* Each rank's heap. Less than the stores of GPUs want: they take what there is. */
#define ENGINES_HEAP "32M"
enum { ENGINES_HEAP_BYTES = 32 << 20 };

typedef struct engine {
	const char *word;   /* how a world's ranks are told of it */
	const char *vendor; /* whose stand-ins are there; OpenBLAS needs none */
	const bench_engine_t *runs;
	const char *title; /* of a GPU's, with the versions of the stand-ins */
} engine_t;

/** Those of GPUs come first. */
static const engine_t engines[] = {
	{"nvidia", "nvidia", &bench_cublas_nccl, "cuBLAS 13.1.2 + NCCL 2.28.9"},
	{"amd", "amd", &bench_hipblaslt_rccl, "hipBLASLt 1.2.3 + RCCL 2.28.9"},
	{"openblas", "nvidia", &bench_openblas, NULL},
};
enum { ENGINES = sizeof engines / sizeof *engines, GPU_ENGINES = ENGINES - 1 };

/** The engine whose word `text` begins with, or null. */
static inline const engine_t *engine_of(const char *text)
{
	for (int i = 0; i < ENGINES; i++)
		if (strncmp(text, engines[i].word, strlen(engines[i].word)) == 0)
			return &engines[i];
	return NULL;
}

/**
 * The stand-ins come first in the folders that are searched; `set` names one of
 * a vendor's folders.
 */
static inline void use_fakes(const char *vendor, const char *set)
{
	char path[PATH_MAX];
	const char *build = getenv("BUILD");
	cr_assert(build,
		  "BUILD must name the folder of the build: scons test, and ci/run-tests, set it");
	(void)snprintf(path, sizeof path, "%s/tests/fakes/%s/%s", build, vendor, set);
	(void)setenv("LD_LIBRARY_PATH", path, 1);
	(void)setenv("TESSERA_BACKEND", "cpuemu", 1);
	(void)setenv("TESSERA_HEAP_SIZE", ENGINES_HEAP, 1);
}

#endif
