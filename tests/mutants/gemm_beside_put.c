/*
 * gemm_beside_put [SIZE [CHUNKS]]: one kernel computes a product of SIZE x SIZE
 * whose left operand comes from the rank before, chunk by chunk, and spins
 * until a chunk is there; another one, on a stream of its own, sends the chunks
 * to the next rank. They are started as a group: what spins leaves room on the
 * device for what it waits for.
 */
#include "program.h"

TSR_TILE(tile, f32, 16, 16, 16);

typedef struct beside_args {
	tsr_view_t mine;            /* SIZE x K: what I send */
	tsr_view_t received;        /* SIZE x K: what I multiply by b */
	tsr_view_t b;               /* K x SIZE */
	tsr_view_t c;               /* SIZE x SIZE */
	TSR_HEAP uint64_t *arrived; /* arrived[i]: 1 when chunk i of `received` is there */
} beside_args_t;

TSR_FN tsr_part_t beside_order(int64_t task, const void *ctx)
{
	const beside_args_t *a = (const beside_args_t *)ctx;
	int64_t tiles_n = tsr_tiles(a->c.cols, TSR_TILE_N(tile));
	tsr_pos_t at = {task / tiles_n * TSR_TILE_M(tile), task % tiles_n * TSR_TILE_N(tile)};
	return tsr_whole(at);
}

/**
 * The chunks of columns k0 .. k1-1. Partner: the signal in send_chunks. Litmus:
 * MP.rel.acq.diffGPU-ss.
 */
TSR_FN tsr_from_t beside_gate(tsr_coop_t *loader, tsr_part_t part, const void *ctx)
{
	const beside_args_t *a = (const beside_args_t *)ctx;
	int previous = (tsr_rank(loader) + tsr_size(loader) - 1) % tsr_size(loader);
	for (int64_t chunk = part.k0 / TSR_TILE_K(tile); chunk * TSR_TILE_K(tile) < part.k1;
	     chunk++)
		tsr_wait(loader, a->arrived + chunk, 1, previous);
	return tsr_from(tsr_rank(loader), tsr_rank(loader));
}

TSR_FN void beside_keep(tsr_coop_t *me, tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const beside_args_t *a = (const beside_args_t *)ctx;
	tsr_tile_store(me, a->c, at, acc);
}

TSR_KERNEL(gemm_as_it_comes, beside_args_t, a)
{
	beside_args_t args = *a;
	int64_t tiles =
		tsr_tiles(a->c.rows, TSR_TILE_M(tile)) * tsr_tiles(a->c.cols, TSR_TILE_N(tile));
	tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block), tiles};
	tsr_gemm(tile, block, a->received, a->b, tasks, beside_order, beside_gate, beside_keep,
		 &args);
}

/** Partner of the signal: the wait in beside_gate, on the next rank. */
TSR_KERNEL_WIDE(send_chunks, beside_args_t, a)
{
	int next = (tsr_rank(block) + 1) % tsr_size(block);
	for (int64_t chunk = 0; chunk * TSR_TILE_K(tile) < a->mine.cols; chunk++) {
		tsr_pos_t at = {0, chunk * TSR_TILE_K(tile)};
		tsr_put_signal_2d(block,
				  tsr_view_part(a->received, at, a->mine.rows, TSR_TILE_K(tile)),
				  tsr_view_part(a->mine, at, a->mine.rows, TSR_TILE_K(tile)),
				  a->arrived + chunk, 1, TSR_SIGNAL_SET, next);
	}
}

typedef struct beside_memory {
	tsr_tensor_t mine, received, b, c;
	TSR_HEAP void *arrived;
} beside_memory_t;

