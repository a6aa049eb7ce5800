/*
 * The one collective under all others: rounds in which every rank says
 * something and hears what all others said.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/os/clock.h"
#include "src/base/os/futex.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"

enum {
	SPINS = 200,             /* some microseconds, where every rank has a processor */
	YIELDS = 16,             /* where they share processors: let the others come */
	SLEEP_NS = 20 * 1000000, /* looks around in between */
	EVERYBODY = -1           /* in place of a root: all ranks have payload */
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

tsr_control_slot_t *tsr_meeting_slot(const tsr_meeting_t *meeting, int member)
{
	const size_t slot_bytes = sizeof(tsr_control_slot_t) + meeting->chunk_bytes;
	const size_t at = tsr_meeting_slots_at(meeting->size) +
			  (2 * (size_t)member + (meeting->round & 1)) * slot_bytes;
	return (tsr_control_slot_t *)(void *)((unsigned char *)meeting->words + at);
}

static bool round_complete(const tsr_meeting_t *meeting)
{
	/* acquire: partner is the release in tsr_meeting_count_in; what all ranks did before the
	 * round happens before what follows */
	return (int32_t)(atomic_load_explicit(&meeting->words->round, memory_order_acquire) -
			 meeting->round) >= 0;
}

/**
 * Tells the exploration that a round is over. Only one of the whole world
 * leaves nothing behind that somebody may still race with.
 */
static void complete_explored(const tsr_meeting_t *meeting)
{
	tsr_executor.changed(meeting->boot->exploration, -1);
	if (meeting->size == meeting->boot->size)
		tsr_executor.settle(meeting->boot->exploration);
}

void tsr_meeting_count_in(tsr_meeting_t *meeting)
{
	tsr_meeting_words_t *words = meeting->words;
	tsr_exploration_t *exploration = meeting->boot->exploration;
	if (exploration)
		tsr_executor.give(exploration, words->edges[meeting->round & 1]);
	/* relaxed: for reports alone */
	atomic_store_explicit(tsr_meeting_posted(meeting, meeting->me), meeting->round,
			      memory_order_relaxed);
	/* acq_rel: partner is itself on the other ranks, and on the relay, which counts all far
	 * ranks in (frame.c); the last one acquires all, and hands them on with `round`.
	 * Litmus: MP.rmw.diffGPU-ss, then MP.rel.acq.diffGPU-ss */
	const uint32_t before = atomic_fetch_add_explicit(&words->arrived, 1, memory_order_acq_rel);
	if (before + 1 != meeting->round * (uint32_t)meeting->size)
		return;
	/* release: partner is the acquire in round_complete */
	atomic_store_explicit(&words->round, meeting->round, memory_order_release);
	tsr_futex_wake_all(&words->round);
	if (exploration)
		complete_explored(meeting);
}

/** Counts this rank in, and tells the other nodes if members are there. */
static void come_to_round(tsr_meeting_t *meeting, size_t payload_bytes)
{
	const tsr_event_t event = {.kind = TSR_EVENT_ARRIVED,
				   .rank = meeting->boot->rank,
				   .place = meeting->place,
				   .member = meeting->me,
				   .members = meeting->size,
				   .round = meeting->round,
				   .payload_bytes = (uint32_t)payload_bytes};
	const int64_t number = meeting->far ? tsr_event_claim(meeting->boot) : TSR_EVENT_UNTOLD;
	tsr_meeting_count_in(meeting);
	tsr_event_tell(meeting->boot, number, &event);
}

/** A short wait for ranks that are on their way. */
static bool wait_awake(const tsr_meeting_t *meeting)
{
	for (int i = 0; meeting->boot->may_spin && i < SPINS; i++) {
		if (round_complete(meeting))
			return true;
		relax();
	}
	for (int i = 0; i < YIELDS; i++) {
		if (round_complete(meeting))
			return true;
		sched_yield();
	}
	return round_complete(meeting);
}

static bool meeting_over(void *ctx)
{
	return round_complete(ctx);
}

static bool meeting_lacks(void *ctx, int rank)
{
	const tsr_meeting_t *meeting = ctx;
	for (int i = 0; i < meeting->size; i++)
		if (tsr_meeting_rank(meeting, i) == rank)
			/* relaxed: ranks are fibres of one thread */
			return (int32_t)(atomic_load_explicit(tsr_meeting_posted(meeting, i),
							      memory_order_relaxed) -
					 meeting->round) < 0;
	return false;
}

/** The others run meanwhile. What all did before the round happens before what follows it. */
static tsr_status_t await_explored(tsr_meeting_t *meeting, const char *call)
{
	const tsr_host_wait_t wait = {.over = meeting_over,
				      .ctx = meeting,
				      .what = TSR_HOST_WAIT_ROUND,
				      .call = call,
				      .lacks = meeting_lacks};
	tsr_executor.await(meeting->boot->exploration, &wait);
	tsr_executor.take(meeting->boot->exploration, meeting->words->edges[meeting->round & 1]);
	return TSR_OK;
}

