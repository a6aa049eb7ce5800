/* The state of a shadow: known to its own files only. */
#ifndef TESSERA_EXPLORE_SHADOW_SHADOW_STATE_H
#define TESSERA_EXPLORE_SHADOW_SHADOW_STATE_H

#include "src/explore/shadow/shadow.h"

enum {
	SHADOW_LINE = 32, /* bytes that have a record */
	/* lines whose records are a page: what is known to be touched or not */
	SHADOW_CHUNK = 512,
	SHADOW_WAYS = 8,      /* of the memory of transitions */
	SHADOW_FEW = 4,       /* segments that need no memory of their own */
	SHADOW_USED = 1,      /* a record that is not zero */
	SHADOW_UNSETTLED = 2, /* one that may have changed since all was settled */
	SHADOW_NOBODY = 0,    /* in place of an operation: nobody has written; or nobody reads */
	SHADOW_SETTLED = 1,   /* somebody has, before all that counts */
	SHADOW_FIRST = 2,     /* the first operation */
	SHADOW_OPERATIONS = 0x7fffffff
};

/*
 * What is known of a byte, in one word: who wrote it last, in the low half; who
 * has read it since, in the high half, as nobody, an operation or a set. Or in
 * place of the low half a sign that the high half is the location of a word,
 * or, of a line's record alone, the line's segments.
 */
typedef uint64_t shadow_state_t;

#define SHADOW_WORD UINT32_C(0xfffffffe)
#define SHADOW_SEGMENTS UINT32_C(0xffffffff)
#define SHADOW_SET UINT32_C(0x80000000) /* in the readers: an index of a set */

static inline shadow_state_t shadow_state(uint32_t writer, uint32_t readers)
{
	return (shadow_state_t)readers << 32 | writer;
}

static inline uint32_t shadow_writer(shadow_state_t state)
{
	return (uint32_t)state;
}

static inline uint32_t shadow_readers(shadow_state_t state)
{
	return (uint32_t)(state >> 32);
}

static inline bool shadow_is_word(shadow_state_t state)
{
	return shadow_writer(state) == SHADOW_WORD;
}

/**
 * An operation in one epoch and one call of its thread. One that goes on into
 *  later ones gets another entry, with a number of its own.
 */
typedef struct shadow_operation {
	int thread, component;
	tsr_epoch_t epoch;
	uint32_t origin; /* the number that the caller knows */
	uint32_t latest; /* of the origin: its last entry */
	/* of its thread, if that is a coop; 0: it is not, or what others of its threads do is
	 * ordered with this */
	uint32_t call;
	uint32_t tile; /* as tsr_shadow_call_t */
	bool atomic;
	/* the entry in whose name this one copies bytes that nobody has written; 0: none yet */
	uint32_t twin;
	/* this is such an entry: what it has written counts as unwritten, and races as ever */
	bool hollow;
} shadow_operation_t;

/** An access to a word by a coop that has not met since. */
typedef struct shadow_touch {
	int region;
	size_t offset, bytes;
	uint32_t entry;
	bool wrote, atomic;
} shadow_touch_t;

/** A thread of the view machine that stands for several: shadow_coops.c. */
typedef struct shadow_coop {
	uint32_t call, met; /* the running call, and the last one before it has met; 0: no coop */
	tsr_shadow_call_t is;
	shadow_touch_t *touch;
	uint32_t touch_count, touch_room;
} shadow_coop_t;

/** Who makes a word, and of which bytes of it what was done is looked at. */
typedef struct shadow_acting {
	int thread, region;
	size_t offset, bytes; /* 0 bytes: of none */
} shadow_acting_t;

/**
 * Readers, as a rule none that comes before another. Never changes; shared by
 * all lines that hold it.
 */
typedef struct shadow_set {
	uint32_t holders, count;
	uint32_t reader[];
} shadow_set_t;

/**
 * A line that is not the same all over: from begin[i] on stands state[i]. Few
 * of them stand in the record itself, so that who looks at a line waits for
 * memory once.
 */
