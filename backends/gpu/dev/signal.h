/* Bodies of dev/signal.h, and of the local signals of dev/atomic.h. */
#ifndef TESSERA_GPU_DEV_SIGNAL_H
#define TESSERA_GPU_DEV_SIGNAL_H

#include "common/dev/states.h"
#include "gpu/dev/atomic.h"
#include "gpu/dev/pointer.h"

/*
 * Number of polls of a flag between two looks at the clock and at the host's
 * abort word. Such a look is a round trip over the bus, during which the flag
 * is not polled. Flags in shared memory are polled many times faster.
 */
template <int SCOPE> constexpr uint32_t tsr_gpu_polls = SCOPE == TSR_SCOPE_BLOCK ? 1u << 16 : 256u;

/*
 * After this many polls, a flag of the device belongs to work that takes long,
 * and the waiter polls less and less often. Hundreds of blocks may wait at the
 * same time, and their polls of a few lines of memory delay the accesses of the
 * blocks that they wait for.
 */
enum { TSR_GPU_POLLS_AT_FULL_SPEED = 8 };

/* ---- raising flags */

/**
 * Called by one thread, after the coop has met. Partner: the acquire in
 * tsr_gpu_poll, on the rank that owns the flag.
 */
template <int ORDER>
TSR_DEV void tsr_gpu_raise(tsr_coop_t *coop, uint64_t *flag, uint64_t value, tsr_signal_op_t op,
			   int peer)
{
	uint64_t *theirs = tsr_gpu_heap_address(coop, tsr_port_global(flag), peer);
	tsr_gpu_record_signal(coop, flag, value, peer);
	if (tsr_gpu_is_far(coop, peer))
		(void)tsr_gpu_far_word<uint64_t>(coop, TSR_GPU_ASK_UPDATE,
						 op == TSR_SIGNAL_ADD ? TSR_GPU_OP_ADD
								      : TSR_GPU_OP_STORE,
						 flag, value, (uint64_t)0, tsr_gpu_releases<ORDER>,
						 peer);
	else if (op == TSR_SIGNAL_ADD)
		(void)tsr_port_add<ORDER, TSR_SCOPE_SYSTEM>(theirs, value);
	else
		tsr_port_store<ORDER, TSR_SCOPE_SYSTEM>(theirs, value);
}

TSR_DEV void tsr_signal(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
			tsr_signal_op_t op, int peer)
{
	const bool far = tsr_gpu_is_far(coop, peer);
	/* Over several nodes a release covers far puts too, and senders settle none. */
	if (!TSR_PORT_NODES && tsr_port_signal_later(coop, flag, value, op, peer))
		return;
	tsr_gpu_before<TSR_RELEASE, TSR_SCOPE_SYSTEM>(coop, far);
	if (tsr_gpu_leads(coop) && tsr_gpu_accepts(coop, flag, sizeof *flag, peer))
		tsr_gpu_raise<TSR_RELEASE>(coop, flag, value, op, peer);
}

TSR_DEV void tsr_signal_all(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
			    tsr_signal_op_t op)
{
	tsr_gpu_before<TSR_RELEASE, TSR_SCOPE_SYSTEM>(coop);
	if (!tsr_gpu_leads(coop) || !tsr_gpu_accepts(coop, flag, sizeof *flag, tsr_rank(coop)))
		return;
	/* One fence, then relaxed accesses: together they are releases, for the cost of one. */
	tsr_port_fence<TSR_RELEASE, TSR_SCOPE_SYSTEM>();
	TSR_GPU_NO_UNROLL
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_gpu_raise<TSR_RELAXED>(coop, flag, value, op, tsr_peer(coop, i));
}

TSR_DEV void tsr_put_signal(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			    size_t size_bytes, TSR_HEAP uint64_t *flag, uint64_t value,
			    tsr_signal_op_t op, int peer)
{
	tsr_put(coop, dst, src, size_bytes, peer);
	tsr_signal(coop, flag, value, op, peer);
}

TSR_DEV void tsr_put_signal_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src,
			       TSR_HEAP uint64_t *flag, uint64_t value, tsr_signal_op_t op,
			       int peer)
{
	tsr_put_2d(coop, dst, src, peer);
	tsr_signal(coop, flag, value, op, peer);
}

template <int SCOPE>
TSR_DEV void tsr_gpu_signal_local(tsr_coop_t *coop, uint64_t *flag, uint64_t value)
{
	static_assert(SCOPE != TSR_SCOPE_SYSTEM,
		      "tsr_signal_local stays on one rank: TSR_SCOPE_BLOCK or TSR_SCOPE_DEVICE");
	tsr_gpu_before<TSR_RELEASE, SCOPE>(coop);
	if (tsr_gpu_acts(coop, flag, tsr_rank(coop))) {
		tsr_gpu_record_signal(coop, flag, value, tsr_rank(coop));
		/* Partner: the acquire in tsr_gpu_poll. */
		tsr_port_store<TSR_RELEASE, SCOPE>(flag, value);
	}
}

