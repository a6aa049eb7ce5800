/* Forking ranks, waiting for them, and leaving none behind. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/descriptor.h"
#include "src/bootstrap/crew.h"
#include "src/bootstrap/notice.h"

#define INTERRUPT_GRACE_NS 2000000000u
#define STOPPED_GRACE_NS 500000000u /* somebody may be about to continue it */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

static sigset_t awaited_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (int i = 0; i < ENDING_SIGNALS; i++)
		sigaddset(&set, ending_signals[i]);
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

bool tsr_crew_begin(tsr_crew_t *crew, uint64_t deadline_ns)
{
	int pipe_fds[2];
	*crew = (tsr_crew_t){.lifeline = -1, .deadline_ns = deadline_ns};
	if (tsr_fd_pipe(pipe_fds, 0) != 0)
		return false;
	const sigset_t awaited = awaited_signals();
	const struct sigaction plain = {.sa_handler = SIG_DFL}; /* ignored, it would reap the ranks behind our back */
	sigprocmask(SIG_BLOCK, &awaited, &crew->mask_before);
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
	/* The group is not the terminal's: whoever read from it would be stopped. And one rank at most may read the input. */
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
	if (pid > 0)
		crew->ranks[crew->count++] = pid;
	return pid;
}

/** The exit code that a wait status stands for, as shells have it. A signal is reported, unless the launcher sent it. */
static int code_of(const tsr_crew_t *crew, int rank, int status, bool expected)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	const int number = WTERMSIG(status);
	char who[32];
	if (crew->one_process)
		snprintf(who, sizeof who, "the process of all ranks");
	else
		snprintf(who, sizeof who, "rank %d", rank);
	if (!expected)
		fprintf(stderr, "tessera: %s was killed by signal %d (%s)\n", who, number, strsignal(number));
	return 128 + number;
}

/** Reaps those that have ended. Returns how many are left; `*first_code` keeps the first code that is not 0. */
static int reap(tsr_crew_t *crew, bool expected, int *first_code)
{
	int left = 0;
	for (int r = 0; r < crew->count; r++) {
		int status;
		if (crew->ranks[r] == 0)
			continue;
		if (waitpid(crew->ranks[r], &status, WNOHANG) == 0) {
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
			fprintf(stderr, "tessera: rank %d did not end when the world did, and is killed\n", r);
	kill(-crew->guardian, SIGKILL);
}

/** The next signal that ends the launch, or 0 after a child's signal or a while. */
static int await_signal(void)
{
	const sigset_t awaited = awaited_signals();
	const struct timespec while_ = {.tv_nsec = 100000000};
	const int number = sigtimedwait(&awaited, NULL, &while_);
	return number > 0 && number != SIGCHLD ? number : 0;
}

/** Whether those that have not ended are stopped (SIGSTOP): they will not notice that the world has ended. */
static bool all_left_are_stopped(const tsr_crew_t *crew)
{
	for (int r = 0; r < crew->count; r++) {
		siginfo_t info = {.si_pid = 0};
		if (crew->ranks[r] == 0)
			continue;
		if (waitid(P_PID, (id_t)crew->ranks[r], &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
			return false;
	}
	return true;
}

int tsr_crew_wait(tsr_crew_t *crew)
{
	int first_code = 0, interrupts = 0;
	uint64_t end_ns = 0; /* 0: nothing has failed yet */
	bool killed = false;
	while (reap(crew, killed || interrupts > 0, &first_code) > 0) {
		if (first_code != 0 && end_ns == 0)
			end_ns = tsr_now_ns() + crew->deadline_ns;
		if (end_ns > tsr_now_ns() + STOPPED_GRACE_NS && all_left_are_stopped(crew))
			end_ns = tsr_now_ns() + STOPPED_GRACE_NS;
		if (end_ns != 0 && tsr_now_ns() > end_ns && !killed) {
			kill_late(crew);
			killed = true;
		}
		if (crew->notice != NULL)
			(void)tsr_notice_tell(crew->notice);
		const int number = await_signal();
		if (number == 0)
			continue;
		if (interrupts++ == 0) {
			first_code = first_code != 0 ? first_code : 128 + number;
			end_ns = tsr_now_ns() + INTERRUPT_GRACE_NS;
			fprintf(stderr, "tessera: signal %d (%s) ends all ranks\n", number, strsignal(number));
		}
		kill(-crew->guardian, interrupts > 1 ? SIGKILL : number); /* whoever asks twice means it */
	}
	return first_code;
}

void tsr_crew_end(tsr_crew_t *crew)
{
	kill(-crew->guardian, SIGKILL); /* the guardian, and what ranks may have left in the group */
	close(crew->lifeline);
	for (int r = 0; r < crew->count; r++)
		if (crew->ranks[r] != 0)
			waitpid(crew->ranks[r], NULL, 0);
	waitpid(crew->guardian, NULL, 0);
	restore_signals(crew);
}
