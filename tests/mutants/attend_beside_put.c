/*
 * attend_beside_put [QUERIES [CHUNKS]]: one kernel attends to keys that come
 * from the rank before, chunk by chunk, and spins until a chunk is there;
 * another one, on a stream of its own, sends the chunks to the next rank. All
 * queries are 0, so that the output is the mean of the values, exactly.
 */
#include "program.h"

enum { KEYS = 16, HEAD = 16 };
TSR_ATTEND_TILE(tile, f32, 16, KEYS, HEAD);

typedef struct attend_args {
	tsr_view_t queries;              /* QUERIES x HEAD */
	tsr_view_t keys, values;         /* CHUNKS * KEYS x HEAD: what I send */
	tsr_view_t got_keys, got_values; /* what I attend to */
	tsr_view_t output;               /* QUERIES x HEAD */
	TSR_HEAP uint64_t *arrived;      /* arrived[i]: 1 when chunk i is there */
} attend_args_t;

TSR_FN tsr_span_t attend_span(int64_t task, const void *ctx)
{
	const attend_args_t *a = (const attend_args_t *)ctx;
	const int64_t row = task * TSR_TILE_M(tile);
	tsr_span_t span = {{row, 0},
			   {0, 0},
			   a->queries.rows - row,
			   0,
			   a->got_keys.rows,
			   (int32_t)TSR_MASK_NONE,
			   1,
			   row,
			   0};
	return span;
}

/** Partner: the signal in send_keys. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN tsr_keys_from_t attend_gate(tsr_coop_t *loader, tsr_span_t run, const void *ctx)
{
	const attend_args_t *a = (const attend_args_t *)ctx;
	const int previous = (tsr_rank(loader) + tsr_size(loader) - 1) % tsr_size(loader);
	const tsr_keys_from_t from = {tsr_rank(loader), run.k1};
	tsr_wait(loader, a->arrived + run.k0 / KEYS, 1, previous);
	return from;
}

TSR_FN void attend_keep(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const attend_args_t *a = (const attend_args_t *)ctx;
	TSR_FRAG(tile, o, me);
	TSR_FRAG_ROWS(tile, lse, me);
	tsr_state_finish(me, state, o, lse);
	tsr_tile_store(me, a->output, span.q, o);
}

TSR_KERNEL(attend_as_it_comes, attend_args_t, a)
{
	attend_args_t args = *a;
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   tsr_tiles(a->queries.rows, TSR_TILE_M(tile))};
	tsr_attend(tile, block, a->queries, a->got_keys, a->got_values, 0.25f, tasks, attend_span,
		   attend_gate, TSR_NO_START, attend_keep, &args);
}

/** Partner of the signal: the wait in attend_gate, on the next rank. */
TSR_KERNEL_WIDE(send_keys, attend_args_t, a)
{
	const int next = (tsr_rank(block) + 1) % tsr_size(block);
	for (int64_t chunk = 0; chunk * KEYS < a->keys.rows; chunk++) {
		const tsr_pos_t at = {chunk * KEYS, 0};
		tsr_put_2d(block, tsr_view_part(a->got_keys, at, KEYS, HEAD),
			   tsr_view_part(a->keys, at, KEYS, HEAD), next);
		tsr_put_signal_2d(block, tsr_view_part(a->got_values, at, KEYS, HEAD),
				  tsr_view_part(a->values, at, KEYS, HEAD), a->arrived + chunk, 1,
				  TSR_SIGNAL_SET, next);
	}
}

typedef struct attend_memory {
	tsr_tensor_t queries, keys, values, got_keys, got_values, output;
	TSR_HEAP void *arrived;
} attend_memory_t;

