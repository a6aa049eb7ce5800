/* Stores that threads keep back: in any order but that of overlapping bytes. */
#include <stdlib.h>

#include "src/caches/cache_machine.h"

/** Stores one, whatever is before it. */
static void store(tsr_cache_t *c, int thread, int index)
{
	tsr_cache_thread_t *t = &c->thread[thread];
	const tsr_kept_t *kept = &t->kept[index];
	const tsr_path_t path = tsr_cache_path(c, t->block, kept->key);

	tsr_cache_store_line(&path, kept->level, kept->mask, kept->bytes);
	t->count--;
	memmove(&t->kept[index], &t->kept[index + 1], (size_t)(t->count - index) * sizeof *t->kept);
}

/** Stores those of the first `end` that overlap such bytes, or what overlaps them in turn. */
static void drain_before(tsr_cache_t *c, int thread, int end, uint64_t key, tsr_line_mask_t mask)
{
	const tsr_cache_thread_t *t = &c->thread[thread];
	int left = 0;

	for (int i = end - 1; i >= 0; i--) {
		if (t->kept[i].key == key && t->kept[i].mask & mask) {
			mask |= t->kept[i].mask;
			left = i;
		}
	}
	for (int i = left; i < end;) {
		if (t->kept[i].key == key && t->kept[i].mask & mask) {
			store(c, thread, i);
			end--;
		} else {
			i++;
		}
	}
}

void tsr_cache_drain_bytes(tsr_cache_t *c, int thread, uint64_t key, tsr_line_mask_t mask)
{
	drain_before(c, thread, c->thread[thread].count, key, mask);
}

void tsr_cache_drain(tsr_cache_t *c, int thread)
{
	while (c->thread[thread].count > 0)
		store(c, thread, 0);
}

void tsr_cache_drain_one(tsr_cache_t *c, int thread, int index)
{
	const tsr_kept_t *kept = &c->thread[thread].kept[index];

	if (c->config.mistake == TSR_CACHE_STORES_SWAP)
		store(c, thread, index);
	else
		drain_before(c, thread, index + 1, kept->key, kept->mask);
}

void tsr_cache_keep(tsr_cache_t *c, int thread, const tsr_kept_t *kept)
{
	tsr_cache_thread_t *t = &c->thread[thread];

	if (t->count == c->config.kept)
		store(c, thread, 0);
	if (t->count == t->room) {
		const int room = t->room ? 2 * t->room : 4;
		tsr_kept_t *grown = realloc(t->kept, (size_t)room * sizeof *grown);
		if (!grown) {
			c->exhausted = true;
			return;
		}
		t->kept = grown;
		t->room = room;
	}
	t->kept[t->count++] = *kept;
}

tsr_line_mask_t tsr_cache_forward(const tsr_cache_t *c, int thread, uint64_t key, uint8_t bytes[TSR_LINE_BYTES])
{
	const tsr_cache_thread_t *t = &c->thread[thread];
	tsr_line_mask_t covered = 0;

	for (int i = 0; i < t->count; i++) {
		if (t->kept[i].key == key) {
			tsr_line_merge(bytes, t->kept[i].bytes, t->kept[i].mask);
			covered |= t->kept[i].mask;
		}
	}
	return covered;
}
