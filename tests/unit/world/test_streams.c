/*
 * Programs whose standard input, output or error is closed: what they print
 * goes nowhere, and into nothing of the library.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean_environment.h"
#include "world_test.h"

/**
 * Prints all the time, to all that a program prints to; a closed one must stay
 * closed. `argument`: which are, as bits.
 */
static int print_and_meet(tsr_world_t *world, int argc, char **argv)
{
	const int closed = argc > 1 ? atoi(argv[1]) : 0;
	char noise[5000];
	memset(noise, 0x5a, sizeof noise);
	for (int round = 0; round < 20; round++) {
		for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
			const bool is_closed = (closed >> fd & 1) != 0;
			CHECK((fcntl(fd, F_GETFD) == -1) == is_closed, "descriptor %d", fd);
			if (is_closed)
				CHECK(write(fd, noise, sizeof noise) == -1);
		}
		TSR_HEAP void *heap;
		int mine = round, all[TSR_MAX_RANKS];
		CHECK(tsr_heap_alloc(world, 64, 0, "mine", &heap) == TSR_OK);
		CHECK(tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine) ==
		      TSR_OK);
		for (int r = 0; r < tsr_world_size(world); r++)
			CHECK(all[r] == round);
		CHECK(tsr_heap_free(world, heap) == TSR_OK);
	}
	return 0;
}

/**
 * The exit code of a world whose launcher has those descriptors closed that
 * `closed` has bits for.
 */
static int run_closed(int closed, int ranks, tsr_placement_t placement)
{
	char argument[16];
	snprintf(argument, sizeof argument, "%d", closed);
	const pid_t pid = fork();
	if (pid == 0) {
		for (int fd = 0; fd < 3; fd++)
			if ((closed >> fd & 1) != 0)
				close(fd);
		_exit(world_run(ranks, placement, print_and_meet, argument));
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

Test(streams, closed_in_all_combinations)
{
	clean_environment();
	set_environment("TESSERA_HEAP_SIZE=1M TESSERA_DEADLINE=200s");
	const int step = under_valgrind() ? 7 : 1;
	for (int closed = 0; closed < 8; closed += step)
		for (int ranks = 1; ranks <= 3; ranks += under_valgrind() ? 2 : 1)
			for (tsr_placement_t placement = TSR_PLACE_PROCESS;
			     placement <= TSR_PLACE_THREAD; placement++) {
				const int code = run_closed(closed, ranks, placement);
				cr_expect_eq(code, 0,
					     "descriptors %d closed, %d ranks as %s: exit code %d",
					     closed, ranks,
					     placement == TSR_PLACE_THREAD ? "threads"
									   : "processes",
					     code);
			}
}