/* ---- waiting */

/**
 * A wait until one of `count` flags, checked in turn from `start` on, is at
 * least `value`.
 */
typedef struct tsr_gpu_wait {
	uint64_t *flags;
	int count, start, from;
	uint64_t value, deadline_ns;
	int fatal; /* expiry ends the world */
} tsr_gpu_wait_t;

TSR_DEV uint64_t tsr_gpu_ticks(const tsr_gpu_context_t *context, uint64_t ns)
{
	return ns / 1000000 * context->clock_khz + ns % 1000000 * context->clock_khz / 1000000;
}

/**
 * Leaves the wait record, and ends the world if the wait is fatal. One thread.
 */
TSR_DEV tsr_wait_result_t tsr_gpu_expire(const tsr_coop_t *coop, tsr_gpu_wait_t wait, uint64_t seen)
{
	tsr_gpu_note_t *note = tsr_gpu_note_open(coop);
	if (note) {
		note->peer = wait.from;
		note->address = (uint64_t)(uintptr_t)&wait.flags[wait.start];
		note->size_bytes = sizeof *wait.flags;
		note->expected = wait.value;
		note->seen = seen;
		note->waited_ns = wait.deadline_ns;
		note->word = 0;
	}
	tsr_gpu_note_close(coop, note, TSR_GPU_NOTE_WAIT, (uint32_t)wait.fatal);
	return wait.fatal ? TSR_WAIT_ABORTED : TSR_WAIT_EXPIRED;
}

/**
 * One thread polls, relaxed: an acquire at each poll would invalidate caches
 * each time. When a flag is high enough, a fence acquires what came before it.
 * Partners: tsr_gpu_raise, tsr_gpu_signal_local. Litmus: MP.rel.acq.diffGPU-ss,
 * MP.rel.acq.sameGPU-aa. Returns the flag's index, or -1 - TSR_WAIT_*.
 */
template <int SCOPE> TSR_DEV int tsr_gpu_poll(const tsr_coop_t *coop, tsr_gpu_wait_t wait)
{
	uint64_t begin = 0, first_seen = 0;
	const uint64_t begun = tsr_gpu_record_now();
	int index = wait.start;
	for (uint32_t polls = 1;; polls++) {
		uint64_t seen = tsr_port_load<TSR_RELAXED, SCOPE>(&wait.flags[index]);
		if (seen >= wait.value) {
			tsr_port_fence<TSR_ACQUIRE, SCOPE>();
			tsr_gpu_record_wait(coop, begun, &wait.flags[index], tsr_rank(coop),
					    wait.from, wait.value);
			return index;
		}
		if (index == wait.start)
			first_seen = seen;
		index = index + 1 < wait.count ? index + 1 : 0;
		if (SCOPE == TSR_SCOPE_DEVICE && polls >= TSR_GPU_POLLS_AT_FULL_SPEED)
			tsr_port_rest(polls);
		else
			tsr_port_pause();
		if (polls % tsr_gpu_polls<SCOPE>)
			continue;
		uint64_t now = tsr_port_clock();
		if (!begin)
			begin = now;
		if (tsr_gpu_aborted(coop))
			return -1 - TSR_WAIT_ABORTED;
		if (now - begin >= tsr_gpu_ticks(coop->context, wait.deadline_ns))
			return -1 - tsr_gpu_expire(coop, wait, first_seen);
	}
}

/** The whole coop waits; all threads get the result. */
template <int SCOPE> TSR_DEV int tsr_gpu_wait(tsr_coop_t *coop, tsr_gpu_wait_t wait)
{
	int found = -1 - TSR_WAIT_ABORTED;
	if (wait.count < 1)
		return -1 - TSR_WAIT_EXPIRED;
	if (tsr_gpu_leads(coop) &&
	    (tsr_port_is_shared(wait.flags) ||
	     tsr_gpu_accepts(coop, wait.flags, (uint64_t)wait.count * sizeof *wait.flags,
			     tsr_rank(coop))))
		found = tsr_gpu_poll<SCOPE>(coop, wait);
	return (int)(int32_t)tsr_gpu_after<TSR_ACQUIRE, SCOPE>(coop, (uint32_t)found);
}

TSR_DEV tsr_wait_result_t tsr_gpu_wait_result(int found)
{
	return found >= 0 ? TSR_WAIT_OK : (tsr_wait_result_t)(-1 - found);
}

TSR_DEV tsr_gpu_wait_t tsr_gpu_wait_for(uint64_t *flags, int count, int start, int from,
					uint64_t value, uint64_t deadline_ns, int fatal)
{
	tsr_gpu_wait_t wait;
	wait.flags = flags;
	wait.count = count;
	wait.start = count > 0 ? (start % count + count) % count : 0;
	wait.from = from;
	wait.value = value;
	wait.deadline_ns = deadline_ns;
	wait.fatal = fatal;
	return wait;
}

