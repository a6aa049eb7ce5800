/*
 * Teams: a world cut in every way, whose kernels and hosts see the ranks of
 * their team and no other.
 */
#include "tests/contract/contract_test.h"

/* EXCHANGED: more than one round carries */
enum { WORDS = 37, ROUNDS = 4, MOST = 8, EXCHANGED = 700 };

/* --------------------------------------------------------- what kernels of a team see and reach */

typedef struct ring_args {
	TSR_HEAP uint64_t *mine;   /* WORDS that I send */
	TSR_HEAP uint64_t *inbox;  /* WORDS from the rank before */
	TSR_HEAP uint64_t *copied; /* WORDS from the rank before, by its stream */
	TSR_HEAP uint64_t *all;    /* WORDS of each rank */
	TSR_HEAP uint64_t *seen;   /* rank, size, what the rank before me holds */
	TSR_HEAP uint64_t *flag;
	TSR_HEAP tsr_barrier_state_t *barrier;
	TSR_HEAP tsr_all_gather_state_t *gather;
	uint64_t round; /* from 1 */
} ring_args_t;

/** Sends round the team's ring, gathers in the team, meets, and reads from the rank behind. */
TSR_KERNEL(round_the_team, ring_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block), next = tsr_peer(block, 1),
		  before = tsr_peer(block, size - 1);
	const uint64_t who[2] = {(uint64_t)me, (uint64_t)size};
	tsr_put_signal(block, a->inbox, a->mine, WORDS * sizeof(uint64_t), a->flag, a->round,
		       TSR_SIGNAL_SET, next);
	if (tsr_wait(block, a->flag, a->round, before) != TSR_WAIT_OK ||
	    tsr_all_gather(block, a->all, a->mine, WORDS * sizeof(uint64_t), a->gather) !=
		    TSR_WAIT_OK)
		return;
	tsr_get(block, a->seen + 2, a->mine, sizeof(uint64_t), before);
	if (tsr_barrier_ranks(block, a->barrier) != TSR_WAIT_OK)
		return;
	for (int i = 0; i < 2; i++)
		tsr_atomic_store(block, a->seen + i, who[i], me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** A word that says who sent it, and in which round. */
static uint64_t word_of(int world_rank, uint64_t round, int index)
{
	return (uint64_t)world_rank << 32 | round << 16 | (uint64_t)index;
}

/**
 * What one team works on: memory of the world's heap, the same on all ranks,
 * also on those outside the team.
 */
static int make_room(tsr_world_t *world, ring_args_t *a)
{
	const int size = tsr_world_size(world);
	a->mine = poisoned(world, WORDS * sizeof(uint64_t), "mine");
	a->inbox = poisoned(world, WORDS * sizeof(uint64_t), "inbox");
	a->copied = poisoned(world, WORDS * sizeof(uint64_t), "copied");
	a->all = poisoned(world, (size_t)size * WORDS * sizeof(uint64_t), "all");
	a->seen = zeroed(world, 3 * sizeof(uint64_t), "seen");
	a->flag = zeroed(world, sizeof(uint64_t), "flag");
	a->barrier = zeroed(world, tsr_barrier_state_bytes(size), "team barrier");
	a->gather = zeroed(world, tsr_all_gather_state_bytes(size), "team gather");
	CHECK(a->mine && a->inbox && a->copied && a->all && a->seen && a->flag && a->barrier &&
	      a->gather);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

static int fill_mine(tsr_world_t *world, const ring_args_t *a)
{
	uint64_t words[WORDS];
	for (int i = 0; i < WORDS; i++)
		words[i] = word_of(tsr_world_rank(world), a->round, i);
	CHECK(tsr_memcpy_to_heap(world, a->mine, words, sizeof words) == TSR_OK);
	return 0;
}

/** What has come is of the team, in its order, and of this round. */
static int check_round(tsr_world_t *world, const tsr_team_t *team, const ring_args_t *a)
{
	uint64_t poison;
	uint64_t inbox[WORDS], copied[WORDS], all[MOST * WORDS], seen[3];
	const int me = tsr_team_rank(team), size = tsr_team_size(team),
		  ranks = tsr_world_size(world);
	const int before = tsr_team_world_rank(team, (me + size - 1) % size);
	memset(&poison, POISON, sizeof poison);
	CHECK(tsr_memcpy_from_heap(world, inbox, a->inbox, sizeof inbox) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, copied, a->copied, sizeof copied) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, all, a->all, (size_t)ranks * WORDS * sizeof *all) ==
	      TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, a->seen, sizeof seen) == TSR_OK);
	CHECK(seen[0] == (uint64_t)me && seen[1] == (uint64_t)size);
	CHECK(seen[2] == word_of(before, a->round, 0), "a get from member %d is one from rank %d",
	      (me + size - 1) % size, before);
	for (int i = 0; i < WORDS; i++)
		CHECK(inbox[i] == word_of(before, a->round, i) && copied[i] == inbox[i]);
	for (int i = 0; i < ranks * WORDS; i++)
		CHECK(all[i] == (i / WORDS < size ? word_of(tsr_team_world_rank(team, i / WORDS),
							    a->round, i % WORDS)
						  : poison),
		      "word %d of member %d", i % WORDS, i / WORDS);
	return 0;
}

