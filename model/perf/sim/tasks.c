/* Tasks, whose clocks are apart, and the order in which they act. */
#include <stdio.h>
#include <stdlib.h>

#include "model/perf/sim/sim.h"
#include "src/base/error.h"

/*
 * How long a worker may run, beside the deadlines of its first waits: one that polls
 * for what nobody writes would never end.
 */
#define LONGEST_WORKER_S 10.0
enum { MOST_DEADLINES = 1000 };

static tsr_exploration_t *running_sim; /* for clocks */

tsr_exploration_t *sim_running(void)
{
	return running_sim;
}

uint64_t sim_now_ns(void)
{
	const sim_task_t *task = running_sim ? running_sim->running : NULL;
	return task ? (uint64_t)llround(task->now_ns) : 0;
}

void sim_stop(tsr_exploration_t *sim, int code, const char *sentence)
{
	(void)sim;
	(void)fflush(stdout);
	(void)fprintf(stderr, "tessera: %s\n", sentence);
	exit(code);
}

void sim_no_memory(tsr_exploration_t *sim)
{
	sim_stop(sim, 1, "the host has no memory for the simulation; simulate fewer ranks");
}

/* ------------------------------------------------------------------ switching */

static void resume(void *ctx, double at_ns)
{
	sim_task_t *task = ctx;
	tsr_exploration_t *sim = task->sim;
	task->now_ns = fmax(task->now_ns, at_ns);
	sim->running = task;
	tsr_fibre_switch(sim->fibres, task->fibre);
	sim->running = NULL;
}

void sim_at(tsr_exploration_t *sim, double at_ns, sim_event_fn act, void *ctx)
{
	if (!sim_agenda_add(&sim->agenda, at_ns, act, ctx))
		sim_no_memory(sim);
}

void sim_wake(sim_task_t *task, double at_ns)
{
	sim_at(task->sim, at_ns, resume, task);
}

void sim_sleep(tsr_exploration_t *sim)
{
	tsr_fibre_switch(sim->fibres, NULL);
}

static _Noreturn void stop_endless(tsr_exploration_t *sim)
{
	const tsr_worker_who_t *who = &sim->running->who;
	char sentence[256];
	(void)snprintf(
		sentence, sizeof sentence,
		"rank %d, block %d, worker %d of kernel %s has run for %.0f simulated seconds; "
		"it may poll for what nobody writes",
		who->rank, who->block, who->worker, who->kernel, LONGEST_WORKER_S);
	sim_stop(sim, 1, sentence);
}

void sim_sync(tsr_exploration_t *sim)
{
	sim_task_t *self = sim->running;
	if (!self->is_host && self->now_ns > self->limit_ns)
		stop_endless(sim);
	if (self->now_ns <= sim_agenda_next_ns(&sim->agenda) &&
	    (self->now_ns <= sim_flows_bound_ns(sim->flows) ||
	     self->now_ns <= sim_flows_next_ns(sim->flows)))
		return;
	sim_wake(self, self->now_ns);
	sim_sleep(sim);
}

void sim_catch_up(tsr_exploration_t *sim, sim_gate_t *gate)
{
	sim_task_t *self = sim->running;
	if (!gate->has_ready)
		return;
	gate->has_ready = false;
	self->gate = NULL;
	self->now_ns = fmax(self->now_ns, gate->passed_ns);
	gate->multiply(gate->ctx);
	self->gate = gate;
}

/* ------------------------------------------------------------------ deadlines */

static void deadline_passed(void *ctx, double at_ns)
{
	sim_deadline_t *deadline = ctx;
	sim_task_t *task = deadline->task;
	if (task && task->woken && !*task->woken) {
		*task->woken = true;
		task->expired = true;
		sim_wake(task, at_ns);
	}
	free(deadline);
}

sim_deadline_t *sim_deadline_begin(tsr_exploration_t *sim, const tsr_flag_wait_t *wait)
{
	sim_task_t *self = sim->running;
	sim_deadline_t *deadline = wait->deadline ? malloc(sizeof *deadline) : NULL;
	if (!wait->deadline)
		return NULL;
	if (!deadline)
		sim_no_memory(sim);
	deadline->task = self;
	if (self->deadlines++ < MOST_DEADLINES)
		self->limit_ns += (double)wait->deadline_ns;
	sim_at(sim, self->now_ns + (double)wait->deadline_ns, deadline_passed, deadline);
	return deadline;
}

void sim_deadline_end(sim_deadline_t *deadline)
{
	if (deadline)
		deadline->task = NULL;
}

/* ------------------------------------------------------------------ flows */

