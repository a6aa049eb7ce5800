/* The relay of the other nodes: finds the hub, and hears the other nodes from it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/bootstrap/nodes/relay_parts.h"
#include "src/bootstrap/wire/message.h"

/* One attempt to connect, and one to be greeted: else the next address, or once more. */
#define CONNECT_NS 3000000000u
#define GREETING_NS 5000000000u

enum {
	FIRST_PAUSE_NS = 1000 * 1000, /* between two attempts; doubles */
	LAST_PAUSE_NS = 32 * 1000000
};

/** The attempt has failed: another one follows after a pause. */
static void give_up(tsr_relay_t *relay, int error)
{
	uint64_t pause_ns = FIRST_PAUSE_NS;
	for (int i = 0; i < relay->attempts && pause_ns < LAST_PAUSE_NS; i++)
		pause_ns *= 2;
	tsr_link_close(&relay->link[0]);
	relay->attempts++;
	relay->connect_error = error;
	relay->retry_ns = tsr_now_ns() + pause_ns;
}

/** Why this node has not come in. */
static void explain(tsr_relay_t *relay)
{
	const tsr_boot_t *boot = relay->boot;
	char deadline[32];
	tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline);
	if (relay->stranger)
		tsr_relay_decide(relay, TSR_ERR_CONFIG,
				 "the process that listens at %s, where rank 0 should, does not "
				 "know the secret of the job '%s': give all ranks the same "
				 "TESSERA_SECRET, and each job a port of its own (TESSERA_ROOT)",
				 relay->job.root, relay->job.name);
	else
		tsr_relay_decide(
			relay, TSR_ERR_PEER_LOST,
			"rank %d of %d cannot reach rank 0's node at %s within %s: %s "
			"(TESSERA_ROOT says where that is, TESSERA_DEADLINE how long the others "
			"wait)",
			boot->rank, boot->size, relay->job.root, deadline,
			relay->connect_error != 0 ? tsr_message_fault(relay->connect_error)
						  : "it does not answer");
}

static void attempt(tsr_relay_t *relay)
{
	if (relay->root.count == 0 && tsr_root_find(relay->job.root, &relay->root) != TSR_OK) {
		char sentence[TSR_SENTENCE_LENGTH];
		snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
		tsr_relay_decide(relay, TSR_ERR_CONFIG, "%s", sentence);
		return;
	}
	const int fd = tsr_root_connect(&relay->root, relay->attempts % relay->root.count);
	if (fd < 0 && errno == EMFILE) /* of this process, and does not pass */
		tsr_relay_decide(relay, TSR_ERR_SYSTEM,
				 "rank %d of %d cannot connect to rank 0's node at %s: %s",
				 relay->boot->rank, relay->boot->size, relay->job.root,
				 tsr_message_fault(EMFILE));
	else if (fd < 0)
		give_up(relay, errno);
	else
		tsr_link_open(&relay->link[0], fd, TSR_LINK_CONNECTING);
}

bool tsr_spoke_seeks(const tsr_relay_t *relay)
{
	return !relay->joined && !relay->end_sent &&
	       (!tsr_relay_ended(relay) || tsr_relay_has_proposal(relay));
}

void tsr_spoke_look(tsr_relay_t *relay)
{
	const tsr_link_t *link = &relay->link[0];
	const uint64_t now = tsr_now_ns();
	if (!tsr_spoke_seeks(relay))
		return;
	/* a little before the ranks that wait for the others: they would blame them */
	if (tsr_stopwatch_look(&relay->connecting, now) >
	    relay->boot->deadline_ns - relay->boot->deadline_ns / 16) {
		explain(relay);
		return;
	}
	if (link->stage == TSR_LINK_CLOSED && now >= relay->retry_ns)
		attempt(relay);
	else if (link->stage == TSR_LINK_CONNECTING && now - link->since_ns > CONNECT_NS)
		give_up(relay, ETIMEDOUT);
	else if (link->stage != TSR_LINK_CLOSED && now - link->since_ns > GREETING_NS)
		give_up(relay, 0);
}

/** Whether the connection is there; gives up if it has failed. */
static bool is_connected(tsr_relay_t *relay, const struct pollfd *entry)
{
	tsr_link_t *link = &relay->link[0];
	int error = 0;
	socklen_t length = sizeof error;
	if ((entry->revents & (POLLOUT | POLLERR | POLLHUP)) == 0)
		return false;
	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
		error = errno;
	if (error == 0 && tsr_greet_first(link))
		return true;
	give_up(relay, error != 0 ? error : ENOMEM);
	return false;
}

static void take_verdict(tsr_relay_t *relay, const tsr_wire_verdict_t *verdict)
{
	tsr_link_t *link = &relay->link[0];
	if (verdict->status == TSR_OK) {
		relay->joined = true;
		link->stage = TSR_LINK_JOINED;
		link->keeper = 0;
		return;
	}
	/* the world has ended on node 0: for what it says */
	tsr_end_t end = {.status = verdict->status, .rank = 0};
	snprintf(end.sentence, sizeof end.sentence, "%s", verdict->sentence);
	tsr_link_close(link);
	relay->end_sent = true; /* what this node has to say comes too late */
	tsr_control_end(relay->boot->control, &end);
}

void tsr_spoke_hear(tsr_relay_t *relay, const struct pollfd *entry)
{
	tsr_link_t *link = &relay->link[0];
	tsr_wire_verdict_t verdict;
	tsr_wire_hello_t hello = {.abi = TSR_CONTROL_ABI,
				  .rank = relay->boot->rank,
				  .size = relay->boot->size,
				  .process = relay->boot->process};
	if (link->stage == TSR_LINK_CONNECTING && !is_connected(relay, entry))
		return;
	const tsr_flow_t flow = tsr_link_fill(link);
	const tsr_greeting_t greeting = tsr_greet_host(link, &relay->job.key, &hello, &verdict);
	if (greeting == TSR_GREETING_DONE) {
		take_verdict(relay, &verdict);
		return;
	}
	relay->stranger = relay->stranger || greeting == TSR_GREETING_WRONG;
	if (greeting == TSR_GREETING_WRONG || flow != TSR_FLOW_ON)
		give_up(relay, greeting == TSR_GREETING_WRONG ? 0 : ECONNRESET);
}

void tsr_spoke_take(tsr_relay_t *relay, tsr_link_t *link, const tsr_frame_t *frame,
		    const void *body)
{
	switch (frame->kind) {
	case TSR_FRAME_ALIVE:
		break;
	case TSR_FRAME_GOODBYE:
		link->goodbye_heard = true;
		break;
	case TSR_FRAME_END: {
		const tsr_end_t end = tsr_frame_end(relay->boot, body);
		tsr_control_end(relay->boot->control, &end);
		break;
	}
	default:
		if (frame->kind == TSR_EVENT_PRESENT &&
		    !tsr_relay_place(relay, frame->event.rank, frame->event.place))
			break;
		if (relay->keeper_of[frame->event.rank] == relay->boot->keeper) {
			tsr_relay_lose(relay, link,
				       "it sent a message of this node's rank: build all ranks "
				       "alike");
			break;
		}
		tsr_frame_apply(relay->boot, frame, body);
		tsr_relay_answer_post(relay, frame, body);
	}
}
