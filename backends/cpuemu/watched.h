/*
 * What ThreadSanitizer is shown of windows: kernels work on the heap's address
 * of a window, the host on the program's own, and to it these are two places.
 * In its build each access of a call is shown at the program's address as well.
 * Elsewhere all of this is nothing.
 *
 * Ordered accesses are not shown: a host that reads a flag without a call is
 * seen only by what it reads behind it.
 */
#ifndef TESSERA_CPUEMU_WATCHED_H
#define TESSERA_CPUEMU_WATCHED_H

#include "cpuemu/block.h"

/** Rows of an access, `pitch` bytes apart. */
typedef struct tsr_watched_rows {
	size_t bytes, rows, pitch;
} tsr_watched_rows_t;

enum { TSR_WATCHED_WINDOWS = 16 };

/** A window of a rank, where all ranks of its process find it. bytes 0: none. */
typedef struct tsr_watched_window {
	_Atomic uint64_t begin, bytes; /* in the heap */
	_Atomic uint64_t memory;       /* the program's address */
} tsr_watched_window_t;

/** The windows of a rank's heap, in memory that is mapped with it. */
tsr_watched_window_t *tsr_cpu_watched(const tsr_cpu_env_t *env, int rank);

/** Shows an access to windows; anything else is passed over. */
void tsr_cpu_watch(const tsr_cpu_env_t *env, const unsigned char *at, tsr_watched_rows_t rows,
		   bool write);

#endif
