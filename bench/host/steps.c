/* The steps of the emulator's baseline. */
#include <string.h>

#include "bench/host/openblas.h"

static size_t element_bytes(const bench_baseline_t *b, int matrix)
{
	return tsr_dtype_bytes(bench_matrix_of(b, matrix, b->rank).dtype);
}

/* ------------------------------------------------------------ products and sums */

static void widen(tsr_dtype_t dtype, const char *from, size_t first, size_t count, float *to)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (float)tsr_dtype_get(dtype, from, first + i);
}

static void round_to(tsr_dtype_t dtype, const float *from, size_t count, char *to)
{
	for (size_t i = 0; i < count; i++)
		tsr_dtype_set(dtype, to, i, (double)from[i]);
}

/** An operand in f32. Inputs are widened already; what a step has made is not. */
static const float *operand(const bench_baseline_t *b, const bench_openblas_t *s, int matrix)
{
	const workload_matrix_t found = bench_matrix_of(b, matrix, b->rank);
	if (found.use != WORKLOAD_INPUT)
		widen(found.dtype, bench_part_of(s, matrix), 0,
		      (size_t)(found.part_rows * found.part_cols), s->wide[matrix]);
	return s->wide[matrix];
}

static tsr_status_t multiply(const bench_baseline_t *b, const bench_openblas_t *s,
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
		status = tsr_host_product_f32(m, n, k, operand(b, s, step->from), k,
					      operand(b, s, step->with), n, 0.0F, s->scratch, n);
	if (status == TSR_OK)
		round_to(x.dtype, s->scratch, (size_t)m * (size_t)n, bench_part_of(s, step->to));
	return status;
}

/** `count` elements of every rank's, from `first` on, added in rank order. */
static tsr_status_t add_up(const bench_baseline_t *b, const bench_openblas_t *s,
			   const workload_step_t *step, size_t first, size_t count)
{
	const tsr_dtype_t dtype = bench_matrix_of(b, step->to, b->rank).dtype;
	tsr_status_t status = TSR_OK;
	memset(s->scratch, 0, count * sizeof(float));
	for (int r = 0; status == TSR_OK && r < b->size; r++) {
		char *peer;
		status = bench_find_peer(b, s->heap[step->from], r, &peer);
		for (size_t i = 0; status == TSR_OK && i < count; i++)
			s->scratch[i] += (float)tsr_dtype_get(dtype, peer, first + i);
	}
	if (status == TSR_OK)
		round_to(dtype, s->scratch, count, bench_part_of(s, step->to));
	return status;
}

static tsr_status_t reduce_scatter(const bench_baseline_t *b, const bench_openblas_t *s,
				   const workload_step_t *step)
{
	const workload_matrix_t to = bench_matrix_of(b, step->to, b->rank);
	return add_up(b, s, step, (size_t)(to.first_row * to.cols),
		      (size_t)(to.part_rows * to.cols));
}

/* ------------------------------------------------------------ copies between ranks */

static tsr_status_t gather(const bench_baseline_t *b, const bench_openblas_t *s,
			   const workload_step_t *step)
{
	tsr_status_t status = TSR_OK;
	for (int r = 0; status == TSR_OK && r < b->size; r++) {
		char *peer;
		status = bench_find_peer(b, s->heap[step->from], r, &peer);
		if (status == TSR_OK)
			memcpy(bench_part_of(s, step->to) + bench_parts_offset(b, step->from, r),
			       peer, bench_part_bytes(b, step->from, r));
	}
	return status;
}

/** Every rank fetches what the others have for it. */
static tsr_status_t all_to_all(const bench_baseline_t *b, const bench_openblas_t *s,
			       const workload_step_t *step)
{
	tsr_status_t status = TSR_OK;
	for (int r = 0; status == TSR_OK && r < b->size; r++) {
		const bench_piece_t piece = bench_piece_of(b, step, r, b->rank);
		char *peer;
		status = bench_find_peer(b, s->heap[step->from], r, &peer);
		if (status == TSR_OK)
			memcpy(bench_part_of(s, step->to) + piece.to_offset,
			       peer + piece.from_offset, piece.bytes);
	}
	return status;
}

