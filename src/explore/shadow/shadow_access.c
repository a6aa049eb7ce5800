/*
 * Plain accesses: what each makes of the state of the bytes that it touches,
 * and the values that it moves.
 */
#include "src/explore/shadow/shadow_state.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

/* ------------------------------------------------------------------ what is found */

void tsr_shadow_note_race(tsr_shadow_found_t *found, unsigned races,
			  const shadow_operation_t *other, bool other_wrote, size_t begin,
			  size_t end)
{
	const bool goes_on = found->races && found->other == other->origin &&
			     found->other_wrote == other_wrote &&
			     found->offset + found->bytes == begin;

	if (goes_on) {
		found->bytes += end - begin;
	} else if (!found->races) {
		found->other = other->origin;
		found->other_thread = other->thread;
		found->other_wrote = other_wrote;
		found->offset = begin;
		found->bytes = end - begin;
	}
	found->races |= races;
}

void tsr_shadow_note_unwritten(tsr_shadow_found_t *found, uint32_t by, size_t begin, size_t end)
{
	if (!found->unwritten) {
		found->unwritten_by = by;
		found->unwritten_offset = begin;
		found->unwritten_bytes = 0;
	}
	if (found->unwritten_offset + found->unwritten_bytes == begin)
		found->unwritten_bytes += end - begin;
	found->unwritten = true;
}

/** Says what a transition found on bytes of the region. */
static void note(const shadow_access_t *access, const shadow_transition_t *way, size_t begin,
		 size_t end)
{
	if (way->other)
		tsr_shadow_note_race(access->found, TSR_VIEWS_DATA_RACE,
				     shadow_entry(access->shadow, way->other), way->other_wrote,
				     begin, end);
	if (way->unmet)
		tsr_shadow_note_unmet(&access->found->unmet,
				      shadow_entry(access->shadow, way->unmet), way->unmet_wrote,
				      begin, end);
	const uint32_t writer = shadow_writer(way->from);
	if (way->unwritten)
		tsr_shadow_note_unwritten(access->found,
					  writer == SHADOW_NOBODY
						  ? 0
						  : shadow_entry(access->shadow, writer)->origin,
					  begin, end);
}

/* ------------------------------------------------------------------ transitions */

/** Who else of the coop has touched it since the coop has met, where one of the two writes. */
static void find_unmet(const shadow_access_t *access, shadow_state_t from, shadow_transition_t *way)
{
	if (tsr_shadow_unmet_writer(access->shadow, access->coop, access->thread,
				    shadow_writer(from))) {
		way->unmet = shadow_writer(from);
		way->unmet_wrote = true;
	} else if (access->write) {
		way->unmet = tsr_shadow_unmet_reader(access->shadow, access->coop, access->thread,
						     shadow_readers(from));
	}
}

static shadow_transition_t transition(const shadow_access_t *access, shadow_state_t from)
{
	tsr_shadow_t *shadow = access->shadow;
	const uint32_t writer = shadow_writer(from);
	shadow_transition_t way = {.from = from};

	if (writer && !shadow_knows(shadow, &access->clock, writer)) {
		way.other = writer;
		way.other_wrote = true;
	} else if (access->write) {
		way.other = tsr_shadow_unknown_reader(shadow, &access->clock, shadow_readers(from));
	}
	if (access->coop)
		find_unmet(access, from, &way);
	way.unwritten = !access->write && shadow_is_unwritten(shadow, from);
	way.to = access->write ? shadow_state(access->operation, 0)
			       : shadow_state(writer, tsr_shadow_add_reader(shadow, &access->clock,
									    shadow_readers(from),
									    access->operation));
	return way;
}

static void forget(shadow_access_t *access, const shadow_transition_t *way)
{
	shadow_drop(access->shadow, way->from, 1);
	shadow_drop(access->shadow, way->to, 1);
}

