/*
 * What far ranks do to this rank's heap: by copies and by a small kernel, all on
 * one stream, so that one takes effect behind the other. Whoever serves the net
 * calls these functions, one call at a time.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "gpu/far/kernels.h"
#include "gpu/far/nodes.h"
#include "src/base/error.h"
#include "src/base/os/clock.h"

/** Ends the world, because the driver refuses. */
static void refused(tsr_device_t *device, int code)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	char sentence[256], text[128];
	snprintf(sentence, sizeof sentence,
		 "rank %d's GPU cannot serve ranks of other nodes: %s; a kernel may have crashed "
		 "before: see what was said first",
		 gpu->host->rank, gpu->vendor->calls->text(device, code, text));
	gpu->host->abort_world(gpu->host->ctx, TSR_ERR_SYSTEM, sentence);
}

/** Ends the world, because the device has no room for the kernel. */
static void crowded(const tsr_gpu_t *gpu)
{
	char sentence[320];
	snprintf(sentence, sizeof sentence,
		 "rank %d's GPU has no room for the kernel that serves ranks of other nodes: "
		 "blocks that wait have all its multiprocessors; launch at most %d of them "
		 "(resident_blocks of tsr_device_props_t)",
		 gpu->host->rank, (int)gpu->props.resident_blocks);
	gpu->host->abort_world(gpu->host->ctx, TSR_ERR_TIMEOUT, sentence);
}

/** With the device current: waits until the stream has done all. */
static void await(tsr_device_t *device)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	const uint64_t begin_ns = tsr_now_ns();
	int code;
	if (!gpu->nodes->busy)
		return;
	while ((code = gpu->vendor->calls->stream_query(device, gpu->nodes->stream)) ==
	       TSR_GPU_NOT_READY) {
		/* relaxed: it says that the world has ended, and orders nothing */
		if (atomic_load_explicit(&gpu->host->words->aborted, memory_order_relaxed) != 0)
			return;
		if (tsr_now_ns() - begin_ns > gpu->host->deadline_ns) {
			crowded(gpu);
			return;
		}
		sched_yield();
	}
	if (code != TSR_GPU_SUCCESS)
		refused(device, code);
	gpu->nodes->busy = false;
	gpu->nodes->stage = 0;
}

/** With the device current: memory for what comes, which nobody reads any more. */
static size_t take_stage(tsr_device_t *device)
{
	tsr_gpu_nodes_t *nodes = tsr_gpu_of(device)->nodes;
	if (nodes->stage == TSR_GPU_STAGES)
		await(device);
	if (nodes->stage == TSR_GPU_STAGES)
		nodes->stage = 0; /* the world has ended */
	return (size_t)nodes->stage++ * TSR_GPU_STAGE_BYTES;
}

/** Enters the device; false: the world has been ended. */
static bool begin(tsr_device_t *device, int *before)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	if (tsr_gpu_enter(device, before) == TSR_OK)
		return true;
	gpu->host->abort_world(gpu->host->ctx, TSR_ERR_SYSTEM, tsr_last_error());
	return false;
}

/** Leaves it, after work was given to the stream. */
static void end(tsr_device_t *device, int before, int code)
{
	tsr_gpu_of(device)->nodes->busy = true;
	if (code != TSR_GPU_SUCCESS)
		refused(device, code);
	tsr_gpu_leave(device, before);
}

/* ------------------------------------------------------------------ rows */

static char *heap_at(const tsr_gpu_t *gpu, uint64_t offset)
{
	return gpu->launch.heap + offset;
}

/** Starts a copy between the heap's rows and a stage, which has no gaps. */
static int start_copy(tsr_device_t *device, tsr_net_rows_t rows, char *stage, bool to_heap)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	const size_t pitch_bytes = rows.rows > 1 ? rows.pitch_bytes : rows.row_bytes;
	char *heap = heap_at(gpu, rows.offset);
	const tsr_device_copy_t copy = {.dst = to_heap ? heap : stage,
					.src = to_heap ? stage : heap,
					.dst_pitch_bytes = to_heap ? pitch_bytes : rows.row_bytes,
					.src_pitch_bytes = to_heap ? rows.row_bytes : pitch_bytes,
					.row_bytes = rows.row_bytes,
					.rows = rows.rows,
					.peer = gpu->host->rank};
	gpu->nodes->busy = true;
	return gpu->vendor->calls->copy_rows(device, &copy, gpu->nodes->stream);
}

static void serve_write(void *ctx, tsr_net_rows_t to, const void *from)
{
	tsr_device_t *device = ctx;
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	if (!begin(device, &before))
		return;
	char *stage = (char *)gpu->nodes->stages.memory + take_stage(device);
	memcpy(stage, from, to.row_bytes * to.rows);
	end(device, before, start_copy(device, to, stage, true));
}

