/*
 * What a rank's end of the data plane is made of. `busy` is its lock: who holds
 * it serves the queue, and alone reads and writes what is not atomic here.
 */
#ifndef TESSERA_NET_STATE_H
#define TESSERA_NET_STATE_H

#include <pthread.h>

#include "src/net/carrier.h"
#include "src/net/command.h"
#include "src/net/message.h"
#include "src/net/net.h"

enum {
	TSR_NET_CELLS = 256,      /* calls that may wait at one time; cell 0 is not used */
	TSR_NET_MOST_SENDING = 64 /* pieces that the carrier has, before the queue waits for it */
};

/** The state of a cell. */
enum { TSR_NET_WAITING, TSR_NET_ASLEEP, TSR_NET_DONE };

/** A call that waits for its command. */
typedef struct tsr_net_cell {
	_Atomic uint32_t state; /* TSR_NET_WAITING ...; also a futex */
	uint32_t uses;          /* how often it was used: old answers are told from new ones */
	uint32_t left;          /* what is missing until the command is complete */
	int peer;
	uint64_t old; /* the result of a fetch; written before `state` */
	/* of a get: where its rows go, and how many bytes are missing */
	unsigned char *to;
	uint64_t to_pitch, row_bytes, rows, missing_bytes;
} tsr_net_cell_t;

/** A message on its way to the carrier, until it may be reused. */
typedef struct tsr_net_sending {
	tsr_message_t message;
	struct tsr_net_sending *next; /* that is free */
	struct tsr_net_sending *made; /* that was made before */
	int peer;
	uint16_t cell;         /* which this completes; 0: none */
	unsigned char *staged; /* TSR_NET_STAGED_BYTES, or null: kept with the record */
} tsr_net_sending_t;

/** A release or a flush that waits for acknowledgements. */
typedef struct tsr_net_pending {
	struct tsr_net_pending *next;
	tsr_net_sending_t *message; /* what to send then; null: a flush */
	uint16_t cell;              /* of a flush */
	int needs;
	struct {
		int peer;
		uint64_t number; /* this peer has applied my messages up to it */
	} need[];
} tsr_net_pending_t;

/** A message of a peer that must wait for others, or a get that is being answered. */
typedef struct tsr_net_held {
	struct tsr_net_held *next;
	tsr_message_t message;
	uint64_t row, column; /* of a get: what is answered up to here */
	unsigned char data[];
} tsr_net_held_t;

typedef struct tsr_net_peer {
	bool far, here, left; /* here: it has answered; left: LEAVING has come */
	uint64_t token_out, token_in;
	/* What I send: the last counted message, and how many of them it has applied. */
	uint64_t sent, acknowledged;
	uint64_t asked_for; /* it was ASKED to tell when it has applied this one */
	/* What it sends: how many counted messages are applied here, and it knows of. */
	uint64_t applied, told_applied;
	uint64_t asks_for;    /* it has ASKED to be told when this one is applied */
	tsr_net_held_t *held; /* counted messages that came too early, in the order of numbers */
	tsr_net_held_t *gets; /* that wait for counted messages */
	int held_gets;
} tsr_net_peer_t;

struct tsr_net {
	tsr_net_settings_t settings;
	tsr_net_memory_t memory;
	const tsr_carrier_t *carrier;
	tsr_carrier_link_t *link;
	char description[TSR_NET_DESCRIPTION_BYTES];

	_Atomic uint64_t head, tail; /* of the queue: next ticket, next to be served */
	tsr_net_command_t *slots;
	_Atomic uint64_t cells_taken[TSR_NET_CELLS / 64];
	tsr_net_cell_t cells[TSR_NET_CELLS];

	_Atomic uint32_t busy;   /* the lock */
	_Atomic uint32_t ended;  /* nothing is sent or received any more */
	_Atomic uint32_t failed; /* `fail` was called */
	_Atomic uint32_t missed; /* the proxy woke up, and somebody else was serving */
	_Atomic uint32_t wanted; /* a call wants to serve: the proxy thread steps aside */
	_Atomic uint32_t stop;   /* the proxy thread ends */
	bool closing;
	bool stalled; /* the first command of the queue waits for credit or for the carrier */
	bool asleep;  /* the proxy thread sleeps in epoll_wait */
	bool muted;   /* and does not look at the carrier's descriptor meanwhile */
	bool has_thread;
	pthread_t thread;
	int epoll, bell;

	uint64_t row, column; /* what of the queue's first command is sent up to here */
	_Atomic uint64_t sent_messages, sent_bytes; /* tsr_net_sent_so_far */
	int sending;                                /* messages that the carrier has */
	bool acknowledgements;                      /* of this round: some have come */
	bool unsettled;         /* what was applied may not have taken effect: memory.settle */
	uint64_t dropped;       /* messages without a proof */
	uint64_t overslept;     /* how often there was work that had not woken the proxy thread */
	uint64_t lost_since_ns; /* 0: the carrier reaches all peers */
	int lost_rank;
	char lost_why[64];
	tsr_net_sending_t *free_sendings, *free_staged, *made_sendings;
	tsr_net_pending_t *pending, **pending_end;
	tsr_net_held_t *answering, **answering_end; /* gets */
	tsr_net_peer_t peers[];
};

