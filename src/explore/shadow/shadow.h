/*
 * The shadow: what is known of every byte of memory that is explored, apart
 * from its value. The executor has one thread.
 *
 *   Region:     a piece of memory: a rank's heap, or a block's shared memory.
 *               The caller owns it and must access it through the shadow.
 *   Operation:  one call of the API by one thread of the view machine, as a
 *               number. Races are reported by operations.
 *   Word:       2, 4 or 8 bytes that are accessed with an order: a location of
 *               the view machine, from the first such access on.
 *
 * A plain access without a race reads the only value that is there. So plain
 * memory needs no history: its values are in the region. For each byte the
 * shadow stores who wrote it last, and who has read it since without being
 * ordered before a later reader (FastTrack). Words have the histories of the
 * view machine; the region holds their newest value. A plain access to a word
 * is an access to its location. If it comes after all earlier accesses to the
 * word, and writes it or accesses a part of it, the word becomes plain memory
 * again.
 *
 * Each line of 32 bytes has a record of 8 bytes, made when the line is first
 * accessed: who wrote it, who reads it. Lines whose bytes differ, or that
 * contain words, have more. Lines share sets of readers. Why 32 bytes: a line
 * is 16 columns of a 16-bit type, the narrowest slice of a row that belongs to
 * one rank; a line of 64 bytes would need two segments.
 *
 * Called by:  one thread at a time. Nothing depends on addresses or time: the
 *             same calls always give the same answers.
 * Errors:     of all functions that return a status: TSR_ERR_NO_MEMORY, after
 *             which the shadow can only be destroyed; TSR_ERR_ARGUMENT for a
 *             range outside its region, or a word that is not aligned.
 */
#ifndef TESSERA_EXPLORE_SHADOW_SHADOW_H
#define TESSERA_EXPLORE_SHADOW_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/views/views.h"

typedef struct tsr_shadow tsr_shadow_t;

/**
 * An earlier access of the same coop that nothing orders with this one, because
 * the coop's threads have not met in between.
 */
typedef struct tsr_shadow_unmet {
	uint32_t other; /* the operation; 0: none */
	bool other_wrote;
	size_t offset, bytes; /* in the region: the first bytes that both access */
} tsr_shadow_unmet_t;

/** The operation with which an access races, and the place. */
typedef struct tsr_shadow_found {
	unsigned races;   /* as in tsr_views_event_t; 0: none */
	uint32_t other;   /* the other operation */
	int other_thread; /* its thread */
	bool other_wrote;
	size_t offset, bytes; /* in the region: the first bytes that both access */

	/* for a read: nobody has written some of the bytes since they were allocated */
	bool unwritten;
	/* the operation that copied them from unwritten memory; 0: none */
	uint32_t unwritten_by;
	size_t unwritten_offset, unwritten_bytes;

	tsr_shadow_unmet_t unmet;
} tsr_shadow_found_t;

/**
 * Rows of `bytes` bytes each, beginning at `offset`, `pitch` bytes from one to
 * the next. 0 rows count as one.
 */
typedef struct tsr_shadow_range {
	int region;
	size_t offset, bytes, rows, pitch;
} tsr_shadow_range_t;

/** A word: 2, 4 or 8 bytes, aligned to its size within the region. */
typedef struct tsr_shadow_word {
	int region;
	size_t offset, bytes;
} tsr_shadow_word_t;

/* ----------------------------------------------- the shadow and its regions */

/**
 * Creates a shadow.
 * @param views  the machine that has the threads. The shadow makes and ends its
 *               locations; the machine outlives the shadow.
 * @param values  whether accesses move values. False: the caller does, in
 *                memory of its own, and the shadow writes no region.
 */
tsr_status_t tsr_shadow_create(tsr_views_t *views, bool values, tsr_shadow_t **shadow_out);

/** Null is allowed. */
void tsr_shadow_destroy(tsr_shadow_t *shadow);

/** Adds memory that nobody has written. Numbers of ended regions are reused. */
tsr_status_t tsr_shadow_add_region(tsr_shadow_t *shadow, unsigned char *memory, size_t bytes,
				   int *region_out);

/** Removes the region; the caller owns the memory. */
void tsr_shadow_end_region(tsr_shadow_t *shadow, int region);

/**
 * Marks bytes as allocated anew: nobody has written them. Their values stay.
 */
tsr_status_t tsr_shadow_fresh(tsr_shadow_t *shadow, int region, size_t offset, size_t bytes);

/**
 * Marks bytes as written before everything else: the caller has written them
 * without the shadow.
 */
tsr_status_t tsr_shadow_given(tsr_shadow_t *shadow, int region, size_t offset, size_t bytes);

/**
 * Orders everything before with everything after, as when all ranks have met
 * and no kernel runs. The shadow forgets who did what, and frees the memory.
 * Earlier operations may not be used again.
 */
