/* Worlds by an id: of all sizes, several in a process, and what goes wrong. */
#include <pthread.h>
#include <time.h>

#include "patience.h"
#include "ranks.h"

static void make_id(int size, void *ctx)
{
	(void)size;
	cr_assert_eq(tsr_unique_id_get(ctx), TSR_OK, "%s", tsr_last_error());
}

static int join_and_use(int rank, int size, void *ctx, seen_t *seen)
{
	tsr_world_t *world;
	NEED(note(seen, tsr_world_create_by_id(ctx, rank, size, &world)) == TSR_OK);
	const int line = ranks_use(world, rank, size);
	NEED(tsr_finalize(world) == TSR_OK);
	return line;
}

Test(unique_id, makes_worlds_of_processes_that_nobody_launched)
{
	tsr_unique_id_t id;
	ranks_settings();
	ranks_each(join_and_use, make_id, &id);
}

/** What torchrun sets for a process of another job is not read. */
Test(unique_id, does_not_read_the_variables_of_launchers)
{
	tsr_unique_id_t id;
	seen_t *seen = ranks_share(3 * sizeof *seen);
	ranks_settings();
	set_environment("RANK=7 WORLD_SIZE=9 LOCAL_RANK=7 LOCAL_WORLD_SIZE=9 TESSERA_RANK=4 "
			"TESSERA_SIZE=5 TESSERA_JOB=other");
	make_id(3, &id);
	cr_expect_eq(ranks_run(0, 3, join_and_use, &id, seen), 0);
}

static int join_two(int rank, int size, void *ctx, seen_t *seen)
{
	const tsr_unique_id_t *ids = ctx;
	tsr_world_t *world, *reversed;
	NEED(note(seen, tsr_world_create_by_id(&ids[0], rank, size, &world)) == TSR_OK);
	NEED(note(seen, tsr_world_create_by_id(&ids[1], size - 1 - rank, size, &reversed)) ==
	     TSR_OK);
	for (int i = 0; i < 2; i++) {
		NEED(ranks_use(world, rank, size) == 0);
		NEED(ranks_use(reversed, size - 1 - rank, size) == 0);
	}
	NEED(tsr_finalize(world) == TSR_OK);
	NEED(ranks_use(reversed, size - 1 - rank, size) == 0);
	NEED(tsr_finalize(reversed) == TSR_OK);
	return 0;
}

static void make_two_ids(int size, void *ctx)
{
	tsr_unique_id_t *ids = ctx;
	make_id(size, &ids[0]);
	make_id(size, &ids[1]);
	cr_assert(memcmp(&ids[0], &ids[1], sizeof *ids) != 0);
}

Test(unique_id, a_process_is_in_two_worlds_at_a_time)
{
	tsr_unique_id_t ids[2];
	ranks_settings();
	ranks_each(join_two, make_two_ids, ids);
}

static int fail_to_join(int rank, int size, void *ctx, seen_t *seen)
{
	tsr_world_t *world = NULL;
	NEED(note(seen, tsr_world_create_by_id(ctx, rank, size, &world)) != TSR_OK);
	NEED(world == NULL);
	return 0;
}

static void expect(const seen_t *seen, tsr_status_t status, const char *words)
{
	cr_expect_eq(seen->status, status, "%s", tsr_status_name(seen->status));
	cr_expect(strstr(seen->sentence, words) != NULL, "%s", seen->sentence);
}

static void set_deadline(uint64_t deadline_ns)
{
	char text[32];
	snprintf(text, sizeof text, "%llums", (unsigned long long)(deadline_ns / 1000000u));
	setenv("TESSERA_DEADLINE", text, 1);
}

static int skip_two(int rank, int size, void *ctx, seen_t *seen)
{
	return rank == 2 || rank == 4 ? 0 : fail_to_join(rank, size, ctx, seen);
}

Test(unique_id, ranks_that_do_not_come_are_named)
{
	static const char wanted[] = "ranks 2 and 4 of 5 never arrived within ";
	tsr_unique_id_t id;
	seen_t *seen = ranks_share(5 * sizeof *seen);
	uint64_t deadline_ns = 500000000u;
	ranks_settings();
	do {
		make_id(5, &id);
		set_deadline(deadline_ns);
		cr_expect_eq(ranks_run(0, 5, skip_two, &id, seen), 0);
	} while (tells_of_lateness(seen[0].sentence, wanted) && be_more_patient(&deadline_ns));
	expect(&seen[0], TSR_ERR_PEER_LOST, wanted);
	expect(&seen[0], TSR_ERR_PEER_LOST, "call tsr_world_create_by_id");
	expect(&seen[3], TSR_ERR_PEER_LOST, " never arrived within ");
}

