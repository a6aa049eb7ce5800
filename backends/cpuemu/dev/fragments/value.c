/* Value family: between a register tile and anyone's memory. */
#include "cpuemu/dev/fragments/value.h"

#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/events.h"

enum { STAGE = 512 }; /* elements of a row that are converted at a time */

/** Rows as they are in memory. */
typedef struct stage {
	_Alignas(64) unsigned char bytes[STAGE * 8];
	bool whole; /* it holds all rows of a store, so that the next peer gets a plain copy */
} stage_t;

void tsr_mem_read_row(const tsr_mem_t *mem, int32_t held_dtype, void *held, int32_t dtype,
		      const unsigned char *from, size_t count)
{
	_Alignas(64) unsigned char stage[STAGE * 8];
	size_t element = tsr_cpu_bytes(dtype), wide = tsr_cpu_bytes(held_dtype);
	if (dtype == held_dtype) {
		tsr_mem_read(mem, held, from, count * element);
		return;
	}
	for (size_t i = 0; i < count; i += STAGE) {
		size_t n = count - i < STAGE ? count - i : STAGE;
		tsr_mem_read(mem, stage, from + i * element, n * element);
		tsr_row_widen(held_dtype, (unsigned char *)held + i * wide, dtype, stage, n);
	}
}

void tsr_mem_write_row(const tsr_mem_t *mem, int32_t dtype, unsigned char *to, int32_t held_dtype,
		       const void *held, size_t count)
{
	_Alignas(64) unsigned char stage[STAGE * 8];
	size_t element = tsr_cpu_bytes(dtype), wide = tsr_cpu_bytes(held_dtype);
	if (dtype == held_dtype) {
		tsr_mem_write(mem, to, held, count * element);
		return;
	}
	for (size_t i = 0; i < count; i += STAGE) {
		size_t n = count - i < STAGE ? count - i : STAGE;
		tsr_row_narrow(dtype, stage, held_dtype, (const unsigned char *)held + i * wide, n);
		tsr_mem_write(mem, to + i * element, stage, n * element);
	}
}

/**
 * Reads all elements to the end of `held` by one access, and widens them from
 * its beginning on. A widened element never overwrites one that is still to be
 * widened, because no element shrinks. The last elements would overwrite
 * themselves, so they are moved aside first.
 */
static void read_rows(const tsr_mem_t *mem, int32_t held_dtype, unsigned char *held,
		      const tsr_mem_part_t *part)
{
	_Alignas(64) unsigned char stage[STAGE * 8];
	const size_t element = tsr_cpu_bytes(part->dtype), wide = tsr_cpu_bytes(held_dtype);
	const size_t elements = (size_t)(part->rows * part->cols);
	unsigned char *raw = held + elements * (wide - element);
	tsr_mem_read_rows(mem, raw, part->at, part->pitch_bytes, (size_t)part->cols * element,
			  (size_t)part->rows);
	for (size_t i = 0; part->dtype != held_dtype && i < elements; i += STAGE) {
		const size_t n = elements - i < STAGE ? elements - i : STAGE;
		const bool aside = held + (i + n) * wide > raw + i * element;
		if (aside)
			memcpy(stage, raw + i * element, n * element);
		tsr_row_widen(held_dtype, held + i * wide, part->dtype,
			      aside ? stage : raw + i * element, n);
	}
}

void tsr_mem_read_part(const tsr_mem_t *mem, int32_t held_dtype, unsigned char *held,
		       const tsr_mem_part_t *part)
{
	const size_t wide = tsr_cpu_bytes(held_dtype);
	if (tsr_mem_takes_rows(mem) && wide >= tsr_cpu_bytes(part->dtype)) {
		read_rows(mem, held_dtype, held, part);
		return;
	}
	for (int64_t row = 0; row < part->rows; row++)
		tsr_mem_read_row(mem, held_dtype, held + (size_t)(row * part->cols) * wide,
				 part->dtype, part->at + (size_t)row * part->pitch_bytes,
				 (size_t)part->cols);
}

