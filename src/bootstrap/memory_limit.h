/*
 * Whether the kernel has killed a process because memory was short: a rank that
 * is ended so is only "killed by signal 9", and nothing else says why.
 */
#ifndef TESSERA_BOOTSTRAP_MEMORY_LIMIT_H
#define TESSERA_BOOTSTRAP_MEMORY_LIMIT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/** The control group (cgroup) of this process, version 1 or 2, and its count of such kills. */
typedef struct tsr_memory_limit {
	char root[PATH_MAX];   /* of /proc and /sys; "" but in tests */
	char folder[PATH_MAX]; /* of the group; "": none is known, and nothing is said */
	int version;
	uint64_t kills; /* that were there before, or have been told of */
} tsr_memory_limit_t;

/** Finds the group, and counts what was killed before. */
void tsr_memory_limit_begin(tsr_memory_limit_t *limit, const char *root);

/**
 * A process of the group was killed by SIGKILL. If the kernel has counted one
 * more, writes why, and the cure, as the rest of a sentence that begins with the
 * process; "" if it has not.
 */
enum { TSR_MEMORY_LIMIT_TEXT = 320 };
const char *tsr_memory_limit_why(tsr_memory_limit_t *limit, char text[TSR_MEMORY_LIMIT_TEXT]);

#endif
