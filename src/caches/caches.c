/* Making machines and what is in them; copies, digests, and questions to all of it. */
#include "src/caches/caches.h"

#include <stdlib.h>

#include "src/base/error.h"
#include "src/caches/cache_machine.h"

enum { MOST_REGIONS = 1 << 23 };

/* ------------------------------------------------------------------ errors */

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no memory for a cache machine: fewer threads or smaller tiles need less");
}

tsr_status_t tsr_cache_status(const tsr_cache_t *c)
{
	return c->exhausted ? no_memory() : TSR_OK;
}

static tsr_status_t check_place(const tsr_cache_t *c, const tsr_cache_place_t *place)
{
	if (place->region < 0 || place->region >= c->regions || !c->region[place->region].live)
		return tsr_error(TSR_ERR_ARGUMENT, "region %d is none: add it first",
				 place->region);
	const size_t bytes = c->region[place->region].bytes;
	if (place->offset > bytes || place->bytes > bytes - place->offset)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%zu bytes at offset %zu of region %d, which has %zu",
				 place->bytes, place->offset, place->region, bytes);
	return TSR_OK;
}

tsr_status_t tsr_cache_check(const tsr_cache_t *c, int thread, const tsr_cache_place_t *place)
{
	if (thread < 0 || thread >= c->threads || !c->thread[thread].live)
		return tsr_error(TSR_ERR_ARGUMENT, "thread %d is none: add it first", thread);
	return place ? check_place(c, place) : TSR_OK;
}

static tsr_status_t check_block(const tsr_cache_t *c, int block)
{
	if (block < 0 || block >= c->blocks || !c->block[block].live)
		return tsr_error(TSR_ERR_ARGUMENT, "block %d is none: add it first", block);
	return TSR_OK;
}

static tsr_status_t check_device(const tsr_cache_t *c, int device)
{
	if (device < 0 || device >= c->config.devices)
		return tsr_error(TSR_ERR_ARGUMENT, "device %d is none: there are %d", device,
				 c->config.devices);
	return TSR_OK;
}

/* ------------------------------------------------------------------ machines */

tsr_status_t tsr_cache_create(const tsr_cache_config_t *config, tsr_cache_t **cache_out)
{
	tsr_cache_t *c = calloc(1, sizeof *c);

	if (!c)
		return no_memory();
	c->config = *config;
	c->l2 = calloc((size_t)config->devices + 1, sizeof *c->l2);
	if (config->node)
		c->far = calloc((size_t)config->devices * (size_t)config->devices, sizeof *c->far);
	if (!c->l2 || (config->node && !c->far)) {
		free(c->l2);
		free(c->far);
		free(c);
		return no_memory();
	}
	*cache_out = c;
	return TSR_OK;
}

void tsr_cache_destroy(tsr_cache_t *c)
{
	if (!c)
		return;
	for (int d = 0; d < c->config.devices; d++)
		tsr_lines_free(&c->l2[d]);
	for (int b = 0; b < c->blocks; b++)
		tsr_lines_free(&c->block[b].l1);
	for (int t = 0; t < c->threads; t++)
		free(c->thread[t].buffer);
	tsr_cache_free_queues(c);
	free(c->l2);
	free(c->region);
	free(c->block);
	free(c->thread);
	free(c);
}

/**
 * Room for one more in an array of `count`: its size is that of the powers of
 * two. Null: no memory.
 */
static void *grown(void *array, int count, size_t size)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (size_t)(count ? 2 * count : 1) * size);
}

/* ------------------------------------------------------------------ regions */

static int free_region(const tsr_cache_t *c)
{
	int region = 0;

	while (region < c->regions && c->region[region].live)
		region++;
	return region;
}

