/*
 * Tests that need a world. Each test's body runs once on each rank, in worlds
 * of several sizes and with both placements.
 */
#ifndef TESSERA_WORLD_TEST_H
#define TESSERA_WORLD_TEST_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera.h"
#include "under_valgrind.h"

/**
 * Prints to stderr which check failed and where, with the test's own message
 * (null: none) and the library's last error.
 */
static inline void world_check_failed(const tsr_world_t *world, const char *file, int line,
				      const char *what, const char *format, ...)
{
	va_list arguments;
	char message[512] = "";
	va_start(arguments, format);
	if (format)
		vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	fprintf(stderr, "%s:%d: rank %d of %d: %s: %s (last error: %s)\n", file, line,
		tsr_world_rank(world), tsr_world_size(world), what, message, tsr_last_error());
}

/**
 * CHECK(condition) or CHECK(condition, "format", ...), in a rank's body: on
 * failure prints where and why, and fails the rank. Assertions are for the
 * test's own process.
 */
#define CHECK(...) WORLD_CHECK(__VA_ARGS__, WORLD_NO_MESSAGE)
#define WORLD_NO_MESSAGE ((const char *)0)
#define WORLD_CHECK(cond_, ...)                                                             \
	do {                                                                                \
		if (!(cond_)) {                                                             \
			world_check_failed(world, __FILE__, __LINE__, #cond_, __VA_ARGS__); \
			return 1;                                                           \
		}                                                                           \
	} while (0)

/** ThreadSanitizer sees only one process. */
#if defined(__SANITIZE_THREAD__)
#define WORLD_THREADS_ONLY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WORLD_THREADS_ONLY 1
#endif
#endif

/** Whether ranks can be threads: only on the emulator. */
static inline bool world_has_threads(void)
{
	const char *backend = getenv("TESSERA_BACKEND");
	return !backend || strcmp(backend, "cpuemu") == 0;
}

/**
 * Defined in test programs that keep worlds running between tests
 * (tests/harness/resident.c), and absent in others. Returns true if a running
 * world has run `entry`.
 */
extern __attribute__((weak)) bool world_resident_run(int ranks, tsr_main_fn entry,
						     const char *argument, int *code_out);

/**
 * Starts a world (with ranks as processes if they cannot be threads), runs
 * `entry` in it, and returns its exit code. The ranks get `argument` as
 * argv[1].
 */
static inline int world_start(int ranks, tsr_placement_t placement, tsr_main_fn entry,
			      const char *argument)
{
	if (placement == TSR_PLACE_THREAD && !world_has_threads())
		placement = TSR_PLACE_PROCESS;
	tsr_launcher_t launcher = {.size = sizeof launcher, .ranks = ranks, .placement = placement};
	char name[] = "test";
	char *argv[] = {name, (char *)(uintptr_t)argument, NULL};
	return tsr_launch_world(&launcher, argument ? 2 : 1, argv, entry);
}

/**
 * The same in a running world, if there is one. So everything that the ranks
 * need comes in the argument or in the environment, never in the test's global
 * variables.
 */
static inline int world_run(int ranks, tsr_placement_t placement, tsr_main_fn entry,
			    const char *argument)
{
	const bool threads = placement == TSR_PLACE_THREAD && world_has_threads();
	int code;
	if (!threads && world_resident_run && world_resident_run(ranks, entry, argument, &code))
		return code;
	return world_start(ranks, placement, entry, argument);
}

/**
 * Under `tessera check`, explores one world with as many ranks as it asks for.
 * Returns false if the test is not being checked.
 */
static inline bool world_checked(tsr_main_fn entry, const char *argument)
{
	const char *size = getenv("TESSERA_SIZE");
	if (!getenv("TESSERA_CHECK") || !size)
		return false;
	cr_expect(world_start(atoi(size), TSR_PLACE_THREAD, entry, argument) == 0,
		  "%s ranks as fibres", size);
	return true;
}

#ifdef __has_feature
#define WORLD_UNDER(sanitizer_) __has_feature(sanitizer_)
#else
#define WORLD_UNDER(sanitizer_) 0
#endif
#if defined __SANITIZE_THREAD__ || WORLD_UNDER(thread_sanitizer)
enum { UNDER_TSAN = 1, FEWER_WORLDS = 1 };
#elif defined __SANITIZE_ADDRESS__ || WORLD_UNDER(address_sanitizer) || defined NDEBUG
enum { UNDER_TSAN = 0, FEWER_WORLDS = 1 };
#else
enum { UNDER_TSAN = 0, FEWER_WORLDS = 0 };
#endif

/**
 * Where TSR_WORLDS says which worlds (tests/nodes), such as "3,8 process", runs
 * `entry` in those.
 */
static inline bool world_asked(tsr_main_fn entry, const char *argument)
{
	const char *text = getenv("TSR_WORLDS");
	if (!text)
		return false;
	const tsr_placement_t placement =
		strstr(text, "thread") ? TSR_PLACE_THREAD : TSR_PLACE_PROCESS;
	while (*text >= '0' && *text <= '9') {
		char *end;
		const int ranks = (int)strtol(text, &end, 10);
		cr_expect(world_run(ranks, placement, entry, argument) == 0, "%d ranks", ranks);
		text = *end == ',' ? end + 1 : end;
	}
	return true;
}

/**
 * Runs `entry` in worlds of 1, 2, 3, 5 and 8 ranks, as processes and as
 * threads, and expects 0 from each. The debug variant runs all of them; so do
 * the others if TSR_EVERY_WORLD is set, as in ci/nightly. Otherwise they run 1,
 * 3 and 8 ranks, and valgrind runs 1 and 3: the faults that they look for do
 * not depend on the numbers between. ThreadSanitizer cannot see accesses
 * between processes, so it runs threads only.
 */
static inline void world_each(tsr_main_fn entry, const char *argument)
{
	if (world_asked(entry, argument))
		return;
	static const int every[] = {1, 2, 3, 5, 8}, fewer[] = {1, 3, 8};
	const bool all = getenv("TSR_EVERY_WORLD"), few = FEWER_WORLDS && !all;
	const int *sizes = under_valgrind() || few ? fewer : every, count = under_valgrind() ? 2
									    : few            ? 3
											     : 5;
	if (world_checked(entry, argument))
		return;
	for (int i = 0; i < count; i++) {
#ifndef WORLD_THREADS_ONLY
		if (!UNDER_TSAN || all)
			cr_expect(world_run(sizes[i], TSR_PLACE_PROCESS, entry, argument) == 0,
				  "%d ranks as processes", sizes[i]);
#endif
		if (world_has_threads())
			cr_expect(world_run(sizes[i], TSR_PLACE_THREAD, entry, argument) == 0,
				  "%d ranks as threads", sizes[i]);
	}
}

#endif
