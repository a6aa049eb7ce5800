/*
 * The state of a thread in a kernel, kept and put back: all that a call of the
 * library must leave as it was, which are the registers of the caller, and the
 * stack from the caller's frame up to where the kernel was called. Locals of the
 * kernel are there and nowhere else, whatever the compiler has made of them. So
 * a piece of a kernel between two calls can be made again from the state of the
 * first, as by another thread that has locals of its own.
 *
 * tsr_cpu_each_begin and tsr_cpu_each_end are entered through a few
 * instructions that lay the registers down as a tsr_cpu_call_t and take all of
 * them from there again, with the place to return to.
 */
#ifndef TESSERA_CPUEMU_FRAMES_H
#define TESSERA_CPUEMU_FRAMES_H

#include "cpuemu/dev/internal.h"

/*
 * A shadow stack of return addresses would not let a call return twice. Where
 * states cannot be kept, tsr_cpu_call_t is not given.
 */
#if defined(__x86_64__) && defined(__LP64__) && !(defined(__CET__) && (__CET__ & 2))
#define TSR_CPU_FRAMES 1
enum { TSR_CPU_KEPT = 6 }; /* rbx, rbp, r12 to r15 */
#elif defined(__aarch64__)
#define TSR_CPU_FRAMES 1
enum { TSR_CPU_KEPT = 20 }; /* x19 to x29, an empty one, d8 to d15 */
#else
#define TSR_CPU_FRAMES 0
enum { TSR_CPU_KEPT = 1 };
#endif

/** A call that was entered: what its caller has in registers, its stack, and where it goes on. */
typedef struct tsr_cpu_call {
	uint64_t kept[TSR_CPU_KEPT];
	unsigned char *sp; /* once the call has returned */
	uint64_t pc;
} tsr_cpu_call_t;

/** The state of a caller. */
typedef struct tsr_cpu_frames {
	tsr_cpu_call_t call;
	unsigned char *stack; /* a copy of the stack from call.sp on */
	size_t bytes;         /* of it, and what there is room for */
} tsr_cpu_frames_t;

/** The bytes of the stack that belong to the caller and those above it, up to the kernel. */
size_t tsr_cpu_frames_bytes(const tsr_coop_t *coop, const tsr_cpu_call_t *call);

/** Keeps the caller's state in `frames`, whose stack has room for it. */
void tsr_cpu_frames_keep(tsr_cpu_frames_t *frames, const tsr_cpu_call_t *call);

/**
 * The caller goes on with that state once the current call returns. The state
 * was kept in a call with the same stack pointer.
 */
void tsr_cpu_frames_resume(const tsr_cpu_frames_t *frames, tsr_cpu_call_t *call);

bool tsr_cpu_frames_equal(const tsr_cpu_frames_t *a, const tsr_cpu_frames_t *b);

/**
 * Whether a state that made some passes and then others (`both`) has a local
 * that the others have made of what the first ones left: a byte that is neither
 * as the others alone leave it (`second`), nor as the first ones do (`first`)
 * where the others leave it alone (as in `none`, that made no pass).
 */
bool tsr_cpu_frames_carry(const tsr_cpu_frames_t *none, const tsr_cpu_frames_t *first,
			  const tsr_cpu_frames_t *second, const tsr_cpu_frames_t *both);

#endif
