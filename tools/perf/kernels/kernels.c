#include "tools/perf/kernels/kernels.h"
#include "tessera/dev.h"
#include "tools/perf/kernels/count.h"

TSR_FN TSR_HEAP void *perf_at(TSR_HEAP void *base, uint64_t offset_bytes)
{
	return (TSR_HEAP char *)base + offset_bytes;
}

/* ------------------------------------------------------------------ put, get, copy */

/*
 * The blocks take chunks in turn, so that all are at neighbouring memory. What
 * is moved is complete when the launch ends.
 */
TSR_FN uint64_t perf_first(const tsr_coop_t *block, const perf_move_args_t *a)
{
	return (uint64_t)tsr_block_index(block) * a->chunk_bytes;
}

TSR_FN uint64_t perf_step(const tsr_coop_t *block, const perf_move_args_t *a)
{
	return (uint64_t)tsr_block_count(block) * a->chunk_bytes;
}

/** Bytes of the chunk at `at`: the last one ends where the move ends. */
TSR_FN uint64_t perf_chunk(const perf_move_args_t *a, uint64_t at)
{
	return a->size_bytes - at < a->chunk_bytes ? a->size_bytes - at : a->chunk_bytes;
}

TSR_KERNEL_WIDE(perf_put, perf_move_args_t, a)
{
	for (uint64_t i = 0; i < a->repeats; i++)
		for (uint64_t at = perf_first(block, a); at < a->size_bytes;
		     at += perf_step(block, a))
			tsr_put(block, perf_at(a->dst, at), perf_at(a->src, at), perf_chunk(a, at),
				a->dst_peer);
}

TSR_KERNEL_WIDE(perf_get, perf_move_args_t, a)
{
	for (uint64_t i = 0; i < a->repeats; i++)
		for (uint64_t at = perf_first(block, a); at < a->size_bytes;
		     at += perf_step(block, a))
			tsr_get(block, perf_at(a->dst, at), perf_at(a->src, at), perf_chunk(a, at),
				a->src_peer);
}

TSR_KERNEL_WIDE(perf_copy, perf_move_args_t, a)
{
	for (uint64_t i = 0; i < a->repeats; i++)
		for (uint64_t at = perf_first(block, a); at < a->size_bytes;
		     at += perf_step(block, a))
			tsr_copy(block, perf_at(a->dst, at), a->dst_peer, perf_at(a->src, at),
				 a->src_peer, perf_chunk(a, at));
}

/* ------------------------------------------------------------------ signal */

/** Each signal's partner is the wait on the other rank. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(perf_signal, perf_pingpong_args_t, a)
{
	uint64_t missed = 0;
	for (uint64_t epoch = a->first; epoch < a->first + a->rounds && missed == 0; epoch++) {
		if (a->leads)
			tsr_signal(block, a->flag, epoch, TSR_SIGNAL_SET, a->partner);
		missed += tsr_wait(block, a->flag, epoch, a->partner) != TSR_WAIT_OK;
		if (!a->leads)
			tsr_signal(block, a->flag, epoch, TSR_SIGNAL_SET, a->partner);
	}
	perf_count(block, a->missed, missed);
}

/**
 * One side of a ping-pong within a rank: 0 begins each round. A round's word
 * goes through the inbox. Each signal's partner is the wait of the other side.
 * Litmus: MP.rel.acq.sameWG-ww in a block, MP.rel.acq.sameGPU-aa in a device.
 */
#define PERF_LOCAL_ROUNDS(coop_, a_, side_, mine_, others_, base_, scope_, missed_)              \
	for (uint64_t i_ = 0; i_ < (a_)->rounds && (missed_) == 0; i_++) {                       \
		const uint64_t epoch_ = (base_) + i_;                                            \
		if ((side_) == 0) {                                                              \
			if ((a_)->outbox)                                                        \
				tsr_put(coop_, (a_)->inbox, (a_)->outbox + i_, sizeof(uint64_t), \
					tsr_rank(coop_));                                        \
			tsr_signal_local(coop_, others_, epoch_, scope_);                        \
		}                                                                                \
		(missed_) += tsr_wait_local(coop_, mine_, epoch_, scope_) != TSR_WAIT_OK;        \
		if ((side_) != 0) {                                                              \
			if ((a_)->outbox)                                                        \
				tsr_put(coop_, (a_)->kept + i_, (a_)->inbox, sizeof(uint64_t),   \
					tsr_rank(coop_));                                        \
			tsr_signal_local(coop_, others_, epoch_, scope_);                        \
		}                                                                                \
	}

typedef struct perf_flags {
	uint64_t flag[2]; /* raised by the other worker */
} perf_flags_t;

TSR_KERNEL_SPLIT(perf_signal_in_block, 2, perf_flags_t, perf_local_args_t, a)
{
	const int side = tsr_worker_index(worker);
	uint64_t missed = 0;
	tsr_shared_clear(block, shared, sizeof *shared);
	/* the flags begin anew with each launch */
	PERF_LOCAL_ROUNDS(worker, a, side, &shared->flag[side], &shared->flag[1 - side],
			  (uint64_t)1, TSR_SCOPE_BLOCK, missed)
	perf_count(worker, a->missed, missed);
}

