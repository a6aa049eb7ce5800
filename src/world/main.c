/* Programs: the entry is called once a rank, and what ends the world is said once. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/log.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/world/host.h"
#include "src/world/program.h"

enum { FAILED = 1 };

int tsr_exit_code(int code)
{
	return code != 0 && (code & 0xff) == 0 ? FAILED : code & 0xff;
}

/** Prints the last error's sentence, unless another rank of the world has. */
static int report(tsr_boot_t *boot)
{
	if (boot != NULL)
		tsr_boot_await_burial(boot);
	const char *sentence = tsr_last_error();
	tsr_log(TSR_LOG_ERROR, "fails: %s", sentence);
	if (boot == NULL ? !tsr_error_is_printed() : tsr_boot_claim_report(boot, sentence))
		fprintf(stderr, "tessera: %s\n",
			*sentence != '\0' ? sentence
					  : "failed, and no call of the library said why");
	return boot != NULL ? tsr_boot_exit_code(boot) : FAILED;
}

int tsr_fail(tsr_world_t *world)
{
	if (world == NULL)
		world = tsr_error_here()->world;
	return report(world != NULL ? world->boot : NULL);
}

/** The first failure of a rank, where ranks are threads. */
typedef struct failure {
	_Atomic int code;          /* 0: none yet */
	_Atomic uint64_t since_ns; /* the same */
} failure_t;

/* The code is relaxed: it is read behind the time, or after all threads have been joined. The time
 * releases. Partner: the acquire in end_late, which then finds a code. */
static void note_failure(failure_t *first, int code)
{
	int none = 0;
	uint64_t never = 0;
	if (first == NULL || code == 0)
		return;
	(void)atomic_compare_exchange_strong_explicit(&first->code, &none, code,
						      memory_order_relaxed, memory_order_relaxed);
	(void)atomic_compare_exchange_strong_explicit(&first->since_ns, &never, tsr_now_ns(),
						      memory_order_release, memory_order_relaxed);
}

/**
 * One rank's life, from membership to the end of it. A rank that fails ends the
 * world, so that nobody waits for it. `first`: null where ranks are no threads.
 */
static int run_rank(tsr_boot_t *boot, const tsr_options_t *options, int argc, char **argv,
		    tsr_main_fn entry, failure_t *first)
{
	tsr_world_t *world;
	int code;
	if (tsr_world_open(boot, options, &world) != TSR_OK) {
		code = report(boot);
	} else {
		tsr_status_t status = TSR_ERR_PEER_LOST;
		world->is_of_main = true;
		code = tsr_exit_code(entry(world, argc, argv));
		if (tsr_boot_is_forked(boot))
			return code; /* the rank itself is still in the body */
		if (code != 0)
			tsr_boot_fail(boot, code);
		else if ((status = tsr_world_settle(world)) != TSR_OK)
			/* before the close: ranks as threads may wait there for one that is late */
			code = report(boot);
		note_failure(first, code); /* the close waits for ranks that are threads */
		(void)tsr_world_close(world, status);
	}
	note_failure(first, code);
	tsr_boot_leave(boot);
	return code;
}

/** What the ranks of one process as threads share. */
typedef struct program {
	const tsr_options_t *options;
	int argc;
	char **argv;
	tsr_main_fn entry;
	failure_t first;
} program_t;

typedef struct rank_thread {
	program_t *program;
	tsr_boot_t *boot;
	char **argv; /* its own array: programs take arguments out of it */
	pthread_t thread;
} rank_thread_t;

static void *rank_thread_main(void *data)
{
	rank_thread_t *rank = data;
	program_t *program = rank->program;
	(void)run_rank(rank->boot, program->options, program->argc, rank->argv, program->entry,
		       &program->first);
	return NULL;
}

/** Joins a thread; false: it has not ended for a while. */
static bool join_soon(pthread_t thread)
{
	const long while_ns = 100000000, second_ns = 1000000000;
	struct timespec until;
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (until.tv_nsec + while_ns) / second_ns;
	until.tv_nsec = (until.tv_nsec + while_ns) % second_ns;
	return pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT;
}

