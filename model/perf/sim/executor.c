/*
 * What the emulator and the library ask of an executor, where nothing is
 * decided but time: src/explore/exploration.h. The table of src/base/executor.h
 * is that of src/explore/executor.c, which names these functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/perf/sim/sim.h"
#include "src/base/error.h"

enum { HOST_STACK_BYTES = 8 << 20, WORKER_STACK_BYTES = 3 << 19 };

sim_machine_t sim_machine;

/* ------------------------------------------------------------------ a program's run */

tsr_status_t tsr_exploration_ranks(const char *text, int *ranks_out)
{
	(void)text;
	*ranks_out = sim_machine.devices;
	return TSR_OK;
}

bool tsr_exploration_compared(const char *text)
{
	(void)text;
	return false;
}

void tsr_exploration_launched(const char *text)
{
	(void)text;
}

tsr_status_t tsr_exploration_create(const char *text, int size, tsr_exploration_t **exploration_out)
{
	(void)text;
	tsr_exploration_t *sim = calloc(1, sizeof *sim);
	if (!sim)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a simulation");
	sim->machine = sim_machine;
	sim->size = size;
	sim->flows = sim_links_create(&sim->machine, size);
	if (tsr_fibres_create(&sim->fibres) != TSR_OK || !sim->flows || !sim_words_create(sim) ||
	    !sim_panels_create(sim)) {
		tsr_exploration_destroy(sim);
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a simulation");
	}
	*exploration_out = sim;
	return TSR_OK;
}

void tsr_exploration_destroy(tsr_exploration_t *sim)
{
	if (!sim)
		return;
	sim_words_destroy(sim);
	sim_panels_destroy(sim);
	sim_flows_destroy(sim->flows);
	sim_agenda_free(&sim->agenda);
	tsr_fibres_destroy(sim->fibres);
	free(sim);
}

static void host_main(void *ctx)
{
	tsr_exploration_t *sim = ctx;
	const int code = sim->rank(sim->rank_ctx, sim->running->who.rank);
	sim->code = sim->code ? sim->code : code;
	sim->host[sim->running->who.rank] = NULL;
	sim->hosts--;
	tsr_exploration_changed(sim, -1);
}

int tsr_exploration_run(tsr_exploration_t *sim, tsr_exploration_rank_fn rank, void *ctx)
{
	sim->rank = rank;
	sim->rank_ctx = ctx;
	for (int r = 0; r < sim->size; r++) {
		const sim_task_t host = {
			.who = {.rank = r}, .is_host = true, .body = host_main, .ctx = sim};
		sim->host[r] = sim_task_begin(sim, &host, 0, HOST_STACK_BYTES);
		if (!sim->host[r])
			sim_no_memory(sim);
		sim->hosts++;
	}
	sim_run(sim);
	return sim->code;
}

/* ------------------------------------------------------------------ hosts that wait */

void tsr_exploration_wait(tsr_exploration_t *sim, const tsr_host_wait_t *wait)
{
	sim_task_t *self = sim->running;
	while (!wait->over(wait->ctx)) {
		self->awaits = wait;
		sim_sleep(sim);
	}
}

void tsr_exploration_changed(tsr_exploration_t *sim, int rank)
{
	const double now_ns = sim->running ? sim->running->now_ns : 0;
	const int first = rank < 0 ? 0 : rank, end = rank < 0 ? sim->size : rank + 1;
	for (int r = first; r < end; r++) {
		sim_task_t *host = sim->host[r];
		if (host && host->awaits) {
			host->awaits = NULL;
			sim_wake(host, now_ns);
		}
	}
}

/* ------------------------------------------------------------------ devices and blocks */

tsr_status_t tsr_exploration_add_heap(tsr_exploration_t *sim, int rank, unsigned char *base,
				      unsigned char *values, size_t bytes)
{
	(void)values;
	if (mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no addresses for rank %d's heap; set TESSERA_HEAP_SIZE lower",
				 rank);
	sim->heap[rank] = (sim_heap_t){base, bytes};
	return TSR_OK;
}

