/*
 * As many ranks as a world can have, on the emulator, and more teams than there
 * is room for at one time.
 */
#include "tests/contract/contract_test.h"

enum { RANKS = 256, SIDE = 16, TEAMS = 5000 };

typedef struct square_args {
	TSR_HEAP uint64_t *word; /* mine, the one that has come, its flag, and what was gathered */
	TSR_HEAP tsr_barrier_state_t *barrier;
} square_args_t;

/** Sends round the ring of the team, and of the world where the stream is the world's. */
TSR_KERNEL(round_the_square, square_args_t, a)
{
	const int size = tsr_size(block);
	tsr_put_signal(block, a->word + 1, a->word, sizeof(uint64_t), a->word + 2, 1,
		       TSR_SIGNAL_SET, tsr_peer(block, 1));
	tsr_wait(block, a->word + 2, 1, tsr_peer(block, size - 1));
	tsr_barrier_ranks(block, a->barrier);
}

/** Runs it in a team, and checks from whom the word has come. */
static int run_square(tsr_world_t *world, tsr_team_t *team)
{
	const int me = tsr_team_rank(team), size = tsr_team_size(team);
	const uint64_t mine[3] = {(uint64_t)tsr_world_rank(world) + 1, 0, 0};
	uint64_t found[3];
	tsr_stream_t *stream;
	square_args_t a = {zeroed(world, sizeof mine, "square"),
			   zeroed(world, tsr_barrier_state_bytes(RANKS), "square barrier")};
	CHECK(a.word && a.barrier &&
	      tsr_memcpy_to_heap(world, a.word, mine, sizeof mine) == TSR_OK);
	CHECK(tsr_stream_create(team, &stream) == TSR_OK && tsr_barrier(world) == TSR_OK);
	CHECK(tsr_launch(stream, &round_the_square, 1, &a) == TSR_OK &&
	      tsr_team_barrier(team) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, found, a.word, sizeof found) == TSR_OK);
	CHECK(found[1] == (uint64_t)tsr_team_world_rank(team, (me + size - 1) % size) + 1);
	return tsr_stream_destroy(stream) != TSR_OK;
}

/** Columns of the square, backwards; then everybody. */
static int square_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	int all[RANKS];
	tsr_team_t *team;
	(void)argc, (void)argv;
	CHECK(tsr_team_split(tsr_world_team(world), me % SIDE, -me, "column", &team) == TSR_OK);
	CHECK(tsr_team_size(team) == SIDE && tsr_team_rank(team) == SIDE - 1 - me / SIDE);
	CHECK(tsr_team_gather_all(team, &me, all, sizeof me) == TSR_OK);
	for (int i = 0; i < SIDE; i++)
		CHECK(all[i] == (SIDE - 1 - i) * SIDE + me % SIDE);
	CHECK(tsr_team_gather_all(tsr_world_team(world), &me, all, sizeof me) == TSR_OK);
	for (int r = 0; r < RANKS; r++)
		CHECK(all[r] == r);
	if (run_square(world, team) || run_square(world, tsr_world_team(world)))
		return 1;
	CHECK(tsr_team_destroy(team) == TSR_OK);
	return 0;
}

Test(team_many, ranks)
{
	if (!world_has_threads() || getenv("TESSERA_CHECK") || under_valgrind())
		cr_skip_test("256 ranks are too many here");
	setenv("TESSERA_HEAP_SIZE", "1M", 1);
#ifndef WORLD_THREADS_ONLY
	cr_expect(world_start(RANKS, TSR_PLACE_PROCESS, square_body, NULL) == 0,
		  "256 ranks as processes");
#endif
	cr_expect(world_start(RANKS, TSR_PLACE_THREAD, square_body, NULL) == 0,
		  "256 ranks as threads");
}

/* What ends gives its place back. */
static int teams_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_team_t *team;
	(void)argc, (void)argv;
	for (int i = 0; i < TEAMS; i++) {
		CHECK(tsr_team_split(tsr_world_team(world), tsr_world_rank(world) % 2, 0, "many",
				     &team) == TSR_OK,
		      "team %d", i);
		if (i % 100 == 0)
			CHECK(tsr_team_barrier(team) == TSR_OK);
		CHECK(tsr_team_destroy(team) == TSR_OK);
	}
	return 0;
}

/* What is not ended: the call that finds no room says so on every rank, and the world goes on. */
static int room_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_team_t *team, *last = NULL;
	tsr_status_t status = TSR_OK;
	int made = 0;
	(void)argc, (void)argv;
	while (status == TSR_OK && made < TEAMS) {
		status = tsr_team_split(tsr_world_team(world), 0, 0, "kept", &team);
		if (status == TSR_OK) {
			last = team;
			made++;
		}
	}
	CHECK(status == TSR_ERR_NO_MEMORY && made > 1000, "%d teams, %s", made,
	      tsr_status_name(status));
	CHECK(tsr_team_barrier(last) == TSR_OK && tsr_team_destroy(last) == TSR_OK);
	CHECK(tsr_team_split(tsr_world_team(world), 0, 0, "again", &team) == TSR_OK &&
	      tsr_team_barrier(team) == TSR_OK);
	return 0;
}

Test(team_many, teams)
{
	if (getenv("TESSERA_CHECK") || under_valgrind())
		cr_skip_test("5000 teams are too many here");
	cr_expect(world_run(3, TSR_PLACE_PROCESS, teams_body, NULL) == 0, "as processes");
	if (!world_has_threads())
		return;
	cr_expect(world_run(3, TSR_PLACE_THREAD, teams_body, NULL) == 0, "as threads");
	cr_expect(world_run(2, TSR_PLACE_PROCESS, room_body, NULL) == 0, "too many");
}
