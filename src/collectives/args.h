/* What the kernels of collectives on streams are told. C11 and C++17. */
#ifndef TESSERA_COLLECTIVES_ARGS_H
#define TESSERA_COLLECTIVES_ARGS_H

#include "common/dev/short_call.h"
#include "tessera/kernel.h"
#include "tessera/types.h"

/** Which call it is. Those that combine have a kernel each. */
enum tsr_stream_collective {
	TSR_STREAM_ALL_GATHER,
	TSR_STREAM_ALL_TO_ALL,
	TSR_STREAM_BROADCAST,
	TSR_STREAM_GATHER,
	TSR_STREAM_SCATTER,
	TSR_STREAM_ALL_REDUCE,
	TSR_STREAM_REDUCE_SCATTER,
	TSR_STREAM_REDUCE,
	TSR_STREAM_COLLECTIVES /* their number */
};

typedef struct tsr_stream_collective_args {
	tsr_view_t dst, src; /* of the first batch */
	TSR_HEAP struct tsr_collective_state *state;
	int64_t batches, dst_step, src_step; /* steps: bytes from batch to batch */
	int32_t call, dim, place, op, root;  /* dim: for an all-to-all how it is split */
} tsr_stream_collective_args_t;

#endif
