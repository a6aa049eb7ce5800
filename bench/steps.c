/* Steps: whether they fit their matrices, and the pieces of an all-to-all. */
#include <stdio.h>

#include "bench/internal.h"

/** A step's three matrices, as one rank has them. */
typedef struct operands {
	workload_matrix_t from, with, to;
} operands_t;

static bool has_with(workload_op_t op)
{
	return op == WORKLOAD_PRODUCT || op == WORKLOAD_PLACE || op == WORKLOAD_COPY_ROWS;
}

static operands_t operands_of(const bench_baseline_t *b, const workload_step_t *step, int rank)
{
	const int with = has_with(step->op) ? step->with : step->from;
	return (operands_t){bench_matrix_of(b, step->from, rank), bench_matrix_of(b, with, rank),
			    bench_matrix_of(b, step->to, rank)};
}

static bool same_shape(const workload_matrix_t *x, const workload_matrix_t *y)
{
	return x->part_rows == y->part_rows && x->part_cols == y->part_cols;
}

static int64_t elements_of(const workload_matrix_t *matrix)
{
	return matrix->part_rows * matrix->part_cols;
}

/** The parts of all ranks, in elements. */
static int64_t elements_of_all(const bench_baseline_t *b, int matrix)
{
	int64_t elements = 0;
	for (int r = 0; r < b->size; r++)
		elements += (int64_t)bench_part_elements(b, matrix, r);
	return elements;
}

/* ------------------------------------------------------------ pieces of an all-to-all */

static int64_t rows_between(const bench_baseline_t *b, const workload_step_t *step, int source,
			    int target)
{
	return step->rows ? step->rows(&b->config, source, target, b->size)
			  : bench_matrix_of(b, step->from, source).part_rows / b->size;
}

bench_piece_t bench_piece_of(const bench_baseline_t *b, const workload_step_t *step, int source,
			     int target)
{
	const workload_matrix_t from = bench_matrix_of(b, step->from, source);
	const size_t row_bytes = (size_t)from.part_cols * tsr_dtype_bytes(from.dtype);
	bench_piece_t piece = {.rows = rows_between(b, step, source, target)};
	for (int r = 0; r < target; r++)
		piece.from_offset += (size_t)rows_between(b, step, source, r) * row_bytes;
	for (int r = 0; r < source; r++)
		piece.to_offset += (size_t)rows_between(b, step, r, target) * row_bytes;
	piece.elements = (size_t)(piece.rows * from.part_cols);
	piece.bytes = (size_t)piece.rows * row_bytes;
	return piece;
}

/** Every piece has a size, and a rank's pieces fill its parts. */
static bool pieces_fit(const bench_baseline_t *b, const workload_step_t *step,
		       const operands_t *own, int rank)
{
	int64_t sent = 0, received = 0;
	for (int r = 0; r < b->size; r++) {
		const int64_t there = rows_between(b, step, rank, r),
			      here = rows_between(b, step, r, rank);
		if (there < 0 || here < 0)
			return false;
		sent += there;
		received += here;
	}
	return sent == own->from.part_rows && received == own->to.part_rows &&
	       own->from.part_cols == own->to.part_cols &&
	       own->from.part_cols == bench_matrix_of(b, step->from, 0).part_cols;
}

/* ------------------------------------------------------------ what must fit */

/** Null: the step fits what `rank` has. Else: what it needs. */
static const char *needs(const bench_baseline_t *b, const workload_step_t *step, int rank)
{
	const operands_t own = operands_of(b, step, rank);
	const workload_matrix_t first = bench_matrix_of(b, step->from, 0), *from = &own.from,
				*with = &own.with, *to = &own.to;
	switch (step->op) {
	case WORKLOAD_PRODUCT:
		return from->part_cols == with->part_rows && to->part_rows == from->part_rows &&
				       to->part_cols == with->part_cols
			       ? NULL
			       : "M x K times K x N to be M x N";
	case WORKLOAD_ALL_GATHER:
		return elements_of(to) == elements_of_all(b, step->from)
			       ? NULL
			       : "room for the parts of all ranks";
	case WORKLOAD_REDUCE_SCATTER:
		return same_shape(from, &first) && elements_of(from) == to->rows * to->cols &&
				       to->part_cols == to->cols
			       ? NULL
			       : "the whole sum's shape on every rank, and whole rows of it";
	case WORKLOAD_PLACE:
		return elements_of(from) == elements_of_all(b, step->with) &&
				       elements_of(to) == with->rows * with->cols
			       ? NULL
			       : "the parts of all ranks, and room for the whole matrix";
	case WORKLOAD_ALL_REDUCE:
		return same_shape(from, &first) && same_shape(to, &first)
			       ? NULL
			       : "one shape on every rank";
	case WORKLOAD_ALL_TO_ALL:
		return pieces_fit(b, step, &own, rank)
			       ? NULL
			       : "rows for and from every rank that fill the parts";
	case WORKLOAD_BROADCAST:
		return same_shape(to, &first) ? NULL : "room for rank 0's part on every rank";
	case WORKLOAD_COPY_ROWS:
		return with->part_cols == 1 && with->dtype == TSR_I32 &&
				       with->part_rows == to->part_rows &&
				       from->part_cols == to->part_cols
			       ? NULL
			       : "one i32 index for each row of the result, and rows of one length";
	}
	return "a step that baselines know";
}

/** Whether a matrix holds something when the step begins. */
static bool is_made(const bench_baseline_t *b, int step, int matrix)
{
	bool made = bench_matrix_of(b, matrix, b->rank).use == WORKLOAD_INPUT;
	for (int i = 0; i < step && !made; i++)
		made = b->steps[i].to == matrix;
	return made;
}

/** What does not hang on a rank: which matrices there are, and their dtypes. */
static const char *needs_first(const bench_baseline_t *b, int number)
{
	const workload_step_t *step = &b->steps[number];
	const int with = has_with(step->op) ? step->with : step->from;
	const int matrices[] = {step->from, with, step->to};
	for (int i = 0; i < 3; i++)
		if (matrices[i] < 0 || matrices[i] >= b->matrices)
			return "numbers of matrices that there are";
	const operands_t own = operands_of(b, step, b->rank);
	if (own.to.use == WORKLOAD_INPUT || step->to == step->from || step->to == with)
		return "a result that is neither an input nor what it reads";
	if (!is_made(b, number, step->from) || !is_made(b, number, with))
		return "inputs, or what earlier steps have made";
	if (own.from.dtype != own.to.dtype ||
	    (step->op != WORKLOAD_COPY_ROWS && own.from.dtype != own.with.dtype))
		return "matrices of one dtype";
	return NULL;
}

tsr_status_t bench_steps_check(const bench_baseline_t *b)
{
	for (int i = 0; i < b->step_count; i++) {
		const char *what = needs_first(b, i);
		char where[32] = "";
		for (int r = 0; !what && r < b->size; r++) {
			what = needs(b, &b->steps[i], r);
			(void)snprintf(where, sizeof where, " on rank %d", r);
		}
		if (what)
			return tsr_error(
				TSR_ERR_ARGUMENT,
				"step %d of the baseline of %s, %s, needs %s%s; change the "
				"workload's steps or matrices",
				i + 1, b->task.workload->name, b->steps[i].name, what, where);
	}
	return TSR_OK;
}
