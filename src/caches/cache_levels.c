/* What goes between a block's L1, a device's L2 and home. */
#include "src/caches/cache_machine.h"

static tsr_path_t path_between(tsr_cache_t *c, tsr_lines_t *l1, int device, uint64_t key)
{
	const tsr_cache_region_t *region = tsr_cache_region_of(c, key);
	const size_t first = tsr_cache_first_byte(key), left = region->bytes - first;
	const bool cached = device >= 0 && region->home != TSR_CACHE_SHARED &&
			    !tsr_cache_queue(c, device, (int)(key >> 40));

	return (tsr_path_t){
		.c = c,
		.device = device,
		.key = key,
		.l1 = cached ? l1 : NULL,
		.l2 = cached && device != region->home ? &c->l2[device] : NULL,
		.home = region->memory + first,
		.within = tsr_line_mask(0, left < TSR_LINE_BYTES ? left : TSR_LINE_BYTES),
	};
}

tsr_path_t tsr_cache_path(tsr_cache_t *c, int block, uint64_t key)
{
	return block < 0 ? path_between(c, NULL, -1, key)
			 : path_between(c, &c->block[block].l1, c->block[block].device, key);
}

tsr_path_t tsr_cache_path_of_device(tsr_cache_t *c, int device, uint64_t key)
{
	return path_between(c, NULL, device, key);
}

/* ------------------------------------------------------------------ one line */

static void write_back_to_home(const tsr_path_t *path, tsr_lines_t *from)
{
	tsr_line_t *line = from ? tsr_lines_find(from, path->key) : NULL;

	if (!line || !line->dirty)
		return;
	tsr_line_merge(path->home, line->bytes, line->dirty);
	tsr_lines_clean(from, line);
}

void tsr_cache_write_back_l2(const tsr_path_t *path)
{
	write_back_to_home(path, path->l2);
}

/**
 * The line of a full cache that makes room: a clean one if there is one. Only
 * what was done decides which.
 */
static tsr_line_t *victim(tsr_lines_t *lines)
{
	const uint32_t clean = lines->count - lines->dirty, turn = lines->hand++;

	return &lines->line[clean ? lines->dirty + turn % clean : turn % lines->dirty];
}

static bool full(const tsr_lines_t *lines, int bound, uint64_t key)
{
	return bound > 0 && lines->count >= (uint32_t)bound && !tsr_lines_find(lines, key);
}

static void put_l2(const tsr_path_t *path, tsr_line_mask_t mask, const uint8_t *bytes, bool dirty)
{
	if (!path->l2 || !mask)
		return;
	if (full(path->l2, path->c->config.lines_l2, path->key)) {
		tsr_path_t other = path_between(path->c, NULL, path->device, victim(path->l2)->key);
		tsr_cache_write_back_l2(&other);
		tsr_line_t *line = tsr_lines_find(path->l2, other.key);
		tsr_lines_forget(path->l2, line, line->valid);
	}
	if (!tsr_lines_put(path->l2, path->key, mask, bytes, dirty))
		path->c->exhausted = true;
}

void tsr_cache_write_back_l1(const tsr_path_t *path)
{
	tsr_line_t *line = path->l1 ? tsr_lines_find(path->l1, path->key) : NULL;

	if (!path->l2) {
		write_back_to_home(path, path->l1);
	} else if (line && line->dirty) {
		put_l2(path, line->dirty, line->bytes, true);
		tsr_lines_clean(path->l1, line);
	}
}

static void put_l1(const tsr_path_t *path, tsr_line_mask_t mask, const uint8_t *bytes, bool dirty)
{
	if (!path->l1 || !mask)
		return;
	if (full(path->l1, path->c->config.lines_l1, path->key)) {
		tsr_path_t other =
			path_between(path->c, path->l1, path->device, victim(path->l1)->key);
		tsr_cache_write_back_l1(&other);
		tsr_line_t *line = tsr_lines_find(path->l1, other.key);
		tsr_lines_forget(path->l1, line, line->valid);
	}
	if (!tsr_lines_put(path->l1, path->key, mask, bytes, dirty))
		path->c->exhausted = true;
}

