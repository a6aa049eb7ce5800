/*
 * The main loop on Hopper. Worker 0 has three warpgroups. Two multiply, each
 * its half of the tile's rows, and run the epilogue. In the third, one warp
 * runs order and gate and loads operands in advance, those of the next tile
 * while an epilogue runs; the other warps send to peers what epilogues have
 * stored. Registers are moved from the third warpgroup to the other two.
 * ParallelKittens, section 3; PTX ISA 8.0, sections 9.7.9 and 9.7.15.
 *
 * Tiles that the tensor cores cannot compute, and operands that the copy engine
 * cannot read, use the plain loop, on the same threads.
 */
#ifndef TESSERA_CUDA_GEMM_H
#define TESSERA_CUDA_GEMM_H

#include "cuda/dev/bulk_rows.h"
#include "cuda/dev/load.h"
#include "cuda/dev/senders.h"

/* ------------------------------------------------------------ the threads */

/**
 * The threads of worker 0 that multiply. Each of its first two warpgroups makes
 * the call.
 */
TSR_DEV tsr_coop_t tsr_cuda_consumers(const tsr_coop_t *coop, uint64_t *told,
				      tsr_gpu_scratch_t *scratch)
{
	tsr_coop_t me = *coop;
	me.told = told;
	me.scratch = scratch;
	me.threads = TSR_CUDA_CONSUMER_THREADS;
	me.whole = 0;
	me.turn = 0;
	return me;
}

/**
 * Copies what the consumers' epilogues have kept in `*ctx` to the threads that
 * ran none. The coop has met; it meets again at the end.
 */
template <typename C>
TSR_DEV void tsr_cuda_share(tsr_coop_t *coop, tsr_gpu_scratch_t *scratch, C *ctx)
{
	static_assert(
		sizeof(C) <= sizeof *scratch,
		"a main loop's context is at most 8 KiB: keep what is larger behind a pointer");
	if (tsr_gpu_leads(coop))
		__builtin_memcpy(scratch->bytes, ctx, sizeof(C));
	tsr_gpu_meet(coop);
	if (coop->thread >= TSR_CUDA_CONSUMER_THREADS)
		__builtin_memcpy(ctx, scratch->bytes, sizeof(C));
	tsr_gpu_meet(coop);
}

/* Nothing is kept, or its size is unknown. */
template <typename C> TSR_DEV void tsr_cuda_share(tsr_coop_t *, tsr_gpu_scratch_t *, const C *)
{
}

TSR_DEV void tsr_cuda_share(tsr_coop_t *, tsr_gpu_scratch_t *, void *)
{
}

/* ---- the consumers */

/**
 * The address in a stage of this warpgroup's rows of A; for a flat tile, of its
 * columns of B, behind A. Computed where it is used, because it would not stay
 * in a register.
 */
template <typename F> TSR_DEV uint32_t tsr_cuda_rows_of_a(const tsr_coop_t *me)
{
	int64_t thread = me->thread;
	tsr_port_forget(&thread);
	return (uint32_t)thread / TSR_CUDA_WARPGROUP_THREADS *
	       (uint32_t)(tsr_port_layout<F>::bands * TSR_CUDA_BOX_BYTES);
}

/** The descriptors of one product of the tensor cores, 16 of K deep. */
typedef struct tsr_cuda_factors {
	uint64_t a, b;
} tsr_cuda_factors_t;

/**
 * The factors of band `band`: its 64 rows of A, and B. For a flat tile its 64
 * columns of B, and A: the transposed product. `mine`: tsr_cuda_rows_of_a.
 */
template <typename F>
TSR_DEV tsr_cuda_factors_t tsr_cuda_factors(uint32_t stage, uint32_t mine, int band, int k)
{
	typedef typename F::tile_t tile_t;
	const uint32_t b = stage + (uint32_t)tsr_cuda_division<tile_t>::a_bytes,
		       at = mine + (uint32_t)(band * TSR_CUDA_BOX_BYTES);
	tsr_cuda_factors_t factors;
	if (tsr_port_layout<F>::flat) {
		factors.a = tsr_cuda_operand<tile_t::B_ALONG>(b + at, k);
		factors.b = tsr_cuda_operand<tile_t::A_ALONG>(stage, k);
	} else {
		factors.a = tsr_cuda_operand<tile_t::A_ALONG>(stage + at, k);
		factors.b = tsr_cuda_operand<tile_t::B_ALONG>(b, k);
	}
	return factors;
}

