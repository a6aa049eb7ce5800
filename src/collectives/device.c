/*
 * The kernels of collectives on streams: one that moves, and three that combine;
 * and of those with short messages one each. A name in parentheses is the function
 * and not the macro of dev/site.h: reports name the place of the host's call.
 */
#include "tessera/dev.h"

#include "src/collectives/args.h"

TSR_FN tsr_view_t of_batch(tsr_view_t view, int64_t batch, int64_t step)
{
	view.data = (TSR_HEAP unsigned char *)view.data + batch * step;
	return view;
}

TSR_FN tsr_wait_result_t move_batch(tsr_coop_t *block, const tsr_stream_collective_args_t *a,
				    tsr_view_t dst, tsr_view_t src)
{
	const tsr_dim_t dim = (tsr_dim_t)a->dim;
	switch (a->call) {
	case TSR_STREAM_ALL_GATHER:
		return (tsr_all_gather_view)(TSR_AT_LAUNCH(block), dst, src, dim, a->state);
	case TSR_STREAM_ALL_TO_ALL:
		return (tsr_all_to_all)(TSR_AT_LAUNCH(block), dst, src, dim, (tsr_dim_t)a->place,
					a->state);
	case TSR_STREAM_GATHER:
		return (tsr_gather)(TSR_AT_LAUNCH(block), dst, src, dim, a->root, a->state);
	case TSR_STREAM_SCATTER:
		return (tsr_scatter)(TSR_AT_LAUNCH(block), dst, src, dim, a->root, a->state);
	default:
		return (tsr_broadcast)(TSR_AT_LAUNCH(block), dst, src, a->root, a->state);
	}
}

/* A wait that expires is the launch's error. */
TSR_KERNEL_WIDE(tsr_stream_moves, tsr_stream_collective_args_t, a)
{
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int64_t batch = 0; batch < a->batches && how == TSR_WAIT_OK; batch++)
		how = move_batch(block, a, of_batch(a->dst, batch, a->dst_step),
				 of_batch(a->src, batch, a->src_step));
}

/* A kernel each: compilers take much longer for one with the sums of all three. */
TSR_KERNEL_WIDE(tsr_stream_all_reduces, tsr_stream_collective_args_t, a)
{
	(tsr_all_reduce_view)(TSR_AT_LAUNCH(block), a->dst, a->src, (tsr_reduce_t)a->op, a->state);
}

TSR_KERNEL_WIDE(tsr_stream_reduce_scatters, tsr_stream_collective_args_t, a)
{
	(tsr_reduce_scatter)(TSR_AT_LAUNCH(block), a->dst, a->src, (tsr_dim_t)a->dim,
			     (tsr_reduce_t)a->op, a->state);
}

TSR_KERNEL_WIDE(tsr_stream_reduces, tsr_stream_collective_args_t, a)
{
	(tsr_reduce_view)(TSR_AT_LAUNCH(block), a->dst, a->src, (tsr_reduce_t)a->op, a->root,
			  a->state);
}

TSR_KERNEL_WIDE(tsr_stream_short_moves, tsr_short_call_t, a)
{
	tsr_short_move(TSR_AT_LAUNCH(block), a);
}

TSR_KERNEL_WIDE(tsr_stream_short_combines, tsr_short_call_t, a)
{
	tsr_short_combine(TSR_AT_LAUNCH(block), a);
}
