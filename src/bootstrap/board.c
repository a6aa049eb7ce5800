/* The board, in the control segment of a node. */
#include "src/bootstrap/board_rows.h"

#include <sched.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/os/clock.h"
#include "src/base/os/futex.h"
#include "src/base/text.h"

enum { YIELDS = 64, PAUSE_NS = 100 * 1000 };

static int units_of(const tsr_boot_t *boot)
{
	return (int)(((size_t)boot->size * sizeof(tsr_board_row_t) + TSR_MEETING_UNIT_BYTES - 1) /
		     TSR_MEETING_UNIT_BYTES);
}

/* ------------------------------------------------------------------ topics */

bool tsr_board_try(tsr_boot_t *boot)
{
	uint32_t nobody = 0;
	/* acquire: partner is the release in tsr_board_let_go */
	return atomic_compare_exchange_weak_explicit(&boot->control->board_held, &nobody, 1,
						     memory_order_acquire, memory_order_relaxed);
}

/** False: the world has ended. Who holds it waits for nobody. */
static bool hold(tsr_boot_t *boot)
{
	const uint64_t begin_ns = tsr_now_ns();
	while (!tsr_board_try(boot)) {
		if (tsr_boot_ended(boot) != TSR_OK)
			return false;
		if (tsr_now_ns() - begin_ns > boot->deadline_ns) {
			(void)tsr_boot_end(boot, TSR_ERR_TIMEOUT,
					   "rank %d of %d waited for a rank of its node that holds "
					   "the list of collectives: is it stopped? "
					   "(TESSERA_DEADLINE sets how long a wait lasts)",
					   boot->rank, boot->size);
			return false;
		}
		sched_yield();
	}
	return true;
}

void tsr_board_let_go(tsr_boot_t *boot)
{
	/* release: partner is the acquire in tsr_board_try */
	atomic_store_explicit(&boot->control->board_held, 0, memory_order_release);
}

static void clear_rows(const tsr_boot_t *boot, int topic)
{
	for (int r = 0; r < boot->size; r++) {
		tsr_board_row_t *row = tsr_board_row(boot, topic, r);
		/* relaxed: `board_held` hands them on */
		atomic_store_explicit(&row->posted, 0, memory_order_relaxed);
		atomic_store_explicit(&row->compared, 0, memory_order_relaxed);
	}
}

int tsr_board_topic(tsr_boot_t *boot, uint64_t key, bool make)
{
	tsr_topic_t *topics = boot->control->topics;
	int free = TSR_TOPIC_NONE;
	for (int i = 0; i < TSR_TOPICS; i++) {
		if (topics[i].key == key + 1)
			return i;
		if (topics[i].key == 0 && free == TSR_TOPIC_NONE)
			free = i;
	}
	const int place =
		free == TSR_TOPIC_NONE || !make ? -1 : tsr_control_take_units(boot, units_of(boot));
	if (place < 0)
		return TSR_TOPIC_NONE;
	topics[free] = (tsr_topic_t){.key = key + 1, .place = place};
	clear_rows(boot, free);
	return free;
}

tsr_status_t tsr_board_find(tsr_boot_t *boot, uint64_t key, int *topic_out)
{
	if (!hold(boot))
		return tsr_boot_ended(boot);
	*topic_out = tsr_board_topic(boot, key, true);
	tsr_board_let_go(boot);
	if (*topic_out == TSR_TOPIC_NONE)
		tsr_board_lose_posts(boot);
	return TSR_OK;
}

void tsr_board_drop(tsr_boot_t *boot, uint64_t begin, uint64_t end)
{
	uint32_t near = 0;
	if (!hold(boot))
		return;
	for (int r = 0; r < boot->size; r++)
		near += !tsr_boot_is_far(boot, r);
	for (int i = 0; i < TSR_TOPICS; i++) {
		tsr_topic_t *topic = &boot->control->topics[i];
		if (topic->key == 0 || topic->key - 1 < begin || topic->key - 1 >= end ||
		    ++topic->left < near)
			continue;
		tsr_control_give_units(boot->control, topic->place, units_of(boot));
		*topic = (tsr_topic_t){0};
	}
	tsr_board_let_go(boot);
}

/* ------------------------------------------------------------------ posts */

/** A rank that wants to post once more, and for whom it may have to wait. */
typedef struct room {
	tsr_boot_t *boot;
	const tsr_board_post_t *post;
	uint32_t number; /* of the post: how many it has made before */
} room_t;

/** Whether `rank` has not compared what the next post would overwrite. */
static bool lacks(void *ctx, int rank)
{
	const room_t *room = ctx;
	if (rank == room->boot->rank ||
	    (tsr_boot_is_far(room->boot, rank) && tsr_board_has_lost(room->boot)))
		return false;
	/* acquire: partner is the release in tsr_board_say, after it has read this rank's post, or
	 * that in tsr_board_take_compared */
	const uint32_t compared =
		atomic_load_explicit(&tsr_board_row(room->boot, room->post->topic, rank)->compared,
				     memory_order_acquire);
	return (int32_t)(room->number - compared) >= TSR_BOARD_POSTS;
}

/** The first member that lacks; -1: none. */
static int behind(room_t *room)
{
	for (int i = 0; i < room->post->members; i++)
		if (lacks(room, room->post->ranks[i]))
			return room->post->ranks[i];
	return -1;
}

static bool has_room(void *ctx)
{
	return behind(ctx) < 0;
}

