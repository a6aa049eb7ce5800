/*
 * The shadow against a plain one: every byte has its writer and its readers,
 * and nothing is shared or put off.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "src/explore/shadow/shadow.h"

enum { REGIONS = 2, BYTES = 512, THREADS = 40, STEPS = 1500, SEEDS = 60 };

typedef struct who {
	int thread;
	tsr_epoch_t epoch;
	uint32_t operation; /* 0: nobody */
} who_t;

/** A byte: FastTrack without any thrift. */
typedef struct byte {
	bool written;
	who_t writer;
	who_t reader[THREADS]; /* the last of each thread since the last write */
	unsigned char value;
} byte_t;

typedef struct plain {
	byte_t byte[REGIONS][BYTES];
	bool live[THREADS];
	int threads;
	uint64_t random;
} plain_t;

typedef struct world {
	tsr_views_t *views;
	tsr_shadow_t *shadow;
	tsr_views_token_t *token;
	plain_t *plain;
	int region[REGIONS];
	unsigned char memory[REGIONS][BYTES];
} world_t;

static unsigned draw(world_t *w, unsigned below)
{
	w->plain->random =
		w->plain->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(w->plain->random >> 33) % below;
}

static int some_thread(world_t *w)
{
	int t;

	do
		t = (int)draw(w, (unsigned)w->plain->threads);
	while (!w->plain->live[t]);
	return t;
}

static bool knows(const world_t *w, int thread, const who_t *who)
{
	return !who->operation || who->thread == thread ||
	       tsr_views_knows(w->views, thread, who->thread, who->epoch);
}

/**
 * What an access to one byte finds: the writer that it races with, or whether
 * some reader is among those.
 */
typedef struct verdict {
	bool races, unwritten;
	const byte_t *byte;
} verdict_t;

static verdict_t access_byte(world_t *w, byte_t *byte, byte_t *before, const who_t *me, bool write)
{
	verdict_t verdict = {.byte = before, .unwritten = !write && !byte->written};

	*before = *byte;
	verdict.races = !knows(w, me->thread, &byte->writer);
	for (int t = 0; t < THREADS && write; t++)
		verdict.races |= !knows(w, me->thread, &byte->reader[t]);
	if (write) {
		memset(byte->reader, 0, sizeof byte->reader);
		byte->writer = *me;
		byte->written = true;
		return verdict;
	}
	/* readers who come before this one need not be remembered */
	for (int t = 0; t < THREADS; t++)
		if (knows(w, me->thread, &byte->reader[t]))
			byte->reader[t].operation = 0;
	byte->reader[me->thread] = *me;
	return verdict;
}

/**
 * Whether the operation that is told of stands at the byte, and is one that the
 * thread does not know of.
 */
static bool is_there(const world_t *w, const byte_t *byte, int thread,
		     const tsr_shadow_found_t *found)
{
	const who_t *who = found->other_wrote ? &byte->writer : &byte->reader[found->other_thread];

	return who->operation == found->other && who->thread == found->other_thread &&
	       !knows(w, thread, who);
}

static tsr_shadow_range_t some_range(world_t *w)
{
	tsr_shadow_range_t range = {.region = (int)draw(w, REGIONS)};

	range.rows = draw(w, 2) ? 0 : 1 + draw(w, 4);
	range.bytes = draw(w, 3) ? 1 + draw(w, range.rows > 1 ? 40 : 200) : 64;
	range.pitch = range.bytes + draw(w, 50);
	const size_t all = range.bytes + (range.rows > 1 ? (range.rows - 1) * range.pitch : 0);
	range.offset = draw(w, (unsigned)(BYTES - all));
	if (draw(w, 2))
		range.offset = range.offset / 64 * 64;
	return range;
}

/** Goes over the bytes of a range and compares what was found with what stands there. */
static void compare(world_t *w, const tsr_shadow_range_t *range, const who_t *me, bool write,
		    const tsr_shadow_found_t *found)
{
	bool races = false, unwritten = false;
	static byte_t before;

	for (size_t row = 0; row < (range->rows ? range->rows : 1); row++) {
		for (size_t i = 0; i < range->bytes; i++) {
			const size_t at = range->offset + row * range->pitch + i;
			verdict_t verdict = access_byte(w, &w->plain->byte[range->region][at],
							&before, me, write);
			if (verdict.races && !races)
				cr_assert_eq(found->offset, at);
			if (found->races && at >= found->offset &&
			    at < found->offset + found->bytes)
				cr_assert(is_there(w, verdict.byte, me->thread, found));
			if (verdict.unwritten && !unwritten)
				cr_assert_eq(found->unwritten_offset, at);
			races |= verdict.races;
			unwritten |= verdict.unwritten;
		}
	}
	cr_assert_eq(found->races != 0, races);
	cr_assert_eq(found->unwritten, unwritten);
}

static who_t begin(world_t *w, int thread)
{
	who_t me = {.thread = thread, .epoch = tsr_views_epoch(w->views, thread)};

	cr_assert(tsr_shadow_operation(w->shadow, thread, &me.operation) == TSR_OK);
	return me;
}

