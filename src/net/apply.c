/*
 * What this rank receives. Every message is checked before it touches anything:
 * who sends one can change the window of the heap that he may change anyway,
 * and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "src/net/state.h"

/* messages of a peer that may be applied without its knowledge while others come */
enum { MOST_UNTOLD = TSR_MESSAGE_WINDOW / 4 };

/** Ends the world because of a message that no right sender sends. */
static void refuse(tsr_net_t *net, const tsr_message_t *message, const char *why)
{
	tsr_net_fail(net, TSR_ERR_SYSTEM,
		     "rank %d on node %d has sent rank %d on node %d a message that %s: all ranks "
		     "must run the same version, on nodes that nobody else writes to",
		     message->source, net->settings.node_of[message->source], net->settings.rank,
		     net->settings.node_of[net->settings.rank], why);
}

/* ------------------------------------------------------------------ rows */

static tsr_net_rows_t rows_of(const tsr_message_t *message)
{
	return (tsr_net_rows_t){.offset = message->offset,
				.pitch_bytes = message->pitch_bytes,
				.row_bytes = message->row_bytes,
				.rows = message->rows};
}

static void put(tsr_net_t *net, const tsr_message_t *message, const unsigned char *data)
{
	unsigned char *to = net->memory.heap + message->offset;
	if (net->memory.heap == NULL) {
		net->memory.write(net->memory.ctx, rows_of(message), data);
		return;
	}
	for (uint64_t i = 0; i < message->rows; i++)
		memcpy(to + i * message->pitch_bytes, data + i * message->row_bytes,
		       message->row_bytes);
}

static void fill(tsr_net_t *net, const tsr_message_t *message)
{
	unsigned char *to = net->memory.heap + message->offset;
	if (net->memory.heap == NULL) {
		net->memory.fill(net->memory.ctx, rows_of(message), message->byte);
		return;
	}
	for (uint64_t i = 0; i < message->rows; i++)
		memset(to + i * message->pitch_bytes, message->byte, message->row_bytes);
}

unsigned tsr_net_answer(tsr_net_t *net)
{
	unsigned pieces = 0;
	tsr_net_held_t *asked;
	while ((asked = net->answering) != NULL && net->sending < TSR_NET_MOST_SENDING) {
		const tsr_message_t *message = &asked->message;
		const tsr_net_source_t source = {.base = net->memory.heap + message->offset,
						 .pitch_bytes = message->pitch_bytes,
						 .row_bytes = message->row_bytes,
						 .rows = message->rows,
						 .memory = net->memory.heap ? NULL : &net->memory,
						 .offset = message->offset};
		tsr_net_sending_t *sending =
			tsr_net_sending_new(net, TSR_MESSAGE_GOT, message->source);
		if (sending == NULL)
			return pieces;
		const tsr_net_piece_t piece = tsr_net_cut(&source, &asked->row, &asked->column,
							  net->carrier->piece_bytes, sending);
		sending->message.reply = message->reply;
		sending->message.offset = piece.row;
		sending->message.pitch_bytes = piece.column;
		sending->message.row_bytes = piece.row_bytes;
		sending->message.rows = piece.rows;
		tsr_net_post(net, sending, piece.data, piece.rows * piece.row_bytes);
		pieces++;
		if (asked->row < source.rows)
			continue;
		net->answering = asked->next;
		if (net->answering == NULL)
			net->answering_end = &net->answering;
		free(asked);
	}
	return pieces;
}

/** The call that an answer is for; null: there is none, and the world has ended. */
static tsr_net_cell_t *asker(tsr_net_t *net, const tsr_message_t *message)
{
	const uint64_t number = message->reply & 0xffff;
	tsr_net_cell_t *cell = number < TSR_NET_CELLS ? &net->cells[number] : NULL;
	if (cell != NULL && number > 0 && cell->left == 1 && cell->peer == message->source &&
	    message->reply >> 16 == cell->uses)
		return cell;
	refuse(net, message, "answers what nobody asked");
	return NULL;
}

/** Rows, or a part of one, that a get has asked for. */
static void got(tsr_net_t *net, const tsr_message_t *message, const unsigned char *data)
{
	tsr_net_cell_t *cell = asker(net, message);
	if (cell == NULL)
		return;
	const uint64_t row = message->offset, column = message->pitch_bytes;
	const bool rows_fit = row <= cell->rows && message->rows <= cell->rows - row;
	const bool whole = column == 0 && message->row_bytes == cell->row_bytes;
	const bool part = message->rows == 1 && column <= cell->row_bytes &&
			  message->row_bytes <= cell->row_bytes - column;
	if (!rows_fit || !(whole || part) ||
	    message->rows * message->row_bytes > cell->missing_bytes) {
		refuse(net, message, "has more bytes than a get has asked for");
		return;
	}
	for (uint64_t i = 0; i < message->rows; i++)
		memcpy(cell->to + (row + i) * cell->to_pitch + column,
		       data + i * message->row_bytes, message->row_bytes);
	cell->missing_bytes -= message->rows * message->row_bytes;
	if (cell->missing_bytes == 0)
		tsr_net_cell_less(net, (uint16_t)(message->reply & 0xffff));
}

