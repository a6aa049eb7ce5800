/* Forking ranks, waiting for them, and leaving none behind. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/bootstrap/crew.h"
#include "src/bootstrap/notice.h"

#define INTERRUPT_GRACE_NS 2000000000u
#define STOPPED_GRACE_NS 500000000u /* somebody may be about to continue it */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

static bool is_ignored(int number)
{
	struct sigaction now;
	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/**
 * A signal that is blocked is kept even where it is ignored: so those that are
 * ignored must not be among the awaited.
 */
static sigset_t awaited_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (int i = 0; i < ENDING_SIGNALS; i++)
		if (!is_ignored(ending_signals[i]))
			sigaddset(&set, ending_signals[i]);
	if (!is_ignored(SIGTSTP))
		sigaddset(&set, SIGTSTP);
	return set;
}

/** The guardian's life: waits for the launcher's end, then ends the group and itself with it. */
static void guard(int lifeline)
{
	sigset_t all;
	char byte;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setpgid(0, 0);
	while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
		continue;
	kill(0, SIGKILL);
	_exit(0);
}

static void restore_signals(const tsr_crew_t *crew)
{
	sigaction(SIGCHLD, &crew->child_before, NULL);
	sigprocmask(SIG_SETMASK, &crew->mask_before, NULL);
}

static bool share_results(tsr_crew_t *crew)
{
	void *memory = mmap(NULL, sizeof *crew->results * TSR_MAX_RANKS, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	crew->results = memory;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		crew->results[r] = -1;
	return true;
}

static void unshare_results(const tsr_crew_t *crew)
{
	const int error = errno;
	munmap((void *)crew->results, sizeof *crew->results * TSR_MAX_RANKS);
	errno = error;
}

bool tsr_crew_begin(tsr_crew_t *crew, uint64_t deadline_ns)
{
	int pipe_fds[2];
	*crew = (tsr_crew_t){
		.lifeline = -1, .deadline_ns = deadline_ns, .awaited = awaited_signals()};
	if (!share_results(crew))
		return false;
	tsr_memory_limit_begin(&crew->memory, "");
	if (tsr_fd_pipe(pipe_fds, 0) != 0) {
		unshare_results(crew);
		return false;
	}
	/* ignored, it would reap the ranks behind our back */
	const struct sigaction plain = {.sa_handler = SIG_DFL};
	sigprocmask(SIG_BLOCK, &crew->awaited, &crew->mask_before);
	sigaction(SIGCHLD, &plain, &crew->child_before);
	crew->guardian = fork();
	if (crew->guardian == 0) {
		close(pipe_fds[1]);
		guard(pipe_fds[0]);
	}
	const int error = errno;
	close(pipe_fds[0]);
	crew->lifeline = pipe_fds[1];
	if (crew->guardian < 0) {
		close(crew->lifeline);
		unshare_results(crew);
		restore_signals(crew);
		errno = error;
		return false;
	}
	setpgid(crew->guardian, crew->guardian); /* also here: the ranks join it at once */
	return true;
}

/** In a rank's process: as if it had been started by itself, but for the group. */
static void become_rank(const tsr_crew_t *crew, pid_t launcher, int rank)
{
	close(crew->lifeline); /* or the guardian would wait for the ranks too */
	setpgid(0, crew->guardian);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher)
		_exit(1);
	/* The group is not the terminal's: whoever read from it would be stopped. And one rank at
	 * most may read the input. */
	if (rank > 0 || isatty(STDIN_FILENO)) {
		const int nothing = open("/dev/null", O_RDONLY);
		if (nothing > 0) {
			dup2(nothing, STDIN_FILENO);
			close(nothing);
		}
	}
	signal(SIGTTOU, SIG_IGN);
	restore_signals(crew);
}

pid_t tsr_crew_fork(tsr_crew_t *crew)
{
	const pid_t launcher = getpid();
	const pid_t pid = fork();
	if (pid == 0)
		become_rank(crew, launcher, crew->count);
	if (pid > 0) {
		/* also here: one that is stopped at once would not be killed with the group */
		setpgid(pid, crew->guardian);
		crew->ranks[crew->count++] = pid;
	}
	return pid;
}

