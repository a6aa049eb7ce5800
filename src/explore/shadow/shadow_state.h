/* The state of a shadow. Only its own files use it. */
#ifndef TESSERA_EXPLORE_SHADOW_SHADOW_STATE_H
#define TESSERA_EXPLORE_SHADOW_SHADOW_STATE_H

#include "src/explore/shadow/shadow.h"

enum {
	SHADOW_LINE = 32, /* bytes with one record */
	/* lines whose records are in one page; a page is touched or not */
	SHADOW_CHUNK = 512,
	SHADOW_WAYS = 8,      /* size of the cache of transitions */
	SHADOW_FEW = 4,       /* segments that need no separate memory */
	SHADOW_USED = 1,      /* a record is not zero */
	SHADOW_UNSETTLED = 2, /* a record may have changed since the last settling */
	SHADOW_NOBODY = 0,    /* in place of an operation: nobody has written, or nobody reads */
	SHADOW_SETTLED = 1,   /* written or read before everything that counts */
	SHADOW_FIRST = 2,     /* the first operation */
	SHADOW_OPERATIONS = 0x7fffffff
};

/*
 * The state of a byte, in one word: the last writer in the low half; the
 * readers since then in the high half (nobody, an operation, or a set). A
 * special value in the low half means that the high half is the location of a
 * word, or (only in a line's record) the line's segments.
 */
typedef uint64_t shadow_state_t;

#define SHADOW_WORD UINT32_C(0xfffffffe)
#define SHADOW_SEGMENTS UINT32_C(0xffffffff)
#define SHADOW_SET UINT32_C(0x80000000) /* in the readers: the index of a set */

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
 * An operation in one epoch and one call of its thread. If it continues in a
 * later epoch or call, it gets another entry, with a number of its own.
 */
typedef struct shadow_operation {
	int thread, component;
	tsr_epoch_t epoch;
	uint32_t origin; /* the number that the caller knows */
	uint32_t latest; /* for the origin: its last entry */
	/* call of its coop; 0: its thread is no coop, or is ordered with the coop's other
	 * threads */
	uint32_t call;
	uint32_t tile; /* as in tsr_shadow_call_t */
	bool atomic;
	/* the entry that stands for its copies of unwritten bytes; 0: none yet */
	uint32_t twin;
	/* this is such an entry: what it has written counts as unwritten, but races as usual */
	bool hollow;
} shadow_operation_t;

/** An access to a word by a coop that has not met since then. */
typedef struct shadow_touch {
	int region;
	size_t offset, bytes;
	uint32_t entry;
	bool wrote, atomic;
} shadow_touch_t;

/**
 * A thread of the view machine that stands for several threads: shadow_coops.c.
 */
typedef struct shadow_coop {
	/* the current call, and the last call before its last meeting; 0: no coop */
	uint32_t call, met;
	tsr_shadow_call_t is;
	shadow_touch_t *touch;
	uint32_t touch_count, touch_room;
} shadow_coop_t;

/**
 * The thread that makes a word, and the bytes of the word whose earlier
 * accesses are checked.
 */
typedef struct shadow_acting {
	int thread, region;
	size_t offset, bytes; /* 0 bytes: none */
} shadow_acting_t;

/**
 * A set of readers; usually none is ordered before another. It never changes,
 * and all lines that hold it share it.
 */
typedef struct shadow_set {
	uint32_t holders, count;
	uint32_t reader[];
} shadow_set_t;

/**
 * The segments of a line whose bytes differ: state[i] holds from begin[i] on. A
 * few are in the record itself, so that one memory access is enough to see a
 * line.
 */
typedef struct shadow_segments {
	uint8_t count, room, few_begin[SHADOW_FEW];
	uint32_t begins; /* one bit for each byte at which a segment begins */
	/* the few, or with more segments a block of memory that also contains `begin` */
	shadow_state_t *state;
	uint8_t *begin;
	shadow_state_t few_state[SHADOW_FEW];
} shadow_segments_t;

typedef struct shadow_region {
	unsigned char *memory; /* null: the region has ended */
	size_t bytes, lines;
	shadow_state_t *line;
	/* for each chunk, flags that hold for some of its records: SHADOW_USED, SHADOW_UNSETTLED */
	unsigned char *touched;
	/* number of chunks up to the last that was ever touched; heaps are large, and are used from
	 * their beginning */
	size_t chunks;
	bool mapped;
} shadow_region_t;

struct tsr_shadow {
	tsr_views_t *views;
	bool values, exhausted;

	shadow_region_t *regions;
	int region_count, *free_regions, free_region_count;
	uint32_t region_room, free_region_room;

	shadow_operation_t *operations; /* beginning with number `first` */
	uint32_t first, operation_count, operation_room;

	shadow_set_t **sets;
	uint32_t set_count, set_room, *free_sets, free_set_count, free_set_room;

	shadow_segments_t *segments;
	uint32_t segments_count, segments_room, *free_segments, free_segments_count;