tsr_status_t tsr_shadow_settle(tsr_shadow_t *shadow);

/** The size of the shadow's memory, including its view machine's. */
size_t tsr_shadow_size_bytes(const tsr_shadow_t *shadow);

/* ------------------------------------------------------------ operations */

/**
 * A number for a call of the thread. Numbers grow, are never 0, and have gaps.
 */
tsr_status_t tsr_shadow_operation(tsr_shadow_t *shadow, int thread, uint32_t *operation_out);

/** Operations below this number are forgotten: no access reports them. */
uint32_t tsr_shadow_first_operation(const tsr_shadow_t *shadow);

/* ------------------------------------------------------------ coops */

/** Properties of a call. */
typedef struct tsr_shadow_call {
	/* it reads operands for the coop, which the coop has read completely before it continues */
	bool apart;
	/* `tile` is the place of a state that is saved and loaded: no order of these needs a
	 * meeting */
	bool saved;
	/* number of a fragment and its place, whose load and later store need no meeting; 0:
	 * none */
	uint32_t tile;
} tsr_shadow_call_t;

/**
 * The thread stands for a coop with several threads, and begins a call. Its
 * next accesses race with those of its earlier calls, except for calls before
 * the last meeting.
 */
tsr_status_t tsr_shadow_call(tsr_shadow_t *shadow, int thread, const tsr_shadow_call_t *call);

/**
 * The coop's threads meet: what any of them did happens before what each does
 * next.
 */
tsr_status_t tsr_shadow_meet(tsr_shadow_t *shadow, int thread);

/** The coop has ended. */
void tsr_shadow_end_coop(tsr_shadow_t *shadow, int thread);

/** What the last ordered access found about its own coop. */
const tsr_shadow_unmet_t *tsr_shadow_unmet(const tsr_shadow_t *shadow);

/* ----------------------------------------------------------- plain accesses */

/**
 * Reads into `to`, whose rows are `to_pitch` bytes apart. Null: no values are
 * moved.
 */
tsr_status_t tsr_shadow_read(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_shadow_range_t *range, void *to, size_t to_pitch,
			     tsr_shadow_found_t *found_out);

/** Writes the bytes at `from`. Null: no values are moved. */
tsr_status_t tsr_shadow_write(tsr_shadow_t *shadow, uint32_t operation,
			      const tsr_shadow_range_t *range, const void *from, size_t from_pitch,
			      tsr_shadow_found_t *found_out);

/**
 * Reads one range and writes another with as many rows and bytes; they may
 * overlap. Unwritten bytes are unwritten at their new place, too.
 * @param seen  the bytes read, if they differ from those in the region: dense
 *              rows `seen_pitch` apart. Null: they do not.
 * @param found_out  two: what was found for the read, and for the write
 */
tsr_status_t tsr_shadow_copy(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_shadow_range_t *from, const tsr_shadow_range_t *to,
			     const void *seen, size_t seen_pitch, tsr_shadow_found_t found_out[2]);

/* --------------------------------------------------------- ordered accesses */

/*
 * The shadow fills in location and site of `access`. Values have the word's
 * size. An event's other_site is an operation. Words of different sizes that
 * overlap are not distinguished: an access to one counts as a plain access to
 * the other.
 */

/**
 * The number of effects that the access can have now: tsr_views_choices. A
 * fence has no word.
 */
tsr_status_t tsr_shadow_choices(tsr_shadow_t *shadow, uint32_t operation,
				const tsr_views_access_t *access, const tsr_shadow_word_t *word,
				int *choices_out);

/** The value that a choice would read: tsr_views_peek. */
tsr_status_t tsr_shadow_peek(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_views_access_t *access, const tsr_shadow_word_t *word,
			     int choice, uint64_t *value_out, bool *initial_out);

/**
 * The number of values that the word has had since it was first accessed with an
 * order, that of then included.
 */
tsr_status_t tsr_shadow_values(tsr_shadow_t *shadow, const tsr_shadow_word_t *word, int *count_out);

/**
 * The `n`-th of these, from the oldest on, and the operation that wrote it; 0,
 * and no value: it was there before.
 */
tsr_status_t tsr_shadow_had(tsr_shadow_t *shadow, const tsr_shadow_word_t *word, int n,
			    uint64_t *value_out, uint32_t *operation_out);

/** Whether nobody has written some of a word's bytes. */
bool tsr_shadow_is_unwritten(const tsr_shadow_t *shadow, const tsr_shadow_word_t *word);

/** Performs the access: tsr_views_act. */
tsr_status_t tsr_shadow_act(tsr_shadow_t *shadow, uint32_t operation,
			    const tsr_views_access_t *access, const tsr_shadow_word_t *word,
			    int choice, tsr_views_event_t *event_out);

#endif
