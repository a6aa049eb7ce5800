/*
 * The loader of a main loop on Hopper: a warp that calls order and gate, and
 * starts the copy engine's loads of operands in advance, those of the next tile
 * while an epilogue runs. With the first stage of a task it tells the consumers
 * which task it is.
 */
#ifndef TESSERA_CUDA_LOAD_H
#define TESSERA_CUDA_LOAD_H

#include "cuda/dev/pipeline.h"
#include "cuda/dev/tensormap.h"

/**
 * The loading warp. It has no scratch memory, because gates use no fragments.
 */
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

/** The maps of a product's operands. */
typedef struct tsr_cuda_operands {
	const tsr_cuda_workspace_t *workspace;
	/* places of this multiprocessor: TSR_CUDA_PLACES_EACH for each rank of the team */
	tsr_cuda_place_t *places;
	tsr_view_t a, b;
	int64_t depth; /* the smaller K of both */
	int chunks;    /* chunks in that depth */
} tsr_cuda_operands_t;

template <typename T>
TSR_DEV tsr_cuda_operands_t tsr_cuda_operands(const tsr_coop_t *coop, tsr_view_t a, tsr_view_t b)
{
	tsr_cuda_workspace_t *workspace = (tsr_cuda_workspace_t *)coop->context->workspace;
	const uint32_t multiprocessor = tsr_cuda_multiprocessor();
	tsr_cuda_operands_t operands;
	operands.workspace = workspace;
	operands.places = 0;
	if (workspace && multiprocessor < coop->context->workspace_parts)
		operands.places =
			workspace->place + (size_t)multiprocessor * coop->context->workspace_each;
	operands.a = a;
	operands.b = b;
	operands.depth = tsr_gpu_depth<T>(a, b);
	operands.chunks = (int)((operands.depth + 63) / 64);
	return operands;
}

/**
 * The matrix at `data` behind a view. Nothing past the smaller K is read; it
 * may hold anything. ALONG: K runs along its rows.
 */
template <bool ALONG>
TSR_DEV tsr_cuda_matrix_t tsr_cuda_matrix(const char *data, const tsr_view_t &view, int64_t depth)
{
	return {(uint64_t)(uintptr_t)data, (uint64_t)(ALONG ? view.rows : depth),
		(uint64_t)(ALONG ? depth : view.cols), (uint64_t)view.ld};
}

template <typename T>
TSR_DEV tsr_cuda_matrix_t tsr_cuda_matrix_a(const tsr_coop_t *loader,
					    const tsr_cuda_operands_t *operands, int peer)
{
	const char *data = tsr_gpu_view_address(loader, operands->a, peer);
	return tsr_cuda_matrix<T::A_ALONG>(data, operands->a, operands->depth);
}

template <typename T>
TSR_DEV tsr_cuda_matrix_t tsr_cuda_matrix_b(const tsr_coop_t *loader,
					    const tsr_cuda_operands_t *operands, int peer)
{
	const char *data = tsr_gpu_view_address(loader, operands->b, peer);
	return tsr_cuda_matrix<T::B_ALONG>(data, operands->b, operands->depth);
}

/** The place of the map of a rank's operand. */
TSR_DEV tsr_cuda_place_t *tsr_cuda_place(const tsr_cuda_operands_t *operands, int peer, int which)
{
	return &operands->places[peer * TSR_CUDA_PLACES_EACH + which];
}

/** The map of a peer's A. */
template <typename T>
TSR_DEV const void *tsr_cuda_map_a(const tsr_coop_t *loader, uint32_t *made,
				   const tsr_cuda_operands_t *operands, int peer)
{
	tsr_cuda_place_t *place = tsr_cuda_place(operands, peer, TSR_CUDA_PLACE_A);
	return tsr_cuda_map(loader->thread, made, operands->workspace, place,
			    tsr_cuda_map_made(place), tsr_cuda_matrix_a<T>(loader, operands, peer));
}

/** The map of a peer's B. */
template <typename T>
TSR_DEV const void *tsr_cuda_map_b(const tsr_coop_t *loader, uint32_t *made,
				   const tsr_cuda_operands_t *operands, int peer)
{
	tsr_cuda_place_t *place = tsr_cuda_place(operands, peer, TSR_CUDA_PLACE_B);
	return tsr_cuda_map(loader->thread, made, operands->workspace, place,
			    tsr_cuda_map_made(place), tsr_cuda_matrix_b<T>(loader, operands, peer));
}

