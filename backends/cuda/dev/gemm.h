/*
 * The main loop on Hopper. Of worker 0's three warpgroups two multiply, each its half of the tile's rows, and run the epilogue; of
 * the third a warp runs order and gate and loads operands ahead, into the next tile's while an epilogue runs, and the others send
 * to peers what epilogues have stored. Registers go from the third to those who multiply. ParallelKittens, section 3; PTX ISA 8.0,
 * sections 9.7.9 and 9.7.15.
 *
 * Tiles that the tensor cores do not make, and operands that the copy engine cannot read, take the plain loop, on the same threads.
 */
#ifndef TESSERA_CUDA_GEMM_H
#define TESSERA_CUDA_GEMM_H

#include "cuda/dev/pipeline.h"
#include "cuda/dev/tensormap.h"

/* ---- who takes part */

/** The threads of worker 0 that multiply; each of its first two warpgroups calls it. */
TSR_DEV tsr_coop_t tsr_cuda_consumers(const tsr_coop_t *coop, uint64_t *told, tsr_gpu_scratch_t *scratch)
{
	tsr_coop_t me = *coop;
	me.told = told;
	me.scratch = scratch;
	me.threads = TSR_CUDA_CONSUMER_THREADS;
	me.whole = 0;
	me.turn = 0;
	return me;
}

/** The warp that loads. It has no scratch memory: gates take no fragments. */
TSR_DEV tsr_coop_t tsr_cuda_loader(const tsr_coop_t *coop, uint64_t *told)
{
	tsr_coop_t me = *coop;
	me.told = told;
	me.scratch = 0;
	me.thread = coop->thread - TSR_CUDA_CONSUMER_THREADS;
	me.threads = TSR_CUDA_LOADER_THREADS;
	me.whole = 0;
	me.turn = 0;
	return me;
}

/** What the consumers' epilogues have kept in `*ctx`, for the threads that ran none. The coop has met; it meets at the end. */
template <typename C> TSR_DEV void tsr_cuda_share(tsr_coop_t *coop, tsr_gpu_scratch_t *scratch, C *ctx)
{
	static_assert(sizeof(C) <= sizeof *scratch, "a main loop's context is at most 8 KiB: keep what is larger behind a pointer");
	if (tsr_gpu_leads(coop))
		__builtin_memcpy(scratch->bytes, ctx, sizeof(C));
	tsr_gpu_meet(coop);
	if (coop->thread >= TSR_CUDA_CONSUMER_THREADS)
		__builtin_memcpy(ctx, scratch->bytes, sizeof(C));
	tsr_gpu_meet(coop);
}

/* Where nothing is kept, or nobody knows how large it is. */
template <typename C> TSR_DEV void tsr_cuda_share(tsr_coop_t *, tsr_gpu_scratch_t *, const C *)
{
}

TSR_DEV void tsr_cuda_share(tsr_coop_t *, tsr_gpu_scratch_t *, void *)
{
}

/* ---- the loader */

/** The maps of a product's operands. */
typedef struct tsr_cuda_operands {
	const tsr_cuda_workspace_t *workspace;
	tsr_cuda_place_t *places; /* this multiprocessor's: B's, then each rank's A's */
	tsr_view_t a, b;
	int64_t depth; /* the smaller of both K */
	int chunks;    /* of it */
} tsr_cuda_operands_t;

