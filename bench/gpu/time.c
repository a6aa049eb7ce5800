/* Timing the steps, and reading what they have made. */
#include <sched.h>

#include "bench/gpu/gpu.h"

/**
 * Polls, so that it has a deadline: a kernel of NCCL waits for its peers for
 * ever.
 */
static tsr_status_t await(const bench_baseline_t *b, const bench_gpu_t *gpu)
{
	char sentence[BENCH_SENTENCE];
	uint64_t deadline_ns = tsr_world_deadline_ns(b->world), begin_ns = bench_now_ns();
	int code;
	while ((code = gpu->run.event_query(gpu->end)) == BENCH_NOT_READY) {
		if (bench_now_ns() - begin_ns > deadline_ns)
			return tsr_error(TSR_ERR_TIMEOUT,
					 "the baseline did not end on rank %d within %.1f s: has "
					 "another rank failed? TESSERA_DEADLINE gives it longer",
					 b->rank, (double)deadline_ns * 1e-9);
		(void)sched_yield();
	}
	return bench_gpu_ok(gpu, code, "run the baseline", sentence)
		       ? TSR_OK
		       : tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
}

static tsr_status_t time_entered(const bench_baseline_t *b, const bench_gpu_t *gpu,
				 const bench_timed_t *timed, uint64_t *ns_out)
{
	char sentence[BENCH_SENTENCE];
	const bench_runtime_t *run = &gpu->run;
	float ms = 0;
	if (!bench_gpu_put_operands(b, gpu, sentence) || !bench_gpu_put(b, gpu, timed, sentence) ||
	    !bench_gpu_ok(gpu, run->event_record(gpu->begin, gpu->stream), "record an event",
			  sentence) ||
	    !bench_gpu_put(b, gpu, timed, sentence) ||
	    !bench_gpu_ok(gpu, run->event_record(gpu->end, gpu->stream), "record an event",
			  sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	tsr_status_t status = await(b, gpu);
	if (status != TSR_OK)
		return status;
	if (!bench_gpu_ok(gpu, run->event_elapsed(&ms, gpu->begin, gpu->end), "read events",
			  sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	*ns_out = (uint64_t)((double)ms * 1e6);
	return TSR_OK;
}

tsr_status_t bench_gpu_time(bench_baseline_t *b, const bench_timed_t *timed, uint64_t *ns_out)
{
	bench_gpu_t *gpu = b->state;
	char sentence[BENCH_SENTENCE];
	tsr_status_t status = tsr_barrier(b->world);
	if (status != TSR_OK)
		return status;
	*ns_out = 0;
	if (timed->push == BENCH_PUSH_PAIR && b->rank != 0)
		return TSR_OK;
	if (!bench_gpu_enter(gpu, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	status = time_entered(b, gpu, timed, ns_out);
	gpu->vendor->leave(gpu);
	return status;
}

tsr_status_t bench_gpu_read(bench_baseline_t *b, int matrix, void *dense_out)
{
	bench_gpu_t *gpu = b->state;
	char sentence[BENCH_SENTENCE];
	const size_t bytes = bench_part_bytes(b, matrix, b->rank);
	if (!bench_gpu_enter(gpu, sentence))
		return tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
	bool good = bytes == 0 ||
		    bench_gpu_ok(gpu, gpu->run.copy_to_host(dense_out, gpu->matrix[matrix], bytes),
				 "copy a matrix to the host", sentence);
	gpu->vendor->leave(gpu);
	return good ? TSR_OK : tsr_error(TSR_ERR_SYSTEM, "%s", sentence);
}
