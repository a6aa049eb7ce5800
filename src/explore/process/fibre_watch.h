/*
 * Notifications of tools that watch memory about fibres: AddressSanitizer,
 * ThreadSanitizer, valgrind. They do nothing without these tools.
 *
 * ThreadSanitizer treats a switch as synchronisation of the two fibres (flag
 * 0): all fibres are one thread, and that orders what they share, above all the
 * explorer. Races of kernels are found by the clocks of the model, not by
 * ThreadSanitizer.
 */
#ifndef TESSERA_EXPLORE_PROCESS_FIBRE_WATCH_H
#define TESSERA_EXPLORE_PROCESS_FIBRE_WATCH_H

#include <stddef.h>

#if defined(__has_feature)
#define TSR_HAS_FEATURE(name_) __has_feature(name_)
#else
#define TSR_HAS_FEATURE(name_) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TSR_HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define TSR_WATCH_ADDRESSES 1
#else
#define TSR_WATCH_ADDRESSES 0
#endif

#if defined(__SANITIZE_THREAD__) || TSR_HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TSR_WATCH_THREADS 1
#else
#define TSR_WATCH_THREADS 0
#endif

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define TSR_WATCH_VALGRIND 1
#endif
#endif
#ifndef TSR_WATCH_VALGRIND
#define TSR_WATCH_VALGRIND 0
#endif

#define TSR_WATCH_INLINE __attribute__((always_inline)) static inline

/** The tools' data of a fibre. */
typedef struct tsr_watch {
	/* of its stack, for AddressSanitizer; for the thread's own stack it tells us */
	const void *bottom;
	size_t bytes;
	void *frames; /* AddressSanitizer's, while the fibre does not run */
	void *fibre;  /* ThreadSanitizer's */
} tsr_watch_t;

/** A stack has been mapped. Returns valgrind's number of it. */
static inline unsigned tsr_watch_stack(void *bottom, size_t bytes)
{
	(void)bottom, (void)bytes;
#if TSR_WATCH_VALGRIND
	return VALGRIND_STACK_REGISTER(bottom, (char *)bottom + bytes);
#else
	return 0;
#endif
}

static inline void tsr_watch_no_stack(unsigned number)
{
	(void)number;
#if TSR_WATCH_VALGRIND
	VALGRIND_STACK_DEREGISTER(number);
#endif
}

/**
 * Whether frames may be moved: ThreadSanitizer counts them, and AddressSanitizer
 * may have locals elsewhere (detect_stack_use_after_return).
 */
static inline int tsr_watch_moves(void)
{
#if TSR_WATCH_ADDRESSES
	return !__asan_get_current_fake_stack();
#else
	return !TSR_WATCH_THREADS;
#endif
}

/**
 * Frames are about to be moved from there. What AddressSanitizer has closed
 * between their locals stays open.
 */
static inline void tsr_watch_taken(void *frames, size_t bytes)
{
	(void)frames, (void)bytes;
#if TSR_WATCH_ADDRESSES
	__asan_unpoison_memory_region(frames, bytes);
#endif
}

/** Frames are about to be moved there, where a stack may have ended. */
static inline void tsr_watch_given(void *frames, size_t bytes)
{
	tsr_watch_taken(frames, bytes);
#if TSR_WATCH_VALGRIND
	(void)VALGRIND_MAKE_MEM_UNDEFINED(frames, bytes);
#endif
}

/**
 * A fibre begins on that stack, which may still have frames of an abandoned
 * fibre.
 */
static inline void tsr_watch_begin(tsr_watch_t *watch, void *bottom, size_t bytes)
{
	*watch = (tsr_watch_t){.bottom = bottom, .bytes = bytes};
#if TSR_WATCH_ADDRESSES
	__asan_unpoison_memory_region(bottom, bytes);
#endif
#if TSR_WATCH_THREADS
	watch->fibre = __tsan_create_fiber(0);
#endif
}

/** The fibre of the thread's own stack. */
static inline void tsr_watch_thread(tsr_watch_t *watch)
{
	*watch = (tsr_watch_t){0};
#if TSR_WATCH_THREADS
	watch->fibre = __tsan_get_current_fiber();
#endif
}

/** The fibre has ended, and does not run. */
static inline void tsr_watch_end(tsr_watch_t *watch)
{
	(void)watch;
#if TSR_WATCH_THREADS
	__tsan_destroy_fiber(watch->fibre);
#endif
}

/**
 * Call leave just before a switch (`for_good` if the fibre does not return),
 * and arrive just after it, on the new stack.
 */
TSR_WATCH_INLINE void tsr_watch_leave(tsr_watch_t *from, const tsr_watch_t *to, int for_good)
{
	(void)from, (void)to, (void)for_good;
#if TSR_WATCH_ADDRESSES
	__sanitizer_start_switch_fiber(for_good ? NULL : &from->frames, to->bottom, to->bytes);
#endif
#if TSR_WATCH_THREADS
	__tsan_switch_to_fiber(to->fibre, 0);
#endif
}

TSR_WATCH_INLINE void tsr_watch_arrive(tsr_watch_t *here, tsr_watch_t *from)
{
	(void)here, (void)from;
#if TSR_WATCH_ADDRESSES
	__sanitizer_finish_switch_fiber(here->frames, &from->bottom, &from->bytes);
#endif
}

#endif
