/*
 * Blocks and launches as the cache machine knows them. What the host orders
 * needs no more than these: hosts act at home, where a launch's end has brought
 * all that it wrote, and a launch that begins drops what its device knew
 * before.
 */
#include "src/explore/memory/memory_cache.h"

#include <stdlib.h>

#include "src/base/error.h"

/** The entry of a block, or of any block of the launch (-1); null: none runs. */
static tsr_cached_block_t *running(const tsr_cached_t *c, const tsr_task_who_t *who, int block)
{
	for (int i = 0; i < c->block_count; i++) {
		tsr_cached_block_t *entry = &c->block[i];
		if (entry->threads && entry->rank == who->rank && entry->launch == who->launch &&
		    (block < 0 || entry->block == block))
			return entry;
	}
	return NULL;
}

static tsr_cached_block_t *free_entry(tsr_cached_t *c)
{
	for (int i = 0; i < c->block_count; i++)
		if (!c->block[i].threads)
			return &c->block[i];
	if (c->block_count == c->block_room) {
		const int room = c->block_room ? 2 * c->block_room : 16;
		tsr_cached_block_t *more = realloc(c->block, (size_t)room * sizeof *more);
		if (!more)
			return NULL;
		c->block = more;
		c->block_room = room;
	}
	return &c->block[c->block_count++];
}

static tsr_status_t begin_block(tsr_cached_t *c, const tsr_task_who_t *who,
				tsr_cached_block_t **entry_out)
{
	tsr_cached_block_t block = {.rank = who->rank, .launch = who->launch, .block = who->block};
	tsr_status_t status =
		running(c, who, -1) ? TSR_OK : tsr_cache_begin_launch(c->machine, who->rank);
	if (status == TSR_OK)
		status = tsr_cache_add_block(c->machine, who->rank, &block.number);
	if (status != TSR_OK)
		return status;
	tsr_cached_block_t *entry = free_entry(c);
	if (!entry)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the caches of a block; launch fewer blocks");
	*entry = block;
	*entry_out = entry;
	return TSR_OK;
}

tsr_status_t tsr_cached_begin(tsr_exploration_t *x, const tsr_task_who_t *who, tsr_actor_t *actor)
{
	tsr_cached_t *c = x->cached;
	if (who->kind == TSR_TASK_HOST)
		return tsr_cache_add_thread(c->machine, TSR_CACHE_HOST, &actor->cached);
	tsr_cached_block_t *entry = running(c, who, who->block);
	tsr_status_t status = entry ? TSR_OK : begin_block(c, who, &entry);
	if (status == TSR_OK)
		status = tsr_cache_add_thread(c->machine, entry->number, &actor->cached);
	if (status == TSR_OK)
		entry->threads++;
	return status;
}

/*
 * Where a device has room for fewer blocks than a launch has, the launch may
 * seem to end between two of them. Then its L2 is written back and cleaned once
 * more than needed, which a device may do at any time.
 */
tsr_status_t tsr_cached_end(tsr_exploration_t *x, const tsr_task_who_t *who, tsr_actor_t *actor)
{
	tsr_cached_t *c = x->cached;
	tsr_cached_block_t *entry = running(c, who, who->block);
	tsr_status_t status = tsr_cache_end_thread(c->machine, actor->cached);
	if (status != TSR_OK || --entry->threads > 0)
		return status;
	status = tsr_cache_end_block(c->machine, entry->number);
	return status == TSR_OK && !running(c, who, -1)
		       ? tsr_cache_end_launch(c->machine, who->rank)
		       : status;
}
