/*
 * Which collectives on a stream are made in one step without a meeting in their
 * kernel (common/dev/short.h).
 */
#ifndef TESSERA_COLLECTIVES_SHORT_H
#define TESSERA_COLLECTIVES_SHORT_H

#include <stdbool.h>

#include "src/collectives/args.h"

/**
 * Whether this call is one; then `*out` is what its kernel is told. All ranks
 * answer alike, because only extents, dtype and the team count, and where they
 * reach each other's memory also the strides there. But a rank whose tensors
 * share memory in a way that is not in place answers no: the other kernel ends
 * the world.
 */
bool tsr_collective_is_short(const tsr_stream_collective_args_t *call, int me, int ranks, int nodes,
			     int blocks, tsr_short_call_t *out);

#endif