typedef struct shadow_segments {
	uint8_t count, room, few_begin[SHADOW_FEW];
	uint32_t begins; /* the bytes at which segments begin, as bits */
	/* the few, or with more than those a piece of memory that `begin` is in too */
	shadow_state_t *state;
	uint8_t *begin;
	shadow_state_t few_state[SHADOW_FEW];
} shadow_segments_t;

typedef struct shadow_region {
	unsigned char *memory; /* null: the region has ended */
	size_t bytes, lines;
	shadow_state_t *line;
	/* of each chunk, what is true of some of its records: SHADOW_USED, SHADOW_UNSETTLED */
	unsigned char *touched;
	/* that have been touched ever, and those before them: heaps are large, and used from their
	 * beginning on */
	size_t chunks;
	bool mapped;
} shadow_region_t;

struct tsr_shadow {
	tsr_views_t *views;
	bool values, exhausted;

	shadow_region_t *regions;
	int region_count, *free_regions, free_region_count;
	uint32_t region_room, free_region_room;

	shadow_operation_t *operations; /* from the number `first` on */
	uint32_t first, operation_count, operation_room;

	shadow_set_t **sets;
	uint32_t set_count, set_room, *free_sets, free_set_count, free_set_room;

	shadow_segments_t *segments;
	uint32_t segments_count, segments_room, *free_segments, free_segments_count;

	shadow_coop_t *coops; /* by thread */
	uint32_t coop_count, coop_room;
	shadow_acting_t acting;
	tsr_shadow_unmet_t unmet; /* of the last ordered access */

	tsr_views_past_t *pasts; /* while a location is made */
	uint32_t past_count, past_room;
	size_t bytes; /* of sets, and of segments that are more than a few */
};

/** What an access makes of a state, and what is to be said of it. */
typedef struct shadow_transition {
	shadow_state_t from, to;
	uint32_t other; /* who it races with, or 0 */
	uint32_t unmet; /* the same within the coop */
	bool other_wrote, unmet_wrote, unwritten;
} shadow_transition_t;

/** One access under way. */
typedef struct shadow_access {
	tsr_shadow_t *shadow;
	shadow_region_t *region;
	uint32_t operation; /* its entry in this epoch */
	int thread, region_number;
	const shadow_coop_t *coop; /* null: the thread is none */
	/* of the thread; looked at again after the view machine has acted */
	tsr_views_clock_t clock;
	bool write;
	/* what is written at `data_offset` of the region; null: unknown */
	const unsigned char *data;
	size_t data_offset;
	tsr_shadow_found_t *found;
	int ways;
	shadow_transition_t way[SHADOW_WAYS]; /* those met last, the latest first */
} shadow_access_t;

/* ------------------------------------------------------------------ shadow.c */

/** Room for one more of an array's elements. False, and `exhausted`: no memory. */
bool tsr_shadow_grow(tsr_shadow_t *shadow, void **array, uint32_t count, uint32_t *room,
		     size_t size);

/** The status of a call that may have run out of memory. */
tsr_status_t tsr_shadow_status(const tsr_shadow_t *shadow);

/**
 * The operation's entry in its thread's present epoch. Errors:
 * TSR_ERR_ARGUMENT: no operation, or one from before all was settled;
 * TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_shadow_enter(tsr_shadow_t *shadow, uint32_t operation, uint32_t *entry_out);

/** The entry's hollow twin, made where it has none. 0, and `exhausted`: no memory. */
uint32_t tsr_shadow_twin(tsr_shadow_t *shadow, uint32_t entry);

static inline shadow_operation_t *shadow_entry(const tsr_shadow_t *shadow, uint32_t operation)
{
	return &shadow->operations[operation - shadow->first];
}

/**
 * Whether nobody has written the bytes of a state that is no word, or somebody
 * what was unwritten itself.
 */
