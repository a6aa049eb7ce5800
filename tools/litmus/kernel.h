/*
 * A kernel that executes litmus tests: each thread of a test is a block, or a
 * worker of one, and each access a call of the device API. On CUDA there is a
 * way in which more shows (ptx/ptx.h).
 */
#ifndef TESSERA_TOOLS_LITMUS_KERNEL_H
#define TESSERA_TOOLS_LITMUS_KERNEL_H

#include "tessera/kernel.h"
#include "tessera/types.h"

enum {
	LITMUS_RUN_THREADS = 4,
	LITMUS_RUN_STEPS = 20, /* of one thread */
	LITMUS_RUN_LOCATIONS = 6,
	LITMUS_RUN_REGISTERS = 8, /* of one thread */
	LITMUS_RUN_WORKERS = 4    /* of a block: threads of one test that share it */
};

/* What a step does, with which order, in which scope: the values of the fields below. */
enum {
	LITMUS_RUN_LOAD,
	LITMUS_RUN_STORE,
	LITMUS_RUN_ADD,
	LITMUS_RUN_XCHG,
	LITMUS_RUN_CAS,
	LITMUS_RUN_FENCE,
	LITMUS_RUN_MOVE,
	LITMUS_RUN_JUMP /* where the value is not zero */
};
enum {
	LITMUS_RUN_RELAXED,
	LITMUS_RUN_ACQUIRE,
	LITMUS_RUN_RELEASE,
	LITMUS_RUN_ACQ_REL,
	LITMUS_RUN_SEQ_CST,
	LITMUS_RUN_ORDERS, /* how many there are */
	LITMUS_RUN_PLAIN   /* of a load or store */
};
enum { LITMUS_RUN_BLOCK, LITMUS_RUN_DEVICE, LITMUS_RUN_SYSTEM, LITMUS_RUN_SCOPES };
enum {
	LITMUS_RUN_COPY,
	LITMUS_RUN_SUM,
	LITMUS_RUN_XOR,
	LITMUS_RUN_AND,
	LITMUS_RUN_OR,
	LITMUS_RUN_EQUAL,
	LITMUS_RUN_UNEQUAL,
	LITMUS_RUN_MIN,
	LITMUS_RUN_MAX
};

/** A number, or where reg >= 0 the register. */
typedef struct litmus_run_operand {
	int32_t number;
	int32_t reg;
} litmus_run_operand_t;

/**
 * The value is function(a, b); of an ADD, what is added; of a CAS, what is
 * wanted in place of `expected`.
 */
typedef struct litmus_run_step {
	int8_t op, order, failure, scope, reg, location, function, target;
	litmus_run_operand_t a, b, expected;
} litmus_run_step_t;

/**
 * One launch: `instances` copies of a test. Instance i is played by the blocks
 * of team i % teams on every rank; a rank has `classes` blocks of each team.
 * Heap arrays are of u64.
 */
typedef struct litmus_run_args {
	/* location x of instance i: word (x * instances + i * multiplier[x] % instances) *
	 * stride */
	TSR_HEAP uint64_t *memory;
	TSR_HEAP uint64_t *
		/* mine: register r of thread t of instance i: word (t * LITMUS_RUN_REGISTERS + r) *
		 * instances + i */
		results;
	/* mine: 2 words for each worker of each block; the second is used */
	TSR_HEAP uint64_t *scratch;
	TSR_HEAP uint64_t *meetings; /* rank 0's: a word for each instance, zero at first */
	/* the host's memory, on the emulator alone: registers of the one instance, by thread, in
	 * place of `results` */
	int64_t *aside;
	uint64_t instances, stride;
	/* looks at a word before one goes on alone; 0: players do not meet */
	int64_t patience;
	int32_t once;                    /* not 0: a team meets before its first instance alone */
	int32_t teams, classes, players; /* players: threads of the test */
	int32_t home[LITMUS_RUN_LOCATIONS];        /* ranks */
	uint32_t multiplier[LITMUS_RUN_LOCATIONS]; /* odd */
	/* [class][worker]: a thread of the test, or -1 */
	int32_t player[LITMUS_RUN_THREADS][LITMUS_RUN_WORKERS];
	int32_t steps[LITMUS_RUN_THREADS];                         /* of each thread */
	int32_t initial[LITMUS_RUN_THREADS][LITMUS_RUN_REGISTERS]; /* of its registers */
	litmus_run_step_t step[LITMUS_RUN_THREADS][LITMUS_RUN_STEPS];
} litmus_run_args_t;

/**
 * For tests whose threads are in blocks of their own, and for those of which
 * some share a block.
 */
TSR_KERNEL_DECLARE(litmus_run_blocks);
TSR_KERNEL_DECLARE(litmus_run_workers);

#endif
