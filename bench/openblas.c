/*
 * The emulator's baseline: OpenBLAS, and memcpy between the ranks' heaps.
 * Operands are widened to f32 once, before any clock; what is timed is the
 * product in f32, its rounding to the dtype, sums in f32, and the copies.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/internal.h"

typedef struct state {
	/* Of each matrix that has one: the rank's part of an input in f32, */
	float *wide[WORKLOAD_MATRICES];
	/* of others where others read it, */
	TSR_HEAP void *heap[WORKLOAD_MATRICES];
	/* or of my own. */
	char *own[WORKLOAD_MATRICES];
	float *scratch; /* as many as the largest part of what is computed */
	bool widened;
} state_t;

/** The emulator's heaps are memory of the host. */
static char *host_address(TSR_HEAP void *pointer)
{
	return (char *)(uintptr_t)pointer;
}

/** My part of what a step makes. */
static char *memory_of(const state_t *s, int matrix)
{
	return s->own[matrix] ? s->own[matrix] : host_address(s->heap[matrix]);
}

/** Rank `rank`'s copy of my `pointer`. */
static tsr_status_t find_peer(const bench_baseline_t *b, TSR_HEAP void *pointer, int rank,
			      char **address_out)
{
	TSR_HEAP void *peer;
	tsr_status_t status = tsr_heap_translate(b->world, pointer, rank, &peer);
	if (status == TSR_OK)
		*address_out = host_address(peer);
	return status;
}

/* ---------------------------------------------------------------- setting up */

/** Whether peers read the matrix: it is what a collective step takes. */
static bool is_read_by_peers(const bench_baseline_t *b, int matrix)
{
	for (int i = 0; i < b->step_count; i++)
		if (b->steps[i].from == matrix && (b->steps[i].op == WORKLOAD_ALL_GATHER ||
						   b->steps[i].op == WORKLOAD_REDUCE_SCATTER))
			return true;
	return false;
}

/** What the host must hold: everything but what peers read. */
static bool allocate_host(const bench_baseline_t *b, state_t *s)
{
	size_t most = 1;
	for (int i = 0; i < b->matrices; i++) {
		const size_t elements = bench_part_elements(b, i, b->rank) + 1,
			     bytes = bench_part_bytes(b, i, b->rank) + 1;
		most = elements > most ? elements : most;
		if (bench_matrix_of(b, i, b->rank).use == WORKLOAD_INPUT) {
			s->wide[i] = malloc(elements * sizeof(float));
		} else if (!is_read_by_peers(b, i)) {
			s->own[i] = malloc(bytes);
			if (s->own[i])
				memset(s->own[i], 0xff, bytes); /* a NaN in every dtype */
		} else {
			continue;
		}
		if (!s->wide[i] && !s->own[i])
			return false;
	}
	s->scratch = malloc(most * sizeof(float));
	return s->scratch != NULL;
}

/** Every rank allocates what the largest part takes. */
static tsr_status_t allocate_heap(const bench_baseline_t *b, state_t *s)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < b->matrices; i++) {
		size_t most = 1;
		for (int r = 0; r < b->size; r++)
			most = bench_part_bytes(b, i, r) > most ? bench_part_bytes(b, i, r) : most;
		if (is_read_by_peers(b, i))
			status = tsr_heap_alloc(b->world, most, 0, "bench.part", &s->heap[i]);
	}
	return status;
}

static bool extents_fit(const bench_baseline_t *b)
{
	for (int i = 0; i < b->matrices; i++) {
		const workload_matrix_t matrix = bench_matrix_of(b, i, b->rank);
		if (matrix.rows > INT_MAX || matrix.cols > INT_MAX)
			return false;
	}
	return true;
}