/* ------------------------------------------------------------------ net.c */

/** As tsr_net_open, over this carrier. */
tsr_status_t tsr_net_open_over(const tsr_net_settings_t *settings, const tsr_carrier_t *carrier,
			       tsr_net_t **net_out);

/** Finds and loads the carrier (load.c). */
tsr_status_t tsr_net_load(const char *plugin, const tsr_carrier_t **carrier_out);

/** Ends the world: the first call alone tells it. Afterwards nothing is sent or received. */
void tsr_net_fail(tsr_net_t *net, tsr_status_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Ends the world if a peer is lost, and time enough has passed to know of another reason. */
void tsr_net_mourn(tsr_net_t *net);

/** Whether the world has ended. */
bool tsr_net_is_over(tsr_net_t *net);

/* ------------------------------------------------------------------ queue.c */

/** The first command that is complete; null: none. */
tsr_net_command_t *tsr_net_queue_next(tsr_net_t *net);
void tsr_net_queue_pop(tsr_net_t *net);

/** Claims a slot, and waits for room. Null: the world has ended. */
tsr_net_command_t *tsr_net_queue_claim(tsr_net_t *net, uint64_t *ticket_out, const char *call,
				       int peer);
void tsr_net_queue_submit(tsr_net_command_t *slot, uint64_t ticket);

/** A cell for a call that waits; 0: the world has ended. */
uint16_t tsr_net_cell_take(tsr_net_t *net);
void tsr_net_cell_give(tsr_net_t *net, uint16_t cell);

/** One of what the command lacks is done. */
void tsr_net_cell_less(tsr_net_t *net, uint16_t cell);

/* ------------------------------------------------------------------ serve.c */

/** The lock. Returns false if somebody else serves. */
bool tsr_net_try(tsr_net_t *net);

/** The same by a call that waits. If the proxy thread serves, it soon does not. */
bool tsr_net_claim(tsr_net_t *net);

/** After tsr_net_try, by who will call tsr_net_serve: the proxy thread sleeps on meanwhile. */
void tsr_net_drive(tsr_net_t *net);
void tsr_net_leave(tsr_net_t *net);

/** Serves the queue, and moves messages. Returns how much it did. */
unsigned tsr_net_serve(tsr_net_t *net);

/** Serves the queue alone. */
unsigned tsr_net_drain(tsr_net_t *net);

bool tsr_net_thread_start(tsr_net_t *net);
void tsr_net_thread_stop(tsr_net_t *net);

/* ------------------------------------------------------------------ send.c */

/**
 * A record for a message of this kind; the rest of the message is 0. Null: the world has ended,
 * for lack of memory.
 */
tsr_net_sending_t *tsr_net_sending_new(tsr_net_t *net, tsr_message_kind_t what, int peer);

/** Sends it. The carrier has data and record until it tells that it has sent them. */
void tsr_net_post(tsr_net_t *net, tsr_net_sending_t *sending, const void *data, size_t bytes);

/** What the carrier tells. */
void tsr_net_sent(void *ctx, void *mark);

/** A message that is nothing but its kind. */
void tsr_net_say(tsr_net_t *net, tsr_message_kind_t what, int peer);

/** Sends what a command asks for. Returns false if some of it must wait. */
bool tsr_net_issue(tsr_net_t *net, const tsr_net_command_t *command);

/** Sends the releases and ends the flushes whose acknowledgements have come. */
unsigned tsr_net_settle(tsr_net_t *net);

/* ------------------------------------------------------------------ rows.c */

/** Rows in this process that are sent in pieces. */
typedef struct tsr_net_source {
	const unsigned char *base;
	uint64_t pitch_bytes, row_bytes, rows;
	/* not null: they are in this memory, from `offset` on, and `base` is of no meaning */
	const tsr_net_memory_t *memory;
	uint64_t offset;
} tsr_net_source_t;

/** A piece: `rows` rows of `row_bytes`, or a part of one, with no gaps between. */
typedef struct tsr_net_piece {
	uint64_t row, column, rows, row_bytes;
	const unsigned char *data;
} tsr_net_piece_t;

/**
 * Cuts the next piece off, of at most `most` bytes (at most
 * TSR_NET_STAGED_BYTES), and moves *row and *column behind it. Rows with gaps
 * between are packed into the record.
 */
tsr_net_piece_t tsr_net_cut(const tsr_net_source_t *source, uint64_t *row, uint64_t *column,
			    size_t most, tsr_net_sending_t *sending);

/* ------------------------------------------------------------------ apply.c */

/** What the carrier tells. */
void tsr_net_arrived(void *ctx, const void *header, size_t header_bytes, const void *data,
		     size_t data_bytes);

/** Applies what waited for `peer`'s messages up to now. */
void tsr_net_release_held(tsr_net_t *net, int peer);

/** Sends on what gets have asked for. */
unsigned tsr_net_answer(tsr_net_t *net);

/**
 * Tells peers how much was applied: all of them if there is nothing else to do
 * (`idle`), else those who have asked, or of whom much was applied.
 */
unsigned tsr_net_acknowledge(tsr_net_t *net, bool idle);

#endif
