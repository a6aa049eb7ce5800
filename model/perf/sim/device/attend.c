/* The main loop of attention: gates are passed run by run, as keys are loaded. */
#include "common/dev/spans.h"
#include "cpuemu/dev/fragments/state.h"
#include "cpuemu/events.h"
#include "model/perf/sim/device/device.h"

typedef struct attention {
	tsr_coop_t *coop;
	tsr_exploration_t *sim;
	tsr_cpu_tile_t tile;
	tsr_view_t q, k, v;
	tsr_keys_gate_fn gate_fn;
	const void *ctx;
	sim_gate_t gate;
	tsr_span_t ready; /* keys that have passed, from one rank */
	int from;
	int64_t until; /* runs of the task that end there need no gate */
} attention_t;

static const void *panel_of(tsr_view_t view, int64_t row, int64_t col)
{
	return (const char *)(const void *)view.data +
	       ((uintptr_t)row * (uintptr_t)view.ld + (uintptr_t)col) * tsr_cpu_bytes(view.dtype);
}

/** Keys k0 .. k1-1 of a span, in whole tiles: two products, and the softmax between them. */
static void multiply(attention_t *a, const tsr_span_t *span)
{
	const machine_t *kind = &a->sim->machine.kind;
	const int64_t keys = span->k1 - span->k0, tiles = (keys + a->tile.k - 1) / a->tile.k;
	const int bytes = (int)tsr_cpu_bytes(a->tile.dtype),
		  rank = a->coop->block->team->ranks[a->from], me = a->coop->block->env->rank;
	const double part = kind->attend_part > 0 ? kind->attend_part : 1,
		     moved = 2.0 * (double)(keys * a->tile.n) * bytes;
	sim_work_t work = {.peer = -1};
	if (keys <= 0)
		return;
	work.ns = sim_product_ns(a->sim,
				 2.0 * sim_tile_products(a->sim, a->tile.m, a->tile.n) *
					 (double)(tiles * a->tile.k),
				 bytes, a->tile.k) /
		  part;
	a->coop->worker->record.operand_bytes += (uint64_t)moved;
	if (rank == me) {
		work.memory_bytes =
			sim_panel_miss(a->sim, me,
				       panel_of(a->k, span->kv.row + span->k0, span->kv.col), moved,
				       a->sim->running->now_ns + work.ns);
	} else {
		work.peer = rank;
		work.link_bytes = moved;
	}
	sim_multiply(a->sim, &work);
}

static void multiply_ready(void *ctx)
{
	attention_t *a = ctx;
	multiply(a, &a->ready);
}

static void pass_run(attention_t *a, tsr_span_t run)
{
	sim_task_t *self = a->sim->running;
	int from = a->from;
	if (a->gate_fn && run.k1 > a->until) {
		tsr_coop_t loader = *a->coop;
		loader.kind = TSR_CPU_LOADER;
		loader.index = 0;
		loader.count = 1;
		self->gate = &a->gate;
		const tsr_keys_from_t passed = a->gate_fn(&loader, run, a->ctx);
		from = passed.rank;
		a->until = passed.until;
	}
	if (a->gate.has_ready && from != a->from)
		sim_catch_up(a->sim, &a->gate);
	self->gate = NULL;
	if (!a->gate.has_ready)
		a->ready = run;
	a->ready.k1 = run.k1;
	a->from = from;
	a->gate.has_ready = true;
}

static void attend_task(attention_t *a, const tsr_span_t *span)
{
	tsr_record_entry_t *record = &a->coop->worker->record;
	const uint64_t begin_ns = tsr_cpu_event_begin(a->coop), bytes = record->operand_bytes;
	tsr_span_t run = *span;
	a->until = run.k0;
	if (!a->gate_fn) {
		pass_run(a, run);
	} else {
		for (run.k1 = run.k0; run.k1 < span->k1;) {
			run.k0 = run.k1;
			run.k1 = tsr_lesser(run.k0 + a->tile.k, span->k1);
			pass_run(a, run);
		}
	}
	sim_catch_up(a->sim, &a->gate);
	a->sim->running->gate = NULL;
	tsr_cpu_event_product(a->coop, begin_ns, record->operand_bytes - bytes);
	record->products++;
	record->last_product_ns = sim_now_ns();
}

void tsr_cpu_attend(tsr_coop_t *coop, tsr_cpu_tile_t tile, tsr_view_t q, tsr_view_t k, tsr_view_t v,
		    float scale, tsr_tasks_t tasks, tsr_span_fn span_of, tsr_keys_gate_fn gate,
		    tsr_cpu_state_fn start, tsr_cpu_state_fn epilogue, void *ctx)
{
	tsr_state_t state = tsr_cpu_state_take(coop, tile);
	attention_t a = {.coop = coop,
			 .sim = tsr_cpu_exploration(coop),
			 .tile = tile,
			 .q = q,
			 .k = k,
			 .v = v,
			 .gate_fn = gate,
			 .ctx = ctx,
			 .from = tsr_rank(coop),
			 .gate = {.multiply = multiply_ready}};
	(void)scale;
	a.gate.ctx = &a;
	tsr_state_neutral(coop, &state);
	if (tasks.first < tasks.end)
		a.sim->running->now_ns += a.sim->machine.kind.first_operand * 1e3;
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		tsr_span_t span = span_of(task, ctx);
		span = tsr_span_cut(span, tile.m, tsr_lesser(k.rows, v.rows) - span.kv.row);
		if (start)
			start(coop, &state, span, ctx);
		attend_task(&a, &span);
		a.sim->running->now_ns +=
			sim_epilogue_ns(a.sim, tile.m, tile.n, (int)coop->block->kernel->workers);
		a.sim->running->in_epilogue = true;
		epilogue(coop, &state, span, ctx);
		a.sim->running->in_epilogue = false;
	}
	tsr_cpu_state_drop(&state);
}