static tsr_status_t broadcast(const bench_baseline_t *b, const bench_openblas_t *s,
			      const workload_step_t *step)
{
	char *first;
	const tsr_status_t status = bench_find_peer(b, s->heap[step->from], 0, &first);
	if (status == TSR_OK)
		memcpy(bench_part_of(s, step->to), first, bench_part_bytes(b, step->to, b->rank));
	return status;
}

/* ------------------------------------------------------------ copies within a rank */

/** Each part where it belongs. */
static void place(const bench_baseline_t *b, const bench_openblas_t *s, const workload_step_t *step)
{
	for (int r = 0; r < b->size; r++) {
		const workload_matrix_t part = bench_matrix_of(b, step->with, r);
		const size_t element = tsr_dtype_bytes(part.dtype),
			     bytes = (size_t)part.part_cols * element;
		const char *from =
			bench_part_of(s, step->from) + bench_parts_offset(b, step->with, r);
		for (int64_t row = 0; row < part.part_rows; row++)
			memcpy(bench_part_of(s, step->to) +
				       (size_t)((part.first_row + row) * part.cols +
						part.first_col) *
					       element,
			       from + (size_t)row * bytes, bytes);
	}
}

static tsr_status_t copy_rows(const bench_baseline_t *b, const bench_openblas_t *s,
			      const workload_step_t *step)
{
	const workload_matrix_t from = bench_matrix_of(b, step->from, b->rank);
	const size_t bytes = (size_t)from.part_cols * element_bytes(b, step->from);
	const int64_t rows = bench_matrix_of(b, step->to, b->rank).part_rows;
	for (int64_t row = 0; row < rows; row++) {
		int32_t index;
		memcpy(&index, bench_part_of(s, step->with) + (size_t)row * sizeof index,
		       sizeof index);
		if (index < 0 || index >= from.part_rows)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "the index of row %lld is %d on rank %d, and %s has %lld "
					 "rows there; use indices from 0 on",
					 (long long)row, (int)index, b->rank, from.name,
					 (long long)from.part_rows);
		memcpy(bench_part_of(s, step->to) + (size_t)row * bytes,
		       bench_part_of(s, step->from) + (size_t)index * bytes, bytes);
	}
	return TSR_OK;
}

/* ------------------------------------------------------------ one step */

static tsr_status_t run_step(const bench_baseline_t *b, const bench_openblas_t *s,
			     const workload_step_t *step)
{
	switch (step->op) {
	case WORKLOAD_PRODUCT:
		return multiply(b, s, step);
	case WORKLOAD_ALL_GATHER:
		return gather(b, s, step);
	case WORKLOAD_REDUCE_SCATTER:
		return reduce_scatter(b, s, step);
	case WORKLOAD_PLACE:
		place(b, s, step);
		return TSR_OK;
	case WORKLOAD_ALL_REDUCE:
		return add_up(b, s, step, 0, bench_part_elements(b, step->to, b->rank));
	case WORKLOAD_ALL_TO_ALL:
		return all_to_all(b, s, step);
	case WORKLOAD_BROADCAST:
		return broadcast(b, s, step);
	default: /* WORKLOAD_COPY_ROWS */
		return copy_rows(b, s, step);
	}
}

/**
 * Where ranks read from each other, between two barriers: all parts are there
 * before, and may be overwritten after.
 */
tsr_status_t bench_openblas_step(const bench_baseline_t *b, const bench_openblas_t *s,
				 const workload_step_t *step)
{
	const bool meets = bench_step_meets(step);
	tsr_status_t status = meets ? tsr_barrier(b->world) : TSR_OK;
	if (status == TSR_OK)
		status = run_step(b, s, step);
	return status == TSR_OK && meets ? tsr_barrier(b->world) : status;
}
