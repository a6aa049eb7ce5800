/*
 * The device's clock and the host's. The host asks a kernel for the time again
 * and again: the kernel's look at its clock lies between a question and its
 * answer, so half of the quickest round trip is how far both clocks may be
 * apart. Ranks of one host share its clock, and so their devices' clocks are
 * aligned too.
 */
#include <math.h>
#include <string.h>

#include "gpu/gpu.h"
#include "gpu/record.h"
#include "src/base/error.h"
#include "src/base/os/clock.h"

enum {
	ANSWER_NS = 1000000000, /* a question without an answer ends the comparison */
	/* A shorter time between two comparisons says less about the clock's rate than the vendor
	 * does. */
	RATE_NS = 20000000
};

/** Asks until the round is answered. False: it is not. */
static bool ask(tsr_gpu_clock_t *clock, uint32_t round, tsr_gpu_moment_t *moment)
{
	const uint64_t begin = tsr_now_ns();
	uint64_t end = begin;
	/* Partner: the acquire in the kernel tsr_gpu_clock. Litmus: MP.rel.acq.diffGPU-ss. */
	__atomic_store_n(&clock->asked, round, __ATOMIC_RELEASE);
	/* Partner: its release. Litmus: the same. */
	while (__atomic_load_n(&clock->answered, __ATOMIC_ACQUIRE) < round) {
		end = tsr_now_ns();
		if (end - begin > ANSWER_NS)
			return false;
	}
	end = tsr_now_ns();
	if (round > 1 && (end - begin) / 2 >= moment->error_ns)
		return true;
	moment->ticks = clock->ticks;
	moment->host_ns = begin + (end - begin) / 2;
	moment->error_ns = (end - begin) / 2;
	return true;
}

/** With the kernel loaded. */
static tsr_status_t compare(tsr_device_t *device, void *function, tsr_gpu_moment_t *moment)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	tsr_gpu_clock_t *clock = &gpu->page->clock;
	const uint32_t khz = gpu->vendor->clock_khz(device);
	uint64_t at = gpu->page_on_device + offsetof(tsr_gpu_page_t, clock),
		 limit = (uint64_t)khz * (ANSWER_NS / 1000000);
	void *parameters[] = {&at, &limit};
	bool answered = true;
	memset(clock, 0, sizeof *clock);
	int code = calls->launch(device, function, 1, 1, 0, gpu->side, parameters);
	for (uint32_t round = 1;
	     code == TSR_GPU_SUCCESS && answered && round <= TSR_GPU_CLOCK_ROUNDS; round++)
		answered = ask(clock, round, moment);
	if (code == TSR_GPU_SUCCESS)
		code = calls->stream_sync(device, gpu->side);
	if (code == TSR_GPU_SUCCESS && !answered)
		return tsr_error(
			TSR_ERR_SYSTEM,
			"rank %d's GPU does not say the time of its clock: a kernel may "
			"still be running; synchronise all streams before tsr_record_start",
			gpu->host->rank);
	moment->error_ns += clock->step * 1000000 / khz;
	return tsr_gpu_check(device, code, TSR_GPU_SEE_FIRST,
			     "asking rank %d's GPU for the time of its clock", gpu->host->rank);
}

tsr_status_t tsr_gpu_clock_compare(tsr_device_t *device, tsr_gpu_moment_t *moment_out)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	void *module = NULL, *function = NULL;
	int code = calls->module_load(device, &module, gpu->vendor->check_image(device)->bytes);
	if (code == TSR_GPU_SUCCESS)
		code = calls->module_function(device, &function, module, TSR_GPU_CLOCK_ENTRY);
	tsr_status_t status = tsr_gpu_check(device, code, gpu->vendor->code_is_refused,
					    "loading the kernel that tells the time");
	if (status == TSR_OK)
		status = compare(device, function, moment_out);
	if (module)
		(void)calls->module_unload(device, module);
	return status;
}

uint64_t tsr_gpu_clock_ns(const tsr_gpu_t *gpu, const tsr_gpu_recording_t *recording,
			  uint64_t ticks)
{
	const tsr_gpu_moment_t *begin = &recording->begin, *end = &recording->end;
	const uint64_t between_ns = end->host_ns - begin->host_ns;
	const int64_t since = (int64_t)(ticks - begin->ticks);
	if (ticks == 0)
		return 0;
	if (between_ns < RATE_NS || end->ticks <= begin->ticks)
		return begin->host_ns +
		       (uint64_t)(since * 1000000 / (int64_t)gpu->launch.clock_khz);
	const double ns_per_tick = (double)between_ns / (double)(end->ticks - begin->ticks);
	return begin->host_ns + (uint64_t)llround((double)since * ns_per_tick);
}