/** As find_way, of a state that was not the last one. */
static const shadow_transition_t *find_other_way(shadow_access_t *access, shadow_state_t from)
{
	shadow_transition_t way;
	int i = 0;

	while (i < access->ways && access->way[i].from != from)
		i++;
	if (i < access->ways) {
		way = access->way[i];
	} else {
		way = transition(access, from);
		shadow_hold(access->shadow, way.from, 1);
		shadow_hold(access->shadow, way.to, 1);
		if (access->ways < SHADOW_WAYS)
			access->ways++;
		else
			forget(access, &access->way[--i]);
	}
	memmove(access->way + 1, access->way, (size_t)i * sizeof way);
	access->way[0] = way;
	return &access->way[0];
}

/**
 * What becomes of a state, as worked out now or met before. The sets of both
 * states are held as long as it is remembered.
 */
static inline const shadow_transition_t *find_way(shadow_access_t *access, shadow_state_t from)
{
	return access->ways && access->way[0].from == from ? &access->way[0]
							   : find_other_way(access, from);
}

/* ------------------------------------------------------------------ lines */

/** Lines from `line` on that have one state. Returns how many of `count` they are. */
static size_t access_alike(shadow_access_t *access, size_t line, size_t count)
{
	shadow_state_t *record = &access->region->line[line];
	const shadow_state_t from = record[0];
	const shadow_transition_t *way = find_way(access, from);
	size_t n = 0;

	for (; n < count && record[n] == from; n++)
		record[n] = way->to;
	shadow_hold(access->shadow, way->to, (uint32_t)n);
	shadow_drop(access->shadow, from, (uint32_t)n);
	if (way->other || way->unwritten || way->unmet)
		note(access, way, line * SHADOW_LINE, (line + n) * SHADOW_LINE);
	return n;
}

/** Bytes of one line, by its segments. */
static void access_segments(shadow_access_t *access, size_t line, int begin, int end)
{
	tsr_shadow_t *shadow = access->shadow;
	shadow_segments_t *segments = tsr_shadow_open(shadow, access->region, line);
	const size_t base = line * SHADOW_LINE;

	if (!segments)
		return;
	for (int at = begin, i = shadow_segment_at(segments, at); at < end; i++) {
		const bool whole =
			segments->begin[i] == at && shadow_segment_end(segments, i) <= end;
		const bool word = shadow_is_word(segments->state[i]) &&
				  !tsr_shadow_demote(access, segments, i, whole);
		if (!word && segments->begin[i] < at)
			i = tsr_shadow_split(shadow, segments, at);
		if (!word && i >= 0 && end < shadow_segment_end(segments, i) &&
		    tsr_shadow_split(shadow, segments, end) < 0)
			return;
		if (i < 0)
			return;
		const int segment_end = shadow_segment_end(segments, i),
			  until = segment_end < end ? segment_end : end;
		if (word) {
			tsr_shadow_word_access(access, line, i, base + (size_t)at,
					       base + (size_t)until);
			access->clock = tsr_views_clock(shadow->views, access->thread);
		} else {
			const shadow_state_t from = segments->state[i];
			const shadow_transition_t *way = find_way(access, from);
			segments->state[i] = way->to;
			shadow_hold(shadow, way->to, 1);
			shadow_drop(shadow, from, 1);
			note(access, way, base + (size_t)at, base + (size_t)until);
		}
		at = until;
	}
	tsr_shadow_close(shadow, access->region, line);
}

static void access_row(shadow_access_t *access, size_t offset, size_t bytes)
{
	const size_t end = offset + bytes;

	for (size_t at = offset; at < end;) {
		const size_t line = at / SHADOW_LINE, begin = at % SHADOW_LINE,
			     rest = end - line * SHADOW_LINE;
		const bool whole = begin == 0 && rest >= SHADOW_LINE;
		shadow_touch(access->region, line);
		if (whole && shadow_writer(access->region->line[line]) != SHADOW_SEGMENTS) {
			size_t count = rest / SHADOW_LINE,
			       in_chunk = SHADOW_CHUNK - line % SHADOW_CHUNK;
			at += SHADOW_LINE *
			      access_alike(access, line, count < in_chunk ? count : in_chunk);
		} else {
			access_segments(access, line, (int)begin,
					rest < SHADOW_LINE ? (int)rest : SHADOW_LINE);
			at = (line + 1) * SHADOW_LINE;
		}
	}
}

