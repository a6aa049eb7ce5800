/*
 * Code of the program that does not come back: a host or a kernel that loops or
 * sleeps without a call of Tessera. Fibres cannot be taken off the processor,
 * so nothing else runs. A timer interrupts it, and a line says who it was and
 * where; the command then ends the program. The timer interrupts twice, shortly
 * after each other: a schedule that is merely long has gone on in between.
 *
 * Where the program has blocked the signal, or takes it for itself, the command
 * ends the program a little later without that line.
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "src/explore/exploration_state.h"

/* the last but so many of the real-time signals: the first and last ones are taken by others */
enum { HANG_SIGNAL_BELOW = 5 };

/*
 * A signal's handler is handed nothing of its own. The timer interrupts the
 * thread that set it, which runs all fibres.
 */
static _Thread_local tsr_exploration_t *here;

static int hang_signal(void)
{
	return SIGRTMAX - HANG_SIGNAL_BELOW;
}

/** Once, from now on; 0: not. */
static void set_timer(tsr_exploration_t *x, uint64_t ns)
{
	const struct itimerspec once = {
		.it_value = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}};
	(void)timer_settime(x->hang.timer, 0, &once, NULL);
}

static void tell(tsr_exploration_t *x)
{
	const int task = tsr_explorer_self(x->explorer);
	tsr_report_hang_t hang = {.who = {.rank = -1, .launch = -1, .block = -1, .worker = -1},
				  .goes_on =
					  tsr_explorer_count(x->explorer).steps != x->hang.steps};
	if (task != TSR_NO_TASK) {
		const tsr_task_who_t *who = tsr_explorer_who(x->explorer, task);
		const tsr_source_t last = tsr_explorer_last(x->explorer);
		hang.who = tsr_who_found(who);
		hang.call = last.call;
		hang.file = last.file;
		hang.line = last.line;
	}
	/* PCT's first run, of the default schedule, says nothing else */
	x->report.broken = false;
	tsr_report_hang(&x->report, &hang);
}

/** What was interrupted does not go on after the second time: the command ends the process. */
static void on_timer(int number)
{
	(void)number;
	if (here == NULL)
		return;
	if (!here->hang.asked) {
		here->hang.asked = true;
		here->hang.steps = tsr_explorer_count(here->explorer).steps;
		set_timer(here, here->options.quiet_ms * 100000u);
		return;
	}
	tell(here);
	for (;;)
		(void)pause();
}

void tsr_hang_watch(tsr_exploration_t *x)
{
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = hang_signal()};
	if (x->options.quiet_ms == 0)
		return;
	event._sigev_un._tid = gettid();
	sigemptyset(&action.sa_mask);
	here = x;
	x->hang.asked = false;
	x->hang.watched = sigaction(hang_signal(), &action, NULL) == 0 &&
			  timer_create(CLOCK_MONOTONIC, &event, &x->hang.timer) == 0;
	if (x->hang.watched)
		set_timer(x, x->options.quiet_ms * 900000u);
}

void tsr_hang_unwatch(tsr_exploration_t *x)
{
	here = NULL;
	if (x->hang.watched)
		(void)timer_delete(x->hang.timer);
	x->hang.watched = false;
}