/**
 * When a block begins: behind the launch before it, or in the place of a block
 * that has ended.
 */
static double begin_ns(tsr_exploration_t *sim, const tsr_worker_who_t *who)
{
	const sim_task_t *caller = sim->running;
	const double launch_ns = sim->machine.kind.launch * 1e3;
	if (!caller->is_host && caller->who.launch == who->launch && caller->who.rank == who->rank)
		return caller->now_ns;
	return caller->now_ns + launch_ns;
}

tsr_status_t tsr_exploration_begin(tsr_exploration_t *sim, const tsr_worker_who_t *who,
				   void (*body)(void *ctx), void *ctx, const tsr_edge_t *after)
{
	(void)after;
	sim_task_t worker = {.who = *who, .body = body, .ctx = ctx};
	worker.is_engine = strcmp(who->kernel, "tsr_stream_put_2d") == 0;
	const double at_ns = worker.is_engine
				     ? sim->running->now_ns + sim->machine.kind.copy_start * 1e3
				     : begin_ns(sim, who);
	return sim_task_begin(sim, &worker, at_ns, WORKER_STACK_BYTES)
		       ? TSR_OK
		       : tsr_error(TSR_ERR_NO_MEMORY,
				   "the host has no memory for a worker's fibre");
}

/** One worker has the time of all: __wrap_tsr_split. */
int tsr_exploration_split(tsr_exploration_t *sim, const tsr_worker_who_t *who)
{
	(void)sim;
	(void)who;
	return -1;
}

/** A kernel ends when its stores are where they were stored to. */
void tsr_exploration_end(tsr_exploration_t *sim, tsr_edge_t *end)
{
	sim_task_t *self = sim->running;
	(void)end;
	sim_await_sending(sim);
	self->now_ns = fmax(self->now_ns, fmax(self->drained_ns, self->last_ns));
	sim_sync(sim);
}

int tsr_exploration_room(const tsr_exploration_t *sim, int usual)
{
	(void)usual;
	return (int)sim->machine.kind.multiprocessors;
}

const char *tsr_exploration_name(tsr_exploration_t *sim, const char *text)
{
	(void)sim;
	return *text ? strdup(text) : NULL; /* a team's: few, and as long as the process */
}

/* ------------------------------------------------------------------ failures */

void tsr_exploration_mismatch(tsr_exploration_t *sim, const tsr_made_call_t made[2],
			      const char *sentence)
{
	(void)made;
	sim_stop(sim, 1, sentence);
}

void tsr_exploration_fails(tsr_exploration_t *sim)
{
	(void)sim;
}

_Noreturn void tsr_exploration_abort(tsr_exploration_t *sim, tsr_status_t status, int exit_code,
				     const char *sentence)
{
	(void)status;
	if (!sentence || !*sentence)
		exit(exit_code ? exit_code : 1);
	sim_stop(sim, exit_code ? exit_code : 1, sentence);
}

_Noreturn void tsr_exploration_wrong(tsr_exploration_t *sim, tsr_wrong_t wrong,
				     const tsr_op_site_t *site, const char *sentence)
{
	(void)wrong;
	(void)site;
	sim_stop(sim, 1, sentence);
}

/* ------------------------------------------------------------------ what orders and names */

/* Order is time here, and nothing is reported of memory: these have nothing to do. */

tsr_status_t tsr_exploration_edge(tsr_exploration_t *sim, tsr_edge_t **edge_out)
{
	*edge_out = (tsr_edge_t *)(void *)sim; /* not null, and never looked at */
	return TSR_OK;
}

void tsr_exploration_edge_drop(tsr_exploration_t *sim, tsr_edge_t *edge)
{
	(void)sim;
	(void)edge;
}