static inline bool shadow_is_unwritten(const tsr_shadow_t *shadow, shadow_state_t state)
{
	const uint32_t writer = shadow_writer(state);
	return writer == SHADOW_NOBODY ||
	       (writer > SHADOW_SETTLED && shadow_entry(shadow, writer)->hollow);
}

/**
 * Whether all of an operation's accesses in that entry happen before what comes
 * next in the thread that has the clock.
 */
static inline bool shadow_knows(const tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
				uint32_t operation)
{
	if (operation <= SHADOW_SETTLED)
		return true;
	const shadow_operation_t *entry = shadow_entry(shadow, operation);
	return tsr_views_clock_knows(clock, entry->component, entry->epoch);
}

/* ------------------------------------------------------------------ shadow_coops.c */

/** Null where the thread is no coop. */
static inline shadow_coop_t *shadow_coop_at(const tsr_shadow_t *shadow, int thread)
{
	return (uint32_t)thread < shadow->coop_count && shadow->coops[thread].call
		       ? &shadow->coops[thread]
		       : NULL;
}

/**
 * Whether an operation is one of the coop's, from another call that is not
 * ordered with the running one.
 */
bool tsr_shadow_is_unmet(const tsr_shadow_t *shadow, const shadow_coop_t *coop, int thread,
			 uint32_t operation);

/** The first of the readers that is, and is not by the same fragment at the same place; or 0. */
uint32_t tsr_shadow_unmet_reader(const tsr_shadow_t *shadow, const shadow_coop_t *coop, int thread,
				 uint32_t readers);

/** Says of bytes of the region that the coop has touched them without meeting since. */
void tsr_shadow_note_unmet(tsr_shadow_unmet_t *unmet, const shadow_operation_t *other,
			   bool other_wrote, size_t begin, size_t end);

/** Keeps an access to a word until the coop meets. */
void tsr_shadow_touch_word(tsr_shadow_t *shadow, int thread, const shadow_touch_t *touch);

/** An access against those that are kept. */
void tsr_shadow_check_touches(tsr_shadow_t *shadow, const shadow_coop_t *coop,
			      const tsr_shadow_range_t *range, bool wrote, bool atomic,
			      tsr_shadow_unmet_t *unmet);

/**
 * A word is made of memory that an operation has accessed plainly, perhaps one
 * of the coop's that makes it.
 */
void tsr_shadow_keep_past(tsr_shadow_t *shadow, uint32_t operation, bool wrote);

/** An ordered access to a word, which has been made: checks and keeps it. */
void tsr_shadow_word_acts(tsr_shadow_t *shadow, uint32_t entry, const tsr_shadow_word_t *word,
			  bool wrote);

/** All that was done is ordered; the shadow ends. */
void tsr_shadow_settle_coops(tsr_shadow_t *shadow);
void tsr_shadow_free_coops(tsr_shadow_t *shadow);

/* ------------------------------------------------------------------ shadow_sets.c */

/**
 * Readers as they are with one more, and without those that come before it.
 * What it returns has no holder yet.
 */
uint32_t tsr_shadow_add_reader(tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
			       uint32_t readers, uint32_t operation);

/**
 * Readers that are the sites of these accesses, of which some may come after
 * others. No holder yet.
 */
uint32_t tsr_shadow_readers_of(tsr_shadow_t *shadow, const tsr_views_past_t *pasts, uint32_t count);

/**
 * The first reader that does not come before what comes next in the thread that
 * has the clock, or 0.
 */
uint32_t tsr_shadow_unknown_reader(const tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
				   uint32_t readers);

/** The i-th of the readers; 0 after the last. */
uint32_t tsr_shadow_reader(const tsr_shadow_t *shadow, uint32_t readers, uint32_t i);

/**
 * `times` lines or segments more, and fewer, have the state: its set of readers
 * is held so often. Most states have none.
 */
void tsr_shadow_hold_set(tsr_shadow_t *shadow, shadow_state_t state, uint32_t times);
void tsr_shadow_drop_set(tsr_shadow_t *shadow, shadow_state_t state, uint32_t times);

