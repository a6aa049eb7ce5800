/* Starting worlds: the calls behind `tessera run` and `tessera bench`. */
#ifndef TESSERA_LAUNCHER_H
#define TESSERA_LAUNCHER_H

#include "tessera/main.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What each rank runs in. DEFAULT follows TESSERA_PLACEMENT, and is a process
 * where that is not set.
 */
typedef enum tsr_placement {
	TSR_PLACE_DEFAULT = 0,
	TSR_PLACE_PROCESS = 1,
	TSR_PLACE_THREAD = 2
} tsr_placement_t;

/**
 * How to start a world: `tsr_launcher_t launcher = {.size = sizeof launcher,
 * .ranks = 4};`. A member that is 0 takes the environment's value, or the
 * default.
 */
typedef struct tsr_launcher {
	size_t size; /* set by the caller: sizeof this struct */
	int ranks;   /* 1 .. TSR_MAX_RANKS */
	tsr_placement_t placement;
	const char *backend; /* null: TESSERA_BACKEND, or the best one present */
	/* Emulated nodes on this machine, 1 .. ranks: ranks of different nodes share no memory, and
	 * know each other by the network alone. Node 0 has the first ranks, and so on; the first
	 * nodes have one rank more where the numbers do not divide. 0 or 1: one node. Ranks
	 * as threads are split alike, but have no network namespaces
	 * (TESSERA_NODE_NETWORK). */
	int nodes;
} tsr_launcher_t;

/**
 * Starts a world in which each rank calls `entry`, and waits until it ends.
 * Ranks that are processes are children of this one. Returns the exit code of
 * the first rank that failed, or 0.
 *
 * Called by:  the program's main thread, before the program starts other
 *             threads.
 * Failure:    when a rank dies, the other ranks are told, including those that
 *             still wait for it to join. Ranks that have not ended within the
 *             deadline are killed; where ranks are threads, the process of all
 *             ranks is ended. If all ranks that are left are stopped, they are
 *             killed at once. No process, socket or shared memory is left
 *             behind, even when this process is interrupted or killed.
 * Signals:    SIGINT, SIGTERM, SIGHUP and SIGQUIT end the ranks, unless the
 *             process ignored them before the call. SIGTSTP stops the ranks and
 *             this process until SIGCONT. When a rank ends by SIGPIPE, all
 *             ranks end at once, nothing is printed, and the exit code is 141.
 * Nesting:    in a process that already is one of several ranks of a job, the
 *             call starts nothing and fails, because N ranks would start N
 *             worlds.
 */
TSR_API int tsr_launch_world(const tsr_launcher_t *launcher, int argc, char **argv,
			     tsr_main_fn entry);

/**
 * The same for a program. With ranks as processes, each rank executes
 * `argv[0]`; with ranks as threads, one process runs all of them.
 */
TSR_API int tsr_launch_program(const tsr_launcher_t *launcher, char **argv);

#ifdef __cplusplus
}
#endif
#endif