void tsr_exploration_give(tsr_exploration_t *sim, tsr_edge_t *edge)
{
	(void)sim;
	(void)edge;
}

void tsr_exploration_take(tsr_exploration_t *sim, const tsr_edge_t *edge)
{
	(void)sim;
	(void)edge;
}

void tsr_exploration_join(tsr_exploration_t *sim, tsr_edge_t *into, const tsr_edge_t *from)
{
	(void)sim;
	(void)into;
	(void)from;
}

void tsr_exploration_settle(tsr_exploration_t *sim)
{
	(void)sim;
}

bool tsr_exploration_forgets(const tsr_exploration_t *sim)
{
	(void)sim;
	return false;
}

int tsr_exploration_node(const tsr_exploration_t *sim, int rank)
{
	(void)sim;
	(void)rank;
	return 0;
}

tsr_status_t tsr_exploration_allocated(tsr_exploration_t *sim, int rank, size_t offset,
				       size_t bytes, const char *name, const tsr_form_t *form)
{
	(void)sim;
	(void)rank;
	(void)offset;
	(void)bytes;
	(void)name;
	(void)form;
	return TSR_OK;
}

void tsr_exploration_named(tsr_exploration_t *sim, int rank, size_t offset, const char *name)
{
	(void)sim;
	(void)rank;
	(void)offset;
	(void)name;
}

void tsr_exploration_freed(tsr_exploration_t *sim, int rank, size_t offset)
{
	(void)sim;
	(void)rank;
	(void)offset;
}

tsr_status_t tsr_exploration_add_window(tsr_exploration_t *sim, const void *heap,
					const void *memory, size_t bytes)
{
	(void)sim;
	(void)heap;
	(void)memory;
	(void)bytes;
	return TSR_OK;
}

void tsr_exploration_end_window(tsr_exploration_t *sim, const void *memory)
{
	(void)sim;
	(void)memory;
}

tsr_status_t tsr_exploration_add_shared(tsr_exploration_t *sim, const tsr_worker_who_t *who,
					unsigned char *base, size_t bytes)
{
	(void)sim;
	(void)who;
	(void)base;
	(void)bytes;
	return TSR_OK;
}

void tsr_exploration_end_shared(tsr_exploration_t *sim, unsigned char *base)
{
	(void)sim;
	(void)base;
}

void tsr_exploration_residency(tsr_exploration_t *sim, int rank, tsr_exploration_unbegun_fn unbegun,
			       void *ctx)
{
	(void)sim;
	(void)rank;
	(void)unbegun;
	(void)ctx;
}

bool tsr_exploration_peek(const tsr_exploration_t *sim, const void *at, void *out, size_t bytes)
{
	(void)sim, (void)at, (void)out, (void)bytes;
	return false;
}

void tsr_exploration_collective(tsr_exploration_t *sim, const tsr_op_site_t *site,
				const tsr_collective_t *call)
{
	(void)sim;
	(void)site;
	(void)call;
}

void tsr_exploration_declare_writes(tsr_exploration_t *sim, const tsr_op_site_t *site,
				    const unsigned char *at, const tsr_rows_of_bytes_t *rows)
{
	(void)sim;
	(void)site;
	(void)at;
	(void)rows;
}

void tsr_exploration_met(tsr_exploration_t *sim)
{
	(void)sim;
}

void tsr_exploration_inside(tsr_exploration_t *sim, const tsr_op_site_t *site,
			    const unsigned char *owner, const unsigned char *at, size_t bytes)
{
	(void)sim;
	(void)site;
	(void)owner;
	(void)at;
	(void)bytes;
}

void tsr_exploration_signals(tsr_exploration_t *sim, const tsr_op_site_t *site,
			     const unsigned char *flag, uint64_t value, tsr_views_scope_t scope)
{
	(void)sim;
	(void)site;
	(void)flag;
	(void)value;
	(void)scope;
}
