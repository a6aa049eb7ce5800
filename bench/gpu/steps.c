/* The steps of a GPU's baseline: each is put on the stream. */
#include <stdio.h>

#include "bench/gpu/gpu.h"
#include "bench/gpu/stores.h"

int bench_gpu_type(tsr_dtype_t dtype)
{
	return dtype == TSR_BF16  ? BENCH_R_16BF
	       : dtype == TSR_F16 ? BENCH_R_16F
	       : dtype == TSR_F32 ? BENCH_R_32F
				  : -1;
}

/* ------------------------------------------------------------ operands */

static bool put_dense(const bench_gpu_t *gpu, tsr_view_t from, void *to,
		      char sentence[BENCH_SENTENCE])
{
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)from.dtype);
	const bench_rows_t rows = {
		.to = to,
		.from = (const char *)(uintptr_t)from.data,
		.to_pitch = (size_t)from.cols * element,
		.from_pitch = (size_t)from.ld * element,
		.row_bytes = (size_t)from.cols * element,
		.rows = (size_t)from.rows,
	};
	return bench_gpu_ok(gpu, gpu->vendor->copy_rows(gpu, &rows), "copy an operand", sentence);
}

/** Before each time, since inputs may have been written meanwhile. */
bool bench_gpu_put_operands(const bench_baseline_t *b, const bench_gpu_t *gpu,
			    char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = 0; good && i < b->matrices; i++)
		if (gpu->memory[i] && bench_matrix_of(b, i, b->rank).use == WORKLOAD_INPUT)
			good = put_dense(gpu, b->task.workload->view(b->task.run, i),
					 gpu->memory[i], sentence);
	return good;
}

/* ------------------------------------------------------------ steps */

/**
 * Matrices of a workload are row-major. Row-major Z = X Y is column-major
 * Z' = Y' X': the same memory, rows and columns exchanged.
 */
bool bench_gpu_product(const bench_baseline_t *b, const bench_gpu_t *gpu,
		       const workload_step_t *step, bench_product_t *product_out)
{
	const workload_matrix_t x = bench_matrix_of(b, step->from, b->rank);
	const workload_matrix_t y = bench_matrix_of(b, step->with, b->rank);
	*product_out = (bench_product_t){
		.type = bench_gpu_type(x.dtype),
		.m = y.part_cols,
		.n = x.part_rows,
		.k = x.part_cols,
		.a = gpu->matrix[step->with],
		.b = gpu->matrix[step->from],
		.c = gpu->matrix[step->to],
	};
	return product_out->m > 0 && product_out->n > 0 && product_out->k > 0;
}

static bool put_product(const bench_baseline_t *b, const bench_gpu_t *gpu,
			const workload_step_t *step, char sentence[BENCH_SENTENCE])
{
	bench_product_t product;
	if (bench_gpu_product(b, gpu, step, &product))
		return gpu->vendor->multiply(gpu, (int)(step - b->steps), &product, sentence);
	const size_t bytes = bench_part_bytes(b, step->to, b->rank);
	/* A product over nothing is 0. */
	return bytes == 0 || bench_gpu_ok(gpu, gpu->run.fill(product.c, 0, bytes, gpu->stream),
					  "fill memory", sentence);
}

static bool put_places(const bench_baseline_t *b, const bench_gpu_t *gpu,
		       const workload_step_t *step, char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int r = 0; good && r < b->size; r++) {
		const workload_matrix_t part = bench_matrix_of(b, step->with, r);
		const size_t element = tsr_dtype_bytes(part.dtype);
		const size_t place = (size_t)(part.first_row * part.cols + part.first_col);
		const bench_rows_t rows = {
			.to = gpu->matrix[step->to] + place * element,
			.from = gpu->matrix[step->from] + bench_parts_offset(b, step->with, r),
			.to_pitch = (size_t)part.cols * element,
			.from_pitch = (size_t)part.part_cols * element,
			.row_bytes = (size_t)part.part_cols * element,
			.rows = (size_t)part.part_rows,
		};
		if (part.part_rows > 0 && part.part_cols > 0)
			good = bench_gpu_ok(gpu, gpu->vendor->copy_rows(gpu, &rows),
					    "copy parts to their places", sentence);
	}
	return good;
}