/** One round: the kernel, and behind it a copy to the next member. */
static int start_round(tsr_world_t *world, tsr_stream_t *stream, const tsr_team_t *team,
		       const ring_args_t *a)
{
	const int next = (tsr_team_rank(team) + 1) % tsr_team_size(team);
	tsr_view_t from, to;
	CHECK(tsr_heap_view(world, a->mine, TSR_I64, 1, WORDS, WORDS, &from) == TSR_OK);
	CHECK(tsr_heap_view(world, a->copied, TSR_I64, 1, WORDS, WORDS, &to) == TSR_OK);
	CHECK(tsr_launch(stream, &round_the_team, 1, a) == TSR_OK);
	CHECK(tsr_stream_put_2d(stream, to, from, tsr_team_size(team)) == TSR_ERR_ARGUMENT);
	CHECK(tsr_stream_put_2d(stream, to, from, next) == TSR_OK);
	return 0;
}

/** Some rounds of a team. Those who are in none return at once. */
static int work(tsr_world_t *world, tsr_team_t *team, ring_args_t *a)
{
	tsr_stream_t *stream;
	if (!team)
		return 0;
	CHECK(tsr_stream_create(team, &stream) == TSR_OK);
	for (a->round = 1; a->round <= ROUNDS; a->round++) {
		if (fill_mine(world, a))
			return 1;
		CHECK(tsr_team_barrier(team) == TSR_OK);
		if (start_round(world, stream, team, a))
			return 1;
		CHECK(tsr_team_barrier(team) == TSR_OK);
		if (check_round(world, team, a))
			return 1;
	}
	return tsr_stream_destroy(stream) != TSR_OK;
}

/** The hosts of a team, while other teams do the same or something else. */
static int exchange(tsr_world_t *world, tsr_team_t *team)
{
	const int me = tsr_team_rank(team), size = tsr_team_size(team);
	for (int root = 0; root < size; root++) {
		int32_t mine[EXCHANGED], all[MOST][EXCHANGED];
		const int32_t who = tsr_world_rank(world) * 1000 + root;
		for (int i = 0; i < EXCHANGED; i++)
			mine[i] = who + i;
		CHECK(tsr_team_gather_all(team, mine, all, sizeof mine) == TSR_OK);
		for (int r = 0; r < size; r++)
			CHECK(all[r][0] == tsr_team_world_rank(team, r) * 1000 + root &&
			      all[r][EXCHANGED - 1] == all[r][0] + EXCHANGED - 1);
		CHECK(tsr_team_broadcast(team, mine, sizeof mine, root) == TSR_OK);
		CHECK(mine[0] == tsr_team_world_rank(team, root) * 1000 + root &&
		      mine[EXCHANGED - 1] == mine[0] + EXCHANGED - 1);
	}
	CHECK(tsr_team_world_rank(team, me) == tsr_world_rank(world) &&
	      tsr_team_rank_of(team, tsr_world_rank(world)) == me);
	CHECK(tsr_team_world_rank(team, size) == -1 && tsr_team_world_rank(team, -1) == -1 &&
	      tsr_team_world(team) == world);
	return 0;
}

