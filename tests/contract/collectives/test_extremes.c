/*
 * Maxima and minima of floats are those of IEEE 754-2019 (tsr_reduce_t): NaN wins,
 * whoever has it, and -0 is less than +0. Over rows of a tile, over ranks, and in
 * memory.
 */
#include "tests/contract/contract_test.h"

#include "tessera/collective.h"
#include "tessera/dtype.h"
#include <math.h>

enum { SIDE = 16, ELEMENTS = SIDE * SIDE, KINDS = 4 };

/** An element of kind 0: two numbers; 1: one NaN; 2: one -0; 3: one +0. */
static double element_of(int kind, int holds)
{
	static const double others[] = {-2, 1, 0.0, -0.0}, held[] = {3, NAN, -0.0, 0.0};
	return holds ? held[kind % KINDS] : others[kind % KINDS];
}

/** The rule, written another way than in the library. */
static double rule(int op, double x, double y)
{
	if (isnan(x) || isnan(y))
		return NAN;
	if (x == y)
		return signbit(x) == (op == TSR_REDUCE_MAX) ? y : x;
	return (x < y) == (op == TSR_REDUCE_MAX) ? y : x;
}

static int is_same(double x, double y)
{
	return isnan(x) ? isnan(y) : x == y && signbit(x) == signbit(y);
}

/* ------------------------------------------------------------------ tiles */

typedef struct extremes_args {
	tsr_view_t all, rows;        /* combined over ranks; over the columns of each row */
	tsr_view_t combined, of_row; /* the results */
	int32_t op, reserved;
} extremes_args_t;

