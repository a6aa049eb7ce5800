/*
 * Couriers: threads that look for what kernels ask of far heaps, and give it to
 * the net. A kernel cannot wake a thread, so they look again and again, and less
 * often where nothing was asked for a while.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "gpu/far/nodes.h"
#include "src/base/error.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"

enum {
	AWAKE_NS = 2000000, /* without a request, until a courier rests between two looks */
	REST_NS = 50000
};

static tsr_net_rows_t rows_of(const tsr_gpu_request_t *r)
{
	return (tsr_net_rows_t){.offset = r->offset,
				.pitch_bytes = r->pitch_bytes,
				.row_bytes = r->row_bytes,
				.rows = r->rows};
}

static tsr_net_atomic_t access_of(const tsr_gpu_request_t *r)
{
	return (tsr_net_atomic_t){.offset = r->offset,
				  .kind = r->kind,
				  .op = r->op,
				  .bytes = (uint8_t)r->bytes,
				  .bits = r->bits,
				  .expected = r->expected};
}

/** The same operation on words of several rows, whose operands follow each other in the room. */
static void carry_each(const tsr_host_t *host, const tsr_gpu_request_t *r, const char *room)
{
	tsr_net_atomic_t first = access_of(r);
	for (uint64_t row = 0; row < r->rows; row++) {
		host->net_calls->each(host->net, r->peer, first, room + row * r->row_bytes,
				      r->row_bytes / r->bytes);
		first.offset += r->pitch_bytes;
	}
}

/** Pairs of place and value; a negative place has none. */
static void carry_scattered(const tsr_host_t *host, const tsr_gpu_request_t *r, const char *room)
{
	const int32_t *pair = (const int32_t *)(const void *)room;
	for (uint64_t i = 0; i < r->rows; i++, pair += 2) {
		const tsr_net_rows_t word = {.offset = r->offset + 4 * (uint64_t)pair[0],
					     .pitch_bytes = 4,
					     .row_bytes = 4,
					     .rows = 1};
		if (pair[0] >= 0)
			host->net_calls->put(host->net, r->peer, word, &pair[1], 4);
	}
}

/** Whether the rows of a request lie in its room. */
static bool fits(const tsr_gpu_request_t *r)
{
	const uint64_t most = TSR_GPU_ROOM_BYTES;
	const bool skips = r->what == TSR_GPU_ASK_PUT || r->what == TSR_GPU_ASK_GET;
	return r->rows <= most && r->row_bytes <= most && r->rows * r->row_bytes <= most &&
	       (!skips || r->bits <= most - r->rows * r->row_bytes);
}

/** Does what a request asks for. When this returns the room may be used again. */
static void carry(const tsr_gpu_t *gpu, tsr_gpu_request_t *r, char *room)
{
	const tsr_host_t *host = gpu->host;
	const tsr_net_calls_t *calls = host->net_calls;
	struct tsr_net *net = host->net;
	if (!fits(r)) {
		host->abort_world(host->ctx, TSR_ERR_KERNEL,
				  "a kernel has asked for more than its request can have: "
				  "something has written to the library's memory");
		return;
	}
	switch (r->what) {
	case TSR_GPU_ASK_PUT:
		calls->put(net, r->peer, rows_of(r), room + r->bits, r->row_bytes);
		break;
	case TSR_GPU_ASK_GET:
		calls->get(net, r->peer, rows_of(r), room + r->bits, r->row_bytes);
		break;
	case TSR_GPU_ASK_FETCH:
		r->old = calls->fetch(net, r->peer, access_of(r), r->release);
		break;
	case TSR_GPU_ASK_UPDATE:
		calls->update(net, r->peer, access_of(r), r->release);
		break;
	case TSR_GPU_ASK_EACH:
		carry_each(host, r, room);
		break;
	case TSR_GPU_ASK_SCATTER:
		carry_scattered(host, r, room);
		break;
	default: /* a flush: look */
		break;
	}
}

static tsr_gpu_request_t *request_at(const tsr_gpu_t *gpu, int place)
{
	return (tsr_gpu_request_t *)gpu->nodes->requests.memory + place;
}

