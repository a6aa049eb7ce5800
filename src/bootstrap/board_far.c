/* The board between nodes: which posts are sent to other nodes, and the waits for theirs. */
#include <sched.h>
#include <string.h>

#include "src/base/os/clock.h"
#include "src/base/os/futex.h"
#include "src/bootstrap/board_rows.h"

/* A post of another node comes within tens of microseconds, if its rank is as far as this one. */
enum { YIELDS = 32, LOOK_NS = 20 * 1000000 };

/** Whether some ranks of the world are on other nodes. */
static bool spans(const tsr_boot_t *boot)
{
	return boot->several && tsr_boot_nodes(boot) > 1;
}

static bool has_far_member(const tsr_boot_t *boot, const tsr_board_post_t *post)
{
	for (int i = 0; i < post->members; i++)
		if (tsr_boot_is_far(boot, post->ranks[i]))
			return true;
	return false;
}

bool tsr_board_crosses(const tsr_boot_t *boot, const tsr_board_post_t *post)
{
	return spans(boot) && has_far_member(boot, post);
}

bool tsr_board_has_lost(const tsr_boot_t *boot)
{
	/* relaxed: nothing else is read because of it */
	return atomic_load_explicit(&boot->control->posts_lost, memory_order_relaxed) != 0;
}

/** Wakes who waits for posts. */
static void tell_news(const tsr_boot_t *boot)
{
	/* release: partner is the acquire in tsr_board_await, which looks at the board again */
	atomic_fetch_add_explicit(&boot->control->board_news, 1, memory_order_release);
	tsr_futex_wake_all(&boot->control->board_news);
}

void tsr_board_lose_posts(tsr_boot_t *boot)
{
	if (!spans(boot) || tsr_board_has_lost(boot))
		return;
	/* relaxed: as in tsr_board_has_lost */
	atomic_store_explicit(&boot->control->posts_lost, 1, memory_order_relaxed);
	tell_news(boot);
	tsr_event_ring_bell(boot);
}

/* ------------------------------------------------------------------ of this node's ranks */

/**
 * Where posts have been lost, this rank may not have waited for room. So it tells
 * no more: a post that has come is never overwritten before it is compared.
 */
int64_t tsr_board_claim(tsr_boot_t *boot, const tsr_board_post_t *post)
{
	return tsr_board_crosses(boot, post) && !tsr_board_has_lost(boot) ? tsr_event_claim(boot)
									  : TSR_EVENT_UNTOLD;
}

/** Whether a far rank that is no member of this one's has named it in its post. */
static bool is_named(const tsr_boot_t *boot, int topic, uint32_t number)
{
	for (int rank = 0; spans(boot) && !tsr_board_has_lost(boot) && rank < boot->size; rank++) {
		if (!tsr_boot_is_far(boot, rank))
			continue;
		const tsr_board_row_t *theirs = tsr_board_row(boot, topic, rank);
		/* seq_cst: partner is the store in tsr_board_take_post: either this rank sees the
		 * far one's post, or the relay sees this one's */
		if ((int32_t)(atomic_load_explicit(&theirs->posted, memory_order_seq_cst) -
			      number) > 0 &&
		    tsr_board_lists(theirs, boot->rank))
			return true;
	}
	return false;
}

void tsr_board_tell(tsr_boot_t *boot, const tsr_board_post_t *post, uint32_t number,
		    int64_t claimed)
{
	const tsr_topic_t *topic = &boot->control->topics[post->topic];
	const tsr_event_t event = {.kind = TSR_EVENT_POSTED,
				   .rank = boot->rank,
				   .place = topic->place,
				   .round = number,
				   .key = topic->key - 1};
	if (claimed == TSR_EVENT_UNTOLD && is_named(boot, post->topic, number))
		claimed = tsr_event_claim(boot);
	tsr_event_tell(boot, claimed, &event);
}

/** Says that this rank has compared the posts of far ranks below a number. */
static void tell_compared(tsr_boot_t *boot, int topic, uint32_t number)
{
	const tsr_event_t event = {.kind = TSR_EVENT_COMPARED,
				   .rank = boot->rank,
				   .round = number,
				   .key = boot->control->topics[topic].key - 1};
	tsr_event_tell(boot, tsr_event_claim(boot), &event);
}

/** Whether a far rank's post of that number is there. */
static bool has_come(const tsr_boot_t *boot, int topic, int rank, uint32_t number)
{
	/* acquire: partner is the store in tsr_board_take_post; the post is there */
	const uint32_t posted = atomic_load_explicit(&tsr_board_row(boot, topic, rank)->posted,
						     memory_order_acquire);
	return (int32_t)(posted - number) > 0;
}

/** Waits until it is there, or (`*comes_out`) will never come. */
static tsr_status_t await_post(tsr_boot_t *boot, const tsr_board_post_t *post, int rank,
			       uint32_t number, bool *comes_out)
{
	tsr_stopwatch_t watch = {.seen_ns = 0};
	*comes_out = true;
	for (int i = 0;; i++) {
		/* acquire: partner is the release in tell_news: what it tells of is seen below */
		const uint32_t news =
			atomic_load_explicit(&boot->control->board_news, memory_order_acquire);
		if (has_come(boot, post->topic, rank, number))
			return TSR_OK;
		*comes_out = !tsr_board_has_lost(boot);
		tsr_status_t status = *comes_out ? tsr_boot_ended(boot) : TSR_OK;
		if (status != TSR_OK || !*comes_out)
			return status;
		if (i < YIELDS) {
			sched_yield();
			continue;
		}
		if (tsr_stopwatch_look(&watch, tsr_now_ns()) > boot->deadline_ns)
			return post->expire(post->ctx, rank);
		status = tsr_boot_check_ranks(boot, post->call);
		if (status != TSR_OK)
			return status;
		tsr_futex_wait(&boot->control->board_news, news, LOOK_NS);
	}
}

