/*
 * Fragments without values: their loads and stores take time, and what is
 * computed of them takes none beside that.
 */
#include "cpuemu/dev/fragments/value.h"
#include "cpuemu/events.h"
#include "model/perf/sim/device/device.h"

/* ------------------------------------------------------------------ moving a tile */

/** In the epilogue of a main loop, whose time holds it, storing to one's own memory is for free. */
static void store_bytes(tsr_coop_t *coop, int rank, double bytes)
{
	tsr_exploration_t *sim = tsr_cpu_exploration(coop);
	sim_task_t *self = sim->running;
	if (self->in_epilogue && rank == self->who.rank)
		self->drained_ns =
			fmax(self->drained_ns, self->now_ns + sim->machine.kind.memory_latency / 2);
	else
		sim_move(sim, -1, rank, bytes);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}

/** Bytes of the tile at `at` that lie in the view. */
static double bytes_in(tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag)
{
	const int64_t rows = clamp(view.rows - at.row, 0, frag->rows) -
			     clamp(-at.row, 0, frag->rows),
		      cols = clamp(view.cols - at.col, 0, frag->cols) -
			     clamp(-at.col, 0, frag->cols);
	return rows > 0 && cols > 0 ? (double)(rows * cols) * (double)tsr_cpu_bytes(view.dtype) : 0;
}

/** Whose memory it is, and for the record who it is. */
static tsr_mem_t memory_of(const tsr_coop_t *coop, tsr_view_t view, int peer)
{
	const bool shared = view.space != TSR_SPACE_HEAP;
	return (tsr_mem_t){.rank = shared ? coop->block->env->rank : coop->block->team->ranks[peer],
			   .shared = shared};
}

void tsr_frag_load(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
		   tsr_pos_t at, int peer)
{
	const tsr_mem_t mem = memory_of(coop, view, peer);
	const double bytes = bytes_in(view, at, frag);
	(void)call;
	frag->set = true;
	if (bytes > 0 && !mem.shared)
		tsr_mem_count(coop, &mem, TSR_MEM_READ, (uint64_t)bytes);
	sim_move(tsr_cpu_exploration(coop), mem.shared ? -1 : mem.rank, -1, bytes);
}

void tsr_frag_store(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
		    const tsr_frag_t *frag, int peer)
{
	const tsr_mem_t mem = memory_of(coop, view, peer);
	const double bytes = bytes_in(view, at, frag);
	(void)call;
	if (bytes > 0 && !mem.shared)
		tsr_mem_count(coop, &mem, TSR_MEM_WRITE, (uint64_t)bytes);
	store_bytes(coop, mem.shared ? -1 : mem.rank, bytes);
	tsr_cpu_event_sent(coop);
}

void tsr_frag_load_saved(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
			 tsr_cpu_elements_t of)
{
	(void)of;
	tsr_frag_load(coop, call, frag, view, (tsr_pos_t){0, 0}, tsr_rank(coop));
}

void tsr_frag_store_saved(tsr_coop_t *coop, const char *call, tsr_view_t view,
			  const tsr_frag_t *frag, tsr_cpu_elements_t of, int peer)
{
	(void)of;
	tsr_frag_store(coop, call, view, (tsr_pos_t){0, 0}, frag, peer);
}

/**
 * In an epilogue it is sent from this rank's copy while the block multiplies the
 * next tile (backends/cuda/dev/outgoing.h).
 */
static void store_all_beside(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
			     const tsr_frag_t *frag)
{
	const double bytes = bytes_in(view, at, frag);
	int ranks[TSR_MAX_RANKS], count = 0;
	for (int i = 0; i < tsr_size(coop); i++) {
		const int peer = tsr_peer(coop, i);
		const tsr_mem_t mem = memory_of(coop, view, peer);
		if (bytes > 0)
			tsr_mem_count(coop, &mem, TSR_MEM_WRITE, (uint64_t)bytes);
		if (mem.rank == coop->block->env->rank)
			store_bytes(coop, mem.rank, bytes);
		else
			ranks[count++] = mem.rank;
	}
	sim_send_beside(tsr_cpu_exploration(coop), ranks, count, bytes);
	tsr_cpu_event_sent(coop);
}

