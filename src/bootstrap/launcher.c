/* Starting worlds: N processes that share a job's name, or one process whose ranks are threads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/os/descriptor.h"
#include "src/base/os/secret.h"
#include "src/base/settings/options.h"
#include "src/base/sized.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/crew.h"
#include "src/bootstrap/launchers.h"
#include "src/bootstrap/nodes/root.h"
#include "src/bootstrap/notice.h"
#include "src/bootstrap/spaces/spaces.h"
#include "src/registry/registry.h"
#include "src/world/program.h"
#include "tessera/launcher.h"

/** A launcher's fields with the environment's values filled in. */
typedef struct plan {
	tsr_options_t options;
	int ranks;
	int nodes; /* emulated ones; 1: none is */
	bool threads;
	int root_fd; /* several nodes: where rank 0 listens; else -1 */
	char root[64];
	int told[2]; /* ranks are threads: what their process tells of them; else -1 */
	bool apart;  /* each node has a network of its own */
	tsr_spaces_t spaces;
	char job[64];    /* no other launch of this machine has it */
	char secret[40]; /* of this launch: 128 random bits */
} plan_t;

/**
 * A rank of a job starts no world of its own. A job that cannot be made out is
 * for tsr_init to judge.
 */
static tsr_status_t check_outer_job(void)
{
	tsr_job_t job;
	if (tsr_job_detect(&job) != TSR_OK || job.size < 2 || strcmp(job.launcher, "none") == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_CONFIG,
			 "this process is rank %d of %d of a job that %s started, and each of its "
			 "ranks would start a world of its own: "
			 "start the program itself there, or this command outside the job",
			 job.rank, job.size, job.launcher);
}

static tsr_status_t name_plan(plan_t *plan)
{
	uint64_t bits[3];
	if (!tsr_random_bytes(bits, sizeof bits))
		return tsr_error(TSR_ERR_SYSTEM,
				 "the kernel gives no random numbers to name a job by: %s",
				 strerror(errno));
	snprintf(plan->job, sizeof plan->job, "%016llx", (unsigned long long)bits[0]);
	snprintf(plan->secret, sizeof plan->secret, "%016llx%016llx", (unsigned long long)bits[1],
		 (unsigned long long)bits[2]);
	return TSR_OK;
}

static tsr_status_t check_nodes(const tsr_launcher_t *launcher, plan_t *plan)
{
	const int wished = plan->options.nodes, all = plan->options.check ? 1 : plan->ranks;
	plan->nodes = launcher->nodes != 0 ? launcher->nodes : wished < all ? wished : all;
	if (plan->nodes < 1 || plan->nodes > plan->ranks)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"a world of %d ranks on %d nodes: every node has at least one rank",
			plan->ranks, plan->nodes);
	if (plan->nodes > 1 && plan->threads &&
	    plan->options.node_network == TSR_NODES_IN_NAMESPACES)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "ranks as threads are in one process and so in its network "
				 "namespace: use the placement 'process', or the node network "
				 "'auto' or 'loopback'");
	if (plan->nodes > 1 && plan->options.check != NULL)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "tessera check explores ranks in one process, so they are on one "
				 "node, not on %d",
				 plan->nodes);
	plan->options.nodes = plan->nodes;
	return TSR_OK;
}

static tsr_status_t make_plan(const tsr_launcher_t *theirs, plan_t *plan)
{
	if (theirs == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "a world is launched by a tsr_launcher_t, not by null");
	tsr_launcher_t launcher;
	tsr_status_t status = TSR_SIZED_TAKE(tsr_launcher_t, backend, theirs, &launcher);
	if (status == TSR_OK)
		status = tsr_options_read(&plan->options);
	if (status == TSR_OK)
		status = check_outer_job();
	if (status != TSR_OK)
		return status;
	if (launcher.backend != NULL)
		plan->options.backend = launcher.backend;
	plan->ranks = launcher.ranks != 0      ? launcher.ranks
		      : plan->options.size > 0 ? plan->options.size
					       : 1;
	if (plan->ranks < 1 || plan->ranks > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_ARGUMENT, "a world of %d ranks: a world has 1 to %d",
				 plan->ranks, TSR_MAX_RANKS);
	plan->threads = launcher.placement == TSR_PLACE_DEFAULT
				? plan->options.threads
				: launcher.placement == TSR_PLACE_THREAD;
	plan->options.threads = plan->threads;
	status = check_nodes(&launcher, plan);
	return status == TSR_OK ? name_plan(plan) : status;
}

