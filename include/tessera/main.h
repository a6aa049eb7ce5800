/* A program's entry: a function that is called once for each rank. */
#ifndef TESSERA_MAIN_H
#define TESSERA_MAIN_H

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A program's entry. Returns the exit code of the rank. */
typedef int (*tsr_main_fn)(tsr_world_t *world, int argc, char **argv);

/**
 * Joins the world, calls `entry` once for each rank that lives in this process,
 * and leaves the world. Returns the first non-zero exit code of these ranks, or
 * 0. Ranks that are threads share the program's global variables, so a program
 * must have none that change. Prints the sentence of an error that ends the
 * world, once a world. A rank returns from `entry`: one that calls exit(0) there
 * fails, whether it is a process or a thread.
 */
TSR_API int tsr_main(int argc, char **argv, tsr_main_fn entry);

/**
 * Prints "tessera: <sentence of the last error>" to stderr, and returns an exit
 * code other than 0: `return tsr_fail(world);`. The sentence is printed once a
 * world, even when several ranks fail alike, with addresses of their own. Null
 * means the world that this thread has joined, by TSR_MAIN or tsr_init; in a
 * thread that has joined none, each call prints. Any thread of a rank.
 */
TSR_API int tsr_fail(tsr_world_t *world);

/**
 * Returns from the calling function with tsr_fail() if `call_` does not return
 * TSR_OK. For the body of TSR_MAIN and the functions that it calls. It uses the
 * world that this thread has joined, so it needs no pointer to it.
 */
#define TSR_TRY(call_)                         \
	do {                                   \
		if ((call_) != TSR_OK)         \
			return tsr_fail(NULL); \
	} while (0)

#define TSR_UNUSED __attribute__((unused))

/**
 * Defines main() and opens the body of the program's entry:
 *     TSR_MAIN(world, argc, argv) { ... return 0; }
 * A program without arguments may leave argc and argv unused.
 */
#define TSR_MAIN(world_, argc_, argv_)                                             \
	static int tsr_program_main(tsr_world_t *world_, int argc_, char **argv_); \
	int main(int argc, char **argv)                                            \
	{                                                                          \
		return tsr_main(argc, argv, tsr_program_main);                     \
	}                                                                          \
	static int tsr_program_main(tsr_world_t *world_, int argc_ TSR_UNUSED,     \
				    char **argv_ TSR_UNUSED)

#ifdef __cplusplus
}
#endif
#endif