void tsr_store_all(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag)
{
	if (tsr_cpu_exploration(coop)->running->in_epilogue) {
		store_all_beside(coop, view, at, frag);
		return;
	}
	for (int i = 0; i < tsr_size(coop); i++)
		tsr_frag_store(coop, __func__, view, at, frag, tsr_peer(coop, i));
}

void tsr_load_masked(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
		     tsr_mask_fn mask, const void *ctx, double other, int peer)
{
	(void)mask;
	(void)ctx;
	(void)other;
	tsr_frag_load(coop, __func__, frag, view, at, peer);
}

void tsr_store_masked(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag,
		      tsr_mask_fn mask, const void *ctx, int peer)
{
	(void)mask;
	(void)ctx;
	tsr_frag_store(coop, __func__, view, at, frag, peer);
}

void tsr_store_add(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag,
		   int peer)
{
	sim_task_t *self = tsr_cpu_exploration(coop)->running;
	self->adds = true;
	tsr_frag_store(coop, __func__, view, at, frag, peer);
	self->adds = false;
}

/* ------------------------------------------------------------------ computing */

void tsr_frag_settle(tsr_frag_t *frag, int64_t row)
{
	(void)frag;
	(void)row;
}

void tsr_frag_zero(tsr_coop_t *coop, tsr_frag_t *frag)
{
	(void)coop;
	frag->set = true;
}

void tsr_frag_map(tsr_coop_t *coop, tsr_frag_t *frag, tsr_pos_t at, tsr_map_fn fn, const void *ctx)
{
	(void)coop;
	(void)at;
	(void)fn;
	(void)ctx;
	frag->set = true;
}

void tsr_frag_zip(tsr_coop_t *coop, tsr_frag_t *x, const tsr_frag_t *y, tsr_zip_fn fn,
		  const void *ctx)
{
	(void)coop;
	(void)y;
	(void)fn;
	(void)ctx;
	x->set = true;
}

void tsr_rows_fill(tsr_coop_t *coop, tsr_rows_t *rows, float v)
{
	(void)coop;
	(void)v;
	rows->set = true;
}

void tsr_rows_map(tsr_coop_t *coop, tsr_rows_t *rows, tsr_rows_fn fn, const void *ctx)
{
	(void)coop;
	(void)fn;
	(void)ctx;
	rows->set = true;
}

void tsr_rows_zip(tsr_coop_t *coop, tsr_rows_t *x, const tsr_rows_t *y, tsr_zip_fn fn,
		  const void *ctx)
{
	tsr_frag_zip(coop, x, y, fn, ctx);
}

void tsr_frag_map_rows(tsr_coop_t *coop, tsr_frag_t *frag, const tsr_rows_t *rows,
		       tsr_map_rows_fn fn, const void *ctx)
{
	(void)coop;
	(void)rows;
	(void)fn;
	(void)ctx;
	frag->set = true;
}

void tsr_frag_reduce_rows(tsr_coop_t *coop, tsr_rows_t *rows, const tsr_frag_t *frag, int64_t cols,
			  tsr_reduce_t op)
{
	(void)coop;
	(void)frag;
	(void)cols;
	(void)op;
	rows->set = true;
}

static void multiply(const tsr_coop_t *coop, const tsr_frag_t *acc)
{
	tsr_exploration_t *sim = tsr_cpu_exploration(coop);
	const double products = (double)acc->tile.m * acc->tile.n * acc->tile.k;
	sim->running->now_ns +=
		sim_product_ns(sim, products, (int)tsr_cpu_bytes(acc->tile.dtype), acc->tile.k);
}

void tsr_tile_dot(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a, const tsr_frag_b_t *b)
{
	(void)a;
	(void)b;
	multiply(coop, acc);
}

void tsr_tile_dot_bt(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
		     const tsr_frag_bt_t *bt)
{
	(void)a;
	(void)bt;
	multiply(coop, acc);
}