Test(unique_id, a_rank_0_that_does_not_come_is_named)
{
	tsr_unique_id_t id;
	seen_t *seen = ranks_share(3 * sizeof *seen);
	ranks_settings();
	setenv("TESSERA_DEADLINE", "300ms", 1);
	make_id(3, &id);
	cr_expect_eq(ranks_run(1, 3, fail_to_join, &id, seen), 0);
	for (int r = 1; r < 3; r++) {
		expect(&seen[r], TSR_ERR_PEER_LOST, "rank 0 of 3 never arrived within 300 ms");
		expect(&seen[r], TSR_ERR_PEER_LOST, "call tsr_world_create_by_id");
	}
}

static int claim_rank_1(int rank, int size, void *ctx, seen_t *seen)
{
	return fail_to_join(rank > 0 ? 1 : 0, size, ctx, seen);
}

Test(unique_id, two_processes_with_one_rank_are_refused)
{
	tsr_unique_id_t id;
	seen_t *seen = ranks_share(3 * sizeof *seen);
	ranks_settings();
	make_id(3, &id);
	cr_expect_eq(ranks_run(0, 3, claim_rank_1, &id, seen), 0);
	for (int r = 0; r < 3; r++)
		expect(&seen[r], TSR_ERR_CONFIG,
		       "two processes say that they are rank 1 of the same job: give each rank "
		       "its own number and each world its own id (tsr_unique_id_get)");
}

static int claim_another_size(int rank, int size, void *ctx, seen_t *seen)
{
	return fail_to_join(rank, size + rank, ctx, seen);
}

Test(unique_id, ranks_with_other_sizes_are_refused)
{
	tsr_unique_id_t id;
	seen_t *seen = ranks_share(2 * sizeof *seen);
	ranks_settings();
	make_id(2, &id);
	cr_expect_eq(ranks_run(0, 2, claim_another_size, &id, seen), 0);
	for (int r = 0; r < 2; r++)
		expect(&seen[r], TSR_ERR_CONFIG,
		       "rank 1 says that the job has 3 ranks, rank 0 "
		       "says 2");
}

typedef struct joiner {
	tsr_unique_id_t id;
	int rank;
	seen_t seen;
} joiner_t;

static void *join_in_thread(void *data)
{
	joiner_t *self = data;
	(void)fail_to_join(self->rank, 2, &self->id, &self->seen);
	return NULL;
}

Test(unique_id, threads_of_a_process_are_refused_as_ranks_of_one_world)
{
	joiner_t joiners[2] = {{.rank = 0}, {.rank = 1}};
	pthread_t threads[2];
	ranks_settings();
	make_id(2, &joiners[0].id);
	joiners[1].id = joiners[0].id;
	for (int r = 0; r < 2; r++)
		cr_assert_eq(pthread_create(&threads[r], NULL, join_in_thread, &joiners[r]), 0);
	for (int r = 0; r < 2; r++) {
		cr_assert_eq(pthread_join(threads[r], NULL), 0);
		expect(&joiners[r].seen, TSR_ERR_CONFIG, "ranks 0 and 1 are in one process");
	}
}

static void refuse(const tsr_unique_id_t *id, int rank, int size, tsr_status_t status,
		   const char *words)
{
	tsr_world_t *world = NULL;
	seen_t seen;
	(void)note(&seen, tsr_world_create_by_id(id, rank, size, &world));
	expect(&seen, status, words);
	cr_expect_eq(world, NULL);
}

Test(unique_id, bad_arguments_are_refused_in_a_sentence)
{
	tsr_unique_id_t id, zero = {{0}}, torn;
	ranks_settings();
	make_id(1, &id);
	torn = id;
	torn.bytes[20] ^= 1;
	refuse(NULL, 0, 1, TSR_ERR_ARGUMENT, "must not be null");
	refuse(&id, 1, 1, TSR_ERR_ARGUMENT, "rank 1 of 1");
	refuse(&id, -1, 2, TSR_ERR_ARGUMENT, "rank -1 of 2");
	refuse(&id, 0, TSR_MAX_RANKS + 1, TSR_ERR_ARGUMENT, "a world has 1 to 256 ranks");
	refuse(&zero, 0, 2, TSR_ERR_ARGUMENT, "the id is all zero");
	refuse(&torn, 0, 2, TSR_ERR_ARGUMENT, "these 128 bytes are no id");
	cr_expect_eq(tsr_unique_id_get(NULL), TSR_ERR_ARGUMENT);
	setenv("TESSERA_PLACEMENT", "thread", 1);
	refuse(&id, 0, 2, TSR_ERR_CONFIG, "TESSERA_PLACEMENT=thread");
	setenv("TESSERA_PLACEMENT", "process", 1);
	setenv("TESSERA_CHECK", "seed=1", 1);
	refuse(&id, 0, 2, TSR_ERR_CONFIG, "tessera check");
}
