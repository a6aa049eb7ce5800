/*
 * unmet moved|read|reused|met: a block goes on with what its threads may not
 * have done yet, and says what came of it. It moves what it has just fetched
 * (moved), reads a word of it (read), or fetches into what it has just put
 * (reused); or it meets in between (met).
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { MOVED, READ, REUSED, MET, KINDS };
static const char *const kinds[KINDS] = {"moved", "read", "reused", "met"};

enum { WORDS = 64 };

typedef struct unmet_memory {
	uint64_t numbers[WORDS], fetched[WORDS], moved[WORDS], kept[WORDS], last;
} unmet_memory_t;

TSR_KERNEL(fetch_and_go_on, planted_args_t, a)
{
	TSR_HEAP unmet_memory_t *m = (TSR_HEAP unmet_memory_t *)a->memory;
	const int me = tsr_rank(block), next = (me + 1) % tsr_size(block);
	tsr_get(block, m->fetched, m->numbers, sizeof m->numbers, next);
	if (a->kind != MOVED)
		tsr_sync(block);
	tsr_put(block, m->moved, m->fetched + 1, sizeof m->moved - sizeof(uint64_t), me);
	tsr_sync(block);
	tsr_put(block, m->kept, m->fetched, sizeof m->kept, me);
	if (a->kind != REUSED)
		tsr_sync(block);
	tsr_get(block, m->fetched, m->numbers + WORDS / 2, sizeof m->numbers / 2, next);
	if (a->kind != READ)
		tsr_sync(block);
	const uint64_t last = tsr_atomic_load(block, &m->fetched[WORDS / 2 - 1], me, TSR_RELAXED,
					      TSR_SCOPE_BLOCK);
	tsr_atomic_store(block, &m->last, last, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

static int judge(const unmet_memory_t *m)
{
	int moved = 0, kept = 0;
	for (uint64_t i = 0; i < WORDS; i++) {
		moved += i + 1 < WORDS && m->moved[i] != i + 2;
		kept += m->kept[i] != i + 1;
	}
	if (moved + kept > 0 || m->last != WORDS)
		fprintf(stderr,
			"wrong: %d words that were moved, %d that were kept; the last is %d\n",
			moved, kept, (int)m->last);
	return moved + kept > 0 || m->last != WORDS;
}

TSR_MAIN(world, argc, argv)
{
	unmet_memory_t memory = {.last = 0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: unmet moved|read|reused|met\n");
		return 2;
	}
	for (uint64_t i = 0; i < WORDS; i++)
		memory.numbers[i] = i + 1;
	const int failed = planted_play(world, &fetch_and_go_on, kind, &memory, sizeof memory);
	return failed ? failed : judge(&memory);
}
