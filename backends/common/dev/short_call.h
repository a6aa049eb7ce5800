/*
 * Collectives on a stream whose messages are short, as the library's kernels
 * make them: what they are told, and their calls. short.h has the bodies.
 * C11 and C++17.
 */
#ifndef TESSERA_COMMON_DEV_SHORT_CALL_H
#define TESSERA_COMMON_DEV_SHORT_CALL_H

#include "tessera/dev/port.h"

enum tsr_short_kind {
	TSR_SHORT_ALL_GATHER,
	TSR_SHORT_ALL_TO_ALL,
	TSR_SHORT_ALL_REDUCE,
	TSR_SHORT_REDUCE_SCATTER
};

/**
 * A rank's messages have equal extents, and are equally far apart; those of all
 * ranks have the same extents. Messages without gaps have one row.
 */
typedef struct tsr_short_call {
	tsr_view_t dst, src; /* the messages of rank 0 */
	TSR_HEAP struct tsr_collective_state *state;
	int64_t dst_apart, src_apart; /* bytes from rank to rank; 0: one message for all */
	int32_t each, each_bytes;     /* of a message of one row a block has so much */
	int32_t kind, op;
} tsr_short_call_t;

/**
 * Moves, or combines, the messages of all ranks. A call is a kernel of its own,
 * and the only one in it.
 */
TSR_DEV_OWN void tsr_short_move(tsr_coop_t *block, const tsr_short_call_t *a);
TSR_DEV_OWN void tsr_short_combine(tsr_coop_t *block, const tsr_short_call_t *a);

#endif
