/*
 * The emulator's baseline: OpenBLAS, and memcpy between the ranks' heaps. Operands are widened to f32 once, before any clock; what
 * is timed is the product in f32, its rounding to the dtype, and the copies.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/internal.h"

typedef struct state {
	float *a, *b, *product; /* M x K, K x my columns, M x my columns */
	bool widened;
	TSR_HEAP void *part; /* my columns of C, where the others read them */
	char *gathered, *c;  /* the parts, one after the other; M x N */
} state_t;

/** The emulator's heaps are memory of the host. */
static char *host_address(TSR_HEAP void *pointer)
{
	return (char *)(uintptr_t)pointer;
}

/** Rank `rank`'s copy of my `pointer`. */
static tsr_status_t find_peer(const bench_baseline_t *b, TSR_HEAP void *pointer, int rank, char **address_out)
{
	TSR_HEAP void *peer;
	tsr_status_t status = tsr_heap_translate(b->world, pointer, rank, &peer);
	if (status == TSR_OK)
		*address_out = host_address(peer);
	return status;
}

static bool allocate(const bench_baseline_t *b, state_t *s)
{
	size_t m = (size_t)b->task.m, k = (size_t)b->task.k, cols = (size_t)b->share.cols, c_bytes = bench_c_bytes(&b->task);
	s->a = malloc(m * k * sizeof(float));
	s->b = malloc((k * cols + 1) * sizeof(float)); /* a share may be empty */
	s->product = malloc((m * cols + 1) * sizeof(float));
	s->gathered = malloc(c_bytes);
	s->c = malloc(c_bytes);
	if (!s->a || !s->b || !s->product || !s->gathered || !s->c)
		return false;
	memset(s->c, 0xff, c_bytes); /* a NaN in every dtype */
	return true;
}

static tsr_status_t baseline_open(bench_baseline_t *b)
{
	char sentence[BENCH_SENTENCE] = "";
	bool good;
	state_t *s = b->state = calloc(1, sizeof *s);
	(void)snprintf(b->name, sizeof b->name, "OpenBLAS + memcpy");
	if (b->task.m > INT_MAX || b->task.n > INT_MAX || b->task.k > INT_MAX)
		(void)snprintf(sentence, sizeof sentence, "OpenBLAS takes extents up to %d; use such", INT_MAX);
	else if (!s || !allocate(b, s))
		(void)snprintf(sentence, sizeof sentence,
			       "the host has no memory for the baseline's copies of A, B and C; free some");
	tsr_status_t status = bench_agree(b->world, sentence, &good);
	for (int step = BENCH_PRODUCT; status == TSR_OK && !good && step <= BENCH_LAYOUT; step++)
		(void)snprintf(b->missing[step], BENCH_SENTENCE, "%s", sentence);
	if (status != TSR_OK || !good)
		return status;
	/* Every rank allocates what the largest share takes. */
	size_t largest = (size_t)b->task.m * (size_t)((b->task.n - 1) / b->size + 1) * tsr_dtype_bytes(b->task.dtype);
	return tsr_heap_alloc(b->world, largest, 0, "bench.part", &s->part);
}

static void baseline_close(bench_baseline_t *b, bool failed)
{
	state_t *s = b->state;
	if (!s)
		return;
	if (s->part && !failed)
		(void)tsr_heap_free(b->world, s->part);
	free(s->a);
	free(s->b);
	free(s->product);
	free(s->gathered);
	free(s->c);
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
				(float)tsr_dtype_get((tsr_dtype_t)view.dtype, from, (size_t)(row * view.ld + col));
}

static void widen(const bench_baseline_t *b, state_t *s)
{
	if (s->widened)
		return;
	widen_matrix(b->task.a, s->a);
	widen_matrix(b->task.b, s->b);
	s->widened = true;
}

static tsr_status_t multiply(const bench_baseline_t *b, const state_t *s)
{
	const bench_task_t *t = &b->task;
	int m = (int)t->m, cols = (int)b->share.cols, k = (int)t->k;
	char *part = host_address(s->part);
	if (cols == 0)
		return TSR_OK;
	tsr_status_t status = tsr_host_product_f32(m, cols, k, s->a, k, s->b, cols, 0.0F, s->product, cols);
	for (size_t i = 0; status == TSR_OK && i < (size_t)m * (size_t)cols; i++)
		tsr_dtype_set(t->dtype, part, i, (double)s->product[i]);
	return status;
}

/** Between two barriers: all parts are there before, and may be overwritten after. */
static tsr_status_t gather(const bench_baseline_t *b, const state_t *s)
{
	tsr_status_t status = tsr_barrier(b->world);
	for (int r = 0; status == TSR_OK && r < b->size; r++) {
		char *peer;
		status = find_peer(b, s->part, r, &peer);
		if (status == TSR_OK)
			memcpy(s->gathered + bench_part_offset(&b->task, r, b->size), peer, bench_part_bytes(&b->task, r, b->size));
	}
	return status == TSR_OK ? tsr_barrier(b->world) : status;
}

static void lay_out(const bench_baseline_t *b, const state_t *s)
{
	const bench_task_t *t = &b->task;
	size_t element = tsr_dtype_bytes(t->dtype);
	for (int r = 0; r < b->size; r++) {
		gas_share_t share = gas_share(t->n, r, b->size);
		size_t bytes = (size_t)share.cols * element;
		for (int64_t row = 0; row < t->m; row++)
			memcpy(s->c + (size_t)(row * t->n + share.first_col) * element,
			       s->gathered + bench_part_offset(t, r, b->size) + (size_t)row * bytes, bytes);
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

static tsr_status_t run(const bench_baseline_t *b, const state_t *s, bench_step_t step)
{
	tsr_status_t status = TSR_OK;
	if (step == BENCH_PRODUCT || step == BENCH_BOTH || step == BENCH_LAYOUT)
		status = multiply(b, s);
	if (status == TSR_OK && (step == BENCH_GATHER || step == BENCH_BOTH || step == BENCH_LAYOUT))
		status = gather(b, s);
	if (status == TSR_OK && step == BENCH_LAYOUT)
		lay_out(b, s);
	if (step == BENCH_PUSH_PAIR && b->rank == 0)
		status = push_to(b, 1);
	for (int i = 1; step == BENCH_PUSH_ALL && status == TSR_OK && i < b->size; i++)
		status = push_to(b, (b->rank + i) % b->size);
	return status;
}

static tsr_status_t baseline_time(bench_baseline_t *b, bench_step_t step, uint64_t *ns_out)
{
	state_t *s = b->state;
	if (step <= BENCH_LAYOUT)
		widen(b, s);
	tsr_status_t status = run(b, s, step);
	if (status == TSR_OK)
		status = tsr_barrier(b->world);
	uint64_t begin_ns = bench_now_ns();
	if (status == TSR_OK)
		status = run(b, s, step);
	*ns_out = step == BENCH_PUSH_PAIR && b->rank != 0 ? 0 : bench_now_ns() - begin_ns;
	return status;
}

static tsr_status_t baseline_read(bench_baseline_t *b, void *c_out)
{
	const state_t *s = b->state;
	memcpy(c_out, s->c, bench_c_bytes(&b->task));
	return TSR_OK;
}

const bench_baseline_ops_t bench_openblas = {
	.open = baseline_open,
	.time = baseline_time,
	.read = baseline_read,
	.close = baseline_close,
	.push_bytes = (size_t)1 << 20,
};