/** The tensor cores' instruction for these factors. */
template <typename F, typename L = tsr_port_layout<F>>
using tsr_cuda_products =
	tsr_cuda_wgmma<L::across, typename F::dtype_t,
		       (L::flat ? (bool)F::tile_t::B_ALONG : (bool)F::tile_t::A_ALONG),
		       (L::flat ? (bool)F::tile_t::A_ALONG : (bool)F::tile_t::B_ALONG)>;

/**
 * Starts the product of one chunk: this warpgroup's rows of A times B. FIRST:
 * the sums begin with it.
 */
template <bool FIRST, typename F>
TSR_DEV void tsr_cuda_multiply_stage(F *acc, const tsr_cuda_ring_t *ring, uint32_t rows_of_a)
{
	typedef tsr_cuda_division<typename F::tile_t> division;
	typedef tsr_port_layout<F> layout;
	typedef tsr_cuda_products<F> wgmma;
	const uint32_t stage = ring->stage + (uint32_t)(ring->slot * division::stage_bytes);
	tsr_cuda_wgmma_begin();
	TSR_GPU_UNROLL
	for (int k = 0; k < 64; k += 16)
		TSR_GPU_UNROLL
	for (int band = 0; band < layout::bands; band++) {
		const tsr_cuda_factors_t by = tsr_cuda_factors<F>(stage, rows_of_a, band, k);
		float *sum = acc->v + band * layout::band_elements;
		if (FIRST && k == 0)
			wgmma::begin(sum, by.a, by.b);
		else
			wgmma::add(sum, by.a, by.b);
	}
	tsr_cuda_wgmma_commit();
}

/**
 * Waits until the loader and the copy engine have filled the next stage.
 * Partners: tsr_cuda_stage_load and tsr_cuda_stage_tell. Litmus:
 * MP.rel.acq.sameWG-ww.
 */
TSR_DEV void tsr_cuda_await_stage(const tsr_cuda_ring_t *ring)
{
	tsr_cuda_mbarrier_wait(ring->full + 8u * (uint32_t)ring->slot, ring->parity);
}

/**
 * Called by one thread for its warpgroup: the stage of barrier `empty` may be
 * filled again. Partner: the wait in tsr_cuda_stage_begin. Litmus:
 * LB.retired.sameWG-ww.
 */
TSR_DEV void tsr_cuda_hand_back(const tsr_coop_t *me, uint32_t empty)
{
	if (me->thread % TSR_CUDA_WARPGROUP_THREADS == 0)
		tsr_cuda_mbarrier_arrive(empty);
}

/**
 * The product of `chunks` chunks, at least one; the first has arrived. A stage
 * is handed back when the multiplication of the next one has been started. One
 * thread does that for its warpgroup: its own instructions end together with
 * those of the three other warps, because the tensor cores multiply a
 * warpgroup's rows together (wgmma; PTX ISA 8.0, section 9.7.15).
 */
template <typename F>
TSR_DEV void tsr_cuda_multiply(const tsr_coop_t *me, F *acc, tsr_cuda_ring_t *ring, int chunks)
{
	const uint32_t rows_of_a = tsr_cuda_rows_of_a<F>(me);
	/* the barrier of the previous stage */
	uint32_t before = ring->empty + 8u * (uint32_t)ring->slot;
	tsr_cuda_multiply_stage<true>(acc, ring, rows_of_a);
	tsr_cuda_ring_advance(ring);
	TSR_GPU_NO_UNROLL
	while (--chunks > 0) {
		tsr_cuda_await_stage(ring);
		tsr_cuda_multiply_stage<false>(acc, ring, rows_of_a);
		tsr_cuda_wgmma_await<1>();
		tsr_cuda_hand_back(me, before);
		before = ring->empty + 8u * (uint32_t)ring->slot;
		tsr_cuda_ring_advance(ring);
	}
	tsr_cuda_wgmma_await<0>();
	tsr_cuda_hand_back(me, before);
}

/**
 * Reads the next task, if there is one. The loader leaves it with the stage of
 * its first chunk. A thread that knows the number of chunks has the whole task,
 * and so does a warpgroup when its products of the stage have ended.
 */
TSR_DEV bool tsr_cuda_next_task(const tsr_cuda_ring_t *ring, tsr_cuda_task_t *task)
{
	tsr_cuda_await_stage(ring);
	*task = tsr_cuda_ring_take(ring);
	return task->chunks != TSR_CUDA_NO_TASK;
}

