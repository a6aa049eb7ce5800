/*
 * What a query does not see never reaches it (tsr_span_t): keys and values that
 * are NaN or infinite, behind its own position within the tile that the diagonal
 * crosses, and behind the last key. What it sees does reach it.
 */
#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"
#include <math.h>

enum { MOST_QUERIES = 150, MOST_KEYS = 170, MOST_D = 128, BEHIND = 16 };

typedef struct unseen_args {
	tsr_view_t q, k, v, o, lse;
	int32_t queries, keys, diagonal, group;
	int64_t m; /* rows of a tile */
} unseen_args_t;

TSR_FN tsr_span_t unseen_span(int64_t task, const void *ctx)
{
	const unseen_args_t *a = (const unseen_args_t *)ctx;
	const int64_t row = task * a->m;
	const tsr_span_t span = {{row, 0}, {0, 0}, a->queries - row, 0, a->keys, TSR_MASK_CAUSAL,
				 a->group, row,    a->diagonal};
	return span;
}

#define UNSEEN(name_, dtype_, m_, n_, d_)                                                      \
	TSR_ATTEND_TILE(name_, dtype_, m_, n_, d_);                                            \
	TSR_FN void store_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t span,     \
				  void *ctx)                                                   \
	{                                                                                      \
		const unseen_args_t *a = (const unseen_args_t *)ctx;                           \
		TSR_FRAG(name_, o, me);                                                        \
		TSR_FRAG_ROWS(name_, lse, me);                                                 \
		tsr_state_finish(me, state, o, lse);                                           \
		tsr_tile_store(me, a->o, span.q, o);                                           \
		tsr_rows_store(me, a->lse, span.q, lse, tsr_rank(me));                         \
	}                                                                                      \
	TSR_KERNEL(unseen_##name_, unseen_args_t, args)                                        \
	{                                                                                      \
		unseen_args_t run = *args;                                                     \
		run.m = m_;                                                                    \
		const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),     \
					   tsr_tiles(args->queries, m_)};                      \
		tsr_attend(name_, block, args->q, args->k, args->v, 0.25f, tasks, unseen_span, \
			   TSR_NO_KEYS_GATE, TSR_NO_START, store_##name_, &run);               \
	}
UNSEEN(f32_16x16x16, f32, 16, 16, 16)
UNSEEN(f16_32x16x64, f16, 32, 16, 64)
UNSEEN(f16_16x64x128, f16, 16, 64, 128)
UNSEEN(bf16_16x64x64, bf16, 16, 64, 64)
UNSEEN(f16_128x128x64, f16, 128, 128, 64)
UNSEEN(bf16_128x64x128, bf16, 128, 64, 128)

typedef struct unseen_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t dtype;
	int d, queries, keys, diagonal, group;
} unseen_case_t;

/** What stands where no number should be. */
typedef enum fault { NONE, IN_VALUE, IN_KEY, BEHIND_THE_LAST } fault_t;

typedef struct unseen_run {
	const unseen_case_t *c;
	fault_t fault;
	int key, col; /* where */
	double bad;
} unseen_run_t;

typedef struct results {
	float o[MOST_QUERIES * MOST_D], lse[MOST_QUERIES];
} results_t;

static int is_bad(const unseen_run_t *r, int which, int key, int col)
{
	if (r->fault == BEHIND_THE_LAST)
		return which > 0 && key >= r->c->keys;
	return r->fault != NONE && which == (r->fault == IN_KEY ? 1 : 2) && key == r->key &&
	       col == r->col;
}

/** A matrix of the heap: 0: queries, 1: keys, 2: values. */
static tsr_view_t matrix_of(tsr_world_t *world, const unseen_run_t *r, int which)
{
	const int rows = which == 0 ? r->c->queries : r->c->keys + BEHIND, d = r->c->d;
	const size_t bytes = (size_t)(rows * d) * tsr_dtype_bytes(r->c->dtype);
	void *host = malloc(bytes);
	tsr_view_t view = {
		poisoned(world, bytes, "matrix"), rows, d, d, r->c->dtype, TSR_SPACE_HEAP};
	for (int i = 0; i < rows * d && host; i++)
		tsr_dtype_set(r->c->dtype, host, (size_t)i,
			      is_bad(r, which, i / d, i % d)
				      ? r->bad
				      : (double)((i / d * 5 + i % d * 3 + which) % 9 - 4) / 8);
	if (!host || tsr_memcpy_to_heap(world, view.data, host, bytes) != TSR_OK)
		view.data = NULL;
	free(host);
	return view;
}

