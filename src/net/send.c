/*
 * What this rank sends: commands become messages, and releases wait for
 * acknowledgements.
 */
#include <stdlib.h>
#include <string.h>

#include "src/net/state.h"

tsr_net_sending_t *tsr_net_sending_new(tsr_net_t *net, tsr_message_kind_t what, int peer)
{
	const bool staged =
		what == TSR_MESSAGE_PUT || what == TSR_MESSAGE_EACH || what == TSR_MESSAGE_GOT;
	tsr_net_sending_t **list = staged ? &net->free_staged : &net->free_sendings;
	tsr_net_sending_t *sending = *list;
	if (sending != NULL) {
		*list = sending->next;
	} else {
		sending = malloc(sizeof *sending);
		unsigned char *bytes = staged ? malloc(TSR_NET_STAGED_BYTES) : NULL;
		if (sending == NULL || (staged && bytes == NULL)) {
			free(sending);
			free(bytes);
			tsr_net_fail(net, TSR_ERR_NO_MEMORY,
				     "rank %d has no host memory for a message to rank %d: free "
				     "some",
				     net->settings.rank, peer);
			return NULL;
		}
		sending->staged = bytes;
		sending->made = net->made_sendings;
		net->made_sendings = sending;
	}
	sending->peer = peer;
	sending->cell = 0;
	memset(&sending->message, 0, sizeof sending->message);
	sending->message.what = (uint8_t)what;
	return sending;
}

/** The record may be reused, and so may its data. */
static void done_with(tsr_net_t *net, tsr_net_sending_t *sending)
{
	tsr_net_sending_t **list = sending->staged ? &net->free_staged : &net->free_sendings;
	tsr_net_cell_less(net, sending->cell);
	sending->next = *list;
	*list = sending;
}

void tsr_net_sent(void *ctx, void *mark)
{
	tsr_net_t *net = ctx;
	net->sending--;
	done_with(net, mark);
}

/** Relaxed: a reader wants to know how many there are when nothing is under way. */
static void count(tsr_net_t *net, uint8_t what, size_t bytes)
{
	if (what < TSR_MESSAGE_PUT || what >= TSR_MESSAGE_APPLIED)
		return;
	atomic_fetch_add_explicit(&net->sent_messages, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&net->sent_bytes, bytes, memory_order_relaxed);
}

tsr_net_counts_t tsr_net_sent_so_far(const tsr_net_t *net)
{
	return (tsr_net_counts_t){atomic_load_explicit(&net->sent_messages, memory_order_relaxed),
				  atomic_load_explicit(&net->sent_bytes, memory_order_relaxed)};
}

void tsr_net_post(tsr_net_t *net, tsr_net_sending_t *sending, const void *data, size_t bytes)
{
	count(net, sending->message.what, bytes);
	tsr_net_peer_t *peer = &net->peers[sending->peer];
	if (net->unsettled && peer->applied > peer->told_applied) {
		/* the message says what was applied */
		net->memory.settle(net->memory.ctx);
		net->unsettled = false;
	}
	sending->message.magic = TSR_MESSAGE_MAGIC;
	sending->message.source = net->settings.rank;
	sending->message.token = peer->token_out;
	sending->message.applied = peer->told_applied = peer->applied;
	switch (net->carrier->send(net->link, sending->peer, &sending->message,
				   sizeof sending->message, data, bytes, sending)) {
	case TSR_CARRIER_SENDING:
		net->sending++;
		break;
	case TSR_CARRIER_SENT:
	case TSR_CARRIER_FAILED:
		done_with(net, sending);
	}
}

void tsr_net_say(tsr_net_t *net, tsr_message_kind_t what, int peer)
{
	tsr_net_sending_t *sending = tsr_net_sending_new(net, what, peer);
	if (sending != NULL)
		tsr_net_post(net, sending, NULL, 0);
}

/** Whether one more counted message to a peer may be under way. */
static bool has_credit(const tsr_net_t *net, const tsr_net_peer_t *peer)
{
	return peer->sent - peer->acknowledged < TSR_MESSAGE_WINDOW &&
	       net->sending < TSR_NET_MOST_SENDING;
}

/* ------------------------------------------------------------------ rows */

