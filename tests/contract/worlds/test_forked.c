/* A process that a rank forks is no rank: its calls fail, and the world goes on. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/contract/contract_test.h"

typedef struct no_args {
	int32_t unused;
} no_args_t;

TSR_KERNEL(does_nothing, no_args_t, a)
{
	(void)a;
	tsr_sync(block);
}

static bool refused(tsr_status_t status, const char *call)
{
	return status == TSR_ERR_UNSUPPORTED && strstr(tsr_last_error(), call) &&
	       strstr(tsr_last_error(), "was called in a process that was forked from rank");
}

/** In the forked process: the number of the first call that is not refused, or 0. */
static int try_all(tsr_world_t *world, tsr_stream_t *stream, TSR_HEAP void *mine)
{
	const no_args_t args = {0};
	int number = 0;
	TSR_HEAP void *heap;
	tsr_team_t *team = tsr_world_team(world), *half;
	tsr_stream_t *other;
	const tsr_launch_desc_t group = TSR_LAUNCH_DESC(stream, &does_nothing, 1, &args);
#define REFUSED(call_, ...)                       \
	do {                                      \
		number++;                         \
		if (!refused(__VA_ARGS__, call_)) \
			return number;            \
	} while (0)
	REFUSED("tsr_barrier", tsr_barrier(world));
	REFUSED("tsr_team_barrier", tsr_team_barrier(team));
	REFUSED("tsr_team_broadcast", tsr_team_broadcast(team, &number, sizeof number, 0));
	REFUSED("tsr_team_split", tsr_team_split(team, 0, 0, "half", &half));
	REFUSED("tsr_heap_alloc", tsr_heap_alloc(world, 64, 0, "of nobody", &heap));
	REFUSED("tsr_heap_free", tsr_heap_free(world, mine));
	REFUSED("tsr_launch", tsr_launch(stream, &does_nothing, 1, &args));
	REFUSED("tsr_launch_group", tsr_launch_group(&group, 1));
	REFUSED("tsr_stream_create", tsr_stream_create(team, &other));
	REFUSED("tsr_stream_sync", tsr_stream_sync(stream));
	REFUSED("tsr_stream_destroy", tsr_stream_destroy(stream));
#undef REFUSED
	return 0;
}

/* A sanitizer's process with threads does not fork well. */
#ifdef WORLD_THREADS_ONLY
enum { FORKS = 0 };
#else
enum { FORKS = 1 };
#endif

static int code_of(pid_t child)
{
	int status;
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : -1;
}

static int calls_body(tsr_world_t *world, int argc, char **argv)
{
	const no_args_t args = {0};
	TSR_HEAP void *mine = poisoned(world, 64, "mine"), *more;
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	CHECK(mine && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_launch(stream, &does_nothing, 1, &args) == TSR_OK);
	const pid_t child = fork();
	if (child == 0) {
		alarm(30); /* a call that is not refused may wait for a thread of the parent */
		_exit(try_all(world, stream, mine));
	}
	const int code = code_of(child);
	CHECK(code == 0, "call %d in the forked process", code);
	CHECK(tsr_launch(stream, &does_nothing, 1, &args) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 64, 0, "more", &more) == TSR_OK);
	CHECK(tsr_heap_free(world, more) == TSR_OK);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return tsr_heap_free(world, mine) != TSR_OK;
}

Test(forked, calls_of_the_world_are_refused)
{
	if (!FORKS)
		return;
	setenv("TESSERA_DEADLINE", "10s", 1);
	cr_expect(world_start(3, TSR_PLACE_PROCESS, calls_body, NULL) == 0, "processes");
	if (world_has_threads())
		cr_expect(world_start(2, TSR_PLACE_THREAD, calls_body, NULL) == 0, "threads");
}

static int returns_body(tsr_world_t *world, int argc, char **argv)
{
	static const int codes[] = {0, 7};
	(void)argc, (void)argv;
	for (int i = 0; i < 2; i++) {
		const pid_t child = tsr_world_rank(world) == 1 ? fork() : -1;
		if (child == 0) {
			alarm(30);
			return codes[i];
		}
		CHECK(tsr_world_rank(world) != 1 || code_of(child) == codes[i]);
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	return 0;
}

Test(forked, a_return_from_the_body_ends_the_forked_process_alone)
{
	if (!FORKS)
		return;
	setenv("TESSERA_DEADLINE", "10s", 1);
	cr_expect(world_start(2, TSR_PLACE_PROCESS, returns_body, NULL) == 0);
}