TSR_KERNEL(perf_signal_in_device, perf_local_args_t, a)
{
	const int side = tsr_block_index(block);
	uint64_t missed = 0;
	PERF_LOCAL_ROUNDS(block, a, side, a->flags + side, a->flags + (1 - side), a->first,
			  TSR_SCOPE_DEVICE, missed)
	perf_count(block, a->missed, missed);
}

/**
 * The same by stores that order nothing, so that no data may lie under them.
 * Partner: the wait on the other rank.
 */
TSR_KERNEL(perf_bare_signal, perf_pingpong_args_t, a)
{
	uint64_t missed = 0;
	for (uint64_t epoch = a->first; epoch < a->first + a->rounds && missed == 0; epoch++) {
		if (a->leads)
			tsr_atomic_store(block, a->flag, epoch, a->partner, TSR_RELAXED,
					 TSR_SCOPE_SYSTEM);
		missed += tsr_wait(block, a->flag, epoch, a->partner) != TSR_WAIT_OK;
		if (!a->leads)
			tsr_atomic_store(block, a->flag, epoch, a->partner, TSR_RELAXED,
					 TSR_SCOPE_SYSTEM);
	}
	perf_count(block, a->missed, missed);
}

/** The same as perf_signal, each signal with a message under it. */
TSR_KERNEL(perf_put_signal, perf_pingpong_args_t, a)
{
	uint64_t missed = 0;
	for (uint64_t epoch = a->first; epoch < a->first + a->rounds && missed == 0; epoch++) {
		if (a->leads)
			tsr_put_signal(block, a->inbox, a->outbox, a->size_bytes, a->flag, epoch,
				       TSR_SIGNAL_SET, a->partner);
		missed += tsr_wait(block, a->flag, epoch, a->partner) != TSR_WAIT_OK;
		if (!a->leads)
			tsr_put_signal(block, a->inbox, a->outbox, a->size_bytes, a->flag, epoch,
				       TSR_SIGNAL_SET, a->partner);
	}
	perf_count(block, a->missed, missed);
}

/**
 * A message each way in words that carry their own flag. One buffer is enough:
 * who answers has taken what was sent. Partner of each put: the take on the
 * other rank. Litmus: LB.marked.diffGPU-ss.
 */
TSR_KERNEL(perf_marked, perf_pingpong_args_t, a)
{
	uint64_t missed = 0;
	for (uint64_t i = a->first; i < a->first + a->rounds && missed == 0; i++) {
		uint32_t epoch = (uint32_t)i;
		if (a->leads)
			tsr_put_marked(block, a->words, a->outbox, a->size_bytes, epoch,
				       a->partner);
		missed += tsr_take_marked(block, a->kept, a->words, a->size_bytes, epoch,
					  a->partner) != TSR_WAIT_OK;
		if (!a->leads)
			tsr_put_marked(block, a->words, a->outbox, a->size_bytes, epoch,
				       a->partner);
	}
	perf_count(block, a->missed, missed);
}

TSR_KERNEL(perf_message, perf_pingpong_args_t, a)
{
	uint64_t missed = 0;
	for (uint64_t i = 0; i < a->rounds && missed == 0; i++) {
		uint64_t at = i * a->size_bytes;
		if (a->leads) /* READY: partner is the wait on the other rank */
			tsr_put_signal(block, perf_at(a->inbox, at), perf_at(a->outbox, at),
				       a->size_bytes, a->flag, a->first + i, TSR_SIGNAL_SET,
				       a->partner);
		missed += tsr_wait(block, a->flag, a->first + i, a->partner) != TSR_WAIT_OK;
		if (a->leads)
			continue;
		tsr_put(block, perf_at(a->kept, at), perf_at(a->inbox, at), a->size_bytes,
			tsr_rank(block));
		/* RETIRED: the leader's wait */
		tsr_signal(block, a->flag, a->first + i, TSR_SIGNAL_SET, a->partner);
	}
	perf_count(block, a->missed, missed);
}

/* ------------------------------------------------------------------ barrier */

TSR_KERNEL(perf_barrier, perf_barrier_args_t, a)
{
	TSR_HEAP tsr_barrier_state_t *state = (TSR_HEAP tsr_barrier_state_t *)a->state;
	uint64_t missed = 0;
	for (uint64_t i = 0; i < a->repeats && missed == 0; i++)
		missed += tsr_barrier_ranks(block, state) != TSR_WAIT_OK;
	perf_count(block, a->missed, missed);
}

TSR_KERNEL(perf_meeting, perf_barrier_args_t, a)
{
	TSR_HEAP tsr_barrier_state_t *state = (TSR_HEAP tsr_barrier_state_t *)a->state;
	uint64_t missed = 0;
	for (uint64_t i = 0; i < a->repeats && missed == 0; i++) {
		for (int r = 0; r < tsr_size(block); r++)
			tsr_put(block, &a->told[tsr_rank(block)], &a->rounds[i], sizeof(uint64_t),
				r);
		missed += tsr_barrier_ranks(block, state) != TSR_WAIT_OK; /* all have told me */
		tsr_put(block, &a->kept[i * TSR_MAX_RANKS], a->told,
			sizeof(uint64_t) * (uint64_t)tsr_size(block), tsr_rank(block));
		/* I have read, so all may tell me again */
		missed += tsr_barrier_ranks(block, state) != TSR_WAIT_OK;
	}
	perf_count(block, a->missed, missed);
}