static void drop_clean(tsr_lines_t *lines, uint64_t key)
{
	tsr_line_t *line = lines ? tsr_lines_find(lines, key) : NULL;

	if (line && line->valid & ~line->dirty)
		tsr_lines_forget(lines, line, line->valid & ~line->dirty);
}

/* ------------------------------------------------------------------ loads */

/** What a cache holds of a line, or nothing. */
static const tsr_line_t *held(const tsr_lines_t *lines, uint64_t key)
{
	static const tsr_line_t nothing;
	const tsr_line_t *line = lines ? tsr_lines_find(lines, key) : NULL;

	return line ? line : &nothing;
}

/**
 * A line put together: home, over it what the L2 has, over it what the L1 has,
 * of each only what is dirty where it is asked for.
 */
static void assemble(const tsr_path_t *path, bool dirty_l1, bool dirty_l2,
		     uint8_t out[TSR_LINE_BYTES])
{
	const tsr_line_t *l1 = held(path->l1, path->key), *l2 = held(path->l2, path->key);

	tsr_line_merge(out, path->home, path->within);
	tsr_line_merge(out, l2->bytes, dirty_l2 ? l2->dirty : l2->valid);
	tsr_line_merge(out, l1->bytes, dirty_l1 ? l1->dirty : l1->valid);
}

void tsr_cache_peek_line(const tsr_path_t *path, uint8_t out[TSR_LINE_BYTES])
{
	assemble(path, true, true, out);
}

void tsr_cache_fill(const tsr_path_t *path)
{
	const tsr_line_mask_t lacks = path->within & ~held(path->l1, path->key)->valid;
	uint8_t bytes[TSR_LINE_BYTES];

	if (path->l1 && !lacks)
		return;
	put_l2(path, path->within & ~held(path->l2, path->key)->valid, path->home, false);
	if (path->l1) {
		assemble(path, false, false, bytes);
		put_l1(path, lacks, bytes, false);
	}
}

/**
 * Which of the line's copies a load takes where they differ: 0 for neither, so
 * that it is fetched anew; 1 the L2's; 2 the L1's, or any where they do not
 * differ.
 */
static int choose_copy(const tsr_path_t *path, tsr_line_mask_t mask, uint8_t out[TSR_LINE_BYTES])
{
	const tsr_line_t *l1 = held(path->l1, path->key), *l2 = held(path->l2, path->key);
	uint8_t seen[3][TSR_LINE_BYTES];
	int copy[3] = {0}, copies = 1;

	if (!(((l1->valid & ~l1->dirty) | (l2->valid & ~l2->dirty)) & mask)) {
		assemble(path, true, true, out);
		return 2;
	}
	assemble(path, true, true, seen[0]);
	assemble(path, true, false, seen[1]);
	assemble(path, false, false, seen[2]);
	if (tsr_line_differs(seen[1], seen[0], mask))
		copy[copies++] = 1;
	if (tsr_line_differs(seen[2], seen[0], mask) && tsr_line_differs(seen[2], seen[1], mask))
		copy[copies++] = 2;
	const int chosen =
		copies > 1 ? copy[tsr_cache_choose(path->c, TSR_CACHE_LOAD, (size_t)copies)] : 2;
	tsr_line_merge(out, seen[chosen], mask);
	return chosen;
}

static void load_near(const tsr_path_t *path, tsr_line_mask_t mask, uint8_t out[TSR_LINE_BYTES])
{
	const int copy = choose_copy(path, mask, out);

	if (copy < 2)
		drop_clean(path->l1, path->key);
	if (copy < 1)
		drop_clean(path->l2, path->key);
	tsr_cache_fill(path);
}