/* ------------------------------------------------------------------ accesses */

static size_t rows_of(const tsr_shadow_range_t *range)
{
	return range->rows ? range->rows : 1;
}

static tsr_status_t check(const tsr_shadow_t *shadow, const tsr_shadow_range_t *range)
{
	const shadow_region_t *region = range->region >= 0 && range->region < shadow->region_count
						? &shadow->regions[range->region]
						: NULL;
	const size_t rows = rows_of(range);
	size_t last;

	if (!region || !region->memory)
		return tsr_error(TSR_ERR_ARGUMENT, "there is no region %d", range->region);
	if (!__builtin_mul_overflow(rows - 1, range->pitch, &last) &&
	    !__builtin_add_overflow(last, range->offset, &last) && last <= region->bytes &&
	    range->bytes <= region->bytes - last)
		return TSR_OK;
	return tsr_error(
		TSR_ERR_ARGUMENT,
		"%zu rows of %zu bytes from %zu on, %zu apart, are not in region %d, which has %zu",
		rows, range->bytes, range->offset, range->pitch, range->region, region->bytes);
}

static tsr_status_t begin(shadow_access_t *access, tsr_shadow_t *shadow, uint32_t operation,
			  const tsr_shadow_range_t *range, bool write, tsr_shadow_found_t *found)
{
	tsr_status_t status = check(shadow, range);

	if (status == TSR_OK)
		status = tsr_shadow_enter(shadow, operation, &access->operation);
	if (status != TSR_OK)
		return status;
	*found = (tsr_shadow_found_t){.races = 0};
	access->shadow = shadow;
	access->region = &shadow->regions[range->region];
	access->region_number = range->region;
	access->thread = shadow_entry(shadow, access->operation)->thread;
	access->coop = shadow_coop_at(shadow, access->thread);
	access->clock = tsr_views_clock(shadow->views, access->thread);
	access->write = write;
	access->data = NULL;
	access->found = found;
	access->ways = 0;
	return TSR_OK;
}

static void end(shadow_access_t *access, const tsr_shadow_range_t *range)
{
	if (access->coop && access->coop->touch_count)
		tsr_shadow_check_touches(access->shadow, access->coop, range, access->write, false,
					 &access->found->unmet);
	for (int i = 0; i < access->ways; i++)
		forget(access, &access->way[i]);
}

/** Rows that lie one behind the other are one row, which is gone through at once. */
static tsr_shadow_range_t joined(const tsr_shadow_range_t *range)
{
	if (range->pitch != range->bytes)
		return *range;
	return (tsr_shadow_range_t){.region = range->region,
				    .offset = range->offset,
				    .bytes = range->bytes * rows_of(range)};
}

tsr_status_t tsr_shadow_read(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_shadow_range_t *range, void *to, size_t to_pitch,
			     tsr_shadow_found_t *found_out)
{
	shadow_access_t access;
	tsr_status_t status = begin(&access, shadow, operation, range, false, found_out);

	if (status != TSR_OK)
		return status;
	const tsr_shadow_range_t whole = joined(range);
	for (size_t row = 0; row < rows_of(&whole); row++)
		access_row(&access, whole.offset + row * whole.pitch, whole.bytes);
	for (size_t row = 0; to && shadow->values && row < rows_of(range); row++)
		memcpy((unsigned char *)to + row * to_pitch,
		       access.region->memory + range->offset + row * range->pitch, range->bytes);
	end(&access, range);
	return tsr_shadow_status(shadow);
}

