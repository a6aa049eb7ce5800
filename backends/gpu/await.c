/*
 * Waiting for the device: the host polls, so that it sees the end of the world,
 * lost ranks and notes while kernels run.
 */
#include <sched.h>
#include <stdio.h>

#include "gpu/far/nodes.h"
#include "gpu/gpu.h"
#include "src/base/error.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"

/*
 * Kernels that take less are waited for without sleeping, so that their times
 * are right; later a rest is lost in the whole.
 */
#define AWAKE_NS 20000000u
#define REST_NS 50000u
#define LOST_EVERY_NS 100000000u

tsr_status_t tsr_gpu_world_status(const tsr_gpu_t *gpu)
{
	/* Relaxed: it says that the world has ended, and orders nothing. */
	if (atomic_load_explicit(&gpu->host->words->aborted, memory_order_relaxed) != 0)
		return tsr_error(TSR_ERR_ABORTED, "the world has ended: another rank or an earlier "
						  "call failed; see what it said");
	return TSR_OK;
}

/** Hands the end of the world on to the kernels, and a kernel's on to the world. */
static void relay(tsr_gpu_t *gpu)
{
	/* Relaxed: both words say that the world has ended. What a kernel noted before is read
	 * behind the note's own acquire. */
	if (__atomic_load_n(&gpu->page->abort, __ATOMIC_RELAXED) != 0)
		tsr_gpu_notes_read(gpu);
	else if (atomic_load_explicit(&gpu->host->words->aborted, memory_order_relaxed) != 0)
		/* partner: tsr_gpu_aborted */
		__atomic_store_n(&gpu->page->abort, 1u, __ATOMIC_RELAXED);
}

static void look_for_lost(const tsr_gpu_t *gpu)
{
	const tsr_host_t *host = gpu->host;
	char sentence[256];
	const int lost = host->lost_rank(host->ctx);
	if (lost < 0)
		return;
	snprintf(sentence, sizeof sentence,
		 "rank %d ended without leaving the world while rank %d waited for its kernels; "
		 "see what that rank printed last",
		 lost, host->rank);
	host->abort_world(host->ctx, TSR_ERR_PEER_LOST, sentence);
}

/**
 * Asks until the stream, or the event where it is not null, has come to its
 * end. Returns the driver's last answer.
 */
static int await(tsr_device_t *device, void *stream, void *event)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	const uint64_t begin = tsr_now_ns();
	uint64_t asked = begin;
	int code;
	while ((code = event ? calls->event_query(device, event)
			     : calls->stream_query(device, stream)) == TSR_GPU_NOT_READY) {
		const uint64_t now = tsr_now_ns();
		relay(gpu);
		if (now - asked >= LOST_EVERY_NS) {
			look_for_lost(gpu);
			asked = now;
		}
		if (now - begin < AWAKE_NS)
			sched_yield(); /* ranks may be more than processors */
		else
			tsr_sleep_until(now + REST_NS);
	}
	tsr_gpu_notes_read(gpu);
	return code;
}

/** With the lock: the kernel that crashed takes the whole device with it. */
static void crash(tsr_gpu_t *gpu, uint64_t serial, const char *trouble,
		  struct tsr_gpu_failure *failure)
{
	const tsr_gpu_track_t *stream = tsr_gpu_stream_find(gpu, serial);
	gpu->dead = true;
	failure->status = TSR_ERR_KERNEL;
	snprintf(failure->sentence, sizeof failure->sentence,
		 "a kernel of rank %d crashed on its GPU (%s); the last one launched on the stream "
		 "was %s: build it with "
		 "-DTSR_DEBUG, "
		 "run it on cpuemu, or under %s",
		 gpu->host->rank, trouble, stream && stream->last ? stream->last->name : "another",
		 gpu->vendor->debugger);
}

/**
 * The first failure of stream `serial`, which is taken; else that the driver
 * has lost the device, where `trouble` says what it said; else that the world
 * has ended; else TSR_OK.
 */
static tsr_status_t verdict(tsr_gpu_t *gpu, uint64_t serial, const char *trouble)
{
	struct tsr_gpu_failure failure = {TSR_OK, ""};
	bool crashed = false;
	pthread_mutex_lock(&gpu->lock);
	tsr_gpu_track_t *stream = tsr_gpu_stream_find(gpu, serial);
	if (stream && stream->failure.status != TSR_OK) {
		failure = stream->failure;
		stream->failure.status = TSR_OK;
	} else if (trouble && !gpu->dead) {
		crash(gpu, serial, trouble, &failure);
		crashed = true;
	}
	pthread_mutex_unlock(&gpu->lock);
	if (crashed)
		gpu->host->abort_world(gpu->host->ctx, failure.status, failure.sentence);
	if (failure.status != TSR_OK)
		return tsr_error(failure.status, "%s", failure.sentence);
	return tsr_gpu_world_status(gpu);
}

tsr_status_t tsr_gpu_wait(tsr_device_t *device, void *stream, void *event, uint64_t serial)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	char text[128];
	int before;
	const tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	const int code = await(device, stream, event);
	const char *trouble =
		code == TSR_GPU_SUCCESS ? NULL : gpu->vendor->calls->text(device, code, text);
	tsr_gpu_leave(device, before);
	if (code == TSR_GPU_SUCCESS)
		tsr_gpu_far_flush(gpu);
	return verdict(gpu, serial, trouble);
}
