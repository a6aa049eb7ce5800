/* What happens by itself: late bytes arrive, and lines are cached that nobody has asked for. */
#include "src/caches/cache_machine.h"

size_t tsr_cache_late(const tsr_cache_t *c)
{
	size_t late = 0;

	for (int t = 0; t < c->threads; t++)
		late += (size_t)c->thread[t].count;
	for (int b = 0; b < c->blocks; b++)
		late += c->block[b].l1.dirty;
	for (int d = 0; d < c->config.devices; d++)
		late += c->l2[d].dirty;
	return late + tsr_cache_landings(c);
}

/** The `which`-th of them arrives. */
static void arrive(tsr_cache_t *c, size_t which)
{
	for (int t = 0; t < c->threads; which -= (size_t)c->thread[t++].count) {
		if (which < (size_t)c->thread[t].count) {
			tsr_cache_drain_one(c, t, (int)which);
			return;
		}
	}
	for (int b = 0; b < c->blocks; which -= c->block[b++].l1.dirty) {
		if (which < c->block[b].l1.dirty) {
			const tsr_path_t path =
				tsr_cache_path(c, b, c->block[b].l1.line[which].key);
			tsr_cache_write_back_l1(&path);
			return;
		}
	}
	for (int d = 0; d < c->config.devices; which -= c->l2[d++].dirty) {
		if (which < c->l2[d].dirty) {
			const tsr_path_t path =
				tsr_cache_path_of_device(c, d, c->l2[d].line[which].key);
			tsr_cache_write_back_l2(&path);
			return;
		}
	}
	tsr_cache_land_one(c, which);
}

/* ------------------------------------------------------------------ fills */

/** Caches that lines can be filled into: each live block's, then each device's. */
static size_t caches(const tsr_cache_t *c)
{
	size_t count = (size_t)c->config.devices;

	for (int b = 0; b < c->blocks; b++)
		count += c->block[b].live;
	return count;
}

static size_t lines_of(const tsr_cache_region_t *region)
{
	return region->live && region->home != TSR_CACHE_SHARED
		       ? (region->bytes + TSR_LINE_BYTES - 1) / TSR_LINE_BYTES
		       : 0;
}

static size_t fills(const tsr_cache_t *c)
{
	size_t lines = 0;

	for (int r = 0; r < c->regions; r++)
		lines += lines_of(&c->region[r]);
	return c->config.fills ? lines * caches(c) : 0;
}

static void fill(tsr_cache_t *c, size_t which)
{
	size_t cache = which % caches(c), line = which / caches(c);
	int region = 0, block = 0;

	while (line >= lines_of(&c->region[region]))
		line -= lines_of(&c->region[region++]);
	const uint64_t key = tsr_cache_key(region, line);
	for (; block < c->blocks; block++)
		if (c->block[block].live && cache-- == 0)
			break;
	const tsr_path_t path = block < c->blocks ? tsr_cache_path(c, block, key)
						  : tsr_cache_path_of_device(c, (int)cache, key);
	tsr_cache_fill(&path);
}

/* ------------------------------------------------------------------ what is offered */

tsr_status_t tsr_cache_arrivals(tsr_cache_t *c)
{
	const size_t late = tsr_cache_late(c), filling = fills(c);
	int what = tsr_cache_choose(c, TSR_CACHE_ARRIVAL, (size_t)1 + (late > 0) + (filling > 0));

	if (what == 1 && late)
		arrive(c, (size_t)tsr_cache_choose(c, TSR_CACHE_WHICH, late));
	else if (what > 0)
		fill(c, (size_t)tsr_cache_choose(c, TSR_CACHE_WHICH, filling));
	return tsr_cache_status(c);
}

tsr_status_t tsr_cache_settle(tsr_cache_t *c)
{
	for (int t = 0; t < c->threads; t++)
		tsr_cache_drain(c, t);
	for (int b = 0; b < c->blocks; b++) {
		tsr_cache_write_back_block(c, b);
		tsr_lines_drop_clean(&c->block[b].l1);
	}
	for (int d = 0; d < c->config.devices; d++) {
		tsr_cache_write_back_device(c, d);
		tsr_lines_drop_clean(&c->l2[d]);
		tsr_cache_flush(c, d, NULL);
	}
	return tsr_cache_status(c);
}
