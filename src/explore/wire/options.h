/*
 * The request of `tessera check` to a program: one environment variable,
 * TESSERA_CHECK, which the command writes and the program reads. A program that
 * finds it runs all ranks in its own process, explores, and reports by the
 * lines of protocol.h.
 *
 *   TESSERA_CHECK=version=1,ranks=4,strategy=random,weak=view,seeds=100,
 *                 first=1,stride=1,report_fd=3
 *
 * Missing keys have the values of tsr_check_options_default. An unknown key is
 * an error, because command and program then have different versions.
 */
#ifndef TESSERA_EXPLORE_WIRE_OPTIONS_H
#define TESSERA_EXPLORE_WIRE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"

#define TSR_CHECK_VARIABLE "TESSERA_CHECK"

/** Version of the variable and of the lines of protocol.h. */
enum { TSR_CHECK_VERSION = 1 };

typedef enum tsr_check_strategy {
	TSR_CHECK_RANDOM,
	TSR_CHECK_PCT,
	TSR_CHECK_EXHAUSTIVE
} tsr_check_strategy_t;

/**
 * What memory may do: only interleave; behave like the caches of a gfx942;
 * everything that the memory model allows.
 */
typedef enum tsr_check_weak {
	TSR_CHECK_WEAK_OFF,
	TSR_CHECK_WEAK_CACHE,
	TSR_CHECK_WEAK_VIEW
} tsr_check_weak_t;

/**
 * A choice of a schedule (its number, from 0) whose answer is not 0, and the
 * answer.
 */
typedef struct tsr_check_deviation {
	uint64_t choice;
	uint32_t alternative;
} tsr_check_deviation_t;

/**
 * A schedule, as its deviations from the default, sorted by choice. None: the
 * default schedule.
 */
typedef struct tsr_check_script {
	size_t count;
	tsr_check_deviation_t *at; /* owned, from malloc; null if there is none */
} tsr_check_script_t;

typedef struct tsr_check_options {
	int ranks;
	tsr_check_strategy_t strategy;
	tsr_check_weak_t weak;
	/* on how many nodes the ranks are, in blocks; those of a smaller world each on one of its
	 * own. More than 1 needs the memory of caches */
	int nodes;
	uint64_t seeds;  /* number of schedules; exhaustive: an upper limit, 0 for no limit */
	uint64_t first;  /* seeds are first, first + stride, ... */
	uint64_t stride; /* 1, unless several processes share the seeds */
	/* blocks that are on a device at the same time; 0: TESSERA_CPUEMU_RESIDENT_BLOCKS */
	int resident_blocks;
	/* preemptions in a schedule of the exhaustive strategy, at most; -1: no limit */
	int preemptions;
	int depth; /* for pct: depth of the bugs that it looks for, change points + 1 */
	/* a schedule with more steps counts as a livelock; 0: the executor's own limit */
	uint64_t steps;
	uint64_t quiet_ms; /* code that does not return for this long is reported; 0: never */
	/* run several schedules in one process if possible; the results are the same */
	bool reuse;
	bool trace; /* send the events of protocol.h */
	bool whole; /* kernels go on with what all passes of a shared loop have left */
	/* do not explore: run once by the parallel executor, and report when kernels are first
	 * launched */
	bool parallel;
	int report_fd; /* descriptor for the lines */
	/* descriptor of a file with a script: run only that, ignoring seeds and strategy; -1:
	 * none */
	int script_fd;
} tsr_check_options_t;

/** The values of missing keys. */
tsr_check_options_t tsr_check_options_default(void);

/**
 * Reads the value of the variable. Errors: TSR_ERR_CONFIG (the sentence quotes
 * key and value).
 */
tsr_status_t tsr_check_options_parse(const char *text, tsr_check_options_t *options_out);

/**
 * Reads the environment. `*checked_out` false: this program is not being
 * checked, and the options are not written.
 */
tsr_status_t tsr_check_options_read(bool *checked_out, tsr_check_options_t *options_out);

/**
 * Writes the value of the variable to `text`, all keys in a fixed order.
 * Returns the length, as snprintf does.
 */
int tsr_check_options_write(const tsr_check_options_t *options, char *text, size_t size);

/** "random", "pct", "exhaustive"; "off", "cache", "view". */
const char *tsr_check_strategy_name(tsr_check_strategy_t strategy);
const char *tsr_check_weak_name(tsr_check_weak_t weak);
/**
 * Finds the value of a name. Errors: TSR_ERR_CONFIG (names `what` and the
 * nearest).
 */
tsr_status_t tsr_check_strategy_parse(const char *what, const char *text,
				      tsr_check_strategy_t *strategy_out);
tsr_status_t tsr_check_weak_parse(const char *what, const char *text, tsr_check_weak_t *weak_out);

/**
 * Scripts as text: "12:1+40:2" (choice:alternative), or "default" without
 * deviations. Surrounding white space is skipped. Errors: TSR_ERR_CONFIG (names
 * `what`), TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_check_script_parse(const char *what, const char *text,
				    tsr_check_script_t *script_out);

/**
 * Reads a whole file by its descriptor without using its position, so that
 * several processes may read it. Errors: the same, and TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_check_script_load(int fd, tsr_check_script_t *script_out);

/** Allocated with malloc; null if there is no memory. */
char *tsr_check_script_text(const tsr_check_script_t *script);

/** Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_check_script_copy(const tsr_check_script_t *script, tsr_check_script_t *copy_out);

/** Frees the deviations; the script is then the default one. */
void tsr_check_script_clear(tsr_check_script_t *script);

#endif
