/*
 * teams KIND: rows of two ranks and columns of all that are at one place of
 * their row work at the same time, on the same states and at different offsets
 * of their own memory.
 *
 *     right     every member's word goes round its team
 *     unsent    the first of the last row sends nothing
 *     lost      the first of the last row sends nothing and returns
 *     unwaited  nobody waits before it reads
 *     apart     the last rank makes another call of its row's host than its
 *               neighbour
 *     unmet     hosts read what their row has put after a barrier of their
 *               column alone
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, UNSENT, LOST, UNWAITED, APART, UNMET, KINDS };
static const char *const kinds[KINDS] = {"right", "unsent", "lost", "unwaited", "apart", "unmet"};

typedef struct team_args {
	/* of one team: mine, and what the one before has sent */
	TSR_HEAP uint64_t *word, *flag, *read;
	TSR_HEAP tsr_barrier_state_t *meeting;
	TSR_HEAP tsr_all_gather_state_t *gathering;
	TSR_HEAP uint64_t *all;
	uint64_t size_bytes; /* of a part; not all rows have the same */
	int32_t kind, silent;
} team_args_t;

TSR_KERNEL(go_round, team_args_t, a)
{
	const int me = tsr_rank(block), next = tsr_peer(block, 1),
		  before = tsr_peer(block, tsr_size(block) - 1);
	if (a->silent && a->kind == LOST)
		return;
	if (!a->silent)
		tsr_put_signal(block, a->word + 1, a->word, sizeof(uint64_t), a->flag, 1,
			       TSR_SIGNAL_SET, next);
	if (a->kind != UNWAITED)
		tsr_wait(block, a->flag, 1, before);
	tsr_put(block, a->read, a->word + 1, sizeof(uint64_t), me);
	tsr_barrier_ranks(block, a->meeting);
	tsr_all_gather(block, a->all, a->word, a->size_bytes, a->gathering);
	/* for the host there, without a signal */
	tsr_put(block, a->read + 1, a->word, sizeof(uint64_t), next);
}

static tsr_status_t zeroed(tsr_world_t *world, size_t bytes, const char *name,
			   TSR_HEAP void **heap_out)
{
	tsr_status_t status = tsr_heap_alloc(world, bytes, 0, name, heap_out);
	return status == TSR_OK ? tsr_memset_heap(world, *heap_out, 0, bytes) : status;
}

/** What a team works on, but for the states. */
static tsr_status_t prepare(tsr_world_t *world, uint64_t size_bytes, team_args_t *a)
{
	TSR_HEAP void *words, *all;
	tsr_status_t status = zeroed(world, 5 * sizeof(uint64_t), "words", &words);
	if (status == TSR_OK)
		status = zeroed(world, (size_t)tsr_world_size(world) * 2 * sizeof(uint64_t), "all",
				&all);
	if (status != TSR_OK)
		return status;
	a->word = (TSR_HEAP uint64_t *)words;
	a->flag = a->word + 2;
	a->read = a->word + 3;
	a->all = (TSR_HEAP uint64_t *)all;
	a->size_bytes = size_bytes;
	return TSR_OK;
}

/** The states of one set of disjoint teams: each touches the copies of its own members. */
static tsr_status_t states(tsr_world_t *world, team_args_t *a)
{
	TSR_HEAP void *meeting, *gathering;
	tsr_status_t status =
		zeroed(world, tsr_barrier_state_bytes(tsr_world_size(world)), "meeting", &meeting);
	if (status == TSR_OK)
		status = zeroed(world, tsr_all_gather_state_bytes(tsr_world_size(world)),
				"gathering", &gathering);
	if (status != TSR_OK)
		return status;
	a->meeting = (TSR_HEAP tsr_barrier_state_t *)meeting;
	a->gathering = (TSR_HEAP tsr_all_gather_state_t *)gathering;
	return TSR_OK;
}

TSR_MAIN(world, argc, argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	team_args_t args[2] = {{.kind = 0}, {.kind = 0}};
	tsr_team_t *team[2];
	tsr_stream_t *stream[2];
	uint64_t late;
	int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "teams: say one of the kinds\n");
		return 2;
	}
	TSR_TRY(tsr_team_split(tsr_world_team(world), me / 2, 0, "row", &team[0]));
	TSR_TRY(tsr_team_split(tsr_world_team(world), me % 2, -me, "column", &team[1]));
	for (int i = 0; i < 2; i++) {
		args[i].kind = kind;
		args[i].silent =
			(kind == UNSENT || kind == LOST) && i == 0 && me == (size - 1) / 2 * 2;
		TSR_TRY(prepare(world, i == 0 && me < 2 ? 8 : 16, &args[i]));
		TSR_TRY(states(world, &args[i]));
		TSR_TRY(tsr_stream_create(team[i], &stream[i]));
	}
	TSR_TRY(tsr_barrier(world));
	for (int i = 0; i < 2; i++)
		TSR_TRY(tsr_launch(stream[i], &go_round, 1, &args[i]));
	for (int i = 0; i < 2; i++)
		TSR_TRY(tsr_stream_sync(stream[i]));
	if (kind == APART && me == size - 1)
		TSR_TRY(tsr_team_broadcast(team[0], &kind, sizeof kind, 0));
	else
		TSR_TRY(tsr_team_barrier(team[kind == UNMET]));
	TSR_TRY(tsr_memcpy_from_heap(world, &late, args[0].read + 1, sizeof late));
	TSR_TRY(tsr_team_barrier(team[1]));
	for (int i = 0; i < 2; i++) {
		TSR_TRY(tsr_stream_destroy(stream[i]));
		TSR_TRY(tsr_team_destroy(team[i]));
	}
	return 0;
}