tsr_status_t tsr_shadow_write(tsr_shadow_t *shadow, uint32_t operation,
			      const tsr_shadow_range_t *range, const void *from, size_t from_pitch,
			      tsr_shadow_found_t *found_out)
{
	shadow_access_t access;
	tsr_status_t status = begin(&access, shadow, operation, range, true, found_out);

	if (status != TSR_OK)
		return status;
	const tsr_shadow_range_t whole =
		!from || from_pitch == range->bytes ? joined(range) : *range;
	for (size_t row = 0; row < rows_of(&whole); row++) {
		const size_t offset = whole.offset + row * whole.pitch;
		access.data = from ? (const unsigned char *)from + row * from_pitch : NULL;
		access.data_offset = offset;
		if (from && shadow->values)
			memcpy(access.region->memory + offset, access.data, whole.bytes);
		access_row(&access, offset, whole.bytes);
	}
	end(&access, range);
	return tsr_shadow_status(shadow);
}

/** The other half of a copy: the bytes are there. */
static tsr_status_t write_moved(tsr_shadow_t *shadow, uint32_t operation,
				const tsr_shadow_range_t *range, tsr_shadow_found_t *found_out)
{
	shadow_access_t access;
	tsr_status_t status = begin(&access, shadow, operation, range, true, found_out);

	if (status != TSR_OK)
		return status;
	const tsr_shadow_range_t whole = joined(range);
	for (size_t row = 0; row < rows_of(&whole); row++) {
		access.data_offset = whole.offset + row * whole.pitch;
		access.data = shadow->values ? access.region->memory + access.data_offset : NULL;
		access_row(&access, access.data_offset, whole.bytes);
	}
	end(&access, range);
	return tsr_shadow_status(shadow);
}

/* ---------------------------------------------------------- copies of what is unwritten in part */

/** Bytes of a row of a copy that are alike: written, or not. */
typedef struct span {
	size_t row, at, bytes;
	bool unwritten;
} span_t;

/**
 * The bytes from `offset` on, up to `end` at most, that have one state: whether
 * nobody has written them, and where they end.
 */
static bool look(const tsr_shadow_t *shadow, const shadow_region_t *region, size_t offset,
		 size_t end, size_t *until)
{
	const size_t line = offset / SHADOW_LINE;
	shadow_state_t state = region->line[line];

	*until = (line + 1) * SHADOW_LINE;
	if (shadow_writer(state) == SHADOW_SEGMENTS) {
		const shadow_segments_t *segments = &shadow->segments[shadow_readers(state)];
		const int i = shadow_segment_at(segments, (int)(offset % SHADOW_LINE));
		*until = line * SHADOW_LINE + (size_t)shadow_segment_end(segments, i);
		state = segments->state[i];
	}
	if (*until > end)
		*until = end;
	if (shadow_is_word(state))
		return !tsr_views_written(shadow->views, (int)shadow_readers(state));
	return shadow_is_unwritten(shadow, state);
}

bool tsr_shadow_is_unwritten(const tsr_shadow_t *shadow, const tsr_shadow_word_t *word)
{
	const size_t end = word->offset + word->bytes;
	bool unwritten = false;
	for (size_t at = word->offset, until; at < end && !unwritten; at = until)
		unwritten = look(shadow, &shadow->regions[word->region], at, end, &until);
	return unwritten;
}

/** What a copy is about to bring, by spans. Null, and `exhausted`: no memory. */
static span_t *spans_of(tsr_shadow_t *shadow, const tsr_shadow_range_t *range, uint32_t *count_out)
{
	const shadow_region_t *region = &shadow->regions[range->region];
	span_t *spans = NULL;
	uint32_t count = 0, room = 0;

	for (size_t row = 0; row < rows_of(range); row++) {
		const size_t begin = range->offset + row * range->pitch, end = begin + range->bytes;
		for (size_t at = begin, until; at < end; at = until) {
			const bool unwritten = look(shadow, region, at, end, &until);
			span_t *last = count ? &spans[count - 1] : NULL;
			if (last && last->row == row && last->unwritten == unwritten) {
				last->bytes += until - at;
				continue;
			}
			if (!tsr_shadow_grow(shadow, (void **)&spans, count, &room, sizeof *spans))
				return spans;
			spans[count++] = (span_t){row, at - begin, until - at, unwritten};
		}
	}
	*count_out = count;
	return spans;
}

