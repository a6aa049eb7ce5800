/*
 * The interface of the exploring executor to the code below it. When a program
 * is explored, its ranks are fibres of one thread. A call that would block runs
 * other fibres meanwhile, and order that the host creates is reported to the
 * executor. The heap, the bootstrap and the world do both through this table.
 * They include nothing of src/explore, which fills the table.
 *
 * "The caller" is the running fibre. Functions with an `exploration` parameter
 * are called only during an exploration; otherwise ranks are processes or
 * threads.
 */
#ifndef TESSERA_BASE_EXECUTOR_H
#define TESSERA_BASE_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"

/** A program that is being explored. */
typedef struct tsr_exploration tsr_exploration_t;

/** Runs one rank, from its membership to its end. Returns its exit code. */
typedef int (*tsr_exploration_rank_fn)(void *ctx, int rank);

/**
 * What some fibres did up to some point, so that other fibres can be ordered
 * after it: a round of the host's collectives, the end of a launch, an event.
 * The caller gives its own past to an edge, and takes that of others from it.
 */
typedef struct tsr_views_token tsr_edge_t;

/** What an allocation is made of, for reports: a dense array of `dims` dimensions. */
typedef struct tsr_form {
	size_t element_bytes;
	int dims; /* 0: it is not known to be an array */
	const int64_t *shape;
} tsr_form_t;

/** What the host of a rank waits for. */
typedef struct tsr_host_wait {
	bool (*over)(void *ctx);
	void *ctx;
	enum { TSR_HOST_WAIT_ROUND, TSR_HOST_WAIT_STREAM, TSR_HOST_WAIT_EVENT } what;
	const char *call; /* the call of the API */
	/* whether it waits for this rank; null: it waits for work on its own device */
	bool (*lacks)(void *ctx, int rank);
} tsr_host_wait_t;

/** A collective call that a rank has made. */
typedef struct tsr_made_call {
	int rank;
	const char *call;
	/* where, if the rank may have left the call; null: it is in it. Lives as long as the
	 * exploration. */
	const char *file;
	int line;
} tsr_made_call_t;

typedef struct tsr_executor {
	/* ------------------------------------------------------------ a program's run */

	/**
	 * Reads the number of ranks that TESSERA_CHECK asks for from its value
	 * (src/explore/wire/options.h). Errors: TSR_ERR_CONFIG.
	 */
	tsr_status_t (*ranks)(const char *text, int *ranks_out);

	/**
	 * Whether the value asks for one run by the parallel executor instead, as a comparison.
	 * False if it contains a mistake.
	 */
	bool (*compared)(const char *text);

	/** Called by a rank of that run, before its first launch. */
	void (*launched)(const char *text);

	/**
	 * Creates an exploration of `size` ranks, which must be as many as `text` asks for. Errors:
	 * TSR_ERR_CONFIG, TSR_ERR_NO_MEMORY.
	 */
	tsr_status_t (*create)(const char *text, int size, tsr_exploration_t **exploration_out);

	/** Destroys it; null is allowed. What abandoned fibres held is not released. */
	void (*destroy)(tsr_exploration_t *exploration);

	/**
	 * Runs all ranks as fibres. Until the first launch of a kernel there is one run. From then
	 * on every schedule is a process forked from it, which reports its findings and ends.
	 * Returns the program's exit code if no kernel was launched; otherwise 0, because every
	 * schedule has reported its own.
	 */
	int (*run)(tsr_exploration_t *exploration, tsr_exploration_rank_fn rank, void *ctx);

	/* ------------------------------------------------------------ order without accesses */

	tsr_status_t (*edge)(tsr_exploration_t *exploration, tsr_edge_t **edge_out);
	void (*edge_drop)(tsr_exploration_t *exploration, tsr_edge_t *edge); /* null is allowed */
	void (*give)(tsr_exploration_t *exploration, tsr_edge_t *edge);
	void (*take)(tsr_exploration_t *exploration, const tsr_edge_t *edge);

	/* ------------------------------------------------------------ hosts that wait */

	/** Runs other fibres until the wait is over. If it never ends, the schedule ends here. */
	void (*await)(tsr_exploration_t *exploration, const tsr_host_wait_t *wait);

	/**
	 * The condition of waiting hosts may have changed: work on a rank's device, or (-1) the
	 * rounds of all ranks.
	 */
	void (*changed)(tsr_exploration_t *exploration, int rank);

	/**
	 * All ranks have arrived at a collective. If no kernel runs anywhere, everything before it
	 * is over.
	 */
	void (*settle)(tsr_exploration_t *exploration);

	/**
	 * Whether the caller is in a schedule's process. That process will end, or be reset to its
	 * earlier state, so mappings need not be released, and should not be.
	 */
	bool (*forgets)(const tsr_exploration_t *exploration);

	/** The node on which a rank plays to be: 0 .. nodes - 1, in the order of ranks. */
	int (*node)(const tsr_exploration_t *exploration, int rank);

	/* ------------------------------------------------------------ the heap */

	/**
	 * `allocated`: `bytes` of a rank's heap have been allocated, and nobody has written them.
	 * `freed`: a rank leaves the collective call that releases an allocation. The first rank to
	 * leave ends the allocation on all ranks. The others make the same call later, when the
	 * first may have allocated anew.
	 */
	tsr_status_t (*allocated)(tsr_exploration_t *exploration, int rank, size_t offset,
				  size_t bytes, const char *name, const tsr_form_t *form);
	void (*freed)(tsr_exploration_t *exploration, int rank, size_t offset);
	/** From now on reports give another name to the allocation that holds an offset. */
	void (*named)(tsr_exploration_t *exploration, int rank, size_t offset, const char *name);

	/* ------------------------------------------------------------ failures */

	/** Two ranks have made collective calls that do not match. */
	void (*mismatch)(tsr_exploration_t *exploration, const tsr_made_call_t made[2],
			 const char *sentence);

	/**
	 * The caller, a host, has failed and is about to end the world. The other fibres continue
	 * until none can: the host's failure may follow from accesses that kernels have not made
	 * yet, and those accesses then meet what the host has read or written too early.
	 */
	void (*fails)(tsr_exploration_t *exploration);

	/**
	 * Ends the world, because a rank's program has failed with `exit_code`, or (0) a call has
	 * failed with a status and a sentence. Reports that, and ends the schedule: does not
	 * return.
	 */
	void (*abort)(tsr_exploration_t *exploration, tsr_status_t status, int exit_code,
		      const char *sentence);
} tsr_executor_t;

extern const tsr_executor_t tsr_executor; /* in src/explore/executor.c */

#endif