void tsr_crew_tell(const tsr_crew_t *crew, int code)
{
	/* relaxed: the kernel orders it before the end of the process, which the launcher sees */
	atomic_store_explicit(&crew->results[crew->count], code & 0xff, memory_order_relaxed);
}

/** How `rank` ended, as waitpid says it. False: it has not. */
static bool has_ended(tsr_crew_t *crew, int rank, int *status_out)
{
	siginfo_t end = {.si_pid = 0};
	if (waitid(P_PID, (id_t)crew->ranks[rank], &end, WEXITED | WNOHANG | WNOWAIT) == 0) {
		if (end.si_pid == 0)
			return false;
		if (end.si_code == CLD_KILLED && end.si_status == SIGPIPE) {
			/* its peers wait for the burial before they say that it is lost */
			crew->unread = true;
			kill(-crew->guardian, SIGKILL);
		}
		if (waitpid(crew->ranks[rank], status_out, WNOHANG) > 0)
			return true;
	}
	/* Another thread of the launching program has reaped it. relaxed: see tsr_crew_tell */
	const int told = atomic_load_explicit(&crew->results[rank], memory_order_relaxed);
	*status_out = W_EXITCODE(told >= 0 ? told : 1, 0);
	if (told < 0)
		fprintf(stderr,
			"tessera: how rank %d ended is not known, as another thread of the "
			"launching program has waited for its "
			"process; let none call wait() while a world runs, nor waitpid() but for "
			"its own children\n",
			rank);
	return true;
}

/**
 * The exit code that a wait status stands for, as shells have it. A signal is
 * reported, unless the launcher sent it.
 */
static int code_of(tsr_crew_t *crew, int rank, int status, bool expected)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	const int number = WTERMSIG(status);
	char who[32];
	if (crew->one_process)
		snprintf(who, sizeof who, "the process of all ranks");
	else
		snprintf(who, sizeof who, "rank %d", rank);
	const bool quiet = number == SIGPIPE || (number == SIGKILL && crew->unread);
	if (!expected && !quiet) {
		char why[TSR_MEMORY_LIMIT_TEXT] = "";
		if (number == SIGKILL)
			(void)tsr_memory_limit_why(&crew->memory, why);
		fprintf(stderr, "tessera: %s was killed by signal %d (%s)%s\n", who, number,
			strsignal(number), why);
	}
	return 128 + number;
}

/**
 * Reaps those that have ended. Returns how many are left; `*first_code` keeps
 * the first code that is not 0.
 */
static int reap(tsr_crew_t *crew, bool expected, int *first_code)
{
	int left = 0;
	for (int r = 0; r < crew->count; r++) {
		int status;
		if (crew->ranks[r] == 0)
			continue;
		if (!has_ended(crew, r, &status)) {
			left++;
			continue;
		}
		crew->ranks[r] = 0;
		if (crew->notice != NULL)
			tsr_notice_ended(crew->notice, r, status);
		const int code = code_of(crew, r, status, expected);
		if (*first_code == 0)
			*first_code = code;
	}
	return left;
}

/** Says which ranks did not end by themselves, and kills all. */
static void kill_late(const tsr_crew_t *crew)
{
	for (int r = 0; r < crew->count; r++)
		if (crew->ranks[r] != 0)
			fprintf(stderr,
				"tessera: rank %d did not end when the world did, and is killed\n",
				r);
	kill(-crew->guardian, SIGKILL);
}

/** The next signal but a child's; 0 after a child's signal or a while. */
static int await_signal(const tsr_crew_t *crew)
{
	const struct timespec while_ = {.tv_nsec = 100000000};
	const int number = sigtimedwait(&crew->awaited, NULL, &while_);
	return number > 0 && number != SIGCHLD ? number : 0;
}

/**
 * Stops the ranks, which the terminal does not know, and then the launcher, as
 * SIGTSTP does; returns when that is continued, and continues them. The
 * guardian blocks all signals and runs on.
 */
