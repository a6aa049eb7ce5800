/*
 * The emulator's baseline: OpenBLAS, and memcpy between the ranks' heaps.
 * Inputs are copied, and widened to f32 where products take them, once, before
 * any clock. What is timed is the product in f32, its rounding to the dtype,
 * sums in f32, and the copies.
 */
#include "bench/host/openblas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tsr_status_t bench_find_peer(const bench_baseline_t *b, TSR_HEAP void *pointer, int rank,
			     char **address_out)
{
	TSR_HEAP void *peer;
	tsr_status_t status = tsr_heap_translate(b->world, pointer, rank, &peer);
	if (status == TSR_OK)
		*address_out = bench_host_address(peer);
	return status;
}

/* ---------------------------------------------------------------- setting up */

/** Whether other ranks read the matrix. */
static bool is_read_by_peers(const bench_baseline_t *b, int matrix)
{
	for (int i = 0; i < b->step_count; i++)
		if (b->steps[i].from == matrix && bench_step_meets(&b->steps[i]))
			return true;
	return false;
}

/** Whether a product reads the matrix. */
static bool is_operand(const bench_baseline_t *b, int matrix)
{
	for (int i = 0; i < b->step_count; i++)
		if (b->steps[i].op == WORKLOAD_PRODUCT &&
		    (b->steps[i].from == matrix || b->steps[i].with == matrix))
			return true;
	return false;
}

/** Whether the matrix has a dense copy: all but inputs that only products read. */
static bool has_part(const bench_baseline_t *b, int matrix)
{
	bool has = bench_matrix_of(b, matrix, b->rank).use != WORKLOAD_INPUT;
	for (int i = 0; i < b->step_count && !has; i++) {
		const workload_step_t *step = &b->steps[i];
		has = (step->op != WORKLOAD_PRODUCT && step->from == matrix) ||
		      (step->op == WORKLOAD_COPY_ROWS && step->with == matrix);
	}
	return has;
}

/** What the host must hold: operands in f32, and parts that peers do not read. */
static bool allocate_host(const bench_baseline_t *b, bench_openblas_t *s)
{
	size_t most = 1;
	for (int i = 0; i < b->matrices; i++) {
		const size_t elements = bench_part_elements(b, i, b->rank) + 1,
			     bytes = bench_part_bytes(b, i, b->rank) + 1;
		most = elements > most ? elements : most;
		if (is_operand(b, i) && !(s->wide[i] = malloc(elements * sizeof(float))))
			return false;
		if (is_read_by_peers(b, i) || !has_part(b, i))
			continue;
		s->own[i] = malloc(bytes);
		if (!s->own[i])
			return false;
		memset(s->own[i], 0xff, bytes); /* a NaN in every dtype */
	}
	s->scratch = malloc(most * sizeof(float));
	return s->scratch != NULL;
}

/** Every rank allocates what the largest part takes. */
static tsr_status_t allocate_heap(const bench_baseline_t *b, bench_openblas_t *s)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < b->matrices; i++) {
		size_t most = 1;
		for (int r = 0; r < b->size; r++)
			most = bench_part_bytes(b, i, r) > most ? bench_part_bytes(b, i, r) : most;
		if (!is_read_by_peers(b, i))
			continue;
		status = tsr_heap_alloc(b->world, most, 0, "bench.part", &s->heap[i]);
		if (status == TSR_OK)
			memset(bench_host_address(s->heap[i]), 0xff, most);
	}
	return status;
}

static tsr_status_t baseline_open(bench_baseline_t *b)
{
	char sentence[BENCH_SENTENCE] = "";
	bool good;
	bench_openblas_t *s = b->state = calloc(1, sizeof *s);
	(void)snprintf(b->name, sizeof b->name, "OpenBLAS + memcpy");
	if (bench_extents_fit(b, "OpenBLAS", sentence) && (!s || !allocate_host(b, s)))
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
	bench_openblas_t *s = b->state;
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

/* ---------------------------------------------------------------- inputs */

/** An input of the heap, dense, and as floats where a product takes it. */
static void copy_input(const bench_openblas_t *s, int matrix, tsr_view_t view)
{
	const char *from = bench_host_address(view.data);
	const bool dense = s->own[matrix] || s->heap[matrix];
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)view.dtype);
	for (int64_t row = 0; row < view.rows; row++) {
		for (int64_t col = 0; col < view.cols && s->wide[matrix]; col++)
			s->wide[matrix][row * view.cols + col] =
				(float)tsr_dtype_get((tsr_dtype_t)view.dtype, from,
						     (size_t)(row * view.ld + col));
		if (dense)
			memcpy(bench_part_of(s, matrix) + (size_t)(row * view.cols) * element,
			       from + (size_t)(row * view.ld) * element,
			       (size_t)view.cols * element);
	}
}

static void copy_inputs(const bench_baseline_t *b, bench_openblas_t *s)
{
	for (int i = 0; i < b->matrices && !s->are_inputs_in; i++)
		if (bench_matrix_of(b, i, b->rank).use == WORKLOAD_INPUT)
			copy_input(s, i, b->task.workload->view(b->task.run, i));
	s->are_inputs_in = true;
}

/* ---------------------------------------------------------------- timing */

/** From my own room to my piece of the other's: what stands there is of no interest. */
static tsr_status_t push_to(const bench_baseline_t *b, int rank)
{
	char *peer;
	size_t piece = (size_t)b->rank * b->push_bytes;
	tsr_status_t status = bench_find_peer(b, b->pushed, rank, &peer);
	if (status == TSR_OK)
		memcpy(peer + piece, bench_host_address(b->pushed) + piece, b->push_bytes);
	return status;
}

static tsr_status_t run(const bench_baseline_t *b, const bench_openblas_t *s,
			const bench_timed_t *timed)
{
	tsr_status_t status = TSR_OK;
	for (int i = timed->first; status == TSR_OK && i < timed->first + timed->count; i++)
		status = bench_openblas_step(b, s, &b->steps[i]);
	if (timed->push == BENCH_PUSH_PAIR && b->rank == 0)
		status = push_to(b, 1);
	for (int i = 1; timed->push == BENCH_PUSH_ALL && status == TSR_OK && i < b->size; i++)
		status = push_to(b, (b->rank + i) % b->size);
	return status;
}

static tsr_status_t baseline_time(bench_baseline_t *b, const bench_timed_t *timed, uint64_t *ns_out)
{
	bench_openblas_t *s = b->state;
	if (timed->push == BENCH_NO_PUSH)
		copy_inputs(b, s);
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
	const bench_openblas_t *s = b->state;
	memcpy(dense_out, bench_part_of(s, matrix), bench_part_bytes(b, matrix, b->rank));
	return TSR_OK;
}

static const bench_baseline_ops_t ops = {
	.open = baseline_open,
	.time = baseline_time,
	.read = baseline_read,
	.close = baseline_close,
	.push_bytes = (size_t)1 << 20,
};

const bench_engine_t bench_openblas = {.ops = &ops};
