/* Words: memory that is accessed with an order, and so has a location in the view machine. */
#include "src/explore/shadow/shadow_state.h"

#include <string.h>

#include "src/base/error.h"

static void end_location(tsr_shadow_t *shadow, int location)
{
	if (tsr_views_end_location(shadow->views, location) != TSR_OK)
		shadow->exhausted = true;
}

static uint64_t low_bytes(size_t bytes)
{
	return bytes < 8 ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
}

/* ---------------------------------------------------------------- values, as they lie in memory */

static uint64_t load_bytes(const unsigned char *from, size_t bytes)
{
	uint16_t quarter;
	uint32_t half;
	uint64_t whole;

	if (bytes == sizeof quarter) {
		memcpy(&quarter, from, sizeof quarter);
		return quarter;
	}
	if (bytes == sizeof half) {
		memcpy(&half, from, sizeof half);
		return half;
	}
	memcpy(&whole, from, sizeof whole);
	return whole;
}

static void store_bytes(unsigned char *to, uint64_t value, size_t bytes)
{
	const uint16_t quarter = (uint16_t)value;
	const uint32_t half = (uint32_t)value;

	if (bytes == sizeof quarter)
		memcpy(to, &quarter, sizeof quarter);
	else if (bytes == sizeof half)
		memcpy(to, &half, sizeof half);
	else
		memcpy(to, &value, sizeof value);
}

/* ------------------------------------------------------------------ plain accesses to words */

/** The word's newest value, with the bytes from `begin` to `end` as they are written now. */
static uint64_t patched(const shadow_access_t *access, int location, size_t begin, size_t end,
			size_t word, size_t bytes)
{
	const uint64_t newest = tsr_views_newest(access->shadow->views, location);
	unsigned char image[8];

	if (!access->data)
		return newest;
	store_bytes(image, newest, bytes);
	memcpy(image + (begin - word), access->data + (begin - access->data_offset), end - begin);
	return load_bytes(image, bytes);
}

void tsr_shadow_word_access(shadow_access_t *access, size_t line, int i, size_t begin, size_t end)
{
	tsr_shadow_t *shadow = access->shadow;
	shadow_segments_t *segments = &shadow->segments[shadow_readers(access->region->line[line])];
	const int location = (int)shadow_readers(segments->state[i]);
	const size_t word = line * SHADOW_LINE + segments->begin[i];
	const size_t bytes = (size_t)(shadow_segment_end(segments, i) - segments->begin[i]);
	tsr_views_access_t plain = {
		.kind = access->write ? TSR_VIEWS_STORE : TSR_VIEWS_LOAD,
		.order = TSR_VIEWS_PLAIN,
		.location = location,
		.site = access->operation,
	};
	tsr_views_event_t event;

	if (access->write)
		plain.value = patched(access, location, begin, end, word, bytes);
	if (tsr_views_act(shadow->views, access->thread, &plain, 0, &event) != TSR_OK) {
		shadow->exhausted = true;
		return;
	}
	const shadow_touch_t touch = {access->region_number, begin,         end - begin,
				      access->operation,     access->write, false};
	if (access->coop)
		tsr_shadow_touch_word(shadow, access->thread, &touch);
	if (event.races)
		tsr_shadow_note_race(access->found, event.races,
				     shadow_entry(shadow, event.other_site), event.other_wrote,
				     begin, end);
	if (!access->write && event.initial)
		tsr_shadow_note_unwritten(access->found, 0, begin, end);
}

/* ------------------------------------------------------------------ making words */

static bool add_past(tsr_shadow_t *shadow, uint32_t operation, bool wrote)
{
	if (operation <= SHADOW_SETTLED)
		return true;
	if (shadow->acting.bytes)
		tsr_shadow_keep_past(shadow, operation, wrote);
	if (!tsr_shadow_grow(shadow, (void **)&shadow->pasts, shadow->past_count,
			     &shadow->past_room, sizeof *shadow->pasts))
		return false;
	const shadow_operation_t *entry = shadow_entry(shadow, operation);
	shadow->pasts[shadow->past_count++] =
		(tsr_views_past_t){entry->thread, entry->epoch, operation, wrote};
	return true;
}

/** What was done to a word of another size goes into the past of the new one. */
static bool add_pasts_of(tsr_shadow_t *shadow, int location)
{
	const uint32_t more = (uint32_t)tsr_views_pasts(shadow->views, location, NULL, 0);

	while (shadow->past_room < shadow->past_count + more)
		if (!tsr_shadow_grow(shadow, (void **)&shadow->pasts, shadow->past_room,
				     &shadow->past_room, sizeof *shadow->pasts))
			return false;
	tsr_views_pasts(shadow->views, location, shadow->pasts + shadow->past_count, (int)more);
	shadow->past_count += more;
	return true;
}

