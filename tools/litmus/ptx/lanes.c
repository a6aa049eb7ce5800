/*
 * The driver's part: contexts, modules and launches. The context is the one
 * that the backend uses, so that its heaps are mapped.
 */
#include "tools/litmus/ptx/lanes.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/nvidia/libraries.h"
#include "tessera/program.h"

enum { LOG_BYTES = 4096 };

struct litmus_lanes {
	tsr_world_t *world;
	bench_cuda_t cu;
	int device; /* the driver's handle */
	int count;  /* modules of the plan that is loaded */
	bool lost;  /* a test did not end: the GPU is asked for nothing any more */
	litmus_ptx_shape_t shape;
	void *context, *stream, *event; /* null: not made */
	void *module[LITMUS_RUN_THREADS], *kernel[LITMUS_RUN_THREADS];
};

static tsr_status_t check(const litmus_lanes_t *l, int code, const char *what)
{
	const char *meaning = NULL;

	if (code == 0)
		return TSR_OK;
	if (l->cu.error_string(code, &meaning) != 0)
		meaning = "unknown error";
	return tsr_error(
		TSR_ERR_SYSTEM,
		"the driver cannot %s (%d: %s); see nvidia-smi whether the GPU is full or lost",
		what, code, meaning);
}

static tsr_status_t give_up(litmus_lanes_t *l)
{
	l->lost = true;
	return tsr_error(TSR_ERR_TIMEOUT,
			 "a litmus test did not end on rank %d within %.1f s: see nvidia-smi "
			 "whether the GPU is lost",
			 tsr_world_rank(l->world), (double)tsr_world_deadline_ns(l->world) * 1e-9);
}

/**
 * A context is current on a thread only while one of the functions below runs
 * there, as in the backend.
 */
static tsr_status_t enter(litmus_lanes_t *l)
{
	if (l->lost)
		return give_up(l);
	return check(l, l->cu.push(l->context), "make the GPU's context current");
}

static void leave(const litmus_lanes_t *l)
{
	void *popped;
	(void)l->cu.pop(&popped);
}

/* ------------------------------------------------------------------ opening */

static tsr_status_t open_parts(litmus_lanes_t *l)
{
	char sentence[BENCH_SENTENCE];
	tsr_device_props_t props = {.size = sizeof props};
	void *context = NULL;

	LITMUS_TRY(tsr_world_device(l->world, &props));
	if (!bench_library_find(&bench_cuda_library, &l->cu, sentence))
		return tsr_error(TSR_ERR_NO_DEVICE, "%s", sentence);
	LITMUS_TRY(check(l, l->cu.init(0), "start"));
	LITMUS_TRY(check(l, l->cu.device_get(&l->device, props.ordinal), "find the rank's GPU"));
	LITMUS_TRY(check(l, l->cu.retain(&context, l->device), "give the GPU's context"));
	l->context = context;
	LITMUS_TRY(enter(l));
	tsr_status_t status =
		check(l, l->cu.run.stream_create(&l->stream, BENCH_STREAM_NON_BLOCKING),
		      "make a stream");
	if (status == TSR_OK)
		status = check(l, l->cu.run.event_create(&l->event, BENCH_EVENT_DEFAULT),
			       "make an event");
	leave(l);
	return status;
}

tsr_status_t litmus_lanes_open(tsr_world_t *world, litmus_lanes_t **lanes_out)
{
	litmus_lanes_t *l = calloc(1, sizeof *l);

	if (!l)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the driver's table; free some");
	l->world = world;
	*lanes_out = l;
	return open_parts(l);
}

/** With the context current. */
static void unload(litmus_lanes_t *l)
{
	for (int d = 0; d < l->count; d++)
		(void)l->cu.run.module_unload(l->module[d]);
	l->count = 0;
}

static void close_parts(litmus_lanes_t *l)
{
	if (enter(l) == TSR_OK) {
		unload(l);
		if (l->event)
			(void)l->cu.run.event_destroy(l->event);
		if (l->stream)
			(void)l->cu.run.stream_destroy(l->stream);
		leave(l);
	}
	(void)l->cu.release(l->device);
}

