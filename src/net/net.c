/* Opening, connecting and closing a rank's end of the data plane. */
#include "src/net/net.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "src/base/error.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/base/text.h"
#include "src/net/state.h"

enum { CARRIER_WORDS = 512, MOURNING_NS = 300 * 1000 * 1000 };
#define MOST_CLOSING_NS 5000000000u /* what closing may wait for the others */

bool tsr_net_is_over(tsr_net_t *net)
{
	/* relaxed: flags; who ends the world orders what led to it */
	return atomic_load_explicit(&net->ended, memory_order_relaxed) != 0 ||
	       (net->settings.aborted != NULL &&
		atomic_load_explicit(net->settings.aborted, memory_order_relaxed) != 0);
}

void tsr_net_fail(tsr_net_t *net, tsr_status_t status, const char *format, ...)
{
	char sentence[TSR_ERROR_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	const bool over = tsr_net_is_over(net);
	/* relaxed: `fail` orders what it needs itself */
	atomic_store_explicit(&net->ended, 1, memory_order_relaxed);
	if (atomic_exchange_explicit(&net->failed, 1, memory_order_relaxed) == 0 && !over)
		net->settings.fail(net->settings.ctx, status, sentence);
}

/**
 * The carrier reaches a peer no more. Perhaps the world has ended elsewhere,
 * and the news is on its way: the peer is called lost a little later
 * (tsr_net_mourn).
 */
static void lost(void *ctx, int rank, const char *why)
{
	tsr_net_t *net = ctx;
	if (rank < 0) {
		tsr_net_fail(net, TSR_ERR_SYSTEM, "rank %d on node %d has lost the network: %s",
			     net->settings.rank, net->settings.node_of[net->settings.rank], why);
		return;
	}
	if (net->peers[rank].left || net->closing) {
		net->peers[rank].left = true;
		return;
	}
	if (net->lost_since_ns != 0)
		return;
	net->lost_since_ns = tsr_now_ns();
	net->lost_rank = rank;
	snprintf(net->lost_why, sizeof net->lost_why, "%s", why);
}

void tsr_net_mourn(tsr_net_t *net)
{
	const int rank = net->lost_rank;
	if (net->lost_since_ns == 0 || net->closing ||
	    tsr_now_ns() - net->lost_since_ns < MOURNING_NS)
		return;
	tsr_net_fail(
		net, TSR_ERR_PEER_LOST,
		"rank %d on node %d is lost: rank %d on node %d cannot send to it (%s); look at "
		"its node and the network between",
		rank, net->settings.node_of[rank], net->settings.rank,
		net->settings.node_of[net->settings.rank], net->lost_why);
}

/* ------------------------------------------------------------------ open */

static void free_net(tsr_net_t *net)
{
	const int fds[] = {net->epoll, net->bell};
	tsr_fd_close(fds, 2);
	free(net->slots);
	free(net);
}

/** The net without its carrier; null: no host memory, or (errno) no descriptors. */
static tsr_net_t *make(const tsr_net_settings_t *settings)
{
	const size_t peers_bytes = (size_t)settings->size * sizeof(tsr_net_peer_t);
	tsr_net_t *net = calloc(1, sizeof *net + peers_bytes);
	if (net == NULL)
		return NULL;
	net->settings = *settings;
	net->epoll = tsr_fd_keep(epoll_create1(EPOLL_CLOEXEC));
	net->bell = tsr_fd_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	net->slots = aligned_alloc(TSR_NET_SLOT_BYTES, TSR_NET_SLOTS * sizeof *net->slots);
	if (net->epoll < 0 || net->bell < 0 || net->slots == NULL) {
		const int error = errno;
		free_net(net);
		errno = error;
		return NULL;
	}
	memset((void *)net->slots, 0, TSR_NET_SLOTS * sizeof *net->slots);
	net->cells_taken[0] = 1; /* cell 0 is nobody's */
	net->muted = true;
	net->pending_end = &net->pending;
	net->answering_end = &net->answering;
	const int me = settings->rank;
	for (int r = 0; r < settings->size; r++) {
		net->peers[r].far = settings->node_of[r] != settings->node_of[me];
		net->peers[r].token_out = tsr_message_token(&settings->key, me, r);
		net->peers[r].token_in = tsr_message_token(&settings->key, r, me);
	}
	return net;
}

tsr_status_t tsr_net_open_over(const tsr_net_settings_t *settings, const tsr_carrier_t *carrier,
			       tsr_net_t **net_out)
{
	char why[CARRIER_WORDS] = "";
	tsr_net_t *net = make(settings);
	if (net == NULL)
		return errno == EMFILE || errno == ENFILE
			       ? tsr_error(
					 TSR_ERR_SYSTEM,
					 "no descriptors for the network between nodes (%s): raise "
					 "the limit (ulimit -n)",
					 strerror(errno))
			       : tsr_error(TSR_ERR_NO_MEMORY, "no host memory for the network "
							      "between nodes: free some");
	net->carrier = carrier;
	const tsr_carrier_settings_t wanted = {
		.rank = settings->rank,
		.size = settings->size,
		.interface = settings->interface,
		.events = {net, tsr_net_arrived, tsr_net_sent, lost}};
	if (settings->slow.delay_ns == 0 && settings->slow.bytes_per_s == 0
		    ? !carrier->open(&wanted, &net->link, why, sizeof why)
		    : !tsr_slow_open(carrier, &settings->slow, &wanted, &net->carrier, &net->link,
				     why, sizeof why)) {
		free_net(net);
		return tsr_error(TSR_ERR_SYSTEM, "%s cannot use the network: %s", carrier->name,
				 why);
	}
	net->carrier->describe(net->link, net->description, sizeof net->description);
	*net_out = net;
	return TSR_OK;
}

tsr_status_t tsr_net_open(const tsr_net_settings_t *settings, tsr_net_t **net_out)
{
	const tsr_carrier_t *carrier;
	const tsr_status_t status = tsr_net_load(settings->plugin, &carrier);
	return status == TSR_OK ? tsr_net_open_over(settings, carrier, net_out) : status;
}

/* behind the plug-in's address is the name of its release */
enum { CARRIER_BYTES = TSR_NET_ADDRESS_BYTES - TSR_NET_RELEASE_BYTES };

tsr_status_t tsr_net_address(tsr_net_t *net, unsigned char address_out[TSR_NET_ADDRESS_BYTES])
{
	char why[CARRIER_WORDS] = "";
	memset(address_out, 0, TSR_NET_ADDRESS_BYTES);
	net->carrier->release((char *)address_out + CARRIER_BYTES, TSR_NET_RELEASE_BYTES);
	if (net->carrier->address(net->link, address_out, CARRIER_BYTES, why, sizeof why))
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM, "%s has no address for this rank: %s", net->carrier->name,
			 why);
}