void sim_flow(tsr_exploration_t *sim, const sim_ask_t *ask, double amount)
{
	sim_task_t *self = sim->running;
	if (!(amount > 0))
		return;
	sim_sync(sim);
	if (!sim_flows_begin(sim->flows, ask, amount, self->now_ns, &self->owner))
		sim_no_memory(sim);
	sim_sleep(sim);
}

/** The end of a flow that its task waits for. */
static void flow_ended(sim_owner_t *owner, double at_ns)
{
	resume((sim_task_t *)(void *)owner, at_ns);
}

static void sending_ended(sim_owner_t *owner, double at_ns)
{
	sim_sending_t *sending = (sim_sending_t *)(void *)owner;
	sim_task_t *task = sending->task;
	sending->goes = false;
	task->drained_ns = fmax(task->drained_ns, at_ns + task->sim->machine.kind.link_latency / 2);
	if (sending->awaited)
		resume(task, at_ns);
}

void sim_await_sending(tsr_exploration_t *sim)
{
	sim_sending_t *sending = &sim->running->sending;
	if (!sending->goes)
		return;
	sim_sync(sim);
	sending->awaited = sending->goes;
	if (sending->goes)
		sim_sleep(sim);
	sending->awaited = false;
}

void sim_flow_beside(tsr_exploration_t *sim, const sim_ask_t *ask, double amount)
{
	sim_task_t *self = sim->running;
	sim_await_sending(sim);
	sim_sync(sim);
	self->sending.goes = true;
	if (!sim_flows_begin(sim->flows, ask, amount, self->now_ns, &self->sending.owner))
		sim_no_memory(sim);
}

/* ------------------------------------------------------------------ beginning and ending */

static void task_main(void *ctx)
{
	sim_task_t *task = ctx;
	tsr_exploration_t *sim = task->sim;
	task->body(task->ctx);
	*(task->older ? &task->older->younger : &sim->all) = task->younger;
	if (task->younger)
		task->younger->older = task->older;
	sim->running = NULL;
	free(task);
	tsr_fibre_leave(sim->fibres, NULL);
}

sim_task_t *sim_task_begin(tsr_exploration_t *sim, const sim_task_t *as, double at_ns,
			   size_t stack_bytes)
{
	sim_task_t *task = malloc(sizeof *task);
	if (!task)
		return NULL;
	*task = *as;
	task->sim = sim;
	task->latency_part = 1;
	task->owner.ended = flow_ended;
	task->sending = (sim_sending_t){.owner = {sending_ended}, .task = task};
	task->now_ns = task->drained_ns = task->last_ns = at_ns;
	task->limit_ns = at_ns + LONGEST_WORKER_S * 1e9;
	task->older = NULL;
	task->younger = sim->all;
	if (tsr_fibre_create(sim->fibres, task_main, task, stack_bytes, &task->fibre) != TSR_OK) {
		free(task);
		return NULL;
	}
	if (sim->all)
		sim->all->older = task;
	sim->all = task;
	sim_wake(task, at_ns);
	return task;
}

/* ------------------------------------------------------------------ the run */

/** Who waits for what, where nothing can go on. */
static void tell_waits(const tsr_exploration_t *sim)
{
	int told = 0;
	for (const sim_task_t *task = sim->all; task && told < 8; task = task->younger) {
		if (!task->flags)
			continue;
		(void)fprintf(stderr,
			      "  rank %d, block %d, worker %d of kernel %s waits at %s:%d (%s) for "
			      "%llu from rank %d, since %.3f us\n",
			      task->who.rank, task->who.block, task->who.worker, task->who.kernel,
			      task->site.file ? task->site.file : "?", task->site.line,
			      task->site.call, (unsigned long long)task->flags->value,
			      task->flags->from, task->now_ns * 1e-3);
		told++;
	}
}

/** Nothing goes on. */
static void end_as_deadlock(tsr_exploration_t *sim)
{
	(void)fflush(stdout);
	tell_waits(sim);
	sim_stop(sim, 1, "deadlock: all that runs waits, and nothing is under way");
}

void sim_run(tsr_exploration_t *sim)
{
	running_sim = sim;
	while (sim->hosts > 0) {
		const double event_ns = sim_agenda_next_ns(&sim->agenda);
		double flow_ns = sim_flows_bound_ns(sim->flows);
		if (flow_ns <= event_ns)
			flow_ns = sim_flows_next_ns(sim->flows);
		if (isinf(event_ns) && isinf(flow_ns)) {
			end_as_deadlock(sim);
		} else if (flow_ns <= event_ns) {
			sim_owner_t *owner = sim_flows_end(sim->flows);
			owner->ended(owner, flow_ns);
		} else {
			const sim_event_t event = sim_agenda_take(&sim->agenda);
			event.act(event.ctx, event.at_ns);
		}
	}
	running_sim = NULL;
}