typedef struct tsr_cuda_maps {
	const void *a, *b;
} tsr_cuda_maps_t;

/** The maps of my own A and B. Both places are looked at together. */
template <typename T>
TSR_DEV tsr_cuda_maps_t tsr_cuda_own_maps(const tsr_coop_t *loader, uint32_t *made,
					  const tsr_cuda_operands_t *operands)
{
	const int me = tsr_rank(loader);
	tsr_cuda_place_t *place_a = tsr_cuda_place(operands, me, TSR_CUDA_PLACE_A);
	tsr_cuda_place_t *place_b = tsr_cuda_place(operands, me, TSR_CUDA_PLACE_B);
	const tsr_cuda_matrix_t before_a = tsr_cuda_map_made(place_a),
				before_b = tsr_cuda_map_made(place_b);
	tsr_cuda_maps_t maps;
	maps.a = tsr_cuda_map(loader->thread, made, operands->workspace, place_a, before_a,
			      tsr_cuda_matrix_a<T>(loader, operands, me));
	maps.b = tsr_cuda_map(loader->thread, made, operands->workspace, place_b, before_b,
			      tsr_cuda_matrix_b<T>(loader, operands, me));
	return maps;
}

/** The loader's state: the maps, and the next stage. */
typedef struct tsr_cuda_feed {
	const tsr_cuda_operands_t *operands;
	uint32_t *made; /* space in which a map is made */
	tsr_cuda_maps_t maps;
	const void *stack; /* the map of the stack of B; made by the thread that loads */
	int stacked;       /* its rank; -1: none yet */
	tsr_from_t mapped; /* the ranks of the current operands */
	/* depth of the operands; everything that the copy engine reads fits into 31 bits */
	int depth;
	tsr_cuda_ring_t ring;
	uint32_t loaded; /* tsr_cuda_pipeline_t.loaded */
} tsr_cuda_feed_t;

/**
 * Called by the loading warp before the block meets, when nothing waits for it
 * yet.
 */
template <typename T>
TSR_DEV tsr_cuda_feed_t tsr_cuda_feed(const tsr_coop_t *loader, tsr_cuda_pipeline_t *pipeline,
				      const tsr_cuda_operands_t *operands,
				      const tsr_cuda_ring_t &ring)
{
	tsr_cuda_feed_t feed;
	feed.operands = operands;
	feed.made = pipeline->map;
	feed.maps = tsr_cuda_own_maps<T>(loader, feed.made, operands);
	feed.mapped = tsr_from(tsr_rank(loader), tsr_rank(loader));
	feed.stacked = -1;
	feed.depth = (int)operands->depth;
	feed.ring = ring;
	feed.loaded = 0;
	return feed;
}

/** The number of chunks of K in a part. */
TSR_DEV int tsr_cuda_chunks(const tsr_part_t &part, int depth)
{
	const int64_t k1 = tsr_gpu_least(part.k1, depth);
	return part.k0 < k1 ? ((int)(k1 - part.k0) + 63) / 64 : 0;
}

/**
 * One thread: waits until the next stage is free, and writes the task there.
 * Partner: the arrivals of both warpgroups in tsr_cuda_hand_back. Litmus:
 * LB.retired.sameWG-ww.
 */
TSR_DEV void tsr_cuda_stage_begin(const tsr_cuda_ring_t *ring, const tsr_cuda_task_t &task)
{
	/* The previous phase: in the first round all stages are free. */
	tsr_cuda_mbarrier_wait(ring->empty + 8u * (uint32_t)ring->slot, ring->parity ^ 1u);
	tsr_cuda_ring_leave(ring, task);
}

/**
 * A coordinate for the copy engine; one that does not fit is outside all
 * matrices.
 */
TSR_DEV int32_t tsr_cuda_coordinate(int64_t at)
{
	return (int32_t)at == at ? (int32_t)at : INT32_MIN;
}

/**
 * Loads a box of an operand: 64 rows of A, or columns of B, from `at` on, and
 * 64 of K from `k` on. ALONG: K runs along its rows.
 */
template <bool ALONG>
TSR_DEV void tsr_cuda_load_operand(uint32_t to, const void *map, int32_t at, int32_t k,
				   uint32_t barrier)
{
	tsr_cuda_load_box(to, map, ALONG ? k : at, ALONG ? at : k, barrier);
}

