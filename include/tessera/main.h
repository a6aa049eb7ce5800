/* The entry of a program: a function that is called once a rank. */
#ifndef TESSERA_MAIN_H
#define TESSERA_MAIN_H

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A program's entry: returns the exit code of the rank. */
typedef int (*tsr_main_fn)(tsr_world_t *world, int argc, char **argv);

/**
 * Joins the world, calls `entry` once for each rank that lives in this process,
 * leaves the world, and returns the exit code: the first non-zero one of its
 * ranks. Ranks as threads share the program's globals, so programs keep none
 * that change. Prints the sentence of an error that ends the world, once a
 * world.
 */
TSR_API int tsr_main(int argc, char **argv, tsr_main_fn entry);

/**
 * Prints "tessera: <sentence of the last error>" to stderr, once a world
 * however many ranks fail alike, and returns an exit code that is not 0:
 * `return tsr_fail(world);`. Any thread of a rank. Null: the world that this
 * thread has joined, by TSR_MAIN or tsr_init; where it has joined none, each
 * call prints.
 */
TSR_API int tsr_fail(tsr_world_t *world);

/**
 * Leaves the calling function with tsr_fail() where `call_` does not return
 *  TSR_OK. For bodies of TSR_MAIN and what they call: the world that this
 *  thread has joined need not be at hand.
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
 * A program that takes no arguments leaves them unused.
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