/** Collects who has touched a segment. False, and `exhausted`: no memory. */
static bool add_segment(tsr_shadow_t *shadow, shadow_state_t state, bool *written)
{
	uint32_t reader;
	bool added = true;

	if (shadow_is_word(state)) {
		*written = *written && tsr_views_written(shadow->views, (int)shadow_readers(state));
		return add_pasts_of(shadow, (int)shadow_readers(state));
	}
	*written = *written && !shadow_is_unwritten(shadow, state);
	added = add_past(shadow, shadow_writer(state), true);
	for (uint32_t i = 0;
	     added && (reader = tsr_shadow_reader(shadow, shadow_readers(state), i)) != 0; i++)
		added = add_past(shadow, reader, false);
	return added;
}

/**
 * Plain memory keeps one writer: the last one. Others that nothing orders with
 * it count as readers, whom later writes have to know.
 */
static void collapse_pasts(tsr_shadow_t *shadow, bool written, uint32_t *writer_out,
			   uint32_t *readers_out)
{
	uint32_t writer = written ? SHADOW_SETTLED : SHADOW_NOBODY, count = 0;

	for (uint32_t i = 0; i < shadow->past_count; i++)
		if (shadow->pasts[i].wrote && shadow->pasts[i].site > writer)
			writer = shadow->pasts[i].site;
	for (uint32_t i = 0; i < shadow->past_count; i++)
		if (shadow->pasts[i].site != writer)
			shadow->pasts[count++] = shadow->pasts[i];
	shadow->past_count = count;
	*writer_out = writer;
	*readers_out = tsr_shadow_readers_of(shadow, shadow->pasts, count);
}

bool tsr_shadow_demote(shadow_access_t *access, shadow_segments_t *segments, int i, bool whole)
{
	tsr_shadow_t *shadow = access->shadow;
	const shadow_state_t state = segments->state[i];
	uint32_t writer, readers;
	bool written = true;

	if ((whole && !access->write) ||
	    !tsr_views_knows_all(shadow->views, access->thread, (int)shadow_readers(state)))
		return false;
	shadow->past_count = 0;
	if (!add_segment(shadow, state, &written))
		return false;
	end_location(shadow, (int)shadow_readers(state));
	collapse_pasts(shadow, written, &writer, &readers);
	segments->state[i] = shadow_state(writer, readers);
	shadow_hold(shadow, segments->state[i], 1);
	return true;
}

/**
 * Turns what stands between two bytes of a line, whole segments, into a word
 * with the pasts that were collected.
 */
static void make_location(tsr_shadow_t *shadow, shadow_segments_t *segments, int begin, int end,
			  uint64_t value, bool written)
{
	const int first = shadow_segment_at(segments, begin);
	int location, last = first;

	if (tsr_views_add_location(shadow->views, value, written, shadow->pasts,
				   (int)shadow->past_count, &location) != TSR_OK) {
		shadow->exhausted = true;
		return;
	}
	for (; last < segments->count && segments->begin[last] < end; last++) {
		if (last > first)
			segments->begins &= ~(UINT32_C(1) << segments->begin[last]);
		if (shadow_is_word(segments->state[last]))
			end_location(shadow, (int)shadow_readers(segments->state[last]));
		else
			shadow_drop(shadow, segments->state[last], 1);
	}
	segments->state[first] = shadow_state(SHADOW_WORD, (uint32_t)location);
	memmove(segments->state + first + 1, segments->state + last,
		(size_t)(segments->count - last) * sizeof segments->state[0]);
	memmove(segments->begin + first + 1, segments->begin + last,
		(size_t)(segments->count - last));
	segments->count = (uint8_t)(segments->count - (last - first - 1));
}

/**
 * A word of which one half, or less, is wanted becomes two, with all that was
 * done to it in the past of both.
 */
static void halve(tsr_shadow_t *shadow, shadow_segments_t *segments, int i)
{
	const shadow_state_t state = segments->state[i];
	const int begin = segments->begin[i], bytes = (shadow_segment_end(segments, i) - begin) / 2,
		  middle = begin + bytes;
	unsigned char image[8];
	bool written = true;

	store_bytes(image, tsr_views_newest(shadow->views, (int)shadow_readers(state)),
		    2 * (size_t)bytes);
	shadow->past_count = 0;
	if (!add_segment(shadow, state, &written))
		return;
	end_location(shadow, (int)shadow_readers(state));
	segments->state[i] = shadow_state(SHADOW_SETTLED, 0);
	if (tsr_shadow_split(shadow, segments, middle) < 0)
		return;
	make_location(shadow, segments, begin, middle, load_bytes(image, (size_t)bytes), written);
	make_location(shadow, segments, middle, middle + bytes,
		      load_bytes(image + bytes, (size_t)bytes), written);
}

