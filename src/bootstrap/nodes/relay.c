/* The relay's thread, and what ranks ask of it. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "src/base/error.h"
#include "src/base/os/descriptor.h"
#include "src/base/text.h"
#include "src/bootstrap/nodes/relay_parts.h"
#include "src/bootstrap/wire/message.h"

/* How long ranks wait for node 0 to decide why the world ends. */
#define DECISION_NS 2000000000u
/* How long a node that has ended waits for the others to know it. */
#define GOODBYE_NS 2000000000u
#define LONGEST_ALIVE_NS 1000000000u

enum {
	EVENTS_NS =
		500 * 1000000, /* from the claim of an event to its telling, on a busy machine */
	LOOK_NS = 20 * 1000000,
	SHORTEST_ALIVE_NS = 5 * 1000000
};

/* ------------------------------------------------------------------ the world's end */

/** Writes a proposal, if this node has none; node 0 decides. */
static void propose(tsr_boot_t *boot, const tsr_end_t *end)
{
	tsr_control_t *control = boot->control;
	uint32_t nobody = 0;
	/* relaxed: only decides who writes */
	if (atomic_compare_exchange_strong_explicit(&control->proposal_claimed, &nobody, 1,
						    memory_order_relaxed, memory_order_relaxed)) {
		control->proposal = *end;
		/* release: partner is the acquire in find_proposal */
		atomic_store_explicit(&control->proposal_ready, 1, memory_order_release);
	}
	tsr_event_ring_bell(boot);
}

/** This node's proposal, or null. */
static const tsr_end_t *find_proposal(const tsr_boot_t *boot)
{
	/* acquire: partner is the release in propose */
	return atomic_load_explicit(&boot->control->proposal_ready, memory_order_acquire) != 0
		       ? &boot->control->proposal
		       : NULL;
}

bool tsr_relay_has_proposal(const tsr_relay_t *relay)
{
	return find_proposal(relay->boot) != NULL;
}

/** Whether nobody passes a proposal on: the relay has ended, or its process has. */
static bool is_relay_gone(tsr_boot_t *boot)
{
	/* relaxed: nothing else is read because of it */
	return atomic_load_explicit(&boot->control->relay_gone, memory_order_relaxed) != 0 ||
	       (boot->rank != boot->keeper && tsr_boot_lost_rank(boot) == boot->keeper);
}

tsr_end_t tsr_relay_name_silent(const tsr_boot_t *boot, const tsr_end_t *end)
{
	tsr_end_t told = *end;
	/* relaxed: for reports alone */
	const uint32_t silent = atomic_load_explicit(&boot->control->silent, memory_order_relaxed);
	const size_t used = strlen(told.sentence);
	if (silent != 0 && (told.status == TSR_ERR_TIMEOUT || told.status == TSR_ERR_KERNEL))
		snprintf(
			told.sentence + used, sizeof told.sentence - used,
			"; nothing has been heard of node %d for longer than half of that time: is "
			"its rank %u stopped?",
			tsr_boot_node(boot, (int)silent - 1), silent - 1);
	return told;
}

void tsr_relay_end_world(tsr_boot_t *boot, const tsr_end_t *end)
{
	const char *sentence;
	const tsr_end_t told = tsr_relay_name_silent(boot, end);
	end = &told;
	if (boot->keeper == 0) {
		tsr_control_end(boot->control, end);
		tsr_event_ring_bell(boot);
		return;
	}
	propose(boot, end);
	const uint64_t end_ns = tsr_now_ns() + DECISION_NS;
	while (tsr_boot_abort_status(boot, &sentence) == TSR_OK && !is_relay_gone(boot) &&
	       tsr_now_ns() < end_ns)
		tsr_sleep_until(tsr_now_ns() + 500000);
	const tsr_end_t *proposal = find_proposal(boot);
	/* nothing happens where node 0 has decided */
	tsr_control_end(boot->control, proposal != NULL ? proposal : end);
}