/**
 * How long a rank waits for the others: the deadline, and a little more. Who does
 * not come may wait for its own kernel, whose wait began at the same time: it
 * expires first then, and its sentence says for whom and where.
 */
static uint64_t patience_ns(const tsr_boot_t *boot)
{
	enum { MOST_NS = 500 * 1000000 };
	const uint64_t more_ns = boot->deadline_ns / 8;
	return boot->deadline_ns + (more_ns < MOST_NS ? more_ns : MOST_NS);
}

static tsr_status_t await_round(tsr_meeting_t *meeting, const char *call, uint64_t begin_ns)
{
	tsr_boot_t *boot = meeting->boot;
	const uint64_t most_ns = patience_ns(boot);
	_Atomic uint32_t *round = &meeting->words->round;
	if (boot->exploration)
		return await_explored(meeting, call);
	uint64_t checked_ns = tsr_now_ns();
	tsr_stopwatch_t watch = {.seen_ns = checked_ns, .passed_ns = checked_ns - begin_ns};
	if (wait_awake(meeting))
		return TSR_OK;
	for (;;) {
		/* relaxed: the futex compares it again; round_complete acquires */
		const uint32_t seen = atomic_load_explicit(round, memory_order_relaxed);
		if (round_complete(meeting))
			/* before the world's end is looked at: a complete round counts on all
			 * ranks */
			return TSR_OK;
		tsr_status_t status = tsr_boot_ended(boot);
		const uint64_t now = tsr_now_ns();
		const uint64_t waited_ns = tsr_stopwatch_look(&watch, now);
		if (status == TSR_OK && waited_ns > most_ns)
			status = tsr_meeting_expire(meeting, call, begin_ns);
		if (status == TSR_OK && now - checked_ns >= tsr_boot_look_ns(boot)) {
			status = tsr_meeting_check_ranks(meeting, call);
			checked_ns = now;
		}
		if (status != TSR_OK)
			return round_complete(meeting) ? TSR_OK : status;
		const uint64_t end_ns = most_ns + 1,
			       left_ns = end_ns > waited_ns ? end_ns - waited_ns : SLEEP_NS;
		tsr_futex_wait(round, seen, left_ns < SLEEP_NS ? left_ns : SLEEP_NS);
	}
}

/** Writes "tsr_heap_alloc(4096 bytes), " with the size where that is what differs. */
static void describe(const tsr_control_slot_t *slot, bool with_size, char *text, size_t size)
{
	if (with_size)
		snprintf(text, size, "%s(%s%s%llu bytes)", slot->call, slot->arguments,
			 slot->arguments[0] != '\0' ? ", " : "",
			 (unsigned long long)slot->size_bytes);
	else if (slot->arguments[0] != '\0')
		snprintf(text, size, "%s(%s)", slot->call, slot->arguments);
	else
		snprintf(text, size, "%s", slot->call);
}

/** The sentence of two members that called different things. */
static tsr_status_t differ(tsr_meeting_t *meeting, int member, bool same_call, bool same_size)
{
	tsr_boot_t *boot = meeting->boot;
	const tsr_control_slot_t *first = tsr_meeting_slot(meeting, 0),
				 *other = tsr_meeting_slot(meeting, member);
	const int ranks[2] = {tsr_meeting_rank(meeting, member), tsr_meeting_rank(meeting, 0)};
	char theirs[320], ours[320], who[2][TSR_WHO_TEXT], sentence[TSR_SENTENCE_LENGTH];
	describe(other, same_call && !same_size, theirs, sizeof theirs);
	describe(first, same_call && !same_size, ours, sizeof ours);
	snprintf(sentence, sizeof sentence,
		 "%s called %s where %s called %s: every rank must make the same collective calls "
		 "in the same order, with the same "
		 "arguments",
		 tsr_who_text(ranks[0], member, meeting->name, who[0]), theirs,
		 tsr_who_text(ranks[1], 0, meeting->name, who[1]), ours);
	const tsr_made_call_t made[2] = {{.rank = ranks[0], .call = other->call},
					 {.rank = ranks[1], .call = first->call}};
	if (boot->exploration)
		tsr_executor.mismatch(boot->exploration, made, sentence);
	return same_call ? tsr_error(TSR_ERR_MISMATCH, "%s", sentence)
			 : tsr_boot_end(boot, TSR_ERR_MISMATCH, "%s", sentence);
}

/**
 * All members compare the same slots in the same order, so all come to the same
 * end and the same sentence.
 */
static tsr_status_t compare(tsr_meeting_t *meeting)
{
	const tsr_control_slot_t *first = tsr_meeting_slot(meeting, 0);
	for (int i = 1; i < meeting->size; i++) {
		const tsr_control_slot_t *other = tsr_meeting_slot(meeting, i);
		const bool same_call = strcmp(first->call, other->call) == 0;
		const bool same_size = first->size_bytes == other->size_bytes;
		if (!same_call || !same_size || first->arguments_hash != other->arguments_hash)
			return differ(meeting, i, same_call, same_size);
	}
	return TSR_OK;
}

/**
 * Opens the next round and says what this rank calls. The slot is free: all
 * have read what it held two rounds ago.
 */
