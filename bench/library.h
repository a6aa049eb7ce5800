/* Finding a library when the program runs, so that nothing links it. */
#ifndef TESSERA_BENCH_LIBRARY_H
#define TESSERA_BENCH_LIBRARY_H

#include "bench/internal.h"

/** One entry of a table of functions: what it is called, and where in the table it goes. */
typedef struct bench_entry {
	const char *symbol;
	size_t offset;
} bench_entry_t;

/** A library, under the names that it may have, the wanted one first; null-terminated. */
typedef struct bench_library {
	const char *what, *cure; /* for the sentence */
	const char *const *names;
	const bench_entry_t *entries;
	size_t count;
} bench_library_t;

/**
 * Looks in the folders of LD_LIBRARY_PATH as it is now, where the system's
 * loader looks, in those of the CUDA toolkit, and in those of Python's wheels
 * (nvidia/.../lib). False where the library or an entry is not there, with one
 * sentence. What was found stays loaded.
 */
bool bench_library_find(const bench_library_t *library, void *table_out,
			char sentence[BENCH_SENTENCE]);

#endif