static tsr_status_t attend_allocate(tsr_world_t *world, int64_t queries, int64_t chunks,
				    attend_memory_t *m, attend_args_t *args)
{
	const int64_t few[2] = {queries, HEAD}, many[2] = {chunks * KEYS, HEAD};
	const uint64_t seed = (uint64_t)tsr_world_rank(world);
	tsr_status_t status;
	if ((status = tsr_tensor_randint(world, TSR_F32, 2, few, 0, 1, seed, &m->queries)) !=
		    TSR_OK ||
	    (status = tsr_tensor_randint(world, TSR_F32, 2, many, -4, 5, seed + 1, &m->keys)) !=
		    TSR_OK ||
	    (status = tsr_tensor_randint(world, TSR_F32, 2, many, -4, 5, seed, &m->values)) !=
		    TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, many, &m->got_keys)) != TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, many, &m->got_values)) != TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, few, &m->output)) != TSR_OK ||
	    (status = zeroed(world, (size_t)chunks * sizeof(uint64_t), "arrived", &m->arrived)) !=
		    TSR_OK ||
	    (status = tsr_tensor_view(&m->queries, &args->queries)) != TSR_OK ||
	    (status = tsr_tensor_view(&m->keys, &args->keys)) != TSR_OK ||
	    (status = tsr_tensor_view(&m->values, &args->values)) != TSR_OK ||
	    (status = tsr_tensor_view(&m->got_keys, &args->got_keys)) != TSR_OK ||
	    (status = tsr_tensor_view(&m->got_values, &args->got_values)) != TSR_OK ||
	    (status = tsr_tensor_view(&m->output, &args->output)) != TSR_OK)
		return status;
	args->arrived = (TSR_HEAP uint64_t *)m->arrived;
	return tsr_barrier(world); /* every rank's flags are zero before a kernel raises one */
}

/** Starts both, and waits for their end. All but one of the device's blocks compute. */
static tsr_status_t attend_run(tsr_world_t *world, const attend_args_t *args)
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
		TSR_LAUNCH_DESC(compute, &attend_as_it_comes, device.resident_blocks - 1, args),
		TSR_LAUNCH_DESC(send, &send_keys, 1, args)};
	status = tsr_launch_group(both, 2);
	if (status == TSR_OK)
		status = tsr_stream_sync(compute);
	if (status == TSR_OK)
		status = tsr_stream_sync(send);
	if (status == TSR_OK)
		status = tsr_stream_destroy(compute);
	return status == TSR_OK ? tsr_stream_destroy(send) : status;
}

/** The mean of whole numbers; the number of keys is a power of two. */
static int attend_verify(tsr_world_t *world, const attend_memory_t *m, float *host)
{
	const int64_t queries = m->output.shape[0], keys = m->values.shape[0];
	const int size = tsr_world_size(world),
		  previous = (tsr_world_rank(world) + size - 1) % size;
	TSR_TRY(tsr_tensor_read(world, &m->output, host));
	for (int64_t i = 0; i < queries * HEAD; i++) {
		double sum = 0;
		for (int64_t key = 0; key < keys; key++)
			sum += (double)tsr_random_int((uint64_t)previous,
						      (uint64_t)(key * HEAD + i % HEAD), -4, 5);
		if ((double)host[i] != sum / (double)keys) {
			fprintf(stderr, "rank %d: element (%d, %d) is %g, not %g\n",
				tsr_world_rank(world), (int)(i / HEAD), (int)(i % HEAD),
				(double)host[i], sum / (double)keys);
			return 1;
		}
	}
	return 0;
}

TSR_MAIN(world, argc, argv)
{
	attend_memory_t memory;
	attend_args_t args;
	int64_t queries, chunks;
	TSR_TRY(size_argument(argc, argv, 1, "QUERIES", 40, &queries));
	TSR_TRY(size_argument(argc, argv, 2, "CHUNKS", 2, &chunks));
	TSR_TRY(attend_allocate(world, queries, chunks, &memory, &args));
	TSR_TRY(attend_run(world, &args));
	float *host = (float *)malloc((size_t)(queries * HEAD) * sizeof(float));
	int code = host ? attend_verify(world, &memory, host) : 1;
	free(host);
	return code;
}