void tsr_relay_decide(tsr_relay_t *relay, tsr_status_t status, const char *format, ...)
{
	tsr_boot_t *boot = relay->boot;
	tsr_end_t end = {.status = status, .rank = boot->rank};
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(end.sentence, sizeof end.sentence, format, arguments);
	va_end(arguments);
	if (!tsr_relay_is_hub(relay) && relay->link[0].stage == TSR_LINK_JOINED) {
		propose(boot, &end);
		return;
	}
	const tsr_end_t *proposal = tsr_relay_is_hub(relay) ? NULL : find_proposal(boot);
	tsr_control_end(boot->control, proposal != NULL ? proposal : &end);
}

/** Whether there is an end to pass on. */
static bool is_end_due(const tsr_relay_t *relay)
{
	return tsr_relay_is_hub(relay) ? tsr_relay_ended(relay)
				       : relay->joined && find_proposal(relay->boot) != NULL;
}

/**
 * Whether all events that were claimed before the end have been passed on: a
 * round that is complete here is then complete everywhere before it ends. Who
 * has claimed one and died holds up the rest.
 */
static bool are_events_passed(tsr_relay_t *relay)
{
	const tsr_event_ring_t *ring = &relay->boot->control->events;
	/* relaxed, both: the end was acquired before, and claims before it with it */
	const uint32_t claimed = atomic_load_explicit(&ring->claimed, memory_order_relaxed);
	const uint32_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
	if (relay->end_seen_ns == 0) {
		relay->end_seen_ns = tsr_now_ns();
		relay->end_number = claimed;
	}
	return (int32_t)(taken - relay->end_number) >= 0 ||
	       tsr_now_ns() - relay->end_seen_ns > EVENTS_NS;
}

/** Tells the other nodes why the world has ended; or node 0 why it should. */
static void pass_on_end(tsr_relay_t *relay)
{
	const tsr_boot_t *boot = relay->boot;
	if (relay->end_sent || !is_end_due(relay) || !are_events_passed(relay))
		return;
	if (!tsr_relay_is_hub(relay) && relay->link[0].stage != TSR_LINK_JOINED) {
		/* the hub has gone */
		tsr_control_end(boot->control, find_proposal(boot));
		relay->end_sent = true;
		return;
	}
	const tsr_end_t *end = tsr_relay_is_hub(relay) ? &boot->control->end : find_proposal(boot);
	const tsr_frame_t frame = {
		.kind = TSR_FRAME_END, .bytes = sizeof *end, .event = {.rank = boot->rank}};
	relay->end_sent = true;
	tsr_relay_spread(relay, &frame, end, NULL);
}

/* ------------------------------------------------------------------ nodes */

bool tsr_relay_place(tsr_relay_t *relay, int rank, int keeper)
{
	if (relay->keeper_of[rank] >= 0 && relay->keeper_of[rank] != keeper) {
		tsr_relay_decide(relay, TSR_ERR_CONFIG,
				 "two processes say that they are rank %d of the same job, on two "
				 "nodes: give each rank its own number and %s",
				 rank, tsr_boot_own_name(relay->boot));
		return false;
	}
	relay->keeper_of[rank] = (int16_t)keeper;
	return true;
}

/** Writes "node 1 (ranks 4 and 5)", or "(ranks 4 to 7)": as far as this node knows them. */
static void name_node(const tsr_relay_t *relay, int keeper, char *text, size_t size)
{
	bool chosen[TSR_MAX_RANKS] = {false};
	char ranks[TSR_RANKS_TEXT];
	int last = keeper, count = 0;
	for (int r = 0; r < relay->boot->size; r++)
		if (relay->keeper_of[r] == keeper) {
			chosen[r] = true;
			last = r;
			count++;
		}
	if (count > 2 && last - keeper + 1 == count)
		snprintf(ranks, sizeof ranks, "ranks %d to %d", keeper, last);
	else
		(void)tsr_boot_list_ranks(chosen, relay->boot->size, ranks, sizeof ranks);
	snprintf(text, size, "node %d (%s)", tsr_boot_node(relay->boot, keeper), ranks);
}