static void old(tsr_net_t *net, const tsr_message_t *message)
{
	tsr_net_cell_t *cell = asker(net, message);
	if (cell == NULL)
		return;
	cell->old = message->bits;
	tsr_net_cell_less(net, (uint16_t)(message->reply & 0xffff));
}

/**
 * An atomic access. False: of a kind or an operation that the back end does not
 * have.
 */
static bool atomic(tsr_net_t *net, const tsr_message_t *message, const unsigned char *data,
		   uint64_t *old_out)
{
	const tsr_net_atomic_t access = {.offset = message->offset,
					 .kind = message->kind,
					 .op = message->op,
					 .bytes = message->bytes,
					 .bits = message->bits,
					 .expected = message->expected};
	if (message->what == TSR_MESSAGE_EACH)
		return net->memory.each(net->memory.ctx, &access, data,
					message->row_bytes / message->bytes);
	return net->memory.atomic(net->memory.ctx, &access,
				  message->what == TSR_MESSAGE_FETCH ? old_out : NULL);
}

static void tell_old(tsr_net_t *net, const tsr_message_t *message, uint64_t bits)
{
	tsr_net_sending_t *sending = tsr_net_sending_new(net, TSR_MESSAGE_OLD, message->source);
	if (sending == NULL)
		return;
	sending->message.reply = message->reply;
	sending->message.bits = bits;
	tsr_net_post(net, sending, NULL, 0);
}

/** Does what a counted message asks for, whose turn it is. */
static void apply(tsr_net_t *net, const tsr_message_t *message, const unsigned char *data)
{
	uint64_t old_bits = 0;
	bool good = true;
	net->unsettled = net->memory.settle != NULL;
	if (message->what == TSR_MESSAGE_PUT)
		put(net, message, data);
	else if (message->what == TSR_MESSAGE_FILL)
		fill(net, message);
	else
		good = atomic(net, message, data, &old_bits);
	net->peers[message->source].applied++;
	if (!good)
		refuse(net, message, "asks for an atomic access that there is not");
	else if (message->what == TSR_MESSAGE_FETCH)
		tell_old(net, message, old_bits); /* which acknowledges the message, too */
}

/* ------------------------------------------------------------------ what waits */

/** Keeps a message for later, with its data. */
static tsr_net_held_t *keep(tsr_net_t *net, const tsr_message_t *message, const void *data,
			    size_t bytes)
{
	tsr_net_held_t *held = malloc(sizeof *held + bytes);
	if (held == NULL) {
		tsr_net_fail(net, TSR_ERR_NO_MEMORY,
			     "rank %d has no host memory for a message of rank %d: free some",
			     net->settings.rank, message->source);
		return NULL;
	}
	*held = (tsr_net_held_t){.message = *message};
	if (bytes > 0)
		memcpy(held->data, data, bytes);
	return held;
}

/** A counted message: applied in its turn. */
static void take_counted(tsr_net_t *net, const tsr_message_t *message, const void *data,
			 size_t bytes)
{
	tsr_net_peer_t *peer = &net->peers[message->source];
	if (message->number == peer->applied + 1) {
		apply(net, message, data);
		return;
	}
	tsr_net_held_t **link = &peer->held;
	while (*link != NULL && (*link)->message.number < message->number)
		link = &(*link)->next;
	if (*link != NULL && (*link)->message.number == message->number) {
		refuse(net, message, "came twice");
		return;
	}
	tsr_net_held_t *held = keep(net, message, data, bytes);
	if (held == NULL)
		return;
	held->next = *link;
	*link = held;
}

static void begin_answer(tsr_net_t *net, tsr_net_held_t *held)
{
	held->next = NULL;
	*net->answering_end = held;
	net->answering_end = &held->next;
}

void tsr_net_release_held(tsr_net_t *net, int rank)
{
	tsr_net_peer_t *peer = &net->peers[rank];
	tsr_net_held_t *held;
	while ((held = peer->held) != NULL && held->message.number == peer->applied + 1) {
		peer->held = held->next;
		apply(net, &held->message, held->data);
		free(held);
	}
	for (tsr_net_held_t **link = &peer->gets; (held = *link) != NULL;) {
		if (held->message.after > peer->applied) {
			link = &held->next;
			continue;
		}
		*link = held->next;
		peer->held_gets--;
		begin_answer(net, held);
	}
}

static void asked(tsr_net_t *net, const tsr_message_t *message)
{
	tsr_net_peer_t *peer = &net->peers[message->source];
	if (message->rows == 0 || message->row_bytes == 0 || peer->held_gets >= TSR_NET_CELLS) {
		refuse(net, message, "asks for nothing, or for too much at a time");
		return;
	}
	tsr_net_held_t *held = keep(net, message, NULL, 0);
	if (held == NULL)
		return;
	if (message->after <= peer->applied) {
		begin_answer(net, held);
		return;
	}
	peer->held_gets++;
	held->next = peer->gets;
	peer->gets = held;
}

/* ------------------------------------------------------------------ what arrives */

