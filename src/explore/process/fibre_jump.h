/*
 * From one stack to another. On x86-64 a few instructions: what a function must
 * keep for its caller, and how floating-point numbers are rounded. Elsewhere
 * swapcontext, which also asks the operating system for the signal mask, and
 * takes several times as long. The signal mask is the thread's on x86-64, so
 * that all fibres have it in common.
 */
#ifndef TESSERA_EXPLORE_PROCESS_FIBRE_JUMP_H
#define TESSERA_EXPLORE_PROCESS_FIBRE_JUMP_H

#include <stddef.h>
#include <stdint.h>

#include "src/explore/process/fibre_watch.h"

/* A shadow stack of return addresses would have to be switched too, which swapcontext does. */
#if defined(__x86_64__) && defined(__LP64__) && !(defined(__CET__) && (__CET__ & 2))
#define TSR_JUMP_DIRECT 1
#else
#define TSR_JUMP_DIRECT 0
#include <ucontext.h>
#endif

/** Where a fibre that does not run goes on. */
typedef struct tsr_jump {
#if TSR_JUMP_DIRECT
	void *stack; /* what fibre_jump.c has put there */
#else
	ucontext_t context;
#endif
} tsr_jump_t;

typedef void (*tsr_jump_fn)(void *argument);

/** The first jump there calls `entry` on that stack. It never returns. */
void tsr_jump_prepare(tsr_jump_t *jump, unsigned char *bottom, size_t bytes, tsr_jump_fn entry,
		      void *argument);

#if TSR_JUMP_DIRECT
void tsr_jump_direct(void **from, void *to);
#endif

/**
 * Goes on at `to`. Returns when somebody jumps to `from`. Inline:
 * ThreadSanitizer would see a call that begins on one fibre and returns on
 * another.
 */
TSR_WATCH_INLINE void tsr_jump(tsr_jump_t *from, tsr_jump_t *to)
{
#if TSR_JUMP_DIRECT
	tsr_jump_direct(&from->stack, to->stack);
#else
	swapcontext(&from->context, &to->context);
#endif
}

#endif
