/*
 * The main loop: every dtype, shapes that divide nothing, gates that choose the
 * peer, epilogues with state, parts of K.
 */
#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"
#include "tests/harness/part.h"

enum { MAX = 91 };

/*
 * Of a tile; tiles of the largest product; bytes of a sum for each of their
 * elements, which reach past its edges.
 */
enum { MOST_PARTS = 4, MOST_TILES = 30, SUMS_BYTES = 128 * 128 * 8 };

typedef struct product_args {
	tsr_view_t a, b, c;
	TSR_HEAP uint64_t *flags; /* one a chunk of K: raised to 1 by its owner */
	int64_t split;            /* not 0: by two main loops that meet at this column of A */
	/* parts: not 0: of each tile, a task each, the last one's to complete */
	int32_t gated, parts;
	TSR_HEAP unsigned char *sums;
	TSR_HEAP uint64_t *ready; /* one a sum */
} product_args_t;

typedef struct product_run {
	const product_args_t *args;
	int64_t tiles_n, tile_m, tile_n, tile_k;
	int64_t done, first, step; /* tasks done, and which */
} product_run_t;

TSR_FN tsr_part_t product_order(int64_t task, const void *ctx)
{
	const product_run_t *run = (const product_run_t *)ctx;
	tsr_pos_t at = {task / run->tiles_n * run->tile_m, task % run->tiles_n * run->tile_n};
	return tsr_whole(at);
}

/* Of a tile's parts one task after the other. */
TSR_FN tsr_part_t product_part_order(int64_t task, const void *ctx)
{
	const product_run_t *run = (const product_run_t *)ctx;
	const int64_t parts = run->args->parts;
	return part_of(product_order(task / parts, ctx).at, task % parts, parts, run->args->a.cols,
		       run->tile_k);
}

/* The i-th chunk is read from rank `i mod size`, once that rank has said so here. */
TSR_FN tsr_from_t product_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const product_run_t *run = (const product_run_t *)ctx;
	int from = (int)(chunk.k0 / run->tile_k % tsr_size(loader));
	tsr_wait(loader, run->args->flags + from, 1, from);
	return tsr_from(from, tsr_rank(loader));
}