const char *tsr_net_description(const tsr_net_t *net)
{
	return net->description;
}

/* ------------------------------------------------------------------ connect */

/** Writes "rank 3 on node 1, rank 4 on node 2": who has not answered. Returns how many. */
static int list_silent(const tsr_net_t *net, char *text, size_t bytes)
{
	int silent = 0;
	size_t used = 0;
	text[0] = '\0';
	for (int r = 0; r < net->settings.size; r++) {
		if (!net->peers[r].far || net->peers[r].here)
			continue;
		if (used < bytes)
			used += (size_t)snprintf(text + used, bytes - used, "%srank %d on node %d",
						 silent ? ", " : "", r, net->settings.node_of[r]);
		silent++;
	}
	return silent;
}

/** Sleeps until the carrier has something, for 10 ms at most. */
static void wait_for_carrier(tsr_net_t *net)
{
	struct pollfd entry = {.fd = net->carrier->descriptor(net->link), .events = POLLIN};
	if (net->carrier->arm(net->link))
		(void)tsr_fd_poll(&entry, 1, tsr_now_ns() + 10000000u);
}

/** Greets all far peers until each has answered. */
static tsr_status_t greet(tsr_net_t *net)
{
	char silent[512], text[32];
	tsr_stopwatch_t watch = {0};
	for (int r = 0; r < net->settings.size; r++)
		if (net->peers[r].far)
			tsr_net_say(net, TSR_MESSAGE_HELLO, r);
	while (list_silent(net, silent, sizeof silent) > 0) {
		if (tsr_net_is_over(net))
			return tsr_error(TSR_ERR_ABORTED,
					 "the world ended while rank %d connected "
					 "to ranks on other nodes",
					 net->settings.rank);
		if (tsr_stopwatch_look(&watch, tsr_now_ns()) > net->settings.deadline_ns)
			return tsr_error(
				TSR_ERR_PEER_LOST,
				"rank %d on node %d got no answer within %s over %s from %s: look "
				"whether the nodes reach each other (TESSERA_NET_INTERFACE)",
				net->settings.rank, net->settings.node_of[net->settings.rank],
				tsr_duration_text(net->settings.deadline_ns, text, sizeof text),
				net->description, silent);
		if (tsr_net_serve(net) == 0)
			wait_for_carrier(net);
	}
	return TSR_OK;
}

/**
 * UCX of different releases ends within itself, or never answers. All ranks see
 * all addresses, and so all refuse with the same sentence.
 */
