/*
 * States of attention as an algebra: the merge is associative and commutative up
 * to rounding, the neutral state changes nothing, and memory keeps every bit.
 */
#include <math.h>

#include "tests/contract/contract_test.h"

#include "tessera/random.h"

enum { M = 16, D = 16, GIVEN = 3, TIMES = 4 };

/* What a kernel makes of the states a, b and c. */
enum {
	IS_A,
	IS_A_AND_NOTHING,
	IS_NOTHING_AND_A,
	IS_AB_AND_C,
	IS_A_AND_BC,
	IS_AB,
	IS_BA,
	IS_AB_FROM_MEMORY,
	IS_A_AND_B_FROM_MEMORY,
	IS_NOTHING,
	RESULTS
};

typedef struct state_args {
	tsr_view_t given, given_lse; /* outputs of a, b and c, below each other */
	tsr_view_t made, made_lse;   /* of all results */
	TSR_HEAP unsigned char *saved;
} state_args_t;

TSR_ATTEND_TILE(state, f32, M, 16, D);

/** Adds given output number `which`. */
TSR_FN void add_given(tsr_coop_t *coop, state_state_t *to, const state_args_t *a, int which)
{
	const tsr_pos_t at = {which * M, 0};
	tsr_state_merge_output(coop, to, a->given, at, a->given_lse, at, tsr_rank(coop));
}

TSR_FN void make_of(tsr_coop_t *coop, state_state_t *to, const state_args_t *a, int first,
		    int second)
{
	tsr_state_neutral(coop, to);
	add_given(coop, to, a, first);
	if (second >= 0)
		add_given(coop, to, a, second);
}

TSR_FN void keep(tsr_coop_t *coop, const state_state_t *x, const state_args_t *a, int which)
{
	const tsr_pos_t at = {which * M, 0};
	TSR_FRAG(state, o, coop);
	TSR_FRAG_ROWS(state, lse, coop);
	tsr_state_finish(coop, x, o, lse);
	tsr_tile_store(coop, a->made, at, o);
	tsr_rows_store(coop, a->made_lse, at, lse, tsr_rank(coop));
}

TSR_FN void make_results(tsr_coop_t *coop, const state_args_t *a)
{
	TSR_STATE(state, x, coop);
	TSR_STATE(state, y, coop);
	tsr_state_neutral(coop, y);
	keep(coop, y, a, IS_NOTHING);
	make_of(coop, x, a, 0, -1);
	keep(coop, x, a, IS_A);
	tsr_state_merge(coop, x, y);
	keep(coop, x, a, IS_A_AND_NOTHING);
	tsr_state_merge(coop, y, x);
	keep(coop, y, a, IS_NOTHING_AND_A);
	make_of(coop, y, a, 1, 2);
	tsr_state_merge(coop, x, y);
	keep(coop, x, a, IS_A_AND_BC);
	make_of(coop, x, a, 1, 0);
	keep(coop, x, a, IS_BA);
	make_of(coop, x, a, 0, 1);
	keep(coop, x, a, IS_AB);
	/* saves and loads of one place need no meeting, in any order */
	tsr_state_save(coop, a->saved, x);
	tsr_state_load(coop, y, a->saved);
	keep(coop, y, a, IS_AB_FROM_MEMORY);
	make_of(coop, y, a, 2, -1);
	tsr_state_merge(coop, x, y);
	keep(coop, x, a, IS_AB_AND_C);
	make_of(coop, x, a, 1, -1);
	tsr_state_save(coop, a->saved, y);
	tsr_state_save(coop, a->saved, x);
	make_of(coop, y, a, 0, -1);
	tsr_state_merge_saved(coop, y, a->saved);
	keep(coop, y, a, IS_A_AND_B_FROM_MEMORY);
}

TSR_KERNEL(states_of_a_block, state_args_t, a)
{
	make_results(block, a);
}

typedef struct nothing {
	int32_t nothing;
} nothing_t;

TSR_KERNEL_SPLIT(states_of_a_worker, 3, nothing_t, state_args_t, a)
{
	if (tsr_worker_index(worker) == 1)
		make_results(worker, a);
}

/** The logarithms reach far; some rows have no keys, and then the output is no number. */
static void given_fill(uint64_t seed, float *o, float *lse)
{
	for (int i = 0; i < GIVEN * M; i++) {
		const uint64_t drawn = tsr_random_bits(seed, (uint64_t)i);
		lse[i] = drawn % 7 == 0 ? -INFINITY
					: (float)(20 * tsr_random_normal(seed, (uint64_t)i));
		for (int d = 0; d < D; d++)
			o[i * D + d] =
				lse[i] == -INFINITY
					? __builtin_nanf("")
					: (float)tsr_random_normal(seed + 1, (uint64_t)(i * D + d));
	}
}

