/*
 * one_shot_all_reduce [ROWS [CALLS]]: every rank puts its column into a slot of
 * every other rank, and adds up what it got; call after call, through the same
 * slots. READY says that a column is there, RETIRED that it was added up.
 * Worlds of at most 16.
 */
#include "program.h"

TSR_TILE(tile, f32, 16, 16, 16);

typedef struct oar_sync {
	uint64_t epoch; /* calls completed on this rank */
	/* ready[r]: the call whose column rank r has put into my slot */
	uint64_t ready[TSR_MAX_RANKS];
	/* retired[r]: the last call whose columns rank r has added up */
	uint64_t retired[TSR_MAX_RANKS];
} oar_sync_t;

typedef struct oar_args {
	tsr_view_t mine;    /* a column for each call */
	tsr_view_t slots;   /* a column for each rank */
	tsr_view_t results; /* a column for each call */
	TSR_HEAP oar_sync_t *sync;
} oar_args_t;

TSR_FN tsr_view_t oar_column(tsr_view_t all, int64_t col)
{
	tsr_pos_t at = {0, col};
	return tsr_view_part(all, at, all.rows, 1);
}

/**
 * Partners of the wait and the signal: those in oar_take. Litmus:
 * MP.rel.acq.diffGPU-ss, MP.reuse.diffGPU-ss.
 */
TSR_FN void oar_send(tsr_coop_t *block, const oar_args_t *a, uint64_t epoch)
{
	int me = tsr_rank(block);
	for (int i = 0; i < tsr_size(block); i++) {
		int peer = tsr_peer(block, i);
		tsr_wait(block, &a->sync->retired[peer], epoch - 1, peer);
		tsr_put_2d(block, oar_column(a->slots, me), oar_column(a->mine, (int64_t)epoch - 1),
			   peer);
		tsr_signal(block, &a->sync->ready[me], epoch, TSR_SIGNAL_SET, peer);
	}
}

TSR_FN float oar_row(float x, float row_value, const void *ctx)
{
	(void)x, (void)ctx;
	return row_value;
}

/** The sum of the slots' columns, into this call's column of the results. */
TSR_FN void oar_add_up(tsr_coop_t *block, const oar_args_t *a, uint64_t epoch)
{
	TSR_FRAG(tile, columns, block);
	TSR_FRAG_ROWS(tile, sums, block);
	for (int64_t row = 0; row < a->slots.rows; row += TSR_TILE_M(tile)) {
		tsr_pos_t at = {row, 0};
		tsr_tile_load(block, columns, a->slots, at);
		tsr_frag_reduce_rows(block, sums, columns, a->slots.cols, TSR_REDUCE_SUM);
		tsr_frag_map_rows(block, columns, sums, oar_row, a);
		tsr_tile_store(block, oar_column(a->results, (int64_t)epoch - 1), at, columns);
	}
}

/** Partners of the wait and the signal: those in oar_send. */
TSR_FN void oar_take(tsr_coop_t *block, const oar_args_t *a, uint64_t epoch)
{
	for (int i = 0; i < tsr_size(block); i++)
		tsr_wait(block, &a->sync->ready[tsr_peer(block, i)], epoch, tsr_peer(block, i));
	oar_add_up(block, a, epoch);
	tsr_signal_all(block, &a->sync->retired[tsr_rank(block)], epoch, TSR_SIGNAL_SET);
}

/**
 * One call. The epoch was stored before the last launch ended, which happens
 * before this one begins.
 */
TSR_KERNEL(one_shot_all_reduce, oar_args_t, a)
{
	int me = tsr_rank(block);
	uint64_t epoch =
		1 + tsr_atomic_load(block, &a->sync->epoch, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	oar_send(block, a, epoch);
	oar_take(block, a, epoch);
	tsr_atomic_store(block, &a->sync->epoch, epoch, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

typedef struct oar_memory {
	tsr_tensor_t mine, slots, results;
	TSR_HEAP void *sync;
} oar_memory_t;

static tsr_status_t oar_allocate(tsr_world_t *world, int64_t rows, int64_t calls,
				 oar_memory_t *memory)
{
	const int64_t columns[2] = {rows, calls}, each[2] = {rows, tsr_world_size(world)};
	tsr_status_t status = tsr_tensor_empty(world, TSR_F32, 2, columns, &memory->mine);
	if (status == TSR_OK)
		status = tsr_tensor_empty(world, TSR_F32, 2, each, &memory->slots);
	if (status == TSR_OK)
		status = tsr_tensor_empty(world, TSR_F32, 2, columns, &memory->results);
	return status == TSR_OK ? zeroed(world, sizeof(oar_sync_t), "sync", &memory->sync) : status;
}

/** What rank `rank` gives to a call. */
static float oar_element(int rank, int64_t row, int64_t call)
{
	return (float)word_of(rank, call, row);
}

static int oar_verify(tsr_world_t *world, const oar_memory_t *memory, float *host)
{
	const int64_t rows = memory->results.shape[0], calls = memory->results.shape[1];
	int wrong = 0;
	TSR_TRY(tsr_tensor_read(world, &memory->results, host));
	for (int64_t i = 0; i < rows * calls; i++) {
		float sum = 0;
		for (int rank = 0; rank < tsr_world_size(world); rank++)
			sum += oar_element(rank, i / calls, i % calls);
		if (host[i] != sum && wrong++ == 0)
			fprintf(stderr, "rank %d: row %d of call %d is %g, not %g\n",
				tsr_world_rank(world), (int)(i / calls), (int)(i % calls),
				(double)host[i], (double)sum);
	}
	return wrong ? 1 : 0;
}

static int oar_run(tsr_world_t *world, int64_t calls, const oar_memory_t *memory, float *host)
{
	oar_args_t args;
	memset(&args, 0, sizeof args);
	for (int64_t i = 0; i < tsr_tensor_count(&memory->mine); i++)
		host[i] = oar_element(tsr_world_rank(world), i / calls, i % calls);
	TSR_TRY(tsr_tensor_write(world, &memory->mine, host));
	TSR_TRY(tsr_tensor_view(&memory->mine, &args.mine));
	TSR_TRY(tsr_tensor_view(&memory->slots, &args.slots));
	TSR_TRY(tsr_tensor_view(&memory->results, &args.results));
	args.sync = (TSR_HEAP oar_sync_t *)memory->sync;
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are zero before a kernel raises one */
	TSR_TRY(run_to_end(world, &one_shot_all_reduce, 1, (int)calls, &args));
	return oar_verify(world, memory, host);
}

TSR_MAIN(world, argc, argv)
{
	oar_memory_t memory;
	int64_t rows, calls;
	TSR_TRY(size_argument(argc, argv, 1, "ROWS", 40, &rows));
	TSR_TRY(size_argument(argc, argv, 2, "CALLS", 3, &calls));
	if (tsr_world_size(world) > TSR_TILE_N(tile)) {
		(void)tsr_error(TSR_ERR_ARGUMENT, "a world of %d ranks is too large: at most 16",
				tsr_world_size(world));
		return tsr_fail(world);
	}
	TSR_TRY(oar_allocate(world, rows, calls, &memory));
	float *host = (float *)malloc((size_t)(rows * calls) * sizeof(float));
	int code = host ? oar_run(world, calls, &memory, host) : 1;
	free(host);
	return code;
}