void tsr_relay_lose(tsr_relay_t *relay, tsr_link_t *link, const char *why)
{
	char node[TSR_RANKS_TEXT + 32];
	const int keeper = link->keeper;
	tsr_link_close(link);
	name_node(relay, keeper, node, sizeof node);
	tsr_relay_decide(relay, TSR_ERR_PEER_LOST, "%s of the world of %d ranks is lost: %s", node,
			 relay->boot->size, why);
}

void tsr_relay_spread(tsr_relay_t *relay, const tsr_frame_t *frame, const void *body,
		      const tsr_link_t *except)
{
	for (int i = 0; i < relay->links; i++) {
		tsr_link_t *link = &relay->link[i];
		if (link->stage != TSR_LINK_JOINED || link == except || link->goodbye_said)
			continue;
		if (!tsr_link_say(link, frame, body))
			tsr_relay_lose(relay, link,
				       "it takes no messages, or this machine has no memory for "
				       "them");
	}
	if (!tsr_relay_is_hub(relay) || relay->complete)
		return;
	if (!tsr_buffer_add(&relay->history, frame, sizeof *frame) ||
	    !tsr_buffer_add(&relay->history, body, frame->bytes))
		tsr_relay_decide(relay, TSR_ERR_NO_MEMORY,
				 "the host of rank 0 has no memory to pass on messages between "
				 "nodes; free some");
}

/* ------------------------------------------------------------------ what the thread does */

/**
 * Whether all ranks are on this node, although the job could be on several: no
 * far rank holds up a member until its slot has been read, and nobody is told.
 */
static bool is_alone(const tsr_relay_t *relay)
{
	const tsr_boot_t *boot = relay->boot;
	for (int r = 0; r < boot->size; r++)
		/* acquire: partner is the release in tsr_boot_arrive */
		if (atomic_load_explicit(&boot->control->member[r].state, memory_order_acquire) ==
			    TSR_MEMBER_ABSENT ||
		    tsr_boot_is_far(boot, r))
			return false;
	return true;
}

/** Sends what this node's ranks have done. */
static void pass_on_events(tsr_relay_t *relay)
{
	tsr_boot_t *boot = relay->boot;
	tsr_event_t event;
	tsr_frame_t frame;
	if (!tsr_relay_is_hub(relay) && !relay->joined)
		return;
	while (tsr_event_take(&boot->control->events, &event)) {
		if (event.kind == TSR_EVENT_PRESENT &&
		    !tsr_relay_place(relay, event.rank, boot->keeper))
			continue;
		if (event.kind == TSR_EVENT_ARRIVED && is_alone(relay))
			continue;
		tsr_frame_make(boot, &event, &frame, relay->body);
		tsr_relay_spread(relay, &frame, relay->body, NULL);
	}
}

/** A rank of this node has ended without leaving: all nodes are told, whoever waits for it. */
static void look_for_lost(tsr_relay_t *relay, uint64_t now)
{
	tsr_boot_t *boot = relay->boot;
	if (now - relay->lost_looked_ns < tsr_boot_look_ns(boot) || tsr_relay_ended(relay))
		return;
	relay->lost_looked_ns = now;
	const int lost = tsr_boot_lost_rank(boot);
	if (lost >= 0 && !tsr_relay_ended(relay))
		tsr_relay_decide(relay, TSR_ERR_PEER_LOST,
				 "rank %d of %d on node %d is lost: its process ended without "
				 "leaving the world (noticed by rank %d)",
				 lost, boot->size, tsr_boot_node(boot, lost), boot->rank);
}

/** Notes that nothing is heard of a node, or that it is heard again. */
static void note_silence(const tsr_boot_t *boot, int keeper, bool silent)
{
	/* relaxed, both: for reports alone, and this thread alone writes it */
	const uint32_t before = atomic_load_explicit(&boot->control->silent, memory_order_relaxed);
	const uint32_t mark = (uint32_t)keeper + 1;
	if (silent ? before == 0 : before == mark)
		atomic_store_explicit(&boot->control->silent, silent ? mark : 0,
				      memory_order_relaxed);
}

