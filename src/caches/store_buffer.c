/* Store buffers of threads: they store in any order but that of overlapping bytes. */
#include <stdlib.h>

#include "src/caches/cache_machine.h"

/** Stores one, whatever is before it. */
static void drain_at(tsr_cache_t *c, int thread, int index)
{
	tsr_cache_thread_t *t = &c->thread[thread];
	const tsr_buffered_store_t *store = &t->buffer[index];
	const tsr_path_t path = tsr_cache_path(c, t->block, store->key);

	tsr_cache_store_line(&path, store->level, store->mask, store->bytes);
	t->count--;
	memmove(&t->buffer[index], &t->buffer[index + 1],
		(size_t)(t->count - index) * sizeof *t->buffer);
}

/** Stores those of the first `end` that overlap such bytes, or what overlaps them in turn. */
static void drain_before(tsr_cache_t *c, int thread, int end, uint64_t key, tsr_line_mask_t mask)
{
	const tsr_cache_thread_t *t = &c->thread[thread];
	int left = 0;

	for (int i = end - 1; i >= 0; i--) {
		if (t->buffer[i].key == key && t->buffer[i].mask & mask) {
			mask |= t->buffer[i].mask;
			left = i;
		}
	}
	for (int i = left; i < end;) {
		if (t->buffer[i].key == key && t->buffer[i].mask & mask) {
			drain_at(c, thread, i);
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
		drain_at(c, thread, 0);
}

void tsr_cache_drain_shared(tsr_cache_t *c, int thread)
{
	const tsr_cache_thread_t *t = &c->thread[thread];

	for (int i = 0; i < t->count;) {
		if (tsr_cache_region_of(c, t->buffer[i].key)->home == TSR_CACHE_SHARED)
			drain_at(c, thread, i);
		else
			i++;
	}
}

void tsr_cache_drain_one(tsr_cache_t *c, int thread, int index)
{
	const tsr_buffered_store_t *store = &c->thread[thread].buffer[index];

	if (c->config.mistake == TSR_CACHE_STORES_SWAP)
		drain_at(c, thread, index);
	else
		drain_before(c, thread, index + 1, store->key, store->mask);
}

void tsr_cache_buffer_store(tsr_cache_t *c, int thread, const tsr_buffered_store_t *store)
{
	tsr_cache_thread_t *t = &c->thread[thread];

	if (t->count == c->config.buffered_stores)
		drain_at(c, thread, 0);
	if (t->count == t->room) {
		const int room = t->room ? 2 * t->room : 4;
		tsr_buffered_store_t *grown = realloc(t->buffer, (size_t)room * sizeof *grown);
		if (!grown) {
			c->exhausted = true;
			return;
		}
		t->buffer = grown;
		t->room = room;
	}
	t->buffer[t->count++] = *store;
}

tsr_line_mask_t tsr_cache_forward(const tsr_cache_t *c, int thread, uint64_t key,
				  uint8_t bytes[TSR_LINE_BYTES])
{
	const tsr_cache_thread_t *t = &c->thread[thread];
	tsr_line_mask_t covered = 0;

	for (int i = 0; i < t->count; i++) {
		if (t->buffer[i].key == key) {
			tsr_line_merge(bytes, t->buffer[i].bytes, t->buffer[i].mask);
			covered |= t->buffer[i].mask;
		}
	}
	return covered;
}
