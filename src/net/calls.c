/* The calls: each writes a command, and waits if it must. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "src/base/os/clock.h"
#include "src/base/os/futex.h"
#include "src/base/text.h"
#include "src/net/state.h"

enum {
	HELP_NS = 50000,            /* a call serves the queue itself so long without progress */
	MOST_HELP_NS = 200 * 1000,  /* a thread that waits for a flag serves so long at a time */
	LOOK_NS = 20 * 1000 * 1000, /* a sleeping call looks so often whether the world has ended */
	/* An answer comes sooner than this where the other rank has a processor of its own. Where
	 * it has not, it runs when this call yields, and not before. */
	ALONE_NS = 8000,
	TURNS_A_LOOK = 16,
	MOST_TRIES = 16 /* of a call to serve itself, before it sleeps */
};

/** A command that a call waits for. */
typedef struct waited {
	tsr_net_t *net;
	const char *call; /* for the sentence */
	int peer;
	uint16_t cell;
	tsr_stopwatch_t watch;
} waited_t;

static bool is_done(const waited_t *wait)
{
	/* acquire: partner is the release in tsr_net_cell_less (litmus MP) */
	return atomic_load_explicit(&wait->net->cells[wait->cell].state, memory_order_acquire) ==
	       TSR_NET_DONE;
}

/** Whom a call waits for: a release or flush for who has not acknowledged. Has the lock. */
static int whom(const waited_t *wait)
{
	for (const tsr_net_pending_t *p = wait->net->pending; p != NULL; p = p->next) {
		const uint16_t cell =
			p->message == NULL ? p->cell : (uint16_t)(p->message->message.reply);
		if (cell == wait->cell)
			return p->need[p->needs - 1].peer;
	}
	return wait->peer;
}

/** The world ends because of this wait. Has the lock. */
static void expire(const waited_t *wait)
{
	const tsr_net_t *net = wait->net;
	char text[32];
	int peer = whom(wait);
	for (int r = 0; peer < 0 && r < net->settings.size; r++)
		if (net->peers[r].sent > net->peers[r].acknowledged)
			peer = r;
	if (peer < 0)
		peer = net->settings.rank;
	tsr_net_fail(wait->net, TSR_ERR_TIMEOUT,
		     "rank %d on node %d waited %s in %s for rank %d on node %d, which does not "
		     "answer: it is stopped, or the network between the nodes fails",
		     net->settings.rank, net->settings.node_of[net->settings.rank],
		     tsr_duration_text(net->settings.deadline_ns, text, sizeof text), wait->call,
		     peer, net->settings.node_of[peer]);
}

/** Serves the queue until the command is complete or nothing comes any more. */
static void help(waited_t *wait)
{
	tsr_net_t *net = wait->net;
	uint64_t since_ns = tsr_now_ns();
	tsr_net_drive(net);
	for (unsigned turn = 1; !is_done(wait) && !tsr_net_is_over(net); turn++) {
		if (tsr_net_serve(net) > 0) {
			since_ns = 0;
			if (turn % TURNS_A_LOOK != 0)
				continue;
		}
		const uint64_t now_ns = tsr_now_ns();
		since_ns = since_ns == 0 ? now_ns : since_ns;
		if (tsr_stopwatch_look(&wait->watch, now_ns) > net->settings.deadline_ns)
			expire(wait);
		else if (now_ns - since_ns > HELP_NS)
			return;
		else if (now_ns - since_ns > ALONE_NS)
			sched_yield();
	}
}

bool tsr_net_help(tsr_net_t *net, bool (*over)(void *ctx), void *ctx)
{
	if (!tsr_net_claim(net))
		return false;
	const uint64_t begin_ns = tsr_now_ns();
	uint64_t since_ns = begin_ns, now_ns = begin_ns;
	bool ends = false;
	tsr_net_drive(net);
	while (!ends && !tsr_net_is_over(net) && now_ns - since_ns <= HELP_NS &&
	       now_ns - begin_ns <= MOST_HELP_NS) {
		const unsigned done = tsr_net_serve(net);
		ends = over(ctx);
		now_ns = tsr_now_ns();
		if (done > 0)
			since_ns = now_ns;
		else if (!ends)
			sched_yield();
	}
	tsr_net_leave(net);
	return ends;
}

