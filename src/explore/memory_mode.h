/*
 * The memory that fibres see: which values reads return, and when a wait ends.
 * In every mode the shadow finds races and everything else that is reported of
 * an access. The modes differ in where values come from.
 *
 *   Views:      the shadow's memory, and the messages of the view machine. With
 *               --weak off always the newest message.
 *   Cache:      the cache machine. Home is the program's memory, and the shadow
 *               keeps the newest values in a mirror of its own.
 *
 * Only the files of this folder that implement an exploration use this header.
 */
#ifndef TESSERA_EXPLORE_MEMORY_MODE_H
#define TESSERA_EXPLORE_MEMORY_MODE_H

#include "src/explore/schedule/explorer.h"
#include "src/explore/shadow/shadow.h"

struct tsr_exploration;
struct tsr_area;
struct tsr_actor;
struct tsr_flag_wait;

/** Rows of an area. */
typedef struct tsr_span {
	const struct tsr_area *area;
	tsr_shadow_range_t range;
} tsr_span_t;

/** An ordered access to a word of an area. */
typedef struct tsr_ordered {
	uint32_t operation;
	const tsr_views_access_t *access;
	const struct tsr_area *area;
	tsr_shadow_word_t word;
} tsr_ordered_t;

/**
 * A mode's functions. The acting fibre calls them, except `satisfying` and
 * `late`.
 */
typedef struct tsr_memory_mode {
	tsr_status_t (*open)(struct tsr_exploration *x);
	void (*close)(struct tsr_exploration *x);
	size_t (*size_bytes)(const struct tsr_exploration *x);

	/** An area is added, and ends. The first call sets `newest`. */
	tsr_status_t (*add_area)(struct tsr_exploration *x, struct tsr_area *area);
	void (*end_area)(struct tsr_exploration *x, struct tsr_area *area);

	/** A fibre begins; a worker ends. */
	tsr_status_t (*begin)(struct tsr_exploration *x, const tsr_task_who_t *who,
			      struct tsr_actor *actor);
	tsr_status_t (*end)(struct tsr_exploration *x, const tsr_task_who_t *who,
			    struct tsr_actor *actor);

	/** Plain accesses, as tsr_shadow_read and the calls after it. */
	tsr_status_t (*read)(struct tsr_exploration *x, uint32_t operation, const tsr_span_t *span,
			     void *to, size_t to_pitch, tsr_shadow_found_t *found_out);
	tsr_status_t (*write)(struct tsr_exploration *x, uint32_t operation, const tsr_span_t *span,
			      const void *from, size_t from_pitch, tsr_shadow_found_t *found_out);
	tsr_status_t (*copy)(struct tsr_exploration *x, uint32_t operation, const tsr_span_t *from,
			     const tsr_span_t *to, tsr_shadow_found_t found_out[2]);

	/**
	 * After a scheduling point: makes the choice of an ordered access, or (null) lets things
	 * happen by themselves before a plain access.
	 */
	tsr_status_t (*choose)(struct tsr_exploration *x, const tsr_ordered_t *ordered,
			       int *choice_out);
	tsr_status_t (*act)(struct tsr_exploration *x, const tsr_ordered_t *ordered, int choice,
			    tsr_views_event_t *event_out);

	/**
	 * A fence, in addition to the view machine's; a meeting at which the caller arrives; one of
	 * its own threads, behind which a kernel may itself look into shared memory; a flush, which
	 * completes the caller's stores to peers.
	 */
	tsr_status_t (*fence)(struct tsr_exploration *x, const tsr_views_access_t *access);
	tsr_status_t (*meet)(struct tsr_exploration *x);
	tsr_status_t (*met)(struct tsr_exploration *x);
	tsr_status_t (*flush)(struct tsr_exploration *x);

	/**
	 * The `n`-th choice that reads a value for which the wait ends, or -1. If all choices were
	 * examined, writes their number to `*count_out`. Changes nothing.
	 */
	int (*satisfying)(struct tsr_exploration *x, const tsr_ordered_t *ordered,
			  const struct tsr_flag_wait *wait, int n, int *count_out);

	/**
	 * The caller's wait ends with this word. `*enough_out` is false if stores that were late
	 * have arrived meanwhile and the wait must continue.
	 */
	tsr_status_t (*arrive)(struct tsr_exploration *x, const tsr_ordered_t *ordered,
			       const struct tsr_flag_wait *wait, bool *enough_out);

	/**
	 * For the explorer, when no task can run: whether something late may still arrive. Null:
	 * nothing is ever late.
	 */
	bool (*late)(void *x);
} tsr_memory_mode_t;

extern const tsr_memory_mode_t tsr_memory_views, tsr_memory_cache;

#endif
