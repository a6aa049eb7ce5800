/*
 * The ranks of a world that runs litmus tests: what they are to do, what each
 * of them has, and where they leave what they found.
 */
#ifndef TESSERA_TOOLS_LITMUS_RUN_RANK_H
#define TESSERA_TOOLS_LITMUS_RUN_RANK_H

#include "tessera/tessera.h"
#include "tools/litmus/plan.h"
#include "tools/litmus/ptx/lanes.h"

enum {
	STRIDE = 4,             /* words from one instance's location to the next one's: 32 bytes */
	MOST_STATES = 512,      /* of one test */
	INSTANCES_GPU = 1 << 16 /* of one launch, at most */
};

/**
 * Where the ranks leave what they found: memory that all of them and the
 * process that started them share.
 */
typedef struct litmus_board_test {
	int count;
	bool shared; /* as in litmus_result_t, and so are these */
	uint64_t positive[LITMUS_FIRSTS], sightings[LITMUS_FIRSTS];
	litmus_state_t states[MOST_STATES];
} litmus_board_test_t;

typedef struct litmus_board {
	size_t bytes;
	/* of the current launch: observed i of instance n: [i * INSTANCES_GPU + n] */
	int64_t *columns;
	litmus_board_test_t *tests;
} litmus_board_t;

/**
 * What the ranks are to do. Written before they start and only read afterwards,
 * as an entry gets no pointer of its own.
 */
typedef struct litmus_job {
	const litmus_plan_t *plans;
	int count;
	int64_t runs;
	uint64_t seed;
	int nodes; /* that devices are on: at most one for each device */
	bool by_lanes;
	litmus_board_t board;
} litmus_job_t;

/** One rank, and the memory that all its launches use. */
typedef struct litmus_rank {
	tsr_world_t *world;
	tsr_stream_t *stream;
	const litmus_board_t *board;
	bool emulated;         /* blocks are threads on the host's few cores */
	bool shared;           /* some rank has the GPU of another */
	bool far;              /* ranks are on several nodes: an access may be a message */
	litmus_lanes_t *lanes; /* null: by the device API */
	int me, size, teams;
	uint64_t instances, random;
	TSR_HEAP uint64_t *memory, *results, *scratch, *meetings;
	uint64_t *host; /* INSTANCES_GPU * STRIDE words */
} litmus_rank_t;

/** Runs the tests of a job that need as many devices as the world has ranks. Collective. */
tsr_status_t litmus_rank_run(tsr_world_t *world, const litmus_job_t *job);

/* ------------------------------------------------------------------ launch.c: one launch */

/** One way to run a test: on which ranks, and which of them holds each location. */
typedef struct litmus_variation {
	int rotation;                   /* device d of the test is rank (d + rotation) % size */
	int home[LITMUS_RUN_LOCATIONS]; /* ranks */
} litmus_variation_t;

/** What chance decides of a launch, the same on every rank. */
typedef struct litmus_style {
	uint64_t chance;
	uint32_t multipliers[LITMUS_RUN_LOCATIONS];
} litmus_style_t;

/** The rank that plays a device of the test. */
int litmus_launch_rank(const litmus_rank_t *r, const litmus_variation_t *v, int device);

/**
 * How many variations of a test are tried. In PTX a launch has more ways to go
 * than homes, so that there are several of them in any case.
 */
int litmus_launch_variations(const litmus_rank_t *r, const litmus_plan_t *plan);

/** The n-th of `count` ways, spread over all ways to give locations to the devices. */
litmus_variation_t litmus_launch_vary(const litmus_rank_t *r, const litmus_plan_t *plan, int n,
				      int count);

/** Every location holds its first value on every rank, and nobody has met. */
tsr_status_t litmus_launch_clear(litmus_rank_t *r, const litmus_test_t *test);

/** Plays this rank's device, if it has one, to its end. */
tsr_status_t litmus_launch_play(litmus_rank_t *r, const litmus_plan_t *plan,
				const litmus_variation_t *v, const litmus_style_t *style);

#endif
