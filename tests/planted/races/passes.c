/*
 * passes KIND: what a GPU's threads do wrong in a TSR_EACH, where one thread
 * does it right. `right` is right; so is the result of each other kind where the
 * passes are made one after the other. The kinds are in the table `kinds`, each
 * with what it does.
 */
#include <stddef.h>
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { KEYS = 96, KINDS_OF_KEY = 64, SMALL = 16, BINS = 4 };

enum {
	RIGHT,     /* each pass writes an element of its own */
	COUNTER,   /* passes count in bins that they share */
	SUM,       /* passes add to a local */
	PREFIX,    /* a pass adds to what the pass before has made */
	MAX,       /* passes keep the largest in one word */
	APPEND,    /* passes take places by a shared index */
	NEIGHBOUR, /* a pass reads what the next one writes */
	FLAG,      /* several passes say in one word that they have found it */
	FOUND,     /* the pass that finds it says so in a local */
	BEST,      /* passes keep the largest in a local */
	PAIR,      /* two passes of all write one word */
	GOT,       /* passes read what tsr_get has brought, and the block has not met */
	LOOPS,     /* passes read what those of the loop before have made */
	INDEX,     /* a pass uses what the pass before has made as an index */
	CALL,      /* passes make a call of the API */
	LEFT,      /* a pass leaves the loop */
	NESTED,    /* passes begin another loop */
	KINDS
};
static const char *const kinds[KINDS] = {
	"right", "counter", "sum", "prefix", "max",   "append", "neighbour", "flag",  "found",
	"best",  "pair",    "got", "loops",  "index", "call",   "left",      "nested"};

typedef struct passes_pad {
	int32_t key[KEYS], bins[BINS];
	int32_t best, next, found;
	int32_t made[KEYS];
} passes_pad_t;

typedef struct passes_memory {
	int32_t key[KEYS], result;
} passes_memory_t;

/** Passes that write what other passes write or read. */
TSR_FN void share(tsr_coop_t *block, passes_pad_t *shared, int kind)
{
	if (kind == COUNTER)
		TSR_EACH(block, i, KEYS)
			shared->bins[shared->key[i] % BINS]++;
	if (kind == PREFIX)
		TSR_EACH(block, i, KEYS) {
			const int32_t before = i > 0 ? shared->made[i - 1] : 0;
			shared->made[i] = before + (shared->key[i] < SMALL);
		}
	if (kind == MAX)
		TSR_EACH(block, i, KEYS) {
			if (shared->key[i] > shared->best)
				shared->best = shared->key[i];
		}
	if (kind == APPEND)
		TSR_EACH(block, i, KEYS) {
			if (shared->key[i] < SMALL)
				shared->made[shared->next++] = i;
		}
	if (kind == NEIGHBOUR)
		TSR_EACH(block, i, KEYS - 1)
			shared->key[i] = shared->key[i + 1];
	if (kind == FLAG)
		TSR_EACH(block, i, KEYS) {
			if (shared->key[i] >= SMALL)
				shared->found = 1;
		}
	if (kind == PAIR)
		TSR_EACH(block, i, KEYS) {
			if (i == 9 || i == 41)
				shared->found = 1;
		}
	if (kind == INDEX)
		TSR_EACH(block, i, KEYS) {
			const int32_t before = i > 0 ? shared->made[i - 1] : 0;
			shared->made[i] = shared->key[before] + 1;
		}
}

/** Passes that change a local; what it is behind them. */
TSR_FN int32_t change_local(tsr_coop_t *block, const passes_pad_t *shared, int kind)
{
	int32_t local = 0;
	if (kind == SUM)
		TSR_EACH(block, i, KEYS)
			local += shared->key[i] < SMALL;
	if (kind == FOUND)
		TSR_EACH(block, i, KEYS) {
			if (i == KEYS / 2)
				local = 1;
		}
	if (kind == BEST)
		TSR_EACH(block, i, KEYS) {
			if (shared->key[i] > local)
				local = shared->key[i];
		}
	return local;
}

