/*
 * Fibres: functions on stacks of their own, between which one thread switches.
 *
 * A stack is mapped without reserving memory. The page below it is
 * inaccessible, so that an overflow faults at once. Stacks of ended fibres are
 * reused. AddressSanitizer, ThreadSanitizer and valgrind are told of each stack
 * and each switch; for ThreadSanitizer a switch orders nothing.
 *
 * Called by:  one thread for each pool.
 */
#ifndef TESSERA_EXPLORE_PROCESS_FIBRE_H
#define TESSERA_EXPLORE_PROCESS_FIBRE_H

#include <stdbool.h>
#include <stddef.h>

#include "tessera/status.h"

/*
 * A pool; and a fibre. The fibre "outside" is that of the thread's own stack.
 */
typedef struct tsr_fibres tsr_fibres_t;
typedef struct tsr_fibre tsr_fibre_t;

typedef void (*tsr_fibre_fn)(void *context);

/** Creates a pool. Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_fibres_create(tsr_fibres_t **fibres_out);

/**
 * Puts the first `count` stacks of this size into memory that forked processes
 * share: no fibre may be alive on one at a fork, and at most one of the
 * processes may run fibres at a time. A new process then finds pages that need
 * not be created for it. Call it once, before the first fibre of that size.
 */
void tsr_fibres_share(tsr_fibres_t *fibres, size_t stack_bytes, int count);

/**
 * Destroys a pool. Called on the thread's own stack. Remaining fibres are
 * abandoned: their stacks are freed, but not what they hold. Null is allowed.
 */
void tsr_fibres_destroy(tsr_fibres_t *fibres);

/**
 * Makes a fibre that runs `body` when it is first switched to. It ends with
 * tsr_fibre_leave; if `body` returns, it leaves to the thread's own stack.
 * @param stack_bytes  at least this much, in whole pages.
 * Errors:     TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_fibre_create(tsr_fibres_t *fibres, tsr_fibre_fn body, void *context,
			      size_t stack_bytes, tsr_fibre_t **fibre_out);

/**
 * Switches to `to`, where it left off or at its beginning. Null: the thread's
 * own stack. Returns when another fibre switches back. Each fibre has its own
 * errno and its own sentence of the last error.
 */
void tsr_fibre_switch(tsr_fibres_t *fibres, tsr_fibre_t *to);

/** As tsr_fibre_switch; the calling fibre ends. */
_Noreturn void tsr_fibre_leave(tsr_fibres_t *fibres, tsr_fibre_t *to);

/** Whether fibres fork: on x86-64 and arm64, where no sanitizer counts their frames. */
bool tsr_fibres_fork(void);

/**
 * Makes a fibre that goes on from here as the caller does, with the same frames
 * at the same addresses. They have the stack in turn: the frames of whoever does
 * not run are kept elsewhere while the other runs. So nobody else may use an
 * address in their frames, and what both have an address of they share. Writes
 * the new fibre to `*fork_out`, which is in no frame of the caller's. Returns
 * twice: at once, and with `*forked_out` set in the new fibre when that is first
 * switched to.
 * Called by:  a fibre that has a stack from here.
 * Errors:     TSR_ERR_NO_MEMORY; TSR_ERR_UNSUPPORTED where
 *             !tsr_fibres_fork.
 */
tsr_status_t tsr_fibre_fork(tsr_fibres_t *fibres, tsr_fibre_t **fork_out, bool *forked_out);

/**
 * Ends a fibre that does not run, at any point. Its stack is reused; what it
 * holds is not released.
 */
void tsr_fibre_abandon(tsr_fibres_t *fibres, tsr_fibre_t *fibre);

/**
 * Whether the running fibre has left its stack when it faults: its stack
 * pointer (null: unknown) is below the stack, or it touched the inaccessible
 * page. False on the thread's own stack. May be called in a signal handler.
 */
bool tsr_fibre_overflows(const tsr_fibres_t *fibres, const void *stack_pointer,
			 const void *touched);

/** The size of all stacks, mapped but not necessarily touched. */
size_t tsr_fibres_bytes(const tsr_fibres_t *fibres);

#endif