static tsr_status_t beside_allocate(tsr_world_t *world, int64_t size, int64_t k,
				    beside_memory_t *memory, beside_args_t *args)
{
	const int64_t left[2] = {size, k}, right[2] = {k, size}, square[2] = {size, size};
	const uint64_t seed = (uint64_t)tsr_world_rank(world);
	tsr_status_t status;
	if ((status = tsr_tensor_randint(world, TSR_F32, 2, left, -4, 5, seed, &memory->mine)) !=
		    TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, left, &memory->received)) != TSR_OK ||
	    (status = tsr_tensor_randint(world, TSR_F32, 2, right, -4, 5, TSR_MAX_RANKS,
					 &memory->b)) != TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, square, &memory->c)) != TSR_OK ||
	    (status = zeroed(world, (size_t)tsr_tiles(k, TSR_TILE_K(tile)) * sizeof(uint64_t),
			     "arrived", &memory->arrived)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->mine, &args->mine)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->received, &args->received)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->b, &args->b)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->c, &args->c)) != TSR_OK)
		return status;
	args->arrived = (TSR_HEAP uint64_t *)memory->arrived;
	return tsr_barrier(world); /* every rank's flags are zero before a kernel raises one */
}

/** Starts both, and waits for their end. All but one of the device's blocks compute. */
static tsr_status_t beside_run(tsr_world_t *world, const beside_args_t *args)
{
	tsr_device_props_t device = {.size = sizeof device};
	tsr_stream_t *compute = NULL, *send = NULL;
	tsr_status_t status = tsr_world_device(world, &device);
	if (status == TSR_OK)
		status = tsr_stream_create(tsr_world_team(world), &compute);
	if (status == TSR_OK)
		status = tsr_stream_create(tsr_world_team(world), &send);
	if (status != TSR_OK)
		return status;
	tsr_launch_desc_t both[] = {
		TSR_LAUNCH_DESC(compute, &gemm_as_it_comes, device.resident_blocks - 1, args),
		TSR_LAUNCH_DESC(send, &send_chunks, 1, args)};
	status = tsr_launch_group(both, 2);
	if (status == TSR_OK)
		status = tsr_stream_sync(compute);
	if (status == TSR_OK)
		status = tsr_stream_sync(send);
	if (status == TSR_OK)
		status = tsr_stream_destroy(compute);
	return status == TSR_OK ? tsr_stream_destroy(send) : status;
}

/** Whole numbers: sums are exact, whatever their order. */
static int beside_verify(tsr_world_t *world, const beside_memory_t *memory, float *host)
{
	const int64_t size = memory->c.shape[0], k = memory->b.shape[0];
	const int size_of_world = tsr_world_size(world),
		  previous = (tsr_world_rank(world) + size_of_world - 1) % size_of_world;
	int wrong = 0;
	TSR_TRY(tsr_tensor_read(world, &memory->c, host));
	for (int64_t i = 0; i < size * size; i++) {
		double sum = 0;
		for (int64_t l = 0; l < k; l++)
			sum += (double)tsr_random_int((uint64_t)previous,
						      (uint64_t)(i / size * k + l), -4, 5) *
			       (double)tsr_random_int(TSR_MAX_RANKS,
						      (uint64_t)(l * size + i % size), -4, 5);
		if ((double)host[i] != sum && wrong++ == 0)
			fprintf(stderr, "rank %d: element (%d, %d) is %g, not %g\n",
				tsr_world_rank(world), (int)(i / size), (int)(i % size),
				(double)host[i], sum);
	}
	return wrong ? 1 : 0;
}

TSR_MAIN(world, argc, argv)
{
	beside_memory_t memory;
	beside_args_t args;
	int64_t size, chunks;
	TSR_TRY(size_argument(argc, argv, 1, "SIZE", 64, &size));
	TSR_TRY(size_argument(argc, argv, 2, "CHUNKS", 2, &chunks));
	TSR_TRY(beside_allocate(world, size, chunks * TSR_TILE_K(tile), &memory, &args));
	TSR_TRY(beside_run(world, &args));
	float *host = (float *)malloc((size_t)(size * size) * sizeof(float));
	int code = host ? beside_verify(world, &memory, host) : 1;
	free(host);
	return code;
}