/** The same for the B that begins at row b0 of a stack. */
template <bool ALONG>
TSR_DEV void tsr_cuda_load_of_stack(uint32_t to, const void *map, int32_t at, int32_t k, int32_t b0,
				    uint32_t barrier)
{
	tsr_cuda_load_box_of(to, map, ALONG ? k : at, ALONG ? at : k, b0, barrier);
}

/**
 * One thread: both operands' columns k .. k + 63 into a stage that has begun.
 * Zeros come from outside the matrices. Where b0 is not 0, B's map is of a
 * stack. Partner of the arrival, and of the engine's: the waits in
 * tsr_cuda_await_stage. Litmus: MP.rel.acq.sameWG-ww.
 */
template <typename T>
TSR_DEV void tsr_cuda_stage_load(const tsr_cuda_ring_t *ring, const tsr_cuda_maps_t &maps,
				 int32_t at_row, int32_t at_col, int32_t k, int32_t b0)
{
	typedef tsr_cuda_division<T> division;
	uint32_t stage = ring->stage + (uint32_t)(ring->slot * division::stage_bytes);
	uint32_t full = ring->full + 8u * (uint32_t)ring->slot;
	tsr_cuda_mbarrier_expect(full, division::stage_bytes);
	TSR_GPU_UNROLL
	for (int row = 0; row < T::M; row += 64)
		tsr_cuda_load_operand<T::A_ALONG>(stage + (uint32_t)(row * 128), maps.a,
						  at_row + row, k, full);
	TSR_GPU_UNROLL
	for (int col = 0; col < T::N; col += 64) {
		const uint32_t to = stage + (uint32_t)(division::a_bytes + col * 128);
		if (b0 == 0) /* if the order names no other B, the compiler knows this */
			tsr_cuda_load_operand<T::B_ALONG>(to, maps.b, at_col + col, k, full);
		else
			tsr_cuda_load_of_stack<T::B_ALONG>(to, maps.b, at_col + col, k, b0, full);
	}
}

/**
 * One thread: fills a stage with the task only. Partner of the arrival: the
 * wait in tsr_cuda_await_stage. Litmus: MP.rel.acq.sameWG-ww.
 */
TSR_DEV void tsr_cuda_stage_tell(const tsr_cuda_ring_t *ring, const tsr_cuda_task_t &task)
{
	tsr_cuda_stage_begin(ring, task);
	tsr_cuda_mbarrier_arrive(ring->full + 8u * (uint32_t)ring->slot);
}

/**
 * The rank that a gate has returned, or mine if that one cannot be read.
 * Consumers expect the chunk even if the gate's wait failed.
 */
TSR_DEV int tsr_cuda_accepted(const tsr_coop_t *loader, const tsr_view_t &view, int peer)
{
	const bool accepted =
		tsr_gpu_accepts_view(loader, view, peer) && peer >= 0 && peer < tsr_size(loader);
	return accepted ? peer : tsr_rank(loader);
}

/**
 * The warp: calls the gate of the chunk at `k`, which chooses the ranks whose
 * operands are read.
 */
template <typename T, tsr_gate_fn GATE>
TSR_DEV void tsr_cuda_feed_gate(tsr_coop_t *loader, tsr_cuda_feed_t *feed, const tsr_part_t &part,
				int64_t k, const void *ctx)
{
	const tsr_cuda_operands_t *operands = feed->operands;
	tsr_part_t chunk = part;
	chunk.k0 = k;
	chunk.k1 = tsr_gpu_least(k + 64, tsr_gpu_least(part.k1, feed->depth));
	tsr_from_t from = GATE(loader, chunk, ctx);
	from.a = tsr_cuda_accepted(loader, operands->a, from.a);
	from.b = tsr_cuda_accepted(loader, operands->b, from.b);
	if (from.a != feed->mapped.a)
		feed->maps.a = tsr_cuda_map_a<T>(loader, feed->made, operands, from.a);
	if (from.b != feed->mapped.b)
		feed->maps.b = tsr_cuda_map_b<T>(loader, feed->made, operands, from.b);
	feed->mapped = from;
	tsr_cuda_acquired_to_engine();
}

/** One thread: the maps of a chunk whose B begins at row b0. */
template <typename T>
TSR_DEV tsr_cuda_maps_t tsr_cuda_feed_maps(const tsr_coop_t *loader, tsr_cuda_feed_t *feed,
					   int32_t b0)
{
	tsr_cuda_maps_t maps = feed->maps;
	if (b0 == 0)
		return maps;
	if (feed->stacked != feed->mapped.b)
		feed->stack = tsr_cuda_stack(feed->operands->workspace,
					     tsr_cuda_place(feed->operands, feed->mapped.b,
							    TSR_CUDA_PLACE_STACK),
					     tsr_cuda_matrix_b<T>(loader, feed->operands,
								  feed->mapped.b));
	feed->stacked = feed->mapped.b;
	maps.b = feed->stack;
	return maps;
}