/** The widest unit that divides rows and addresses. */
static int rows_unit(const bench_gpu_t *gpu, const workload_step_t *step, size_t row_bytes)
{
	const size_t all = row_bytes | (size_t)(uintptr_t)gpu->matrix[step->from] |
			   (size_t)(uintptr_t)gpu->matrix[step->to];
	int unit = 0;
	while (all % bench_rows_unit(unit).bytes != 0)
		unit++;
	return unit;
}

static bool put_row_copies(const bench_baseline_t *b, const bench_gpu_t *gpu,
			   const workload_step_t *step, char sentence[BENCH_SENTENCE])
{
	const workload_matrix_t from = bench_matrix_of(b, step->from, b->rank);
	const size_t row_bytes = (size_t)from.part_cols * tsr_dtype_bytes(from.dtype);
	const int unit = rows_unit(gpu, step, row_bytes);
	uint64_t addresses[] = {(uint64_t)(uintptr_t)gpu->matrix[step->to],
				(uint64_t)(uintptr_t)gpu->matrix[step->from],
				(uint64_t)(uintptr_t)gpu->matrix[step->with]};
	uint64_t rows = (uint64_t)bench_matrix_of(b, step->to, b->rank).part_rows;
	uint64_t from_rows = (uint64_t)from.part_rows;
	uint64_t units = row_bytes / bench_rows_unit(unit).bytes;
	void *arguments[] = {&addresses[0], &addresses[1], &addresses[2],
			     &rows,         &from_rows,    &units};
	const uint64_t blocks = rows < BENCH_ROWS_BLOCKS ? rows : BENCH_ROWS_BLOCKS;
	if (rows == 0 || units == 0)
		return true;
	return bench_gpu_ok(gpu,
			    gpu->run.launch(gpu->rows[unit], (unsigned)blocks, 1, 1,
					    BENCH_ROWS_THREADS, 1, 1, 0, gpu->stream, arguments,
					    NULL),
			    "launch the copies of rows", sentence);
}

static bool put_step(const bench_baseline_t *b, const bench_gpu_t *gpu, const workload_step_t *step,
		     char sentence[BENCH_SENTENCE])
{
	switch (step->op) {
	case WORKLOAD_PRODUCT:
		return put_product(b, gpu, step, sentence);
	case WORKLOAD_PLACE:
		return put_places(b, gpu, step, sentence);
	case WORKLOAD_COPY_ROWS:
		return put_row_copies(b, gpu, step, sentence);
	default: /* those that communicate */
		return bench_comm_step(&gpu->comm, b, step, gpu->matrix[step->from],
				       gpu->matrix[step->to], sentence);
	}
}

/* ------------------------------------------------------------ plain stores */

/** To my piece of rank `to`'s room. */
static bool put_stores(const bench_baseline_t *b, const bench_gpu_t *gpu, int to,
		       char sentence[BENCH_SENTENCE])
{
	enum { PIECE = 16 };
	TSR_HEAP void *room;
	if (tsr_heap_translate(b->world, b->pushed, to, &room) != TSR_OK) {
		(void)snprintf(sentence, BENCH_SENTENCE, "%.400s", tsr_last_error());
		return false;
	}
	uint64_t dst = (uint64_t)(uintptr_t)room + (uint64_t)b->rank * b->push_bytes;
	uint64_t src = (uint64_t)(uintptr_t)gpu->from, count = b->push_bytes / PIECE;
	void *arguments[] = {&dst, &src, &count};
	return bench_gpu_ok(gpu,
			    gpu->run.launch(gpu->stores, (unsigned)gpu->blocks, 1, 1,
					    BENCH_STORES_THREADS, 1, 1, 0, gpu->stream, arguments,
					    NULL),
			    "launch plain stores", sentence);
}

/** Rank r stores to r + 1 first, so that no two ranks ever store to one. */
static bool put_pushes(const bench_baseline_t *b, const bench_gpu_t *gpu,
		       char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = 1; good && i < b->size; i++)
		good = put_stores(b, gpu, (b->rank + i) % b->size, sentence);
	return good;
}

bool bench_gpu_put(const bench_baseline_t *b, const bench_gpu_t *gpu, const bench_timed_t *timed,
		   char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = timed->first; good && i < timed->first + timed->count; i++)
		good = put_step(b, gpu, &b->steps[i], sentence);
	if (timed->push == BENCH_PUSH_PAIR)
		return put_stores(b, gpu, 1, sentence);
	return timed->push == BENCH_PUSH_ALL ? put_pushes(b, gpu, sentence) : good;
}
