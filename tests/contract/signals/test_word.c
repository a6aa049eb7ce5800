/*
 * Waits for words: who acquires one sees what came before it; every comparison;
 * what an expired one leaves.
 */
#include <unistd.h>

#include "tests/contract/contract_test.h"

#include "tessera/random.h"

enum { ROUNDS = 20 };

/* ------------------------------------------------ turns: a word of rank 0 that says whose it is */

typedef struct turns_args {
	/* rank 0's; counts all turns, in rounds with an even number */
	TSR_HEAP uint64_t *turn;
	TSR_HEAP uint32_t *half_turn; /* the same in 32 bits, in the other rounds */
	TSR_HEAP uint64_t *sum;       /* rank 0's; whoever's turn it is reads and writes it */
	TSR_HEAP uint64_t *mine, *bad;
} turns_args_t;

/*
 * Partner of each wait: the release of the turn before, by the rank before.
 * Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_KERNEL(take_turns, turns_args_t, a)
{
	int me = tsr_rank(block), n = tsr_size(block), before = (me + n - 1) % n;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t turn = (uint64_t)(round * n + me), seen = 999;
		tsr_wait_result_t how =
			round % 2 ? tsr_wait_word(block, a->half_turn, TSR_CMP_EQ, turn, 0,
						  TSR_ACQUIRE, TSR_SCOPE_SYSTEM, before, &seen)
				  : tsr_wait_word(block, a->turn, TSR_CMP_EQ, turn, 0, TSR_ACQUIRE,
						  TSR_SCOPE_SYSTEM, before, &seen);
		if (how != TSR_WAIT_OK)
			return;
		if (seen != turn)
			tsr_atomic_add(block, a->bad, (uint64_t)1, me, TSR_RELAXED,
				       TSR_SCOPE_BLOCK);
		tsr_get(block, a->mine, a->sum, sizeof(uint64_t), 0);
		tsr_atomic_add(block, a->mine, turn + 1, me, TSR_ACQ_REL, TSR_SCOPE_BLOCK);
		tsr_put(block, a->sum, a->mine, sizeof(uint64_t), 0);
		if ((turn + 1) / (uint64_t)n % 2) /* the word in which the next one waits */
			tsr_atomic_store(block, a->half_turn, (uint32_t)(turn + 1), 0, TSR_RELEASE,
					 TSR_SCOPE_SYSTEM);
		else
			tsr_atomic_store(block, a->turn, turn + 1, 0, TSR_RELEASE,
					 TSR_SCOPE_SYSTEM);
	}
}

static int turns_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t words[2], all = (uint64_t)(tsr_world_size(world) * ROUNDS);
	(void)argc, (void)argv;
	turns_args_t a = {.turn = zeroed(world, 8, "turn"),
			  .half_turn = zeroed(world, 8, "half turn"),
			  .sum = zeroed(world, sizeof words, "sum"),
			  .mine = poisoned(world, 8, "mine")};
	CHECK(a.turn && a.half_turn && a.sum && a.mine);
	a.bad = a.sum + 1;
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &take_turns, 1, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, words, a.sum, sizeof words) == TSR_OK);
	CHECK(words[1] == 0, "%llu waits said another value", (unsigned long long)words[1]);
	CHECK(tsr_world_rank(world) != 0 || words[0] == all * (all + 1) / 2, "%llu",
	      (unsigned long long)words[0]);
	return 0;
}

Test(word, turns_are_taken_one_after_the_other)
{
	world_each(turns_body, NULL);
}

/* ------------------------------------------------ every comparison, of both widths, at any rank */

enum { CASES = 70, UNTOUCHED = 0x5b5b };

typedef struct compare_args {
	TSR_HEAP uint64_t *wide;               /* at every rank */
	TSR_HEAP uint32_t *narrow;             /* likewise: their low halves */
	TSR_HEAP uint64_t *value, *how, *seen; /* mine; how and seen: 2 * CASES */
} compare_args_t;

