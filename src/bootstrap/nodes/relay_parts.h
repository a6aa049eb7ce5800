/* What the files of the relay share: relay.c, relay_posts.c, hub.c and spoke.c. */
#ifndef TESSERA_BOOTSTRAP_NODES_RELAY_PARTS_H
#define TESSERA_BOOTSTRAP_NODES_RELAY_PARTS_H

#include <poll.h>
#include <pthread.h>

#include "src/bootstrap/board_rows.h"
#include "src/bootstrap/nodes/greeting.h"
#include "src/bootstrap/nodes/relay.h"
#include "src/bootstrap/nodes/root.h"

enum {
	TSR_RELAY_GUESTS = 64, /* most connections that have not proved who they are */
	TSR_RELAY_LINKS = TSR_MAX_RANKS
};

typedef struct tsr_relay {
	tsr_boot_t *boot;
	tsr_job_t job;
	pthread_t thread;
	_Atomic uint32_t leaving; /* 1: the keeper leaves; 2: at once */
	uint64_t leave_ns;        /* since when, as the thread has seen it; 0: not yet */
	uint64_t looked_ns, lost_looked_ns;
	bool end_sent, loss_sent;
	uint64_t end_seen_ns; /* when the end was to be sent; 0: not yet */
	uint32_t end_number;  /* the events before this number come before it */
	/* the keeper of each rank's node; -1: not known yet. The relay's own. */
	int16_t keeper_of[TSR_MAX_RANKS];
	/* hub: one for each other node; elsewhere: [0] is to the hub */
	tsr_link_t link[TSR_RELAY_LINKS];
	int links;
	/* hub */
	int listener;                /* -1: closed */
	char listens[TSR_ROOT_TEXT]; /* where, for a log; "": elsewhere */
	bool complete;               /* all ranks of the world are known */
	uint64_t full_until_ns;      /* there was no room for one more connection */
	tsr_buffer_t history;        /* until then: all frames, for the nodes that come later */
	tsr_link_t guest[TSR_RELAY_GUESTS];
	/* elsewhere */
	tsr_root_t root;
	bool joined;   /* the hub has let this node in */
	bool stranger; /* the last one that answered did not know the key */
	int attempts, connect_error;
	uint64_t retry_ns;
	tsr_stopwatch_t connecting;
	unsigned char body[TSR_FRAME_BODY], answer[sizeof(tsr_posted_t)];
} tsr_relay_t;

static inline bool tsr_relay_is_hub(const tsr_relay_t *relay)
{
	return relay->boot->rank == 0;
}

/** Whether the world has ended in this segment. */
static inline bool tsr_relay_ended(const tsr_relay_t *relay)
{
	const char *sentence;
	return tsr_boot_abort_status(relay->boot, &sentence) != TSR_OK;
}

/**
 * The relay itself ends the world: the hub decides at once; another node
 * proposes, or decides for itself if it has no link to the hub.
 */
void tsr_relay_decide(tsr_relay_t *relay, tsr_status_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * Who waits too long names the rank that it waits for. That one may wait itself,
 * for a node of which nothing is heard: this names the node too.
 */
tsr_end_t tsr_relay_name_silent(const tsr_boot_t *boot, const tsr_end_t *end);

/** Whether a rank of this node has proposed why the world should end. */
bool tsr_relay_has_proposal(const tsr_relay_t *relay);

/** Notes where a rank is. False: it is on another node already; ends the world. */
bool tsr_relay_place(tsr_relay_t *relay, int rank, int keeper);

/** Sends a frame to all nodes but `except` (null: to all). */
void tsr_relay_spread(tsr_relay_t *relay, const tsr_frame_t *frame, const void *body,
		      const tsr_link_t *except);

/**
 * A far rank's post has come, where the frame is one: sends it those posts of the
 * same number in which ranks that it names do not name it.
 */
void tsr_relay_answer_post(tsr_relay_t *relay, const tsr_frame_t *frame, const void *body);

/** Tells the other nodes, once, that posts of this one are lost, where they are. */
void tsr_relay_pass_on_loss(tsr_relay_t *relay);

/** A node is lost; `why` ends the sentence. */
void tsr_relay_lose(tsr_relay_t *relay, tsr_link_t *link, const char *why);

/** Looks after the greeting, at the hub and elsewhere. Nothing waits. */
void tsr_hub_look(tsr_relay_t *relay);
void tsr_hub_accept(tsr_relay_t *relay);
void tsr_hub_hear_guest(tsr_relay_t *relay, tsr_link_t *guest);
void tsr_hub_take(tsr_relay_t *relay, tsr_link_t *link, const tsr_frame_t *frame, const void *body);
/** Whether this node still has a reason to find the hub. */
bool tsr_spoke_seeks(const tsr_relay_t *relay);
void tsr_spoke_look(tsr_relay_t *relay);
void tsr_spoke_hear(tsr_relay_t *relay, const struct pollfd *entry);
void tsr_spoke_take(tsr_relay_t *relay, tsr_link_t *link, const tsr_frame_t *frame,
		    const void *body);

#endif
