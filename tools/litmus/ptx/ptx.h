/*
 * A litmus test as PTX text, which the driver compiles when it is run: no build
 * needs a device compiler. Each thread of the test is straight code, played by
 * one GPU thread an instance, so that nothing stands between two accesses but
 * what the test says.
 */
#ifndef TESSERA_TOOLS_LITMUS_PTX_PTX_H
#define TESSERA_TOOLS_LITMUS_PTX_PTX_H

#include "tools/litmus/plan.h"

#define LITMUS_PTX_KERNEL "litmus"

enum {
	/* bytes from one instance's location to the next one's; the test uses the first 8 */
	LITMUS_PTX_STRIDE = 32,
	LITMUS_PTX_THREADS = 256,     /* of a block, at most */
	LITMUS_PTX_PACE_OFFSET = 128, /* bytes, in `meetings`: before it the word of the start */
	LITMUS_PTX_PACE_STRIDE = 32   /* bytes */
};

/**
 * The kernel's one parameter. Blocks are numbered from block `turn` on. The
 * first teams * classes of them play, the others are stress: they read, write
 * and add to the words beside locations, `rounds` times. Instance i is played
 * by lane i % lanes of team i / lanes % teams, in every thread of the test
 * alike.
 */
typedef struct litmus_ptx_args {
	uint64_t location[LITMUS_RUN_LOCATIONS]; /* of each, as this rank sees its home's memory */
	/* mine: register r of thread t: word (t * LITMUS_RUN_REGISTERS + r) * instances + i */
	uint64_t results;
	/* one rank's, zero at first: where kernels meet at their start, and warps before an
	 * instance */
	uint64_t meetings;
	uint64_t zero;      /* 0: the compiler does not know it, so that a dependency on it stays */
	uint64_t start_ns;  /* how long to wait for the other kernels' start */
	uint32_t arrivals;  /* kernels that start together */
	uint32_t instances; /* a power of two */
	uint32_t teams;
	uint32_t turn;
	/* not 0: all blocks of a class come one after the other, not all blocks of a team */
	uint32_t apart;
	/* looks at the warps that play the same instances; 0: they do not meet */
	uint32_t patience;
	uint32_t rounds;
	uint32_t seed;
	/* a mask: each warp waits so many cycles before an instance, at random */
	uint32_t jitter;
	/* cycles that a thread of the test waits besides */
	uint32_t skew[LITMUS_RUN_THREADS];
	/* odd: instance i's x is the (i * multiplier[x] % instances)-th */
	uint32_t multiplier[LITMUS_RUN_LOCATIONS];
} litmus_ptx_args_t;

/** How the threads of the test that are on one device share its blocks. */
typedef struct litmus_ptx_shape {
	/* of a block for each thread of the test that it plays: a power of two, at least 32 */
	int lanes;
	int threads; /* of a block */
} litmus_ptx_shape_t;

/** The same on all devices of a plan, so that all play an instance at the same time. */
litmus_ptx_shape_t litmus_ptx_shape(const litmus_plan_t *plan);

/** Writes the module for one device of a plan, to be freed. Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t litmus_ptx(const litmus_plan_t *plan, int device, char **text_out);

/**
 * The instructions of an access, without operands: "fence.sc.sys;
 * ld.acquire.sys.b64". They are those that the device API's headers compile to
 * (ci/checks/ptx holds that), without the meetings of the coop: here each lane
 * is a coop of its own. Null: it has none.
 */
const char *litmus_ptx_access(const litmus_run_step_t *step, char *text, size_t size);

#endif
