/*
 * Calls of collectives on streams whose members are on several nodes: what each
 * passes is compared with what far ranks have passed, when that has come.
 *
 * - On backends that have gates, before the kernel begins. Nobody has stored
 *   anything then where two calls differ, and no host waits.
 * - On others, when the host waits for the kernel, before it does: what waits
 *   succeeds for has been compared. The kernel may run until then, and store.
 *   Some calls with a state later the next one waits for the comparison.
 */
#ifndef TESSERA_COLLECTIVES_FAR_CALLS_H
#define TESSERA_COLLECTIVES_FAR_CALLS_H

#include "src/collectives/agree.h"
#include "src/world/state_uses.h"

/** The calls with one state that are not compared yet. */
typedef struct tsr_far_calls tsr_far_calls_t;

/**
 * Adds a call whose post has been made, as the `number`-th of its state. Errors:
 * TSR_ERR_NO_MEMORY; on backends without gates those of tsr_board_await.
 */
tsr_status_t tsr_far_calls_add(const tsr_state_now_t *now, const tsr_agree_ours_t *ours,
			       uint32_t number, tsr_device_gate_t *gate_out);

/** Null is allowed. */
void tsr_far_calls_free(tsr_far_calls_t *calls);

/**
 * The host is about to wait for what has that order: on backends without gates,
 * compares the calls that it covers. Errors: those of tsr_board_await.
 */
tsr_status_t tsr_collective_settle(tsr_world_t *world, const tsr_order_t *until);

#endif
