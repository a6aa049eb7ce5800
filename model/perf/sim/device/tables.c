/*
 * Copies of integers: kernels act on what they find in tables, so these have
 * values, however large. The linker puts each __wrap_X in the place of X (--wrap).
 */
#include "model/perf/sim/device/device.h"

void __real_tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
void __wrap_tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
void __real_tsr_put_2d_hint(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer,
			    tsr_hint_t hint);
void __wrap_tsr_put_2d_hint(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer,
			    tsr_hint_t hint);
void __real_tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
void __wrap_tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer);
void __real_tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src,
			int src_peer);
void __wrap_tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src,
			int src_peer);

bool sim_is_table(tsr_view_t view)
{
	return view.dtype == TSR_I64 || view.dtype == TSR_I32 || view.dtype == TSR_I8 ||
	       view.dtype == TSR_U8;
}

static void begin(tsr_coop_t *coop, tsr_view_t view)
{
	tsr_cpu_exploration(coop)->running->copies_table = sim_is_table(view);
}

static void end(tsr_coop_t *coop)
{
	tsr_cpu_exploration(coop)->running->copies_table = false;
}

void __wrap_tsr_put_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	begin(coop, src);
	__real_tsr_put_2d(coop, dst, src, peer);
	end(coop);
}

void __wrap_tsr_put_2d_hint(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer,
			    tsr_hint_t hint)
{
	begin(coop, src);
	__real_tsr_put_2d_hint(coop, dst, src, peer, hint);
	end(coop);
}

void __wrap_tsr_get_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, int peer)
{
	begin(coop, src);
	__real_tsr_get_2d(coop, dst, src, peer);
	end(coop);
}

void __wrap_tsr_copy_2d(tsr_coop_t *coop, tsr_view_t dst, int dst_peer, tsr_view_t src,
			int src_peer)
{
	begin(coop, src);
	__real_tsr_copy_2d(coop, dst, dst_peer, src, src_peer);
	end(coop);
}
