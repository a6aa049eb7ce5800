/*
 * Late and slow messages. A message waits until it may leave, which is in the
 * order of the calls, and flies until it is due. Then the carrier below gets it.
 */
#include "src/net/slow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"

#define NEVER_NS UINT64_MAX
/* What flies at one time, at most: what is asked for beyond it waits, so that memory has an end. */
#define MOST_FLYING_BYTES ((size_t)64 << 20)
#define MOST_CLOSING_NS 2000000000u /* what closing may wait for what flies */
#define NAP_NS 1000000u

/** A message on its way: in one list at a time. */
typedef struct parcel {
	struct parcel *next, *before;
	uint64_t due_ns; /* while it waits: when it was given; while it flies: when it arrives */
	int peer;
	size_t header_bytes, data_bytes;
	/* while it waits, both parts are the sender's; then they are behind this struct */
	const void *header, *data;
	void *mark;
} parcel_t;

/** `head.next` is the first one, `head.before` the last one. */
typedef struct parcels {
	parcel_t head;
} parcels_t;

/** The link of such a carrier. */
struct tsr_carrier_link {
	tsr_carrier_t table;
	const tsr_carrier_t *below;
	tsr_carrier_link_t *link; /* of the carrier below */
	tsr_slow_t how;
	tsr_carrier_events_t events;
	/* given: the carrier below has them and will tell */
	parcels_t waiting, flying, given;
	size_t flying_bytes;
	uint64_t free_ns; /* when what has left has passed the adapter */
	uint64_t random;
	int epoll, timer;
	uint64_t timer_ns; /* what the timer is set to; NEVER_NS: nothing */
	bool armed, closing;
};

/* ------------------------------------------------------------------ lists */

static void clear(parcels_t *list)
{
	list->head.next = list->head.before = &list->head;
}

static parcel_t *first(parcels_t *list)
{
	return list->head.next == &list->head ? NULL : list->head.next;
}

static void insert_behind(parcel_t *before, parcel_t *parcel)
{
	parcel->before = before;
	parcel->next = before->next;
	before->next->before = parcel;
	before->next = parcel;
}

static void take_out(parcel_t *parcel)
{
	parcel->before->next = parcel->next;
	parcel->next->before = parcel->before;
}

static void free_all(parcels_t *list)
{
	parcel_t *parcel;
	while ((parcel = first(list)) != NULL) {
		take_out(parcel);
		free(parcel);
	}
}

/* ------------------------------------------------------------------ when */

/** The time that a message is late by. */
static uint64_t draw_delay(tsr_carrier_link_t *slow)
{
	if (slow->how.jitter_ns == 0)
		return slow->how.delay_ns;
	slow->random ^= slow->random << 13;
	slow->random ^= slow->random >> 7;
	slow->random ^= slow->random << 17;
	return slow->how.delay_ns - slow->how.jitter_ns +
	       slow->random % (2 * slow->how.jitter_ns + 1);
}

static uint64_t passing_ns(const tsr_carrier_link_t *slow, size_t bytes)
{
	return slow->how.bytes_per_s == 0
		       ? 0
		       : (uint64_t)((double)bytes * 1e9 / (double)slow->how.bytes_per_s);
}

/** When something is to be done without a message from elsewhere. */
static uint64_t next_ns(tsr_carrier_link_t *slow)
{
	const parcel_t *flies = first(&slow->flying), *waits = first(&slow->waiting);
	uint64_t at_ns = flies ? flies->due_ns : NEVER_NS;
	/* where there is no room, what flies comes first */
	if (waits && slow->flying_bytes < MOST_FLYING_BYTES && slow->free_ns < at_ns)
		at_ns = slow->free_ns;
	return at_ns;
}

static void set_timer(tsr_carrier_link_t *slow, uint64_t at_ns)
{
	struct itimerspec at = {.it_value = {0, 0}};
	if (at_ns != NEVER_NS)
		at.it_value = (struct timespec){(time_t)(at_ns / 1000000000u),
						(long)(at_ns % 1000000000u)};
	(void)timerfd_settime(slow->timer, TFD_TIMER_ABSTIME, &at, NULL);
	slow->timer_ns = at_ns;
}

/* ------------------------------------------------------------------ sending */

/**
 * A message leaves: it passes the adapter from `since_ns` on, and flies. Returns
 * false if there is no memory for it.
 */