tsr_status_t tsr_cache_add_region(tsr_cache_t *c, int home, void *memory, size_t bytes,
				  int *region_out)
{
	const int region = free_region(c);

	if (home >= c->config.devices || home < TSR_CACHE_SHARED)
		return tsr_error(TSR_ERR_ARGUMENT, "home %d is no device: there are %d", home,
				 c->config.devices);
	if (region == MOST_REGIONS)
		return tsr_error(TSR_ERR_ARGUMENT, "more than %d regions at a time: end some first",
				 region);
	if (region == c->regions) {
		tsr_cache_region_t *regions = grown(c->region, c->regions, sizeof *regions);
		if (!regions)
			return no_memory();
		c->region = regions;
		c->regions++;
	}
	c->region[region] = (tsr_cache_region_t){true, home, memory, bytes};
	*region_out = region;
	return TSR_OK;
}

static void forget_lines(tsr_lines_t *lines, int region)
{
	for (uint32_t i = 0; i < lines->count;) {
		tsr_line_t *line = &lines->line[i];
		if ((int)(line->key >> 40) == region)
			/* only later lines take its place */
			tsr_lines_forget(lines, line, line->valid);
		else
			i++;
	}
}

static void forget_buffered(tsr_cache_thread_t *thread, int region)
{
	int left = 0;

	for (int i = 0; i < thread->count; i++)
		if ((int)(thread->buffer[i].key >> 40) != region)
			thread->buffer[left++] = thread->buffer[i];
	thread->count = left;
}

tsr_status_t tsr_cache_end_region(tsr_cache_t *c, int region)
{
	tsr_status_t status = check_place(c, &(tsr_cache_place_t){.region = region});

	if (status != TSR_OK)
		return status;
	for (int t = 0; t < c->threads; t++)
		forget_buffered(&c->thread[t], region);
	tsr_cache_forget_commands(c, region);
	for (int b = 0; b < c->blocks && c->region[region].home != TSR_CACHE_SHARED; b++)
		forget_lines(&c->block[b].l1, region);
	for (int d = 0; d < c->config.devices && c->region[region].home != TSR_CACHE_SHARED; d++)
		forget_lines(&c->l2[d], region);
	c->region[region].live = false;
	return TSR_OK;
}

/* ------------------------------------------------------------------ blocks and threads */

tsr_status_t tsr_cache_add_block(tsr_cache_t *c, int device, int *block_out)
{
	tsr_status_t status = check_device(c, device);
	int block = 0;

	if (status != TSR_OK)
		return status;
	while (block < c->blocks && c->block[block].live)
		block++;
	if (block == c->blocks) {
		tsr_cache_block_t *blocks = grown(c->block, c->blocks, sizeof *blocks);
		if (!blocks)
			return no_memory();
		c->block = blocks;
		c->blocks++;
	}
	c->block[block] = (tsr_cache_block_t){.live = true, .device = device};
	*block_out = block;
	return TSR_OK;
}

tsr_status_t tsr_cache_end_block(tsr_cache_t *c, int block)
{
	tsr_status_t status = check_block(c, block);

	if (status == TSR_OK && c->block[block].threads)
		status = tsr_error(TSR_ERR_ARGUMENT, "block %d has %d threads: end them first",
				   block, c->block[block].threads);
	if (status != TSR_OK)
		return status;
	tsr_cache_write_back_block(c, block);
	tsr_lines_free(&c->block[block].l1);
	c->block[block].live = false;
	return tsr_cache_status(c);
}

tsr_status_t tsr_cache_add_thread(tsr_cache_t *c, int block, int *thread_out)
{
	tsr_status_t status = block == TSR_CACHE_HOST || block == TSR_CACHE_ENGINE
				      ? TSR_OK
				      : check_block(c, block);
	int thread = 0;

	if (status != TSR_OK)
		return status;
	while (thread < c->threads && c->thread[thread].live)
		thread++;
	if (thread == c->threads) {
		tsr_cache_thread_t *threads = grown(c->thread, c->threads, sizeof *threads);
		if (!threads)
			return no_memory();
		c->thread = threads;
		c->threads++;
	}
	c->thread[thread] = (tsr_cache_thread_t){.live = true, .block = block};
	if (block >= 0)
		c->block[block].threads++;
	*thread_out = thread;
	return TSR_OK;
}

