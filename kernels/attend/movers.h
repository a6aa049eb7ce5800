/* How many blocks of a rank move data for the others, which attend meanwhile. */
#ifndef ATTEND_MOVERS_H
#define ATTEND_MOVERS_H

#include "kernels/workload.h"

/** What one rank has to do in a run. */
typedef struct attend_work {
	double operations; /* floating-point operations of all its tasks, */
	int64_t tasks;     /* which have about the same to do, and are dealt one by one */
	double link_bytes; /* what its moving blocks put to other ranks, */
	double own_bytes;  /* and what they copy in its own memory */
	int64_t chunks;    /* pieces of both: of more blocks, some would have none */
} attend_work_t;

/**
 * The number of blocks, of `blocks`, that should move: the run takes least time.
 * Where the machine's links are not known, a sixth of them, as in the products.
 */
int attend_movers(const workload_place_t *place, const attend_work_t *work, int blocks);

/**
 * Chooses `*blocks` if it is 0: those that move, and one for each of `tasks`, as
 * far as the device holds them. Errors: TSR_ERR_RESIDENCY, TSR_ERR_ARGUMENT (all
 * move).
 */
tsr_status_t attend_choose_blocks(const workload_place_t *place, int64_t tasks, int movers,
				  int *blocks);

#endif
