/*
 * Signals, waits, barriers, meetings and flushes, of blocks and of workers;
 * compiled for the golden lines as probe_atomics.c is.
 */
#include "tessera/dev.h"

typedef struct probe_args {
	TSR_HEAP uint64_t *flags;
	TSR_HEAP unsigned char *data;
	TSR_HEAP tsr_barrier_state_t *barrier;
	tsr_view_t view;
	int32_t peer, count;
} probe_args_t;

typedef struct probe_shared {
	uint64_t flags[2];
} probe_shared_t;

TSR_KERNEL(probe_sync, probe_args_t, a)
{
	tsr_sync(block);
}

TSR_KERNEL(probe_flush, probe_args_t, a)
{
	tsr_flush(block, a->peer);
}

TSR_KERNEL(probe_signal_set, probe_args_t, a)
{
	tsr_signal(block, a->flags, 7, TSR_SIGNAL_SET, a->peer);
}

TSR_KERNEL(probe_signal_add, probe_args_t, a)
{
	tsr_signal(block, a->flags, 1, TSR_SIGNAL_ADD, a->peer);
}

TSR_KERNEL(probe_signal_all, probe_args_t, a)
{
	tsr_signal_all(block, a->flags, 7, TSR_SIGNAL_SET);
}

TSR_KERNEL(probe_put_signal, probe_args_t, a)
{
	tsr_put_signal(block, a->data, a->data, 64, a->flags, 7, TSR_SIGNAL_SET, a->peer);
}

TSR_KERNEL(probe_put_signal_2d, probe_args_t, a)
{
	tsr_put_signal_2d(block, a->view, a->view, a->flags, 7, TSR_SIGNAL_SET, a->peer);
}

/*
 * Stores of all threads, a fence and a relaxed store: a meeting stands between
 * what other waves have put and the fence.
 */
TSR_KERNEL(probe_put_fence_store, probe_args_t, a)
{
	tsr_put(block, a->data, a->data, 64, a->peer);
	tsr_fence(block, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, a->flags, (uint64_t)7, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

/* The other side: one between the fence and what all threads fetch. */
TSR_KERNEL(probe_load_fence_get, probe_args_t, a)
{
	if (tsr_atomic_load(block, a->flags, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_SYSTEM) < 7)
		return;
	tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	tsr_get(block, a->data, a->data, 64, a->peer);
}

TSR_KERNEL(probe_wait, probe_args_t, a)
{
	tsr_wait(block, a->flags, 7, a->peer);
}

TSR_KERNEL(probe_wait_until, probe_args_t, a)
{
	tsr_wait_until(block, a->flags, 7, a->peer, 1000000);
}

TSR_KERNEL(probe_wait_any, probe_args_t, a)
{
	int first = -1;
	tsr_wait_any(block, a->flags, a->count, 0, 7, &first);
	tsr_signal(block, a->flags + first, 8, TSR_SIGNAL_SET, a->peer);
}

TSR_KERNEL(probe_wait_any_until, probe_args_t, a)
{
	int first = -1;
	tsr_wait_any_until(block, a->flags, a->count, 1, 7, 1000000, &first);
	tsr_signal(block, a->flags + first, 8, TSR_SIGNAL_SET, a->peer);
}

TSR_KERNEL(probe_barrier_ranks, probe_args_t, a)
{
	tsr_barrier_ranks(block, a->barrier);
}

TSR_KERNEL(probe_signal_local_device, probe_args_t, a)
{
	tsr_signal_local(block, a->flags, 7, TSR_SCOPE_DEVICE);
}

TSR_KERNEL(probe_wait_local_device, probe_args_t, a)
{
	tsr_wait_local(block, a->flags, 7, TSR_SCOPE_DEVICE);
}

TSR_KERNEL_SPLIT(probe_workers_sync, 2, probe_shared_t, probe_args_t, a)
{
	tsr_sync(worker);
}

TSR_KERNEL_SPLIT(probe_workers_clear, 3, probe_shared_t, probe_args_t, a)
{
	tsr_shared_clear(block, shared, sizeof *shared);
}

TSR_KERNEL_SPLIT(probe_workers_signal, 2, probe_shared_t, probe_args_t, a)
{
	if (tsr_worker_index(worker) == 0)
		tsr_signal(worker, a->flags, 7, TSR_SIGNAL_SET, a->peer);
}

TSR_KERNEL_SPLIT(probe_workers_local, 2, probe_shared_t, probe_args_t, a)
{
	if (tsr_worker_index(worker) == 0)
		tsr_signal_local(worker, &shared->flags[0], 1, TSR_SCOPE_BLOCK);
	else
		tsr_wait_local(worker, &shared->flags[0], 1, TSR_SCOPE_BLOCK);
}

TSR_KERNEL_WIDE(probe_wide, probe_args_t, a)
{
	tsr_put_signal(block, a->data, a->data, 4096, a->flags, 7, TSR_SIGNAL_SET, a->peer);
	tsr_wait(block, a->flags, 7, a->peer);
}