/** The members stand in the order of their ranks, or the other way round. */
static int check_order(tsr_world_t *world, const tsr_team_t *team, bool reversed)
{
	for (int i = 1; i < tsr_team_size(team); i++) {
		const bool rises = tsr_team_world_rank(team, i - 1) < tsr_team_world_rank(team, i);
		CHECK(rises != reversed, "members %d and %d", i - 1, i);
	}
	return 0;
}

/** Splits by `colour`, works in the teams, and ends them. */
static int split_and_work(tsr_world_t *world, int colour, bool reversed, ring_args_t *a)
{
	const int key = reversed ? -tsr_world_rank(world) : 0;
	tsr_team_t *team;
	CHECK(tsr_team_split(tsr_world_team(world), colour, key, "part", &team) == TSR_OK);
	CHECK(!team == (colour == TSR_NO_TEAM));
	CHECK(!team || strcmp(tsr_team_name(team), "part") == 0);
	if ((team && (check_order(world, team, reversed) || exchange(world, team))) ||
	    work(world, team, a))
		return 1;
	CHECK(tsr_team_destroy(team) == TSR_OK);
	return 0;
}

/*
 * Rows and columns of a matrix of ranks, in both orders; teams of one; all but
 * one. argv[1]: which.
 */
static int split_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world), half = (size + 1) / 2;
	ring_args_t a;
	const bool reversed = argc == 2 && strcmp(argv[1], "reversed") == 0;
	int colour = 0;
	if (argc != 2 || make_room(world, &a))
		return 1;
	if (strcmp(argv[1], "halves") == 0)
		colour = me / half;
	else if (strcmp(argv[1], "pairs") == 0)
		colour = me / 2;
	else if (strcmp(argv[1], "strided") == 0)
		colour = me % 2;
	else if (reversed)
		colour = 0;
	else if (strcmp(argv[1], "ones") == 0)
		colour = me;
	else
		colour = me == 0 ? TSR_NO_TEAM : 3;
	return split_and_work(world, colour, reversed, &a);
}

Test(team, two_of_four)
{
	world_each(split_body, "halves");
}

Test(team, four_of_two)
{
	world_each(split_body, "pairs");
}

Test(team, strided)
{
	world_each(split_body, "strided");
}

Test(team, in_another_order)
{
	world_each(split_body, "reversed");
}

Test(team, of_one)
{
	world_each(split_body, "ones");
}

Test(team, all_but_one)
{
	world_each(split_body, "but one");
}

/* ------------------------------------------------------------------ teams that overlap */

/* Rows and columns at the same time: each rank launches in both before it waits for either. */
static int overlap_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), width = tsr_world_size(world) < 4 ? 2 : 4;
	tsr_team_t *team[3];
	tsr_stream_t *stream[3];
	ring_args_t a[3];
	(void)argc, (void)argv;
	CHECK(tsr_team_split(tsr_world_team(world), me / width, me, "rows", &team[0]) == TSR_OK);
	CHECK(tsr_team_split(tsr_world_team(world), me % width, -me, "columns", &team[1]) ==
	      TSR_OK);
	team[2] = tsr_world_team(world);
	for (int i = 0; i < 3; i++) {
		a[i].round = 1;
		CHECK(tsr_stream_create(team[i], &stream[i]) == TSR_OK);
		if (make_room(world, &a[i]) || fill_mine(world, &a[i]))
			return 1;
	}
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < 3; i++)
		if (start_round(world, stream[i], team[i], &a[i]))
			return 1;
	/* Ranks come to the teams in different orders: a barrier of one team waits for no kernel of
	 * another. */
	for (int i = 0; i < 3; i++)
		CHECK(tsr_stream_sync(stream[i]) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < 3; i++)
		if (check_round(world, team[i], &a[i]))
			return 1;
	CHECK(tsr_team_destroy(team[0]) == TSR_ERR_ARGUMENT, "it has a stream");
	for (int i = 0; i < 3; i++)
		CHECK(tsr_stream_destroy(stream[i]) == TSR_OK);
	CHECK(tsr_team_destroy(team[1]) == TSR_OK && tsr_team_destroy(team[0]) == TSR_OK);
	return 0;
}