tsr_status_t tsr_cache_end_thread(tsr_cache_t *c, int thread)
{
	tsr_status_t status = tsr_cache_check(c, thread, NULL);

	if (status != TSR_OK)
		return status;
	tsr_cache_drain(c, thread);
	if (c->thread[thread].block >= 0)
		c->block[c->thread[thread].block].threads--;
	free(c->thread[thread].buffer);
	c->thread[thread] = (tsr_cache_thread_t){.live = false};
	return tsr_cache_status(c);
}

tsr_status_t tsr_cache_begin_launch(tsr_cache_t *c, int device)
{
	tsr_status_t status = check_device(c, device);

	if (status == TSR_OK)
		tsr_lines_drop_clean(&c->l2[device]);
	return status;
}

tsr_status_t tsr_cache_end_launch(tsr_cache_t *c, int device)
{
	tsr_status_t status = check_device(c, device);

	if (status != TSR_OK)
		return status;
	tsr_cache_write_back_device(c, device);
	tsr_cache_flush(c, device, NULL);
	return tsr_cache_status(c);
}

/* ------------------------------------------------------------------ questions */

/** Of the line's bytes those in the mask. */
static void newest_in(const tsr_cache_t *c, uint64_t key, tsr_line_mask_t mask,
		      uint8_t line[TSR_LINE_BYTES])
{
	tsr_line_merge(line, tsr_cache_region_of(c, key)->memory + tsr_cache_first_byte(key), mask);
	for (int d = 0; d < c->config.devices; d++) {
		const tsr_line_t *held = tsr_lines_find(&c->l2[d], key);
		if (held)
			tsr_line_merge(line, held->bytes, held->dirty & mask);
	}
	for (int b = 0; b < c->blocks; b++) {
		const tsr_line_t *held = tsr_lines_find(&c->block[b].l1, key);
		if (held)
			tsr_line_merge(line, held->bytes, held->dirty & mask);
	}
	for (int t = 0; t < c->threads; t++)
		tsr_cache_forward(c, t, key, line);
	tsr_cache_apply_queues(c, key, line);
}

/** At most `bytes` from byte `at` on. */
static tsr_line_mask_t rest_of_line(size_t at, size_t bytes)
{
	const size_t left = TSR_LINE_BYTES - at;

	return tsr_line_mask(at, bytes < left ? bytes : left);
}

tsr_status_t tsr_cache_newest(const tsr_cache_t *c, const tsr_cache_place_t *place,
			      uint64_t *value_out)
{
	tsr_status_t status = check_place(c, place);
	uint64_t value = 0;
	uint8_t line[TSR_LINE_BYTES];

	if (status == TSR_OK && place->bytes > sizeof value)
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "%zu bytes to be told as one number: at most 8 fit",
				   place->bytes);
	if (status != TSR_OK)
		return status;
	for (size_t i = 0; i < place->bytes; i++) {
		const size_t at = (place->offset + i) % TSR_LINE_BYTES;
		if (i == 0 || at == 0)
			newest_in(c,
				  tsr_cache_key(place->region,
						(place->offset + i) / TSR_LINE_BYTES),
				  rest_of_line(at, place->bytes - i), line);
		value |= (uint64_t)line[at] << 8 * i;
	}
	*value_out = value;
	return TSR_OK;
}

size_t tsr_cache_size_bytes(const tsr_cache_t *c)
{
	size_t bytes = sizeof *c + (size_t)c->regions * sizeof *c->region +
		       (size_t)c->blocks * sizeof *c->block +
		       (size_t)c->threads * sizeof *c->thread;

	for (int t = 0; t < c->threads; t++)
		bytes += (size_t)c->thread[t].room * sizeof *c->thread[t].buffer;
	for (int q = 0; q < tsr_cache_queues(c); q++)
		bytes += sizeof *c->far + (size_t)c->far[q].room * sizeof *c->far[q].command;
	for (int b = 0; b < c->blocks; b++)
		bytes += tsr_lines_size_bytes(&c->block[b].l1);
	for (int d = 0; d < c->config.devices; d++)
		bytes += tsr_lines_size_bytes(&c->l2[d]);
	return bytes;
}
