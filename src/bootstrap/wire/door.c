/* Guests at the door: let in by user, challenged, heard. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/wire/door.h"
#include "src/bootstrap/wire/message.h"

enum {
	BACKLOG = 1024,
	ACCEPTS_A_LOOK = 64,
	/* a rank says hello within, on a busy machine; else it knocks again */
	SILENCE_NS = 1000 * 1000000,
	FULL_NS = 2 * 1000000
};

bool tsr_door_open(tsr_door_t *door, const tsr_job_t *job)
{
	struct sockaddr_un address;
	const socklen_t length = tsr_wire_address(job, &address);
	*door = (tsr_door_t){
		.fd = tsr_fd_keep(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
					 0)),
		.key = job->key};
	if (door->fd >= 0 && bind(door->fd, (struct sockaddr *)&address, length) == 0 &&
	    listen(door->fd, BACKLOG) == 0)
		return true;
	tsr_fd_close(&door->fd, 1);
	door->fd = -1;
	return false;
}

/** Takes a guest out of the list; its socket stays open. */
static int take_out(tsr_door_t *door, int at)
{
	const int socket = door->guest[at].socket;
	door->guests--;
	memmove(&door->guest[at], &door->guest[at + 1],
		(size_t)(door->guests - at) * sizeof *door->guest);
	return socket;
}

static void send_away(tsr_door_t *door, int at)
{
	const int socket = take_out(door, at);
	tsr_fd_close(&socket, 1);
}