/** Says that this node lives, and notices those that no longer say it. */
static void look_at_link(tsr_relay_t *relay, tsr_link_t *link, uint64_t now)
{
	const tsr_boot_t *boot = relay->boot;
	const tsr_frame_t alive = {.kind = TSR_FRAME_ALIVE, .event = {.rank = boot->rank}};
	uint64_t every_ns = boot->deadline_ns / 8;
	every_ns = every_ns > LONGEST_ALIVE_NS ? LONGEST_ALIVE_NS : every_ns;
	every_ns = every_ns < SHORTEST_ALIVE_NS ? SHORTEST_ALIVE_NS : every_ns;
	if (!link->goodbye_said && now - link->sent_ns > every_ns)
		(void)tsr_link_say(link, &alive, NULL);
	const uint64_t silence_ns = tsr_stopwatch_look(&link->silence, now);
	note_silence(boot, link->keeper, silence_ns > boot->deadline_ns / 2);
	if (silence_ns <= boot->deadline_ns)
		return;
	char deadline[32], why[160];
	snprintf(why, sizeof why,
		 "nothing has been heard of it for %s: is its first rank stopped? "
		 "(TESSERA_DEADLINE sets how long the others wait)",
		 tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline));
	tsr_relay_lose(relay, link, why);
}

static void look_around(tsr_relay_t *relay)
{
	const uint64_t now = tsr_now_ns();
	if (tsr_relay_is_hub(relay))
		tsr_hub_look(relay);
	else
		tsr_spoke_look(relay);
	if (now - relay->looked_ns < LOOK_NS)
		return;
	relay->looked_ns = now;
	look_for_lost(relay, now);
	for (int i = 0; i < relay->links; i++)
		if (relay->link[i].stage == TSR_LINK_JOINED)
			look_at_link(relay, &relay->link[i], now);
}

/** The other end has closed the link, or it has broken. */
static void lose_closed(tsr_relay_t *relay, tsr_link_t *link, tsr_flow_t flow)
{
	char why[256];
	/* one that is not heard yet comes again, or its ranks never arrive */
	const bool is_new = tsr_relay_is_hub(relay) && !link->heard;
	if (link->goodbye_heard || link->goodbye_said || is_new || tsr_relay_ended(relay)) {
		tsr_link_close(link);
		return;
	}
	if (flow == TSR_FLOW_OVER)
		snprintf(why, sizeof why,
			 "its connection to rank %d was closed, so its first rank, rank %d, has "
			 "ended, or the network has failed",
			 relay->boot->rank, link->keeper);
	else
		snprintf(why, sizeof why, "its connection to rank %d has failed: %s",
			 relay->boot->rank,
			 errno == EPROTO ? "the message is not as expected: build all ranks from "
					   "one version of the library"
					 : tsr_message_fault(errno));
	tsr_relay_lose(relay, link, why);
}

static void serve_link(tsr_relay_t *relay, tsr_link_t *link)
{
	tsr_frame_t frame;
	const void *body;
	const tsr_flow_t filled = tsr_link_fill(link);
	const int error = errno;
	for (;;) {
		const tsr_flow_t flow = tsr_link_take_frame(link, relay->boot->size, &frame, &body);
		if (flow != TSR_FLOW_ON) {
			lose_closed(relay, link, flow);
			return;
		}
		if (body == NULL)
			break;
		link->heard = true;
		if (tsr_relay_is_hub(relay))
			tsr_hub_take(relay, link, &frame, body);
		else
			tsr_spoke_take(relay, link, &frame, body);
		if (link->stage != TSR_LINK_JOINED)
			return;
	}
	errno = error;
	if (filled != TSR_FLOW_ON)
		lose_closed(relay, link, filled);
}

static void flush_links(tsr_relay_t *relay)
{
	for (int i = 0; i < relay->links; i++) {
		tsr_link_t *link = &relay->link[i];
		if (link->stage == TSR_LINK_CLOSED || link->stage == TSR_LINK_CONNECTING)
			continue;
		const tsr_flow_t flow = tsr_link_flush(link);
		const bool sent = link->out.begin == link->out.end;
		if (link->stage != TSR_LINK_JOINED)
			continue; /* whether it is closed is seen where it is read */
		if (flow == TSR_FLOW_LOST)
			lose_closed(relay, link, flow);
		else if (link->goodbye_heard && sent)
			tsr_link_close(link);
	}
}

