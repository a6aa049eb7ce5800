/*
 * keeps WHAT: a right program that changes its process in each schedule, and
 * fails where a schedule finds what another has left.
 *
 *     memory       static, allocated and thread-local memory, more of it in
 *                  each schedule, and what was given back
 *     mapping      a mapping is made, and one from before the first kernel is
 *                  taken away
 *     descriptor   a file is opened, and one from before the first kernel is
 *                  closed
 *     thread       a thread is started, and left
 *     settings     signals, working directory, file mode mask, timer
 *     process      nothing; wrong: it fails in the last of eight schedules
 *                  where that has the process of the one before
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { MEMORY, MAPPING, DESCRIPTOR, THREAD, SETTINGS, PROCESS, KINDS };
static const char *const kinds[KINDS] = {"memory", "mapping",  "descriptor",
					 "thread", "settings", "process"};

enum { BYTES = 3 << 20 };

/** What outlives a schedule, in memory that all have in common. */
typedef struct visits {
	int count;
	pid_t process;
} visits_t;

typedef struct count_args {
	TSR_HEAP uint64_t *count;
} count_args_t;

static int in_data = 7, in_bss;
static _Thread_local int in_thread;
static char *allocated, *mapped;
static int opened;

/** Relaxed: counts, and hands nothing over. */
TSR_KERNEL(count_up, count_args_t, a)
{
	(void)tsr_atomic_add(block, a->count, (uint64_t)1, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

static void *idle(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static bool is_all(const char *bytes, char value)
{
	for (int i = 0; i < BYTES; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

static bool keep_memory(void)
{
	const bool fresh = in_data == 7 && in_bss == 0 && in_thread == 0 && is_all(allocated, 1);
	char *more = calloc(1, BYTES);
	const bool zero = more && is_all(more, 0);
	in_data = in_bss = in_thread = 8;
	memset(allocated, 2, BYTES);
	if (more)
		memset(more, 3, BYTES);
	free(allocated);
	return fresh && zero; /* and keeps `more` */
}

static bool keep_mapping(void)
{
	const bool fresh = is_all(mapped, 4);
	char *more = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return munmap(mapped, BYTES) == 0 && more != MAP_FAILED && fresh;
}

static bool keep_descriptor(void)
{
	static int most;
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const bool fresh = most == 0 && fcntl(opened, F_GETFD) >= 0;
	most = fd;
	return close(opened) == 0 && fd >= 0 && fresh;
}

static bool keep_thread(void)
{
	pthread_t thread;
	return pthread_create(&thread, NULL, idle, NULL) == 0;
}

static bool keep_settings(void)
{
	char directory[256];
	struct sigaction action;
	struct itimerval timer;
	sigset_t mask;
	const mode_t before = umask(0123);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	bool fresh = getcwd(directory, sizeof directory) && strcmp(directory, "/") != 0 &&
		     before != 0123;
	fresh = fresh && sigaction(SIGUSR1, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
		!sigismember(&mask, SIGUSR2);
	fresh = fresh && getitimer(ITIMER_REAL, &timer) == 0 && timer.it_value.tv_sec == 0 &&
		timer.it_value.tv_usec == 0;
	signal(SIGUSR1, SIG_IGN);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	timer.it_value.tv_sec = 1000;
	return chdir("/") == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0 && fresh;
}

/** What rank 0 does in each schedule. False: another one has left something. */
static bool keep(int kind, visits_t *visits)
{
	static bool (*const keepers[])(void) = {keep_memory, keep_mapping, keep_descriptor,
						keep_thread, keep_settings};
	const bool same = visits->process == getpid();
	visits->count++;
	visits->process = getpid();
	return kind == PROCESS ? !(same && visits->count == 8) : keepers[kind]();
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	visits_t *visits = mmap(NULL, sizeof *visits, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *memory = malloc(BYTES), *mapping = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
						      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kind == KINDS || visits == MAP_FAILED || !memory || mapping == MAP_FAILED) {
		fprintf(stderr, "usage: keeps memory|mapping|descriptor|thread|settings|process\n");
		return 2;
	}
	const uint64_t zero = 0;
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	memset(memory, 1, BYTES);
	memset(mapping, 4, BYTES);
	if (tsr_world_rank(world) == 0) { /* the ranks are fibres of one process */
		allocated = memory;
		mapped = mapping;
		opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof zero, 0, "count", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &zero, sizeof zero));
	TSR_TRY(tsr_barrier(world));
	const count_args_t args = {(TSR_HEAP uint64_t *)heap};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &count_up, 1, &args)); /* from here on once for each schedule */
	const bool fresh = tsr_world_rank(world) != 0 || keep(kind, visits);
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_stream_destroy(stream));
	return fresh ? 0 : 9;
}