static bool leave(tsr_carrier_link_t *slow, const parcel_t *message, uint64_t since_ns)
{
	const size_t bytes = message->header_bytes + message->data_bytes;
	parcel_t *parcel = malloc(sizeof *parcel + bytes), *behind;
	if (parcel == NULL)
		return false;
	unsigned char *parts = (unsigned char *)(parcel + 1);
	*parcel = *message;
	memcpy(parts, message->header, message->header_bytes);
	if (message->data_bytes > 0)
		memcpy(parts + message->header_bytes, message->data, message->data_bytes);
	parcel->header = parts;
	parcel->data = parts + message->header_bytes;
	parcel->mark = parcel;
	slow->free_ns = since_ns + passing_ns(slow, bytes);
	parcel->due_ns = slow->free_ns + draw_delay(slow);
	slow->flying_bytes += bytes;
	behind = slow->flying.head.before;
	while (behind != &slow->flying.head && behind->due_ns > parcel->due_ns)
		behind = behind->before;
	insert_behind(behind, parcel);
	return true;
}

static void lack_memory(tsr_carrier_link_t *slow)
{
	slow->events.lost(slow->events.ctx, -1, "no memory for a message that is late; free some");
}

static tsr_carrier_sent_t send_message(tsr_carrier_link_t *slow, int peer, const void *header,
				       size_t header_bytes, const void *data, size_t data_bytes,
				       void *mark)
{
	const uint64_t now_ns = tsr_now_ns();
	parcel_t message = {.due_ns = now_ns,
			    .peer = peer,
			    .header_bytes = header_bytes,
			    .data_bytes = data_bytes,
			    .header = header,
			    .data = data,
			    .mark = mark};
	const bool leaves = first(&slow->waiting) == NULL && slow->free_ns <= now_ns &&
			    slow->flying_bytes < MOST_FLYING_BYTES;
	parcel_t *parcel = leaves ? NULL : malloc(sizeof *parcel);
	if (leaves ? !leave(slow, &message, now_ns) : parcel == NULL) {
		lack_memory(slow);
		return TSR_CARRIER_FAILED;
	}
	if (!leaves) {
		*parcel = message;
		insert_behind(slow->waiting.head.before, parcel);
	}
	/* who sleeps has set the timer for what there was */
	if (slow->armed && next_ns(slow) < slow->timer_ns)
		set_timer(slow, next_ns(slow));
	return leaves ? TSR_CARRIER_SENT : TSR_CARRIER_SENDING;
}

/** What waits leaves, as far as it may: as early as it could, not as late as it is looked at. */
static unsigned let_leave(tsr_carrier_link_t *slow, uint64_t now_ns)
{
	unsigned left = 0;
	parcel_t *parcel;
	while ((parcel = first(&slow->waiting)) != NULL && slow->free_ns <= now_ns &&
	       slow->flying_bytes < MOST_FLYING_BYTES) {
		const uint64_t given_ns = parcel->due_ns;
		if (!leave(slow, parcel, slow->free_ns > given_ns ? slow->free_ns : given_ns)) {
			lack_memory(slow);
			return left;
		}
		take_out(parcel);
		slow->events.sent(slow->events.ctx, parcel->mark);
		free(parcel);
		left++;
	}
	return left;
}

/** The carrier below gets what is due. */
static unsigned let_arrive(tsr_carrier_link_t *slow, uint64_t now_ns)
{
	unsigned arrived = 0;
	parcel_t *parcel;
	while ((parcel = first(&slow->flying)) != NULL && parcel->due_ns <= now_ns) {
		take_out(parcel);
		slow->flying_bytes -= parcel->header_bytes + parcel->data_bytes;
		insert_behind(slow->given.head.before, parcel);
		if (slow->below->send(slow->link, parcel->peer, parcel->header,
				      parcel->header_bytes, parcel->data, parcel->data_bytes,
				      parcel) != TSR_CARRIER_SENDING) {
			take_out(parcel);
			free(parcel);
		}
		arrived++;
	}
	return arrived;
}

static unsigned progress(tsr_carrier_link_t *slow)
{
	const uint64_t now_ns = tsr_now_ns();
	slow->armed = false;
	unsigned done = let_leave(slow, now_ns);
	done += let_arrive(slow, now_ns);
	return done + slow->below->progress(slow->link);
}

static int descriptor(const tsr_carrier_link_t *slow)
{
	return slow->epoll;
}

static bool arm(tsr_carrier_link_t *slow)
{
	const uint64_t at_ns = next_ns(slow);
	if (at_ns <= tsr_now_ns())
		return false;
	set_timer(slow, at_ns);
	slow->armed = slow->below->arm(slow->link);
	return slow->armed;
}

/* ------------------------------------------------------------------ what is below */

static void arrived_below(void *ctx, const void *header, size_t header_bytes, const void *data,
			  size_t data_bytes)
{
	const tsr_carrier_link_t *slow = ctx;
	if (!slow->closing)
		slow->events.arrived(slow->events.ctx, header, header_bytes, data, data_bytes);
}

static void sent_below(void *ctx, void *mark)
{
	(void)ctx;
	take_out(mark);
	free(mark);
}

