/*
 * Switches from one stack to another. On x86-64 a few instructions do it: they
 * save the registers that a function must preserve, and the rounding of
 * floating-point numbers. Elsewhere swapcontext does it, which also saves the
 * signal mask by a system call and takes several times as long. On x86-64 all
 * fibres share the thread's signal mask.
 */
#ifndef TESSERA_EXPLORE_PROCESS_FIBRE_JUMP_H
#define TESSERA_EXPLORE_PROCESS_FIBRE_JUMP_H

#include <stddef.h>
#include <stdint.h>

#include "src/explore/process/fibre_watch.h"

/*
 * With a shadow stack of return addresses, that stack must be switched too;
 * swapcontext does that.
 */
#if defined(__x86_64__) && defined(__LP64__) && !(defined(__CET__) && (__CET__ & 2))
#define TSR_JUMP_DIRECT 1
#else
#define TSR_JUMP_DIRECT 0
#include <ucontext.h>
#endif

/*
 * Whether the frames of a fibre may be moved away while it does not run
 * (tsr_fibre_fork): what a jump saves holds no address of itself.
 */
#if TSR_JUMP_DIRECT || defined(__aarch64__)
#define TSR_JUMP_MOVES 1
#else
#define TSR_JUMP_MOVES 0
#endif

/** Where a fibre that does not run continues. */
typedef struct tsr_jump {
#if TSR_JUMP_DIRECT
	void *stack; /* registers saved by fibre_jump.c */
#else
	ucontext_t context;
#endif
} tsr_jump_t;

typedef void (*tsr_jump_fn)(void *argument);

/**
 * Prepares a stack: the first jump to it calls `entry` there. `entry` never
 * returns.
 */
void tsr_jump_prepare(tsr_jump_t *jump, unsigned char *bottom, size_t bytes, tsr_jump_fn entry,
		      void *argument);

#if TSR_JUMP_DIRECT
void tsr_jump_direct(void **from, void *to);
#endif

/** The lowest address of what a fibre that does not run has on its stack. */
static inline unsigned char *tsr_jump_frames(const tsr_jump_t *jump)
{
#if TSR_JUMP_DIRECT
	return jump->stack;
#elif defined(__aarch64__)
	return (unsigned char *)(uintptr_t)jump->context.uc_mcontext.sp;
#else
	(void)jump;
	return NULL; /* none forks here */
#endif
}

/**
 * Continues at `to`. Returns when another fibre jumps to `from`. Inline,
 * because ThreadSanitizer would see a call that begins on one fibre and returns
 * on another.
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
