/*
 * The passes of a TSR_EACH, made as by the threads of a GPU. In other runs a
 * worker makes its passes one after the other, with one set of locals. A GPU's
 * threads make them beside each other, each with locals of its own. So a loop
 * that is wrong on a GPU is right here, and what its passes do is plain C, which
 * calls nothing.
 *
 * The contract lets a pass touch shared memory and its own variables only, so
 * some passes can be made again: shared memory is put back to what it was when
 * the loop began, and so is the state of the caller (frames.h). Each time that
 * is a *turn*. A turn makes a part of the passes, and what it has changed shows
 * what they do.
 *
 * **Explored** (explored.c). The passes are divided into two sides, by a hash of
 * their positions or by a bit of them, so that of any two passes some division
 * has one on each. Each loop, block and rank divides them otherwise, seeds do, and
 * one loop does twice. Turns:
 *
 *   none     no pass: the state that the locals have then
 *   second   one side alone
 *   first    the other side alone
 *   after    the second side again, on the shared memory that `first` has left,
 *            with locals as they were before the loop: another thread's
 *   both     the one side and then the other, with the same locals: what the
 *            loop leaves
 *
 * `after` touches a byte that `second` leaves alone or leaves otherwise: passes
 * of the two sides conflict. A byte that both sides touch is written by both.
 * One that the second side alone touches, with another value than without the
 * first side, is made from what the first side has written. Then further turns,
 * of single passes, find two that do. If a local of `both` is neither as in
 * `after` nor as in `first`, the second side has made it from what the first has
 * left: a sum that each thread of a GPU would have of its own.
 *
 * Then what the coop has written to shared memory since it last met is hidden,
 * and the passes are made again. Where that changes what they write, they have
 * read what a slower thread may not have written yet.
 *
 * What is not seen: a value that is written over itself, a read that changes
 * nothing that the pass writes, and a local that a pass sets without reading it.
 * The last shows in results: in some schedules the kernel goes on with the
 * locals of one side, and a program that fails then says so.
 *
 * **In plain runs** (spread.c), if TESSERA_SPREAD_PASSES asks for it, the passes
 * are dealt to so many threads. Each turn is one thread's, from shared memory
 * and locals as they were before the loop. Of a byte that several threads have
 * changed, the last one's value remains. The kernel goes on with the locals of
 * the first thread.
 */
#ifndef TESSERA_CPUEMU_PASSES_H
#define TESSERA_CPUEMU_PASSES_H

#include "cpuemu/dev/passes/frames.h"

/** Which of the positions 0, 1, ... of a worker's passes are made. */
typedef enum tsr_cpu_part_kind {
	TSR_CPU_PART_NONE,
	TSR_CPU_PART_SIDE, /* a: the second side; else the first */
	TSR_CPU_PART_ONE,  /* position a */
	TSR_CPU_PART_MOD   /* the position is b modulo a */
} tsr_cpu_part_kind_t;

typedef struct tsr_cpu_part {
	tsr_cpu_part_kind_t kind;
	int a, b;
} tsr_cpu_part_t;

/** The end states that are kept. */
enum tsr_cpu_kept_state {
	TSR_CPU_BEFORE, /* where the loop begins */
	TSR_CPU_END_NONE,
	TSR_CPU_END_FIRST, /* plain: of the first thread */
	TSR_CPU_END_AFTER,
	TSR_CPU_END_BOTH,
	TSR_CPU_STATES
};

/** The copies of shared memory that are kept, beside that of the loop's begin. */
enum tsr_cpu_kept_copy {
	TSR_CPU_LEFT_SECOND,
	TSR_CPU_LEFT_FIRST, /* plain: what all threads so far have left */
	TSR_CPU_LEFT_AFTER,
	TSR_CPU_COPIES
};

/** Two passes that conflict, while they are looked for. */
typedef struct tsr_cpu_conflict {
	size_t offset, bytes; /* in shared memory */
	bool reads;           /* the second pass reads what the first writes; else both write */
	int pass[2];          /* positions; -1: not found */
	int looked;           /* the next position to look at */
	int tries;            /* conflicts that were looked at before */
	bool again;           /* it has been made, and is made again on other memory */
	unsigned char alone;  /* what it leaves at `offset` then */
	size_t wrote_offset, wrote_bytes; /* what the other one has changed */
} tsr_cpu_conflict_t;

/** A loop whose passes are made in turns. It belongs to the worker. */
typedef struct tsr_cpu_passes {
	bool planned;             /* this loop is; else its passes are made one after the other */
	int first, stride, count; /* passes first + position * stride, for positions below count */

	tsr_cpu_part_t part[2]; /* of the turn: the one and then the other */
	int now, position;      /* which of the two, and what it comes to next */

	int turn; /* what it is: explored.c; plain: the thread */
	/* the second side: where a hash with `mix` says so; 0: where bit `bit` is `one` */
	uint32_t mix;
	int bit, one;
	uint32_t loops; /* planned so far by this worker */
	uint32_t hash;  /* of the first round */
	int round;      /* how often the passes have been divided anew */
	bool told;      /* something was found */
	bool apart;     /* the kernel goes on with the locals of one side */
	tsr_cpu_conflict_t conflict;
	int hidden; /* which write is hidden; -1: all */

	const unsigned char *before; /* shared memory when the loop began */
	unsigned char *left[TSR_CPU_COPIES];
	tsr_cpu_frames_t state[TSR_CPU_STATES];
} tsr_cpu_passes_t;

/**
 * Begins the turns of a planned loop of `coop`. False: there is no memory for
 * them. Otherwise tsr_cpu_passes_next gives the passes of the first one.
 */
bool tsr_cpu_passes_begin(tsr_coop_t *coop, const tsr_cpu_call_t *call);

/** The next pass of the turn; INT_MAX: there is none. */
int tsr_cpu_passes_next(tsr_cpu_passes_t *passes);

/**
 * A turn has ended. True: the caller returns to the loop's begin for the next
 * one. False: there is none, and the caller goes on behind the loop.
 */
bool tsr_cpu_passes_end(tsr_coop_t *coop, tsr_cpu_call_t *call);

/* ------------------------------------------------------------ of the two ways */

/**
 * A turn begins, with the state of the caller as it was before the loop. Shared
 * memory becomes as `from`; null: it stays as it is.
 */
void tsr_cpu_turn(tsr_coop_t *coop, tsr_cpu_call_t *call, const unsigned char *from,
		  tsr_cpu_part_t one, tsr_cpu_part_t other);

/** How a turn is explored, or made plainly: as tsr_cpu_passes_end. */
bool tsr_cpu_explored_turn(tsr_coop_t *coop, tsr_cpu_call_t *call);
bool tsr_cpu_spread_turn(tsr_coop_t *coop, tsr_cpu_call_t *call);

/** Whether the position belongs to the second side. */
bool tsr_cpu_is_second(const tsr_cpu_passes_t *passes, int position);

/** The first turn, of which shared memory and states have been kept. */
void tsr_cpu_explored_begin(tsr_coop_t *coop);
void tsr_cpu_spread_begin(tsr_coop_t *coop);

#endif