/** What the memory holds, words by what the view machine says of them. */
static uint64_t value_of(const tsr_shadow_t *shadow, const shadow_region_t *region,
			 const shadow_segments_t *segments, const tsr_shadow_word_t *word)
{
	const int begin = (int)(word->offset % SHADOW_LINE);
	unsigned char image[8];

	memcpy(image, region->memory + word->offset, word->bytes);
	for (int i = shadow_segment_at(segments, begin);
	     i < segments->count && segments->begin[i] < begin + (int)word->bytes; i++)
		if (shadow_is_word(segments->state[i]))
			store_bytes(image + segments->begin[i] - begin,
				    tsr_views_newest(shadow->views,
						     (int)shadow_readers(segments->state[i])),
				    (size_t)(shadow_segment_end(segments, i) - segments->begin[i]));
	return load_bytes(image, word->bytes);
}

/** Makes the bytes a word, which they are not. */
static void make_word(tsr_shadow_t *shadow, const shadow_region_t *region,
		      shadow_segments_t *segments, const tsr_shadow_word_t *word)
{
	const int begin = (int)(word->offset % SHADOW_LINE), end = begin + (int)word->bytes;
	bool written = true;

	const int first = tsr_shadow_split(shadow, segments, begin);
	if (first < 0 || (end < SHADOW_LINE && tsr_shadow_split(shadow, segments, end) < 0))
		return;
	shadow->past_count = 0;
	for (int i = first; i < segments->count && segments->begin[i] < end; i++) {
		shadow->acting.offset = word->offset + (size_t)(segments->begin[i] - begin);
		shadow->acting.bytes =
			(size_t)(shadow_segment_end(segments, i) - segments->begin[i]);
		if (!add_segment(shadow, segments->state[i], &written))
			return;
	}
	shadow->acting.bytes = 0;
	make_location(shadow, segments, begin, end, value_of(shadow, region, segments, word),
		      written);
}

static tsr_status_t check(const tsr_shadow_t *shadow, const tsr_shadow_word_t *word)
{
	const shadow_region_t *region = word->region >= 0 && word->region < shadow->region_count
						? &shadow->regions[word->region]
						: NULL;

	if (!region || !region->memory)
		return tsr_error(TSR_ERR_ARGUMENT, "there is no region %d", word->region);
	if ((word->bytes != 2 && word->bytes != 4 && word->bytes != 8) ||
	    word->offset % word->bytes)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%zu bytes at %zu are no word: 2, 4 or 8, aligned to their size",
				 word->bytes, word->offset);
	if (word->offset > region->bytes || word->bytes > region->bytes - word->offset)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "the word at %zu is not in region %d, which has %zu bytes",
				 word->offset, word->region, region->bytes);
	return TSR_OK;
}

/** The word's location, made where it has none. */
static tsr_status_t locate(tsr_shadow_t *shadow, const tsr_shadow_word_t *word, int *location_out)
{
	const int begin = (int)(word->offset % SHADOW_LINE);
	tsr_status_t status = check(shadow, word);

	if (status != TSR_OK)
		return status;
	shadow_region_t *region = &shadow->regions[word->region];
	shadow_segments_t *segments = tsr_shadow_open(shadow, region, word->offset / SHADOW_LINE);
	for (int tries = 0; segments && tries < 4 && !shadow->exhausted; tries++) {
		const int i = shadow_segment_at(segments, begin);
		const size_t bytes = (size_t)(shadow_segment_end(segments, i) - segments->begin[i]);
		if (shadow_is_word(segments->state[i]) && bytes == word->bytes) {
			*location_out = (int)shadow_readers(segments->state[i]);
			return TSR_OK;
		}
		if (shadow_is_word(segments->state[i]) && bytes > word->bytes)
			halve(shadow, segments, i);
		else
			make_word(shadow, region, segments, word);
	}
	shadow->exhausted = true;
	return tsr_shadow_status(shadow);
}

/* ------------------------------------------------------------------ ordered accesses */

/** An update of a word narrower than the view machine's values. */
typedef struct narrowed {
	const tsr_views_access_t *access;
	uint64_t mask;
} narrowed_t;

static bool update_narrowed(const void *context, uint64_t old, uint64_t *value_out)
{
	const narrowed_t *narrowed = context;

	if (!narrowed->access->update(narrowed->access->context, old, value_out))
		return false;
	*value_out &= narrowed->mask;
	return true;
}