static void stop(tsr_crew_t *crew)
{
	const uint64_t begin_ns = tsr_now_ns();
	const struct sigaction plain = {.sa_handler = SIG_DFL};
	struct sigaction before;
	sigset_t stopping;
	sigemptyset(&stopping);
	sigaddset(&stopping, SIGTSTP);
	kill(-crew->guardian, SIGTSTP);
	sigaction(SIGTSTP, &plain, &before);
	raise(SIGTSTP); /* blocked; it is taken as it is let through */
	pthread_sigmask(SIG_UNBLOCK, &stopping, NULL);
	pthread_sigmask(SIG_BLOCK, &stopping, NULL);
	sigaction(SIGTSTP, &before, NULL);
	kill(-crew->guardian, SIGCONT);
	crew->stopped_ns += tsr_now_ns() - begin_ns;
}

/**
 * Whether those that have not ended are stopped (SIGSTOP): they will not notice
 * that the world has ended.
 */
static bool all_left_are_stopped(const tsr_crew_t *crew)
{
	for (int r = 0; r < crew->count; r++) {
		siginfo_t info = {.si_pid = 0};
		if (crew->ranks[r] == 0)
			continue;
		if (waitid(P_PID, (id_t)crew->ranks[r], &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
		    info.si_pid == 0)
			return false;
	}
	return true;
}

/** The clock of the crew's deadlines: it does not run while all are stopped. */
static uint64_t crew_now_ns(const tsr_crew_t *crew)
{
	return tsr_now_ns() - crew->stopped_ns;
}

/** What waiting for a crew has come to. */
typedef struct ending {
	int first_code, interrupts;
	uint64_t end_ns; /* when the rest is killed; 0: nothing has failed yet */
	bool killed;
} ending_t;

/** Kills those who have had time enough. */
static void kill_if_due(tsr_crew_t *crew, ending_t *ending)
{
	const uint64_t now = crew_now_ns(crew);
	if (ending->first_code != 0 && ending->end_ns == 0)
		ending->end_ns = now + crew->deadline_ns;
	if (ending->end_ns > now + STOPPED_GRACE_NS && all_left_are_stopped(crew))
		ending->end_ns = now + STOPPED_GRACE_NS;
	if (ending->killed || ending->end_ns == 0)
		return;
	if (now <= ending->end_ns)
		return;
	if (!crew->unread)
		kill_late(crew);
	ending->killed = true;
}

static void interrupt(tsr_crew_t *crew, ending_t *ending, int number)
{
	if (ending->interrupts++ == 0) {
		ending->first_code = ending->first_code != 0 ? ending->first_code : 128 + number;
		ending->end_ns = crew_now_ns(crew) + INTERRUPT_GRACE_NS;
		fprintf(stderr, "tessera: signal %d (%s) ends all ranks\n", number,
			strsignal(number));
	}
	/* whoever asks twice means it */
	kill(-crew->guardian, ending->interrupts > 1 ? SIGKILL : number);
}

int tsr_crew_wait(tsr_crew_t *crew)
{
	ending_t ending = {.first_code = 0};
	while (reap(crew, ending.killed || ending.interrupts > 0, &ending.first_code) > 0) {
		kill_if_due(crew, &ending);
		if (crew->notice != NULL && !crew->unread)
			(void)tsr_notice_tell(crew->notice);
		const int number = await_signal(crew);
		if (number == SIGTSTP)
			stop(crew);
		else if (number != 0)
			interrupt(crew, &ending, number);
	}
	return ending.first_code;
}

/** Waits for a process that has been killed. */
static void bury(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

void tsr_crew_end(tsr_crew_t *crew)
{
	/* the guardian, and what ranks may have left in the group */
	kill(-crew->guardian, SIGKILL);
	close(crew->lifeline);
	for (int r = 0; r < crew->count; r++)
		if (crew->ranks[r] != 0)
			bury(crew->ranks[r]);
	bury(crew->guardian);
	unshare_results(crew);
	restore_signals(crew);
}
