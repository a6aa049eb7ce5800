/*
 * Where the matrices of a baseline are: inputs are read where they lie in the
 * heap; results have memory of their own.
 */
#include "bench/gpu/gpu.h"

static bool is_dense(tsr_view_t view)
{
	return view.ld == view.cols || view.cols == 0;
}

/** Memory for a part. All bits set is a NaN in every dtype. */
static bool open_part(const bench_baseline_t *b, bench_gpu_t *gpu, int matrix,
		      char sentence[BENCH_SENTENCE])
{
	const bench_runtime_t *run = &gpu->run;
	const size_t bytes = bench_part_bytes(b, matrix, b->rank);
	gpu->matrix[matrix] = NULL;
	if (bytes == 0)
		return true;
	if (!bench_gpu_ok(gpu, run->alloc(&gpu->memory[matrix], bytes), "allocate a matrix",
			  sentence))
		return false;
	gpu->matrix[matrix] = gpu->memory[matrix];
	return bench_gpu_ok(gpu, run->fill(gpu->memory[matrix], 0xff, bytes, gpu->stream),
			    "fill memory", sentence);
}

/**
 * The matrix among whose parts a part stands from the beginning, as NCCL
 * gathers in place; or -1. An input stands where it is.
 */
static int gathered_into(const bench_baseline_t *b, int matrix)
{
	const bool input = bench_matrix_of(b, matrix, b->rank).use == WORKLOAD_INPUT;
	for (int i = 0; !input && i < b->step_count; i++)
		if (b->steps[i].op == WORKLOAD_ALL_GATHER && b->steps[i].from == matrix)
			return b->steps[i].to;
	return -1;
}

/** Inputs stand where the run has them, or are copied: at least padded ones. */
bool bench_gpu_open_matrices(const bench_baseline_t *b, bench_gpu_t *gpu,
			     char sentence[BENCH_SENTENCE])
{
	bool good = true;
	for (int i = 0; good && i < b->matrices; i++) {
		if (bench_matrix_of(b, i, b->rank).use == WORKLOAD_INPUT) {
			const tsr_view_t view = b->task.workload->view(b->task.run, i);
			if (is_dense(view) && !gpu->vendor->copies_inputs)
				gpu->matrix[i] = (char *)(uintptr_t)view.data;
			else
				good = open_part(b, gpu, i, sentence);
		} else if (gathered_into(b, i) < 0) {
			good = open_part(b, gpu, i, sentence);
		}
	}
	for (int i = 0; good && i < b->matrices; i++)
		if (gathered_into(b, i) >= 0)
			gpu->matrix[i] = gpu->matrix[gathered_into(b, i)] +
					 bench_parts_offset(b, i, b->rank);
	return good;
}
