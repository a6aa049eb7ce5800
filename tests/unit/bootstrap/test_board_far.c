/* The board between nodes: who waits for a far rank's post gets it, or hears why not. */
#include <criterion/criterion.h>

#include "boot_test.h"
#include "src/bootstrap/board.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN 0
#endif

enum { CALLS = 200, AHEAD = 20, KEY = 4096 };

typedef struct layout {
	int size, node_of[5];
} layout_t;

static const layout_t layouts[] = {
	{2, {0, 1}}, {3, {0, 0, 1}}, {3, {0, 1, 2}}, {5, {0, 1, 0, 1, 1}}, {5, {0, 0, 0, 1, 2}}};

/** Runs `body` on every layout. */
static void each_layout(boot_body_t body)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		boot_test_t test = {.size = layouts[i].size, .node_of = layouts[i].node_of};
		/* It does not see how ranks of other processes order the threads of this one: so
		 * one rank a node, where the relay and the rank are all. */
		if ((UNDER_TSAN && i != 0 && i != 2) || (under_valgrind() && i != 1))
			continue;
		boot_test_begin(&test);
		cr_expect_eq(boot_run(&test, body), 0, "layout %zu", i);
		boot_test_end(&test);
	}
}

/** What a rank has seen of the others' posts. */
typedef struct seen_posts {
	tsr_boot_t *boot;
	int call, near, far;
	bool wrong;
} seen_posts_t;

static bool is_far(tsr_boot_t *boot, int rank)
{
	return tsr_boot_node(boot, rank) != tsr_boot_node(boot, tsr_boot_rank(boot));
}

static tsr_status_t look(void *ctx, int rank, const void *theirs)
{
	seen_posts_t *seen = ctx;
	int said[2];
	memcpy(said, theirs, sizeof said);
	seen->wrong = seen->wrong || said[0] != rank || said[1] != seen->call;
	*(is_far(seen->boot, rank) ? &seen->far : &seen->near) += 1;
	return TSR_OK;
}

static tsr_status_t expire(void *ctx, int rank)
{
	const seen_posts_t *seen = ctx;
	char sentence[64];
	snprintf(sentence, sizeof sentence, "rank %d did not post", rank);
	tsr_boot_abort(seen->boot, TSR_ERR_TIMEOUT, sentence);
	return tsr_boot_ended(seen->boot);
}

/** A post to all; or (`alone`) to this rank. */
typedef struct said {
	int ranks[TSR_MAX_RANKS];
	unsigned char bytes[TSR_POST_BYTES];
	tsr_board_post_t post;
} said_t;

static void make(said_t *said, int topic, bool alone, seen_posts_t *seen)
{
	const int me = tsr_boot_rank(seen->boot), size = tsr_boot_size(seen->boot);
	const int words[2] = {me, seen->call};
	memset(said->bytes, 0, sizeof said->bytes);
	memcpy(said->bytes, words, sizeof words);
	for (int r = 0; r < size; r++)
		said->ranks[r] = alone ? me : r;
	said->post = (tsr_board_post_t){.topic = topic,
					.call = "post",
					.ranks = said->ranks,
					.members = alone ? 1 : size,
					.bytes = said->bytes,
					.compare = look,
					.expire = expire,
					.ctx = seen};
}

static int count_far(tsr_boot_t *boot)
{
	int far = 0;
	for (int r = 0; r < tsr_boot_size(boot); r++)
		far += is_far(boot, r);
	return far;
}

/** Posts run ahead of the comparisons, and a topic is made anew where the first one was dropped. */
static int say_and_await(tsr_boot_t *boot, seen_t *told)
{
	seen_posts_t seen = {.boot = boot};
	said_t said;
	uint32_t number;
	int topic;
	(void)told;
	NEED(tsr_boot_exchange(boot, "all are here", "", NULL, NULL, 0) == TSR_OK);
	for (int round = 0; round < 2; round++) {
		NEED(tsr_board_find(boot, KEY, &topic) == TSR_OK && topic != TSR_TOPIC_NONE);
		for (int i = 0; i < CALLS + AHEAD; i++) {
			seen.call = i;
			make(&said, topic, false, &seen);
			NEED(tsr_board_crosses(boot, &said.post));
			if (i < CALLS)
				NEED(tsr_board_say(boot, &said.post, &number) == TSR_OK &&
				     number == (uint32_t)i);
			seen.call = i - AHEAD;
			if (i >= AHEAD)
				NEED(tsr_board_await(boot, &said.post, (uint32_t)(i - AHEAD)) ==
				     TSR_OK);
		}
		NEED(tsr_boot_exchange(boot, "rest", "", NULL, NULL, 0) == TSR_OK);
		tsr_board_drop(boot, KEY, KEY + 1);
		NEED(tsr_boot_exchange(boot, "dropped", "", NULL, NULL, 0) == TSR_OK);
	}
	NEED(!seen.wrong && seen.far == 2 * CALLS * count_far(boot));
	return 0;
}