/** Sleeps until the command is complete, or for a while. */
static void doze(waited_t *wait)
{
	uint32_t waiting = TSR_NET_WAITING;
	_Atomic uint32_t *state = &wait->net->cells[wait->cell].state;
	/* relaxed: the partner of its end is the acquire in is_done */
	(void)atomic_compare_exchange_strong_explicit(state, &waiting, TSR_NET_ASLEEP,
						      memory_order_relaxed, memory_order_relaxed);
	if (waiting != TSR_NET_DONE)
		tsr_futex_wait(state, TSR_NET_ASLEEP, LOOK_NS);
}

/** Takes the lock, whoever serves now. */
static void lock(tsr_net_t *net)
{
	while (!tsr_net_try(net))
		sched_yield();
}

/** Waits until the command is complete. False: the world has ended; nothing comes any more. */
static bool await(waited_t *wait)
{
	tsr_net_t *net = wait->net;
	unsigned tries = 0;
	while (!is_done(wait)) {
		const uint64_t now_ns = tsr_now_ns();
		if (tsr_net_is_over(net) ||
		    tsr_stopwatch_look(&wait->watch, now_ns) > net->settings.deadline_ns) {
			/* under the lock: nobody writes to what this call has lent any more */
			lock(net);
			if (!tsr_net_is_over(net))
				expire(wait);
			(void)tsr_net_serve(net);
			tsr_net_leave(net);
			return false;
		}
		if (tsr_net_claim(net)) {
			help(wait);
			tsr_net_leave(net);
		} else if (tries++ < MOST_TRIES) {
			sched_yield();
			continue;
		}
		if (!is_done(wait))
			doze(wait);
	}
	return true;
}

/** Serves the queue once if nobody else does: who does sees the new command. */
static void serve_once(tsr_net_t *net)
{
	if (!tsr_net_try(net))
		return;
	(void)tsr_net_drain(net);
	tsr_net_leave(net);
}

/** Submits a command, but for its stamp and cell. */
static bool submit(tsr_net_t *net, const char *call, const tsr_net_command_t *command,
		   uint16_t cell)
{
	uint64_t ticket;
	tsr_net_command_t *slot = tsr_net_queue_claim(net, &ticket, call, command->peer);
	if (slot == NULL)
		return false;
	slot->what = command->what;
	slot->release = command->release;
	slot->kind = command->kind;
	slot->op = command->op;
	slot->bytes = command->bytes;
	slot->byte = command->byte;
	slot->cell = cell;
	slot->peer = command->peer;
	slot->offset = command->offset;
	slot->pitch_bytes = command->pitch_bytes;
	slot->row_bytes = command->row_bytes;
	slot->rows = command->rows;
	slot->local = command->local;
	slot->local_pitch = command->local_pitch;
	slot->bits = command->bits;
	slot->expected = command->expected;
	tsr_net_queue_submit(slot, ticket);
	serve_once(net);
	return true;
}

/** Submits a command and waits until it is complete. Returns the old bits of a fetch. */
static uint64_t submit_and_wait(tsr_net_t *net, const char *call, const tsr_net_command_t *command)
{
	const uint16_t cell = tsr_net_cell_take(net);
	waited_t wait = {.net = net, .call = call, .peer = command->peer, .cell = cell};
	uint64_t old = 0;
	/* where the world has ended, the cell is not used again: nobody waits any more */
	if (cell == 0 || !submit(net, call, command, cell) || !await(&wait))
		return 0;
	if (command->what == TSR_NET_FETCH)
		old = net->cells[cell].old;
	tsr_net_cell_give(net, cell);
	return old;
}

