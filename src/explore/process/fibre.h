/*
 * Fibres: calls on stacks of their own, between which one thread switches.
 *
 * A stack is mapped without being reserved and has a page below it that nobody
 * may touch, so that one which overflows faults at once. Stacks of fibres that
 * have ended are used again. AddressSanitizer, ThreadSanitizer and valgrind are
 * told of each stack and switch; for ThreadSanitizer a switch orders nothing.
 *
 * Called by: one thread for each pool.
 */
#ifndef TESSERA_EXPLORE_PROCESS_FIBRE_H
#define TESSERA_EXPLORE_PROCESS_FIBRE_H

#include <stdbool.h>
#include <stddef.h>

#include "tessera/status.h"

/* a pool, and the fibre outside: that of the thread's own stack */
typedef struct tsr_fibres tsr_fibres_t;
typedef struct tsr_fibre tsr_fibre_t;

typedef void (*tsr_fibre_fn)(void *context);

/** Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t tsr_fibres_create(tsr_fibres_t **fibres_out);

/**
 * The first `count` stacks of that size lie in memory that forked processes
 * have in common: no fibre may be alive on one at a fork, and of the processes
 * one at most may run fibres at a time. Then a new process finds pages that
 * need not be made for it. Once, before the first fibre of that size.
 */
void tsr_fibres_share(tsr_fibres_t *fibres, size_t stack_bytes, int count);

/**
 * Called on the thread's own stack. Fibres that are left are abandoned: their
 * stacks go, what they hold stays. Null is no pool.
 */
void tsr_fibres_destroy(tsr_fibres_t *fibres);

/**
 * A fibre that runs `body` when it is first switched to. It ends with
 * tsr_fibre_leave; a `body` that returns leaves to the thread's own stack.
 * @param stack_bytes  at least this much, in whole pages.
 * Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_fibre_create(tsr_fibres_t *fibres, tsr_fibre_fn body, void *context,
			      size_t stack_bytes, tsr_fibre_t **fibre_out);

/**
 * Goes on where `to` left off, or begins it. Null: the thread's own stack.
 * Returns when somebody switches back. The sentence of the last error and errno
 * are each fibre's own.
 */
void tsr_fibre_switch(tsr_fibres_t *fibres, tsr_fibre_t *to);

/** As tsr_fibre_switch, and the fibre that calls it is no more. */
_Noreturn void tsr_fibre_leave(tsr_fibres_t *fibres, tsr_fibre_t *to);

/** Ends a fibre that does not run, wherever it is: its stack is used again, what it holds stays. */
void tsr_fibre_abandon(tsr_fibres_t *fibres, tsr_fibre_t *fibre);

/**
 * Whether the fibre that runs has left its stack where it faults: its stack
 * pointer (null: not known) is below, or what it touched is in the page that
 * nobody may touch. False on the thread's own stack. Also from a signal's
 * handler.
 */
bool tsr_fibre_overflows(const tsr_fibres_t *fibres, const void *stack_pointer,
			 const void *touched);

/** Bytes of all stacks, mapped and not necessarily touched. */
size_t tsr_fibres_bytes(const tsr_fibres_t *fibres);

#endif
