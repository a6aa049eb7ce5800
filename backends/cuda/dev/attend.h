/* The main loop of attention on Hopper: so far the plain one. */
#ifndef TESSERA_CUDA_ATTEND_H
#define TESSERA_CUDA_ATTEND_H

#include "gpu/dev/attend.h"

template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_port_attend(tsr_coop_t *coop, tsr_view_t q, tsr_view_t k, tsr_view_t v,
			     float scale, tsr_tasks_t tasks, C *ctx)
{
	if (coop->threads != TSR_CUDA_MAIN_THREADS)
		/* a wide block, or a worker that moves data: the contract allows no main loop
		 * there */
		__trap();
	const tsr_gpu_attention_t a = {q, k, v, scale * tsr_gpu_log2_e};
	tsr_gpu_meet(coop);
	if (coop->thread < TSR_CUDA_CONSUMER_THREADS) {
		tsr_coop_t me = tsr_cuda_consumers(coop, coop->told, coop->scratch);
		tsr_gpu_attend<S, SPAN, GATE, START, EPILOGUE>(&me, a, tasks, ctx);
	}
	tsr_gpu_meet(coop);
	tsr_cuda_share(coop, coop->scratch, ctx);
}

#endif
