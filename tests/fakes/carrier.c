/*
 * A carrier for tests, between processes of one machine: over Unix datagrams.
 * It sends some messages late, and delivers messages late and in random order,
 * as its seed says. Its settings come as the name of the interface, or where
 * there is none as TSR_TEST_CARRIER, "seed 7 delay 300": microseconds that a
 * message may be late at most; 0: all are in order. With "seed 7 delay 300 cut
 * 50" the link is cut when 50 messages have been sent: what is sent then goes
 * nowhere, nothing arrives, and nobody is told. TSR_TEST_RELEASE is its release.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "src/net/carrier.h"

enum { PIECE_BYTES = 16384, FRAME_BYTES = PIECE_BYTES + 1024, MOST_FOUND = 16 };

/** A message that is sent later: header and data are the sender's until then. */
typedef struct late {
	struct late *next;
	uint64_t due_ns;
	int peer;
	const void *header, *data;
	size_t header_bytes, data_bytes;
	void *mark;
} late_t;

/** A message that is delivered later. */
typedef struct found {
	struct found *next;
	uint64_t due_ns;
	size_t header_bytes, data_bytes;
	unsigned char bytes[];
} found_t;

typedef struct address {
	struct sockaddr_un name;
	socklen_t bytes;
} address_t;

struct tsr_carrier_link {
	tsr_carrier_events_t events;
	uint64_t random, delay_ns;
	unsigned long long left; /* messages until the link is cut */
	int socket, timer, epoll, size;
	late_t *late;
	found_t *found;
	address_t peers[];
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t draw(tsr_carrier_link_t *link)
{
	link->random ^= link->random << 13;
	link->random ^= link->random >> 7;
	link->random ^= link->random << 17;
	return link->random;
}

/** A time to be late until: half of all messages are on time. */
static uint64_t draw_due(tsr_carrier_link_t *link)
{
	const uint64_t now = now_ns();
	if (link->delay_ns == 0 || draw(link) % 2 == 0)
		return now;
	return now + draw(link) % link->delay_ns;
}

/** Sets the timer to the next message that is due. Returns false if one is. */
static bool set_timer(tsr_carrier_link_t *link)
{
	uint64_t due_ns = link->found ? link->found->due_ns : UINT64_MAX;
	for (const late_t *late = link->late; late != NULL; late = late->next)
		due_ns = late->due_ns < due_ns ? late->due_ns : due_ns;
	struct itimerspec at = {.it_value = {0, 0}};
	if (due_ns != UINT64_MAX)
		at.it_value = (struct timespec){(time_t)(due_ns / 1000000000u),
						(long)(due_ns % 1000000000u)};
	timerfd_settime(link->timer, TFD_TIMER_ABSTIME, &at, NULL);
	return due_ns > now_ns();
}

/* ------------------------------------------------------------------ sending */

/** Returns false if there is no room; `*gone_out`: the peer is not there. */
static bool transmit(tsr_carrier_link_t *link, const late_t *late, bool *gone_out)
{
	uint32_t header_bytes = (uint32_t)late->header_bytes;
	address_t *peer = &link->peers[late->peer];
	struct iovec parts[3] = {{&header_bytes, sizeof header_bytes},
				 {(void *)(uintptr_t)late->header, late->header_bytes},
				 {(void *)(uintptr_t)late->data, late->data_bytes}};
	const struct msghdr message = {.msg_name = &peer->name,
				       .msg_namelen = peer->bytes,
				       .msg_iov = parts,
				       .msg_iovlen = 3};
	*gone_out = false;
	if (sendmsg(link->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
		return false;
	*gone_out = true;
	return true;
}

static tsr_carrier_sent_t send_message(tsr_carrier_link_t *link, int peer, const void *header,
				       size_t header_bytes, const void *data, size_t data_bytes,
				       void *mark)
{
	bool gone = false;
	late_t made = {.due_ns = draw_due(link),
		       .peer = peer,
		       .header = header,
		       .data = data,
		       .header_bytes = header_bytes,
		       .data_bytes = data_bytes,
		       .mark = mark};
	const bool in_order = link->delay_ns == 0 && link->late != NULL;
	if (link->left == 0)
		return TSR_CARRIER_SENT;
	link->left--;
	if (!in_order && made.due_ns <= now_ns() && transmit(link, &made, &gone)) {
		if (gone)
			link->events.lost(link->events.ctx, peer, "it is gone");
		return gone ? TSR_CARRIER_FAILED : TSR_CARRIER_SENT;
	}
	late_t **end = &link->late, *late = malloc(sizeof *late);
	if (late == NULL)
		return TSR_CARRIER_FAILED;
	while (*end != NULL)
		end = &(*end)->next;
	*late = made;
	*end = late;
	(void)set_timer(link); /* the link may be armed */
	return TSR_CARRIER_SENDING;
}

static unsigned send_late(tsr_carrier_link_t *link)
{
	unsigned sent = 0;
	const uint64_t now = now_ns();
	for (late_t **at = &link->late, *late; (late = *at) != NULL;) {
		bool gone = false;
		if (late->due_ns > now || !transmit(link, late, &gone)) {
			if (late->due_ns <= now) /* the peer's socket is full */
				late->due_ns = now + 100000;
			if (link->delay_ns == 0)
				break;
			at = &late->next;
			continue;
		}
		*at = late->next;
		link->events.sent(link->events.ctx, late->mark);
		if (gone)
			link->events.lost(link->events.ctx, late->peer, "it is gone");
		free(late);
		sent++;
	}
	return sent;
}

/* ------------------------------------------------------------------ receiving */

/** Keeps what has come by the time at which it will be delivered. */
static unsigned find(tsr_carrier_link_t *link)
{
	unsigned char frame[FRAME_BYTES];
	unsigned count = 0;
	for (; count < MOST_FOUND; count++) {
		const ssize_t got = recv(link->socket, frame, sizeof frame, MSG_DONTWAIT);
		uint32_t header_bytes;
		if (got < (ssize_t)sizeof header_bytes)
			break;
		memcpy(&header_bytes, frame, sizeof header_bytes);
		const size_t bytes = (size_t)got - sizeof header_bytes;
		found_t *found = malloc(sizeof *found + bytes), **at = &link->found;
		if (found == NULL || header_bytes > bytes)
			abort();
		if (link->left == 0) {
			free(found);
			continue;
		}
		memcpy(found->bytes, frame + sizeof header_bytes, bytes);
		found->header_bytes = header_bytes;
		found->data_bytes = bytes - header_bytes;
		found->due_ns = draw_due(link);
		while (*at != NULL && (*at)->due_ns <= found->due_ns)
			at = &(*at)->next;
		found->next = *at;
		*at = found;
	}
	return count;
}

static unsigned progress(tsr_carrier_link_t *link)
{
	unsigned done = send_late(link) + find(link);
	found_t *found;
	while ((found = link->found) != NULL && found->due_ns <= now_ns()) {
		link->found = found->next;
		link->events.arrived(link->events.ctx, found->bytes, found->header_bytes,
				     found->bytes + found->header_bytes, found->data_bytes);
		free(found);
		done++;
	}
	return done;
}

static int descriptor(const tsr_carrier_link_t *link)
{
	return link->epoll;
}

static bool arm(tsr_carrier_link_t *link)
{
	return set_timer(link);
}

/* ------------------------------------------------------------------ the link */

static bool open_link(const tsr_carrier_settings_t *settings, tsr_carrier_link_t **link_out,
		      char *why_out, size_t why_bytes)
{
	unsigned long long seed = 1, delay_us = 0, cut = ~0ull;
	const char *text =
		settings->interface != NULL ? settings->interface : getenv("TSR_TEST_CARRIER");
	struct epoll_event event = {.events = EPOLLIN};
	const struct sockaddr_un any = {.sun_family = AF_UNIX};
	tsr_carrier_link_t *link =
		calloc(1, sizeof *link + (size_t)settings->size * sizeof(address_t));
	if (text != NULL &&
	    sscanf(text, "seed %llu delay %llu cut %llu", &seed, &delay_us, &cut) < 2) {
		snprintf(why_out, why_bytes, "no interface '%s'", text);
		free(link);
		return false;
	}
	link->events = settings->events;
	link->size = settings->size;
	link->delay_ns = delay_us * 1000;
	link->left = cut;
	link->random = (seed * 64 + (uint64_t)settings->rank + 1) * 0x9e3779b97f4a7c15u;
	link->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	link->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	link->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (bind(link->socket, (const struct sockaddr *)&any, sizeof any.sun_family) != 0 ||
	    epoll_ctl(link->epoll, EPOLL_CTL_ADD, link->socket, &event) != 0 ||
	    epoll_ctl(link->epoll, EPOLL_CTL_ADD, link->timer, &event) != 0) {
		snprintf(why_out, why_bytes, "%s", strerror(errno));
		return false;
	}
	*link_out = link;
	return true;
}

static bool address(tsr_carrier_link_t *link, unsigned char *address_out, size_t bytes,
		    char *why_out, size_t why_bytes)
{
	address_t mine = {.bytes = sizeof mine.name};
	(void)bytes, (void)why_out, (void)why_bytes;
	getsockname(link->socket, (struct sockaddr *)&mine.name, &mine.bytes);
	memcpy(address_out, &mine, sizeof mine);
	return true;
}

static bool connect_peer(tsr_carrier_link_t *link, int peer, const unsigned char *its, size_t bytes,
			 char *why_out, size_t why_bytes)
{
	(void)bytes, (void)why_out, (void)why_bytes;
	memcpy(&link->peers[peer], its, sizeof link->peers[peer]);
	return true;
}

static void close_link(tsr_carrier_link_t *link)
{
	while (link->late != NULL) {
		late_t *next = link->late->next;
		free(link->late);
		link->late = next;
	}
	while (link->found != NULL) {
		found_t *next = link->found->next;
		free(link->found);
		link->found = next;
	}
	close(link->socket);
	close(link->timer);
	close(link->epoll);
	free(link);
}

static void describe(const tsr_carrier_link_t *link, char *text_out, size_t bytes)
{
	snprintf(text_out, bytes, "datagrams, late by %llu us at most",
		 (unsigned long long)(link->delay_ns / 1000));
}

static void release(char *text_out, size_t bytes)
{
	const char *set = getenv("TSR_TEST_RELEASE");
	snprintf(text_out, bytes, "%s", set != NULL ? set : "datagrams 1.0");
}

static void about(char *text_out, size_t bytes)
{
	snprintf(text_out, bytes, "datagrams of a test");
}

extern const tsr_carrier_t tsr_carrier_plugin;
const tsr_carrier_t tsr_carrier_plugin = {.abi = TSR_CARRIER_ABI,
					  .size = sizeof(tsr_carrier_t),
					  .name = "a test",
					  .open = open_link,
					  .release = release,
					  .address = address,
					  .connect = connect_peer,
					  .send = send_message,
					  .progress = progress,
					  .descriptor = descriptor,
					  .arm = arm,
					  .close = close_link,
					  .describe = describe,
					  .about = about,
					  .piece_bytes = PIECE_BYTES};