/** What no pass may do at all. */
TSR_FN void break_rules(tsr_coop_t *block, passes_pad_t *shared, const planted_args_t *a)
{
	TSR_HEAP passes_memory_t *m = (TSR_HEAP passes_memory_t *)a->memory;
	if (a->kind == CALL)
		TSR_EACH(block, i, KEYS)
			tsr_put_value(block, &m->key[i], i, tsr_rank(block));
	if (a->kind == LEFT)
		TSR_EACH(block, i, KEYS) {
			if (shared->key[i] == SMALL)
				break;
			shared->made[i] = i;
		}
	if (a->kind == NESTED)
		TSR_EACH(block, i, BINS) {
			TSR_EACH(block, j, BINS)
				shared->made[i * BINS + j] = i;
		}
}

/** Keys that are made here, or come from the heap; they are there once the block has met. */
TSR_FN void find_keys(tsr_coop_t *block, passes_pad_t *shared, const planted_args_t *a)
{
	TSR_HEAP passes_memory_t *m = (TSR_HEAP passes_memory_t *)a->memory;
	tsr_shared_clear(block, shared,
			 a->kind == INDEX ? offsetof(passes_pad_t, made) : sizeof *shared);
	if (a->kind == GOT)
		tsr_get(block, shared->key, m->key, sizeof shared->key, tsr_rank(block));
	else
		TSR_EACH(block, i, KEYS)
			shared->key[i] = i * 7 % KINDS_OF_KEY;
	if (a->kind != GOT && a->kind != LOOPS)
		tsr_sync(block);
}

TSR_KERNEL_SHARED(make_passes, passes_pad_t, planted_args_t, a)
{
	TSR_HEAP passes_memory_t *m = (TSR_HEAP passes_memory_t *)a->memory;
	find_keys(block, shared, a);
	if (a->kind == RIGHT || a->kind == GOT || a->kind == LOOPS)
		TSR_EACH(block, i, KEYS) {
			int32_t small = 0;
			for (int j = 0; j < 3; j++)
				small += shared->key[(i + j) % KEYS] < SMALL;
			shared->made[i] = small;
		}
	share(block, shared, a->kind);
	const int32_t local = change_local(block, shared, a->kind);
	break_rules(block, shared, a);
	tsr_sync(block);
	int32_t sum = local + shared->best + shared->next + shared->found + shared->bins[1];
	for (int i = 0; i < KEYS; i++)
		sum += shared->made[i] * (i % 5 + 1) + shared->key[i] * (i % 3);
	tsr_put_value(block, &m->result, sum, tsr_rank(block));
}

/** What the kernel's passes make one after the other, from the keys. */
static int32_t expect(int kind, const int32_t *from)
{
	int32_t key[KEYS], made[KEYS] = {0}, sum = kind == FLAG || kind == FOUND || kind == PAIR;
	int32_t best = 0, small = 0, ones = 0;
	for (int i = 0; i < KEYS; i++) {
		key[i] = from[kind == NEIGHBOUR && i < KEYS - 1 ? i + 1 : i];
		best = from[i] > best ? from[i] : best;
		ones += from[i] % BINS == 1;
		if (kind == APPEND && from[i] < SMALL)
			made[small] = i;
		small += from[i] < SMALL;
		for (int j = 0; j < 3 && (kind == RIGHT || kind == GOT || kind == LOOPS); j++)
			made[i] += from[(i + j) % KEYS] < SMALL;
		if (kind == PREFIX)
			made[i] = small;
		if (kind == INDEX)
			made[i] = from[i > 0 ? made[i - 1] : 0] + 1;
	}
	sum += kind == MAX || kind == BEST     ? best
	       : kind == APPEND || kind == SUM ? small
	       : kind == COUNTER               ? ones
					       : 0;
	for (int i = 0; i < KEYS; i++)
		sum += made[i] * (i % 5 + 1) + key[i] * (i % 3);
	return sum;
}

TSR_MAIN(world, argc, argv)
{
	passes_memory_t memory = {.result = 0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: passes KIND, one of:");
		for (int i = 0; i < KINDS; i++)
			fprintf(stderr, " %s", kinds[i]);
		fprintf(stderr, "\n");
		return 2;
	}
	for (int i = 0; i < KEYS; i++)
		memory.key[i] = i * 7 % KINDS_OF_KEY;
	const int32_t want = expect(kind, memory.key);
	const int failed = planted_play(world, &make_passes, kind, &memory, sizeof memory);
	if (failed || kind >= CALL || memory.result == want)
		return failed;
	fprintf(stderr, "wrong: %d and not %d\n", (int)memory.result, (int)want);
	return 1;
}