static tsr_status_t baseline_open(bench_baseline_t *b)
{
	char sentence[BENCH_SENTENCE] = "";
	bool good;
	state_t *s = b->state = calloc(1, sizeof *s);
	(void)snprintf(b->name, sizeof b->name, "OpenBLAS + memcpy");
	if (!extents_fit(b))
		(void)snprintf(sentence, sizeof sentence,
			       "OpenBLAS takes extents up to %d; use such", INT_MAX);
	else if (!s || !allocate_host(b, s))
		(void)snprintf(sentence, sizeof sentence,
			       "the host has no memory for the baseline's copies of the matrices; "
			       "free some");
	tsr_status_t status = bench_agree(b->world, sentence, &good);
	if (status == TSR_OK && !good)
		bench_miss_steps(b, sentence);
	return status == TSR_OK && good ? allocate_heap(b, s) : status;
}

static void baseline_close(bench_baseline_t *b, bool failed)
{
	state_t *s = b->state;
	if (!s)
		return;
	for (int i = 0; i < WORKLOAD_MATRICES; i++) {
		if (s->heap[i] && !failed)
			(void)tsr_heap_free(b->world, s->heap[i]);
		free(s->wide[i]);
		free(s->own[i]);
	}
	free(s->scratch);
	free(s);
}

/* ---------------------------------------------------------------- the steps */

/** A matrix of the heap as dense floats. */
static void widen_matrix(tsr_view_t view, float *out)
{
	const char *from = host_address(view.data);
	for (int64_t row = 0; row < view.rows; row++)
		for (int64_t col = 0; col < view.cols; col++)
			out[row * view.cols + col] =
				(float)tsr_dtype_get((tsr_dtype_t)view.dtype, from,
						     (size_t)(row * view.ld + col));
}

static void widen(const bench_baseline_t *b, state_t *s)
{
	for (int i = 0; i < b->matrices && !s->widened; i++)
		if (s->wide[i])
			widen_matrix(b->task.workload->view(b->task.run, i), s->wide[i]);
	s->widened = true;
}

static void round_to(tsr_dtype_t dtype, const float *from, size_t count, char *to)
{
	for (size_t i = 0; i < count; i++)
		tsr_dtype_set(dtype, to, i, (double)from[i]);
}

static tsr_status_t multiply(const bench_baseline_t *b, const state_t *s,
			     const workload_step_t *step)
{
	const workload_matrix_t x = bench_matrix_of(b, step->from, b->rank),
				y = bench_matrix_of(b, step->with, b->rank);
	const int m = (int)x.part_rows, k = (int)x.part_cols, n = (int)y.part_cols;
	tsr_status_t status = TSR_OK;
	if (m == 0 || n == 0)
		return TSR_OK;
	if (k == 0)
		memset(s->scratch, 0, (size_t)m * (size_t)n * sizeof(float));
	else
		status = tsr_host_product_f32(m, n, k, s->wide[step->from], k, s->wide[step->with],
					      n, 0.0F, s->scratch, n);
	if (status == TSR_OK)
		round_to(bench_matrix_of(b, step->to, b->rank).dtype, s->scratch,
			 (size_t)m * (size_t)n, memory_of(s, step->to));
	return status;
}

static tsr_status_t gather(const bench_baseline_t *b, const state_t *s, const workload_step_t *step)
{
	tsr_status_t status = TSR_OK;
	for (int r = 0; status == TSR_OK && r < b->size; r++) {
		char *peer;
		status = find_peer(b, s->heap[step->from], r, &peer);
		if (status == TSR_OK)
			memcpy(memory_of(s, step->to) + bench_parts_offset(b, step->from, r), peer,
			       bench_part_bytes(b, step->from, r));
	}
	return status;
}

/** My rows of every rank's, added in rank order. */
static tsr_status_t reduce(const bench_baseline_t *b, const state_t *s, const workload_step_t *step)
{
	const workload_matrix_t to = bench_matrix_of(b, step->to, b->rank);
	const size_t first = (size_t)(to.first_row * to.cols),
		     count = (size_t)(to.part_rows * to.cols);
	tsr_status_t status = TSR_OK;
	memset(s->scratch, 0, count * sizeof(float));
	for (int r = 0; status == TSR_OK && r < b->size; r++) {
		char *peer;
		status = find_peer(b, s->heap[step->from], r, &peer);
		for (size_t i = 0; status == TSR_OK && i < count; i++)
			s->scratch[i] += (float)tsr_dtype_get(to.dtype, peer, first + i);
	}
	if (status == TSR_OK)
		round_to(to.dtype, s->scratch, count, memory_of(s, step->to));
	return status;
}