#define EXTREMES(dtype_)                                                      \
	TSR_TILE(tile_##dtype_, dtype_, SIDE, SIDE, SIDE);                    \
	TSR_KERNEL(extremes_##dtype_, extremes_args_t, a)                     \
	{                                                                     \
		const tsr_pos_t at = {0, 0};                                  \
		TSR_FRAG(tile_##dtype_, x, block);                            \
		TSR_FRAG_ROWS(tile_##dtype_, r, block);                       \
		tsr_reduce(block, x, a->all, at, (tsr_reduce_t)a->op);        \
		tsr_tile_store(block, a->combined, at, x);                    \
		tsr_tile_load(block, x, a->rows, at);                         \
		tsr_frag_reduce_rows(block, r, x, SIDE, (tsr_reduce_t)a->op); \
		tsr_rows_store(block, a->of_row, at, r, tsr_rank(block));     \
	}
EXTREMES(f64)
EXTREMES(f32)
EXTREMES(f16)
EXTREMES(bf16)

typedef struct extremes_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t dtype;
} extremes_case_t;

/** Where a rank's heap has the matrices of a run; `result` is of the collectives. */
typedef struct matrices {
	any_heap_t all, rows, combined, of_row, result;
	TSR_HEAP tsr_collective_state_t *state;
} matrices_t;

static int fill(tsr_world_t *world, const matrices_t *m, tsr_dtype_t dtype, int holder)
{
	const size_t bytes = ELEMENTS * tsr_dtype_bytes(dtype);
	unsigned char host[ELEMENTS * 8];
	for (int i = 0; i < ELEMENTS; i++)
		tsr_dtype_set(dtype, host, (size_t)i,
			      element_of(i, holder == tsr_world_rank(world)));
	CHECK(tsr_memcpy_to_heap(world, m->all, host, bytes) == TSR_OK);
	for (int i = 0; i < ELEMENTS; i++)
		tsr_dtype_set(dtype, host, (size_t)i, element_of(i / SIDE, i % SIDE == i / SIDE));
	CHECK(tsr_memcpy_to_heap(world, m->rows, host, bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

/** Compares `count` elements with what ranks have together, from element `first` on. */
static int check_ranks(tsr_world_t *world, any_heap_t heap, const extremes_case_t *c, int op,
		       int holder, int first, int count, const char *what)
{
	unsigned char host[ELEMENTS * 8];
	CHECK(tsr_memcpy_from_heap(world, host, heap, (size_t)count * tsr_dtype_bytes(c->dtype)) ==
	      TSR_OK);
	for (int i = 0; i < count; i++) {
		double want = element_of(first + i, holder == 0);
		for (int rank = 1; rank < tsr_world_size(world); rank++)
			want = rule(op, want, element_of(first + i, holder == rank));
		const double seen = tsr_dtype_get(c->dtype, host, (size_t)i);
		CHECK(is_same(seen, want),
		      "%s of %s, operation %d, rank %d holds, element %d: "
		      "%g, not %g",
		      what, tsr_dtype_name(c->dtype), op, holder, first + i, seen, want);
	}
	return 0;
}

static int check_rows(tsr_world_t *world, const matrices_t *m, const extremes_case_t *c, int op)
{
	unsigned char host[SIDE * 8];
	CHECK(tsr_memcpy_from_heap(world, host, m->of_row, SIDE * tsr_dtype_bytes(c->dtype)) ==
	      TSR_OK);
	for (int row = 0; row < SIDE; row++) {
		double want = element_of(row, row == 0);
		for (int col = 1; col < SIDE; col++)
			want = rule(op, want, element_of(row, row == col));
		const double seen = tsr_dtype_get(c->dtype, host, (size_t)row);
		CHECK(is_same(seen, want), "row %d of %s, operation %d: %g, not %g", row,
		      tsr_dtype_name(c->dtype), op, seen, want);
	}
	return 0;
}

/** The collectives on streams: to all, to one, and to each a part. */
static int stream_one(tsr_world_t *world, const matrices_t *m, const extremes_case_t *c, int op,
		      int holder)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world),
		  first = ELEMENTS * me / ranks, count = ELEMENTS * (me + 1) / ranks - first;
	const tsr_tensor_t src = {m->all, c->dtype, 1, {ELEMENTS}, {1}},
			   dst = {m->result, c->dtype, 1, {ELEMENTS}, {1}},
			   part = {m->result, c->dtype, 1, {count}, {1}};
	const tsr_reduce_t how = (tsr_reduce_t)op;
	tsr_stream_t *stream;
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_stream_all_reduce(stream, &dst, &src, how, m->state) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	if (check_ranks(world, m->result, c, op, holder, 0, ELEMENTS, "all_reduce"))
		return 1;
	CHECK(tsr_memset_heap(world, m->result, POISON, ELEMENTS * 8) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_stream_reduce(stream, &dst, &src, how, ranks - 1, m->state) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	if (me == ranks - 1 && check_ranks(world, m->result, c, op, holder, 0, ELEMENTS, "reduce"))
		return 1;
	CHECK(tsr_stream_reduce_scatter(stream, &part, &src, 0, how, m->state) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return check_ranks(world, m->result, c, op, holder, first, count, "reduce_scatter");
}

static int extremes_one(tsr_world_t *world, const matrices_t *m, const extremes_case_t *c, int op,
			int holder)
{
	const int32_t dtype = c->dtype;
	const extremes_args_t a = {{m->all, SIDE, SIDE, SIDE, dtype, TSR_SPACE_HEAP},
				   {m->rows, SIDE, SIDE, SIDE, dtype, TSR_SPACE_HEAP},
				   {m->combined, SIDE, SIDE, SIDE, dtype, TSR_SPACE_HEAP},
				   {m->of_row, SIDE, 1, 1, dtype, TSR_SPACE_HEAP},
				   op,
				   0};
	if (fill(world, m, c->dtype, holder))
		return 1;
	CHECK(run_kernel(world, c->kernel, 1, &a) == TSR_OK);
	return check_ranks(world, m->combined, c, op, holder, 0, ELEMENTS, "tsr_reduce") ||
	       check_rows(world, m, c, op) || stream_one(world, m, c, op, holder) ||
	       tsr_barrier(world) != TSR_OK;
}

static int extremes_body(tsr_world_t *world, int argc, char **argv)
{
	const extremes_case_t cases[] = {{&extremes_f64, TSR_F64},
					 {&extremes_f32, TSR_F32},
					 {&extremes_f16, TSR_F16},
					 {&extremes_bf16, TSR_BF16}};
	const int ranks = tsr_world_size(world);
	const size_t bytes = ELEMENTS * 8;
	const matrices_t m = {poisoned(world, bytes, "all"),
			      poisoned(world, bytes, "rows"),
			      poisoned(world, bytes, "combined"),
			      poisoned(world, bytes, "of_row"),
			      poisoned(world, bytes, "result"),
			      zeroed(world, tsr_collective_state_bytes(ranks), "state")};
	(void)argc, (void)argv;
	CHECK(m.state);
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
		for (int op = TSR_REDUCE_MAX; op <= TSR_REDUCE_MIN; op++)
			for (int holder = 0; holder < ranks; holder += ranks < 4 ? 1 : ranks - 1)
				if (extremes_one(world, &m, &cases[c], op, holder))
					return 1;
	return 0;
}

Test(extremes, follow_one_rule_over_rows_and_ranks)
{
	world_each(extremes_body, NULL);
}

/* ------------------------------------------------------------------ atomics */

enum { VALUES = 6, PAIRS = VALUES * VALUES };

typedef struct memory_args {
	TSR_HEAP void *words, *values; /* PAIRS words for each operation; VALUES */
	int32_t peer, reserved;
} memory_args_t;

#define IN_MEMORY(name_, type_)                                                             \
	TSR_KERNEL(in_memory_##name_, memory_args_t, a)                                     \
	{                                                                                   \
		TSR_HEAP type_ *words = (TSR_HEAP type_ *)a->words;                         \
		TSR_HEAP type_ *values = (TSR_HEAP type_ *)a->values;                       \
		const int me = tsr_rank(block);                                             \
		for (int i = 0; i < PAIRS; i++) {                                           \
			const type_ x = tsr_atomic_load(block, values + i / VALUES, me,     \
							TSR_RELAXED, TSR_SCOPE_SYSTEM),     \
				    y = tsr_atomic_load(block, values + i % VALUES, me,     \
							TSR_RELAXED, TSR_SCOPE_SYSTEM);     \
			tsr_atomic_store(block, words + i, x, a->peer, TSR_RELAXED,         \
					 TSR_SCOPE_SYSTEM);                                 \
			tsr_atomic_max(block, words + i, y, a->peer, TSR_ACQ_REL,           \
				       TSR_SCOPE_SYSTEM);                                   \
			tsr_atomic_store(block, words + PAIRS + i, x, a->peer, TSR_RELAXED, \
					 TSR_SCOPE_SYSTEM);                                 \
			tsr_atomic_min(block, words + PAIRS + i, y, a->peer, TSR_ACQ_REL,   \
				       TSR_SCOPE_SYSTEM);                                   \
		}                                                                           \
	}
IN_MEMORY(f32, float)
IN_MEMORY(f64, double)

static int memory_one(tsr_world_t *world, const tsr_kernel_t *kernel, tsr_dtype_t dtype)
{
	static const double values[VALUES] = {NAN, -0.0, 0.0, 1, -INFINITY, INFINITY};
	const memory_args_t a = {poisoned(world, 2 * PAIRS * 8, "words"),
				 poisoned(world, VALUES * 8, "values"),
				 (tsr_world_rank(world) + 1) % tsr_world_size(world), 0};
	unsigned char host[2 * PAIRS * 8];
	CHECK(a.words && a.values);
	for (size_t i = 0; i < VALUES; i++)
		tsr_dtype_set(dtype, host, i, values[i]);
	CHECK(tsr_memcpy_to_heap(world, a.values, host, VALUES * tsr_dtype_bytes(dtype)) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, kernel, 1, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, a.words, 2 * PAIRS * tsr_dtype_bytes(dtype)) ==
	      TSR_OK);
	for (int i = 0; i < 2 * PAIRS; i++) {
		const int pair = i % PAIRS;
		const double x = values[pair / VALUES], y = values[pair % VALUES],
			     want = rule(i < PAIRS ? TSR_REDUCE_MAX : TSR_REDUCE_MIN, x, y),
			     seen = tsr_dtype_get(dtype, host, (size_t)i);
		CHECK(is_same(seen, want), "%s: %s of %g and %g is %g, not %g", kernel->name,
		      i < PAIRS ? "max" : "min", x, y, seen, want);
	}
	return 0;
}

static int memory_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	return memory_one(world, &in_memory_f32, TSR_F32) ||
	       memory_one(world, &in_memory_f64, TSR_F64);
}

Test(extremes, follow_one_rule_in_memory)
{
	world_each(memory_body, NULL);
}
