/*
 * Worlds on several nodes, emulated on this machine: what is exchanged, between
 * nodes and on them, is the same as on one node.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>

#include "boot_test.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN 0
#endif

/** The layouts of every test: how many ranks, and on which nodes. */
typedef struct layout {
	int size, nodes;
	int node_of[8]; /* as the launcher numbers them */
	int node[8];    /* as the world does: by lowest ranks */
} layout_t;

static const layout_t layouts[] = {
	{1, 1, {0}, {0}},
	{2, 2, {0, 1}, {0, 1}},
	{3, 2, {0, 0, 1}, {0, 0, 1}},
	{3, 3, {2, 1, 0}, {0, 1, 2}}, /* numbers of the launcher that are none of the world */
	{5, 2, {0, 1, 0, 1, 1}, {0, 1, 0, 1, 1}},
	{5, 3, {7, 3, 3, 7, 5}, {0, 1, 1, 0, 2}},
	{8, 2, {0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1}},
	{8, 4, {3, 1, 2, 0, 3, 1, 2, 0}, {0, 1, 2, 3, 0, 1, 2, 3}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static const layout_t *layout_of(tsr_boot_t *boot, int index)
{
	return index < LAYOUTS && layouts[index].size == tsr_boot_size(boot) ? &layouts[index]
									     : NULL;
}

/** Runs `body` on every layout, under valgrind on two. `body` finds the layout in seen->value. */
static void each_layout(boot_body_t body)
{
	for (int i = 0; i < LAYOUTS; i++) {
		boot_test_t test = {.size = layouts[i].size, .node_of = layouts[i].node_of};
		if (under_valgrind() && i != 2 && i != 5)
			continue;
		/* It does not see how ranks of other processes order the threads of this one: so
		 * one rank a node, where the relay and the rank are all. */
		if (UNDER_TSAN && layouts[i].nodes != layouts[i].size)
			continue;
		boot_test_begin(&test);
		for (int r = 0; r < test.size; r++)
			test.seen[r].value = i;
		cr_expect_eq(boot_run(&test, body), 0, "%d ranks on %d nodes (layout %d)",
			     test.size, layouts[i].nodes, i);
		boot_test_end(&test);
	}
}

/* ------------------------------------------------------------------ the map */

static int find_nodes(tsr_boot_t *boot, seen_t *seen)
{
	const layout_t *layout = layout_of(boot, seen->value);
	NEED(layout != NULL);
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_boot_nodes(boot) == layout->nodes);
	for (int r = 0; r < layout->size; r++)
		NEED(tsr_boot_node(boot, r) == layout->node[r]);
	NEED(tsr_boot_lost_rank(boot) == -1);
	NEED((tsr_boot_listens(boot)[0] != '\0') == (tsr_boot_rank(boot) == 0));
	return 0;
}

Test(nodes, every_rank_knows_where_all_are)
{
	each_layout(find_nodes);
}

static int find_one_node(tsr_boot_t *boot, seen_t *seen)
{
	(void)seen;
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	NEED(tsr_boot_nodes(boot) == 1);
	for (int r = 0; r < tsr_boot_size(boot); r++)
		NEED(tsr_boot_node(boot, r) == 0);
	return 0;
}

Test(nodes, without_a_launcher_that_says_more_there_is_one)
{
	boot_each(find_one_node);
}

/* ------------------------------------------------------------------ exchanges */

static unsigned char byte_of(int rank, size_t i, size_t size)
{
	return (unsigned char)((size_t)rank * 131 + i * 7 + size);
}

static int exchange_sizes(tsr_boot_t *boot, seen_t *seen)
{
	static const size_t sizes[] = {0, 1, 7, 16383, 16384, 16385, 100003};
	const int me = tsr_boot_rank(boot), count = tsr_boot_size(boot);
	(void)seen;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const size_t size = sizes[s];
		unsigned char *mine = malloc(size + 1), *all = malloc((size_t)count * size + 1);
		NEED(mine && all);
		memset(all, 0xee, (size_t)count * size + 1);
		for (size_t i = 0; i < size; i++)
			mine[i] = byte_of(me, i, size);
		NEED(tsr_boot_exchange(boot, "exchange", "", mine, all, size) == TSR_OK);
		for (int r = 0; r < count; r++)
			for (size_t i = 0; i < size; i++)
				NEED(all[(size_t)r * size + i] == byte_of(r, i, size));
		NEED(all[(size_t)count * size] == 0xee);

		const int root = (int)s % count;
		memset(all, 0xee, size + 1);
		if (me == root)
			memcpy(all, mine, size);
		NEED(tsr_boot_broadcast(boot, "broadcast", "", all, size, root) == TSR_OK);
		for (size_t i = 0; i < size; i++)
			NEED(all[i] == byte_of(root, i, size));
		NEED(all[size] == 0xee);
		free(mine);
		free(all);
	}
	return 0;
}