/** Gives each node a network of its own, where that is wished. */
static tsr_status_t make_spaces(plan_t *plan)
{
	char why[128];
	const tsr_node_network_t wish = plan->options.node_network;
	plan->apart = wish != TSR_NODES_BY_LOOPBACK &&
		      tsr_spaces_make(&plan->spaces, plan->nodes, why, sizeof why);
	if (plan->apart || wish != TSR_NODES_IN_NAMESPACES)
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM,
			 "cannot make network namespaces for %d nodes: %s; run this as root, or "
			 "with TESSERA_NODE_NETWORK=auto, which does without them",
			 plan->nodes, why);
}

/** In the network of node 0, at its address. */
static tsr_status_t open_root_there(plan_t *plan)
{
	tsr_status_t status = TSR_ERR_SYSTEM;
	if (tsr_spaces_visit(&plan->spaces, 0))
		status = tsr_root_open(TSR_SPACE_FIRST, plan->root, sizeof plan->root,
				       &plan->root_fd);
	else
		(void)tsr_error(status, "cannot enter the network of node 0: %s", strerror(errno));
	if (!tsr_spaces_visit(&plan->spaces, -1) ||
	    (status == TSR_OK && fcntl(plan->root_fd, F_SETFD, 0) != 0))
		status = tsr_error(TSR_ERR_SYSTEM, "cannot leave the network of node 0: %s",
				   strerror(errno));
	return status;
}

/**
 * Several nodes: opens the socket at which rank 0 listens, so that nobody else
 * takes the port before.
 */
static tsr_status_t open_root(plan_t *plan)
{
	int port = 0;
	plan->root_fd = -1;
	plan->apart = false;
	if (plan->nodes < 2 || plan->threads)
		return TSR_OK;
	const tsr_status_t status = make_spaces(plan);
	if (status != TSR_OK)
		return status;
	if (plan->apart)
		return open_root_there(plan);
	plan->root_fd = tsr_root_reserve(&port);
	if (plan->root_fd < 0)
		return tsr_error(TSR_ERR_SYSTEM, "cannot listen at a port of this machine: %s",
				 strerror(errno));
	snprintf(plan->root, sizeof plan->root, "127.0.0.1:%d", port);
	return TSR_OK;
}

static void set_number(const char *name, int value)
{
	char text[16];
	snprintf(text, sizeof text, "%d", value);
	setenv(name, text, 1);
}

/** Where a rank is; and nothing of a launcher's around this one. */
static void set_node(const plan_t *plan, int rank)
{
	int first;
	unsetenv("TESSERA_NODE");
	unsetenv("TESSERA_LOCAL_RANK");
	unsetenv("TESSERA_ROOT");
	unsetenv("TESSERA_ROOT_FD");
	unsetenv("TESSERA_RANKS_FD");
	if (rank < 0)
		set_number("TESSERA_RANKS_FD", plan->told[1]);
	unsetenv("TESSERA_NODES");
	unsetenv("TESSERA_NODE_NETWORK");
	if (plan->nodes > 1 && rank < 0)
		set_number("TESSERA_NODES", plan->nodes);
	if (plan->nodes < 2 || rank < 0)
		return;
	set_number("TESSERA_NODE", tsr_node_in_blocks(rank, plan->ranks, plan->nodes, &first));
	set_number("TESSERA_LOCAL_RANK", rank - first);
	setenv("TESSERA_ROOT", plan->root, 1);
	/* for the log; and a launcher in a rank starts no nodes apart of those */
	setenv("TESSERA_NODE_NETWORK", plan->apart ? "namespaces" : "loopback", 1);
	if (rank == 0)
		set_number("TESSERA_ROOT_FD", plan->root_fd);
	else
		tsr_fd_close(&plan->root_fd, 1);
}