void litmus_lanes_close(litmus_lanes_t *lanes)
{
	/* To unload a module or to release the context is to wait for the kernel that did not end,
	 * on a lost GPU for ever: the context is left to the end of the process, with which the
	 * driver closes it. */
	if (lanes && lanes->context && !lanes->lost)
		close_parts(lanes);
	free(lanes);
}

/* ------------------------------------------------------------------ launching */

/**
 * Polls, so that it has a deadline. The kernels wait for nothing without end,
 * but a lost GPU may.
 */
static tsr_status_t await(litmus_lanes_t *l)
{
	const uint64_t deadline_ns = tsr_world_deadline_ns(l->world), begin_ns = bench_now_ns();
	int code;

	while ((code = l->cu.run.event_query(l->event)) == BENCH_NOT_READY) {
		if (bench_now_ns() - begin_ns > deadline_ns)
			return give_up(l);
		(void)sched_yield();
	}
	return check(l, code, "run a litmus test");
}

/** With the context current. */
static tsr_status_t play(litmus_lanes_t *l, int device, const litmus_ptx_args_t *args, int blocks)
{
	void *arguments[] = {(void *)(uintptr_t)args};

	LITMUS_TRY(check(l,
			 l->cu.run.launch(l->kernel[device], (unsigned)blocks, 1, 1,
					  (unsigned)l->shape.threads, 1, 1, 0, l->stream, arguments,
					  NULL),
			 "launch a litmus test"));
	LITMUS_TRY(check(l, l->cu.run.event_record(l->event, l->stream), "record an event"));
	return await(l);
}

tsr_status_t litmus_lanes_play(litmus_lanes_t *lanes, int device, const litmus_ptx_args_t *args,
			       int blocks)
{
	LITMUS_TRY(enter(lanes));
	tsr_status_t status = play(lanes, device, args, blocks);
	leave(lanes);
	return status;
}

/* ------------------------------------------------------------------ compiling */

/** With the context current: what the driver's compiler says is one line of its log. */
static tsr_status_t compile(litmus_lanes_t *l, const char *name, int device, const char *text)
{
	char log[LOG_BYTES] = "";
	int options[] = {BENCH_CU_JIT_ERROR_LOG, BENCH_CU_JIT_ERROR_LOG_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof log};
	int code = l->cu.module_compile(&l->module[device], text, 2, options, values);

	log[LOG_BYTES - 1] = '\0';
	log[strcspn(log, "\n")] = '\0';
	if (code != 0 && log[0])
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "%s: the driver's compiler says '%.300s': install the driver of "
				 "CUDA 13 or a newer one",
				 name, log);
	LITMUS_TRY(check(l, code, "compile a litmus test"));
	l->count = device + 1;
	return check(l,
		     l->cu.run.module_function(&l->kernel[device], l->module[device],
					       LITMUS_PTX_KERNEL),
		     "find a litmus test's kernel");
}

/**
 * Once with nothing to play: the first launch takes long, and the others would
 * wait in vain for its second one's start.
 */
static tsr_status_t load_device(litmus_lanes_t *l, const litmus_plan_t *plan, int device,
				uint64_t meetings)
{
	const litmus_ptx_args_t nothing = {.meetings = meetings};
	char *text = NULL;

	LITMUS_TRY(litmus_ptx(plan, device, &text));
	tsr_status_t status = compile(l, plan->test->name, device, text);
	free(text);
	return status == TSR_OK ? play(l, device, &nothing, 1) : status;
}

tsr_status_t litmus_lanes_load(litmus_lanes_t *lanes, const litmus_plan_t *plan, uint64_t meetings)
{
	tsr_status_t status = TSR_OK;

	LITMUS_TRY(enter(lanes));
	unload(lanes);
	lanes->shape = litmus_ptx_shape(plan);
	for (int d = 0; status == TSR_OK && d < plan->devices; d++)
		status = load_device(lanes, plan, d, meetings);
	leave(lanes);
	return status;
}