static tsr_status_t expire(room_t *room, int late)
{
	tsr_boot_t *boot = room->boot;
	const bool far = tsr_boot_is_far(boot, late);
	char deadline[32];
	return tsr_boot_end(boot, TSR_ERR_TIMEOUT,
			    "rank %d of %d waited %s in %s for rank %d, which has %s %d fewer "
			    "calls with the same state: every member must make the same "
			    "collectives in the same order (TESSERA_DEADLINE sets how long a wait "
			    "lasts)",
			    boot->rank, boot->size,
			    tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline),
			    room->post->call, late, far ? "come to at least" : "made",
			    far ? TSR_BOARD_POSTS - TSR_BOARD_TELL : TSR_BOARD_POSTS);
}

static tsr_status_t await_room(room_t *room)
{
	tsr_boot_t *boot = room->boot;
	tsr_stopwatch_t watch = {.seen_ns = 0};
	if (boot->exploration && !has_room(room)) {
		const tsr_host_wait_t wait = {.over = has_room,
					      .ctx = room,
					      .what = TSR_HOST_WAIT_ROUND,
					      .call = room->post->call,
					      .lacks = lacks};
		boot->control->board_waits = 1;
		tsr_executor.await(boot->exploration, &wait);
	}
	for (int i = 0; !has_room(room); i++) {
		tsr_status_t status = tsr_boot_ended(boot);
		const int late = behind(room);
		if (status == TSR_OK && late >= 0 &&
		    tsr_stopwatch_look(&watch, tsr_now_ns()) > boot->deadline_ns)
			status = expire(room, late);
		if (status == TSR_OK && i % YIELDS == YIELDS - 1)
			status = tsr_boot_check_ranks(boot, room->post->call);
		if (status != TSR_OK)
			return status;
		if (i < YIELDS)
			sched_yield();
		else
			/* relaxed: has_room acquires; far ranks tell by it that there is room */
			tsr_futex_wait(&boot->control->board_news,
				       atomic_load_explicit(&boot->control->board_news,
							    memory_order_relaxed),
				       PAUSE_NS);
	}
	return TSR_OK;
}

/** Relaxed: `posted` hands the bits on. */
static void list_members(tsr_board_row_t *mine, const tsr_board_post_t *post)
{
	uint64_t bits[TSR_MAX_RANKS / 64] = {0};
	for (int i = 0; i < post->members; i++)
		bits[post->ranks[i] / 64] |= 1ull << post->ranks[i] % 64;
	for (int i = 0; i < TSR_MAX_RANKS / 64; i++)
		atomic_store_explicit(&mine->members[i], bits[i], memory_order_relaxed);
}

tsr_status_t tsr_board_say(tsr_boot_t *boot, const tsr_board_post_t *post, uint32_t *number_out)
{
	tsr_board_row_t *mine = tsr_board_row(boot, post->topic, boot->rank);
	/* relaxed: only this rank writes it */
	room_t room = {boot, post, atomic_load_explicit(&mine->posted, memory_order_relaxed)};
	const uint32_t slot = room.number % TSR_BOARD_POSTS;
	tsr_status_t status = await_room(&room);
	if (status != TSR_OK)
		return status;
	const int64_t claimed = tsr_board_claim(boot, post);
	memcpy(mine->post[slot], post->bytes, TSR_POST_BYTES);
	list_members(mine, post);
	/* seq_cst: partners are itself and the load below on the other ranks, and for far ranks
	 * those of the relay: of two that post at the same time, one sees the other's. Litmus:
	 * SB.sc.diffGPU-ss */
	atomic_store_explicit(&mine->posted, room.number + 1, memory_order_seq_cst);
	tsr_board_tell(boot, post, room.number, claimed);
	*number_out = room.number;
	for (int rank = 0; rank < boot->size && status == TSR_OK; rank++) {
		if (rank == boot->rank || tsr_boot_is_far(boot, rank))
			continue;
		tsr_board_row_t *theirs = tsr_board_row(boot, post->topic, rank);
		/* seq_cst: as above; and the post of that number is there, until this rank has
		 * compared it, if it is to this rank as well */
		if ((int32_t)(atomic_load_explicit(&theirs->posted, memory_order_seq_cst) -
			      room.number) > 0 &&
		    (tsr_board_lists(mine, rank) || tsr_board_lists(theirs, boot->rank)))
			status = post->compare(post->ctx, rank, theirs->post[slot]);
	}
	/* release: partner is the acquire in lacks */
	atomic_store_explicit(&mine->compared, room.number + 1, memory_order_release);
	if (boot->exploration && boot->control->board_waits)
		tsr_executor.changed(boot->exploration, -1);
	return status;
}

bool tsr_board_look(tsr_boot_t *boot, int topic, const int ranks[2], tsr_board_last_t *last_out,
		    bool *end_out)
{
	*end_out = topic >= TSR_TOPICS;
	if (*end_out || !hold(boot))
		return false;
	const uint64_t key = boot->control->topics[topic].key;
	*last_out = (tsr_board_last_t){.key = key - 1};
	for (int i = 0; key != 0 && i < 2; i++) {
		const tsr_board_row_t *row = tsr_board_row(boot, topic, ranks[i]);
		/* acquire: partner is the store in tsr_board_say; the post is there */
		const uint32_t posts = atomic_load_explicit(&row->posted, memory_order_acquire);
		last_out->posts[i] = posts;
		last_out->post[i] = posts > 0 ? row->post[(posts - 1) % TSR_BOARD_POSTS] : NULL;
	}
	tsr_board_let_go(boot);
	return key != 0;
}
