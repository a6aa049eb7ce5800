/* The board: of two posts of one number, one sees the other, however far apart ranks are. */
#include <criterion/criterion.h>

#include "boot_test.h"
#include "src/bootstrap/board.h"

enum { CALLS = 500, KEYS = 3 };

static uint64_t word_of(int rank, int topic, int call)
{
	return (uint64_t)(topic * 1000 + call) * 1000 + (uint64_t)rank;
}

/** What a rank has seen of the others' posts. */
typedef struct seen_posts {
	int topic, call, compared;
	bool wrong;
	tsr_status_t answer;
} seen_posts_t;

static tsr_status_t look(void *ctx, int rank, const void *theirs)
{
	seen_posts_t *seen = ctx;
	uint64_t word;
	memcpy(&word, theirs, sizeof word);
	seen->compared++;
	seen->wrong = seen->wrong || word != word_of(rank, seen->topic, seen->call);
	return seen->answer;
}

/** `alone`: to this rank only. */
static tsr_status_t post_to(tsr_boot_t *boot, int topic, bool alone, seen_posts_t *seen)
{
	unsigned char bytes[TSR_POST_BYTES] = {0};
	int ranks[TSR_MAX_RANKS];
	for (int r = 0; r < tsr_boot_size(boot); r++)
		ranks[r] = alone ? tsr_boot_rank(boot) : r;
	const uint64_t word = word_of(tsr_boot_rank(boot), seen->topic, seen->call);
	memcpy(bytes, &word, sizeof word);
	const tsr_board_post_t said = {.topic = topic,
				       .call = "post",
				       .ranks = ranks,
				       .members = alone ? 1 : tsr_boot_size(boot),
				       .bytes = bytes,
				       .compare = look,
				       .ctx = seen};
	uint32_t number;
	const tsr_status_t status = tsr_board_say(boot, &said, &number);
	seen->wrong = seen->wrong || (status == TSR_OK && number != (uint32_t)seen->call);
	return status;
}

static tsr_status_t post(tsr_boot_t *boot, int topic, seen_posts_t *seen)
{
	return post_to(boot, topic, false, seen);
}

static int say_many(tsr_boot_t *boot, seen_t *told)
{
	int topic[KEYS], all[TSR_MAX_RANKS], pairs = 0;
	seen_posts_t seen = {0};
	const int size = tsr_boot_size(boot);
	(void)told;
	NEED(tsr_boot_exchange(boot, "all are here", "", NULL, NULL, 0) == TSR_OK);
	for (int round = 0; round < 2; round++) { /* anew, where the first ones were dropped */
		for (int t = 0; t < KEYS; t++)
			NEED(tsr_board_find(boot, 100 + (uint64_t)t * 256, &topic[t]) == TSR_OK &&
			     topic[t] != TSR_TOPIC_NONE);
		for (seen.call = 0; seen.call < CALLS; seen.call++)
			for (int t = 0; t < KEYS; t++) {
				seen.topic = t;
				NEED(post(boot, topic[t], &seen) == TSR_OK);
			}
		NEED(tsr_boot_exchange(boot, "rest", "", NULL, NULL, 0) == TSR_OK);
		tsr_board_drop(boot, 100, 101 + (KEYS - 1) * 256);
		NEED(tsr_boot_exchange(boot, "dropped", "", NULL, NULL, 0) == TSR_OK);
	}
	NEED(!seen.wrong);
	NEED(tsr_boot_exchange(boot, "count", "", &seen.compared, all, sizeof *all) == TSR_OK);
	for (int r = 0; r < size; r++)
		pairs += all[r];
	/* each pair at least once, and at most from both sides */
	NEED(pairs >= 2 * KEYS * CALLS * size * (size - 1) / 2);
	NEED(pairs <= 2 * KEYS * CALLS * size * (size - 1));
	return 0;
}

Test(board, every_pair_is_compared)
{
	boot_each(say_many);
}

/** Rank 0 has a team of its own, of which the others are not members; it is a member of theirs. */
static int say_alone(tsr_boot_t *boot, seen_t *told)
{
	int topic, all[TSR_MAX_RANKS], pairs = 0;
	seen_posts_t seen = {0};
	const int size = tsr_boot_size(boot);
	(void)told;
	NEED(tsr_boot_exchange(boot, "all are here", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_board_find(boot, 7, &topic) == TSR_OK && topic != TSR_TOPIC_NONE);
	NEED(post_to(boot, topic, tsr_boot_rank(boot) == 0, &seen) == TSR_OK && !seen.wrong);
	NEED(tsr_boot_exchange(boot, "count", "", &seen.compared, all, sizeof *all) == TSR_OK);
	for (int r = 0; r < size; r++)
		pairs += all[r];
	NEED(pairs >= size * (size - 1) / 2 && pairs <= size * (size - 1));
	return 0;
}

Test(board, a_team_that_a_rank_is_not_in_is_compared_with_its_own)
{
	for (int i = 0; i < 20; i++)
		boot_each(say_alone);
}

/** Rank 0 posts until it may not be farther ahead; nobody else comes. */
static int run_ahead(tsr_boot_t *boot, seen_t *told)
{
	int topic;
	seen_posts_t seen = {0};
	tsr_status_t status = TSR_OK;
	NEED(tsr_board_find(boot, 100, &topic) == TSR_OK);
	if (tsr_boot_rank(boot) == 0)
		for (int i = 0; i < CALLS && status == TSR_OK; i++)
			status = post(boot, topic, &seen);
	else
		status = tsr_boot_exchange(boot, "rest", "", NULL, NULL, 0);
	(void)note(told, status);
	return 0;
}

Test(board, nobody_is_far_ahead)
{
	boot_test_t test = {.size = 2, .threads = true, .deadline_ns = 300000000};
	boot_test_begin(&test);
	cr_expect_eq(boot_run(&test, run_ahead), 0);
	for (int r = 0; r < test.size; r++) {
		cr_expect_eq(test.seen[r].status, TSR_ERR_TIMEOUT, "rank %d: %s", r,
			     test.seen[r].sentence);
		cr_expect(strstr(test.seen[r].sentence,
				 "in post for rank 1, which has made 32 fewer calls with the same "
				 "state") != NULL,
			  "rank %d: %s", r, test.seen[r].sentence);
	}
	boot_test_end(&test);
}
