/* The queue of commands, and the cells in which calls wait. */
#include <sched.h>

#include "src/base/os/clock.h"
#include "src/base/os/futex.h"
#include "src/net/state.h"

tsr_net_command_t *tsr_net_queue_next(tsr_net_t *net)
{
	const uint64_t tail = atomic_load_explicit(&net->tail, memory_order_relaxed);
	tsr_net_command_t *slot = &net->slots[tail % TSR_NET_SLOTS];
	/* acquire: partner is the release in tsr_net_queue_submit (litmus MP). seq_cst: against
	 * the lock, see tsr_net_leave */
	const uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_seq_cst);
	return stamp == tail + 1 ? slot : NULL;
}

void tsr_net_queue_pop(tsr_net_t *net)
{
	/* release: partner is the acquire in tsr_net_queue_claim: the slot may be overwritten */
	atomic_fetch_add_explicit(&net->tail, 1, memory_order_release);
}

void tsr_net_queue_submit(tsr_net_command_t *slot, uint64_t ticket)
{
	/* release: partner is the acquire in tsr_net_queue_next. seq_cst: against the lock, see
	 * tsr_net_leave */
	atomic_store_explicit(&slot->stamp, ticket + 1, memory_order_seq_cst);
}

/** Serves the queue if nobody else does, so that there is room. */
static void make_room(tsr_net_t *net)
{
	if (tsr_net_try(net)) {
		tsr_net_drive(net);
		(void)tsr_net_serve(net);
		tsr_net_leave(net);
	}
	sched_yield();
}

tsr_net_command_t *tsr_net_queue_claim(tsr_net_t *net, uint64_t *ticket_out, const char *call,
				       int peer)
{
	tsr_stopwatch_t watch = {0};
	if (tsr_net_is_over(net))
		return NULL;
	const uint64_t ticket = atomic_fetch_add_explicit(&net->head, 1, memory_order_relaxed);
	/* acquire: partner is the release in tsr_net_queue_pop */
	while (ticket - atomic_load_explicit(&net->tail, memory_order_acquire) >= TSR_NET_SLOTS) {
		if (tsr_net_is_over(net))
			return NULL;
		if (tsr_stopwatch_look(&watch, tsr_now_ns()) > net->settings.deadline_ns)
			tsr_net_fail(
				net, TSR_ERR_TIMEOUT,
				"%s of rank %d on node %d to rank %d on node %d found no room in "
				"the queue within the deadline: a far rank takes no messages",
				call, net->settings.rank, net->settings.node_of[net->settings.rank],
				peer, peer < 0 ? -1 : net->settings.node_of[peer]);
		make_room(net);
	}
	*ticket_out = ticket;
	return &net->slots[ticket % TSR_NET_SLOTS];
}

/** Takes a free cell; 0: there is none. */
static uint16_t take_free(tsr_net_t *net)
{
	for (unsigned i = 0; i < TSR_NET_CELLS / 64; i++) {
		uint64_t taken = atomic_load_explicit(&net->cells_taken[i], memory_order_relaxed);
		while (~taken != 0) {
			const unsigned bit = (unsigned)__builtin_ctzll(~taken);
			/* acquire: partner is the release in tsr_net_cell_give */
			if (atomic_compare_exchange_weak_explicit(&net->cells_taken[i], &taken,
								  taken | 1ull << bit,
								  memory_order_acquire,
								  memory_order_relaxed))
				return (uint16_t)(64 * i + bit);
		}
	}
	return 0;
}

uint16_t tsr_net_cell_take(tsr_net_t *net)
{
	uint16_t cell;
	while ((cell = take_free(net)) == 0) {
		if (tsr_net_is_over(net))
			return 0;
		make_room(net);
	}
	/* relaxed: nobody else has the cell; the command publishes it */
	atomic_store_explicit(&net->cells[cell].state, TSR_NET_WAITING, memory_order_relaxed);
	return cell;
}

void tsr_net_cell_give(tsr_net_t *net, uint16_t cell)
{
	/* release: partner is the acquire in take_free */
	atomic_fetch_and_explicit(&net->cells_taken[cell / 64], ~(1ull << cell % 64),
				  memory_order_release);
}

void tsr_net_cell_less(tsr_net_t *net, uint16_t cell)
{
	if (cell == 0 || --net->cells[cell].left > 0)
		return;
	net->cells[cell].uses++; /* no answer is for this one any more */
	net->cells[cell].peer = -1;
	/* release: partner is the acquire of the call that waits (await in calls.c) */
	const uint32_t before = atomic_exchange_explicit(&net->cells[cell].state, TSR_NET_DONE,
							 memory_order_release);
	if (before == TSR_NET_ASLEEP)
		tsr_futex_wake_all(&net->cells[cell].state);
}
