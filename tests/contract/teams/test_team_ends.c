/*
 * What goes wrong in a team: the world ends, and sentences and wait records
 * name the team's ranks by both their numbers.
 */
#include "tests/contract/ended_world.h"

enum { RANKS = 5 };

/**
 * Pairs in the reverse order: rank 4 is alone; members 0 and 1 of "pair" are
 * ranks 3 and 2, or 1 and 0.
 */
static tsr_team_t *pair_of(tsr_world_t *world)
{
	tsr_team_t *team = NULL;
	const int me = tsr_world_rank(world);
	return tsr_team_split(tsr_world_team(world), me / 2, -me, "pair", &team) == TSR_OK ? team
											   : NULL;
}

/** Waits until some rank has left a wait record. */
static void await_record(const tsr_world_t *world)
{
	tsr_wait_record_t record = {.size = sizeof record};
	for (int i = 0; i < 20000 && tsr_wait_record(world, 0, &record) != TSR_OK; i++)
		usleep(5000);
}

/**
 * Whether barriers of a team that nobody is missing from fail: soon after the
 * record is there, the world has ended.
 */
static bool team_ends(tsr_team_t *team)
{
	for (int i = 0; i < 20000; i++)
		if (tsr_team_barrier(team) != TSR_OK)
			return true;
	return false;
}

/* ------------------------------------------------------------------ a kernel's wait */

typedef struct lone_args {
	TSR_HEAP uint64_t *flag;
} lone_args_t;

TSR_KERNEL(wait_for_the_other, lone_args_t, a)
{
	tsr_wait(block, a->flag, 3, 1);
}

static int kernel_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_team_t *team = pair_of(world);
	tsr_wait_record_t record = {.size = sizeof record};
	tsr_stream_t *stream;
	lone_args_t a = {zeroed(world, sizeof(uint64_t), "lone flag")};
	(void)argc, (void)argv;
	CHECK(team && a.flag && tsr_stream_create(team, &stream) == TSR_OK &&
	      tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 3) {
		CHECK(tsr_launch(stream, &wait_for_the_other, 1, &a) == TSR_OK &&
		      tsr_stream_sync(stream) == TSR_ERR_TIMEOUT);
		CHECK(strstr(tsr_last_error(), "rank 0 of team 'pair' (rank 3 of the world), block "
					       "0 of kernel wait_for_the_other"));
		CHECK(strstr(tsr_last_error(), "for rank 1 of team 'pair' (rank 2 of the world) to "
					       "raise 'lone flag'+0 to 3"));
	} else {
		await_record(world);
		CHECK(team_ends(team), "the world has ended, not the team alone");
	}
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(record.rank == 3 && record.team_rank == 0 && strcmp(record.team, "pair") == 0);
	CHECK(record.from == 2 && record.team_from == 1);
	return witness();
}

Test(team_ends, a_wait_of_a_kernel)
{
	short_deadline();
	ended_both(RANKS, kernel_body, NULL, "a wait");
}

/* ------------------------------------------------------------------ a wait of a host */

static int host_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_team_t *team = pair_of(world);
	tsr_wait_record_t record = {.size = sizeof record};
	(void)argc, (void)argv;
	CHECK(team);
	if (tsr_world_rank(world) != 3)
		await_record(world);
	const tsr_status_t status = tsr_team_barrier(team);
	CHECK(tsr_world_rank(world) != 3 || status == TSR_ERR_TIMEOUT, "%s",
	      tsr_status_name(status));
	CHECK(tsr_barrier(world) == TSR_ERR_TIMEOUT);
	CHECK(strstr(tsr_last_error(), "rank 1 of 2 of team 'pair' (rank 2 of the world) did not "
				       "come to tsr_team_barrier within"));
	CHECK(strstr(tsr_last_error(), "where rank 0 of team 'pair' (rank 3 of the world) waited"));
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(record.block == -1 && record.rank == 3 && record.team_rank == 0 &&
	      strcmp(record.team, "pair") == 0);
	CHECK(record.from == 2 && record.team_from == 1 &&
	      strcmp(record.kernel, "tsr_team_barrier") == 0);
	return witness();
}

Test(team_ends, a_wait_of_a_host)
{
	short_deadline();
	ended_both(RANKS, host_body, NULL, "a barrier");
}

/* ----------------------------------------------------------- members that mean different things */

static int mismatch_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks[] = {0, 1}, other[] = {1, 0};
	int word = 0;
	tsr_team_t *team = pair_of(world), *inner = team;
	(void)argc, (void)argv;
	CHECK(team);
	if (tsr_team_size(team) == 2) {
		CHECK(tsr_team_create(team, tsr_team_rank(team) == 0 ? ranks : other, 2, "inner",
				      &inner) == TSR_ERR_MISMATCH);
		CHECK(strstr(tsr_last_error(), "tsr_team_create('inner': 1 0)") &&
		      strstr(tsr_last_error(), "tsr_team_create('inner': 0 1)"));
		CHECK(inner == team, "nothing is written by a call that fails");
		CHECK(tsr_team_barrier(team) == TSR_OK, "after other arguments the team goes on");
	}
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 2)
		CHECK(tsr_team_broadcast(team, &word, sizeof word, 0) == TSR_ERR_MISMATCH);
	else if (tsr_world_rank(world) == 3)
		CHECK(tsr_team_barrier(team) == TSR_ERR_MISMATCH);
	CHECK(tsr_barrier(world) == TSR_ERR_MISMATCH);
	CHECK(strstr(tsr_last_error(),
		     "rank 1 of team 'pair' (rank 2 of the world) called tsr_team_broadcast(root "
		     "0) where "
		     "rank 0 of team 'pair' (rank 3 of the world) called tsr_team_barrier"));
	return witness();
}

Test(team_ends, other_calls)
{
	short_deadline();
	ended_both(RANKS, mismatch_body, NULL, "calls");
}
