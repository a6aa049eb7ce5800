/*
 * The shadow: what is known of every byte of memory that an executor of one
 * thread explores, beside the memory itself.
 *
 *   Region     a piece of memory: a rank's heap, a block's shared memory. It
 *              belongs to the caller, who must go through the shadow.
 *   Operation  one call of the API by one thread of the view machine, by
 *   number. What races is named by operations.
 *   Word       2, 4 or 8 bytes that are accessed with an order: a location of
 *              the view machine, from the first such access on.
 *
 * A plain access that races with nothing reads the one value that is there, so
 * the values of plain memory need no history: they are in the region. For each
 * byte stands who wrote it last, and who has read it since and not been
 * overtaken by another reader (FastTrack). Words have the histories of the view
 * machine; the region holds their newest value. A plain access to a word is an
 * access to its location; one that comes after all that was done to it, and
 * writes it or touches a part, makes it plain again.
 *
 * Each line of 32 bytes has a record of 8 bytes, made when the line is first
 * touched: who wrote it, who reads it. Lines whose bytes differ, or that have
 * words, have more. Sets of readers are shared between lines. 16 columns of a
 * 16-bit type, the narrowest slices that ranks share a row in, are a line; with
 * lines of 64 bytes they were two segments of one.
 *
 * Called by: one thread at a time. Nothing depends on addresses or time: the
 * same calls give the same answers everywhere.
 * Errors, of all functions that return a status: TSR_ERR_NO_MEMORY, after which
 * the shadow can only be destroyed;
 * TSR_ERR_ARGUMENT for a range that is not in its region, or a word that is not
 * aligned.
 */
#ifndef TESSERA_EXPLORE_SHADOW_SHADOW_H
#define TESSERA_EXPLORE_SHADOW_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/views/views.h"

typedef struct tsr_shadow tsr_shadow_t;

/**
 * An earlier access of the same coop that nothing orders with this one: its
 * threads have not met in between.
 */
typedef struct tsr_shadow_unmet {
	uint32_t other; /* the operation; 0: none */
	bool other_wrote;
	size_t offset, bytes; /* in the region: the first bytes that both of them touch */
} tsr_shadow_unmet_t;

/** Who else an access races with, and where. */
typedef struct tsr_shadow_found {
	unsigned races;   /* as in tsr_views_event_t; 0: with nobody */
	uint32_t other;   /* the operation that it races with */
	int other_thread; /* which did that operation */
	bool other_wrote;
	size_t offset, bytes; /* in the region: the first bytes that both of them touch */

	/* a read: nobody has written some of the bytes since they were allocated */
	bool unwritten;
	/* the operation that has copied them from where they were unwritten; 0: none */
	uint32_t unwritten_by;
	size_t unwritten_offset, unwritten_bytes;

	tsr_shadow_unmet_t unmet;
} tsr_shadow_found_t;

/**
 * Rows of `bytes` bytes each, from `offset` on, `pitch` bytes from one to the
 * next. 0 rows are one.
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

/* ------------------------------------------------------------------ the shadow and its regions */

/**
 * @param views   the machine that has the threads. Locations are the shadow's
 *                own to make and end; the machine outlives it.
 * @param values  whether accesses move values. False: the caller does, in a
 *                memory of its own, and the shadow writes no region.
 */
tsr_status_t tsr_shadow_create(tsr_views_t *views, bool values, tsr_shadow_t **shadow_out);

/** Null is no shadow. */
void tsr_shadow_destroy(tsr_shadow_t *shadow);

/** Memory that nobody has written. Numbers of regions that have ended are given again. */
tsr_status_t tsr_shadow_add_region(tsr_shadow_t *shadow, unsigned char *memory, size_t bytes,
				   int *region_out);

/** Forgets the region; the memory is the caller's. */
void tsr_shadow_end_region(tsr_shadow_t *shadow, int region);

/** These bytes are allocated anew: nobody has written them. The values stay. */
tsr_status_t tsr_shadow_fresh(tsr_shadow_t *shadow, int region, size_t offset, size_t bytes);

/**
 * These bytes were written before everything, by nobody in particular: what the
 * caller has put there past the shadow.
 */
