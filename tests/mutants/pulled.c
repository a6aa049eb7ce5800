/*
 * pulled [GROUPS]: every rank makes the rows of its A and one B for each group
 * of them, and says when each is there. Then it multiplies what others have
 * made, group by group: the A of the rank behind it by the B of the rank before
 * it.
 */
#include "program.h"

TSR_TILE(tile, f32, 16, 16, 16);

typedef struct pulled_args {
	tsr_view_t given_a, given_b; /* what mine are made of */
	tsr_view_t a, b;             /* GROUPS * 16 x 16, of B a matrix for each group */
	tsr_view_t c;                /* GROUPS * 16 x 16 */
	TSR_HEAP uint64_t *ready;    /* 1: the A of the rank behind me is there */
	TSR_HEAP uint64_t *ready_b;  /* of each group, 1: the B of the rank before me is there */
	int64_t groups;
} pulled_args_t;

TSR_FN tsr_part_t pulled_order(int64_t group, const void *ctx)
{
	tsr_pos_t at = {group * TSR_TILE_M(tile), 0};
	tsr_part_t part = tsr_whole(at);
	(void)ctx;
	part.b0 = group * TSR_TILE_K(tile);
	return part;
}

/** Partners: the signals in the kernel, on both ranks. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN tsr_from_t pulled_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const pulled_args_t *a = (const pulled_args_t *)ctx;
	int me = tsr_rank(loader), size = tsr_size(loader), behind = (me + 1) % size,
	    before = (me + size - 1) % size;
	tsr_wait(loader, a->ready, 1, behind);
	tsr_wait(loader, a->ready_b + chunk.b0 / TSR_TILE_K(tile), 1, before);
	return tsr_from(behind, before);
}

TSR_FN void pulled_keep(tsr_coop_t *me, tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	tsr_tile_store(me, ((const pulled_args_t *)ctx)->c, at, acc);
}

/** Partners of the signals: the waits in pulled_gate. */
TSR_KERNEL(pulled, pulled_args_t, a)
{
	int me = tsr_rank(block), size = tsr_size(block), behind = (me + 1) % size,
	    before = (me + size - 1) % size;
	pulled_args_t args = *a;
	tsr_tasks_t tasks = {0, 1, a->groups};
	tsr_put_2d(block, a->a, a->given_a, me);
	tsr_signal(block, a->ready, 1, TSR_SIGNAL_SET, before);
	for (int64_t group = 0; group < a->groups; group++) {
		tsr_pos_t at = {group * TSR_TILE_K(tile), 0};
		tsr_put_2d(block, tsr_view_part(a->b, at, TSR_TILE_K(tile), TSR_TILE_N(tile)),
			   tsr_view_part(a->given_b, at, TSR_TILE_K(tile), TSR_TILE_N(tile)), me);
		tsr_signal(block, a->ready_b + group, 1, TSR_SIGNAL_SET, behind);
	}
	args.b.rows = TSR_TILE_K(tile); /* of one group */
	tsr_gemm(tile, block, args.a, args.b, tasks, pulled_order, pulled_gate, pulled_keep, &args);
}

typedef struct pulled_memory {
	tsr_tensor_t given_a, given_b, a, b, c;
	TSR_HEAP void *ready, *ready_b;
} pulled_memory_t;

static tsr_status_t pulled_views(const pulled_memory_t *memory, pulled_args_t *args)
{
	tsr_status_t status;
	if ((status = tsr_tensor_view(&memory->given_a, &args->given_a)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->given_b, &args->given_b)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->a, &args->a)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->b, &args->b)) != TSR_OK ||
	    (status = tsr_tensor_view(&memory->c, &args->c)) != TSR_OK)
		return status;
	args->ready = (TSR_HEAP uint64_t *)memory->ready;
	args->ready_b = (TSR_HEAP uint64_t *)memory->ready_b;
	return TSR_OK;
}

static tsr_status_t pulled_allocate(tsr_world_t *world, pulled_memory_t *memory,
				    pulled_args_t *args)
{
	const int64_t extents[2] = {args->groups * TSR_TILE_M(tile), TSR_TILE_N(tile)};
	const uint64_t seed = (uint64_t)tsr_world_rank(world);
	tsr_status_t status;
	if ((status = tsr_tensor_randint(world, TSR_F32, 2, extents, -4, 5, seed,
					 &memory->given_a)) != TSR_OK ||
	    (status = tsr_tensor_randint(world, TSR_F32, 2, extents, -4, 5, TSR_MAX_RANKS + seed,
					 &memory->given_b)) != TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, extents, &memory->a)) != TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, extents, &memory->b)) != TSR_OK ||
	    (status = tsr_tensor_empty(world, TSR_F32, 2, extents, &memory->c)) != TSR_OK ||
	    (status = zeroed(world, sizeof(uint64_t), "ready", &memory->ready)) != TSR_OK ||
	    (status = zeroed(world, (size_t)args->groups * sizeof(uint64_t), "ready_b",
			     &memory->ready_b)) != TSR_OK ||
	    (status = pulled_views(memory, args)) != TSR_OK)
		return status;
	return tsr_barrier(world); /* every rank's flags are zero before a kernel raises one */
}

/** Element (row, col) of the product. Whole numbers: sums are exact, whatever their order. */
static double pulled_element(const tsr_world_t *world, int64_t row, int64_t col)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const uint64_t behind = (uint64_t)((me + 1) % size),
		       before = (uint64_t)((me + size - 1) % size);
	const int64_t b0 = row / TSR_TILE_M(tile) * TSR_TILE_K(tile);
	double sum = 0;
	for (int64_t k = 0; k < TSR_TILE_K(tile); k++)
		sum += (double)tsr_random_int(behind, (uint64_t)(row * TSR_TILE_K(tile) + k), -4,
					      5) *
		       (double)tsr_random_int(TSR_MAX_RANKS + before,
					      (uint64_t)((b0 + k) * TSR_TILE_N(tile) + col), -4, 5);
	return sum;
}

static int pulled_verify(tsr_world_t *world, const pulled_memory_t *memory, float *host)
{
	const int64_t cols = TSR_TILE_N(tile), elements = memory->c.shape[0] * cols;
	int wrong = 0;
	TSR_TRY(tsr_tensor_read(world, &memory->c, host));
	for (int64_t i = 0; i < elements; i++) {
		const double want = pulled_element(world, i / cols, i % cols);
		if ((double)host[i] != want && wrong++ == 0)
			fprintf(stderr, "rank %d: element (%d, %d) is %g, not %g\n",
				tsr_world_rank(world), (int)(i / cols), (int)(i % cols),
				(double)host[i], want);
	}
	return wrong ? 1 : 0;
}

TSR_MAIN(world, argc, argv)
{
	pulled_memory_t memory;
	pulled_args_t args;
	TSR_TRY(size_argument(argc, argv, 1, "GROUPS", 3, &args.groups));
	TSR_TRY(pulled_allocate(world, &memory, &args));
	TSR_TRY(run_to_end(world, &pulled, 1, 1, &args));
	float *host = (float *)malloc((size_t)(args.groups * TSR_TILE_M(tile) * TSR_TILE_N(tile)) *
				      sizeof(float));
	int code = host ? pulled_verify(world, &memory, host) : 1;
	free(host);
	return code;
}