/** A put, or an atomic access to each of many words, whose operands are sent as rows are. */
static bool put(tsr_net_t *net, const tsr_net_command_t *command)
{
	const tsr_message_kind_t what =
		command->what == TSR_NET_EACH ? TSR_MESSAGE_EACH : TSR_MESSAGE_PUT;
	const tsr_net_source_t source = {.base = (const unsigned char *)(uintptr_t)command->local,
					 .pitch_bytes = command->local_pitch,
					 .row_bytes = command->row_bytes,
					 .rows = command->rows};
	tsr_net_peer_t *peer = &net->peers[command->peer];
	if (net->row == 0 && net->column == 0)
		net->cells[command->cell].left = 1;
	while (net->row < source.rows) {
		if (!has_credit(net, peer))
			return false;
		tsr_net_sending_t *sending = tsr_net_sending_new(net, what, command->peer);
		if (sending == NULL)
			return false;
		const tsr_net_piece_t piece = tsr_net_cut(&source, &net->row, &net->column,
							  net->carrier->piece_bytes, sending);
		tsr_message_t *message = &sending->message;
		message->number = ++peer->sent;
		message->offset = command->offset + piece.row * command->pitch_bytes + piece.column;
		message->pitch_bytes = command->pitch_bytes;
		message->row_bytes = piece.row_bytes;
		message->rows = piece.rows;
		message->kind = command->kind;
		message->op = command->op;
		message->bytes = command->bytes;
		sending->cell = command->cell;
		net->cells[command->cell].left++;
		tsr_net_post(net, sending, piece.data, piece.rows * piece.row_bytes);
	}
	net->row = net->column = 0;
	tsr_net_cell_less(net, command->cell);
	return true;
}

static bool fill(tsr_net_t *net, const tsr_net_command_t *command)
{
	tsr_net_peer_t *peer = &net->peers[command->peer];
	tsr_net_sending_t *sending =
		has_credit(net, peer) ? tsr_net_sending_new(net, TSR_MESSAGE_FILL, command->peer)
				      : NULL;
	if (sending == NULL)
		return false;
	sending->message.number = ++peer->sent;
	sending->message.byte = command->byte;
	sending->message.offset = command->offset;
	sending->message.pitch_bytes = command->pitch_bytes;
	sending->message.row_bytes = command->row_bytes;
	sending->message.rows = command->rows;
	tsr_net_post(net, sending, NULL, 0);
	return true;
}

/** A number for the answer, which tells it from those of other uses of the cell. */
static uint64_t reply_number(tsr_net_t *net, const tsr_net_command_t *command)
{
	tsr_net_cell_t *cell = &net->cells[command->cell];
	cell->left = 1;
	cell->peer = command->peer;
	cell->missing_bytes = 0;
	return (uint64_t)cell->uses << 16 | command->cell;
}

static bool get(tsr_net_t *net, const tsr_net_command_t *command)
{
	tsr_net_sending_t *sending =
		net->sending < TSR_NET_MOST_SENDING
			? tsr_net_sending_new(net, TSR_MESSAGE_GET, command->peer)
			: NULL;
	if (sending == NULL)
		return false;
	tsr_net_cell_t *cell = &net->cells[command->cell];
	sending->message.reply = reply_number(net, command);
	cell->to = (unsigned char *)(uintptr_t)command->local;
	cell->to_pitch = command->local_pitch;
	cell->row_bytes = command->row_bytes;
	cell->rows = command->rows;
	cell->missing_bytes = command->row_bytes * command->rows;
	sending->message.after = net->peers[command->peer].sent;
	sending->message.offset = command->offset;
	sending->message.pitch_bytes = command->pitch_bytes;
	sending->message.row_bytes = command->row_bytes;
	sending->message.rows = command->rows;
	tsr_net_post(net, sending, NULL, 0);
	return true;
}

/* ------------------------------------------------------------------ releases */

/**
 * Lists the peers, but for one, that have not applied all that was sent to
 * them. Null: there are none, or (`*failed_out`) no memory.
 */
static tsr_net_pending_t *list_needs(tsr_net_t *net, int but, bool *failed_out)
{
	int needs = 0;
	for (int r = 0; r < net->settings.size; r++)
		needs += r != but && net->peers[r].sent > net->peers[r].acknowledged;
	*failed_out = false;
	if (needs == 0)
		return NULL;
	tsr_net_pending_t *pending =
		malloc(sizeof *pending + (size_t)needs * sizeof pending->need[0]);
	if (pending == NULL) {
		*failed_out = true;
		tsr_net_fail(net, TSR_ERR_NO_MEMORY,
			     "rank %d has no host memory for a release: free some",
			     net->settings.rank);
		return NULL;
	}
	*pending = (tsr_net_pending_t){.needs = 0};
	for (int r = 0; r < net->settings.size; r++) {
		if (r == but || net->peers[r].sent == net->peers[r].acknowledged)
			continue;
		pending->need[pending->needs].peer = r;
		pending->need[pending->needs++].number = net->peers[r].sent;
	}
	return pending;
}