static int attend(tsr_world_t *world, const unseen_run_t *r, results_t *out)
{
	const unseen_case_t *c = r->c;
	const size_t o_bytes = (size_t)(c->queries * c->d) * sizeof(float),
		     lse_bytes = (size_t)c->queries * sizeof(float);
	const unseen_args_t a = {
		matrix_of(world, r, 0),
		matrix_of(world, r, 1),
		matrix_of(world, r, 2),
		{poisoned(world, o_bytes, "o"), c->queries, c->d, c->d, TSR_F32, TSR_SPACE_HEAP},
		{poisoned(world, lse_bytes, "lse"), c->queries, 1, 1, TSR_F32, TSR_SPACE_HEAP},
		c->queries,
		c->keys,
		c->diagonal,
		c->group,
		0};
	CHECK(a.q.data && a.k.data && a.v.data && a.o.data && a.lse.data);
	CHECK(run_kernel(world, c->kernel, 2, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, out->o, a.o.data, o_bytes) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, out->lse, a.lse.data, lse_bytes) == TSR_OK);
	CHECK(tsr_heap_free(world, a.q.data) == TSR_OK && tsr_heap_free(world, a.k.data) == TSR_OK);
	CHECK(tsr_heap_free(world, a.v.data) == TSR_OK && tsr_heap_free(world, a.o.data) == TSR_OK);
	CHECK(tsr_heap_free(world, a.lse.data) == TSR_OK);
	return 0;
}

/** The same number, but for the order of additions; NaN is none. */
static int is_near(float x, float y)
{
	return x == y || fabsf(x - y) <= 0x1p-10f;
}

/** Compares with what was computed without the fault. */
static int check_run(tsr_world_t *world, const unseen_run_t *r, const results_t *seen,
		     const results_t *without)
{
	const unseen_case_t *c = r->c;
	for (int row = 0; row < c->queries; row++) {
		const int sees =
			r->fault != BEHIND_THE_LAST && r->key <= row / c->group + c->diagonal;
		const int key_seen = sees && r->fault == IN_KEY;
		CHECK(key_seen ? isnan(seen->lse[row]) : is_near(seen->lse[row], without->lse[row]),
		      "%s, fault %d of %g at key %d: logarithm of row %d is %g, without it %g",
		      c->kernel->name, r->fault, r->bad, r->key, row, (double)seen->lse[row],
		      (double)without->lse[row]);
		for (int col = 0; col < c->d; col++) {
			const float x = seen->o[row * c->d + col], y = without->o[row * c->d + col];
			const int value_seen = sees && r->fault == IN_VALUE && col == r->col;
			CHECK(key_seen     ? isnan(x)
			      : value_seen ? (isnan(r->bad) ? isnan(x) : x == (float)r->bad)
					   : is_near(x, y),
			      "%s, fault %d of %g at key %d: row %d, column %d is %g, without it "
			      "%g",
			      c->kernel->name, r->fault, r->bad, r->key, row, col, (double)x,
			      (double)y);
		}
	}
	return 0;
}

static int unseen_one(tsr_world_t *world, const unseen_case_t *c, results_t *results)
{
	unseen_run_t r = {c, NONE, 0, 3, 0};
	if (attend(world, &r, &results[0]))
		return 1;
	for (int fault = IN_VALUE; fault <= BEHIND_THE_LAST; fault++)
		for (int i = 0; i < 3; i++)
			for (int infinite = 0; infinite < (fault == IN_VALUE ? 2 : 1); infinite++) {
				const int keys[] = {0, c->keys / 2, c->keys - 1};
				r.fault = (fault_t)fault;
				r.key = keys[i];
				r.bad = infinite ? -INFINITY : NAN;
				if (fault == BEHIND_THE_LAST && i > 0)
					continue;
				if (attend(world, &r, &results[1]) ||
				    check_run(world, &r, &results[1], &results[0]))
					return 1;
			}
	return 0;
}

static int unseen_body(tsr_world_t *world, int argc, char **argv)
{
	const unseen_case_t cases[] = {{&unseen_f32_16x16x16, TSR_F32, 16, 12, 9, -3, 1},
				       {&unseen_f32_16x16x16, TSR_F32, 16, 40, 45, 5, 1},
				       {&unseen_f16_32x16x64, TSR_F16, 64, 70, 61, -4, 1},
				       {&unseen_f16_16x64x128, TSR_F16, 128, 37, 90, 40, 1},
				       {&unseen_bf16_16x64x64, TSR_BF16, 64, 30, 33, 11, 4},
				       {&unseen_f16_128x128x64, TSR_F16, 64, 150, 170, 20, 1},
				       {&unseen_bf16_128x64x128, TSR_BF16, 128, 150, 130, -7, 1}};
	results_t *results = (results_t *)malloc(2 * sizeof *results);
	int failed = !results;
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases && !failed; i++)
		failed = unseen_one(world, &cases[i], results);
	free(results);
	return failed;
}

Test(attend, a_query_is_not_touched_by_what_it_does_not_see)
{
	cr_expect(world_run(1, TSR_PLACE_PROCESS, unseen_body, NULL) == 0);
}