static tsr_status_t check_releases(const tsr_net_t *net,
				   const unsigned char (*addresses)[TSR_NET_ADDRESS_BYTES])
{
	const int last = TSR_NET_RELEASE_BYTES - 1, *node_of = net->settings.node_of;
	const char *first = (const char *)addresses[0] + CARRIER_BYTES;
	for (int r = 1; r < net->settings.size; r++) {
		const char *other = (const char *)addresses[r] + CARRIER_BYTES;
		if (strncmp(other, first, TSR_NET_RELEASE_BYTES) != 0)
			return tsr_error(TSR_ERR_CONFIG,
					 "rank %d on node %d has %.*s, and rank %d on node %d has "
					 "%.*s: let all ranks load one release "
					 "(LD_LIBRARY_PATH says where a rank looks first)",
					 r, node_of[r], last, other, 0, node_of[0], last, first);
	}
	return TSR_OK;
}

tsr_status_t tsr_net_connect(tsr_net_t *net,
			     const unsigned char (*addresses)[TSR_NET_ADDRESS_BYTES],
			     const tsr_net_memory_t *memory)
{
	char why[CARRIER_WORDS] = "";
	net->memory = *memory;
	const tsr_status_t alike = check_releases(net, addresses);
	if (alike != TSR_OK)
		return alike;
	for (int r = 0; r < net->settings.size; r++)
		if (net->peers[r].far && !net->carrier->connect(net->link, r, addresses[r],
								CARRIER_BYTES, why, sizeof why))
			return tsr_error(TSR_ERR_SYSTEM,
					 "rank %d cannot connect to rank %d on node %d: %s",
					 net->settings.rank, r, net->settings.node_of[r], why);
	/* nobody else is in a call yet, but the calls that follow find the lock free */
	while (!tsr_net_try(net))
		sched_yield();
	const tsr_status_t status = greet(net);
	net->carrier->describe(net->link, net->description, sizeof net->description);
	tsr_net_leave(net);
	if (status == TSR_OK && !tsr_net_thread_start(net))
		return tsr_error(TSR_ERR_SYSTEM, "no thread for the network between nodes (%s)",
				 strerror(errno));
	return status;
}

/* ------------------------------------------------------------------ close */

static bool is_quiet(const tsr_net_t *net)
{
	if (net->sending > 0)
		return false;
	for (int r = 0; r < net->settings.size; r++)
		if (net->peers[r].far && net->peers[r].here &&
		    (!net->peers[r].left || net->peers[r].sent > net->peers[r].acknowledged))
			return false;
	return true;
}

/** Completes what is under way, and waits until all peers have done so. */
static void take_leave(tsr_net_t *net)
{
	const uint64_t most_ns = net->settings.deadline_ns < MOST_CLOSING_NS
					 ? net->settings.deadline_ns
					 : MOST_CLOSING_NS;
	tsr_stopwatch_t watch = {0};
	net->closing = true;
	for (bool said = false; !tsr_net_is_over(net);) {
		if (tsr_stopwatch_look(&watch, tsr_now_ns()) > most_ns || (said && is_quiet(net)))
			return;
		bool under_way = tsr_net_queue_next(net) != NULL || net->pending != NULL;
		for (int r = 0; r < net->settings.size; r++)
			under_way |= net->peers[r].sent > net->peers[r].acknowledged;
		for (int r = 0; !said && !under_way && r < net->settings.size; r++)
			if (net->peers[r].here)
				tsr_net_say(net, TSR_MESSAGE_LEAVING, r);
		said |= !under_way;
		if (tsr_net_serve(net) == 0)
			wait_for_carrier(net);
	}
}

/** Those too that the carrier still had. */
static void free_sendings(tsr_net_sending_t *list)
{
	while (list != NULL) {
		tsr_net_sending_t *before = list->made;
		free(list->staged);
		free(list);
		list = before;
	}
}

static void free_held(tsr_net_held_t *list)
{
	while (list != NULL) {
		tsr_net_held_t *next = list->next;
		free(list);
		list = next;
	}
}

static void free_pending(tsr_net_pending_t *list)
{
	while (list != NULL) {
		tsr_net_pending_t *next = list->next;
		free(list);
		list = next;
	}
}

void tsr_net_close(tsr_net_t *net)
{
	if (net == NULL)
		return;
	tsr_net_thread_stop(net);
	while (!tsr_net_try(net))
		sched_yield();
	if (net->memory.atomic != NULL) /* otherwise it was never connected */
		take_leave(net);
	net->carrier->close(net->link);
	free_sendings(net->made_sendings);
	free_pending(net->pending);
	free_held(net->answering);
	for (int r = 0; r < net->settings.size; r++)
		free_held(net->peers[r].held), free_held(net->peers[r].gets);
	free_net(net);
}