/** Ends the process of all ranks, some of which may be printing. */
static _Noreturn void end_process(int code)
{
	if (ftrylockfile(stdout) == 0)
		(void)fflush_unlocked(stdout);
	_exit(code);
}

/** The process whose ranks are threads, while they run; 0: there is none. */
static _Atomic pid_t process_of_ranks;

/**
 * Called by exit. Where ranks are processes, one that exits is lost to the
 * others, who fail; as a thread it would end them all, with success.
 */
static void end_exited(int code, void *unused)
{
	const tsr_world_t *world = tsr_error_here()->world;
	(void)unused;
	/* Relaxed: the caller is a rank, whose thread was started behind the store. */
	if ((code & 0xff) != 0 || world == NULL ||
	    atomic_load_explicit(&process_of_ranks, memory_order_relaxed) != getpid())
		return;
	fprintf(stderr,
		"tessera: rank %d of %d called exit(0), which ends all ranks, because they are "
		"threads of one process; return 0 from the body of TSR_MAIN in its place\n",
		tsr_world_rank(world), tsr_world_size(world));
	end_process(FAILED);
}

/**
 * Ends the process if a rank has failed, and `rank` has not ended a deadline later. A
 * thread cannot be ended alone: it may have memory or locks of others.
 */
static void end_late(const program_t *program, int rank)
{
	/* Partner: the release in note_failure. */
	const uint64_t since_ns =
		atomic_load_explicit(&program->first.since_ns, memory_order_acquire);
	if (since_ns == 0 || tsr_now_ns() - since_ns < program->options->deadline_ns)
		return;
	fprintf(stderr,
		"tessera: rank %d did not end when the world did, and the process of all ranks is "
		"ended\n",
		rank);
	end_process(atomic_load_explicit(&program->first.code, memory_order_relaxed));
}