/**
 * The product without chunks: zeros. All have read the task when the stage is
 * handed back.
 */
template <typename F>
TSR_DEV void tsr_cuda_multiply_none(tsr_coop_t *me, F *acc, tsr_cuda_ring_t *ring)
{
	tsr_frag_zero(me, acc);
	tsr_gpu_meet(me);
	tsr_cuda_hand_back(me, ring->empty + 8u * (uint32_t)ring->slot);
	tsr_cuda_ring_advance(ring);
}

/* ---- both together */

/**
 * Sets the number of registers of each thread while a main loop runs, for
 * blocks of one or two workers, whose threads were launched with equal numbers.
 */
TSR_DEV void tsr_cuda_split_registers(const tsr_coop_t *coop, bool consumer)
{
	if (coop->workers == 1) {
		if (consumer)
			tsr_cuda_registers_up<224>();
		else
			tsr_cuda_registers_down<56>();
	} else if (coop->workers == 2) {
		if (consumer)
			tsr_cuda_registers_up<168>();
		else
			tsr_cuda_registers_down<40>();
	}
}

/**
 * Restores it. The coop meets in between: a warp of the loader's warpgroup that
 * took its registers back early would take those that consumers wait for.
 */
TSR_DEV void tsr_cuda_join_registers(const tsr_coop_t *coop, bool consumer)
{
	if (!consumer)
		tsr_gpu_meet(coop);
	if (coop->workers == 1) {
		if (consumer)
			tsr_cuda_registers_down<168>();
		else
			tsr_cuda_registers_up<168>();
	} else if (coop->workers == 2) {
		if (consumer)
			tsr_cuda_registers_down<128>();
		else
			tsr_cuda_registers_up<128>();
	}
	if (consumer)
		tsr_gpu_meet(coop);
}

/**
 * If the pipeline cannot be used: the number of the next task, if there is one.
 * It is in shared memory, so that it takes no register beside the sums.
 */
TSR_DEV bool tsr_cuda_next_number(const tsr_coop_t *me, const tsr_tasks_t &tasks, int64_t *number)
{
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	*number = pipeline->number;
	tsr_gpu_meet(me);
	if (tsr_gpu_leads(me))
		pipeline->number = *number + tasks.step;
	tsr_gpu_meet(me);
	return *number < tasks.end;
}

/**
 * There, the product of a task by the plain main loop, which calls the gate.
 */
template <typename F, tsr_gate_fn GATE>
TSR_DEV void tsr_cuda_multiply_plainly(tsr_coop_t *me, F *acc, const tsr_cuda_operands_t *operands,
				       const tsr_part_t &part, const void *ctx)
{
	tsr_coop_t seldom = tsr_gpu_seldom(me);
	tsr_frag_zero(&seldom, acc);
	tsr_gemm_mainloop(&seldom, acc, operands->a, operands->b, part, GATE, ctx);
	tsr_gpu_seldom_end(me, &seldom);
}

/**
 * The product of the next task, and its place, if there is one. The loader asks
 * the order, because asking it here would add time between two tiles.
 */
template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE>
TSR_DEV bool tsr_cuda_next_product(tsr_coop_t *me, F *acc, tsr_pos_t *at,
				   const tsr_cuda_operands_t *operands, tsr_cuda_ring_t *ring,
				   const tsr_tasks_t &tasks, const void *ctx)
{
	if (ring->stages > 0) {
		tsr_cuda_task_t task;
		if (!tsr_cuda_next_task(ring, &task))
			return false;
		tsr_gpu_frag_changes(me, acc);
		tsr_gpu_record_product(me);
		if (task.chunks > 0)
			tsr_cuda_multiply(me, acc, ring, task.chunks);
		else
			tsr_cuda_multiply_none(me, acc, ring);
		tsr_gpu_record_produced(
			me, tsr_gpu_operand_bytes<typename F::tile_t>(64 * (int64_t)task.chunks));
		*at = tsr_cuda_task_at(task);
	} else {
		int64_t number;
		if (!tsr_cuda_next_number(me, tasks, &number))
			return false;
		const tsr_part_t part = ORDER(number, ctx);
		tsr_cuda_multiply_plainly<F, GATE>(me, acc, operands, part, ctx);
		*at = part.at;
	}
	return true;
}

