/* The relay of node 0: lets the other nodes' keepers in, and passes frames on. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "src/base/error.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/nodes/relay_parts.h"
#include "src/bootstrap/wire/message.h"

/* A keeper that has connected says who it is within this time, on a busy machine; else it comes
 * again. */
#define SILENCE_NS 5000000000u

enum { FULL_NS = 2 * 1000000, FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK };

/** A place for one more guest: the oldest goes where there is none. It may come again. */
static tsr_link_t *find_place(tsr_relay_t *relay)
{
	tsr_link_t *oldest = &relay->guest[0];
	for (int i = 0; i < TSR_RELAY_GUESTS; i++) {
		tsr_link_t *guest = &relay->guest[i];
		if (guest->stage == TSR_LINK_CLOSED)
			return guest;
		if (guest->since_ns < oldest->since_ns)
			oldest = guest;
	}
	tsr_link_close(oldest);
	return oldest;
}

/**
 * No room for one more connection. It may pass: guests leave, or the machine
 * finds some. Without guests this process lacks descriptors for its nodes.
 */
static void bear_full_house(tsr_relay_t *relay, int error)
{
	bool guests = false;
	for (int i = 0; i < TSR_RELAY_GUESTS; i++)
		guests = guests || relay->guest[i].stage != TSR_LINK_CLOSED;
	relay->full_until_ns = tsr_now_ns() + FULL_NS;
	if (error == EMFILE && !guests && !tsr_relay_ended(relay))
		tsr_relay_decide(relay, TSR_ERR_SYSTEM, "rank %d of %d cannot let all nodes in: %s",
				 relay->boot->rank, relay->boot->size, tsr_message_fault(error));
}

void tsr_hub_accept(tsr_relay_t *relay)
{
	const int yes = 1;
	for (int i = 0; i < TSR_RELAY_GUESTS; i++) {
		const int fd = tsr_fd_keep(accept4(relay->listener, NULL, NULL, FLAGS));
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno != EAGAIN)
			bear_full_house(relay, errno);
		if (fd < 0)
			return;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
		tsr_link_open(find_place(relay), fd, TSR_LINK_GUEST);
	}
}

/**
 * A keeper that comes twice has given up its first connection, as it was not
 * answered in time; or it is another process.
 */
static void replace(tsr_relay_t *relay, const tsr_wire_hello_t *hello)
{
	for (int i = 0; i < relay->links; i++) {
		tsr_link_t *link = &relay->link[i];
		if (link->stage != TSR_LINK_JOINED || link->keeper != hello->rank)
			continue;
		if (link->process == hello->process && !link->heard)
			tsr_link_close(link);
		else
			tsr_relay_decide(relay, TSR_ERR_CONFIG,
					 "two processes say that they are rank %d of the same job: "
					 "give each rank its own number and %s",
					 hello->rank, tsr_boot_own_name(relay->boot));
	}
}

/** Judges a node's keeper. What is wrong with it is wrong with the job. */
static void judge(tsr_relay_t *relay, const tsr_wire_hello_t *hello)
{
	const int size = relay->boot->size;
	if (hello->abi != TSR_CONTROL_ABI)
		tsr_relay_decide(relay, TSR_ERR_CONFIG,
				 "rank %d runs another version of the library than rank 0 "
				 "(control %u, not %u): build all ranks alike",
				 hello->rank, hello->abi, TSR_CONTROL_ABI);
	else if (hello->size != size)
		tsr_relay_decide(relay, TSR_ERR_CONFIG,
				 "rank %d says that the job has %d ranks, rank 0 says %d: start "
				 "all ranks alike",
				 hello->rank, hello->size, size);
	else if (hello->rank <= 0 || hello->rank >= size)
		tsr_relay_decide(relay, TSR_ERR_CONFIG,
				 "a process says that it is rank %d and the first of its node, but "
				 "the job has ranks 0 to %d, and rank 0 is on another node",
				 hello->rank, size - 1);
	else if (tsr_relay_place(relay, hello->rank, hello->rank))
		replace(relay, hello);
}

/** Answers a keeper: it is let in if the world lives. False: no memory. */
static bool answer(const tsr_relay_t *relay, tsr_link_t *guest)
{
	tsr_wire_verdict_t verdict = {.status = TSR_OK};
	const char *sentence = "";
	verdict.status = tsr_boot_abort_status(relay->boot, &sentence);
	snprintf(verdict.sentence, sizeof verdict.sentence, "%s", sentence);
	return tsr_buffer_add(&guest->out, &verdict, sizeof verdict);
}

/** Room for a link; null: there is none, so somebody comes again and again. */
static tsr_link_t *find_link(tsr_relay_t *relay)
{
	int at = 0;
	while (at < relay->links && relay->link[at].stage != TSR_LINK_CLOSED)
		at++;
	if (at == TSR_RELAY_LINKS)
		return NULL;
	relay->links = at == relay->links ? at + 1 : relay->links;
	return &relay->link[at];
}

