/*
 * Which states of collectives on streams this rank has used so far, and how:
 * always in one team, and by one call at a time.
 */
#ifndef TESSERA_WORLD_STATE_USES_H
#define TESSERA_WORLD_STATE_USES_H

#include "src/base/place.h"
#include "src/world/stream.h"

/** A state, since its first use. */
typedef struct tsr_state_use {
	struct tsr_state_use *next;
	size_t offset;        /* in the heap, or in the room for windows */
	uint64_t team_number; /* of the team that it belongs to */
	char team[TSR_TEAM_NAME];
	int topic;                 /* of the board: its calls */
	int64_t clears;            /* how often the host has cleared it since then */
	struct tsr_far_calls *far; /* those not compared yet with far ranks; null: none so far */
	/* its last use: the work, the place of the call, and whether its order may be unknown */
	tsr_tick_t work;
	tsr_place_t place;
	bool unknown;
} tsr_state_use_t;

/** What a call needs of that. */
typedef struct tsr_state_now {
	int topic;
	int64_t clears;
	tsr_tick_t work;
	tsr_state_use_t *use;
} tsr_state_now_t;

/**
 * Notes that `call` is about to use the state at this offset on the stream.
 * Errors: TSR_ERR_ARGUMENT (it belongs to another team, or another stream may
 * use it at the same time), TSR_ERR_NO_MEMORY, those of tsr_board_find.
 */
tsr_status_t tsr_uses_begin(tsr_stream_t *stream, const char *call, size_t offset,
			    tsr_state_now_t *now_out);

/** The host has stored to this range of the heap on this rank. */
void tsr_uses_stored(tsr_world_t *world, size_t begin, size_t end);

/** Writes "'name'+offset" of an offset, or "heap offset N"; returns it. */
const char *tsr_uses_name(const tsr_world_t *world, size_t offset, char text[64]);

/** The states that begin in this range are freed, on all ranks. */
void tsr_uses_drop(tsr_world_t *world, size_t begin, size_t end);

/** The stream is destroyed: its work has ended. */
void tsr_uses_forget_stream(const tsr_stream_t *stream);

/** The world ends. */
void tsr_uses_end(tsr_world_t *world);

#endif