template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_cuda_consume(tsr_coop_t *me, const tsr_cuda_operands_t *operands,
			      tsr_cuda_ring_t *ring, tsr_tasks_t tasks, C *ctx)
{
	TSR_GPU_NO_UNROLL
	for (;;) {
		F acc;
		tsr_pos_t at;
		if (!tsr_cuda_next_product<F, ORDER, GATE>(me, &acc, &at, operands, ring, tasks,
							   (const void *)ctx))
			break;
		me->kept = 0; /* a product overwrites it */
		EPILOGUE(me, &acc, at, ctx);
	}
	tsr_port_settle(me);
	tsr_cuda_send_t none = {0, 0, 0, 0, 0, 0, 0, 0};
	tsr_cuda_post(me, none);
}

template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_cuda_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	typedef typename F::tile_t tile_t;
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	uint32_t bytes;
	unsigned char *memory = tsr_cuda_free_shared(coop, &bytes);
	tsr_cuda_ring_t ring = tsr_cuda_ring<tile_t>(pipeline, memory, bytes);
	tsr_cuda_operands_t operands = tsr_cuda_operands<tile_t>(coop, a, b);
	/* Beside another worker a thread has 128 registers, and ptxas keeps sums within that
	 * limit. */
	constexpr bool slim = tsr_port_layout<F>::bands * tsr_port_layout<F>::band_elements <= 96;
	/* the engine reads no rank of another node, and a gate may return one */
	const bool near = GATE == TSR_NO_GATE || !tsr_gpu_spans_nodes(coop);
	bool pipelined = near && (slim || coop->workers == 1) && ring.stages >= 2 &&
			 operands.places && tsr_cuda_is_mappable(a) && tsr_cuda_is_mappable(b) &&
			 tsr_gpu_accepts_view(coop, a, tsr_rank(coop)) &&
			 tsr_gpu_accepts_view(coop, b, tsr_rank(coop));
	const bool consumer = coop->thread < TSR_CUDA_CONSUMER_THREADS;
	tsr_coop_t loader = tsr_cuda_loader(coop, pipeline->told[1]);
	const bool loads = !consumer && loader.thread < TSR_CUDA_LOADER_THREADS;
	tsr_cuda_feed_t feed;
	if (!pipelined)
		ring.stages = 0;

	/* operands may have just been written or waited for, and so may the shared memory of the
	 * stages */
	tsr_cuda_before_engine();
	if (coop->thread < TSR_CUDA_WARP_THREADS)
		tsr_cuda_pipeline_open(pipeline, coop->thread, pipelined, tasks.first);
	if (loads && pipelined)
		feed = tsr_cuda_feed<tile_t>(&loader, pipeline, &operands, ring);
	tsr_gpu_meet(coop);
	if (consumer) {
		tsr_cuda_split_registers(coop, true);
		tsr_coop_t me = tsr_cuda_consumers(coop, pipeline->told[0], ring.scratch);
		me.has_senders = 1;
		tsr_cuda_consume<F, ORDER, GATE, EPILOGUE>(&me, &operands, &ring, tasks, ctx);
		tsr_cuda_join_registers(coop, true);
	} else {
		tsr_cuda_split_registers(coop, false);
		if (!loads)
			tsr_cuda_senders<tile_t>(&loader, loader.thread - TSR_CUDA_LOADER_THREADS,
						 operands.chunks);
		else if (pipelined)
			tsr_cuda_load<tile_t, ORDER, GATE>(&loader, &feed, tasks,
							   (const void *)ctx);
		tsr_cuda_join_registers(coop, false);
	}
	tsr_cuda_share(coop, ring.scratch, ctx);
	if (coop->thread < TSR_CUDA_WARP_THREADS)
		tsr_cuda_pipeline_close(pipeline, coop->thread);
}

template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE,
	  void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_port_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	if (coop->threads != TSR_CUDA_MAIN_THREADS) {
		/* a wide block, or a worker that moves data: the contract allows no main loop
		 * there */
		__trap();
	} else if constexpr (tsr_cuda_is_fast<typename F::tile_t>) {
		tsr_cuda_gemm<F, ORDER, GATE, EPILOGUE>(coop, a, b, tasks, ctx);
	} else {
		tsr_gpu_meet(coop);
		if (coop->thread < TSR_CUDA_CONSUMER_THREADS) {
			tsr_coop_t me = tsr_cuda_consumers(coop, coop->told, coop->scratch);
			tsr_gpu_gemm<F, ORDER, GATE, EPILOGUE>(&me, a, b, tasks, ctx);
		}
		tsr_gpu_meet(coop);
		tsr_cuda_share(coop, coop->scratch, ctx);
	}
}

#endif