Test(nodes, every_rank_gets_every_byte)
{
	each_layout(exchange_sizes);
}

static int exchange_many(tsr_boot_t *boot, seen_t *seen)
{
	int all[TSR_MAX_RANKS];
	(void)seen;
	for (int round = 0; round < 1000; round++) {
		const int mine = round * 100 + tsr_boot_rank(boot);
		NEED(tsr_boot_exchange(boot, round % 2 ? "odd" : "even", "", &mine, all,
				       sizeof mine) == TSR_OK);
		for (int r = 0; r < tsr_boot_size(boot); r++)
			NEED(all[r] == round * 100 + r);
	}
	return 0;
}

Test(nodes, many_rounds)
{
	each_layout(exchange_many);
}

/* ------------------------------------------------------------------ teams */

/** Makes the meeting of a team as the world does: its first member takes the place. */
static int meet(tsr_boot_t *boot, const int *ranks, int members, int me, const char *name,
		tsr_meeting_t **meeting_out)
{
	int32_t mine = -1, all[TSR_MAX_RANKS];
	if (me >= 0)
		NEED(tsr_meeting_create(boot, ranks, members, me, name, meeting_out) == TSR_OK);
	if (me == 0)
		NEED(tsr_meeting_take_place(*meeting_out, &mine) == TSR_OK);
	NEED(tsr_boot_exchange(boot, "found", "", &mine, all, sizeof mine) == TSR_OK);
	if (me >= 0)
		tsr_meeting_enter(*meeting_out, all[ranks[0]]);
	return 0;
}

/** Members hear each other, of more bytes than one round takes, in every round. */
static int talk(tsr_meeting_t *meeting, int me, int members, int step)
{
	enum { LONG = 5003 };
	unsigned char mine[LONG], *all = malloc((size_t)members * LONG);
	NEED(all != NULL);
	for (int round = 0; round < 5; round++) {
		const size_t size = round == 2 ? LONG : 9;
		for (size_t i = 0; i < size; i++)
			mine[i] = byte_of(me + step, i, size);
		NEED(tsr_meeting_exchange(meeting, "talk", "", mine, all, size) == TSR_OK);
		for (int r = 0; r < members; r++)
			for (size_t i = 0; i < size; i++)
				NEED(all[(size_t)r * size + i] == byte_of(r + step, i, size));
	}
	free(all);
	return 0;
}

/** In turn teams of the even ranks, of the ranks of one node, and of all in reverse. */
static int choose(tsr_boot_t *boot, int step, int ranks[TSR_MAX_RANKS])
{
	const int size = tsr_boot_size(boot), mine = tsr_boot_node(boot, tsr_boot_rank(boot));
	int count = 0;
	for (int r = 0; r < size; r++) {
		const int rank = step % 3 == 2 ? size - 1 - r : r;
		if (step % 3 == 0 ? rank % 2 == tsr_boot_rank(boot) % 2
				  : step % 3 == 2 || tsr_boot_node(boot, rank) == mine)
			ranks[count++] = rank;
	}
	return count;
}

/**
 * Teams one after the other, whose places are used again: each must be found
 * clear, on all nodes. A team across nodes talks while the others do.
 */
static int meet_in_teams(tsr_boot_t *boot, seen_t *seen)
{
	(void)seen;
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	for (int step = 0; step < 60; step++) {
		int ranks[TSR_MAX_RANKS], me = -1;
		const int members = choose(boot, step, ranks);
		tsr_meeting_t *meeting = NULL;
		for (int i = 0; i < members; i++)
			me = ranks[i] == tsr_boot_rank(boot) ? i : me;
		const int line = meet(boot, ranks, members, me, "team", &meeting);
		NEED(line == 0);
		NEED(talk(meeting, me, members, step) == 0);
		tsr_meeting_leave(meeting);
		tsr_meeting_forget(meeting);
	}
	return 0;
}