/** Whether a debugger started this process: it may end the process and report success. */
static bool is_traced(void)
{
	char text[4096];
	const int fd = tsr_fd_keep(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
	const ssize_t got = fd >= 0 ? tsr_fd_read(fd, text, sizeof text - 1) : 0;
	tsr_fd_close(&fd, 1);
	text[got > 0 ? got : 0] = '\0';
	const char *found = strstr(text, "TracerPid:");
	return found != NULL && atoi(found + strlen("TracerPid:")) != 0;
}

/** Tells the launcher, if the descriptor is still its pipe. */
static void tell_launcher(const tsr_options_t *options, char what)
{
	struct stat info;
	if (fstat(options->ranks_fd, &info) == 0 && S_ISFIFO(info.st_mode))
		(void)tsr_fd_write(options->ranks_fd, &what, 1);
}

/**
 * Starts a thread for each rank, and joins them. Those that cannot be started
 * leave the world, and the others notice.
 */
static void run_threads(program_t *program, rank_thread_t *ranks, int size)
{
	static atomic_flag registered = ATOMIC_FLAG_INIT;
	int started = 0;
	if (!atomic_flag_test_and_set(&registered))
		(void)on_exit(end_exited, NULL);
	atomic_store_explicit(&process_of_ranks, getpid(), memory_order_relaxed);
	const bool tells = program->options->ranks_fd > 0 && !is_traced();
	if (tells)
		tell_launcher(program->options, TSR_RANKS_BEGIN);
	while (started < size &&
	       pthread_create(&ranks[started].thread, NULL, rank_thread_main, &ranks[started]) == 0)
		started++;
	if (started < size) {
		(void)tsr_error(TSR_ERR_SYSTEM, "cannot start a thread for rank %d of %d", started,
				size);
		note_failure(&program->first, report(NULL));
		for (int r = started; r < size; r++) {
			tsr_boot_abort(ranks[r].boot, TSR_ERR_SYSTEM, tsr_last_error());
			tsr_boot_leave(ranks[r].boot);
		}
	}
	for (int r = 0; r < started; r++)
		while (!join_soon(ranks[r].thread))
			end_late(program, r);
	if (tells)
		tell_launcher(program->options, TSR_RANKS_FINISHED);
	atomic_store_explicit(&process_of_ranks, 0, memory_order_relaxed);
}

static int rank_fibre_main(void *ranks, int rank)
{
	rank_thread_t *self = (rank_thread_t *)ranks + rank;
	return run_rank(self->boot, self->program->options, self->program->argc, self->argv,
			self->program->entry, NULL);
}

/** Memberships, and what they are members of where ranks are fibres. */
static tsr_status_t make_boots(const tsr_options_t *options, int size, bool fibres,
			       tsr_exploration_t **exploration, tsr_boot_t **boots)
{
	if (!fibres)
		return tsr_boot_threads(size, options->deadline_ns, boots);
	tsr_status_t status = tsr_executor.create(options->check, size, exploration);
	return status == TSR_OK ? tsr_boot_fibres(*exploration, size, options->deadline_ns, boots)
				: status;
}

/** All ranks in this process. */
static int run_ranks(const tsr_options_t *options, int size, int argc, char **argv,
		     tsr_main_fn entry, bool fibres)
{
	program_t program = {.options = options, .argc = argc, .argv = argv, .entry = entry};
	const size_t array = (size_t)argc + 1;
	rank_thread_t *ranks = calloc((size_t)size, sizeof *ranks);
	char **arrays = calloc((size_t)size * array, sizeof *arrays);
	tsr_exploration_t *exploration = NULL;
	tsr_boot_t *boots[TSR_MAX_RANKS];
	tsr_status_t status = TSR_OK;
	if (ranks == NULL || arrays == NULL)
		status = tsr_error(TSR_ERR_NO_MEMORY,
				   "the host has no memory for %d ranks in one process; free some",
				   size);
	if (status == TSR_OK)
		status = make_boots(options, size, fibres, &exploration, boots);
	for (int r = 0; status == TSR_OK && r < size; r++) {
		memcpy(arrays + (size_t)r * array, argv, (size_t)argc * sizeof *argv);
		ranks[r] = (rank_thread_t){
			.program = &program, .boot = boots[r], .argv = arrays + (size_t)r * array};
	}
	if (status != TSR_OK)
		program.first.code = report(NULL);
	else if (fibres)
		program.first.code = tsr_executor.run(exploration, rank_fibre_main, ranks);
	else
		run_threads(&program, ranks, size);
	tsr_executor.destroy(exploration);
	free(arrays);
	free(ranks);
	return program.first.code;
}

int tsr_program_run_threads(const tsr_options_t *options, int size, int argc, char **argv,
			    tsr_main_fn entry)
{
	return run_ranks(options, size, argc, argv, entry, false);
}

int tsr_program_explore(const tsr_options_t *options, int size, int argc, char **argv,
			tsr_main_fn entry)
{
	return run_ranks(options, size, argc, argv, entry, !tsr_executor.compared(options->check));
}

int tsr_program_run(int argc, char **argv, tsr_main_fn entry)
{
	tsr_options_t options;
	tsr_job_t job;
	tsr_boot_t *boot;
	int explored;
	if (tsr_options_read(&options) != TSR_OK)
		return report(NULL);
	if (options.check != NULL) /* the program is no part of a job: all ranks are here */
		return tsr_executor.ranks(options.check, &explored) == TSR_OK
			       ? tsr_program_explore(&options, explored, argc, argv, entry)
			       : report(NULL);
	if (tsr_job_detect(&job) != TSR_OK)
		return report(NULL);
	if (options.threads)
		return tsr_program_run_threads(&options, job.size, argc, argv, entry);
	if (tsr_boot_join(&job, options.deadline_ns, &boot) != TSR_OK)
		return report(NULL);
	return run_rank(boot, &options, argc, argv, entry, NULL);
}

int tsr_main(int argc, char **argv, tsr_main_fn entry)
{
	return tsr_flush_output(tsr_program_run(argc, argv, entry));
}
