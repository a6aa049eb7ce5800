/* The ring of events between the ranks of a node and its relay. */
#include "src/bootstrap/nodes/event.h"

#include <errno.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/base/os/futex.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"

enum { LOOK_NS = 20 * 1000000 };

void tsr_event_ring_bell(const tsr_boot_t *boot)
{
	const uint64_t one = 1;
	const int error = errno;
	/* it does not block; and where it is full, the relay is awake */
	(void)!tsr_fd_write(boot->bell_fd, &one, sizeof one);
	errno = error;
}

/** Ends the world: the relay has taken nothing for a deadline. */
static void blame_relay(tsr_boot_t *boot)
{
	char deadline[32];
	(void)tsr_boot_end(boot, TSR_ERR_TIMEOUT,
			   "rank %d of %d, which passes messages on between nodes, took none of "
			   "rank %d within %s: is it stopped? "
			   "(TESSERA_DEADLINE sets how long a wait lasts)",
			   boot->keeper, boot->size, boot->rank,
			   tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline));
}

/** False: there will be no room, as the world has ended. */
static bool await_room(tsr_boot_t *boot, tsr_event_ring_t *ring, uint32_t number)
{
	tsr_stopwatch_t watch = {.seen_ns = 0};
	for (;;) {
		/* acquire: partner is the release in tsr_event_take, after it has read the entry */
		const uint32_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
		const char *sentence;
		if (number - taken < TSR_EVENTS)
			return true;
		if (tsr_boot_abort_status(boot, &sentence) != TSR_OK)
			return false;
		if (tsr_stopwatch_look(&watch, tsr_now_ns()) > boot->deadline_ns) {
			blame_relay(boot);
			return false;
		}
		tsr_futex_wait(&ring->taken, taken, LOOK_NS);
	}
}

int64_t tsr_event_claim(tsr_boot_t *boot)
{
	/* relaxed: nothing else is read because of it */
	if (!boot->several ||
	    atomic_load_explicit(&boot->control->relay_gone, memory_order_relaxed) != 0)
		return TSR_EVENT_UNTOLD;
	tsr_event_ring_t *ring = &boot->control->events;
	/* relaxed: the numbers of one word grow as the claims happen one before the other; the
	 * stamp orders the event. Who dies before it tells holds up the ring: then the world ends,
	 * of which the relay tells without it. */
	const uint32_t number = atomic_fetch_add_explicit(&ring->claimed, 1, memory_order_relaxed);
	return await_room(boot, ring, number) ? (int64_t)number : TSR_EVENT_UNTOLD;
}

void tsr_event_tell(tsr_boot_t *boot, int64_t number, const tsr_event_t *event)
{
	if (number == TSR_EVENT_UNTOLD)
		return;
	tsr_event_ring_t *ring = &boot->control->events;
	ring->entry[number % TSR_EVENTS].event = *event;
	/* release: partner is the acquire in tsr_event_take; the event, and what it names */
	atomic_store_explicit(&ring->entry[number % TSR_EVENTS].stamp, (uint32_t)number + 1,
			      memory_order_release);
	tsr_event_ring_bell(boot);
}

bool tsr_event_take(tsr_event_ring_t *ring, tsr_event_t *event_out)
{
	/* relaxed: only the relay writes it */
	const uint32_t number = atomic_load_explicit(&ring->taken, memory_order_relaxed);
	/* acquire: partner is the release in tsr_event_tell */
	if (atomic_load_explicit(&ring->entry[number % TSR_EVENTS].stamp, memory_order_acquire) !=
	    number + 1)
		return false;
	*event_out = ring->entry[number % TSR_EVENTS].event;
	/* release: partner is the acquire in await_room, before it writes the entry again */
	atomic_store_explicit(&ring->taken, number + 1, memory_order_release);
	return true;
}