/** In a rank's process: the environment that tsr_init reads. `rank` -1: it holds all ranks. */
static void set_environment(const plan_t *plan, int rank)
{
	set_number("TESSERA_SIZE", plan->ranks);
	setenv("TESSERA_PLACEMENT", rank < 0 ? "thread" : "process", 1);
	if (plan->options.backend != NULL)
		setenv("TESSERA_BACKEND", plan->options.backend, 1);
	if (rank < 0) {
		unsetenv("TESSERA_RANK");
		unsetenv("TESSERA_JOB");
		unsetenv("TESSERA_SECRET");
	} else {
		set_number("TESSERA_RANK", rank);
		setenv("TESSERA_JOB", plan->job, 1);
		setenv("TESSERA_SECRET", plan->secret, 1);
	}
	set_node(plan, rank);
}

/** What the process of a rank does, and returns as its exit code. */
typedef struct task {
	int argc;
	char **argv;
	tsr_main_fn entry; /* null: executes argv */
	/* where a program that cannot be executed leaves errno; closed by executing */
	int failures_fd;
} task_t;

static int run_task(const task_t *task)
{
	if (task->entry != NULL)
		return tsr_program_run(task->argc, task->argv, task->entry);
	execvp(task->argv[0], task->argv);
	const int error = errno;
	(void)!write(task->failures_fd, &error, sizeof error);
	return error == ENOENT ? 127 : 126;
}

static int fail(tsr_status_t status, const char *action)
{
	(void)tsr_error(status, "%s: %s", action, strerror(errno));
	return tsr_fail(NULL);
}

/** The job as its ranks will make it out of their environment. */
static void begin_notice(const plan_t *plan, tsr_notice_t *notice)
{
	tsr_found_t found = {
		.launcher = "tessera run", .size = plan->ranks, .several = plan->nodes > 1};
	tsr_job_t job;
	snprintf(found.job, sizeof found.job, "%s", plan->job);
	tsr_job_of(&found, plan->secret, &job);
	tsr_notice_begin(notice, &job);
	for (int r = 0; r < plan->ranks && plan->nodes > 1; r++)
		notice->node_of[r] =
			tsr_node_in_blocks(r, plan->ranks, plan->nodes, &notice->keeper_of[r]);
}

/** A rank's process, before its program: to the network of its node. */
static bool go_there(plan_t *plan, int rank)
{
	int first;
	if (!plan->apart)
		return true;
	if (!tsr_spaces_live(&plan->spaces,
			     tsr_node_in_blocks(rank, plan->ranks, plan->nodes, &first))) {
		(void)fail(TSR_ERR_SYSTEM, "cannot enter the network of a node");
		return false;
	}
	tsr_spaces_end(&plan->spaces); /* the process holds its own */
	return true;
}

/**
 * Ranks that are threads: a pipe, as the launcher sees only how their process
 * ends. One that calls _exit(0) ends all of them, and nothing else tells.
 */
static bool open_told(plan_t *plan)
{
	plan->told[0] = plan->told[1] = -1;
	return !plan->threads ||
	       (tsr_fd_pipe(plan->told, O_NONBLOCK) == 0 && fcntl(plan->told[1], F_SETFD, 0) == 0);
}

/** The code of a process that has ended with `code`, but maybe not all its ranks. */
static int judge_told(const plan_t *plan, int code)
{
	char told[256];
	int running = 0;
	ssize_t got = 0;
	if (!plan->threads)
		return code;
	while ((got = tsr_fd_read(plan->told[0], told, sizeof told)) > 0)
		for (ssize_t i = 0; i < got; i++)
			running += told[i] == TSR_RANKS_BEGIN ? 1 : -1;
	tsr_fd_close(plan->told, 2);
	if (code != 0 || running <= 0)
		return code;
	fprintf(stderr,
		"tessera: the process of all %d ranks ended with exit code 0 before they had "
		"finished, as _exit(0) in one of them does; return 0 from the body of TSR_MAIN in "
		"its place\n",
		plan->ranks);
	return EXIT_FAILURE;
}