/**
 * Loads all chunks of a part, as far in advance as stages are free. Called by
 * the warp if there is a gate, otherwise by one thread.
 */
template <typename T, tsr_gate_fn GATE>
TSR_DEV void tsr_cuda_feed_part(tsr_coop_t *loader, tsr_cuda_feed_t *feed, const tsr_part_t &part,
				int chunks, const void *ctx)
{
	/* Senders pace themselves by tasks: the chunks of a part count as those of a whole tile, or
	 * as more. */
	const uint32_t share =
		((uint32_t)feed->operands->chunks + (uint32_t)chunks - 1) / (uint32_t)chunks;
	const tsr_cuda_task_t task = tsr_cuda_task(part.at, chunks);
	const int32_t row = tsr_cuda_coordinate(part.at.row),
		      col = tsr_cuda_coordinate(part.at.col);
	const bool accepted =
		tsr_gpu_accepts_view(loader, tsr_gpu_task_b<T>(feed->operands->b, part.b0),
				     tsr_rank(loader));
	const int32_t b0 = accepted ? tsr_cuda_coordinate(part.b0) : 0;
	TSR_GPU_NO_UNROLL
	for (int chunk = 0; chunk < chunks; chunk++) {
		const int32_t k = (int32_t)part.k0 + chunk * 64;
		if constexpr (GATE != TSR_NO_GATE)
			tsr_cuda_feed_gate<T, GATE>(loader, feed, part, k, ctx);
		feed->loaded += share;
		if (GATE == TSR_NO_GATE || tsr_cuda_elected()) {
			const tsr_cuda_maps_t maps = tsr_cuda_feed_maps<T>(loader, feed, b0);
			tsr_cuda_stage_begin(&feed->ring, task);
			tsr_cuda_stage_load<T>(&feed->ring, maps, row, col, k, b0);
			tsr_cuda_tell_loaded(feed->loaded);
		}
		tsr_cuda_ring_advance(&feed->ring);
	}
}

/**
 * Loads all tasks, then the end mark. Called by one thread if there is no gate.
 */
template <typename T, tsr_order_fn ORDER, tsr_gate_fn GATE>
TSR_DEV void tsr_cuda_feed_tasks(tsr_coop_t *loader, tsr_cuda_feed_t *feed, tsr_tasks_t tasks,
				 const void *ctx)
{
	TSR_GPU_NO_UNROLL
	for (int64_t number = tasks.first; number < tasks.end; number += tasks.step) {
		const tsr_part_t part = ORDER(number, ctx);
		const int chunks = tsr_cuda_chunks(part, feed->depth);
		if (chunks > 0) {
			tsr_cuda_feed_part<T, GATE>(loader, feed, part, chunks, ctx);
			continue;
		}
		if (GATE == TSR_NO_GATE || tsr_cuda_elected())
			tsr_cuda_stage_tell(&feed->ring, tsr_cuda_task(part.at, 0));
		tsr_cuda_ring_advance(&feed->ring);
	}
	const tsr_pos_t nowhere = {0, 0};
	if (GATE == TSR_NO_GATE || tsr_cuda_elected()) {
		tsr_cuda_tell_loaded(TSR_CUDA_LOADED_ALL);
		tsr_cuda_stage_tell(&feed->ring, tsr_cuda_task(nowhere, TSR_CUDA_NO_TASK));
	}
}

template <typename T, tsr_order_fn ORDER, tsr_gate_fn GATE>
TSR_DEV void tsr_cuda_load(tsr_coop_t *loader, tsr_cuda_feed_t *feed, tsr_tasks_t tasks,
			   const void *ctx)
{
	if (GATE != TSR_NO_GATE) { /* else it does nothing that is recorded */
		tsr_gpu_record_open(loader, TSR_GPU_WORKER_LOADER);
		tsr_gpu_record_role(loader, "loader");
	}
	if (GATE != TSR_NO_GATE || tsr_cuda_elected())
		tsr_cuda_feed_tasks<T, ORDER, GATE>(loader, feed, tasks, ctx);
	__syncwarp();
}

#endif