static void lost_below(void *ctx, int peer, const char *why)
{
	const tsr_carrier_link_t *slow = ctx;
	if (!slow->closing)
		slow->events.lost(slow->events.ctx, peer, why);
}

/* ------------------------------------------------------------------ the link */

static bool address(tsr_carrier_link_t *slow, unsigned char *address_out, size_t bytes,
		    char *why_out, size_t why_bytes)
{
	return slow->below->address(slow->link, address_out, bytes, why_out, why_bytes);
}

static bool connect_peer(tsr_carrier_link_t *slow, int peer, const unsigned char *its, size_t bytes,
			 char *why_out, size_t why_bytes)
{
	return slow->below->connect(slow->link, peer, its, bytes, why_out, why_bytes);
}

/** What has left its rank arrives, though the rank has nothing more to do. */
static void let_land(tsr_carrier_link_t *slow)
{
	const uint64_t end_ns = tsr_now_ns() + MOST_CLOSING_NS;
	slow->closing = true;
	while (first(&slow->flying) || first(&slow->given)) {
		const uint64_t now_ns = tsr_now_ns();
		if (now_ns > end_ns)
			return;
		if (let_arrive(slow, now_ns) + slow->below->progress(slow->link) == 0)
			tsr_sleep_until(now_ns + NAP_NS);
	}
}

static void close_link(tsr_carrier_link_t *slow)
{
	const int fds[] = {slow->timer, slow->epoll};
	let_land(slow);
	slow->below->close(slow->link);
	free_all(&slow->waiting);
	free_all(&slow->flying);
	free_all(&slow->given);
	tsr_fd_close(fds, 2);
	free(slow);
}

/** "; messages are 1 ms late, 0.3 ms more or less, and leave at 1e+09 bytes a second" */
static void describe(const tsr_carrier_link_t *slow, char *text_out, size_t bytes)
{
	const tsr_slow_t *how = &slow->how;
	slow->below->describe(slow->link, text_out, bytes);
	size_t used = strlen(text_out);
	if (how->delay_ns != 0)
		used += (size_t)snprintf(text_out + used, bytes - used,
					 "; messages are %g ms late, %g ms more or less",
					 (double)how->delay_ns / 1e6, (double)how->jitter_ns / 1e6);
	if (how->bytes_per_s != 0 && used < bytes)
		snprintf(text_out + used, bytes - used, "; a rank sends %g bytes a second",
			 (double)how->bytes_per_s);
}

static bool open_descriptors(tsr_carrier_link_t *slow)
{
	struct epoll_event event = {.events = EPOLLIN};
	slow->epoll = tsr_fd_keep(epoll_create1(EPOLL_CLOEXEC));
	slow->timer = tsr_fd_keep(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	return slow->epoll >= 0 && slow->timer >= 0 &&
	       epoll_ctl(slow->epoll, EPOLL_CTL_ADD, slow->timer, &event) == 0 &&
	       epoll_ctl(slow->epoll, EPOLL_CTL_ADD, slow->below->descriptor(slow->link), &event) ==
		       0;
}

static void fill_table(tsr_carrier_link_t *slow)
{
	slow->table = *slow->below;
	slow->table.open = NULL; /* only tsr_slow_open does */
	slow->table.address = address;
	slow->table.connect = connect_peer;
	slow->table.send = send_message;
	slow->table.progress = progress;
	slow->table.descriptor = descriptor;
	slow->table.arm = arm;
	slow->table.close = close_link;
	slow->table.describe = describe;
}

bool tsr_slow_open(const tsr_carrier_t *carrier, const tsr_slow_t *how,
		   const tsr_carrier_settings_t *settings, const tsr_carrier_t **slow_out,
		   tsr_carrier_link_t **link_out, char *why_out, size_t why_bytes)
{
	tsr_carrier_link_t *slow = calloc(1, sizeof *slow);
	tsr_carrier_settings_t below = *settings;
	if (slow == NULL) {
		snprintf(why_out, why_bytes, "no memory for a network that is late");
		return false;
	}
	slow->below = carrier;
	slow->how = *how;
	slow->events = settings->events;
	slow->random = ((uint64_t)settings->rank + 1) * 0x9e3779b97f4a7c15u;
	slow->timer_ns = NEVER_NS;
	clear(&slow->waiting);
	clear(&slow->flying);
	clear(&slow->given);
	below.events = (tsr_carrier_events_t){slow, arrived_below, sent_below, lost_below};
	if (!carrier->open(&below, &slow->link, why_out, why_bytes)) {
		free(slow);
		return false;
	}
	if (!open_descriptors(slow)) {
		snprintf(why_out, why_bytes, "a timer of the delay between nodes: %s",
			 strerror(errno));
		close_link(slow);
		return false;
	}
	fill_table(slow);
	*slow_out = &slow->table;
	*link_out = slow;
	return true;
}