TSR_DEV tsr_cuda_operands_t tsr_cuda_operands(const tsr_coop_t *coop, tsr_view_t a, tsr_view_t b)
{
	tsr_cuda_workspace_t *workspace = (tsr_cuda_workspace_t *)coop->context->workspace;
	uint32_t multiprocessor;
	tsr_cuda_operands_t operands;
	__asm__("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
	operands.workspace = workspace;
	operands.places = 0;
	if (workspace && multiprocessor < coop->context->workspace_parts)
		operands.places = workspace->place + (size_t)multiprocessor * (size_t)(1 + tsr_size(coop));
	operands.a = a;
	operands.b = b;
	operands.depth = tsr_gpu_least(a.cols, b.rows);
	operands.chunks = (int)((operands.depth + 63) / 64);
	return operands;
}

/** What lies past the smaller K is not read: it may be anything. */
TSR_DEV const void *tsr_cuda_map_a(const tsr_coop_t *loader, uint32_t *made, const tsr_cuda_operands_t *operands, int peer)
{
	const char *data = tsr_gpu_view_address(loader, operands->a, peer);
	tsr_cuda_matrix_t matrix = {(uint64_t)(uintptr_t)data, (uint64_t)operands->a.rows, (uint64_t)operands->depth,
				    (uint64_t)operands->a.ld};
	return tsr_cuda_map(loader->thread, made, operands->workspace, &operands->places[1 + peer], matrix);
}

TSR_DEV const void *tsr_cuda_map_b(const tsr_coop_t *loader, uint32_t *made, const tsr_cuda_operands_t *operands)
{
	const char *data = tsr_gpu_view_address(loader, operands->b, tsr_rank(loader));
	tsr_cuda_matrix_t matrix = {(uint64_t)(uintptr_t)data, (uint64_t)operands->depth, (uint64_t)operands->b.cols,
				    (uint64_t)operands->b.ld};
	return tsr_cuda_map(loader->thread, made, operands->workspace, &operands->places[0], matrix);
}

/** One thread: both operands' columns k .. k + 63 into the next stage. Zeros come from outside the matrices. */
template <typename T>
TSR_DEV void tsr_cuda_load_stage(tsr_cuda_ring_t *ring, const void *map_a, const void *map_b, int32_t at_row, int32_t at_col,
				 int32_t k)
{
	typedef tsr_cuda_division<T> division;
	uint32_t stage = ring->stage + (uint32_t)(ring->slot * division::stage_bytes);
	uint32_t full = ring->full + 8u * (uint32_t)ring->slot;
	/* Of the phase before: the first round finds its stages free. */
	tsr_cuda_mbarrier_wait(ring->empty + 8u * (uint32_t)ring->slot, ring->parity ^ 1u);
	tsr_cuda_mbarrier_expect(full, division::stage_bytes);
	TSR_GPU_UNROLL
	for (int row = 0; row < T::M; row += 64)
		tsr_cuda_load_box(stage + (uint32_t)(row * 128), map_a, k, at_row + row, full);
	TSR_GPU_UNROLL
	for (int col = 0; col < T::N; col += 64)
		tsr_cuda_load_box(stage + (uint32_t)(division::a_bytes + col * 128), map_b, at_col + col, k, full);
}

/** How many chunks of K a part has. */
TSR_DEV int tsr_cuda_chunks(const tsr_part_t &part, int64_t depth)
{
	const int64_t k1 = tsr_gpu_least(part.k1, depth);
	return part.k0 < k1 ? ((int)(k1 - part.k0) + 63) / 64 : 0;
}

/** All chunks of all tasks, as far ahead as stages are free. By the warp where there is a gate, else by one thread. */
template <typename T, tsr_order_fn ORDER, tsr_gate_fn GATE>
TSR_DEV void tsr_cuda_load_tasks(tsr_coop_t *loader, uint32_t *made, const tsr_cuda_operands_t *operands, const void *map_a,
				 const void *map_b, tsr_cuda_ring_t ring, tsr_tasks_t tasks, const void *ctx)
{
	int mapped = tsr_rank(loader);
	uint32_t loaded = 0;
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		const tsr_part_t part = ORDER(task, ctx);
		const int chunks = tsr_cuda_chunks(part, operands->depth);
		/* Senders pace themselves by tasks: the chunks of a part count as those of a whole tile, or as more. */
		const uint32_t share = chunks > 0 ? ((uint32_t)operands->chunks + (uint32_t)chunks - 1) / (uint32_t)chunks : 1;
		TSR_GPU_NO_UNROLL
		for (int chunk = 0; chunk < chunks; chunk++) {
			const int32_t row = (int32_t)part.at.row, col = (int32_t)part.at.col, k = (int32_t)part.k0 + chunk * 64;
			if constexpr (GATE != TSR_NO_GATE) {
				int peer = GATE(loader, part.at, k, tsr_gpu_least(k + 64, tsr_gpu_least(part.k1, operands->depth)),
						ctx);
				/* Consumers count on the chunk, whatever a gate says whose wait was given up. */
				if (!tsr_gpu_accepts_view(loader, operands->a, peer) || peer < 0 || peer >= tsr_size(loader))
					peer = tsr_rank(loader);
				if (peer != mapped)
					map_a = tsr_cuda_map_a(loader, made, operands, mapped = peer);
				tsr_cuda_acquired_to_engine();
			}
			if (tsr_gpu_leads(loader))
				tsr_cuda_load_stage<T>(&ring, map_a, map_b, row, col, k);
			tsr_cuda_ring_advance(&ring);
			loaded += share;
			if (tsr_gpu_leads(loader))
				tsr_port_store<TSR_RELAXED, TSR_SCOPE_BLOCK>(&tsr_cuda_pipeline()->loaded, loaded);
		}
	}
}