tsr_status_t tsr_board_await(tsr_boot_t *boot, const tsr_board_post_t *post, uint32_t number)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < post->members && status == TSR_OK; i++) {
		const int rank = post->ranks[i];
		bool comes = false;
		if (!tsr_boot_is_far(boot, rank))
			continue;
		status = await_post(boot, post, rank, number, &comes);
		if (status == TSR_OK && comes)
			status = post->compare(post->ctx, rank,
					       tsr_board_row(boot, post->topic, rank)
						       ->post[number % TSR_BOARD_POSTS]);
	}
	if (status == TSR_OK && (number + 1) % TSR_BOARD_TELL == 0)
		tell_compared(boot, post->topic, number + 1);
	return status;
}

/* ------------------------------------------------------------------ the relay */

void tsr_board_read_post(const tsr_boot_t *boot, const tsr_event_t *event, tsr_posted_t *post_out)
{
	const tsr_board_row_t *row = tsr_board_row_at(boot, event->place, event->rank);
	for (int i = 0; i < TSR_BOARD_WORDS; i++)
		/* relaxed: the event hands it on */
		post_out->members[i] = atomic_load_explicit(&row->members[i], memory_order_relaxed);
	memcpy(post_out->bytes, row->post[event->round % TSR_BOARD_POSTS], TSR_POST_BYTES);
}

/**
 * Takes the list of topics. It must not wait for a rank that is lost while it
 * has it: it is the relay that notices this.
 */
static bool hold(tsr_boot_t *boot)
{
	const uint64_t begin_ns = tsr_now_ns();
	while (!tsr_board_try(boot)) {
		const char *sentence;
		if (tsr_boot_abort_status(boot, &sentence) != TSR_OK ||
		    tsr_now_ns() - begin_ns > boot->deadline_ns / 4)
			return false;
		sched_yield();
	}
	return true;
}

void tsr_board_take_post(tsr_boot_t *boot, const tsr_event_t *event, const void *body)
{
	tsr_posted_t post;
	memcpy(&post, body, sizeof post);
	const bool held = hold(boot);
	const int topic = held ? tsr_board_topic(boot, event->key, true) : TSR_TOPIC_NONE;
	tsr_board_row_t *row =
		topic != TSR_TOPIC_NONE ? tsr_board_row(boot, topic, event->rank) : NULL;
	if (held)
		tsr_board_let_go(boot);
	if (row == NULL) {
		tsr_board_lose_posts(boot);
		return;
	}
	memcpy(row->post[event->round % TSR_BOARD_POSTS], post.bytes, TSR_POST_BYTES);
	for (int i = 0; i < TSR_BOARD_WORDS; i++)
		/* relaxed: `posted` hands the bits on */
		atomic_store_explicit(&row->members[i], post.members[i], memory_order_relaxed);
	/* seq_cst: partners are the acquire in has_come, and the load in is_named, beside that in
	 * tsr_board_owes. Litmus: SB.sc.diffGPU-ss */
	atomic_store_explicit(&row->posted, event->round + 1, memory_order_seq_cst);
	tell_news(boot);
}

void tsr_board_take_compared(tsr_boot_t *boot, const tsr_event_t *event)
{
	if (!hold(boot)) {
		tsr_board_lose_posts(boot);
		return;
	}
	const int topic = tsr_board_topic(boot, event->key, false);
	if (topic != TSR_TOPIC_NONE)
		/* release: partner is the acquire in lacks (board.c) */
		atomic_store_explicit(&tsr_board_row(boot, topic, event->rank)->compared,
				      event->round, memory_order_release);
	tsr_board_let_go(boot);
	tell_news(boot);
}

bool tsr_board_owes(tsr_boot_t *boot, int rank, const tsr_event_t *theirs, const void *body,
		    tsr_event_t *event_out)
{
	tsr_posted_t post;
	bool owes = false;
	memcpy(&post, body, sizeof post);
	if (tsr_boot_is_far(boot, rank) || (post.members[rank / 64] >> rank % 64 & 1) == 0 ||
	    !hold(boot))
		return false;
	const int topic = tsr_board_topic(boot, theirs->key, false);
	if (topic != TSR_TOPIC_NONE) {
		const tsr_board_row_t *row = tsr_board_row(boot, topic, rank);
		/* seq_cst: partner is the store in tsr_board_say */
		owes = (int32_t)(atomic_load_explicit(&row->posted, memory_order_seq_cst) -
				 theirs->round) > 0 &&
		       !tsr_board_lists(row, theirs->rank);
		*event_out = (tsr_event_t){.kind = TSR_EVENT_POSTED,
					   .rank = rank,
					   .place = boot->control->topics[topic].place,
					   .round = theirs->round,
					   .key = theirs->key};
	}
	tsr_board_let_go(boot);
	return owes;
}
