/*
 * A stand-in for backends/cuda/dev/gemm.h, whose loop is made of instructions
 * that no CPU has: the plain one.
 */
#ifndef TESSERA_LOCKSTEP_GEMM_H
#define TESSERA_LOCKSTEP_GEMM_H

template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_port_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	tsr_gpu_gemm<F, ORDER, GATE, EPILOGUE>(coop, a, b, tasks, ctx);
}

#endif