/**
 * write_moved where not all of the bytes were written: those that were not stay
 * so, though somebody has put them there.
 */
static tsr_status_t write_spans(tsr_shadow_t *shadow, uint32_t operation,
				const tsr_shadow_range_t *range, const span_t *spans,
				uint32_t count, tsr_shadow_found_t *found_out)
{
	shadow_access_t access[2]; /* by whether it is unwritten */
	tsr_status_t status = begin(&access[0], shadow, operation, range, true, found_out);

	if (status == TSR_OK)
		status = begin(&access[1], shadow, operation, range, true, found_out);
	if (status != TSR_OK)
		return status;
	access[1].operation = tsr_shadow_twin(shadow, access[0].operation);
	for (uint32_t i = 0; access[1].operation && i < count; i++) {
		shadow_access_t *mine = &access[spans[i].unwritten];
		mine->data_offset = range->offset + spans[i].row * range->pitch + spans[i].at;
		mine->data = shadow->values ? mine->region->memory + mine->data_offset : NULL;
		mine->clock = tsr_views_clock(shadow->views, mine->thread);
		access_row(mine, mine->data_offset, spans[i].bytes);
	}
	access[1].coop = NULL; /* what the coop has touched is looked at once */
	end(&access[0], range);
	end(&access[1], range);
	return tsr_shadow_status(shadow);
}

/** Moves rows such that none is overwritten before it is read, where both ranges have one pitch. */
static void move(const tsr_shadow_t *shadow, const tsr_shadow_range_t *from,
		 const tsr_shadow_range_t *to)
{
	const bool backwards = from->region == to->region && from->offset < to->offset;
	const size_t rows = rows_of(from);

	for (size_t i = 0; i < rows; i++) {
		const size_t row = backwards ? rows - 1 - i : i;
		memmove(shadow->regions[to->region].memory + to->offset + row * to->pitch,
			shadow->regions[from->region].memory + from->offset + row * from->pitch,
			from->bytes);
	}
}

/** The same with rows that the caller has. */
static void move_seen(const tsr_shadow_t *shadow, const unsigned char *seen, size_t seen_pitch,
		      const tsr_shadow_range_t *to)
{
	for (size_t row = 0; row < rows_of(to); row++)
		memcpy(shadow->regions[to->region].memory + to->offset + row * to->pitch,
		       seen + row * seen_pitch, to->bytes);
}

tsr_status_t tsr_shadow_copy(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_shadow_range_t *from, const tsr_shadow_range_t *to,
			     const void *seen, size_t seen_pitch, tsr_shadow_found_t found_out[2])
{
	tsr_status_t status = check(shadow, to);

	if (status == TSR_OK && (rows_of(from) != rows_of(to) || from->bytes != to->bytes))
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "%zu rows of %zu bytes are copied to %zu rows of %zu",
				   rows_of(from), from->bytes, rows_of(to), to->bytes);
	found_out[1] = (tsr_shadow_found_t){.races = 0};
	if (status == TSR_OK)
		status = tsr_shadow_read(shadow, operation, from, NULL, 0, &found_out[0]);
	if (status != TSR_OK)
		return status;
	uint32_t count = 0;
	span_t *spans = found_out[0].unwritten ? spans_of(shadow, from, &count) : NULL;
	if (shadow->values && seen)
		move_seen(shadow, seen, seen_pitch, to);
	else if (shadow->values)
		move(shadow, from, to);
	status = spans ? write_spans(shadow, operation, to, spans, count, &found_out[1])
		       : write_moved(shadow, operation, to, &found_out[1]);
	free(spans);
	return status;
}
