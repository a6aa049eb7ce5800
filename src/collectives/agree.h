/* What the members of a team must pass alike to a collective on a stream. */
#ifndef TESSERA_COLLECTIVES_AGREE_H
#define TESSERA_COLLECTIVES_AGREE_H

#include "src/bootstrap/board.h"
#include "src/collectives/args.h"
#include "src/collectives/matrix.h"
#include "src/world/stream.h"

/** A call as it was made, with the matrices that its tensors become. */
typedef struct tsr_agree_call {
	const char *name;
	tsr_stream_t *stream;
	const tsr_tensor_t *dst, *src;
	const tsr_matrices_t *to, *from;
	int split, place; /* dimensions of the tensors; `place` of an all-to-all only */
	const tsr_stream_collective_args_t *args;
} tsr_agree_call_t;

/**
 * Compares the call with those of the members on this node that have made it
 * already; the others compare with this one. Called just before the launch, by
 * every collective on a stream. If two differ, the world ends: members that have
 * launched the kernel wait in it for this rank, and have written nothing but
 * the state. Calls of members on other nodes come later: at `*gate_out`, through
 * which the kernel is launched, or on backends without gates before the host has
 * waited for the kernel (far_calls.h). Errors: TSR_ERR_MISMATCH;
 * TSR_ERR_ARGUMENT (a state that may not be used here); TSR_ERR_TIMEOUT.
 */
tsr_status_t tsr_collective_agree(const tsr_agree_call_t *call, tsr_device_gate_t *gate_out);

/** This rank's call while it compares: `bytes` is the post, of TSR_POST_BYTES. */
typedef struct tsr_agree_ours {
	const char *name;
	tsr_world_t *world;
	const tsr_team_t *team;
	const void *bytes;
} tsr_agree_ours_t;

/** What the board needs of it. */
tsr_board_post_t tsr_agree_post(tsr_agree_ours_t *ours, int topic);

/**
 * A wait has expired: writes "; ..." where this rank has made a call with one
 * state, and another rank one with another state, and neither the other's.
 * Otherwise writes "". Returns `text`.
 */
const char *tsr_collective_apart(const tsr_world_t *world, char *text, size_t size);

#endif
