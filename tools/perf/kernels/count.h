/* What kernels of `tessera perf` count for the host. */
#ifndef TESSERA_TOOLS_PERF_KERNELS_COUNT_H
#define TESSERA_TOOLS_PERF_KERNELS_COUNT_H

#include "tessera/dev.h"

/** Adds to a count that the host reads after the launch has ended: relaxed is enough. */
TSR_FN void perf_count(tsr_coop_t *block, TSR_HEAP uint64_t *count, uint64_t more)
{
	if (more > 0)
		tsr_atomic_add(block, count, more, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

#endif