/** Half a sentence that says what is wrong with a message; null: nothing. */
static const char *fault_of(const tsr_net_t *net, const tsr_message_t *message, size_t data_bytes)
{
	const tsr_net_peer_t *peer = &net->peers[message->source];
	const bool rows = message->what == TSR_MESSAGE_PUT || message->what == TSR_MESSAGE_FILL ||
			  message->what == TSR_MESSAGE_GET;
	const bool each = message->what == TSR_MESSAGE_EACH;
	const bool word =
		message->what == TSR_MESSAGE_UPDATE || message->what == TSR_MESSAGE_FETCH || each;
	const bool data =
		message->what == TSR_MESSAGE_PUT || message->what == TSR_MESSAGE_GOT || each;
	uint64_t bytes = 0;
	if (message->what == 0 || message->what >= TSR_MESSAGE_KINDS)
		return "is of no known kind";
	if (rows && !tsr_message_rows_fit(message, net->memory.bytes))
		return "reaches out of the heap";
	if (word && !tsr_message_word_fits(message, net->memory.bytes))
		return "reaches out of the heap, or no whole word in it";
	if (each && message->rows != 1)
		return "has a length that is none";
	if (data && __builtin_mul_overflow(message->rows, message->row_bytes, &bytes))
		return "has a length that is none";
	if (bytes != data_bytes)
		return "has another length than it says";
	if (data_bytes > TSR_NET_STAGED_BYTES)
		return "is longer than any that is sent";
	if (message->applied > peer->sent)
		return "acknowledges what was never sent";
	if (tsr_message_is_counted(message->what) &&
	    (message->number > peer->applied + TSR_MESSAGE_WINDOW ||
	     message->number <= peer->applied))
		return "came twice, or too early";
	if (message->after > peer->applied + TSR_MESSAGE_WINDOW)
		return "waits for what cannot come";
	return NULL;
}

/** Does what a message asks for, which is right. */
static void take(tsr_net_t *net, const tsr_message_t *message, const void *data, size_t bytes)
{
	tsr_net_peer_t *peer = &net->peers[message->source];
	switch ((tsr_message_kind_t)message->what) {
	case TSR_MESSAGE_HELLO:
		tsr_net_say(net, TSR_MESSAGE_HERE, message->source);
		break;
	case TSR_MESSAGE_HERE:
		peer->here = true;
		break;
	case TSR_MESSAGE_PUT:
	case TSR_MESSAGE_FILL:
	case TSR_MESSAGE_UPDATE:
	case TSR_MESSAGE_EACH:
	case TSR_MESSAGE_FETCH:
		take_counted(net, message, data, bytes);
		break;
	case TSR_MESSAGE_OLD:
		old(net, message);
		break;
	case TSR_MESSAGE_GET:
		asked(net, message);
		break;
	case TSR_MESSAGE_GOT:
		got(net, message, data);
		break;
	case TSR_MESSAGE_LEAVING:
		peer->left = true;
		break;
	case TSR_MESSAGE_ASKED:
		if (message->after > peer->asks_for)
			peer->asks_for = message->after;
		break;
	case TSR_MESSAGE_APPLIED:
	case TSR_MESSAGE_KINDS:
		break;
	}
}

/** Whether the sender is a far rank that knows the job's key. */
static bool is_proven(const tsr_net_t *net, const tsr_message_t *message)
{
	return message->magic == TSR_MESSAGE_MAGIC && message->source >= 0 &&
	       message->source < net->settings.size && net->peers[message->source].far &&
	       message->token == net->peers[message->source].token_in;
}

void tsr_net_arrived(void *ctx, const void *header, size_t header_bytes, const void *data,
		     size_t data_bytes)
{
	tsr_net_t *net = ctx;
	tsr_message_t message;
	if (header_bytes == sizeof message)
		memcpy(&message, header, sizeof message);
	if (header_bytes != sizeof message || !is_proven(net, &message)) {
		net->dropped++;
		return;
	}
	if (tsr_net_is_over(net))
		return;
	const char *fault = fault_of(net, &message, data_bytes);
	if (fault != NULL) {
		refuse(net, &message, fault);
		return;
	}
	tsr_net_peer_t *peer = &net->peers[message.source];
	if (message.applied > peer->acknowledged) {
		peer->acknowledged = message.applied;
		net->acknowledgements = true;
	}
	take(net, &message, data, data_bytes);
	if (peer->held != NULL || peer->gets != NULL)
		tsr_net_release_held(net, message.source);
}

/** Whether a peer must be told at once. */
static bool must_know(const tsr_net_peer_t *peer)
{
	const bool asks = peer->told_applied < peer->asks_for && peer->asks_for <= peer->applied;
	return asks || peer->applied - peer->told_applied > MOST_UNTOLD;
}

unsigned tsr_net_acknowledge(tsr_net_t *net, bool idle)
{
	unsigned told = 0;
	for (int r = 0; r < net->settings.size; r++) {
		const tsr_net_peer_t *peer = &net->peers[r];
		if (peer->applied == peer->told_applied || !(idle || must_know(peer)))
			continue;
		tsr_net_say(net, TSR_MESSAGE_APPLIED, r);
		told++;
	}
	return told;
}