Test(board_far, each_far_post_is_compared_once)
{
	each_layout(say_and_await);
}

/** Rank 0 has a team of its own, which nobody else is in; it is a member of theirs. */
static int say_alone(tsr_boot_t *boot, seen_t *told)
{
	seen_posts_t seen = {.boot = boot};
	said_t said;
	uint32_t number;
	int topic;
	const bool alone = tsr_boot_rank(boot) == 0;
	(void)told;
	NEED(tsr_boot_exchange(boot, "all are here", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_board_find(boot, KEY, &topic) == TSR_OK && topic != TSR_TOPIC_NONE);
	make(&said, topic, alone, &seen);
	NEED(tsr_board_crosses(boot, &said.post) == !alone);
	NEED(tsr_board_say(boot, &said.post, &number) == TSR_OK && number == 0);
	NEED(tsr_board_await(boot, &said.post, 0) == TSR_OK && !seen.wrong);
	NEED(seen.far == (alone ? 0 : count_far(boot)));
	NEED(tsr_boot_exchange(boot, "rest", "", NULL, NULL, 0) == TSR_OK);
	return 0;
}

Test(board_far, who_is_named_by_a_far_rank_tells_it)
{
	for (int i = 0; i < (under_valgrind() ? 1 : 10); i++)
		each_layout(say_alone);
}

/** Rank 0 does not post. */
static int say_nothing(tsr_boot_t *boot, seen_t *told)
{
	seen_posts_t seen = {.boot = boot};
	said_t said;
	uint32_t number;
	int topic;
	NEED(tsr_boot_exchange(boot, "all are here", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_board_find(boot, KEY, &topic) == TSR_OK && topic != TSR_TOPIC_NONE);
	make(&said, topic, false, &seen);
	if (tsr_boot_rank(boot) == 0) {
		(void)note(told, tsr_boot_exchange(boot, "rest", "", NULL, NULL, 0));
		return 0;
	}
	NEED(tsr_board_say(boot, &said.post, &number) == TSR_OK);
	(void)note(told, tsr_board_await(boot, &said.post, 0));
	return 0;
}

Test(board_far, who_waits_in_vain_says_for_whom)
{
	boot_test_t test = {.size = 2, .node_of = layouts[0].node_of, .deadline_ns = 1000000000};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, say_nothing), 0);
	cr_expect_eq(test.seen[1].status, TSR_ERR_TIMEOUT, "%s", test.seen[1].sentence);
	cr_expect_eq(test.seen[0].status, TSR_ERR_TIMEOUT, "%s", test.seen[0].sentence);
	boot_test_end(&test);
}

/** Node 0 has no room for the topic: the others compare with whom they can, and wait for nobody. */
static int run_out(tsr_boot_t *boot, seen_t *told)
{
	seen_posts_t seen = {.boot = boot};
	said_t said;
	uint32_t number;
	int topic = 0;
	(void)told;
	NEED(tsr_boot_exchange(boot, "all are here", "", NULL, NULL, 0) == TSR_OK);
	for (int i = 1; tsr_boot_rank(boot) == 0 && topic != TSR_TOPIC_NONE; i++)
		NEED(tsr_board_find(boot, KEY + (uint64_t)i, &topic) == TSR_OK && i < 10000);
	if (tsr_boot_node(boot, tsr_boot_rank(boot)) != 0) {
		NEED(tsr_board_find(boot, KEY, &topic) == TSR_OK && topic != TSR_TOPIC_NONE);
		make(&said, topic, false, &seen);
		for (seen.call = 0; seen.call < 3 * TSR_BOARD_POSTS; seen.call++) {
			make(&said, topic, false, &seen);
			NEED(tsr_board_say(boot, &said.post, &number) == TSR_OK);
			NEED(tsr_board_await(boot, &said.post, number) == TSR_OK && !seen.wrong);
		}
	}
	NEED(tsr_boot_exchange(boot, "rest", "", NULL, NULL, 0) == TSR_OK);
	return 0;
}

Test(board_far, where_there_is_no_room_nobody_waits)
{
	each_layout(run_out);
}
