/*
 * The main loop of products. A block's loader is ahead of it: it passes gates
 * and loads operands of the next task while the block is in an epilogue, as far
 * as there are stages.
 */
#include "cpuemu/events.h"
#include "model/perf/sim/device/device.h"

/** What is to be multiplied before the next gate that holds it up. */
typedef struct loop {
	tsr_coop_t *coop;
	tsr_exploration_t *sim;
	tsr_frag_t *acc;
	tsr_view_t a, b;
	tsr_part_t part;  /* the whole task */
	tsr_part_t ready; /* chunks that have passed, from the same ranks */
	tsr_from_t from;
	sim_gate_t gate;
	bool sends; /* the block sends tiles while it multiplies the next ones */
	tsr_gate_fn gate_fn;
	const void *ctx;
} loop_t;

static int64_t lesser(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

/** The first element of a panel that is read: what tells it from others. */
static const void *panel_of(tsr_view_t view, int64_t row, int64_t col)
{
	return (const char *)(const void *)view.data +
	       ((uintptr_t)row * (uintptr_t)view.ld + (uintptr_t)col) * tsr_cpu_bytes(view.dtype);
}

/** Of an operand: bytes of own memory that miss the cache, and bytes of a peer's. */
static void add_operand(const loop_t *l, sim_work_t *work, const void *panel, double bytes,
			int from, double until_ns)
{
	const int me = l->coop->block->env->rank, rank = l->coop->block->team->ranks[from];
	if (rank == me) {
		work->memory_bytes += sim_panel_miss(l->sim, me, panel, bytes, until_ns);
		return;
	}
	work->peer = rank;
	work->link_bytes += bytes;
}

/**
 * Multiplies some chunks: as long as the tensor cores need for whole tiles,
 * and as memory and links let it.
 */
static void multiply(loop_t *l, tsr_part_t part)
{
	const tsr_cpu_tile_t tile = l->acc->tile;
	const bool a_turned = tile.a_major == TSR_COL_MAJOR,
		   b_turned = tile.b_major == TSR_COL_MAJOR;
	const int64_t depth = part.k1 - part.k0,
		      rows = lesser(tile.m, (a_turned ? l->a.cols : l->a.rows) - part.at.row),
		      cols = lesser(tile.n, (b_turned ? l->b.rows : l->b.cols) - part.at.col),
		      chunks = (depth + tile.k - 1) / tile.k;
	const int bytes = (int)tsr_cpu_bytes(tile.dtype);
	if (depth <= 0 || rows <= 0 || cols <= 0)
		return;
	const bool split = l->coop->block->kernel->workers > 1;
	sim_work_t work = {.peer = -1, .by_worker = split, .beside_sending = l->sends};
	work.ns = sim_product_ns(l->sim,
				 sim_tile_products(l->sim, tile.m, tile.n) *
					 (double)(chunks * tile.k),
				 bytes, tile.k);
	const double until_ns = l->sim->running->now_ns + work.ns;
	add_operand(l, &work,
		    a_turned ? panel_of(l->a, part.k0, part.at.row)
			     : panel_of(l->a, part.at.row, part.k0),
		    (double)(rows * depth) * bytes, l->from.a, until_ns);
	add_operand(l, &work,
		    b_turned ? panel_of(l->b, part.at.col, part.b0 + part.k0)
			     : panel_of(l->b, part.b0 + part.k0, part.at.col),
		    (double)(cols * depth) * bytes, l->from.b, until_ns);
	l->coop->worker->record.operand_bytes +=
		(uint64_t)((rows + cols) * depth) * (uint64_t)bytes;
	sim_multiply(l->sim, &work);
}

static void multiply_ready(void *ctx)
{
	loop_t *l = ctx;
	multiply(l, l->ready);
}

/** Passes the gate of a chunk, which joins those before it where they come from the same ranks. */
static void pass_chunk(loop_t *l, tsr_part_t chunk)
{
	sim_task_t *self = l->sim->running;
	tsr_coop_t loader = *l->coop;
	loader.kind = TSR_CPU_LOADER;
	loader.index = 0;
	loader.count = 1;
	self->gate = &l->gate;
	const tsr_from_t from = l->gate_fn(&loader, chunk, l->ctx);
	if (l->gate.has_ready && (from.a != l->from.a || from.b != l->from.b))
		sim_catch_up(l->sim, &l->gate);
	self->gate = NULL;
	if (!l->gate.has_ready)
		l->ready = chunk;
	l->ready.k1 = chunk.k1;
	l->from = from;
	l->gate.has_ready = true;
}

/** All of a task; its gates are passed chunk by chunk. */
static void run_task(loop_t *l)
{
	const tsr_part_t part = l->part;
	const uint64_t begin_ns = tsr_cpu_event_begin(l->coop),
		       bytes = l->coop->worker->record.operand_bytes;
	if (!l->gate_fn) {
		l->from = tsr_from(tsr_rank(l->coop), tsr_rank(l->coop));
		multiply(l, part);
	}
	for (tsr_part_t chunk = part; l->gate_fn && chunk.k0 < part.k1; chunk.k0 = chunk.k1) {
		chunk.k1 = lesser(chunk.k0 + l->acc->tile.k, part.k1);
		pass_chunk(l, chunk);
	}
	if (l->gate_fn) {
		sim_catch_up(l->sim, &l->gate);
		l->sim->running->gate = NULL;
	}
	tsr_cpu_event_product(l->coop, begin_ns, l->coop->worker->record.operand_bytes - bytes);
	l->coop->worker->record.products++;
	l->coop->worker->record.last_product_ns = sim_now_ns();
}

static void loop_open(loop_t *l)
{
	l->gate.multiply = multiply_ready;
	l->gate.ctx = l;
	l->gate.has_ready = false;
	l->acc->set = true;
}

void tsr_gemm_mainloop(tsr_coop_t *coop, tsr_frag_t *acc, tsr_view_t a, tsr_view_t b,
		       tsr_part_t part, tsr_gate_fn gate, const void *ctx)
{
	loop_t l = {.coop = coop,
		    .sim = tsr_cpu_exploration(coop),
		    .acc = acc,
		    .a = a,
		    .b = b,
		    .part = part,
		    .gate_fn = gate,
		    .ctx = ctx};
	const int64_t depth = acc->tile.a_major == TSR_COL_MAJOR ? a.rows : a.cols;
	l.part.k1 = lesser(part.k1, depth);
	loop_open(&l);
	l.sim->running->now_ns += l.sim->machine.kind.first_operand * 1e3;
	run_task(&l);
}

void tsr_cpu_gemm(tsr_coop_t *coop, tsr_cpu_tile_t tile, tsr_view_t a, tsr_view_t b,
		  tsr_tasks_t tasks, tsr_order_fn order, tsr_gate_fn gate,
		  tsr_cpu_epilogue_fn epilogue, void *ctx)
{
	loop_t l = {.coop = coop,
		    .sim = tsr_cpu_exploration(coop),
		    .acc = tsr_cpu_frag_take(coop, tile, TSR_CPU_FRAG_C),
		    .a = a,
		    .b = b,
		    .gate_fn = gate,
		    .ctx = ctx};
	sim_task_t *self = l.sim->running;
	const int64_t depth = tile.a_major == TSR_COL_MAJOR ? a.rows : a.cols;
	const char *file = coop->file;
	const int line = coop->line;
	if (tasks.first < tasks.end)
		self->now_ns += l.sim->machine.kind.first_operand * 1e3;
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step) {
		l.part = order(task, ctx);
		l.part.k1 = lesser(l.part.k1, depth);
		coop->worker->tiled = true;
		coop->worker->tile = l.part.at;
		tsr_cpu_at(coop, file, line);
		loop_open(&l);
		run_task(&l);
		self->now_ns +=
			sim_epilogue_ns(l.sim, tile.m, tile.n, (int)coop->block->kernel->workers);
		self->in_epilogue = true;
		epilogue(coop, l.acc, l.part.at, ctx);
		self->in_epilogue = false;
		l.sends = l.sends || self->sending.goes;
	}
	coop->worker->tiled = false;
	tsr_cpu_at(coop, file, line);
	tsr_cpu_frag_drop(&l.acc);
}
