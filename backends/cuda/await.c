/* Waiting for the device: the host polls, so that it sees the end of the world, lost ranks and notes while kernels run. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "cuda/device.h"
#include "src/base/clock.h"
#include "src/base/error.h"

/* Kernels that take less are waited for without sleeping, so that their times are right; later a rest is lost in the whole. */
#define AWAKE_NS 20000000u
#define REST_NS 50000u
#define LOST_EVERY_NS 100000000u

tsr_status_t tsr_cuda_world_status(const tsr_device_t *device)
{
	/* Relaxed: it says that the world has ended, and orders nothing. */
	if (atomic_load_explicit(&device->host->words->aborted, memory_order_relaxed) != 0)
		return tsr_error(TSR_ERR_ABORTED, "the world has ended: another rank or an earlier call failed; see what it said");
	return TSR_OK;
}

/** Hands the end of the world on to the kernels, and a kernel's on to the world. */
static void relay(tsr_device_t *device)
{
	/* Relaxed: both words say that the world has ended. What a kernel noted before is read behind the note's own acquire. */
	if (__atomic_load_n(&device->page->abort, __ATOMIC_RELAXED) != 0)
		tsr_cuda_notes_read(device);
	else if (atomic_load_explicit(&device->host->words->aborted, memory_order_relaxed) != 0)
		__atomic_store_n(&device->page->abort, 1u, __ATOMIC_RELAXED); /* partner: tsr_gpu_aborted */
}

static void look_for_lost(const tsr_device_t *device)
{
	const tsr_host_t *host = device->host;
	char sentence[256];
	const int lost = host->lost_rank(host->ctx);
	if (lost < 0)
		return;
	snprintf(sentence, sizeof sentence,
		 "rank %d ended without leaving the world while rank %d waited for its kernels; see what that rank printed last",
		 lost, host->rank);
	host->abort_world(host->ctx, TSR_ERR_PEER_LOST, sentence);
}

CUresult tsr_cuda_await(tsr_device_t *device, CUstream stream, CUevent event)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const struct timespec rest = {.tv_nsec = REST_NS};
	const uint64_t begin = tsr_now_ns();
	uint64_t asked = begin;
	CUresult code;
	while ((code = event ? cu->event_query(event) : cu->stream_query(stream)) == CUDA_ERROR_NOT_READY) {
		const uint64_t now = tsr_now_ns();
		relay(device);
		if (now - asked >= LOST_EVERY_NS) {
			look_for_lost(device);
			asked = now;
		}
		if (now - begin < AWAKE_NS)
			sched_yield(); /* ranks may be more than processors */
		else
			nanosleep(&rest, NULL);
	}
	tsr_cuda_notes_read(device);
	return code;
}

/** With the lock. */
static tsr_device_stream_t *stream_of(const tsr_device_t *device, uint64_t serial)
{
	tsr_device_stream_t *stream = device->streams;
	while (stream && stream->serial != serial)
		stream = stream->next;
	return stream;
}

/** With the lock: the kernel that crashed takes the whole device with it. */
static void crash(tsr_device_t *device, uint64_t serial, CUresult code, tsr_cuda_failure_t *failure)
{
	const tsr_device_stream_t *stream = stream_of(device, serial);
	char text[128];
	device->dead = true;
	failure->status = TSR_ERR_KERNEL;
	snprintf(failure->sentence, sizeof failure->sentence,
		 "a kernel of rank %d crashed on its GPU (%s); the last one launched on the stream was %s: build it with "
		 "-DTSR_DEBUG, "
		 "run it on cpuemu, or under compute-sanitizer",
		 device->host->rank, tsr_cuda_text(&device->cu, code, text),
		 stream && stream->last ? stream->last->name : "another");
}

tsr_status_t tsr_cuda_verdict(tsr_device_t *device, uint64_t serial, CUresult code)
{
	tsr_cuda_failure_t failure = {TSR_OK, ""};
	bool crashed = false;
	pthread_mutex_lock(&device->lock);
	tsr_device_stream_t *stream = stream_of(device, serial);
	if (stream && stream->failure.status != TSR_OK) {
		failure = stream->failure;
		stream->failure.status = TSR_OK;
	} else if (code != CUDA_SUCCESS && !device->dead) {
		crash(device, serial, code, &failure);
		crashed = true;
	}
	pthread_mutex_unlock(&device->lock);
	if (crashed)
		device->host->abort_world(device->host->ctx, failure.status, failure.sentence);
	if (failure.status != TSR_OK)
		return tsr_error(failure.status, "%s", failure.sentence);
	return tsr_cuda_world_status(device);
}