TSR_DEV tsr_wait_result_t tsr_wait(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
				   int from)
{
	uint64_t deadline_ns = coop->context->deadline_ns;
	return tsr_gpu_wait_result(tsr_gpu_wait<TSR_SCOPE_SYSTEM>(
		coop, tsr_gpu_wait_for(tsr_port_global(flag), 1, 0, from, value, deadline_ns, 1)));
}

TSR_DEV tsr_wait_result_t tsr_wait_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flag, uint64_t value,
					 int from, uint64_t deadline_ns)
{
	return tsr_gpu_wait_result(tsr_gpu_wait<TSR_SCOPE_SYSTEM>(
		coop, tsr_gpu_wait_for(tsr_port_global(flag), 1, 0, from, value, deadline_ns, 0)));
}

TSR_DEV tsr_wait_result_t tsr_gpu_wait_any(tsr_coop_t *coop, tsr_gpu_wait_t wait, int *which_out)
{
	int found = tsr_gpu_wait<TSR_SCOPE_SYSTEM>(coop, wait);
	if (found >= 0)
		*which_out = found;
	return tsr_gpu_wait_result(found);
}

TSR_DEV tsr_wait_result_t tsr_wait_any(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count,
				       int start, uint64_t value, int *which_out)
{
	uint64_t deadline_ns = coop->context->deadline_ns;
	return tsr_gpu_wait_any(coop,
				tsr_gpu_wait_for(tsr_port_global(flags), count, start, TSR_ANY_RANK,
						 value, deadline_ns, 1),
				which_out);
}

TSR_DEV tsr_wait_result_t tsr_wait_any_until(tsr_coop_t *coop, TSR_HEAP uint64_t *flags, int count,
					     int start, uint64_t value, uint64_t deadline_ns,
					     int *which_out)
{
	return tsr_gpu_wait_any(coop,
				tsr_gpu_wait_for(tsr_port_global(flags), count, start, TSR_ANY_RANK,
						 value, deadline_ns, 0),
				which_out);
}

template <int SCOPE>
TSR_DEV tsr_wait_result_t tsr_gpu_wait_local(tsr_coop_t *coop, uint64_t *flag, uint64_t value)
{
	static_assert(SCOPE != TSR_SCOPE_SYSTEM,
		      "tsr_wait_local stays on one rank: TSR_SCOPE_BLOCK or TSR_SCOPE_DEVICE");
	uint64_t deadline_ns = coop->context->deadline_ns;
	return tsr_gpu_wait_result(tsr_gpu_wait<SCOPE>(coop,
						       tsr_gpu_wait_for(flag, 1, 0, tsr_rank(coop),
									value, deadline_ns, 1)));
}

/* ---- the barrier of the ranks */

/**
 * The waits of a barrier, by one thread. So the coop meets once after all of
 * them, not once for each rank.
 */
TSR_DEV tsr_wait_result_t tsr_gpu_wait_for_all(const tsr_coop_t *coop, uint64_t *words,
					       uint64_t epoch)
{
	int found = 0;
	if (!tsr_gpu_accepts(coop, words, TSR_BARRIER_WORDS(tsr_size(coop)) * sizeof *words,
			     tsr_rank(coop)))
		return TSR_WAIT_ABORTED;
	TSR_GPU_NO_UNROLL
	for (int i = 1; i < tsr_size(coop) && found >= 0; i++) {
		int from = tsr_peer(coop, i);
		found = tsr_gpu_poll<TSR_SCOPE_SYSTEM>(
			coop, tsr_gpu_wait_for(words + TSR_BARRIER_ARRIVED(from), 1, 0, from, epoch,
					       coop->context->deadline_ns, 1));
	}
	return tsr_gpu_wait_result(found);
}

TSR_DEV tsr_wait_result_t tsr_barrier_ranks(tsr_coop_t *coop, TSR_HEAP tsr_barrier_state_t *state)
{
	int me = tsr_rank(coop);
	tsr_wait_result_t result = TSR_WAIT_OK;
	TSR_HEAP uint64_t *words = (TSR_HEAP uint64_t *)state;
	/* Relaxed: one block of each rank uses the barrier at a time, so the epoch was stored by
	 * this coop, or in an access ordered before it. */
	uint64_t epoch =
		1 + tsr_gpu_atomic_load<TSR_RELAXED, TSR_SCOPE_DEVICE>(coop,
								       words + TSR_BARRIER_EPOCH,
								       me);
	/* Partner:    the wait below on every other rank. Litmus: MP.rel.acq.diffGPU-ss in each
	 *             direction. */
	tsr_signal_all(coop, words + TSR_BARRIER_ARRIVED(me), epoch, TSR_SIGNAL_SET);
	if (tsr_gpu_leads(coop))
		result = tsr_gpu_wait_for_all(coop, tsr_port_global(words), epoch);
	result = (tsr_wait_result_t)tsr_gpu_after<TSR_ACQUIRE, TSR_SCOPE_SYSTEM>(coop,
										 (uint32_t)result);
	tsr_gpu_atomic_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(coop, words + TSR_BARRIER_EPOCH, epoch,
							    me);
	return result;
}

#endif
