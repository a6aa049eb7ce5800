/* The main loop: every dtype, shapes that divide nothing, gates that choose the peer, epilogues with state. */
#include "contract_test.h"

#include "tessera/dtype.h"

enum { MAX = 91 };

typedef struct product_args {
	tsr_view_t a, b, c;
	TSR_HEAP uint64_t *flags; /* one a chunk of K: raised to 1 by its owner */
	int64_t split;            /* not 0: by two main loops that meet at this column of A */
	int32_t gated, reserved;
} product_args_t;

typedef struct product_run {
	const product_args_t *args;
	int64_t tiles_n, tile_m, tile_n;
	int64_t done;
} product_run_t;

TSR_FN tsr_pos_t product_order(int64_t task, const void *ctx)
{
	const product_run_t *run = (const product_run_t *)ctx;
	tsr_pos_t at = {task / run->tiles_n * run->tile_m, task % run->tiles_n * run->tile_n};
	return at;
}

/* Chunk `k0 / 16` is read from rank `(k0 / 16) mod size`, once that rank has said so here. */
TSR_FN int product_gate(tsr_coop_t *loader, tsr_pos_t at, int64_t k0, int64_t k1, const void *ctx)
{
	const product_run_t *run = (const product_run_t *)ctx;
	int from = (int)(k0 / 16 % tsr_size(loader));
	(void)at, (void)k1;
	tsr_wait(loader, run->args->flags + from, 1, from);
	return from;
}

#define PRODUCT(dtype_, m_, n_)                                                                                                 \
	TSR_TILE(product_##dtype_, dtype_, m_, n_, 16);                                                                         \
	TSR_FN void keep_##dtype_(tsr_coop_t *me, product_##dtype_##_frag_t *acc, tsr_pos_t at, void *ctx)                      \
	{                                                                                                                       \
		product_run_t *run = (product_run_t *)ctx;                                                                      \
		tsr_tile_store(me, run->args->c, at, acc);                                                                      \
		run->done++;                                                                                                    \
	}                                                                                                                       \
	TSR_KERNEL(multiply_##dtype_, product_args_t, a)                                                                        \
	{                                                                                                                       \
		product_run_t run = {a, tsr_tiles(a->c.cols, n_), m_, n_, 0};                                                   \
		tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block), tsr_tiles(a->c.rows, m_) * run.tiles_n};   \
		if (a->gated) {                                                                                                 \
			tsr_signal_all(block, a->flags + tsr_rank(block), 1, TSR_SIGNAL_SET);                                   \
			tsr_gemm(product_##dtype_, block, a->a, a->b, tasks, product_order, product_gate, keep_##dtype_, &run); \
		} else if (a->split) {                                                                                          \
			for (int64_t t = tasks.first; t < tasks.end; t += tasks.step) {                                         \
				tsr_pos_t at = product_order(t, &run);                                                          \
				TSR_FRAG(product_##dtype_, acc, block);                                                         \
				tsr_frag_zero(block, acc);                                                                      \
				tsr_gemm_mainloop(block, acc, a->a, a->b, at, 0, a->split, TSR_NO_GATE, &run);                  \
				tsr_gemm_mainloop(block, acc, a->a, a->b, at, a->split, a->a.cols, TSR_NO_GATE, &run);          \
				keep_##dtype_(block, acc, at, &run);                                                            \
			}                                                                                                       \
		} else {                                                                                                        \
			tsr_gemm(product_##dtype_, block, a->a, a->b, tasks, product_order, TSR_NO_GATE, keep_##dtype_, &run);  \
		}                                                                                                               \
	}
PRODUCT(f64, 16, 32)
PRODUCT(f32, 32, 16)
PRODUCT(f16, 64, 64)
PRODUCT(bf16, 16, 16)
PRODUCT(i32, 32, 32)
PRODUCT(i8, 16, 64)
PRODUCT(u8, 64, 16)

typedef struct product_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t operand, result;
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

static int product_check(tsr_world_t *world, const product_case_t *c, shape_t s, const void *host, int gated)
{
	int size = tsr_world_size(world), me = tsr_world_rank(world);
	for (int64_t i = 0; i < s.m * (s.n + 3); i++) {
		int64_t row = i / (s.n + 3), col = i % (s.n + 3);
		double want = 0, seen = tsr_dtype_get(c->result, host, (size_t)i);
		for (int64_t k = 0; k < s.k && col < s.n; k++)
			want += element_a(row, k, gated ? k / 16 % size : me) * element_b(k, col);
		if (col < s.n)
			CHECK(seen == want, "%s %dx%dx%d at %d, %d: %g for %g", c->kernel->name, (int)s.m, (int)s.n, (int)s.k,
			      (int)row, (int)col, seen, want);
		else
			CHECK(((const unsigned char *)host)[(size_t)i * tsr_dtype_bytes(c->result)] == POISON, "past the edge");
	}
	return 0;
}

static int product_one(tsr_world_t *world, const product_case_t *c, shape_t s, int blocks, int gated, int64_t split)
{
	int me = tsr_world_rank(world), size = tsr_world_size(world);
	unsigned char *host = (unsigned char *)malloc((MAX + 3) * MAX * 8);
	size_t in = tsr_dtype_bytes(c->operand), out = tsr_dtype_bytes(c->result);
	TSR_HEAP void *a = poisoned(world, (size_t)(s.m * s.k) * in, "A"), *b = poisoned(world, (size_t)(s.k * s.n) * in, "B");
	TSR_HEAP void *y = poisoned(world, (size_t)(s.m * (s.n + 3)) * out, "C");
	TSR_HEAP uint64_t *flags = zeroed(world, (size_t)size * 8, "flags");
	CHECK(host && a && b && y && flags);
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
			       .gated = gated};
	CHECK(run_kernel(world, c->kernel, blocks, &args) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, y, (size_t)(s.m * (s.n + 3)) * out) == TSR_OK);
	int failed = product_check(world, c, s, host, gated);
	free(host);
	CHECK(tsr_heap_free(world, a) == TSR_OK && tsr_heap_free(world, b) == TSR_OK);
	CHECK(tsr_heap_free(world, y) == TSR_OK && tsr_heap_free(world, flags) == TSR_OK);
	return failed;
}

static int product_body(tsr_world_t *world, int argc, char **argv)
{
	static const shape_t shapes[] = {{MAX, 73, 37}, {1, 1, 1}, {17, 33, 91}, {64, 16, 16}};
	const product_case_t cases[] = {
		{&multiply_f64, TSR_F64, TSR_F64},   {&multiply_f32, TSR_F32, TSR_F32}, {&multiply_f16, TSR_F16, TSR_F16},
		{&multiply_bf16, TSR_BF16, TSR_F32}, {&multiply_i32, TSR_I32, TSR_I32}, {&multiply_i8, TSR_I8, TSR_I32},
		{&multiply_u8, TSR_U8, TSR_I64},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const shape_t *s = &shapes[i % 4];
		if (product_one(world, &cases[i], shapes[0], 3, (int)(i % 2), 0) || product_one(world, &cases[i], *s, 2, 1, 0) ||
		    product_one(world, &cases[i], *s, 1, 0, (s->k + 1) / 2))
			return 1;
	}
	return 0;
}

Test(gemm, products_of_every_dtype)
{
	world_each(product_body, NULL);
}