	shadow_coop_t *coops; /* indexed by thread */
	uint32_t coop_count, coop_room;
	shadow_acting_t acting;
	tsr_shadow_unmet_t unmet; /* of the last ordered access */

	tsr_views_past_t *pasts; /* used while a location is made */
	uint32_t past_count, past_room;
	size_t bytes; /* size of sets, and of segments with memory of their own */
};

/** The effect of an access on a state, and what must be reported. */
typedef struct shadow_transition {
	shadow_state_t from, to;
	uint32_t other; /* the operation with which it races, or 0 */
	uint32_t unmet; /* the same within the coop */
	bool other_wrote, unmet_wrote, unwritten;
} shadow_transition_t;

/** An access in progress. */
typedef struct shadow_access {
	tsr_shadow_t *shadow;
	shadow_region_t *region;
	uint32_t operation; /* its entry in this epoch */
	int thread, region_number;
	const shadow_coop_t *coop; /* null: the thread is no coop */
	/* the thread's clock; read again after the view machine has acted */
	tsr_views_clock_t clock;
	bool write;
	/* the bytes to write, for `data_offset` of the region; null: unknown */
	const unsigned char *data;
	size_t data_offset;
	tsr_shadow_found_t *found;
	int ways;
	shadow_transition_t way[SHADOW_WAYS]; /* the last transitions, the latest first */
} shadow_access_t;

/* ------------------------------------------------------------ shadow.c */

/**
 * Makes room for one more element of an array. Returns false, and sets
 * `exhausted`, if there is no memory.
 */
bool tsr_shadow_grow(tsr_shadow_t *shadow, void **array, uint32_t count, uint32_t *room,
		     size_t size);

/** The status of a call that may have run out of memory. */
tsr_status_t tsr_shadow_status(const tsr_shadow_t *shadow);

/**
 * The operation's entry in the current epoch of its thread. Errors:
 * TSR_ERR_ARGUMENT (no operation, or one from before the last settling),
 * TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_shadow_enter(tsr_shadow_t *shadow, uint32_t operation, uint32_t *entry_out);

/**
 * The entry's hollow twin; made if it does not exist. 0, and `exhausted`, if
 * there is no memory.
 */
uint32_t tsr_shadow_twin(tsr_shadow_t *shadow, uint32_t entry);

static inline shadow_operation_t *shadow_entry(const tsr_shadow_t *shadow, uint32_t operation)
{
	return &shadow->operations[operation - shadow->first];
}

/**
 * For a state that is no word: whether the bytes are unwritten, or copied from
 * unwritten bytes.
 */
static inline bool shadow_is_unwritten(const tsr_shadow_t *shadow, shadow_state_t state)
{
	const uint32_t writer = shadow_writer(state);
	return writer == SHADOW_NOBODY ||
	       (writer > SHADOW_SETTLED && shadow_entry(shadow, writer)->hollow);
}

/**
 * Whether all accesses of an operation in that entry happen before what the
 * thread with this clock does next.
 */
static inline bool shadow_knows(const tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
				uint32_t operation)
{
	if (operation <= SHADOW_SETTLED)
		return true;
	const shadow_operation_t *entry = shadow_entry(shadow, operation);
	return tsr_views_clock_knows(clock, entry->component, entry->epoch);
}

/* ----------------------------------------------------------- shadow_coops.c */

/** Null if the thread is no coop. */
static inline shadow_coop_t *shadow_coop_at(const tsr_shadow_t *shadow, int thread)
{
	return (uint32_t)thread < shadow->coop_count && shadow->coops[thread].call
		       ? &shadow->coops[thread]
		       : NULL;
}

/**
 * Whether the last writer belongs to the coop, and to another call that is not
 * ordered with the current one; unless both save or load one state at one place.
 */
bool tsr_shadow_unmet_writer(const tsr_shadow_t *shadow, const shadow_coop_t *coop, int thread,
			     uint32_t writer);

/**
 * The first of the readers that belongs to the coop in the same way, and is not
 * made by the same fragment at the same place; or 0.
 */
uint32_t tsr_shadow_unmet_reader(const tsr_shadow_t *shadow, const shadow_coop_t *coop, int thread,
				 uint32_t readers);

/**
 * Whether a reader of the coop is to be kept beside a later one, though it is
 * ordered before that: the later one, of a fragment at a place, needs no meeting
 * with a write by that fragment there, and the other does.
 */
bool tsr_shadow_unmet_outlives(const tsr_shadow_t *shadow, uint32_t reader, uint32_t operation);

/**
 * Reports that the coop has accessed these bytes of the region without meeting
 * since then.
 */
void tsr_shadow_note_unmet(tsr_shadow_unmet_t *unmet, const shadow_operation_t *other,
			   bool other_wrote, size_t begin, size_t end);

/** Keeps an access to a word until the coop meets. */
void tsr_shadow_touch_word(tsr_shadow_t *shadow, int thread, const shadow_touch_t *touch);

/** Compares an access with those that are kept. */
void tsr_shadow_check_touches(tsr_shadow_t *shadow, const shadow_coop_t *coop,
			      const tsr_shadow_range_t *range, bool wrote, bool atomic,
			      tsr_shadow_unmet_t *unmet);

