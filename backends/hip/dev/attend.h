/* The main loop of attention on AMD GPUs: the plain one. */
#ifndef TESSERA_HIP_ATTEND_H
#define TESSERA_HIP_ATTEND_H

#include "gpu/dev/fragments/attend.h"

/**
 * tsr_attend. The coop may have stored the operands just before, and what its
 * epilogues have stored may be read just after.
 */
template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE,
	  void (*START)(tsr_coop_t *, S *, tsr_span_t, void *),
	  void (*EPILOGUE)(tsr_coop_t *, S *, tsr_span_t, void *), typename C>
TSR_DEV void tsr_port_attend(tsr_coop_t *coop, tsr_view_t q, tsr_view_t k, tsr_view_t v,
			     float scale, tsr_tasks_t tasks, C *ctx)
{
	const tsr_gpu_attention_t a = {q, k, v, scale * tsr_gpu_log2_e};
	tsr_gpu_meet(coop);
	tsr_gpu_attend<S, SPAN, GATE, START, EPILOGUE>(coop, a, tasks, ctx);
	tsr_gpu_meet(coop);
}

#endif