static void answer(const tsr_gpu_t *gpu, int place)
{
	/* Partner: the acquire in tsr_gpu_far_ask. Litmus: MP.rel.acq.diffGPU-ss. */
	__atomic_store_n(&request_at(gpu, place)->state, TSR_GPU_REQUEST_ANSWERED,
			 __ATOMIC_RELEASE);
}

/**
 * Looks at each of its requests once; returns how many it has carried. All
 * blocks of a launch may ask for a flush at a time: one flush is for all who have
 * asked before it begins.
 */
static int look(const tsr_gpu_t *gpu, int first)
{
	const tsr_gpu_nodes_t *nodes = gpu->nodes;
	int flushes[TSR_GPU_REQUESTS], flush_count = 0, carried = 0;
	for (int i = first; i < TSR_GPU_REQUESTS; i += TSR_GPU_COURIERS) {
		tsr_gpu_request_t *r = request_at(gpu, i);
		/* Partner: the release in tsr_gpu_far_ask. Litmus: MP.rel.acq.diffGPU-ss. */
		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != TSR_GPU_REQUEST_ASKED)
			continue;
		if (r->what == TSR_GPU_ASK_FLUSH) {
			flushes[flush_count++] = i;
			continue;
		}
		carry(gpu, r, (char *)nodes->rooms.memory + (size_t)i * TSR_GPU_ROOM_BYTES);
		answer(gpu, i);
		carried++;
	}
	if (flush_count > 0)
		gpu->host->net_calls->flush(gpu->host->net);
	for (int i = 0; i < flush_count; i++)
		answer(gpu, flushes[i]);
	return carried + flush_count;
}

/** Hands the end of the world on to kernels that wait for an answer. */
static void relay_end(const tsr_gpu_t *gpu)
{
	/* Relaxed: it says that the world has ended, and orders nothing. Partner:
	 * tsr_gpu_is_over. */
	if (atomic_load_explicit(&gpu->host->words->aborted, memory_order_relaxed) != 0)
		__atomic_store_n(&gpu->page->abort, 1u, __ATOMIC_RELAXED);
}

static void *courier_main(void *data)
{
	const tsr_gpu_courier_t *courier = data;
	const tsr_gpu_t *gpu = tsr_gpu_of(courier->device);
	uint64_t since_ns = tsr_now_ns();
	/* Relaxed: a flag; the join orders all else. */
	while (!atomic_load_explicit(&gpu->nodes->stop, memory_order_relaxed)) {
		if (look(gpu, courier->first) > 0)
			since_ns = 0;
		else if (since_ns == 0)
			since_ns = tsr_now_ns();
		relay_end(gpu);
		if (since_ns != 0 && tsr_now_ns() - since_ns > AWAKE_NS)
			tsr_sleep_until(tsr_now_ns() + REST_NS);
		else
			sched_yield();
	}
	return NULL;
}

tsr_status_t tsr_gpu_couriers_start(tsr_device_t *device)
{
	tsr_gpu_nodes_t *nodes = tsr_gpu_of(device)->nodes;
	sigset_t all, before;
	int code = 0;
	/* the program's handlers run on the program's threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (int i = 0; i < TSR_GPU_COURIERS && code == 0; i++) {
		tsr_gpu_courier_t *courier = &nodes->courier[i];
		*courier = (tsr_gpu_courier_t){.device = device, .first = i};
		code = pthread_create(&courier->thread, NULL, courier_main, courier);
		courier->started = code == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code == 0 ? TSR_OK
			 : tsr_error(TSR_ERR_SYSTEM,
				     "no thread for what kernels send to other nodes (%s)",
				     strerror(code));
}

void tsr_gpu_couriers_stop(tsr_device_t *device)
{
	tsr_gpu_nodes_t *nodes = tsr_gpu_of(device)->nodes;
	if (!nodes)
		return;
	/* Relaxed: a flag; the join orders all else. */
	atomic_store_explicit(&nodes->stop, 1, memory_order_relaxed);
	for (int i = 0; i < TSR_GPU_COURIERS; i++) {
		if (nodes->courier[i].started)
			pthread_join(nodes->courier[i].thread, NULL);
		nodes->courier[i].started = false;
	}
	relay_end(tsr_gpu_of(device)); /* nobody else tells a kernel that still asks */
}