Test(team, that_overlap_work_at_the_same_time)
{
	world_each(overlap_body, NULL);
}

/* ----------------------------------------------------- teams of teams, lists, and what is wrong */

static int list_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	int ranks[MOST], odd[MOST], count = 0;
	tsr_team_t *team, *inner;
	ring_args_t a;
	(void)argc, (void)argv;
	for (int i = 0; i < size; i++)
		ranks[i] = (i + size / 2) % size; /* begins in the middle */
	for (int i = size - 1; i >= 0; i -= 2)
		odd[count++] = i; /* every second, backwards: ranks of `team` */
	CHECK(tsr_team_create(tsr_world_team(world), ranks, size, "turned", &team) == TSR_OK);
	CHECK(team && tsr_team_rank(team) == (me + size - size / 2) % size);
	CHECK(tsr_team_create(team, odd, count, NULL, &inner) == TSR_OK);
	CHECK(!inner == (tsr_team_rank(team) % 2 != (size - 1) % 2));
	if (make_room(world, &a) || work(world, inner, &a))
		return 1;
	for (int i = 0; inner && i < count; i++)
		CHECK(tsr_team_world_rank(inner, i) == ranks[odd[i]] &&
		      tsr_team_rank_of(inner, ranks[odd[i]]) == i);
	CHECK(tsr_team_destroy(inner) == TSR_OK && tsr_team_destroy(team) == TSR_OK);
	return 0;
}

Test(team, of_a_list_in_a_team)
{
	world_each(list_body, NULL);
}

static int refused_body(tsr_world_t *world, int argc, char **argv)
{
	const int twice[] = {0, 0}, outside[] = {0, tsr_world_size(world)};
	tsr_team_t *all = tsr_world_team(world), *team = all;
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	CHECK(tsr_team_create(all, twice, 2, NULL, &team) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "twice"));
	CHECK(tsr_team_create(all, outside, 2, NULL, &team) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "the parent has ranks 0"));
	CHECK(tsr_team_create(all, twice, 0, NULL, &team) == TSR_ERR_ARGUMENT &&
	      tsr_team_create(all, NULL, 1, NULL, &team));
	CHECK(tsr_team_split(all, -2, 0, NULL, &team) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "TSR_NO_TEAM"));
	CHECK(tsr_team_split(NULL, 0, 0, NULL, &team) == TSR_ERR_ARGUMENT &&
	      tsr_team_split(all, 0, 0, NULL, NULL));
	CHECK(tsr_team_destroy(all) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "ends with the world"));
	CHECK(team == all, "nothing is written by a call that fails");
	CHECK(tsr_stream_create(NULL, &stream) == TSR_ERR_ARGUMENT &&
	      tsr_team_barrier(NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_team_destroy(NULL) == TSR_OK && tsr_world_team(NULL) == NULL);
	CHECK(strcmp(tsr_team_name(all), "") == 0 && tsr_team_size(all) == tsr_world_size(world));
	CHECK(tsr_barrier_state_bytes(0) == 0 && tsr_all_gather_state_bytes(-1) == 0);
	return 0;
}

Test(team, what_is_refused)
{
	world_each(refused_body, NULL);
}
