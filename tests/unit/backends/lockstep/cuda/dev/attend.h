/*
 * The main loop of attention by the threads that are the consumers of the port's
 * own: of few queries, whose instructions have stand-ins; of others the plain one.
 */
#ifndef TESSERA_LOCKSTEP_CUDA_ATTEND_H
#define TESSERA_LOCKSTEP_CUDA_ATTEND_H

#include "cuda/dev/few.h"
#include "gpu/dev/fragments/attend.h"

template <typename S> struct lockstep_few_keys {
	enum { longest = 1 << 30 };
	TSR_DEV void add(tsr_coop_t *coop, S *state, const tsr_gpu_attention_t &a,
			 const tsr_span_t &run, int from)
	{
		alignas(16) static unsigned char memory[tsr_cuda_few<S>::bytes];
		tsr_cuda_few_run(coop, memory, state, a, run, from);
	}
};

template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_port_attend(tsr_coop_t *coop, tsr_view_t q, tsr_view_t k, tsr_view_t v,
			     float scale, tsr_tasks_t tasks, C *ctx)
{
	const tsr_gpu_attention_t a = {q, k, v, scale * tsr_gpu_log2_e};
	tsr_coop_t me = *coop;
	me.threads = TSR_CUDA_CONSUMER_THREADS;
	me.whole = 0;
	if (coop->thread >= TSR_CUDA_CONSUMER_THREADS)
		return;
	if constexpr (tsr_cuda_is_few<S>)
		tsr_gpu_attend<S, SPAN, GATE, START, EPILOGUE, lockstep_few_keys<S>>(&me, a, tasks,
										     ctx);
	else
		tsr_gpu_attend<S, SPAN, GATE, START, EPILOGUE>(&me, a, tasks, ctx);
}

#endif