/** Waits until there is something to do, or to look at; does what there is. */
static void serve(tsr_relay_t *relay)
{
	struct pollfd entries[2 + TSR_RELAY_LINKS + TSR_RELAY_GUESTS];
	struct pollfd *links[TSR_RELAY_LINKS], *guests[TSR_RELAY_GUESTS];
	size_t polled = 2;
	const bool is_hub = tsr_relay_is_hub(relay);
	const int count = relay->links, guest_count = is_hub ? TSR_RELAY_GUESTS : 0;
	entries[0] = (struct pollfd){.fd = relay->boot->bell_fd, .events = POLLIN};
	entries[1] = (struct pollfd){
		.fd = tsr_now_ns() < relay->full_until_ns ? -1 : relay->listener, .events = POLLIN};
	for (int i = 0; i < count; i++)
		links[i] = tsr_link_add_entry(&relay->link[i], entries, &polled);
	for (int i = 0; i < guest_count; i++)
		guests[i] = tsr_link_add_entry(&relay->guest[i], entries, &polled);
	uint64_t end_ns = tsr_now_ns() + LOOK_NS;
	if (!is_hub && relay->link[0].stage == TSR_LINK_CLOSED && tsr_spoke_seeks(relay) &&
	    relay->retry_ns < end_ns)
		end_ns = relay->retry_ns;
	(void)tsr_fd_poll(entries, polled, end_ns);
	uint64_t rings;
	if (entries[0].revents != 0)
		(void)!tsr_fd_read(relay->boot->bell_fd, &rings, sizeof rings);
	for (int i = 0; i < count; i++) {
		tsr_link_t *link = &relay->link[i];
		const struct pollfd *entry = links[i];
		if (entry == NULL || entry->revents == 0 || link->stage == TSR_LINK_CLOSED)
			continue;
		if (link->stage != TSR_LINK_JOINED)
			tsr_spoke_hear(relay, entry);
		if (link->stage == TSR_LINK_JOINED && entry->fd == link->fd)
			serve_link(relay, link); /* what came behind the verdict too */
	}
	for (int i = 0; i < guest_count; i++)
		if (guests[i] != NULL && guests[i]->revents != 0 &&
		    relay->guest[i].stage != TSR_LINK_CLOSED)
			tsr_hub_hear_guest(relay, &relay->guest[i]);
	if (relay->listener >= 0 && entries[1].revents != 0)
		tsr_hub_accept(relay);
}

/* ------------------------------------------------------------------ the end */

static bool has_links(const tsr_relay_t *relay)
{
	for (int i = 0; i < relay->links; i++)
		if (relay->link[i].stage != TSR_LINK_CLOSED)
			return true;
	return false;
}

/** Whether no rank of this node needs the relay any more. */
static bool is_idle(const tsr_relay_t *relay)
{
	const tsr_boot_t *boot = relay->boot;
	const tsr_event_ring_t *ring = &boot->control->events;
	if (tsr_relay_ended(relay))
		return relay->end_sent || (!tsr_relay_is_hub(relay) && find_proposal(boot) == NULL);
	if (find_proposal(boot) != NULL && !tsr_relay_is_hub(relay))
		return false;
	for (int r = 0; r < boot->size; r++)
		/* acquire: partner is the release in tsr_boot_leave: its events are in the ring */
		if (relay->keeper_of[r] == boot->keeper &&
		    atomic_load_explicit(&boot->control->member[r].state, memory_order_acquire) ==
			    TSR_MEMBER_PRESENT)
			return false;
	/* relaxed: who has written more is still a member */
	return atomic_load_explicit(&ring->claimed, memory_order_relaxed) ==
	       atomic_load_explicit(&ring->taken, memory_order_relaxed);
}

