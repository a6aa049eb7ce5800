/*
 * What kernels promise of their writes and signals, and who breaks it: slabs,
 * and flags that only rise.
 */
#include "src/explore/exploration_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ slabs */

static tsr_slab_rows_t *slab_of(tsr_exploration_t *x, int rank, size_t begin)
{
	for (int i = 0; i < x->slab_count; i++)
		if (x->slabs[i].rank == rank && x->slabs[i].begin == begin)
			return &x->slabs[i];
	return NULL;
}

static tsr_slab_rows_t *add_slab(tsr_exploration_t *x)
{
	if (x->slab_count == x->slab_room) {
		const int room = x->slab_room ? 2 * x->slab_room : 16;
		tsr_slab_rows_t *slabs = realloc(x->slabs, (size_t)room * sizeof *slabs);
		if (!slabs)
			return NULL;
		x->slabs = slabs;
		x->slab_room = room;
	}
	return &x->slabs[x->slab_count++];
}

void tsr_exploration_declare_writes(tsr_exploration_t *x, const tsr_op_site_t *site,
				    const unsigned char *at, const tsr_rows_of_bytes_t *rows)
{
	const int rank = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer))->rank;
	int area;
	size_t offset;
	if (!tsr_area_find(x, at, 1, &area, &offset) || x->areas[area].shared)
		return;
	const tsr_piece_t *piece = tsr_area_piece(&x->areas[area], offset);
	if (!piece)
		return;
	tsr_slab_rows_t *slab = slab_of(x, rank, piece->begin);
	if (!slab)
		slab = add_slab(x);
	if (slab)
		*slab = (tsr_slab_rows_t){rank, piece->begin, offset, *rows, *site};
}

void tsr_slabs_forget(tsr_exploration_t *x, size_t begin)
{
	int kept = 0;
	for (int i = 0; i < x->slab_count; i++)
		if (x->slabs[i].begin != begin)
			x->slabs[kept++] = x->slabs[i];
	x->slab_count = kept;
}

/** Whether `bytes` from `offset` on lie in one of the slab's rows. */
static bool within(const tsr_slab_rows_t *slab, size_t offset, size_t bytes)
{
	if (offset < slab->offset)
		return false;
	const size_t row = (offset - slab->offset) / slab->rows.pitch,
		     col = (offset - slab->offset) % slab->rows.pitch;
	return row < slab->rows.count && col + bytes <= slab->rows.bytes;
}

void tsr_slab_check(tsr_exploration_t *x, uint32_t operation, int index, size_t offset,
		    const tsr_rows_of_bytes_t *rows)
{
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	tsr_area_t *area = &x->areas[index];
	const tsr_piece_t *piece =
		area->shared || x->slab_count == 0 ? NULL : tsr_area_piece(area, offset);
	const tsr_slab_rows_t *slab =
		piece && who->kind == TSR_TASK_WORKER ? slab_of(x, who->rank, piece->begin) : NULL;
	if (!slab)
		return;
	for (size_t row = 0; row < rows->count; row++) {
		const size_t at = offset + row * rows->pitch;
		if (within(slab, at, rows->bytes))
			continue;
		tsr_finding_t finding = {.class = TSR_FINDING_FOREIGN_SLAB, .accesses = 2};
		tsr_operation_tell(x, operation, index, at, rows->bytes, &finding.access[0]);
		finding.access[1] = finding.access[0];
		finding.access[1].call = slab->site.call;
		finding.access[1].file = slab->site.file;
		finding.access[1].line = slab->site.line;
		finding.access[1].kind = TSR_FINDING_CALL;
		finding.access[1].offset = slab->offset - slab->begin;
		finding.access[1].bytes = slab->rows.bytes;
		finding.message = "the later entry is the slab that this rank declared; others "
				  "write elsewhere";
		tsr_exploration_found(x, &finding);
		return;
	}
}

/* ------------------------------------------------------------------ flags that only rise */

void tsr_exploration_signals(tsr_exploration_t *x, const tsr_op_site_t *site,
			     const unsigned char *flag, uint64_t value, tsr_views_scope_t scope)
{
	int area;
	size_t offset;
	uint64_t before;
	tsr_exploration_place(x, site, flag, sizeof before, &area, &offset);
	memcpy(&before, x->areas[area].newest + offset, sizeof before);
	const uint64_t object = tsr_area_object(&x->areas[area], offset);
	tsr_last_signal_t *last = &x->signals[object % TSR_SIGNALS];
	const uint32_t number =
		tsr_operation_at(x, site, TSR_FINDING_WRITE, TSR_VIEWS_RELEASE, scope);
	tsr_finding_t finding = {.class = TSR_FINDING_DUPLICATE_SIGNAL, .accesses = 1};
	tsr_operation_tell(x, number, area, offset, sizeof before, &finding.access[0]);
	finding.access[0].valued = true;
	finding.access[0].expected = value;
	finding.access[0].seen = before;
	if (last->object == object && value <= before) {
		finding.access[finding.accesses++] = last->access;
		tsr_exploration_found(x, &finding);
	}
	*last = (tsr_last_signal_t){object, finding.access[0]};
}