/** Lets in one who waits. False: nobody does (errno is EAGAIN), or nobody can be let in. */
static bool let_one_in(tsr_door_t *door)
{
	uid_t uid;
	const int socket = tsr_fd_keep(accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (socket < 0)
		return errno == EINTR || errno == ECONNABORTED;
	if (!tsr_wire_same_user(socket, &uid)) {
		tsr_fd_close(&socket, 1);
		return true;
	}
	if (door->guests == TSR_DOOR_GUESTS)
		send_away(door, 0);
	door->guest[door->guests++] = (tsr_guest_t){.socket = socket, .since_ns = tsr_now_ns()};
	return true;
}

/**
 * There is no room for one more. Guests who are about to say hello are let do
 * so. One that has been silent for long makes room; and where there is no
 * guest, ranks that are in hold it all. False: that is so.
 */
static bool make_room(tsr_door_t *door)
{
	const uint64_t now = tsr_now_ns();
	if (door->guests == 0)
		return false;
	if (now - door->guest[0].since_ns > SILENCE_NS)
		send_away(door, 0);
	else
		door->full_until_ns = now + FULL_NS;
	return true;
}

/** Lets in those who wait. False, with errno: there are some, and no way to let one in. */
static bool let_in(tsr_door_t *door)
{
	for (int i = 0; i < ACCEPTS_A_LOOK && door->full_until_ns == 0; i++) {
		if (let_one_in(door))
			continue;
		const int error = errno;
		if (error == EAGAIN)
			return true;
		if (!make_room(door)) {
			errno = error;
			return false;
		}
	}
	return true;
}

typedef enum heard { STAYS, LEAVES, SAID_HELLO } heard_t;

/** A guest's first message: proves that this is the door of the job, and asks the same of it. */
static heard_t challenge(const tsr_door_t *door, tsr_guest_t *guest)
{
	tsr_wire_knock_t knock;
	int count;
	const tsr_post_t post =
		tsr_message_receive(guest->socket, &knock, sizeof knock, NULL, 0, &count);
	if (post == TSR_POST_LATER)
		return STAYS;
	if (post != TSR_POST_DONE || knock.magic != TSR_WIRE_MAGIC ||
	    !tsr_random_bytes(&guest->my_nonce, sizeof guest->my_nonce))
		return LEAVES;
	guest->its_nonce = knock.nonce;
	guest->challenged = true;
	const tsr_wire_challenge_t reply = {
		.magic = TSR_WIRE_MAGIC,
		.nonce = guest->my_nonce,
		.proof = tsr_wire_door_proof(&door->key, guest->its_nonce, guest->my_nonce)};
	return tsr_message_send(guest->socket, &reply, sizeof reply, NULL, 0) == TSR_POST_DONE
		       ? STAYS
		       : LEAVES;
}

/** Its second. */
static heard_t hear(const tsr_door_t *door, const tsr_guest_t *guest, tsr_wire_hello_t *hello_out)
{
	tsr_wire_hello_t hello;
	int count;
	const tsr_post_t post =
		tsr_message_receive(guest->socket, &hello, sizeof hello, NULL, 0, &count);
	if (post == TSR_POST_LATER)
		return STAYS;
	if (post != TSR_POST_DONE || hello.magic != TSR_WIRE_MAGIC ||
	    hello.proof !=
		    tsr_wire_hello_proof(&door->key, guest->its_nonce, guest->my_nonce, &hello))
		return LEAVES;
	*hello_out = hello;
	return SAID_HELLO;
}

/**
 * Serves those that are ready, until one has said hello. `entries` are the
 * guests' in their order, made before any is taken out.
 */
static bool serve_guests(tsr_door_t *door, const struct pollfd *entries,
			 tsr_wire_hello_t *hello_out, int *socket_out)
{
	for (int at = door->guests - 1; at >= 0; at--) {
		if (entries[at].revents == 0)
			continue;
		tsr_guest_t *guest = &door->guest[at];
		const heard_t heard =
			guest->challenged ? hear(door, guest, hello_out) : challenge(door, guest);
		if (heard == SAID_HELLO) {
			*socket_out = take_out(door, at);
			return true;
		}
		if (heard == LEAVES)
			send_away(door, at);
	}
	return false;
}

tsr_door_event_t tsr_door_next(tsr_door_t *door, uint64_t end_ns, tsr_wire_hello_t *hello_out,
			       int *socket_out)
{
	do {
		const bool full = door->full_until_ns > tsr_now_ns();
		const uint64_t until_ns =
			full && door->full_until_ns < end_ns ? door->full_until_ns : end_ns;
		struct pollfd entries[1 + TSR_DOOR_GUESTS] = {
			{.fd = full ? -1 : door->fd, .events = POLLIN}};
		door->full_until_ns = full ? door->full_until_ns : 0;
		for (int i = 0; i < door->guests; i++)
			entries[1 + i] =
				(struct pollfd){.fd = door->guest[i].socket, .events = POLLIN};
		if (tsr_fd_poll(entries, 1 + (size_t)door->guests, until_ns) == 0)
			continue;
		if (serve_guests(door, entries + 1, hello_out, socket_out))
			return TSR_DOOR_HELLO;
		if (entries[0].revents != 0 && !let_in(door))
			return TSR_DOOR_FULL;
	} while (tsr_now_ns() < end_ns);
	return TSR_DOOR_NOBODY;
}

bool tsr_door_answer(int socket, tsr_status_t status, const char *sentence, const int *fds,
		     int count, uint64_t end_ns)
{
	tsr_wire_verdict_t verdict = {.status = status, .printed = 1};
	snprintf(verdict.sentence, sizeof verdict.sentence, "%s", sentence);
	const tsr_post_t post =
		tsr_message_send_until(socket, &verdict, sizeof verdict, fds, count, end_ns);
	if (post == TSR_POST_CLOSED)
		errno = EPIPE;
	return post == TSR_POST_DONE;
}

void tsr_door_shut(tsr_door_t *door)
{
	while (door->guests > 0)
		send_away(door, 0);
	tsr_fd_close(&door->fd, 1);
	door->fd = -1;
}

int tsr_door_turn_away(tsr_door_t *door, tsr_status_t status, const char *sentence, uint64_t end_ns)
{
	tsr_wire_hello_t hello;
	int socket, told = 0;
	while (tsr_door_next(door, end_ns, &hello, &socket) == TSR_DOOR_HELLO) {
		told += tsr_door_answer(socket, status, sentence, NULL, 0, end_ns);
		tsr_fd_close(&socket, 1);
	}
	return told;
}
