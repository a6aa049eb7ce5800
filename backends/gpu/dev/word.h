/* Bodies of dev/word.h. */
#ifndef TESSERA_GPU_DEV_WORD_H
#define TESSERA_GPU_DEV_WORD_H

#include "gpu/dev/signal.h"

/** A wait for a word of one rank. */
template <typename T> struct tsr_gpu_word_wait {
	T *p; /* my address of it */
	T value;
	tsr_cmp_t cmp;
	int peer, from, fatal;
	uint64_t deadline_ns;
};

template <typename T> TSR_DEV bool tsr_gpu_compares(tsr_cmp_t cmp, T seen, T value)
{
	switch (cmp) {
	case TSR_CMP_EQ:
		return seen == value;
	case TSR_CMP_NE:
		return seen != value;
	case TSR_CMP_LT:
		return seen < value;
	case TSR_CMP_LE:
		return seen <= value;
	case TSR_CMP_GT:
		return seen > value;
	case TSR_CMP_ANY:
		return (seen & value) != 0;
	default:
		return seen >= value;
	}
}

/** As tsr_gpu_expire. */
template <typename T>
TSR_DEV tsr_wait_result_t tsr_gpu_word_expire(const tsr_coop_t *coop,
					      const tsr_gpu_word_wait<T> &wait, T seen)
{
	tsr_gpu_note_t *note = tsr_gpu_note_open(coop);
	if (note) {
		note->peer = wait.from;
		note->word = 1u + (uint32_t)wait.cmp;
		note->owner = wait.peer;
		note->address = (uint64_t)(uintptr_t)wait.p;
		note->size_bytes = sizeof *wait.p;
		note->expected = wait.value;
		note->seen = seen;
		note->waited_ns = wait.deadline_ns;
	}
	tsr_gpu_note_close(coop, note, TSR_GPU_NOTE_WAIT, (uint32_t)wait.fatal);
	return wait.fatal ? TSR_WAIT_ABORTED : TSR_WAIT_EXPIRED;
}

/**
 * One thread polls, relaxed. When the word compares, a fence acquires what came
 * before it. Partner: any release of the word, on any rank. Litmus:
 * MP.rel.acq.diffGPU-ss, and MP.rmw.diffGPU-ss for a word that is counted.
 */
template <int ORDER, int SCOPE, typename T>
TSR_DEV tsr_wait_result_t tsr_gpu_poll_word(const tsr_coop_t *coop,
					    const tsr_gpu_word_wait<T> &wait, T *seen_out)
{
	T *theirs = tsr_gpu_peer_address(coop, wait.p, wait.peer);
	const bool far = tsr_gpu_is_far(coop, wait.peer);
	uint64_t begin = 0;
	const uint64_t begun = tsr_gpu_record_now();
	for (uint32_t polls = 1;; polls++) {
		const T seen = far ? tsr_gpu_far_load<T>(coop, wait.p, wait.peer)
				   : tsr_port_load<TSR_RELAXED, SCOPE>(theirs);
		if (tsr_gpu_compares(wait.cmp, seen, wait.value)) {
			if constexpr (ORDER == TSR_ACQUIRE)
				tsr_port_fence<TSR_ACQUIRE, SCOPE>();
			tsr_gpu_record_wait(coop, begun, wait.p, wait.peer, wait.from, wait.value);
			*seen_out = seen;
			return TSR_WAIT_OK;
		}
		if (SCOPE == TSR_SCOPE_DEVICE && polls >= TSR_GPU_POLLS_AT_FULL_SPEED)
			tsr_port_rest(polls);
		else
			tsr_port_pause();
		if (!far && polls % tsr_gpu_polls<SCOPE>)
			continue;
		const uint64_t now = tsr_port_clock();
		if (!begin)
			begin = now;
		if (tsr_gpu_aborted(coop))
			return TSR_WAIT_ABORTED;
		if (now - begin >= tsr_gpu_ticks(coop->context, wait.deadline_ns))
			return tsr_gpu_word_expire(coop, wait, seen);
	}
}

/** The whole coop waits; all threads get the result and the value. */
template <int ORDER, int SCOPE, typename T>
TSR_DEV tsr_wait_result_t tsr_gpu_wait_for_word(tsr_coop_t *coop, const tsr_gpu_word_wait<T> &wait,
						uint64_t *seen_out)
{
	static_assert(ORDER == TSR_RELAXED || ORDER == TSR_ACQUIRE,
		      "a wait has TSR_RELAXED or TSR_ACQUIRE");
	static_assert((sizeof(T) == 4 || sizeof(T) == 8) && T(-1) > T(0),
		      "a word that is waited for is a u32 or u64");
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	T seen = 0;
	tsr_port_settle(coop);
	if (tsr_gpu_acts(coop, wait.p, wait.peer))
		how = tsr_gpu_poll_word<ORDER, SCOPE>(coop, wait, &seen);
	how = (tsr_wait_result_t)tsr_gpu_after<TSR_RELAXED, SCOPE>(coop, (uint32_t)how);
	const uint64_t told = tsr_gpu_after<ORDER, SCOPE>(coop, (uint64_t)seen);
	if (how == TSR_WAIT_OK && seen_out)
		*seen_out = told;
	return how;
}

template <int ORDER, int SCOPE, typename T>
TSR_DEV tsr_wait_result_t tsr_gpu_wait_word_until(tsr_coop_t *coop, T *p, tsr_cmp_t cmp,
						  uint64_t value, int peer, int from,
						  uint64_t deadline_ns, uint64_t *seen_out)
{
	const tsr_gpu_word_wait<T> wait = {p, (T)value, cmp, peer, from, 0, deadline_ns};
	return tsr_gpu_wait_for_word<ORDER, SCOPE>(coop, wait, seen_out);
}

template <int ORDER, int SCOPE, typename T>
TSR_DEV tsr_wait_result_t tsr_gpu_wait_word(tsr_coop_t *coop, T *p, tsr_cmp_t cmp, uint64_t value,
					    int peer, int from, uint64_t *seen_out)
{
	const tsr_gpu_word_wait<T> wait = {
		p, (T)value, cmp, peer, from, 1, coop->context->deadline_ns};
	return tsr_gpu_wait_for_word<ORDER, SCOPE>(coop, wait, seen_out);
}

/* This port does not check who releases a lock (common/dev/compose.h). */
TSR_DEV int tsr_port_may_unlock(tsr_coop_t *coop, TSR_HEAP uint64_t *lock, int peer)
{
	(void)coop, (void)lock, (void)peer;
	return 1;
}

#endif
