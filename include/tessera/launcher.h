/* Starting worlds: what `tessera run` and `tessera bench` stand on. */
#ifndef TESSERA_LAUNCHER_H
#define TESSERA_LAUNCHER_H

#include "tessera/main.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a rank is. DEFAULT: as TESSERA_PLACEMENT says, a process where it says nothing. */
typedef enum tsr_placement {
	TSR_PLACE_DEFAULT = 0,
	TSR_PLACE_PROCESS = 1,
	TSR_PLACE_THREAD = 2
} tsr_placement_t;

/**
 * How a world is started: `tsr_launcher_t launcher = {.size = sizeof launcher,
 *  .ranks = 4};`. Members that are 0 take the environment's value or the
 *  default.
 */
typedef struct tsr_launcher {
	size_t size; /* sizeof this struct: set by the caller */
	int ranks;   /* 1 .. TSR_MAX_RANKS */
	tsr_placement_t placement;
	const char *backend; /* null: TESSERA_BACKEND, or the best present */
} tsr_launcher_t;

/**
 * Starts a world whose ranks each call `entry` (processes: children of this
 * one), and waits for its end.
 * Returns the exit code of the first rank that failed, or 0. When a rank dies
 * the others are told, also those that still wait for it to join; those that
 * have not ended within the deadline are killed, and at once where all that are
 * left are stopped. No process, socket or shared memory is left, also when this
 * process is interrupted or killed. SIGINT, SIGTERM, SIGHUP and SIGQUIT end the
 * ranks, unless they were ignored before; SIGTSTP stops the ranks and this
 * process until SIGCONT. Where a rank ends by SIGPIPE all end at once, without
 * a word, and the exit code is 141. In a process that is one of several ranks
 * of a job already it starts nothing and fails: N ranks would become N worlds.
 * Called by: a program's main thread, before it has started threads.
 */
TSR_API int tsr_launch_world(const tsr_launcher_t *launcher, int argc, char **argv,
			     tsr_main_fn entry);

/**
 * The same for a program: each rank executes `argv[0]` (ranks as processes), or
 * one process runs all ranks (as threads).
 */
TSR_API int tsr_launch_program(const tsr_launcher_t *launcher, char **argv);

#ifdef __cplusplus
}
#endif
#endif