/** From now on its frames are heard, and it hears all; first what all have said so far. */
static void let_in(tsr_relay_t *relay, tsr_link_t *guest, const tsr_wire_hello_t *hello)
{
	tsr_link_t *link = find_link(relay);
	const tsr_buffer_t *history = &relay->history;
	*link = *guest;
	*guest = (tsr_link_t){.stage = TSR_LINK_CLOSED, .fd = -1};
	link->stage = TSR_LINK_JOINED;
	link->keeper = hello->rank;
	link->process = hello->process;
	if (history->end > history->begin &&
	    !tsr_buffer_add(&link->out, history->bytes + history->begin,
			    history->end - history->begin))
		tsr_relay_lose(relay, link, "this machine has no memory for what it should hear");
}

void tsr_hub_hear_guest(tsr_relay_t *relay, tsr_link_t *guest)
{
	tsr_wire_hello_t hello;
	const bool open = tsr_link_fill(guest) == TSR_FLOW_ON;
	const tsr_greeting_t greeting =
		open ? tsr_greet_guest(guest, &relay->job.key, &hello) : TSR_GREETING_WRONG;
	if (greeting == TSR_GREETING_WRONG) {
		tsr_link_close(guest); /* a stranger; it disturbs nobody */
		return;
	}
	if (greeting == TSR_GREETING_DONE && !tsr_relay_ended(relay))
		judge(relay, &hello);
	if (greeting == TSR_GREETING_DONE && answer(relay, guest) && !tsr_relay_ended(relay) &&
	    find_link(relay) != NULL) {
		let_in(relay, guest, &hello);
		return;
	}
	/* a guest that is turned away hears why as far as the kernel takes it at once */
	if (tsr_link_flush(guest) != TSR_FLOW_ON || greeting == TSR_GREETING_DONE)
		tsr_link_close(guest);
}

/** Whether the hub knows all ranks of the world, and so all nodes. */
static bool knows_all(const tsr_relay_t *relay)
{
	for (int r = 0; r < relay->boot->size; r++)
		if (relay->keeper_of[r] < 0)
			return false;
	return true;
}

void tsr_hub_look(tsr_relay_t *relay)
{
	const uint64_t now = tsr_now_ns();
	for (int i = 0; i < TSR_RELAY_GUESTS; i++)
		if (relay->guest[i].stage != TSR_LINK_CLOSED &&
		    now - relay->guest[i].since_ns > SILENCE_NS)
			tsr_link_close(&relay->guest[i]);
	if (relay->complete || !knows_all(relay))
		return;
	/* whoever comes later is of another world */
	relay->complete = true;
	for (int i = 0; i < TSR_RELAY_GUESTS; i++)
		tsr_link_close(&relay->guest[i]);
	tsr_fd_close(&relay->listener, 1);
	relay->listener = -1;
	free(relay->history.bytes);
	relay->history = (tsr_buffer_t){.bytes = NULL};
}

/** A keeper speaks for the ranks of its node alone. */
static bool is_its_own(const tsr_relay_t *relay, const tsr_link_t *link, const tsr_frame_t *frame)
{
	const int rank = frame->event.rank;
	if (frame->kind == TSR_EVENT_PRESENT)
		return frame->event.place == link->keeper;
	if (frame->kind <= TSR_EVENT_LAST)
		return relay->keeper_of[rank] == link->keeper;
	return true;
}

void tsr_hub_take(tsr_relay_t *relay, tsr_link_t *link, const tsr_frame_t *frame, const void *body)
{
	if (!is_its_own(relay, link, frame)) {
		tsr_relay_lose(relay, link,
			       "it sent a message of another node's rank: build all ranks alike");
		return;
	}
	switch (frame->kind) {
	case TSR_FRAME_ALIVE:
		break;
	case TSR_FRAME_GOODBYE:
		link->goodbye_heard = true;
		break;
	case TSR_FRAME_END: {
		/* the first one wins: of node 0's ranks too */
		const tsr_end_t proposed = tsr_frame_end(relay->boot, body),
				end = tsr_relay_name_silent(relay->boot, &proposed);
		tsr_control_end(relay->boot->control, &end);
		break;
	}
	default:
		if (frame->kind == TSR_EVENT_PRESENT &&
		    !tsr_relay_place(relay, frame->event.rank, link->keeper))
			break;
		/* on to the others first: what this node's ranks do because of it comes later */
		tsr_relay_spread(relay, frame, body, link);
		tsr_frame_apply(relay->boot, frame, body);
		tsr_relay_answer_post(relay, frame, body);
	}
}