template <typename T, tsr_order_fn ORDER, tsr_gate_fn GATE>
TSR_DEV void tsr_cuda_load(tsr_coop_t *loader, uint32_t *made, const tsr_cuda_operands_t *operands, tsr_cuda_ring_t ring,
			   tsr_tasks_t tasks, const void *ctx)
{
	const void *map_b = tsr_cuda_map_b(loader, made, operands);
	const void *map_a = tsr_cuda_map_a(loader, made, operands, tsr_rank(loader));
	if (GATE != TSR_NO_GATE || tsr_gpu_leads(loader))
		tsr_cuda_load_tasks<T, ORDER, GATE>(loader, made, operands, map_a, map_b, ring, tasks, ctx);
	if (tsr_gpu_leads(loader))
		tsr_port_store<TSR_RELAXED, TSR_SCOPE_BLOCK>(&tsr_cuda_pipeline()->loaded, (uint32_t)TSR_CUDA_LOADED_ALL);
	__syncwarp();
}

/* ---- the consumers */

/** One chunk: this warpgroup's rows of A times B, started. */
template <typename F> TSR_DEV void tsr_cuda_multiply_stage(const tsr_coop_t *me, F *acc, const tsr_cuda_ring_t *ring)
{
	typedef typename F::tile_t tile_t;
	typedef tsr_cuda_division<tile_t> division;
	typedef tsr_port_layout<F> layout;
	uint32_t b = ring->stage + (uint32_t)(ring->slot * division::stage_bytes + division::a_bytes);
	uint32_t a = ring->stage + (uint32_t)(ring->slot * division::stage_bytes +
					      me->thread / TSR_CUDA_WARPGROUP_THREADS * layout::bands * TSR_CUDA_BOX_BYTES);
	TSR_GPU_UNROLL
	for (int k = 0; k < 64; k += 16)
		TSR_GPU_UNROLL
	for (int band = 0; band < layout::bands; band++)
		tsr_cuda_wgmma<tile_t::N, typename F::dtype_t>::start(
			acc->v + band * layout::band_elements, tsr_cuda_operand_a(a + (uint32_t)(band * TSR_CUDA_BOX_BYTES), k),
			tsr_cuda_operand_b(b, k));
}

/** The product of `chunks` chunks. A stage is handed back when the next one's multiplication has been started. */
template <typename F> TSR_DEV void tsr_cuda_multiply(const tsr_coop_t *me, F *acc, tsr_cuda_ring_t *ring, int chunks)
{
	bool hands_back = me->thread % TSR_CUDA_WARPGROUP_THREADS == 0;
	uint32_t before = 0; /* the barrier of the stage before; 0: none */
	TSR_GPU_NO_UNROLL
	for (; chunks > 0; chunks--) {
		tsr_cuda_mbarrier_wait(ring->full + 8u * (uint32_t)ring->slot, ring->parity);
		tsr_cuda_wgmma_begin();
		tsr_cuda_multiply_stage(me, acc, ring);
		tsr_cuda_wgmma_commit();
		tsr_cuda_wgmma_await<1>();
		if (hands_back && before)
			tsr_cuda_mbarrier_arrive(before);
		before = ring->empty + 8u * (uint32_t)ring->slot;
		tsr_cuda_ring_advance(ring);
	}
	tsr_cuda_wgmma_await<0>();
	if (hands_back && before)
		tsr_cuda_mbarrier_arrive(before);
}

/* ---- both together */

/** Registers a thread while a main loop runs, for blocks of one or two workers: then they were launched with as many each. */
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

/** The coop meets in between: a warp of the loader's that took its registers back early would take what consumers wait for. */
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

/** The consumers' loop. Where the pipeline cannot serve, and so has no stages, the plain main loop makes the product, and calls the
 * gate. */