tsr_status_t tsr_shadow_given(tsr_shadow_t *shadow, int region, size_t offset, size_t bytes);

/**
 * All that was done happens before all that will be done, as when all ranks
 * have met and no kernel runs: who did what is forgotten, and memory with it.
 * Operations from before may not be used again.
 */
tsr_status_t tsr_shadow_settle(tsr_shadow_t *shadow);

/** The memory that the shadow has taken, with its view machine's. */
size_t tsr_shadow_size_bytes(const tsr_shadow_t *shadow);

/* ------------------------------------------------------------------ operations */

/** A number for a call that the thread makes. Numbers grow, are never 0, and some are left out. */
tsr_status_t tsr_shadow_operation(tsr_shadow_t *shadow, int thread, uint32_t *operation_out);

/** All below this number are forgotten: no access will name them. */
uint32_t tsr_shadow_first_operation(const tsr_shadow_t *shadow);

/* ------------------------------------------------------------------ coops */

/** What a call is. */
typedef struct tsr_shadow_call {
	/* it reads for the coop what the coop is known to have read before it goes on */
	bool apart;
	/* a fragment and its place, as a number: a load and a later store of one need no meeting.
	 * 0: none */
	uint32_t tile;
} tsr_shadow_call_t;

/**
 * The thread stands for a coop of several, and begins a call: what it does next
 *  races with what its earlier calls did, but for those before the last
 *  meeting.
 */
tsr_status_t tsr_shadow_call(tsr_shadow_t *shadow, int thread, const tsr_shadow_call_t *call);

/**
 * The coop's threads meet: what any of them has done happens before what each
 * of them does next.
 */
tsr_status_t tsr_shadow_meet(tsr_shadow_t *shadow, int thread);

/** The coop has ended. */
void tsr_shadow_end_coop(tsr_shadow_t *shadow, int thread);

/** What the last ordered access found of its own coop. */
const tsr_shadow_unmet_t *tsr_shadow_unmet(const tsr_shadow_t *shadow);

/* ------------------------------------------------------------------ plain accesses */

/** Reads into `to`, whose rows are `to_pitch` bytes apart. Null: nothing is moved. */
tsr_status_t tsr_shadow_read(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_shadow_range_t *range, void *to, size_t to_pitch,
			     tsr_shadow_found_t *found_out);

/** Writes what stands at `from`. Null: nothing is moved. */
tsr_status_t tsr_shadow_write(tsr_shadow_t *shadow, uint32_t operation,
			      const tsr_shadow_range_t *range, const void *from, size_t from_pitch,
			      tsr_shadow_found_t *found_out);

/**
 * Reads one range and writes another of as many rows and bytes, which may
 * overlap it. Bytes that nobody has written are unwritten where they come, too.
 * @param seen       what it has read, where that is not what the region holds:
 *                   dense rows that far apart. Null: it is
 * @param found_out  two: what was found where it reads, and where it writes
 */
tsr_status_t tsr_shadow_copy(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_shadow_range_t *from, const tsr_shadow_range_t *to,
			     const void *seen, size_t seen_pitch, tsr_shadow_found_t found_out[2]);

/* ------------------------------------------------------------------ ordered accesses */

/*
 * Of `access`, location and site are the shadow's. Values are those of the
 * word's size. An event's other_site is an operation. Words of different sizes
 * that overlap are told apart by nobody: an access to one is taken for a plain
 * access by the other.
 */

/** In how many ways the access can act now: tsr_views_choices. A fence has no word. */
tsr_status_t tsr_shadow_choices(tsr_shadow_t *shadow, uint32_t operation,
				const tsr_views_access_t *access, const tsr_shadow_word_t *word,
				int *choices_out);

/** What a choice would read: tsr_views_peek. */
tsr_status_t tsr_shadow_peek(tsr_shadow_t *shadow, uint32_t operation,
			     const tsr_views_access_t *access, const tsr_shadow_word_t *word,
			     int choice, uint64_t *value_out, bool *initial_out);

/** Acts: tsr_views_act. */
tsr_status_t tsr_shadow_act(tsr_shadow_t *shadow, uint32_t operation,
			    const tsr_views_access_t *access, const tsr_shadow_word_t *word,
			    int choice, tsr_views_event_t *event_out);

#endif
