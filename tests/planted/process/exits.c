/*
 * exits CODE|at-once|child: rank 1 leaves by exit(CODE), while the others wait for it at
 * a barrier.
 *
 *     at-once  by _exit(0), of which nothing in its process is told
 *     child    right: a process that rank 1 has forked does, and nobody else
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tessera/tessera.h"

TSR_MAIN(world, argc, argv)
{
	const char *how = argc > 1 ? argv[1] : "0";
	if (tsr_world_rank(world) == 1 && strcmp(how, "at-once") == 0)
		_exit(0);
	if (tsr_world_rank(world) == 1 && strcmp(how, "child") != 0)
		exit((int)strtol(how, NULL, 10));
	if (tsr_world_rank(world) == 1) {
		const pid_t child = fork();
		int status = 0;
		if (child == 0)
			exit(0);
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			return 1;
	}
	TSR_TRY(tsr_barrier(world));
	return 0;
}