/** Rows of both sides; rows without gaps on either are one row. */
static tsr_net_command_t on_rows(tsr_net_what_t what, int peer, tsr_net_rows_t rows,
				 uintptr_t local, size_t local_pitch)
{
	tsr_net_command_t command = {.what = (uint8_t)what,
				     .peer = peer,
				     .offset = rows.offset,
				     .pitch_bytes = rows.pitch_bytes,
				     .row_bytes = rows.row_bytes,
				     .rows = rows.rows,
				     .local = local,
				     .local_pitch = local_pitch};
	if (rows.pitch_bytes == rows.row_bytes && local_pitch == rows.row_bytes) {
		command.row_bytes = rows.row_bytes * rows.rows;
		command.pitch_bytes = command.local_pitch = command.row_bytes;
		command.rows = 1;
	}
	return command;
}

void tsr_net_put(tsr_net_t *net, int peer, tsr_net_rows_t to, const void *from, size_t from_pitch)
{
	if (to.rows == 0 || to.row_bytes == 0)
		return;
	const tsr_net_command_t command =
		on_rows(TSR_NET_PUT, peer, to, (uintptr_t)from, from_pitch);
	(void)submit_and_wait(net, "a put", &command);
}

void tsr_net_get(tsr_net_t *net, int peer, tsr_net_rows_t from, void *to, size_t to_pitch)
{
	if (from.rows == 0 || from.row_bytes == 0)
		return;
	const tsr_net_command_t command = on_rows(TSR_NET_GET, peer, from, (uintptr_t)to, to_pitch);
	(void)submit_and_wait(net, "a get", &command);
}

void tsr_net_fill(tsr_net_t *net, int peer, tsr_net_rows_t to, int byte)
{
	if (to.rows == 0 || to.row_bytes == 0)
		return;
	tsr_net_command_t command = on_rows(TSR_NET_FILL, peer, to, 0, to.row_bytes);
	command.byte = (uint8_t)byte;
	(void)submit(net, "a fill", &command, 0);
}

static tsr_net_command_t on_word(tsr_net_what_t what, int peer, const tsr_net_atomic_t *access,
				 bool release)
{
	return (tsr_net_command_t){.what = (uint8_t)what,
				   .release = release,
				   .kind = access->kind,
				   .op = access->op,
				   .bytes = access->bytes,
				   .peer = peer,
				   .offset = access->offset,
				   .bits = access->bits,
				   .expected = access->expected};
}

uint64_t tsr_net_fetch(tsr_net_t *net, int peer, tsr_net_atomic_t access, bool release)
{
	const tsr_net_command_t command = on_word(TSR_NET_FETCH, peer, &access, release);
	return submit_and_wait(net, "an atomic access", &command);
}

void tsr_net_update(tsr_net_t *net, int peer, tsr_net_atomic_t access, bool release)
{
	const tsr_net_command_t command = on_word(TSR_NET_UPDATE, peer, &access, release);
	(void)submit(net, "an atomic access", &command, 0);
}

void tsr_net_each(tsr_net_t *net, int peer, tsr_net_atomic_t first, const void *values,
		  size_t count)
{
	if (count == 0)
		return;
	tsr_net_command_t command = on_word(TSR_NET_EACH, peer, &first, false);
	command.row_bytes = command.pitch_bytes = command.local_pitch = count * first.bytes;
	command.rows = 1;
	command.local = (uintptr_t)values;
	(void)submit_and_wait(net, "an atomic access", &command);
}

void tsr_net_flush(tsr_net_t *net)
{
	const tsr_net_command_t command = {.what = TSR_NET_FLUSH, .peer = -1};
	(void)submit_and_wait(net, "a flush", &command);
}

const tsr_net_calls_t tsr_net_calls = {.put = tsr_net_put,
				       .get = tsr_net_get,
				       .fetch = tsr_net_fetch,
				       .update = tsr_net_update,
				       .each = tsr_net_each,
				       .flush = tsr_net_flush};