static void say_goodbye(tsr_relay_t *relay)
{
	const tsr_frame_t goodbye = {.kind = TSR_FRAME_GOODBYE,
				     .event = {.rank = relay->boot->rank}};
	for (int i = 0; i < relay->links; i++) {
		tsr_link_t *link = &relay->link[i];
		if (link->stage != TSR_LINK_JOINED)
			tsr_link_close(link);
		else if (!link->goodbye_said)
			(void)tsr_link_say(link, &goodbye, NULL);
		link->goodbye_said = true;
	}
}

/** The keeper leaves: whether the relay may, or must, end. Says goodbye when its time has come. */
static bool is_finished(tsr_relay_t *relay)
{
	/* acquire: partner is the release in tsr_relay_end */
	const uint32_t leaving = atomic_load_explicit(&relay->leaving, memory_order_acquire);
	if (leaving != 1)
		return leaving == 2;
	const uint64_t now = tsr_now_ns(), deadline_ns = relay->boot->deadline_ns;
	relay->leave_ns = relay->leave_ns == 0 ? now : relay->leave_ns;
	const bool ended = tsr_relay_ended(relay);
	const uint64_t patience_ns = ended && deadline_ns > GOODBYE_NS ? GOODBYE_NS : deadline_ns;
	if (now - relay->leave_ns > patience_ns)
		return true;
	if (!is_idle(relay))
		return false;
	/* those who still come learn why the world has ended */
	if (tsr_relay_is_hub(relay) && ended && !relay->complete)
		return false;
	/* the hub stays until the other nodes need it no more */
	if (!tsr_relay_is_hub(relay) || ended || !has_links(relay))
		say_goodbye(relay);
	return !has_links(relay);
}

static void *relay_main(void *data)
{
	tsr_relay_t *relay = data;
	tsr_control_t *control = relay->boot->control;
	while (!is_finished(relay)) {
		pass_on_events(relay);
		tsr_relay_pass_on_loss(relay);
		pass_on_end(relay);
		look_around(relay);
		flush_links(relay);
		serve(relay);
	}
	/* relaxed: see is_relay_gone */
	atomic_store_explicit(&control->relay_gone, 1, memory_order_relaxed);
	return NULL;
}

/** Starts the thread, with all signals blocked: they are for the program's own threads. */
static int start(tsr_relay_t *relay)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int failed = pthread_create(&relay->thread, NULL, relay_main, relay);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

static void free_relay(tsr_relay_t *relay)
{
	for (int i = 0; i < TSR_RELAY_LINKS; i++)
		tsr_link_close(&relay->link[i]);
	for (int i = 0; i < TSR_RELAY_GUESTS; i++)
		tsr_link_close(&relay->guest[i]);
	tsr_fd_close(&relay->listener, 1);
	free(relay->history.bytes);
	free(relay);
}

tsr_status_t tsr_relay_begin(tsr_boot_t *boot, const tsr_job_t *job)
{
	tsr_relay_t *relay = calloc(1, sizeof *relay);
	if (relay == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to connect nodes; free some");
	relay->boot = boot;
	relay->job = *job;
	relay->listener = -1;
	relay->links = boot->rank == 0 ? 0 : 1;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		relay->keeper_of[r] = -1;
	tsr_status_t status = boot->rank == 0 ? tsr_root_listen(job, &relay->listener) : TSR_OK;
	if (relay->listener >= 0)
		tsr_root_describe(relay->listener, relay->listens);
	if (status == TSR_OK && start(relay) != 0)
		status = tsr_error(TSR_ERR_SYSTEM,
				   "cannot start a thread that connects this node to the others: "
				   "end other programs, or raise their limit (ulimit -u)");
	if (status != TSR_OK) {
		free_relay(relay);
		return status;
	}
	boot->relay = relay;
	return TSR_OK;
}

void tsr_relay_end(tsr_relay_t *relay, bool orderly)
{
	if (relay == NULL)
		return;
	/* release: partner is the acquire in is_finished */
	atomic_store_explicit(&relay->leaving, orderly ? 1 : 2, memory_order_release);
	tsr_event_ring_bell(relay->boot);
	pthread_join(relay->thread, NULL);
	free_relay(relay);
}

const char *tsr_boot_listens(const tsr_boot_t *boot)
{
	return boot->relay != NULL ? boot->relay->listens : "";
}