static inline bool shadow_has_set(shadow_state_t state)
{
	return (shadow_readers(state) & SHADOW_SET) && !shadow_is_word(state);
}

static inline void shadow_hold(tsr_shadow_t *shadow, shadow_state_t state, uint32_t times)
{
	if (shadow_has_set(state))
		tsr_shadow_hold_set(shadow, state, times);
}

static inline void shadow_drop(tsr_shadow_t *shadow, shadow_state_t state, uint32_t times)
{
	if (shadow_has_set(state))
		tsr_shadow_drop_set(shadow, state, times);
}

/* ------------------------------------------------------------------ shadow_lines.c */

/** The segments of a line, made where it has none. Null, and `exhausted`: no memory. */
shadow_segments_t *tsr_shadow_open(tsr_shadow_t *shadow, shadow_region_t *region, size_t line);

/** Joins equal neighbours; a line that is the same all over has no segments any more. */
void tsr_shadow_close(tsr_shadow_t *shadow, shadow_region_t *region, size_t line);

/**
 * How many bits are set. What the compiler has for it is a call where it may
 * not use the instruction.
 */
static inline int shadow_count_bits(uint32_t bits)
{
	bits -= bits >> 1 & UINT32_C(0x55555555);
	bits = (bits & UINT32_C(0x33333333)) + (bits >> 2 & UINT32_C(0x33333333));
	bits = (bits + (bits >> 4)) & UINT32_C(0x0f0f0f0f);
	return (int)(bits * UINT32_C(0x01010101) >> 24);
}

/** The segment that has a byte of the line: of those that begin there or before, the last. */
static inline int shadow_segment_at(const shadow_segments_t *segments, int byte)
{
	return shadow_count_bits(segments->begins & (~UINT32_C(0) >> (SHADOW_LINE - 1 - byte))) - 1;
}

static inline int shadow_segment_end(const shadow_segments_t *segments, int i)
{
	return i + 1 < segments->count ? segments->begin[i + 1] : SHADOW_LINE;
}

/**
 * Makes a segment begin at this byte, which is within none that is a word. Its
 * index; -1, and `exhausted`: no memory.
 */
int tsr_shadow_split(tsr_shadow_t *shadow, shadow_segments_t *segments, int byte);

/**
 * Gives bytes of a line one state, whatever they had; words among them, which
 * may not stick out, end.
 */
void tsr_shadow_paint(tsr_shadow_t *shadow, shadow_region_t *region, size_t line, int begin,
		      int end, shadow_state_t state);

/** Notes that a line's record is no longer zero, and has changed. */
static inline void shadow_touch(shadow_region_t *region, size_t line)
{
	const size_t chunk = line / SHADOW_CHUNK;
	region->touched[chunk] = SHADOW_USED | SHADOW_UNSETTLED;
	if (chunk >= region->chunks)
		region->chunks = chunk + 1;
}

/* ------------------------------------------------------------------ shadow_words.c */

/**
 * Makes the word in a segment plain memory, where the access comes after all
 * that was done to it, and either writes or does not touch the whole of it: its
 * bytes are told apart again. False: it stays a word.
 */
bool tsr_shadow_demote(shadow_access_t *access, shadow_segments_t *segments, int i, bool whole);

/** A plain access to bytes of a word that stays one, of which the line's i-th segment consists. */
void tsr_shadow_word_access(shadow_access_t *access, size_t line, int i, size_t begin, size_t end);

/* ------------------------------------------------------------------ shadow_access.c */

/** Says of bytes of the region what was found there, where nothing was found before. */
void tsr_shadow_note_race(tsr_shadow_found_t *found, unsigned races,
			  const shadow_operation_t *other, bool other_wrote, size_t begin,
			  size_t end);
void tsr_shadow_note_unwritten(tsr_shadow_found_t *found, uint32_t by, size_t begin, size_t end);

#endif