TSR_FN void compare_note(tsr_coop_t *block, const compare_args_t *a, int at, int how, uint64_t seen)
{
	int me = tsr_rank(block);
	tsr_atomic_store(block, a->how + at, (uint64_t)how, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
	tsr_atomic_store(block, a->seen + at, seen, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

TSR_KERNEL(compare_all, compare_args_t, a)
{
	int me = tsr_rank(block), n = tsr_size(block);
	for (int i = 0; i < CASES; i++) {
		tsr_cmp_t cmp = (tsr_cmp_t)(i % 7);
		int peer = (me + i) % n;
		uint64_t value = tsr_atomic_load(block, a->value + i, me, TSR_RELAXED,
						 TSR_SCOPE_BLOCK),
			 seen = UNTOUCHED;
		int how = tsr_wait_word_until(block, a->wide + i, cmp, value, peer, TSR_ACQUIRE,
					      TSR_SCOPE_SYSTEM, TSR_ANY_RANK, 1000, &seen);
		compare_note(block, a, i, how, seen);
		seen = UNTOUCHED;
		how = tsr_wait_word_until(block, a->narrow + i, cmp, value, peer, TSR_RELAXED,
					  TSR_SCOPE_SYSTEM, peer, 1000, &seen);
		compare_note(block, a, CASES + i, how, seen);
	}
}

static bool compares(int cmp, uint64_t seen, uint64_t value)
{
	const bool holds[] = {seen >= value, seen == value, seen != value,
			      seen<value, seen <= value, seen> value, (seen & value) != 0};
	return holds[cmp];
}

/**
 * Words of all ranks are a rank's number away from each other. Values lie
 * beside the words, or a high bit away, or anywhere.
 */
static void compare_inputs(uint64_t seed, uint64_t *wide, uint64_t *value)
{
	for (int i = 0; i < CASES; i++) {
		const uint64_t random = tsr_random_bits(seed, (uint64_t)i + CASES);
		wide[i] = tsr_random_bits(seed, (uint64_t)i);
		switch (i / 7 % 5) {
		case 0:
			value[i] = wide[i] + random % 9;
			break;
		case 1:
			value[i] = wide[i] ^ UINT64_C(1) << 63;
			break;
		case 2:
			value[i] = wide[i] ^ UINT64_C(1) << 31;
			break;
		case 3:
			value[i] = UINT64_C(1) << random % 64;
			break;
		default:
			value[i] = random;
		}
	}
}

static int compare_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), n = tsr_world_size(world);
	uint64_t seed = (uint64_t)getpid() * 1000003u, wide[CASES], value[CASES], mine[CASES],
		 how[2 * CASES], seen[2 * CASES];
	uint32_t narrow[CASES];
	(void)argc, (void)argv;
	CHECK(tsr_team_broadcast(tsr_world_team(world), &seed, sizeof seed, 0) == TSR_OK);
	compare_inputs(seed, wide, value);
	for (int i = 0; i < CASES; i++) {
		mine[i] = wide[i] + (uint64_t)me;
		narrow[i] = (uint32_t)mine[i];
	}
	compare_args_t a = {.wide = poisoned(world, sizeof wide, "wide"),
			    .narrow = poisoned(world, sizeof narrow, "narrow"),
			    .value = poisoned(world, sizeof value, "value"),
			    .how = poisoned(world, sizeof how, "how"),
			    .seen = poisoned(world, sizeof seen, "seen")};
	CHECK(a.wide && a.narrow && a.value && a.how && a.seen);
	CHECK(tsr_memcpy_to_heap(world, a.wide, mine, sizeof mine) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, a.narrow, narrow, sizeof narrow) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, a.value, value, sizeof value) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &compare_all, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, how, a.how, sizeof how) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, a.seen, sizeof seen) == TSR_OK);
	for (int at = 0; at < 2 * CASES; at++) {
		const int i = at % CASES;
		const uint64_t mask = at < CASES ? UINT64_MAX : UINT32_MAX,
			       word = (wide[i] + (uint64_t)((me + i) % n)) & mask;
		const bool holds = compares(i % 7, word, value[i] & mask);
		CHECK(how[at] == (holds ? TSR_WAIT_OK : TSR_WAIT_EXPIRED), "seed %llu, case %d",
		      (unsigned long long)seed, at);
		CHECK(seen[at] == (holds ? word : UNTOUCHED), "seed %llu, case %d",
		      (unsigned long long)seed, at);
	}
	return tsr_barrier(world) != TSR_OK; /* the world goes on */
}

Test(word, every_comparison)
{
	world_each(compare_body, NULL);
}

/* ------------------------------------------------------------------ what an expired wait leaves */

typedef struct late_args {
	TSR_HEAP uint64_t *words, *how;
} late_args_t;

TSR_KERNEL(wait_for_a_late_word, late_args_t, a)
{
	int me = tsr_rank(block), next = (me + 1) % tsr_size(block);
	int how = tsr_wait_word_until(block, a->words + 2, TSR_CMP_LT, 4, next, TSR_ACQUIRE,
				      TSR_SCOPE_SYSTEM, me, 2000000, (uint64_t *)0);
	tsr_atomic_store(block, a->how, (uint64_t)how, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

static int late_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), n = tsr_world_size(world), found = 0;
	uint64_t words[3] = {0, 0, (uint64_t)me + 4}, how;
	tsr_wait_record_t record = {.size = sizeof record};
	(void)argc, (void)argv;
	late_args_t a = {poisoned(world, sizeof words, "late words"),
			 poisoned(world, sizeof how, "how")};
	CHECK(a.words && a.how);
	CHECK(tsr_memcpy_to_heap(world, a.words, words, sizeof words) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &wait_for_a_late_word, 1, &a) == TSR_OK,
	      "an expired wait of this form does not end the launch");
	CHECK(tsr_memcpy_from_heap(world, &how, a.how, sizeof how) == TSR_OK);
	CHECK(how == TSR_WAIT_EXPIRED);
	for (int i = 0; tsr_wait_record(world, i, &record) == TSR_OK; i++) {
		if (record.rank != me || strcmp(record.kernel, "wait_for_a_late_word") != 0)
			continue;
		found++;
		CHECK(record.cmp == TSR_CMP_LT && record.owner == (me + 1) % n &&
		      record.from == me);
		CHECK(record.expected == 4 && record.seen == (uint64_t)((me + 1) % n) + 4 &&
		      record.waited_ns >= 2000000);
		CHECK(strcmp(record.allocation, "late words") == 0 && record.offset_bytes == 16);
	}
	/* A world that has run other tests may have kept as many records as it keeps. */
	CHECK(found >= 1 || tsr_wait_record(world, 63, &record) == TSR_OK);
	return tsr_barrier(world) != TSR_OK;
}

Test(word, an_expired_wait_leaves_a_record)
{
	world_each(late_body, NULL);
}