/** As many rows with one access as the stage holds, in which all of them may stand already. */
static void write_rows(const tsr_mem_t *mem, const tsr_mem_part_t *part, int32_t held_dtype,
		       const unsigned char *held, int64_t held_cols, stage_t *stage)
{
	const size_t bytes = (size_t)part->cols * tsr_cpu_bytes(part->dtype),
		     wide = tsr_cpu_bytes(held_dtype);
	const int64_t most = (int64_t)(sizeof stage->bytes / bytes);
	for (int64_t row = 0, n; row < part->rows; row += n) {
		n = part->rows - row < most ? part->rows - row : most;
		for (int64_t i = 0; !stage->whole && i < n; i++)
			tsr_row_narrow(part->dtype, stage->bytes + (size_t)i * bytes, held_dtype,
				       held + (size_t)((row + i) * held_cols) * wide,
				       (size_t)part->cols);
		stage->whole = n == part->rows;
		tsr_mem_write_rows(mem, part->at + (size_t)row * part->pitch_bytes,
				   part->pitch_bytes, stage->bytes, bytes, (size_t)n);
	}
}

/** The reverse of tsr_mem_read_part; rows of `held` are `held_cols` elements apart. */
static void write_part(const tsr_mem_t *mem, const tsr_mem_part_t *part, int32_t held_dtype,
		       const unsigned char *held, int64_t held_cols, stage_t *stage)
{
	if (tsr_mem_takes_rows(mem) && part->dtype != held_dtype && part->cols > 0 &&
	    part->cols <= STAGE) {
		write_rows(mem, part, held_dtype, held, held_cols, stage);
		return;
	}
	for (int64_t row = 0; row < part->rows; row++)
		tsr_mem_write_row(mem, part->dtype, part->at + (size_t)row * part->pitch_bytes,
				  held_dtype,
				  held + (size_t)(row * held_cols) * tsr_cpu_bytes(held_dtype),
				  (size_t)part->cols);
}

void tsr_frag_settle(tsr_frag_t *frag, int64_t row)
{
	_Alignas(64) unsigned char stage[STAGE * 8];
	if (frag->dtype == frag->held)
		return;
	for (int64_t col = 0; col < frag->cols; col += STAGE) {
		size_t n = (size_t)(frag->cols - col < STAGE ? frag->cols - col : STAGE);
		tsr_row_narrow(frag->dtype, stage, frag->held, tsr_frag_at(frag, row, col), n);
		tsr_row_widen(frag->held, tsr_frag_at(frag, row, col), frag->dtype, stage, n);
	}
}

/* ----------------------------------------------------- the part of a tile that lies in the view */

/** A mask and what a load gives where it is 0; no function: every element takes part. */
typedef struct masking {
	tsr_mask_fn fn;
	const void *ctx;
	double other;
} masking_t;

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}

bool tsr_patch_find(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
		    const tsr_tile_rows_t *rows, bool masked, int peer, tsr_mem_access_t access,
		    tsr_patch_t *patch)
{
	const int64_t last = rows->last, cols = rows->cols;
	tsr_pos_t origin;
	patch->row0 = clamp(-at.row, rows->first, last);
	patch->row1 = clamp(view.rows - at.row, patch->row0, last);
	patch->col0 = clamp(-at.col, 0, cols);
	patch->col1 = clamp(view.cols - at.col, patch->col0, cols);
	if (patch->row0 == patch->row1 || patch->col0 == patch->col1) {
		patch->row1 = patch->row0;
		return true;
	}
	origin = (tsr_pos_t){at.row + patch->row0, at.col + patch->col0};
	patch->element = tsr_cpu_bytes(view.dtype);
	patch->step = (size_t)view.ld * patch->element;
	return tsr_mem_reach_part(coop, call, view,
				  tsr_view_part(view, origin, patch->row1 - patch->row0,
						patch->col1 - patch->col0),
				  masked, peer, access, &patch->mem);
}

unsigned char *tsr_patch_run(const tsr_patch_t *patch, int64_t row, int64_t col, int64_t end)
{
	unsigned char *at = patch->mem.at + (size_t)(row - patch->row0) * patch->step +
			    (size_t)(col - patch->col0) * patch->element;
	if (col < end)
		tsr_mem_inside(&patch->mem, at, (size_t)(end - col) * patch->element);
	return at;
}

/* ------------------------------------------------------------------ loads and stores */

static void fill_row(tsr_frag_t *frag, int64_t row, double value)
{
	/* integer fragments are given whole numbers */
	int32_t whole = (int32_t)(frag->held == TSR_I32 ? value : 0);
	for (int64_t col = 0; col < frag->cols; col++) {
		unsigned char *at = tsr_frag_at(frag, row, col);
		if (frag->held == TSR_F64)
			*(double *)(void *)at = value;
		else if (frag->held == TSR_F32)
			*(float *)(void *)at = (float)value;
		else
			*(int32_t *)(void *)at = whole;
	}
}

/**
 * The next run of columns begin .. *end-1 of a row, from `col` on, that take
 * part; begin == col1 where there is none.
 */