#define PRODUCT(name_, dtype_, m_, n_, k_)                                                         \
	TSR_TILE(product_##name_, dtype_, m_, n_, k_);                                             \
	TSR_FN void keep_##name_(tsr_coop_t *me, product_##name_##_frag_t *acc, tsr_pos_t at,      \
				 void *ctx)                                                        \
	{                                                                                          \
		product_run_t *run = (product_run_t *)ctx;                                         \
		tsr_tile_store(me, run->args->c, at, acc);                                         \
		run->done++;                                                                       \
	}                                                                                          \
	/* Signal and wait are partners. Litmus: MP.rel.acq.sameGPU-aa. */                         \
	TSR_FN void join_##name_(tsr_coop_t *me, product_##name_##_frag_t *acc, tsr_pos_t at,      \
				 void *ctx)                                                        \
	{                                                                                          \
		product_run_t *run = (product_run_t *)ctx;                                         \
		const product_args_t *args = run->args;                                            \
		const int64_t task = run->first + run->done * run->step,                           \
			      last = task % args->parts == args->parts - 1;                        \
		if (last) {                                                                        \
			for (int64_t from = task - args->parts + 1; from < task; from++) {         \
				tsr_wait_local(me, args->ready + from, 1, TSR_SCOPE_DEVICE);       \
				tsr_frag_add(me, acc,                                              \
					     args->sums + from * (int64_t)TSR_FRAG_BYTES(          \
									 product_##name_));        \
			}                                                                          \
			keep_##name_(me, acc, at, ctx);                                            \
			return;                                                                    \
		}                                                                                  \
		tsr_frag_save(me, args->sums + task * (int64_t)TSR_FRAG_BYTES(product_##name_),    \
			      acc);                                                                \
		tsr_signal_local(me, args->ready + task, 1, TSR_SCOPE_DEVICE);                     \
		run->done++;                                                                       \
	}                                                                                          \
	TSR_KERNEL(multiply_##name_, product_args_t, a)                                            \
	{                                                                                          \
		product_run_t run = {a,                                                            \
				     tsr_tiles(a->c.cols, n_),                                     \
				     m_,                                                           \
				     n_,                                                           \
				     k_,                                                           \
				     0,                                                            \
				     tsr_block_index(block),                                       \
				     tsr_block_count(block)};                                      \
		tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),               \
				     tsr_tiles(a->c.rows, m_) * run.tiles_n};                      \
		if (a->gated)                                                                      \
			tsr_signal_all(block, a->flags + tsr_rank(block), 1, TSR_SIGNAL_SET);      \
		tsr_tasks_t parts = {tasks.first, tasks.step, tasks.end * a->parts};               \
		if (a->parts && a->gated) {                                                        \
			tsr_gemm(product_##name_, block, a->a, a->b, parts, product_part_order,    \
				 product_gate, join_##name_, &run);                                \
		} else if (a->parts) {                                                             \
			tsr_gemm(product_##name_, block, a->a, a->b, parts, product_part_order,    \
				 TSR_NO_GATE, join_##name_, &run);                                 \
		} else if (a->gated) {                                                             \
			tsr_gemm(product_##name_, block, a->a, a->b, tasks, product_order,         \
				 product_gate, keep_##name_, &run);                                \
		} else if (a->split) {                                                             \
			for (int64_t t = tasks.first; t < tasks.end; t += tasks.step) {            \
				tsr_pos_t at = product_order(t, &run).at;                          \
				TSR_FRAG(product_##name_, acc, block);                             \
				tsr_frag_zero(block, acc);                                         \
				tsr_part_t first = {at, 0, a->split, 0},                           \
					   second = {at, a->split, a->a.cols, 0};                  \
				tsr_gemm_mainloop(block, acc, a->a, a->b, first, TSR_NO_GATE,      \
						  &run);                                           \
				tsr_gemm_mainloop(block, acc, a->a, a->b, second, TSR_NO_GATE,     \
						  &run);                                           \
				keep_##name_(block, acc, at, &run);                                \
			}                                                                          \
		} else {                                                                           \
			for (int time = 0; time < 2;                                               \
			     time++) /* in shared memory that another product has left */          \
				tsr_gemm(product_##name_, block, a->a, a->b, tasks, product_order, \
					 TSR_NO_GATE, keep_##name_, &run);                         \
		}                                                                                  \
	}
PRODUCT(f64, f64, 16, 32, 16)
PRODUCT(f32, f32, 32, 16, 16)
PRODUCT(f16, f16, 64, 64, 16)
PRODUCT(bf16, bf16, 16, 16, 16)
PRODUCT(i32, i32, 32, 32, 16)
PRODUCT(i8, i8, 16, 64, 16)
PRODUCT(u8, u8, 64, 16, 16)
PRODUCT(wide, bf16, 128, 128, 64) /* what tensor cores take */

typedef struct product_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t operand, result;
	int depth; /* of a chunk */
} product_case_t;

typedef struct shape {
	int64_t m, n, k;
} shape_t;

/* Small whole numbers: every partial sum is exact in every type. */
static int element_a(int64_t row, int64_t k, int64_t rank_sum)
{
	return (int)((row * 3 + k * 5 + rank_sum) % 7);
}

static int element_b(int64_t k, int64_t col)
{
	return (int)((k * 2 + col * 3) % 5);
}

static int product_check(tsr_world_t *world, const product_case_t *c, shape_t s, const void *host,
			 int gated)
{
	int size = tsr_world_size(world), me = tsr_world_rank(world);
	for (int64_t i = 0; i < s.m * (s.n + 3); i++) {
		int64_t row = i / (s.n + 3), col = i % (s.n + 3);
		double want = 0, seen = tsr_dtype_get(c->result, host, (size_t)i);
		for (int64_t k = 0; k < s.k && col < s.n; k++)
			want += element_a(row, k, gated ? k / c->depth % size : me) *
				element_b(k, col);
		if (col < s.n)
			CHECK(seen == want, "%s %dx%dx%d at %d, %d: %g for %g", c->kernel->name,
			      (int)s.m, (int)s.n, (int)s.k, (int)row, (int)col, seen, want);
		else
			CHECK(((const unsigned char *)
				       host)[(size_t)i * tsr_dtype_bytes(c->result)] == POISON,
			      "past the edge");
	}
	return 0;
}

static int product_one(tsr_world_t *world, const product_case_t *c, shape_t s, int blocks,
		       int gated, int64_t split, int parts)
{
	int me = tsr_world_rank(world), size = tsr_world_size(world);
	unsigned char *host = (unsigned char *)malloc((MAX + 3) * MAX * 8);
	size_t in = tsr_dtype_bytes(c->operand), out = tsr_dtype_bytes(c->result);
	TSR_HEAP void *a = poisoned(world, (size_t)(s.m * s.k) * in, "A"),
		      *b = poisoned(world, (size_t)(s.k * s.n) * in, "B");
	TSR_HEAP void *y = poisoned(world, (size_t)(s.m * (s.n + 3)) * out, "C");
	TSR_HEAP uint64_t *flags = zeroed(world, (size_t)size * 8, "flags");
	TSR_HEAP void *sums = poisoned(world, MOST_PARTS * SUMS_BYTES, "sums");
	TSR_HEAP uint64_t *ready = zeroed(world, MOST_PARTS * MOST_TILES * 8, "ready");
	CHECK(host && a && b && y && flags && sums && ready);
	for (int64_t i = 0; i < s.m * s.k; i++)
		tsr_dtype_set(c->operand, host, (size_t)i, element_a(i / s.k, i % s.k, me));
	CHECK(tsr_memcpy_to_heap(world, a, host, (size_t)(s.m * s.k) * in) == TSR_OK);
	for (int64_t i = 0; i < s.k * s.n; i++)
		tsr_dtype_set(c->operand, host, (size_t)i, element_b(i / s.n, i % s.n));
	CHECK(tsr_memcpy_to_heap(world, b, host, (size_t)(s.k * s.n) * in) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	product_args_t args = {.a = {a, s.m, s.k, s.k, c->operand, TSR_SPACE_HEAP},
			       .b = {b, s.k, s.n, s.n, c->operand, TSR_SPACE_HEAP},
			       .c = {y, s.m, s.n, s.n + 3, c->result, TSR_SPACE_HEAP},
			       .flags = flags,
			       .split = split,
			       .gated = gated,
			       .parts = parts,
			       .sums = (TSR_HEAP unsigned char *)sums,
			       .ready = ready};
	CHECK(run_kernel(world, c->kernel, blocks, &args) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, y, (size_t)(s.m * (s.n + 3)) * out) == TSR_OK);
	int failed = product_check(world, c, s, host, gated);
	free(host);
	CHECK(tsr_heap_free(world, a) == TSR_OK && tsr_heap_free(world, b) == TSR_OK);
	CHECK(tsr_heap_free(world, y) == TSR_OK && tsr_heap_free(world, flags) == TSR_OK);
	CHECK(tsr_heap_free(world, sums) == TSR_OK && tsr_heap_free(world, ready) == TSR_OK);
	return failed;
}

static int product_body(tsr_world_t *world, int argc, char **argv)
{
	static const shape_t shapes[] = {{MAX, 73, 37}, {1, 1, 1}, {17, 33, 91}, {64, 16, 16}};
	const product_case_t cases[] = {
		{&multiply_f64, TSR_F64, TSR_F64, 16}, {&multiply_f32, TSR_F32, TSR_F32, 16},
		{&multiply_f16, TSR_F16, TSR_F16, 16}, {&multiply_bf16, TSR_BF16, TSR_F32, 16},
		{&multiply_i32, TSR_I32, TSR_I32, 16}, {&multiply_i8, TSR_I8, TSR_I32, 16},
		{&multiply_u8, TSR_U8, TSR_I64, 16},
	};
	const product_case_t wide = {&multiply_wide, TSR_BF16, TSR_F32, 64};
	const shape_t aligned = {MAX, 72, 88}; /* rows at multiples of 16 bytes, and two chunks */
	(void)argc, (void)argv;
	if (product_one(world, &wide, aligned, 3, 0, 0, 0) ||
	    product_one(world, &wide, aligned, 3, 1, 0, 2) ||
	    product_one(world, &wide, aligned, 2, 0, 0, MOST_PARTS) ||
	    product_one(world, &wide, aligned, 2, 1, 0, MOST_PARTS))
		return 1;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const shape_t *s = &shapes[i % 4];
		if (product_one(world, &cases[i], shapes[0], 3, (int)(i % 2), 0, 0) ||
		    product_one(world, &cases[i], *s, 2, 1, 0, 0) ||
		    product_one(world, &cases[i], *s, 1, 0, (s->k + 1) / 2, 0) ||
		    product_one(world, &cases[i], *s, 3, (int)(i % 2), 0, MOST_PARTS) ||
		    product_one(world, &cases[i], shapes[0], 1, (int)(i + 1) % 2, 0, 2))
			return 1;
	}
	return 0;
}

Test(gemm, products_of_every_dtype)
{
	world_each(product_body, NULL);
}