/** The L1's copies are brought up to date by what is read further out. */
static void load_device(const tsr_path_t *path, tsr_line_mask_t mask, uint8_t out[TSR_LINE_BYTES])
{
	tsr_path_t outer = *path;

	outer.l1 = NULL;
	tsr_cache_write_back_l1(path);
	load_near(&outer, mask, out);
	put_l1(path, mask, out, false);
}

void tsr_cache_load_line(const tsr_path_t *path, tsr_level_t level, tsr_line_mask_t mask,
			 uint8_t out[TSR_LINE_BYTES])
{
	if (level == TSR_LEVEL_BLOCK) {
		load_near(path, mask, out);
	} else if (level == TSR_LEVEL_DEVICE) {
		load_device(path, mask, out);
	} else {
		tsr_cache_write_back_l1(path);
		tsr_cache_write_back_l2(path);
		tsr_line_merge(out, path->home, mask);
		put_l2(path, mask, out, false);
		put_l1(path, mask, out, false);
	}
}

/* ------------------------------------------------------------------ stores */

void tsr_cache_store_line(const tsr_path_t *path, tsr_level_t level, tsr_line_mask_t mask,
			  const uint8_t *bytes)
{
	const bool in_l1 = level == TSR_LEVEL_BLOCK && path->l1,
		   in_l2 = !in_l1 && level != TSR_LEVEL_HOME && path->l2;

	put_l1(path, mask, bytes, in_l1);
	if (in_l1)
		return;
	put_l2(path, mask, bytes, in_l2);
	if (!in_l2)
		tsr_line_merge(path->home, bytes, mask);
}

/* ------------------------------------------------------------------ whole caches */

void tsr_cache_write_back_block(tsr_cache_t *c, int block)
{
	tsr_lines_t *l1 = &c->block[block].l1;

	while (l1->dirty) {
		tsr_path_t path = tsr_cache_path(c, block, l1->line[l1->dirty - 1].key);
		tsr_cache_write_back_l1(&path);
	}
}

void tsr_cache_write_back_device(tsr_cache_t *c, int device)
{
	tsr_lines_t *l2 = &c->l2[device];

	while (l2->dirty) {
		tsr_path_t path = tsr_cache_path_of_device(c, device, l2->line[l2->dirty - 1].key);
		tsr_cache_write_back_l2(&path);
	}
}

void tsr_cache_release(tsr_cache_t *c, int block, tsr_level_t level)
{
	if (block < 0 || c->config.mistake == TSR_CACHE_RELEASE_WRITES_NOTHING_BACK)
		return;
	if (level >= TSR_LEVEL_DEVICE)
		tsr_cache_write_back_block(c, block);
	if (level >= TSR_LEVEL_HOME)
		tsr_cache_write_back_device(c, c->block[block].device);
}

void tsr_cache_acquire(tsr_cache_t *c, int block, tsr_level_t level)
{
	if (block < 0 || c->config.mistake == TSR_CACHE_ACQUIRE_DROPS_NOTHING)
		return;
	if (level >= TSR_LEVEL_DEVICE)
		tsr_lines_drop_clean(&c->block[block].l1);
	if (level >= TSR_LEVEL_HOME)
		tsr_lines_drop_clean(&c->l2[c->block[block].device]);
}

static void forget(tsr_lines_t *lines, uint64_t key, tsr_line_mask_t mask)
{
	tsr_line_t *line = tsr_lines_find(lines, key);

	if (line && line->valid & mask)
		tsr_lines_forget(lines, line, mask);
}

void tsr_cache_drop_copies(tsr_cache_t *c, uint64_t key, tsr_line_mask_t mask)
{
	for (int b = 0; b < c->blocks; b++)
		if (c->block[b].live)
			forget(&c->block[b].l1, key, mask);
	for (int d = 0; d < c->config.devices; d++)
		forget(&c->l2[d], key, mask);
}