/** The access as the view machine sees it. `narrowed` has to live as long. */
static tsr_status_t prepare(tsr_shadow_t *shadow, const tsr_views_access_t *access,
			    const tsr_shadow_word_t *word, narrowed_t *narrowed,
			    tsr_views_access_t *prepared_out)
{
	tsr_views_access_t prepared = *access;

	if (access->kind != TSR_VIEWS_FENCE) {
		tsr_status_t status = locate(shadow, word, &prepared.location);
		if (status != TSR_OK)
			return status;
		*narrowed = (narrowed_t){access, low_bytes(word->bytes)};
		prepared.value &= narrowed->mask;
		prepared.update = update_narrowed;
		prepared.context = narrowed;
	}
	*prepared_out = prepared;
	return TSR_OK;
}

/**
 * An access that is ready for the views: its operation is the running one, its
 * word has a location.
 */
typedef struct prepared {
	tsr_views_access_t access;
	narrowed_t narrowed; /* what the access may point to */
	uint32_t entry;
} prepared_t;

static tsr_status_t enter_word(tsr_shadow_t *shadow, uint32_t operation,
			       const tsr_views_access_t *access, const tsr_shadow_word_t *word,
			       prepared_t *p)
{
	tsr_status_t status = tsr_shadow_enter(shadow, operation, &p->entry);
	if (status != TSR_OK)
		return status;
	shadow_entry(shadow, p->entry)->atomic = true;
	shadow->acting = (shadow_acting_t){shadow_entry(shadow, p->entry)->thread,
					   word ? word->region : 0, 0, 0};
	status = prepare(shadow, access, word, &p->narrowed, &p->access);
	shadow->acting.bytes = 0;
	return status;
}

tsr_status_t tsr_shadow_choices(tsr_shadow_t *shadow, uint32_t operation,
				const tsr_views_access_t *access, const tsr_shadow_word_t *word,
				int *choices_out)
{
	prepared_t p;
	tsr_status_t status = enter_word(shadow, operation, access, word, &p);

	if (status == TSR_OK)
		*choices_out = tsr_views_choices(shadow->views,
						 shadow_entry(shadow, p.entry)->thread, &p.access);
	return status;
}

tsr_status_t tsr_shadow_peek(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_views_access_t *access, const tsr_shadow_word_t *word,
			     int choice, uint64_t *value_out, bool *initial_out)
{
	prepared_t p;
	tsr_status_t status = enter_word(shadow, operation, access, word, &p);

	if (status == TSR_OK)
		status = tsr_views_peek(shadow->views, shadow_entry(shadow, p.entry)->thread,
					&p.access, choice, value_out, initial_out);
	return status;
}

tsr_status_t tsr_shadow_values(tsr_shadow_t *shadow, const tsr_shadow_word_t *word, int *count_out)
{
	int location;
	tsr_status_t status = locate(shadow, word, &location);

	if (status == TSR_OK)
		*count_out = tsr_views_messages(shadow->views, location);
	return status;
}

tsr_status_t tsr_shadow_had(tsr_shadow_t *shadow, const tsr_shadow_word_t *word, int n,
			    uint64_t *value_out, uint32_t *operation_out)
{
	int location;
	uint32_t site = 0;
	tsr_status_t status = locate(shadow, word, &location);

	if (status != TSR_OK)
		return status;
	const bool written = tsr_views_had(shadow->views, location, n, value_out, &site);
	*operation_out = written && site >= shadow->first ? shadow_entry(shadow, site)->origin : 0;
	return TSR_OK;
}

tsr_status_t tsr_shadow_act(tsr_shadow_t *shadow, uint32_t operation,
			    const tsr_views_access_t *access, const tsr_shadow_word_t *word,
			    int choice, tsr_views_event_t *event_out)
{
	prepared_t p;
	tsr_status_t status = enter_word(shadow, operation, access, word, &p);

	if (status != TSR_OK)
		return status;
	p.access.site = p.entry;
	status = tsr_views_act(shadow->views, shadow_entry(shadow, p.entry)->thread, &p.access,
			       choice, event_out);
	if (status != TSR_OK)
		return status;
	if (word)
		tsr_shadow_word_acts(shadow, p.entry, word, event_out->wrote);
	if (event_out->races)
		event_out->other_site = shadow_entry(shadow, event_out->other_site)->origin;
	event_out->from_site = event_out->from_thread < 0 || event_out->from_site < shadow->first
				       ? 0
				       : shadow_entry(shadow, event_out->from_site)->origin;
	if (event_out->wrote && shadow->values)
		store_bytes(shadow->regions[word->region].memory + word->offset,
			    tsr_views_newest(shadow->views, p.access.location), word->bytes);
	return TSR_OK;
}