Test(nodes, teams_meet_on_one_node_and_across)
{
	each_layout(meet_in_teams);
}

/** Ranks meet in two teams at one time, in different orders. */
static int meet_twice(tsr_boot_t *boot, seen_t *seen)
{
	(void)seen;
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	const int size = tsr_boot_size(boot), me = tsr_boot_rank(boot);
	int all[TSR_MAX_RANKS], back[TSR_MAX_RANKS];
	tsr_meeting_t *one = NULL, *two = NULL;
	for (int r = 0; r < size; r++) {
		all[r] = r;
		back[r] = size - 1 - r;
	}
	NEED(meet(boot, all, size, me, "one", &one) == 0);
	NEED(meet(boot, back, size, size - 1 - me, "two", &two) == 0);
	for (int step = 0; step < 20; step++) {
		NEED(talk(one, me, size, step) == 0);
		NEED(talk(two, size - 1 - me, size, step) == 0);
	}
	tsr_meeting_leave(two);
	tsr_meeting_leave(one);
	tsr_meeting_forget(one);
	tsr_meeting_forget(two);
	return 0;
}

Test(nodes, teams_of_all_ranks_have_places_of_their_own)
{
	each_layout(meet_twice);
}

/**
 * A team's words may come to lie where another's slots were: its place is taken
 * again from its second unit on, as rank 0 keeps the first for a team of its
 * own. They must be clear there on all nodes.
 */
static int meet_amid_slots(tsr_boot_t *boot, seen_t *seen)
{
	(void)seen;
	NEED(tsr_boot_exchange(boot, "first", "", NULL, NULL, 0) == TSR_OK);
	const int size = tsr_boot_size(boot), me = tsr_boot_rank(boot);
	int all[TSR_MAX_RANKS];
	tsr_meeting_t *one = NULL, *alone = NULL, *two = NULL;
	for (int r = 0; r < size; r++)
		all[r] = r;
	NEED(meet(boot, all, size, me, "one", &one) == 0);
	NEED(talk(one, me, size, 1) == 0); /* fills the slots */
	tsr_meeting_leave(one);
	tsr_meeting_forget(one);
	/* the relay of rank 0's node has heard that all have left */
	NEED(tsr_boot_exchange(boot, "left", "", NULL, NULL, 0) == TSR_OK);
	NEED(meet(boot, all, 1, me == 0 ? 0 : -1, "alone", &alone) == 0);
	NEED(meet(boot, all, size, me, "two", &two) == 0);
	NEED(talk(two, me, size, 2) == 0);
	tsr_meeting_leave(two);
	tsr_meeting_forget(two);
	if (me == 0)
		tsr_meeting_leave(alone);
	tsr_meeting_forget(alone);
	return 0;
}

Test(nodes, a_team_finds_its_words_clear_where_another_had_slots)
{
	each_layout(meet_amid_slots);
}

/* ------------------------------------------------------------------ descriptors */

/** Each rank of a node gets a pipe of each other: what one writes there is what it said. */
static int pass_descriptors(tsr_boot_t *boot, seen_t *seen)
{
	(void)seen;
	const int me = tsr_boot_rank(boot), size = tsr_boot_size(boot);
	for (int round = 0; round < 3; round++) {
		int fds[TSR_MAX_RANKS], ends[2];
		NEED(pipe(ends) == 0);
		for (int i = 0; i < size; i++)
			NEED(write(ends[1], &me, sizeof me) == (ssize_t)sizeof me);
		const bool none = (me + round) % 3 == 2;
		NEED(tsr_boot_exchange_fds(boot, none ? -1 : ends[0], fds) == TSR_OK);
		for (int r = 0; r < size; r++) {
			const bool far = tsr_boot_node(boot, r) != tsr_boot_node(boot, me);
			int said = -1;
			NEED((fds[r] < 0) == (far || (r + round) % 3 == 2));
			if (fds[r] < 0)
				continue;
			NEED(read(fds[r], &said, sizeof said) == (ssize_t)sizeof said && said == r);
			close(fds[r]);
		}
		NEED(tsr_boot_exchange(boot, "read", "", NULL, NULL, 0) == TSR_OK);
		close(ends[0]);
		close(ends[1]);
	}
	return 0;
}

Test(nodes, descriptors_go_to_the_ranks_of_a_node)
{
	each_layout(pass_descriptors);
}