static void serve_fill(void *ctx, tsr_net_rows_t to, int byte)
{
	tsr_device_t *device = ctx;
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before, code = TSR_GPU_SUCCESS;
	if (!begin(device, &before))
		return;
	for (size_t i = 0; i < to.rows && code == TSR_GPU_SUCCESS; i++)
		code = gpu->vendor->calls->fill(device,
						heap_at(gpu, to.offset + i * to.pitch_bytes), byte,
						to.row_bytes, gpu->nodes->stream);
	end(device, before, code);
}

static void serve_read(void *ctx, tsr_net_rows_t from, void *to)
{
	tsr_device_t *device = ctx;
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	if (!begin(device, &before))
		return;
	char *stage = (char *)gpu->nodes->stages.memory + take_stage(device);
	const int code = start_copy(device, from, stage, false);
	await(device);
	memcpy(to, stage, from.row_bytes * from.rows);
	end(device, before, code);
}

static void serve_settle(void *ctx)
{
	tsr_device_t *device = ctx;
	int before;
	if (!begin(device, &before))
		return;
	await(device);
	tsr_gpu_leave(device, before);
}

/* ------------------------------------------------------------------ words */

/** Whether there is such an access: tsr_gpu_serve knows it. */
static bool is_access(const tsr_net_atomic_t *a)
{
	static const uint8_t bytes[] = {
		[TSR_GPU_WORD_U32] = 4, [TSR_GPU_WORD_I32] = 4, [TSR_GPU_WORD_U64] = 8,
		[TSR_GPU_WORD_I64] = 8, [TSR_GPU_WORD_F32] = 4, [TSR_GPU_WORD_F64] = 8,
		[TSR_GPU_WORD_F16] = 2, [TSR_GPU_WORD_BF16] = 2};
	const bool half = a->kind == TSR_GPU_WORD_F16 || a->kind == TSR_GPU_WORD_BF16,
		   real = half || a->kind == TSR_GPU_WORD_F32 || a->kind == TSR_GPU_WORD_F64,
		   whole = a->op == TSR_GPU_OP_AND || a->op == TSR_GPU_OP_OR ||
			   a->op == TSR_GPU_OP_XOR || a->op == TSR_GPU_OP_CAS;
	return a->kind < sizeof bytes && a->op <= TSR_GPU_OP_CAS && a->bytes == bytes[a->kind] &&
	       a->offset % a->bytes == 0 && !(real && whole) && (!half || a->op == TSR_GPU_OP_ADD);
}

/** With the device current. */
static int launch(tsr_device_t *device, tsr_gpu_service_t *service)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	void *parameters[] = {service};
	return gpu->vendor->calls->launch(device, gpu->nodes->serve, 1, TSR_GPU_SERVE_THREADS, 0,
					  gpu->nodes->stream, parameters);
}

static bool serve_atomic(void *ctx, const tsr_net_atomic_t *a, uint64_t *old_out)
{
	tsr_device_t *device = ctx;
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	tsr_gpu_nodes_t *nodes = gpu->nodes;
	int before;
	if (!is_access(a))
		return false;
	if (!begin(device, &before))
		return true;
	tsr_gpu_service_t service = {.word = heap_at(gpu, a->offset),
				     .count = 1,
				     .bits = a->bits,
				     .expected = a->expected,
				     .old = old_out ? (uint64_t *)(uintptr_t)nodes->old.on_device
						    : NULL,
				     .kind = a->kind,
				     .op = a->op};
	const int code = launch(device, &service);
	nodes->busy = true;
	if (old_out) {
		await(device);
		memcpy(old_out, nodes->old.memory, sizeof *old_out);
	}
	end(device, before, code);
	return true;
}

static bool serve_each(void *ctx, const tsr_net_atomic_t *first, const void *values, size_t count)
{
	tsr_device_t *device = ctx;
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	if (!is_access(first) || first->op == TSR_GPU_OP_LOAD || first->op == TSR_GPU_OP_CAS ||
	    count * first->bytes > TSR_GPU_STAGE_BYTES)
		return false;
	if (!begin(device, &before))
		return true;
	const size_t stage = take_stage(device);
	memcpy((char *)gpu->nodes->stages.memory + stage, values, count * first->bytes);
	tsr_gpu_service_t service = {
		.word = heap_at(gpu, first->offset),
		.operands = (const char *)(uintptr_t)(gpu->nodes->stages.on_device + stage),
		.count = count,
		.kind = first->kind,
		.op = first->op};
	end(device, before, launch(device, &service));
	return true;
}

void tsr_gpu_serve_memory(tsr_device_t *device, tsr_net_memory_t *memory_out)
{
	*memory_out = (tsr_net_memory_t){.ctx = device,
					 .bytes = tsr_gpu_of(device)->launch.heap_bytes,
					 .write = serve_write,
					 .fill = serve_fill,
					 .read = serve_read,
					 .settle = serve_settle,
					 .atomic = serve_atomic,
					 .each = serve_each};
}