static void read_or_write(world_t *w)
{
	const who_t me = begin(w, some_thread(w));
	const tsr_shadow_range_t range = some_range(w);
	const bool write = draw(w, 2);
	unsigned char buffer[BYTES];
	tsr_shadow_found_t found;

	memset(buffer, (int)me.operation, sizeof buffer);
	if (write)
		cr_assert(tsr_shadow_write(w->shadow, me.operation, &range, buffer, range.bytes,
					   &found) == TSR_OK);
	else
		cr_assert(tsr_shadow_read(w->shadow, me.operation, &range, buffer, range.bytes,
					  &found) == TSR_OK);
	compare(w, &range, &me, write, &found);
	for (size_t row = 0; row < (range.rows ? range.rows : 1); row++) {
		for (size_t i = 0; i < range.bytes; i++) {
			byte_t *byte =
				&w->plain->byte[range.region][range.offset + row * range.pitch + i];
			if (write)
				byte->value = (unsigned char)me.operation;
			else
				cr_assert_eq(buffer[row * range.bytes + i], byte->value);
		}
	}
}

static void copy(world_t *w)
{
	const who_t me = begin(w, some_thread(w));
	tsr_shadow_range_t from = some_range(w), to = some_range(w);
	tsr_shadow_found_t found[2];

	from.rows = to.rows = 0;
	from.bytes = to.bytes = from.bytes < to.bytes ? from.bytes : to.bytes;
	cr_assert(tsr_shadow_copy(w->shadow, me.operation, &from, &to, NULL, 0, found) == TSR_OK);
	compare(w, &from, &me, false, &found[0]);
	unsigned char moved[BYTES];
	bool written[BYTES];
	for (size_t i = 0; i < from.bytes; i++) {
		moved[i] = w->plain->byte[from.region][from.offset + i].value;
		written[i] = w->plain->byte[from.region][from.offset + i].written;
	}
	compare(w, &to, &me, true, &found[1]);
	/* what nobody has written nobody has written there */
	for (size_t i = 0; i < to.bytes; i++) {
		w->plain->byte[to.region][to.offset + i].value = moved[i];
		w->plain->byte[to.region][to.offset + i].written = written[i];
	}
}

/** Bytes that are allocated anew, or were there before all. */
static void renew(world_t *w, bool written)
{
	const int region = (int)draw(w, REGIONS);
	const size_t offset = draw(w, BYTES), bytes = draw(w, (unsigned)(BYTES - offset + 1));

	cr_assert((written ? tsr_shadow_given : tsr_shadow_fresh)(w->shadow, w->region[region],
								  offset, bytes) == TSR_OK);
	for (size_t i = 0; i < bytes; i++) {
		const unsigned char value = w->plain->byte[region][offset + i].value;
		w->plain->byte[region][offset + i] = (byte_t){.written = written, .value = value};
	}
}

static void settle(world_t *w)
{
	cr_assert(tsr_shadow_settle(w->shadow) == TSR_OK);
	for (int r = 0; r < REGIONS; r++)
		for (size_t i = 0; i < BYTES; i++) {
			byte_t *byte = &w->plain->byte[r][i];
			*byte = (byte_t){.written = byte->written, .value = byte->value};
		}
}

static void spawn_or_end(world_t *w)
{
	static const tsr_views_place_t place = {{0}};
	int live = 0, t = some_thread(w);

	for (int i = 0; i < w->plain->threads; i++)
		live += w->plain->live[i];
	if (draw(w, 2) && live > 4) {
		cr_assert(tsr_views_end_thread(w->views, t, draw(w, 3) ? w->token : NULL) ==
			  TSR_OK);
		w->plain->live[t] = false;
	} else if (w->plain->threads < THREADS) {
		cr_assert(tsr_views_give(w->views, t, w->token) == TSR_OK);
		cr_assert(tsr_views_add_thread(w->views, &place, w->token, &t) == TSR_OK);
		w->plain->live[t] = true;
		w->plain->threads = t + 1;
	}
}

static void step(world_t *w)
{
	switch (draw(w, 40)) {
	case 0:
		spawn_or_end(w);
		break;
	case 1:
		renew(w, draw(w, 2));
		break;
	case 2:
		if (draw(w, 8) == 0)
			settle(w);
		break;
	case 3:
		cr_assert(tsr_views_take(w->views, some_thread(w), w->token) == TSR_OK);
		break;
	case 4:
		tsr_views_token_clear(w->token);
		cr_assert(tsr_views_give(w->views, some_thread(w), w->token) == TSR_OK);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
	case 11:
	case 12:
		cr_assert(tsr_views_hand_over(w->views, some_thread(w), some_thread(w)) == TSR_OK);
		break;
	case 13:
	case 14:
	case 15:
		copy(w);
		break;
	default:
		read_or_write(w);
	}
}

Test(shadow_random, every_byte_is_told_apart, .timeout = 300)
{
	static const tsr_views_place_t places[6] = {{{0}}};
	world_t w;

	w.plain = malloc(sizeof *w.plain);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		memset(w.plain, 0, sizeof *w.plain);
		memset(w.memory, 0, sizeof w.memory);
		w.plain->random = seed;
		w.plain->threads = 6;
		memset(w.plain->live, true, 6);
		cr_assert(tsr_views_create(places, 6, 0, 0, &w.views) == TSR_OK);
		cr_assert(tsr_views_token_create(w.views, &w.token) == TSR_OK);
		cr_assert(tsr_shadow_create(w.views, true, &w.shadow) == TSR_OK);
		for (int r = 0; r < REGIONS; r++)
			cr_assert(tsr_shadow_add_region(w.shadow, w.memory[r], BYTES,
							&w.region[r]) == TSR_OK);
		for (int i = 0; i < STEPS; i++)
			step(&w);
		tsr_shadow_destroy(w.shadow);
		tsr_views_destroy(w.views);
	}
	free(w.plain);
}
