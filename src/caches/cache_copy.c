/* Copies of machines, and digests of their states: for searches that try everything. */
#include <stdlib.h>

#include "src/base/error.h"
#include "src/caches/cache_machine.h"

/* ------------------------------------------------------------------ copies */

/** A copy with the room that an array of `count` has (caches.c). */
static void *duplicate(const void *array, int count, size_t size)
{
	int room = 1;

	while (room < count)
		room *= 2;
	void *copy = calloc((size_t)room, size);
	if (copy && count)
		memcpy(copy, array, (size_t)count * size);
	return copy;
}

static bool copy_buffer(const tsr_cache_thread_t *from, tsr_cache_thread_t *to)
{
	to->buffer = NULL;
	to->room = 0;
	if (from->count == 0)
		return true;
	to->buffer = malloc((size_t)from->count * sizeof *to->buffer);
	if (!to->buffer)
		return false;
	memcpy(to->buffer, from->buffer, (size_t)from->count * sizeof *to->buffer);
	to->room = from->count;
	return true;
}

/** Empties what a copy has so far in common with its original. */
static void separate(tsr_cache_t *copy)
{
	for (int b = 0; b < copy->blocks; b++)
		copy->block[b].l1 = (tsr_lines_t){.count = 0};
	for (int t = 0; t < copy->threads; t++)
		copy->thread[t] = (tsr_cache_thread_t){copy->thread[t].live, copy->thread[t].block,
						       NULL, copy->thread[t].count, 0};
}

static bool copy_contents(const tsr_cache_t *c, void *const *memory, tsr_cache_t *copy)
{
	bool whole = true;

	for (int r = 0; r < c->regions; r++)
		copy->region[r].memory = c->region[r].live ? memory[r] : NULL;
	for (int d = 0; d < c->config.devices; d++)
		whole = tsr_lines_copy(&c->l2[d], &copy->l2[d]) && whole;
	for (int b = 0; b < c->blocks; b++)
		whole = tsr_lines_copy(&c->block[b].l1, &copy->block[b].l1) && whole;
	for (int t = 0; t < c->threads; t++)
		whole = copy_buffer(&c->thread[t], &copy->thread[t]) && whole;
	return tsr_cache_copy_queues(c, copy) && whole;
}

tsr_status_t tsr_cache_copy(const tsr_cache_t *c, void *const *memory, tsr_cache_t **copy_out)
{
	tsr_cache_t *copy;
	tsr_status_t status = tsr_cache_create(&c->config, &copy);

	if (status != TSR_OK)
		return status;
	copy->region = duplicate(c->region, c->regions, sizeof *c->region);
	copy->block = duplicate(c->block, c->blocks, sizeof *c->block);
	copy->thread = duplicate(c->thread, c->threads, sizeof *c->thread);
	bool whole = copy->region && copy->block && copy->thread;
	if (whole) {
		copy->regions = c->regions;
		copy->blocks = c->blocks;
		copy->threads = c->threads;
		separate(copy);
		whole = copy_contents(c, memory, copy);
	}
	if (!whole) {
		copy->exhausted = true;
		status = tsr_cache_status(copy);
		tsr_cache_destroy(copy);
		return status;
	}
	*copy_out = copy;
	return TSR_OK;
}

/* ------------------------------------------------------------------ digests */

static void mix_bytes(uint64_t digest[2], const uint8_t *bytes, tsr_line_mask_t mask)
{
	uint8_t known[TSR_LINE_BYTES] = {0};

	tsr_line_merge(known, bytes, mask);
	for (int i = 0; i < TSR_LINE_BYTES; i += 8) {
		uint64_t word;
		if (!(mask >> i & 0xff))
			continue;
		memcpy(&word, known + i, sizeof word);
		tsr_views_mix(digest, word);
	}
}

/** Lines stand in an order that is no part of the state: their digests are added. */
static void mix_lines(uint64_t digest[2], const tsr_lines_t *lines)
{
	uint64_t sum[2] = {lines->count, lines->dirty};

	for (uint32_t i = 0; i < lines->count; i++) {
		const tsr_line_t *line = &lines->line[i];
		uint64_t mine[2] = {1, 1};
		tsr_views_mix(mine, line->key);
		tsr_views_mix(mine, line->valid);
		tsr_views_mix(mine, line->dirty);
		mix_bytes(mine, line->bytes, line->valid);
		sum[0] += mine[0];
		sum[1] += mine[1];
	}
	tsr_views_mix(digest, sum[0]);
	tsr_views_mix(digest, sum[1]);
}

static void mix_queue(uint64_t digest[2], const tsr_far_queue_t *queue)
{
	tsr_views_mix(digest, (uint64_t)queue->count);
	for (int i = 0; i < queue->count; i++) {
		const tsr_far_command_t *command = &queue->command[queue->first + i];
		tsr_views_mix(digest, command->key);
		tsr_views_mix(digest, command->mask);
		tsr_views_mix(digest, command->adds);
		mix_bytes(digest, command->bytes, command->mask);
	}
}

void tsr_cache_digest(const tsr_cache_t *c, uint64_t digest[2])
{
	for (int d = 0; d < c->config.devices; d++)
		mix_lines(digest, &c->l2[d]);
	for (int b = 0; b < c->blocks; b++)
		mix_lines(digest, &c->block[b].l1);
	for (int t = 0; t < c->threads; t++) {
		const tsr_cache_thread_t *thread = &c->thread[t];
		tsr_views_mix(digest, (uint64_t)thread->count);
		for (int i = 0; i < thread->count; i++) {
			tsr_views_mix(digest, thread->buffer[i].key);
			tsr_views_mix(digest, thread->buffer[i].mask);
			tsr_views_mix(digest, (uint64_t)thread->buffer[i].level);
			mix_bytes(digest, thread->buffer[i].bytes, thread->buffer[i].mask);
		}
	}
	for (int q = 0; q < tsr_cache_queues(c); q++)
		mix_queue(digest, &c->far[q]);
}