/**
 * A word is made of memory that an operation has accessed plainly, perhaps one
 * of the same coop.
 */
void tsr_shadow_keep_past(tsr_shadow_t *shadow, uint32_t operation, bool wrote);

/** Checks and keeps an ordered access to a word, which has been made. */
void tsr_shadow_word_acts(tsr_shadow_t *shadow, uint32_t entry, const tsr_shadow_word_t *word,
			  bool wrote);

/** Everything before is ordered; and the end of the shadow. */
void tsr_shadow_settle_coops(tsr_shadow_t *shadow);
void tsr_shadow_free_coops(tsr_shadow_t *shadow);

/* ------------------------------------------------------------ shadow_sets.c */

/**
 * The readers with one more, and without those ordered before it. The result
 * has no holder yet.
 */
uint32_t tsr_shadow_add_reader(tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
			       uint32_t readers, uint32_t operation);

/**
 * A set of readers from the sites of these accesses, some of which may be
 * ordered. It has no holder yet.
 */
uint32_t tsr_shadow_readers_of(tsr_shadow_t *shadow, const tsr_views_past_t *pasts, uint32_t count);

/**
 * The first reader that is not ordered before what the thread with this clock
 * does next, or 0.
 */
uint32_t tsr_shadow_unknown_reader(const tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
				   uint32_t readers);

/** The i-th reader; 0 after the last. */
uint32_t tsr_shadow_reader(const tsr_shadow_t *shadow, uint32_t readers, uint32_t i);

/**
 * The number of lines or segments with this state grows, or shrinks, by
 * `times`: so does the number of holders of its set of readers. Most states
 * have no set.
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

/* ----------------------------------------------------------- shadow_lines.c */

/**
 * The segments of a line; made if there are none. Null, and `exhausted`, if
 * there is no memory.
 */
shadow_segments_t *tsr_shadow_open(tsr_shadow_t *shadow, shadow_region_t *region, size_t line);

/** Joins equal neighbours. If the whole line is equal, removes its segments. */
void tsr_shadow_close(tsr_shadow_t *shadow, shadow_region_t *region, size_t line);

/**
 * The number of set bits. The compiler's builtin is a function call where the
 * instruction is not available.
 */
static inline int shadow_count_bits(uint32_t bits)
{
	bits -= bits >> 1 & UINT32_C(0x55555555);
	bits = (bits & UINT32_C(0x33333333)) + (bits >> 2 & UINT32_C(0x33333333));
	bits = (bits + (bits >> 4)) & UINT32_C(0x0f0f0f0f);
	return (int)(bits * UINT32_C(0x01010101) >> 24);
}

/**
 * The segment that contains a byte of the line: the last one that begins at or
 * before it.
 */
static inline int shadow_segment_at(const shadow_segments_t *segments, int byte)
{
	return shadow_count_bits(segments->begins & (~UINT32_C(0) >> (SHADOW_LINE - 1 - byte))) - 1;
}

static inline int shadow_segment_end(const shadow_segments_t *segments, int i)
{
	return i + 1 < segments->count ? segments->begin[i + 1] : SHADOW_LINE;
}

/**
 * Makes a segment begin at this byte, which is not inside a word. Returns its
 * index; -1, and `exhausted`, if there is no memory.
 */
int tsr_shadow_split(tsr_shadow_t *shadow, shadow_segments_t *segments, int byte);

/**
 * Gives bytes of a line one state, whatever they had. Words that are completely
 * inside them end; no word may be partly inside.
 */
void tsr_shadow_paint(tsr_shadow_t *shadow, shadow_region_t *region, size_t line, int begin,
		      int end, shadow_state_t state);

/** Notes that a line's record is not zero any more, and has changed. */
static inline void shadow_touch(shadow_region_t *region, size_t line)
{
	const size_t chunk = line / SHADOW_CHUNK;
	region->touched[chunk] = SHADOW_USED | SHADOW_UNSETTLED;
	if (chunk >= region->chunks)
		region->chunks = chunk + 1;
}

/* ----------------------------------------------------------- shadow_words.c */

/**
 * Makes the word in a segment plain memory again, if the access is ordered
 * after everything that was done to it, and either writes or does not access
 * all of it. Returns false if it stays a word.
 */
bool tsr_shadow_demote(shadow_access_t *access, shadow_segments_t *segments, int i, bool whole);

/**
 * A plain access to bytes of a word that stays one. The word is the line's i-th
 * segment.
 */
void tsr_shadow_word_access(shadow_access_t *access, size_t line, int i, size_t begin, size_t end);

/* ---------------------------------------------------------- shadow_access.c */

/**
 * Report what was found for bytes of the region, unless something was found
 * before.
 */
void tsr_shadow_note_race(tsr_shadow_found_t *found, unsigned races,
			  const shadow_operation_t *other, bool other_wrote, size_t begin,
			  size_t end);
void tsr_shadow_note_unwritten(tsr_shadow_found_t *found, uint32_t by, size_t begin, size_t end);

#endif
