/* Accumulators in memory, as the emulator has them, but without values. */
#include "cpuemu/dev/fragments/value.h"
#include "model/perf/sim/device/device.h"

static tsr_view_t saved_view(const tsr_frag_t *frag, const TSR_HEAP void *memory, int32_t dtype)
{
	return (tsr_view_t){(TSR_HEAP void *)(uintptr_t)memory,
			    frag->rows,
			    frag->cols,
			    frag->cols,
			    dtype,
			    TSR_SPACE_HEAP};
}

void tsr_frag_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag)
{
	tsr_frag_store_saved(coop, __func__, saved_view(frag, memory, frag->held), frag,
			     TSR_CPU_OF_SAVED_FRAG, tsr_rank(coop));
}

void tsr_frag_add(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory)
{
	tsr_frag_load_saved(coop, __func__, frag, saved_view(frag, memory, frag->held),
			    TSR_CPU_OF_SAVED_FRAG);
}

void tsr_frag_send(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag, tsr_dtype_t as,
		   int peer)
{
	tsr_frag_store_saved(coop, __func__, saved_view(frag, memory, (int32_t)as), frag,
			     TSR_CPU_OF_SAVED_FRAG, peer);
}

void tsr_frag_add_sent(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory,
		       tsr_dtype_t as)
{
	tsr_frag_load_saved(coop, __func__, frag, saved_view(frag, memory, (int32_t)as),
			    TSR_CPU_OF_SAVED_FRAG);
}
