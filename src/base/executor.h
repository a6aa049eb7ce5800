/*
 * The exploring executor as the code below it knows it. Where a program is
 * explored, its ranks are fibres of one thread: what would block runs others
 * meanwhile, and what is ordered by the host is told. The heap, the bootstrap
 * and the world ask for that here, and include nothing of src/explore, which
 * fills the table.
 *
 * Where a function says "the caller", it is the fibre that runs. Without an
 * exploration none of those that take one is called: ranks are processes or
 * threads.
 */
#ifndef TESSERA_BASE_EXECUTOR_H
#define TESSERA_BASE_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "tessera/status.h"

/** A program that is explored. */
typedef struct tsr_exploration tsr_exploration_t;

/** One rank's life, from its membership to its end. Returns its exit code. */
typedef int (*tsr_exploration_rank_fn)(void *ctx, int rank);

/**
 * What some fibres did up to some point, for others to come after: a round of
 * the host's collectives, the end of a launch, an event. Giving and taking are
 * the caller's; joining is for what the host knows to be ordered.
 */
typedef struct tsr_views_token tsr_edge_t;

/** What the host of a rank waits for. */
typedef struct tsr_host_wait {
	bool (*over)(void *ctx);
	void *ctx;
	enum { TSR_HOST_WAIT_ROUND, TSR_HOST_WAIT_STREAM, TSR_HOST_WAIT_EVENT } what;
	const char *call; /* of the API */
	/* whether it waits for this rank; null: for what runs on its own device */
	bool (*lacks)(void *ctx, int rank);
} tsr_host_wait_t;

/** A collective call that a rank has made. */
typedef struct tsr_made_call {
	int rank;
	const char *call;
} tsr_made_call_t;

typedef struct tsr_executor {
	/* --------------------------------------------- a program, from its beginning to its end */

	/**
	 * How many ranks TESSERA_CHECK asks for, by its value (src/explore/wire/options.h). Errors:
	 * TSR_ERR_CONFIG.
	 */
	tsr_status_t (*ranks)(const char *text, int *ranks_out);

	/**
	 * Whether it asks for one run by the parallel executor instead, to compare with. A text
	 * with a mistake does not.
	 */
	bool (*compared)(const char *text);

	/** By a rank of that run, before its first launch. */
	void (*launched)(const char *text);

	/**
	 * For `size` ranks, which must be as many as `text` asks for. Errors: TSR_ERR_CONFIG,
	 * TSR_ERR_NO_MEMORY.
	 */
	tsr_status_t (*create)(const char *text, int size, tsr_exploration_t **exploration_out);

	/** Null is nothing. What fibres that were abandoned held is not given back. */
	void (*destroy)(tsr_exploration_t *exploration);

	/**
	 * Runs all ranks as fibres. Up to the first launch of a kernel there is one run; from there
	 * on every schedule is a process forked from it, which reports what it finds and ends.
	 * Returns the program's exit code: of that one run where no kernel was launched, else 0,
	 * since every schedule has reported its own.
	 */
	int (*run)(tsr_exploration_t *exploration, tsr_exploration_rank_fn rank, void *ctx);

	/* ----------------------------------------------------------- order that no access makes */

	tsr_status_t (*edge)(tsr_exploration_t *exploration, tsr_edge_t **edge_out);
	void (*edge_drop)(tsr_exploration_t *exploration, tsr_edge_t *edge); /* null is none */
	void (*give)(tsr_exploration_t *exploration, tsr_edge_t *edge);
	void (*take)(tsr_exploration_t *exploration, const tsr_edge_t *edge);

	/* ------------------------------------------------------------------ hosts that wait */

	/** Others run until it is over. Where it never is, the schedule ends here. */
	void (*await)(tsr_exploration_t *exploration, const tsr_host_wait_t *wait);

	/**
	 * What hosts wait for may have changed: of a rank's device, or (-1) of the rounds of all
	 * ranks.
	 */
	void (*changed)(tsr_exploration_t *exploration, int rank);

	/**
	 * All ranks have come to a collective. Where no kernel runs anywhere, what was done before
	 * it is over for good.
	 */
	void (*settle)(tsr_exploration_t *exploration);

	/**
	 * Whether the caller is a schedule's process, which is about to end, or to be made again
	 * what it was: mappings need not be given back, and should not be.
	 */
	bool (*forgets)(const tsr_exploration_t *exploration);

	/* ------------------------------------------------------------------ the heap */

	/**
	 * `bytes` of a rank's heap have been allocated, and nobody has written them; or a rank
	 * leaves the collective call that gives them back. The first to leave it ends the
	 * allocation on all ranks; the others say the same later, when those before may have
	 * allocated anew.
	 */
	tsr_status_t (*allocated)(tsr_exploration_t *exploration, int rank, size_t offset,
				  size_t bytes, const char *name);
	void (*freed)(tsr_exploration_t *exploration, int rank, size_t offset);

	/* ------------------------------------------------------------------ what goes wrong */

	/** Two ranks, both in them, have made collective calls that do not go together. */
	void (*mismatch)(tsr_exploration_t *exploration, const tsr_made_call_t made[2],
			 const char *sentence);

	/**
	 * The caller, a host, has failed, and is about to end the world. The others go on until
	 * nobody can: what it says of its results may follow from what kernels have not done yet,
	 * and they meet what it has read or written too early.
	 */
	void (*fails)(tsr_exploration_t *exploration);

	/**
	 * The world ends: a rank's program has failed with `exit_code`, or (0) a call has, with a
	 * status and a sentence. Reports it, and ends the schedule: does not return.
	 */
	void (*abort)(tsr_exploration_t *exploration, tsr_status_t status, int exit_code,
		      const char *sentence);
} tsr_executor_t;

extern const tsr_executor_t tsr_executor; /* src/explore/executor.c */

#endif