/** Starts all processes and waits for them. */
static int run_processes(plan_t *plan, const task_t *task)
{
	tsr_crew_t crew;
	tsr_notice_t notice;
	fflush(stderr);
	if (tsr_flush_output(0) != 0) /* or each child would write what is still in there */
		return EXIT_FAILURE;
	if (!tsr_crew_begin(&crew, plan->options.deadline_ns))
		return fail(TSR_ERR_SYSTEM, "cannot start ranks");
	crew.one_process = plan->threads;
	if (!open_told(plan)) {
		const int code = fail(TSR_ERR_SYSTEM, "cannot start ranks");
		tsr_fd_close(plan->told, 2);
		tsr_crew_end(&crew);
		return code;
	}
	if (open_root(plan) != TSR_OK) {
		if (plan->apart)
			tsr_spaces_end(&plan->spaces);
		tsr_crew_end(&crew);
		return tsr_fail(NULL);
	}
	begin_notice(plan, &notice);
	notice.spaces = plan->apart ? &plan->spaces : NULL;
	crew.notice = plan->threads ? NULL : &notice;
	int code = 0;
	for (int r = 0; r < (plan->threads ? 1 : plan->ranks) && code == 0; r++) {
		const pid_t pid = tsr_crew_fork(&crew);
		if (pid < 0)
			code = fail(TSR_ERR_SYSTEM, "cannot start a process for a rank");
		if (pid != 0)
			continue;
		set_environment(plan, plan->threads ? -1 : r);
		const int result = go_there(plan, r) ? tsr_flush_output(run_task(task)) : 1;
		/* not exit(): what the launching program does at its end is not the ranks' to do */
		fflush(stderr);
		tsr_crew_tell(&crew, result);
		_exit(result);
	}
	tsr_fd_close(&plan->root_fd, 1); /* rank 0 has it */
	if (code == 0)
		code = tsr_crew_wait(&crew);
	tsr_crew_end(&crew);
	code = judge_told(plan, code);
	tsr_notice_end(&notice);
	if (plan->apart)
		tsr_spaces_end(&plan->spaces);
	return code;
}

int tsr_launch_world(const tsr_launcher_t *launcher, int argc, char **argv, tsr_main_fn entry)
{
	plan_t plan;
	if (make_plan(launcher, &plan) != TSR_OK)
		return tsr_fail(NULL);
	if (plan.options.check != NULL)
		return tsr_program_explore(&plan.options, plan.ranks, argc, argv, entry);
	if (plan.threads)
		return tsr_program_run_threads(&plan.options, plan.ranks, argc, argv, entry);
	const task_t task = {.argc = argc, .argv = argv, .entry = entry, .failures_fd = -1};
	return run_processes(&plan, &task);
}

/** Says once what no rank could execute. */
static void report_execution(int failures_fd, const char *program)
{
	int error;
	if (tsr_fd_read(failures_fd, &error, sizeof error) == (ssize_t)sizeof error)
		fprintf(stderr, "tessera: cannot execute '%s': %s\n", program, strerror(error));
}

int tsr_launch_program(const tsr_launcher_t *launcher, char **argv)
{
	plan_t plan;
	int failures[2];
	if (argv == NULL || argv[0] == NULL) {
		(void)tsr_error(TSR_ERR_ARGUMENT,
				"there is no program to run: name one behind the options");
		return tsr_fail(NULL);
	}
	if (make_plan(launcher, &plan) != TSR_OK)
		return tsr_fail(NULL);
	if (tsr_fd_pipe(failures, O_NONBLOCK) != 0)
		return fail(TSR_ERR_SYSTEM, "cannot start a program");
	const task_t task = {.argv = argv, .failures_fd = failures[1]};
	const int code = run_processes(&plan, &task);
	report_execution(failures[0], argv[0]);
	close(failures[0]);
	close(failures[1]);
	return code;
}