/** Asks the peers that a release waits for to tell what they have applied. */
static void ask(tsr_net_t *net, const tsr_net_pending_t *pending)
{
	for (int i = 0; i < pending->needs; i++) {
		tsr_net_peer_t *peer = &net->peers[pending->need[i].peer];
		if (peer->asked_for >= pending->need[i].number)
			continue;
		tsr_net_sending_t *sending =
			tsr_net_sending_new(net, TSR_MESSAGE_ASKED, pending->need[i].peer);
		if (sending == NULL)
			return;
		sending->message.after = peer->asked_for = pending->need[i].number;
		tsr_net_post(net, sending, NULL, 0);
	}
}

static void append(tsr_net_t *net, tsr_net_pending_t *pending)
{
	ask(net, pending);
	*net->pending_end = pending;
	net->pending_end = &pending->next;
}

static bool atomic(tsr_net_t *net, const tsr_net_command_t *command)
{
	tsr_net_peer_t *peer = &net->peers[command->peer];
	const bool fetches = command->what == TSR_NET_FETCH;
	if (!has_credit(net, peer))
		return false;
	bool failed = false;
	tsr_net_pending_t *pending =
		command->release ? list_needs(net, command->peer, &failed) : NULL;
	tsr_net_sending_t *sending =
		failed ? NULL
		       : tsr_net_sending_new(net, fetches ? TSR_MESSAGE_FETCH : TSR_MESSAGE_UPDATE,
					     command->peer);
	if (sending == NULL) {
		free(pending);
		return false;
	}
	tsr_message_t *message = &sending->message;
	if (fetches)
		message->reply = reply_number(net, command);
	/* the peer itself orders what is sent to it, the others' acknowledgements are waited for */
	message->number = ++peer->sent;
	message->offset = command->offset;
	message->kind = command->kind;
	message->op = command->op;
	message->bytes = command->bytes;
	message->bits = command->bits;
	message->expected = command->expected;
	if (pending == NULL) {
		tsr_net_post(net, sending, NULL, 0);
	} else {
		pending->message = sending;
		append(net, pending);
	}
	return true;
}

static bool flush(tsr_net_t *net, const tsr_net_command_t *command)
{
	bool failed;
	tsr_net_pending_t *pending = list_needs(net, -1, &failed);
	if (failed)
		return false;
	net->cells[command->cell].left = 1;
	if (pending == NULL) {
		tsr_net_cell_less(net, command->cell);
	} else {
		pending->cell = command->cell;
		append(net, pending);
	}
	return true;
}

unsigned tsr_net_settle(tsr_net_t *net)
{
	unsigned settled = 0;
	if (!net->acknowledgements)
		return 0;
	net->acknowledgements = false;
	for (tsr_net_pending_t **link = &net->pending, *pending; (pending = *link) != NULL;) {
		while (pending->needs > 0 &&
		       net->peers[pending->need[pending->needs - 1].peer].acknowledged >=
			       pending->need[pending->needs - 1].number)
			pending->needs--;
		if (pending->needs > 0) {
			link = &pending->next;
			continue;
		}
		*link = pending->next;
		if (pending->next == NULL)
			net->pending_end = link;
		if (pending->message != NULL)
			tsr_net_post(net, pending->message, NULL, 0);
		else
			tsr_net_cell_less(net, pending->cell);
		free(pending);
		settled++;
	}
	return settled;
}

bool tsr_net_issue(tsr_net_t *net, const tsr_net_command_t *command)
{
	switch ((tsr_net_what_t)command->what) {
	case TSR_NET_PUT:
	case TSR_NET_EACH:
		return put(net, command);
	case TSR_NET_GET:
		return get(net, command);
	case TSR_NET_FILL:
		return fill(net, command);
	case TSR_NET_FETCH:
	case TSR_NET_UPDATE:
		return atomic(net, command);
	case TSR_NET_FLUSH:
		return flush(net, command);
	}
	return true;
}
