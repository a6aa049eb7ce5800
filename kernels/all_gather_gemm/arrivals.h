/*
 * The chunks of the other ranks' shards: the order in which a rank needs them,
 * and the gates that wait for them.
 */
#ifndef ALL_GATHER_GEMM_ARRIVALS_H
#define ALL_GATHER_GEMM_ARRIVALS_H

#include "kernels/all_gather_gemm/shards.h"

/** The flag of chunk `chunk` of rank `source`'s shard; the same address on all ranks. */
TSR_FN TSR_HEAP uint64_t *agg_come(const agg_args_t *a, int source, int32_t chunk)
{
	return a->come + (int64_t)source * a->chunks + chunk;
}

/** A chunk, and how many ranks after this one is the rank that has it. */
typedef struct agg_arrival {
	int32_t chunk, distance; /* 1 .. ranks - 1 */
} agg_arrival_t;

/**
 * The `index`-th chunk that a rank gets of others: of the next rank's shard, then
 * of the one after it. In turn: the first one of each shard, then the next ones.
 */
TSR_FN agg_arrival_t agg_arrival(const agg_args_t *a, int32_t index, int ranks)
{
	const agg_arrival_t by_shards = {index % a->chunks, index / a->chunks + 1};
	const agg_arrival_t in_turn = {index / (ranks - 1), index % (ranks - 1) + 1};
	return a->in_turn ? in_turn : by_shards;
}

/** The chunk that has a place of the operand, and where its shard has the next one. */
typedef struct agg_place {
	int32_t source, chunk, end;
} agg_place_t;

/**
 * The chunk that a tile whose first row is `row` needs at row, or column, `at` of
 * the operand. By columns, a chunk has all rows of the tile (choose.c).
 */
TSR_FN agg_place_t agg_place(const agg_args_t *a, int32_t at, int32_t row)
{
	const int32_t source = agg_rank_with(a, at), begin = a->begin[source],
		      shard_end = a->begin[source + 1];
	const int by_rows = a->along != AGG_BY_COLUMNS;
	const int32_t chunk = (by_rows ? at - begin : row) / a->chunk_rows,
		      end = begin + (chunk + 1) * a->chunk_rows;
	const agg_place_t place = {source, chunk, by_rows && end < shard_end ? end : shard_end};
	return place;
}

/**
 * Where a gate begins. Of B by rows, a task's chunks of K lie in several chunks of
 * a shard: those that earlier ones have waited for are left out, too.
 */
TSR_FN int32_t agg_arrivals_begin(const agg_args_t *a, tsr_part_t part)
{
	const int32_t k0 = (int32_t)part.k0;
	if (a->along != AGG_B_BY_ROWS || k0 == 0 || k0 == a->turn)
		return agg_gate_begin(a, part);
	return agg_place(a, k0 - 1, (int32_t)part.at.row).end;
}

/**
 * Gate: waits for the chunks that other ranks put here.
 * Partner:    the signals of agg_push and of agg_copies on these ranks.
 * Litmus:     MP.rel.acq.diffGPU-ss.
 */
TSR_FN tsr_from_t agg_gate(tsr_coop_t *loader, tsr_part_t part, const void *ctx)
{
	const agg_run_t *run = (const agg_run_t *)ctx;
	const agg_args_t *a = run->args;
	for (int32_t at = agg_arrivals_begin(a, part); at < agg_gate_end(a, part);) {
		const agg_place_t place = agg_place(a, at, (int32_t)part.at.row);
		if (place.source != tsr_rank(loader))
			tsr_wait(loader, agg_come(a, place.source, place.chunk), run->epoch,
				 place.source);
		at = place.end;
	}
	return tsr_from(tsr_rank(loader), tsr_rank(loader));
}

/**
 * Gate: the same for chunks that blocks of this rank bring to their places.
 * Partner:    the signal of agg_fetch, or of agg_count_row. Litmus:
 *             MP.rel.acq.sameGPU-aa.
 */
TSR_FN tsr_from_t agg_local_gate(tsr_coop_t *loader, tsr_part_t part, const void *ctx)
{
	const agg_run_t *run = (const agg_run_t *)ctx;
	const agg_args_t *a = run->args;
	for (int32_t at = agg_arrivals_begin(a, part); at < agg_gate_end(a, part);) {
		const agg_place_t place = agg_place(a, at, (int32_t)part.at.row);
		if (place.source != tsr_rank(loader))
			tsr_wait_local(loader, agg_come(a, place.source, place.chunk), run->epoch,
				       TSR_SCOPE_DEVICE);
		at = place.end;
	}
	return tsr_from(tsr_rank(loader), tsr_rank(loader));
}

/** A computing block's product, by chunks that other ranks put here. */
TSR_FN void agg_multiply(tsr_coop_t *block, agg_run_t *run)
{
	const agg_args_t *a = run->args;
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, agg_tasks(run), agg_order, agg_gate, agg_store, run);
}

/** The same, by chunks that blocks of this rank bring to their places. */
TSR_FN void agg_multiply_local(tsr_coop_t *block, agg_run_t *run)
{
	const agg_args_t *a = run->args;
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, agg_tasks(run), agg_order, agg_local_gate, agg_store,
		 run);
}

#endif
