/*
 * Bitset of tasks, optimised for counting and lookup. Called by: one thread at
 * a time.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_TASKSET_H
#define TESSERA_EXPLORE_SCHEDULE_TASKSET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** All 0: the empty set. */
typedef struct tsr_taskset {
	uint64_t *word; /* one bit for each task */
	/* one bit for each word that is not zero, because few of the many tasks are alive */
	uint64_t *summary;
	int words, count;
} tsr_taskset_t;

static inline bool tsr_taskset_has(const tsr_taskset_t *set, int task)
{
	return task >= 0 && task / 64 < set->words && (set->word[task / 64] >> task % 64 & 1) != 0;
}

/** Makes room for tasks below `tasks`. Returns false if there is no memory. */
static inline bool tsr_taskset_reserve(tsr_taskset_t *set, int tasks)
{
	if (tasks <= set->words * 64)
		return true;
	const int words = (tasks + 4095) / 4096 * 64; /* whole words of the summary */
	uint64_t *word = realloc(set->word, (size_t)words * sizeof *word);
	if (word)
		set->word = word;
	uint64_t *summary =
		word ? realloc(set->summary, (size_t)words / 64 * sizeof *summary) : NULL;
	if (!summary)
		return false;
	set->summary = summary;
	memset(word + set->words, 0, (size_t)(words - set->words) * sizeof *word);
	memset(summary + set->words / 64, 0, (size_t)(words - set->words) / 64 * sizeof *summary);
	set->words = words;
	return true;
}

/** Adds a task. There must be room for it. */
static inline void tsr_taskset_add(tsr_taskset_t *set, int task)
{
	set->count += !tsr_taskset_has(set, task);
	set->word[task / 64] |= UINT64_C(1) << task % 64;
	set->summary[task / 4096] |= UINT64_C(1) << task / 64 % 64;
}

static inline void tsr_taskset_remove(tsr_taskset_t *set, int task)
{
	if (!tsr_taskset_has(set, task))
		return;
	set->count--;
	set->word[task / 64] &= ~(UINT64_C(1) << task % 64);
	if (set->word[task / 64] == 0)
		set->summary[task / 4096] &= ~(UINT64_C(1) << task / 64 % 64);
}

static inline void tsr_taskset_clear(tsr_taskset_t *set)
{
	memset(set->word, 0, (size_t)set->words * sizeof *set->word);
	memset(set->summary, 0, (size_t)set->words / 64 * sizeof *set->summary);
	set->count = 0;
}

/** The first word that is not zero, beginning with `from`; set->words: none. */
static inline int tsr_taskset_word(const tsr_taskset_t *set, int from)
{
	for (int s = from / 64; s < set->words / 64; s++, from = s * 64) {
		const uint64_t rest = set->summary[s] & ~UINT64_C(0) << from % 64;
		if (rest)
			return s * 64 + __builtin_ctzll(rest);
	}
	return set->words;
}

/** The lowest task above `task`, which may be -1; -1: none. */
static inline int tsr_taskset_after(const tsr_taskset_t *set, int task)
{
	int w = ++task / 64;
	if (w >= set->words)
		return -1;
	uint64_t rest = set->word[w] & ~UINT64_C(0) << task % 64;
	if (!rest) {
		w = tsr_taskset_word(set, w + 1);
		if (w >= set->words)
			return -1;
		rest = set->word[w];
	}
	return w * 64 + __builtin_ctzll(rest);
}

/** The task that has `nth` lower ones in the set. `nth` is below its count. */
static inline int tsr_taskset_nth(const tsr_taskset_t *set, int nth)
{
	for (int w = tsr_taskset_word(set, 0); w < set->words; w = tsr_taskset_word(set, w + 1)) {
		const int here = __builtin_popcountll(set->word[w]);
		if (nth < here) {
			uint64_t rest = set->word[w];
			while (nth-- > 0)
				rest &= rest - 1;
			return w * 64 + __builtin_ctzll(rest);
		}
		nth -= here;
	}
	return -1;
}

static inline void tsr_taskset_free(tsr_taskset_t *set)
{
	free(set->word);
	free(set->summary);
	*set = (tsr_taskset_t){0};
}

#endif
