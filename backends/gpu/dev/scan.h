/*
 * Body of tsr_coop_scan (dev/coop.h). Threads exchange sums through the values
 * themselves, because not every coop has scratch memory.
 */
#ifndef TESSERA_GPU_DEV_SCAN_H
#define TESSERA_GPU_DEV_SCAN_H

#include "gpu/dev/coop.h"

/**
 * The values first .. last-1 that a thread sums. Each thread has the same
 * number, as far as there are values.
 */
typedef struct tsr_gpu_run {
	int each, first, last;
} tsr_gpu_run_t;

TSR_DEV tsr_gpu_run_t tsr_gpu_run(const tsr_coop_t *coop, int count)
{
	tsr_gpu_run_t run;
	run.each = (int)(((int64_t)count + coop->threads - 1) / coop->threads);
	const int64_t first = (int64_t)coop->thread * run.each;
	run.first = first < count ? (int)first : count;
	run.last = run.each < count - run.first ? run.first + run.each : count;
	return run;
}

/**
 * The last value of each run becomes the sum of all values up to it: adds the
 * sums of the runs 1, 2, 4 ... before, in turn.
 */
TSR_DEV void tsr_gpu_sum_runs(const tsr_coop_t *coop, uint32_t *sums, tsr_gpu_run_t run, int count)
{
	TSR_GPU_NO_UNROLL
	for (int64_t reach = run.each; reach < count; reach *= 2) {
		const uint32_t before = run.first >= reach && run.first < run.last
						? sums[run.first - reach + run.each - 1]
						: 0;
		tsr_gpu_meet(coop);
		if (run.first < run.last)
			sums[run.last - 1] += before;
		tsr_gpu_meet(coop);
	}
}

TSR_DEV int32_t tsr_coop_scan(tsr_coop_t *coop, int32_t *values, int count)
{
	uint32_t *sums = (uint32_t *)values; /* unsigned, because they may wrap around */
	count = count > 0 ? count : 0;
	const tsr_gpu_run_t run = tsr_gpu_run(coop, count);
	tsr_port_settle(coop);
	tsr_gpu_meet(coop);
	TSR_GPU_NO_UNROLL
	for (int i = run.first + 1; i < run.last; i++)
		sums[i] += sums[i - 1];
	tsr_gpu_meet(coop);
	tsr_gpu_sum_runs(coop, sums, run, count);
	const uint32_t sum = count > 0 ? sums[count - 1] : 0,
		       before = run.first > 0 && run.first < run.last ? sums[run.first - 1] : 0;
	tsr_gpu_meet(coop);
	TSR_GPU_NO_UNROLL
	for (int i = run.last - 1; i > run.first; i--)
		sums[i] = before + sums[i - 1];
	if (run.first < run.last)
		sums[run.first] = before;
	tsr_gpu_meet(coop);
	return (int32_t)sum;
}

#endif
