/*
 * Runs one block of a kernel, a thread of the operating system for each lane,
 * and fills its operands with whole numbers: what the programs beside this have
 * in common. Each includes this once, behind tessera/dev.h.
 */
#ifndef TESSERA_LOCKSTEP_BLOCK_H
#define TESSERA_LOCKSTEP_BLOCK_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LOCKSTEP_RANKS = 2 }; /* at most */

pthread_barrier_t lockstep_block, lockstep_worker;
int lockstep_worker_threads;
lockstep_wave_t lockstep_waves[LOCKSTEP_WAVES];
bool lockstep_says[LOCKSTEP_WAVES][LOCKSTEP_LANES];
thread_local int lockstep_thread;

/** One lane of a launch. */
template <typename ARGS> struct lockstep_lane {
	void (*entry)(tsr_gpu_context_t, ARGS);
	const tsr_gpu_context_t *context;
	const ARGS *args;
	int thread;
};

template <typename ARGS> static void *lockstep_run_lane(void *argument)
{
	const lockstep_lane<ARGS> *lane = (const lockstep_lane<ARGS> *)argument;
	lockstep_thread = lane->thread;
	lane->entry(*lane->context, *lane->args);
	return nullptr;
}

/** A block of `count` threads. Those of the worker that is tested are `worker` many. */
template <typename ARGS>
static void lockstep_run(void (*entry)(tsr_gpu_context_t, ARGS), int count, int worker,
			 const tsr_gpu_context_t *context, const ARGS *args)
{
	static lockstep_lane<ARGS> lanes[LOCKSTEP_WAVES * LOCKSTEP_LANES];
	pthread_t threads[LOCKSTEP_WAVES * LOCKSTEP_LANES];
	pthread_barrier_init(&lockstep_block, nullptr, (unsigned)count);
	pthread_barrier_init(&lockstep_worker, nullptr, (unsigned)worker);
	lockstep_worker_threads = worker;
	for (int i = 0; i < LOCKSTEP_WAVES; i++)
		pthread_barrier_init(&lockstep_waves[i].meet, nullptr, LOCKSTEP_LANES);
	for (int i = 0; i < count; i++) {
		lanes[i] = {entry, context, args, i};
		if (pthread_create(&threads[i], nullptr, lockstep_run_lane<ARGS>, &lanes[i]))
			abort();
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], nullptr);
	pthread_barrier_destroy(&lockstep_block);
	pthread_barrier_destroy(&lockstep_worker);
	for (int i = 0; i < LOCKSTEP_WAVES; i++)
		pthread_barrier_destroy(&lockstep_waves[i].meet);
}

/** What CUDA's main loops make their tensor maps in. */
[[maybe_unused]] static void lockstep_give_workspace(tsr_gpu_context_t *context)
{
#if defined(__CUDACC__)
	enum {
		BYTES = sizeof(tsr_cuda_workspace_t) +
			LOCKSTEP_RANKS * TSR_CUDA_PLACES_EACH * sizeof(tsr_cuda_place_t)
	};
	alignas(128) static char workspace[BYTES];
	context->workspace = workspace;
	context->workspace_parts = 1;
	context->workspace_each = LOCKSTEP_RANKS * TSR_CUDA_PLACES_EACH;
	memset(workspace, 0, sizeof workspace);
#else
	(void)context;
#endif
}

/** A whole number from -4 to 4: products of such numbers are exact in every type. */
static float lockstep_number(int kind, int64_t row, int64_t col, int rank = 0)
{
	const uint64_t x =
		(uint64_t)(row * 1000003 + col * 10007 + rank * 101 + kind) * 0x9e3779b97f4a7c15u;
	return (float)((int)(x >> 40) % 9 - 4);
}

static void lockstep_put(tsr_dtype_t dtype, char *at, int64_t index, float x)
{
	const uint16_t half = dtype == TSR_F16 ? tsr_port_round_f16(x)
					       : (uint16_t)(__builtin_bit_cast(uint32_t, x) >> 16);
	if (dtype == TSR_F32)
		memcpy(at + index * 4, &x, 4);
	else
		memcpy(at + index * 2, &half, 2);
}

#endif