/** Each part where it belongs. */
static void place(const bench_baseline_t *b, const state_t *s, const workload_step_t *step)
{
	for (int r = 0; r < b->size; r++) {
		const workload_matrix_t part = bench_matrix_of(b, step->with, r);
		const size_t element = tsr_dtype_bytes(part.dtype),
			     bytes = (size_t)part.part_cols * element;
		const char *from = memory_of(s, step->from) + bench_parts_offset(b, step->with, r);
		for (int64_t row = 0; row < part.part_rows; row++)
			memcpy(memory_of(s, step->to) +
				       (size_t)((part.first_row + row) * part.cols +
						part.first_col) *
					       element,
			       from + (size_t)row * bytes, bytes);
	}
}

/**
 * Between two barriers, where ranks read from each other: all parts are there
 * before, and may be overwritten after.
 */
static tsr_status_t run_step(const bench_baseline_t *b, const state_t *s,
			     const workload_step_t *step)
{
	tsr_status_t status;
	switch (step->op) {
	case WORKLOAD_PRODUCT:
		return multiply(b, s, step);
	case WORKLOAD_PLACE:
		place(b, s, step);
		return TSR_OK;
	default:
		status = tsr_barrier(b->world);
		if (status == TSR_OK)
			status = step->op == WORKLOAD_ALL_GATHER ? gather(b, s, step)
								 : reduce(b, s, step);
		return status == TSR_OK ? tsr_barrier(b->world) : status;
	}
}

/** From my own room to my piece of the other's: what stands there is of no interest. */
static tsr_status_t push_to(const bench_baseline_t *b, int rank)
{
	char *peer;
	size_t piece = (size_t)b->rank * b->push_bytes;
	tsr_status_t status = find_peer(b, b->pushed, rank, &peer);
	if (status == TSR_OK)
		memcpy(peer + piece, host_address(b->pushed) + piece, b->push_bytes);
	return status;
}

static tsr_status_t run(const bench_baseline_t *b, const state_t *s, const bench_timed_t *timed)
{
	tsr_status_t status = TSR_OK;
	for (int i = timed->first; status == TSR_OK && i < timed->first + timed->count; i++)
		status = run_step(b, s, &b->steps[i]);
	if (timed->push == BENCH_PUSH_PAIR && b->rank == 0)
		status = push_to(b, 1);
	for (int i = 1; timed->push == BENCH_PUSH_ALL && status == TSR_OK && i < b->size; i++)
		status = push_to(b, (b->rank + i) % b->size);
	return status;
}

static tsr_status_t baseline_time(bench_baseline_t *b, const bench_timed_t *timed, uint64_t *ns_out)
{
	state_t *s = b->state;
	if (timed->push == BENCH_NO_PUSH)
		widen(b, s);
	tsr_status_t status = run(b, s, timed);
	if (status == TSR_OK)
		status = tsr_barrier(b->world);
	uint64_t begin_ns = bench_now_ns();
	if (status == TSR_OK)
		status = run(b, s, timed);
	*ns_out = timed->push == BENCH_PUSH_PAIR && b->rank != 0 ? 0 : bench_now_ns() - begin_ns;
	return status;
}

static tsr_status_t baseline_read(bench_baseline_t *b, int matrix, void *dense_out)
{
	const state_t *s = b->state;
	memcpy(dense_out, memory_of(s, matrix), bench_part_bytes(b, matrix, b->rank));
	return TSR_OK;
}

const bench_baseline_ops_t bench_openblas = {
	.open = baseline_open,
	.time = baseline_time,
	.read = baseline_read,
	.close = baseline_close,
	.push_bytes = (size_t)1 << 20,
};