static int64_t next_run(const masking_t *mask, int64_t row, int64_t at_col, int64_t col,
			int64_t col1, int64_t *end)
{
	*end = col1;
	if (!mask->fn)
		return col;
	while (col < col1 && !mask->fn(row, at_col + col, mask->ctx))
		col++;
	for (*end = col; *end < col1 && mask->fn(row, at_col + *end, mask->ctx);)
		++*end;
	return col;
}

/**
 * A number for a fragment's elements at a place in memory: each of them is
 * loaded and stored by the one thread that has it. Another configuration, kind
 * or order deals elements to other threads, so its number is another.
 */
static uint32_t place_of(const tsr_coop_t *coop, const tsr_frag_t *frag, tsr_view_t view,
			 tsr_pos_t at, tsr_cpu_elements_t of)
{
	const uintptr_t heap = (uintptr_t)coop->block->env->base[coop->block->env->rank];
	const uint64_t words[] = {(uint64_t)((uintptr_t)view.data - heap),
				  (uint64_t)view.ld,
				  (uint64_t)view.dtype,
				  (uint64_t)at.row,
				  (uint64_t)at.col,
				  (uint64_t)frag->rows,
				  (uint64_t)frag->cols,
				  (uint64_t)frag->tile.m,
				  (uint64_t)frag->tile.n,
				  (uint64_t)frag->tile.k,
				  (uint64_t)frag->tile.dtype,
				  (uint64_t)frag->tile.a_major,
				  (uint64_t)frag->tile.b_major,
				  (uint64_t)frag->use,
				  (uint64_t)of};
	uint64_t mixed = 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		mixed = (mixed ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		mixed ^= mixed >> 29;
	}
	return (uint32_t)(mixed >> 32) | 1;
}

/** The call's accesses from here on are those of a fragment at a place. */
static void begin_place(const tsr_coop_t *coop, const tsr_frag_t *frag, tsr_view_t view,
			tsr_pos_t at, tsr_cpu_elements_t of)
{
	if (!tsr_cpu_exploration(coop))
		return;
	coop->worker->tile_place = place_of(coop, frag, view, at, of);
	coop->worker->saved = of == TSR_CPU_OF_SAVED_STATE;
}

static void end_place(const tsr_coop_t *coop)
{
	coop->worker->tile_place = 0;
	coop->worker->saved = false;
}

static void load_rows(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
		      tsr_pos_t at, masking_t mask, int peer)
{
	const tsr_tile_rows_t rows = {frag->first, frag->last, frag->cols};
	tsr_patch_t patch;
	uint64_t elements = 0;
	if (!tsr_frag_is_mine(coop, call, frag) ||
	    !tsr_patch_find(coop, call, view, at, &rows, mask.fn != NULL, peer, TSR_MEM_READ,
			    &patch))
		return;
	for (int64_t row = frag->first; row < frag->last; row++) {
		bool inside = row >= patch.row0 && row < patch.row1;
		if (mask.fn || !inside || patch.col0 > 0 || patch.col1 < frag->cols)
			fill_row(frag, row, mask.other);
		for (int64_t end, col = patch.col0; inside && col < patch.col1; col = end) {
			col = next_run(&mask, at.row + row, at.col, col, patch.col1, &end);
			tsr_mem_read_row(&patch.mem, frag->held, tsr_frag_at(frag, row, col),
					 view.dtype, tsr_patch_run(&patch, row, col, end),
					 (size_t)(end - col));
			elements += (uint64_t)(end - col);
		}
		tsr_frag_settle(frag, row);
	}
	frag->set = true;
	if (elements > 0)
		tsr_mem_count(coop, &patch.mem, TSR_MEM_READ, elements * patch.element);
}

static void load(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
		 tsr_pos_t at, masking_t mask, int peer)
{
	begin_place(coop, frag, view, at, TSR_CPU_OF_VIEW);
	load_rows(coop, call, frag, view, at, mask, peer);
	end_place(coop);
}

/** Bytes of the elements that take part: counted before the first is written. */
static uint64_t masked_bytes(const tsr_patch_t *patch, const masking_t *mask, tsr_pos_t at)
{
	uint64_t elements = 0;
	if (!mask->fn)
		return (uint64_t)((patch->row1 - patch->row0) * (patch->col1 - patch->col0)) *
		       patch->element;
	for (int64_t row = patch->row0; row < patch->row1; row++)
		for (int64_t col = patch->col0; col < patch->col1; col++)
			elements += mask->fn(at.row + row, at.col + col, mask->ctx) != 0;
	return elements * patch->element;
}

