/*
 * A witness says what a litmus test shows: the axioms, the view machine, the
 * emulator or a GPU. `tessera litmus --on` picks one.
 */
#ifndef MODEL_MEMORY_WITNESS_H
#define MODEL_MEMORY_WITNESS_H

#include "model/memory/language/litmus.h"

enum { LITMUS_DATA_RACE = 1, LITMUS_SCOPE_RACE = 2 };

/**
 * A final state: one value for each of test->observed, and how often it was
 * seen (1 where a witness counts no runs).
 */
typedef struct litmus_state {
	uint64_t count;
	int64_t values[LITMUS_MAX_OBSERVED];
} litmus_state_t;

/**
 * Where the first access of each of a test's threads goes: to memory of its own
 * device, of another one, or of either kind.
 */
typedef enum litmus_first {
	LITMUS_FIRST_LOCAL,
	LITMUS_FIRST_REMOTE,
	LITMUS_FIRST_MIXED,
	LITMUS_FIRSTS
} litmus_first_t;

typedef struct litmus_result {
	litmus_state_t *states; /* distinct, in ascending order of their values */
	int count, room;
	/* LITMUS_DATA_RACE, LITMUS_SCOPE_RACE: where some execution has one, the states are no
	 * promise */
	unsigned races;
	/* a loop was left after options->unroll rounds: executions with more of them are missing */
	bool cut;
	bool warned; /* of load buffering, which it does not show */
	/* Of a witness that runs tests on several devices: sightings in which the question holds,
	 * and all of them, by first access. */
	uint64_t positive[LITMUS_FIRSTS], sightings[LITMUS_FIRSTS];
	/* some of the devices were one, where they took turns: what goes on between these could not
	 * show */
	bool shared;
	/* of a witness that runs them: how many, and how many it left as equal to others */
	uint64_t schedules, pruned;
} litmus_result_t;

/** Told each second about a test that takes longer than that. */
typedef void (*litmus_progress_fn)(void *context, const litmus_test_t *test, uint64_t elapsed_ns);

typedef struct litmus_options {
	int64_t runs;  /* for witnesses that run the test */
	uint64_t seed; /* for witnesses that choose at random */
	int unroll;    /* rounds of a loop, at least 1 */
	/* which variant of the axioms (axioms/axioms.h); null: the model's own */
	const char *axioms;
	/* for the cache machine: on how many nodes a test's devices are; 0 or 1: on one */
	int nodes;
	/* the time that a witness which searches may take for one test; 0: all that it needs */
	uint64_t limit_ns;
	litmus_progress_fn progress; /* or null */
	void *progress_context;
	/* for cuda: each access a call of the device API, where else it is an instruction of one
	 * GPU thread */
	bool through_api;
} litmus_options_t;

typedef struct litmus_witness {
	const char *name, *summary;
	/* its states are all that it allows, and it judges races; else they are what it happened to
	 * see */
	bool exhaustive;
	bool exact; /* its states are the model's: none may be missing */
	/* it runs the test by the device API: what that has not is no test for it */
	bool runs;

	/**
	 * Or null: the witness that it is to agree with. Its states are the same, or some of them
	 * where it is not exhaustive.
	 */
	const struct litmus_witness *like;

	/**
	 * Adds what the test shows to a result that is empty or was reset. On failure the result is
	 * what was found so far. TSR_ERR_TIMEOUT: it would take longer than limit_ns.
	 * TSR_ERR_UNSUPPORTED: not a test for this witness, and why. TSR_ERR_NO_DEVICE,
	 * TSR_ERR_NO_MEMORY: as everywhere.
	 */
	tsr_status_t (*run)(const litmus_test_t *test, const litmus_options_t *options,
			    litmus_result_t *result);

	/**
	 * Or null: the same for many tests in one go, for a witness that is slow to start.
	 * statuses[i] is what run would return.
	 */
	tsr_status_t (*run_all)(const litmus_test_t *const *tests, int count,
				const litmus_options_t *options, litmus_result_t *results,
				tsr_status_t *statuses);
} litmus_witness_t;

extern const litmus_witness_t litmus_axioms, litmus_views, litmus_cache, litmus_interleaving;

/** Adds `count` sightings of a state; kept in order. TSR_ERR_NO_MEMORY: the host has none. */
tsr_status_t litmus_result_add(const litmus_test_t *test, litmus_result_t *result,
			       const int64_t *values, uint64_t count);

/** Whether a state was seen. */
bool litmus_result_has(const litmus_test_t *test, const litmus_result_t *result,
		       const int64_t *values);

/**
 * Forgets what was seen and keeps the memory for the next test; frees it too. A
 * zeroed result needs neither.
 */
void litmus_result_reset(litmus_result_t *result);
void litmus_result_free(litmus_result_t *result);

#endif
