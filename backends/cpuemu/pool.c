/* The pool: a thread for each worker of each block that may be resident. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cpuemu/dev/memory/far.h"
#include "cpuemu/dev/memory/scoped.h"
#include "cpuemu/dev/passes/passes.h"
#include "cpuemu/device.h"
#include "cpuemu/events.h"
#include "cpuemu/shared.h"
#include "src/base/error.h"
#include "src/base/os/clock.h"

/*
 * 1 MiB for a kernel's local variables, and room for the library's calls. Less
 * than 2 MiB, because the system may back larger stacks by huge pages.
 */
enum { STACK_BYTES = 3 << 19 };

/** With the lock: the next worker to begin, or null when the pool ends. */
static tsr_cpu_block_t *next_worker(tsr_device_t *device, int *index_out)
{
	while (!device->ready && !device->closing)
		pthread_cond_wait(&device->work, &device->lock);
	tsr_cpu_block_t *block = device->ready;
	if (!block)
		return NULL;
	*index_out = block->taken++;
	if (block->taken == (int)block->kernel->workers) {
		device->ready = block->next;
		if (!device->ready)
			device->ready_tail = &device->ready;
	}
	return block;
}

/** The kernel, whose frames are below this one's. */
__attribute__((noinline)) static void run_kernel(tsr_coop_t *block, tsr_coop_t *worker)
{
	const tsr_cpu_block_t *b = block->block;
	block->worker->stack = __builtin_frame_address(0);
	block->worker->whole = block;
	b->kernel->cpu(block, worker, b->launch->args, b->shared);
	block->worker->stack = NULL; /* and no jump in place of the call */
}

/** Whether the world has ended. Relaxed: it orders nothing. */
static bool is_over(const tsr_cpu_env_t *env)
{
	return atomic_load_explicit(&env->host->words->aborted, memory_order_relaxed) != 0;
}

void tsr_cpu_run_worker(tsr_cpu_worker_t *worker, tsr_cpu_block_t *block, int index)
{
	tsr_cpu_env_t *env = block->env;
	tsr_cpu_launch_t *launch = block->launch;
	int workers = (int)block->kernel->workers;
	tsr_coop_t all = {block,        worker,       index, workers, TSR_CPU_BLOCK,
			  launch->file, launch->line, NULL,  0};
	tsr_coop_t one = {block, worker, 0, 1, TSR_CPU_WORKER, launch->file, launch->line, NULL, 0};
	worker->index = index;
	worker->in_each = false;
	if (worker->passes)
		worker->passes->planned = false;
	memset(&worker->record, 0, sizeof worker->record);
	worker->events = NULL;
	if (launch->entries) {
		worker->record = launch->entries[block->index * workers + index]; /* who it is */
		worker->events = &launch->events[block->index * workers + index];
	}
	if (launch->gate.pass && !is_over(env))
		launch->gate.pass(launch->gate.ctx, launch->gate.number);
	worker->record.begin_ns = tsr_now_ns();
	/* Relaxed: a count for guesses. */
	atomic_fetch_add_explicit(&env->running, 1, memory_order_relaxed);
	if (!is_over(env)) {
		tsr_scoped_enter(block);
		run_kernel(&all, &one);
		tsr_cpu_shared_check(&all);
		/* the end of a launch is a release at system scope */
		tsr_far_release(env, TSR_SCOPE_SYSTEM);
		tsr_scoped_leave();
	}
	atomic_fetch_sub_explicit(&env->running, 1, memory_order_relaxed);
	worker->record.end_ns = tsr_now_ns();
	worker->arena.depth = 0;
	if (launch->entries)
		launch->entries[block->index * workers + index] = worker->record;
	worker->events = NULL;
}

/** With the lock: a worker has ended, and with the last one its block. */
static void worker_ended(tsr_device_t *device, tsr_cpu_block_t *block)
{
	if (--block->unfinished > 0)
		return;
	if (block->shared && block->launch->begun < block->launch->blocks) {
		pthread_mutex_unlock(&device->lock); /* nobody else has the block now */
		tsr_cpu_shared_reset(block->shared, block->shared_bytes);
		pthread_mutex_lock(&device->lock);
	}
	tsr_cpu_block_ended(block);
}

static void *pool_thread(void *argument)
{
	tsr_cpu_thread_t *thread = argument;
	tsr_device_t *device = thread->device;
	tsr_cpu_block_t *block;
	int index;
	pthread_mutex_lock(&device->lock);
	while ((block = next_worker(device, &index))) {
		pthread_mutex_unlock(&device->lock);
		tsr_cpu_run_worker(&thread->worker, block, index);
		pthread_mutex_lock(&device->lock);
		worker_ended(device, block);
	}
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

/** Starts a thread that leaves signals to the program's own threads. */
static int thread_start(tsr_cpu_thread_t *thread)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	sigfillset(&all);
	pthread_attr_init(&attributes);
	/* of addresses: memory is used where it is touched */
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&thread->id, &attributes, pool_thread, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return failed;
}

static tsr_status_t thread_add(tsr_device_t *device)
{
	tsr_cpu_thread_t *thread = calloc(1, sizeof *thread);
	if (!thread)
		return tsr_error(
			TSR_ERR_NO_MEMORY,
			"no host memory for the emulator's %d-th thread; launch fewer blocks",
			device->thread_count + 1);
	thread->device = device;
	int failed = thread_start(thread);
	if (failed) {
		free(thread);
		return tsr_error(TSR_ERR_SYSTEM,
				 "starting the emulator's %d-th thread failed: %s; launch fewer "
				 "blocks, or set "
				 "TESSERA_CPUEMU_RESIDENT_BLOCKS lower",
				 device->thread_count + 1, strerror(failed));
	}
	thread->next = device->threads;
	device->threads = thread;
	device->thread_count++;
	return TSR_OK;
}

tsr_status_t tsr_cpu_pool_grow(tsr_device_t *device)
{
	if (tsr_cpu_explored(device))
		return TSR_OK; /* its workers are fibres */
	long most = (long)device->props.resident_blocks * device->props.workers_per_block,
	     needed = 0, engines = 0;
	for (const tsr_device_stream_t *stream = device->streams; stream; stream = stream->next) {
		needed += stream->threads; /* a stream runs one launch at a time */
		engines += stream->copies;
	}
	needed = (needed < most ? needed : most) + engines;
	tsr_status_t status = TSR_OK;
	while (status == TSR_OK && device->thread_count < needed)
		status = thread_add(device);
	return status;
}

void tsr_cpu_pool_close(tsr_device_t *device)
{
	pthread_mutex_lock(&device->lock);
	device->closing = true;
	pthread_cond_broadcast(&device->work);
	pthread_mutex_unlock(&device->lock);
	while (device->threads) {
		tsr_cpu_thread_t *thread = device->threads;
		device->threads = thread->next;
		pthread_join(thread->id, NULL);
		tsr_cpu_arena_clear(&thread->worker.arena);
		free(thread->worker.passes);
		free(thread);
	}
}