static tsr_control_slot_t *open_round(tsr_meeting_t *meeting, const char *call,
				      const char *arguments, size_t size_bytes)
{
	meeting->round++;
	tsr_control_slot_t *slot = tsr_meeting_slot(meeting, meeting->me);
	tsr_text_cut(call, sizeof slot->call, slot->call);
	tsr_text_cut(arguments, sizeof slot->arguments, slot->arguments);
	slot->arguments_hash = tsr_text_hash(arguments);
	slot->size_bytes = size_bytes;
	return slot;
}

static tsr_status_t complete_round(tsr_meeting_t *meeting, const char *call, uint64_t begin_ns,
				   size_t payload_bytes)
{
	come_to_round(meeting, payload_bytes);
	return await_round(meeting, call, begin_ns);
}

/**
 * As many rounds as the payload takes. With a root, its payload alone travels,
 * to `all`; else everybody's, to its place in `all`. The first round compares:
 * where it succeeds all members know the size, and come to the same number of
 * rounds.
 */
static tsr_status_t run_rounds(tsr_meeting_t *meeting, const char *call, const char *arguments,
			       const unsigned char *mine, unsigned char *all, size_t size_bytes,
			       int root)
{
	const uint64_t begin_ns = tsr_now_ns();
	size_t done = 0;
	do {
		const size_t left = size_bytes - done;
		const size_t chunk = left < meeting->chunk_bytes ? left : meeting->chunk_bytes;
		tsr_control_slot_t *slot = open_round(meeting, call, arguments, size_bytes);
		const size_t said = root == EVERYBODY || root == meeting->me ? chunk : 0;
		if (said > 0)
			memcpy(slot->payload, mine + done, said);
		tsr_status_t status =
			complete_round(meeting, call, done == 0 ? begin_ns : tsr_now_ns(), said);
		if (status == TSR_OK && done == 0)
			status = compare(meeting);
		if (status != TSR_OK)
			return status;
		for (int i = 0; root == EVERYBODY && chunk > 0 && i < meeting->size; i++)
			memcpy(all + (size_t)i * size_bytes + done,
			       tsr_meeting_slot(meeting, i)->payload, chunk);
		if (root != EVERYBODY && root != meeting->me && chunk > 0)
			memcpy(all + done, tsr_meeting_slot(meeting, root)->payload, chunk);
		done += chunk;
	} while (done < size_bytes);
	return TSR_OK;
}

static tsr_status_t exchange(tsr_meeting_t *meeting, const char *call, const char *arguments,
			     const void *mine, void *all, size_t size_bytes, int root)
{
	tsr_boot_t *boot = meeting->boot;
	tsr_status_t status = tsr_boot_check_process(boot, call);
	if (status == TSR_OK)
		status = tsr_boot_ended(boot);
	if (status == TSR_OK && boot->door.fd >= 0)
		status = tsr_boot_await_ranks(boot, call, tsr_now_ns());
	return status == TSR_OK ? run_rounds(meeting, call, arguments, mine, all, size_bytes, root)
				: status;
}

tsr_status_t tsr_meeting_exchange(tsr_meeting_t *meeting, const char *call, const char *arguments,
				  const void *mine, void *all, size_t size_bytes)
{
	return exchange(meeting, call, arguments, mine, all, size_bytes, EVERYBODY);
}

tsr_status_t tsr_meeting_broadcast(tsr_meeting_t *meeting, const char *call, const char *arguments,
				   void *data, size_t size_bytes, int root)
{
	return exchange(meeting, call, arguments, data, data, size_bytes, root);
}

tsr_status_t tsr_boot_exchange(tsr_boot_t *boot, const char *call, const char *arguments,
			       const void *mine, void *all, size_t size_bytes)
{
	return exchange(&boot->world, call, arguments, mine, all, size_bytes, EVERYBODY);
}

tsr_status_t tsr_boot_broadcast(tsr_boot_t *boot, const char *call, const char *arguments,
				void *data, size_t size_bytes, int root)
{
	return exchange(&boot->world, call, arguments, data, data, size_bytes, root);
}

void tsr_boot_quiesce(tsr_boot_t *boot)
{
	if (!boot->in_threads)
		return;
	if (boot->exploration)
		return; /* fibres abandon what is still running */
	tsr_control_member_t *member = boot->control->member;
	/* release: partner is the acquire below; this rank's accesses to the others' memory are
	 * over */
	atomic_store_explicit(&member[boot->rank].quiet, 1, memory_order_release);
	tsr_futex_wake_all(&member[boot->rank].quiet);
	for (int r = 0; r < boot->size; r++)
		/* acquire: partners are the release above, and the one in tsr_boot_leave, of a rank
		 * that needs not wait */
		while (atomic_load_explicit(&member[r].quiet, memory_order_acquire) == 0 &&
		       atomic_load_explicit(&member[r].state, memory_order_acquire) !=
			       TSR_MEMBER_LEFT)
			tsr_futex_wait(&member[r].quiet, 0, SLEEP_NS);
}