/** Whether two results are equal but for roundings: a number of units in the last place. */
static int results_agree(tsr_world_t *world, const float *o, const float *lse, const float *given,
			 int one, int other, int units)
{
	for (int row = 0; row < M; row++) {
		const float x = lse[one * M + row], y = lse[other * M + row];
		CHECK(x == y || fabsf(x - y) <= (float)units * 0x1p-23f * fmaxf(4, fabsf(x)),
		      "results %d and %d, row %d: logarithms %.9g and %.9g", one, other, row,
		      (double)x, (double)y);
		for (int d = 0; d < D; d++) {
			const float a = o[(one * M + row) * D + d],
				    b = o[(other * M + row) * D + d];
			float most = 0; /* of the states that went in; fmaxf ignores NaN */
			for (int i = 0; i < GIVEN; i++)
				most = fmaxf(most, fabsf(given[(i * M + row) * D + d]));
			CHECK(a == b || fabsf(a - b) <= (float)units * 0x1p-23f * most,
			      "results %d and %d, row %d, column %d: %.9g and %.9g", one, other,
			      row, d, (double)a, (double)b);
		}
	}
	return 0;
}

/** The sum of a and b in double. */
static int sum_is_right(tsr_world_t *world, const float *o, const float *lse, const float *given,
			const float *given_lse)
{
	for (int row = 0; row < M; row++) {
		const double a = (double)given_lse[row], b = (double)given_lse[M + row],
			     top = a > b ? a : b, base = top == -INFINITY ? 0 : top,
			     of_a = exp(a - base), of_b = exp(b - base), all = of_a + of_b;
		const double want = all > 0 ? base + log(all) : -INFINITY,
			     seen = (double)lse[IS_AB * M + row];
		CHECK(seen == want || fabs(seen - want) <= 1e-5, "row %d: logarithm %g for %g", row,
		      seen, want);
		for (int d = 0; d < D; d++) {
			const double x = of_a > 0 ? of_a / all * (double)given[row * D + d] : 0,
				     y = of_b > 0 ? of_b / all * (double)given[(M + row) * D + d]
						  : 0,
				     z = (double)o[(IS_AB * M + row) * D + d];
			CHECK(fabs(z - (x + y)) <= 1e-5 * (fabs(x) + fabs(y)),
			      "row %d, column %d: %g for %g", row, d, z, x + y);
		}
	}
	return 0;
}

static int results_check(tsr_world_t *world, const float *o, const float *lse, const float *given,
			 const float *given_lse)
{
	for (int row = 0; row < M; row++) {
		CHECK(lse[IS_NOTHING * M + row] == -INFINITY, "row %d of the neutral state", row);
		for (int d = 0; d < D; d++)
			CHECK(o[(IS_NOTHING * M + row) * D + d] == 0, "row %d of nothing", row);
	}
	return results_agree(world, o, lse, given, IS_A, IS_A_AND_NOTHING, 0) ||
	       results_agree(world, o, lse, given, IS_A, IS_NOTHING_AND_A, 0) ||
	       results_agree(world, o, lse, given, IS_AB, IS_AB_FROM_MEMORY, 0) ||
	       results_agree(world, o, lse, given, IS_AB, IS_BA, 4) ||
	       results_agree(world, o, lse, given, IS_AB, IS_A_AND_B_FROM_MEMORY, 4) ||
	       results_agree(world, o, lse, given, IS_AB_AND_C, IS_A_AND_BC, 4) ||
	       sum_is_right(world, o, lse, given, given_lse);
}

static int states_one(tsr_world_t *world, const tsr_kernel_t *kernel, uint64_t seed)
{
	float given[GIVEN * M * D], given_lse[GIVEN * M], made[RESULTS * M * D],
		made_lse[RESULTS * M];
	any_heap_t g = poisoned(world, sizeof given, "given"),
		   gl = poisoned(world, sizeof given_lse, "logarithms"),
		   m = poisoned(world, sizeof made, "made"),
		   ml = poisoned(world, sizeof made_lse, "logarithms made"),
		   saved = poisoned(world, TSR_STATE_BYTES(state), "saved");
	CHECK(g && gl && m && ml && saved);
	given_fill(seed, given, given_lse);
	CHECK(tsr_memcpy_to_heap(world, g, given, sizeof given) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, gl, given_lse, sizeof given_lse) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const state_args_t args = {.given = {g, GIVEN * M, D, D, TSR_F32, TSR_SPACE_HEAP},
				   .given_lse = {gl, GIVEN * M, 1, 1, TSR_F32, TSR_SPACE_HEAP},
				   .made = {m, RESULTS * M, D, D, TSR_F32, TSR_SPACE_HEAP},
				   .made_lse = {ml, RESULTS * M, 1, 1, TSR_F32, TSR_SPACE_HEAP},
				   .saved = (TSR_HEAP unsigned char *)(TSR_HEAP void *)saved};
	CHECK(run_kernel(world, kernel, 1, &args) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, made, m, sizeof made) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, made_lse, ml, sizeof made_lse) == TSR_OK);
	if (results_check(world, made, made_lse, given, given_lse))
		return 1;
	CHECK(tsr_heap_free(world, g) == TSR_OK && tsr_heap_free(world, gl) == TSR_OK);
	CHECK(tsr_heap_free(world, m) == TSR_OK && tsr_heap_free(world, ml) == TSR_OK);
	CHECK(tsr_heap_free(world, saved) == TSR_OK);
	return 0;
}

static int states_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	for (uint64_t time = 0; time < TIMES; time++) {
		const uint64_t seed = (uint64_t)tsr_world_rank(world) * 1000 + 10 * time;
		if (states_one(world, &states_of_a_block, seed) ||
		    states_one(world, &states_of_a_worker, seed + 5))
			return 1;
	}
	return 0;
}

Test(state, merge_is_an_algebra)
{
	world_each(states_body, NULL);
}