template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE, void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_cuda_consume(tsr_coop_t *me, const tsr_cuda_operands_t *operands, tsr_cuda_ring_t *ring, tsr_tasks_t tasks, C *ctx)
{
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		F acc;
		const tsr_part_t part = ORDER(task, ctx);
		tsr_frag_zero(me, &acc);
		if (ring->stages > 0)
			tsr_cuda_multiply(me, &acc, ring, tsr_cuda_chunks(part, operands->depth));
		else
			tsr_gemm_mainloop(me, &acc, operands->a, operands->b, part.at, part.k0,
					  tsr_gpu_least(part.k1, operands->depth), GATE, (const void *)ctx);
		me->kept = 0; /* nothing of it lives through a product */
		EPILOGUE(me, &acc, part.at, ctx);
	}
	tsr_port_settle(me);
	tsr_cuda_send_t none = {0, 0, 0, 0, 0, 0, 0};
	tsr_cuda_post(me, none);
}

template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE, void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_cuda_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	typedef typename F::tile_t tile_t;
	tsr_cuda_pipeline_t *pipeline = tsr_cuda_pipeline();
	uint32_t bytes;
	unsigned char *memory = tsr_cuda_free_shared(coop, &bytes);
	tsr_cuda_ring_t ring = tsr_cuda_ring<tile_t>(pipeline, memory, bytes);
	tsr_cuda_operands_t operands = tsr_cuda_operands(coop, a, b);
	tsr_gpu_scratch_t *scratch = (tsr_gpu_scratch_t *)(memory + ring.stages * tsr_cuda_division<tile_t>::stage_bytes);
	/* Beside another worker a thread has 128 registers, and ptxas holds sums to them. */
	constexpr bool slim = tsr_port_layout<F>::bands * tsr_port_layout<F>::band_elements <= 96;
	bool pipelined = (slim || coop->workers == 1) && ring.stages >= 2 && operands.places && tsr_cuda_is_mappable(a) &&
			 tsr_cuda_is_mappable(b) && tsr_gpu_accepts_view(coop, a, tsr_rank(coop)) &&
			 tsr_gpu_accepts_view(coop, b, tsr_rank(coop));
	bool consumer = coop->thread < TSR_CUDA_CONSUMER_THREADS;
	if (!pipelined)
		ring.stages = 0;

	tsr_cuda_before_engine(); /* operands may have been written or waited for just now, and shared memory where stages come */
	if (tsr_gpu_leads(coop))
		tsr_cuda_pipeline_open(pipeline, pipelined);
	tsr_gpu_meet(coop);
	if (consumer) {
		tsr_cuda_split_registers(coop, true);
		tsr_coop_t me = tsr_cuda_consumers(coop, pipeline->told[0], scratch);
		tsr_cuda_consume<F, ORDER, GATE, EPILOGUE>(&me, &operands, &ring, tasks, ctx);
		tsr_cuda_join_registers(coop, true);
	} else {
		tsr_cuda_split_registers(coop, false);
		tsr_coop_t me = tsr_cuda_loader(coop, pipeline->told[1]);
		if (me.thread >= TSR_CUDA_LOADER_THREADS)
			tsr_cuda_senders<tile_t>(&me, me.thread - TSR_CUDA_LOADER_THREADS, operands.depth / 64);
		else if (ring.stages > 0)
			tsr_cuda_load<tile_t, ORDER, GATE>(&me, pipeline->map, &operands, ring, tasks, (const void *)ctx);
		tsr_cuda_join_registers(coop, false);
	}
	tsr_cuda_share(coop, scratch, ctx);
	coop->unfenced = 1; /* what was sent may have ended behind a fence that an epilogue made */
	if (tsr_gpu_leads(coop))
		tsr_cuda_pipeline_close(pipeline);
}

template <typename F, tsr_order_fn ORDER, tsr_gate_fn GATE, void (*EPILOGUE)(tsr_coop_t *, F *, tsr_pos_t, void *), typename C>
TSR_DEV void tsr_port_gemm(tsr_coop_t *coop, tsr_view_t a, tsr_view_t b, tsr_tasks_t tasks, C *ctx)
{
	if (coop->threads != TSR_CUDA_MAIN_THREADS) {
		__trap(); /* a wide block, or a worker that moves: the contract has no main loop there */
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
