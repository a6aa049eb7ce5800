/*
 * Worlds that run from one test to the next: what ci/gpu runs on GPUs, where to
 * start a world of processes takes seconds and a test's body takes none. Each
 * world has one process a rank, as ever; it is started once, before the first
 * test, and runs the bodies of one test after the other. A world whose body has
 * failed has ended, and later tests start worlds of their own.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "world_test.h"

enum { LARGEST = 8, LONGEST_ARGUMENT = 256, LOOK_NS = 100000000 };

/** What the tests ask for: world_each, and the sizes between. */
static const int sizes[] = {1, 2, 3, 4, 5, 8};
enum { WORLDS = sizeof sizes / sizeof *sizes };

typedef enum state { STARTING, IDLE, BUSY, ENDED } state_t;

/**
 * One world, in memory that its ranks, the tests and the runner share. The
 * semaphores order every other field.
 */
typedef struct resident {
	int ranks;
	pid_t keeper; /* the process that started it, and waits for its end */
	state_t state;
	_Atomic bool ended; /* the keeper has seen its end */
	/* for each rank: there is a body to run, or, where `entry` is null, nothing any more */
	sem_t go[LARGEST];
	sem_t done; /* once for each rank: it has started, or has run the body */
	tsr_main_fn entry;
	bool has_argument;
	char argument[LONGEST_ARGUMENT];
	int codes[LARGEST];
} resident_t;

static resident_t *worlds;
static char *settings_at_start;

/**
 * The settings that a world has read when it started: it cannot serve a test
 * that has changed them since.
 */
static char *settings_now(void)
{
	extern char **environ;
	char *all = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&all, &size);
	for (char **entry = environ; text && *entry; entry++)
		if (strncmp(*entry, "TESSERA_", 8) == 0)
			fprintf(text, "%s\n", *entry);
	if (text)
		fclose(text);
	return all;
}

static void take(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0 && errno == EINTR)
		continue;
}

/* ---------------------------------------------------------------- a rank */

static int run_bodies(tsr_world_t *world, int argc, char **argv)
{
	resident_t *mine = &worlds[atoi(argv[1])];
	const int rank = tsr_world_rank(world);
	(void)argc;
	for (;;) {
		sem_post(&mine->done);
		take(&mine->go[rank]);
		if (!mine->entry)
			return 0;
		char name[] = "test";
		char *arguments[] = {name, mine->has_argument ? mine->argument : NULL, NULL};
		const int code = mine->entry(world, mine->has_argument ? 2 : 1, arguments);
		mine->codes[rank] = code;
		if (code == 0)
			continue;
		sem_post(&mine->done);
		return code;
	}
}

static _Noreturn void keep(int index)
{
	resident_t *mine = &worlds[index];
	tsr_launcher_t launcher = {
		.size = sizeof launcher, .ranks = mine->ranks, .placement = TSR_PLACE_PROCESS};
	char name[] = "resident", number[16];
	char *argv[] = {name, number, NULL};
	snprintf(number, sizeof number, "%d", index);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	const int code = tsr_launch_world(&launcher, 2, argv, run_bodies);
	mine->ended = true;
	_exit(code);
}

/* ---------------------------------------------------------------- a test */

/** Waits until every rank has started or run the body; false where the world has ended instead. */
static bool all_done(resident_t *world)
{
	for (int r = 0; r < world->ranks; r++) {
		struct timespec until;
		do {
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += LOOK_NS;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			if (world->ended)
				return false;
		} while (sem_timedwait(&world->done, &until) != 0);
	}
	return true;
}

/** The first code that is not 0, or 0. */
static int code_of(const resident_t *world)
{
	for (int r = 0; r < world->ranks; r++)
		if (world->codes[r] != 0)
			return world->codes[r];
	return 0;
}

static int run_in(resident_t *world, tsr_main_fn entry, const char *argument)
{
	world->state = BUSY;
	world->entry = entry;
	world->has_argument = argument != NULL;
	snprintf(world->argument, sizeof world->argument, "%s", argument ? argument : "");
	memset(world->codes, 0, sizeof world->codes);
	for (int r = 0; r < world->ranks; r++)
		sem_post(&world->go[r]);
	const bool all = all_done(world);
	const int code = code_of(world);
	world->state = all && code == 0 ? IDLE : ENDED;
	return all ? code : code ? code : EXIT_FAILURE;
}

static resident_t *world_of(int ranks)
{
	for (int i = 0; worlds && i < WORLDS; i++)
		if (worlds[i].ranks == ranks)
			return &worlds[i];
	return NULL;
}

bool world_resident_run(int ranks, tsr_main_fn entry, const char *argument, int *code_out)
{
	resident_t *world = world_of(ranks);
	if (!world || world->state == ENDED || (argument && strlen(argument) >= LONGEST_ARGUMENT))
		return false;
	char *settings = settings_now();
	const bool same = settings && settings_at_start && strcmp(settings, settings_at_start) == 0;
	free(settings);
	if (!same)
		return false;
	/* the test that used it was killed, and its body may run still */
	if (world->state == BUSY) {
		world->state = ENDED;
		kill(world->keeper, SIGTERM);
		return false;
	}
	if (world->state == STARTING && !all_done(world)) {
		world->state = ENDED;
		return false; /* its own start says what is wrong */
	}
	*code_out = run_in(world, entry, argument);
	return true;
}

/* ---------------------------------------------------------------- the runner */

static void start(int index)
{
	resident_t *world = &worlds[index];
	world->ranks = sizes[index];
	sem_init(&world->done, 1, 0);
	for (int r = 0; r < world->ranks; r++)
		sem_init(&world->go[r], 1, 0);
	const pid_t keeper = fork();
	if (keeper == 0)
		keep(index);
	world->keeper = keeper;
	if (keeper < 0)
		world->state = ENDED;
}

void plain_before_all(void)
{
	void *shared = mmap(NULL, WORLDS * sizeof *worlds, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return; /* every test starts worlds of its own */
	worlds = shared;
	settings_at_start = settings_now();
	fflush(NULL);
	for (int i = 0; i < WORLDS; i++)
		start(i);
}

const char *plain_after_all(void)
{
	const char *wrong = NULL;
	for (int i = 0; worlds && i < WORLDS; i++) {
		resident_t *world = &worlds[i];
		int status = 0;
		if (world->keeper <= 0)
			continue;
		world->entry = NULL;
		for (int r = 0; r < world->ranks; r++)
			sem_post(&world->go[r]);
		if (world->state == BUSY)
			kill(world->keeper, SIGTERM);
		while (waitpid(world->keeper, &status, 0) < 0 && errno == EINTR)
			continue;
		if (status != 0 && world->state != ENDED)
			wrong = "a world that ran all its tests did not end well; see what it "
				"printed";
	}
	return wrong;
}