tsr_tile_rows_t tsr_frag_share(const tsr_coop_t *coop, const tsr_frag_t *frag)
{
	tsr_tile_rows_t rows = {.cols = frag->cols};
	tsr_cpu_share(coop, frag->rows, &rows.first, &rows.last);
	rows.first = rows.first > frag->first ? rows.first : frag->first;
	rows.last = rows.last < frag->last ? rows.last : frag->last;
	return rows;
}

static void store_rows(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
		       const tsr_frag_t *frag, masking_t mask, int peer, stage_t *stage)
{
	const tsr_tile_rows_t rows = tsr_frag_share(coop, frag);
	tsr_patch_t patch;
	if (rows.first >= rows.last || !tsr_patch_find(coop, call, view, at, &rows, mask.fn != NULL,
						       peer, TSR_MEM_WRITE, &patch))
		return;
	uint64_t bytes = patch.row0 < patch.row1 ? masked_bytes(&patch, &mask, at) : 0;
	if (bytes == 0 || !tsr_frag_has_values(coop, call, frag))
		return;
	tsr_mem_count(coop, &patch.mem, TSR_MEM_WRITE, bytes);
	if (!mask.fn) {
		write_part(&patch.mem,
			   &(tsr_mem_part_t){patch.mem.at, patch.step, view.dtype,
					     patch.row1 - patch.row0, patch.col1 - patch.col0},
			   frag->held, tsr_frag_at(frag, patch.row0, patch.col0), frag->cols,
			   stage);
		return;
	}
	for (int64_t row = patch.row0; row < patch.row1; row++)
		for (int64_t end, col = patch.col0; col < patch.col1; col = end) {
			col = next_run(&mask, at.row + row, at.col, col, patch.col1, &end);
			tsr_mem_write_row(&patch.mem, view.dtype,
					  tsr_patch_run(&patch, row, col, end), frag->held,
					  tsr_frag_at(frag, row, col), (size_t)(end - col));
		}
}

static void store_staged(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
			 const tsr_frag_t *frag, tsr_cpu_elements_t of, masking_t mask, int peer,
			 stage_t *stage)
{
	begin_place(coop, frag, view, at, of);
	store_rows(coop, call, view, at, frag, mask, peer, stage);
	tsr_cpu_event_sent(coop);
	end_place(coop);
}

static void store(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
		  const tsr_frag_t *frag, masking_t mask, int peer)
{
	stage_t stage;
	stage.whole = false;
	store_staged(coop, call, view, at, frag, TSR_CPU_OF_VIEW, mask, peer, &stage);
}

void tsr_frag_load(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
		   tsr_pos_t at, int peer)
{
	load(coop, call, frag, view, at, (masking_t){NULL, NULL, 0}, peer);
}

void tsr_frag_store(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
		    const tsr_frag_t *frag, int peer)
{
	store(coop, call, view, at, frag, (masking_t){NULL, NULL, 0}, peer);
}

void tsr_frag_load_saved(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
			 tsr_cpu_elements_t of)
{
	const tsr_pos_t origin = {0, 0};
	begin_place(coop, frag, view, origin, of);
	load_rows(coop, call, frag, view, origin, (masking_t){NULL, NULL, 0}, tsr_rank(coop));
	end_place(coop);
}

void tsr_frag_store_saved(tsr_coop_t *coop, const char *call, tsr_view_t view,
			  const tsr_frag_t *frag, tsr_cpu_elements_t of, int peer)
{
	const tsr_pos_t origin = {0, 0};
	stage_t stage;
	stage.whole = false;
	store_staged(coop, call, view, origin, frag, of, (masking_t){NULL, NULL, 0}, peer, &stage);
}

void tsr_store_all(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag)
{
	stage_t stage;
	stage.whole = false;
	for (int i = 0; i < tsr_size(coop); i++)
		store_staged(coop, __func__, view, at, frag, TSR_CPU_OF_VIEW,
			     (masking_t){NULL, NULL, 0}, tsr_peer(coop, i), &stage);
}

void tsr_load_masked(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
		     tsr_mask_fn mask, const void *ctx, double other, int peer)
{
	load(coop, __func__, frag, view, at, (masking_t){mask, ctx, other}, peer);
}

void tsr_store_masked(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag,
		      tsr_mask_fn mask, const void *ctx, int peer)
{
	store(coop, __func__, view, at, frag, (masking_t){mask, ctx, 0}, peer);
}
