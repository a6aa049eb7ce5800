/*
 * The main loop: panels are copied through the memory layer into private ones,
 * the product runs on those.
 */
#include "cpuemu/dev/arithmetic/blas.h"
#include "cpuemu/dev/fragments/value.h"
#include "cpuemu/events.h"
#include "src/base/os/clock.h"

enum { CHUNK = 512 }; /* columns of A a turn where no gate asks for less */

/** An operand as it stands in memory: where it is `turned`, the view is of its transpose. */
typedef struct operand {
	tsr_view_t view;
	bool turned;
	int64_t rows, cols; /* of the operand itself */
} operand_t;

/** One call of the main loop: the tile, and this thread's rows of it. */
typedef struct loop {
	tsr_coop_t *coop;
	tsr_frag_t *acc;
	operand_t a, b;
	tsr_part_t part;
	/* of the tile: first row of this thread, its rows, the tile's columns */
	int64_t first, rows, cols;
	int64_t chunk;
	tsr_gate_fn gate;
	const void *ctx;
	/* turned: where a panel stands before it is turned */
	unsigned char *panel_a, *panel_b, *turned;
} loop_t;

/** The B of a task: so many rows of its view further on. */
static tsr_view_t task_b(tsr_view_t b, int64_t b0)
{
	b.data = (TSR_HEAP void *)((uintptr_t)b.data +
				   (uintptr_t)b0 * (uintptr_t)b.ld * tsr_cpu_bytes(b.dtype));
	return b;
}

static operand_t operand_of(tsr_view_t view, int major)
{
	const bool turned = major == TSR_COL_MAJOR;
	return (operand_t){view, turned, turned ? view.cols : view.rows,
			   turned ? view.rows : view.cols};
}

/**
 * Checks what does not depend on the chunk, and finds the thread's rows. False:
 * a misuse was noted.
 */
static bool loop_begin(loop_t *l, const char *call)
{
	const tsr_frag_t *acc = l->acc;
	const tsr_pos_t at = l->part.at;
	const int64_t k0 = l->part.k0, k1 = l->part.k1;
	if (l->coop->kind != TSR_CPU_BLOCK && l->coop->worker->index != 0)
		return tsr_cpu_misuse(l->coop, call,
				      "only the block or its worker 0 has the threads for it",
				      "by worker %d", l->coop->worker->index);
	if (l->a.view.dtype != acc->tile.dtype || l->b.view.dtype != acc->tile.dtype)
		return tsr_cpu_misuse(l->coop, call, "declare the tile with the dtype of A and B",
				      "of operands of %s and %s with tiles of %s",
				      tsr_dtype_name((tsr_dtype_t)l->a.view.dtype),
				      tsr_dtype_name((tsr_dtype_t)l->b.view.dtype),
				      tsr_dtype_name((tsr_dtype_t)acc->tile.dtype));
	if (k0 < 0 || k0 > k1 || k1 > l->a.cols || k1 > l->b.rows)
		return tsr_cpu_misuse(
			l->coop, call, "the range lies within the columns of A and the rows of B",
			"of the range %lld to %lld with %lld columns of A and %lld rows of B",
			(long long)k0, (long long)k1, (long long)l->a.cols, (long long)l->b.rows);
	if (l->part.b0 < 0 || l->part.b0 > INT32_MAX)
		return tsr_cpu_misuse(l->coop, call,
				      "a task's B begins at that of the call or below it",
				      "of a B that begins at row %lld", (long long)l->part.b0);
	if (at.row < 0 || at.col < 0)
		return tsr_cpu_misuse(l->coop, call, "tiles begin inside the matrix",
				      "of the tile at %lld, %lld", (long long)at.row,
				      (long long)at.col);
	if (tsr_cpu_bytes(acc->tile.dtype) == 2 &&
	    ((l->a.turned && at.row % 8) || (!l->b.turned && at.col % 8)))
		return tsr_cpu_misuse(
			l->coop, call,
			"tiles of 16-bit elements begin at multiples of 8 along the rows of a view",
			"of the tile at %lld, %lld with operands of %s", (long long)at.row,
			(long long)at.col, tsr_dtype_name((tsr_dtype_t)acc->tile.dtype));
	int64_t below = l->a.rows - at.row, right = l->b.cols - at.col;
	int64_t last = below < acc->last ? below : acc->last;
	l->first = acc->first;
	l->rows = last > acc->first ? last - acc->first : 0;
	l->cols = right < acc->cols ? (right > 0 ? right : 0) : acc->cols;
	l->chunk = l->gate ? acc->tile.k : k1 - k0 >= CHUNK ? CHUNK : k1 > k0 ? k1 - k0 : 1;
	return true;
}

/** The transpose of a dense panel of rows x cols elements. */
static void turn_panel(unsigned char *to, const unsigned char *from, int64_t rows, int64_t cols,
		       size_t element)
{
	for (int64_t row = 0; row < rows; row++)
		for (int64_t col = 0; col < cols; col++)
			memcpy(to + (size_t)(col * rows + row) * element,
			       from + (size_t)(row * cols + col) * element, element);
}

/** Copies rows x cols elements of an operand, from `at` on, into a dense panel. */
static bool load_panel(loop_t *l, const char *call, unsigned char *panel, const operand_t *from,
		       tsr_pos_t at, int64_t rows, int64_t cols, int rank)
{
	tsr_mem_t mem;
	const tsr_pos_t across = {at.col, at.row};
	const tsr_view_t part = from->turned ? tsr_view_part(from->view, across, cols, rows)
					     : tsr_view_part(from->view, at, rows, cols);
	const size_t element = tsr_cpu_bytes(part.dtype);
	if (!tsr_mem_reach_part(l->coop, call, from->view, part, false, rank, TSR_MEM_READ, &mem))
		return false;
	l->coop->worker->apart = true;
	tsr_mem_read_part(&mem, l->acc->held, from->turned ? l->turned : panel,
			  &(tsr_mem_part_t){mem.at, (size_t)part.ld * element, part.dtype,
					    part.rows, part.cols});
	l->coop->worker->apart = false;
	l->coop->worker->record.operand_bytes += (uint64_t)(part.rows * part.cols) * element;
	if (from->turned)
		turn_panel(panel, l->turned, part.rows, part.cols, tsr_cpu_bytes(l->acc->held));
	return true;
}

/** The gate is called once for the coop, by the thread that loads first, with a coop of its own. */
static tsr_from_t pass_gate(loop_t *l, const char *call, tsr_part_t chunk)
{
	tsr_from_t from = tsr_from(tsr_rank(l->coop), tsr_rank(l->coop));
	if (!l->gate)
		return from;
	if (tsr_cpu_leads(l->coop)) {
		tsr_coop_t loader = *l->coop;
		loader.kind = TSR_CPU_LOADER;
		loader.index = 0;
		loader.count = 1;
		from = l->gate(&loader, chunk, l->ctx);
	}
	const uint64_t given =
		tsr_cpu_give(l->coop, call, (uint64_t)(uint32_t)from.a << 32 | (uint32_t)from.b);
	return tsr_from((int32_t)(uint32_t)(given >> 32), (int32_t)(uint32_t)given);
}

static bool loop_turn(loop_t *l, const char *call, tsr_part_t chunk)
{
	const tsr_from_t from = pass_gate(l, call, chunk);
	const int64_t k0 = chunk.k0, k1 = chunk.k1;
	tsr_pos_t a_at = {chunk.at.row + l->first, k0}, b_at = {k0, chunk.at.col};
	if (tsr_cpu_aborted(l->coop)) /* a wait in the gate has ended the world */
		return false;
	if (l->rows == 0 || l->cols == 0)
		return true;
	if (!load_panel(l, call, l->panel_a, &l->a, a_at, l->rows, k1 - k0, from.a) ||
	    !load_panel(l, call, l->panel_b, &l->b, b_at, k1 - k0, l->cols, from.b))
		return false;
	int depth = (int)(k1 - k0);
	tsr_blas_add_product(l->coop, l->acc->held, (int)l->rows, (int)l->cols, depth, l->panel_a,
			     depth, l->panel_b, (int)l->cols, tsr_frag_at(l->acc, l->first, 0),
			     l->acc->cols);
	return true;
}

static void loop_run(loop_t *l, const char *call)
{
	bool whole = true;
	const int64_t end = l->part.k1;
	const uint64_t begin_ns = tsr_cpu_event_begin(l->coop),
		       bytes = l->coop->worker->record.operand_bytes;
	for (tsr_part_t chunk = l->part; whole && chunk.k0 < end; chunk.k0 = chunk.k1) {
		chunk.k1 = chunk.k0 + l->chunk < end ? chunk.k0 + l->chunk : end;
		whole = loop_turn(l, call, chunk);
	}
	if (!whole)
		return;
	tsr_cpu_event_product(l->coop, begin_ns, l->coop->worker->record.operand_bytes - bytes);
	if (!tsr_cpu_leads(l->coop) || end < l->a.cols)
		return;
	l->coop->worker->record.products++; /* the tile's last column of A is in */
	l->coop->worker->record.last_product_ns = tsr_now_ns();
}

static void mainloop(tsr_coop_t *coop, const char *call, tsr_frag_t *acc, tsr_view_t a,
		     tsr_view_t b, tsr_part_t part, tsr_gate_fn gate, const void *ctx)
{
	loop_t l = {.coop = coop, .acc = acc, .part = part, .gate = gate, .ctx = ctx};
	l.a = operand_of(a, acc->tile.a_major);
	l.b = operand_of(task_b(b, part.b0), acc->tile.b_major);
	l.part.k1 = part.k1 < l.a.cols ? part.k1 : l.a.cols;
	if (!acc->elements || !tsr_frag_has_values(coop, call, acc) || !loop_begin(&l, call))
		return;
	const size_t wide = tsr_cpu_bytes(acc->held),
		     of_a = (size_t)((l.rows + 1) * l.chunk) * wide,
		     of_b = (size_t)((l.cols + 1) * l.chunk) * wide;
	const size_t of_turned = l.a.turned || l.b.turned ? (of_a > of_b ? of_a : of_b) : 0;
	l.panel_a = tsr_cpu_arena_take(coop, of_a + of_b + of_turned);
	if (!l.panel_a)
		return;
	l.panel_b = l.panel_a + of_a;
	l.turned = l.panel_b + of_b;
	loop_run(&l, call);
	tsr_cpu_arena_drop(coop);
}

void tsr_gemm_mainloop(tsr_coop_t *coop, tsr_frag_t *acc, tsr_view_t a, tsr_view_t b,
		       tsr_part_t part, tsr_gate_fn gate, const void *ctx)
{
	mainloop(coop, __func__, acc, a, b, part, gate, ctx);
}

/**
 * Backends load K in pieces of the tile's: a part that begins or ends within
 * one is wrong on some of them.
 */
static bool check_part(tsr_coop_t *coop, const tsr_frag_t *acc, tsr_part_t part, int64_t depth)
{
	if (part.k0 % acc->tile.k == 0 && (part.k1 % acc->tile.k == 0 || part.k1 == depth))
		return true;
	return tsr_cpu_misuse(
		coop, "tsr_gemm",
		"parts begin at multiples of the tile's K, and end there or at the end of K",
		"of columns %lld to %lld of A in tiles %d deep", (long long)part.k0,
		(long long)part.k1, acc->tile.k);
}

void tsr_cpu_gemm(tsr_coop_t *coop, tsr_cpu_tile_t tile, tsr_view_t a, tsr_view_t b,
		  tsr_tasks_t tasks, tsr_order_fn order, tsr_gate_fn gate,
		  tsr_cpu_epilogue_fn epilogue, void *ctx)
{
	const int64_t depth = operand_of(a, tile.a_major).cols;
	const char *file = coop->file; /* the epilogue's calls note places of their own */
	int line = coop->line;
	if (tasks.step < 1) {
		tsr_cpu_misuse(coop, "tsr_gemm",
			       "a step of the number of sharing blocks visits each task once",
			       "with a step of %lld between tasks", (long long)tasks.step);
		return;
	}
	tsr_frag_t *acc = tsr_cpu_frag_take(coop, tile, TSR_CPU_FRAG_C);
	tsr_cpu_met(coop);
	for (int64_t task = tasks.first; task < tasks.end && !tsr_cpu_aborted(coop);
	     task += tasks.step) {
		tsr_part_t part = order(task, ctx);
		part.k1 = part.k1 < depth ? part.k1 : depth;
		coop->worker->tiled = true;
		coop->worker->tile = part.at;
		tsr_cpu_at(coop, file, line);
		tsr_frag_zero(coop, acc);
		/* or the arena is exhausted, which has been noted */
		if (acc->elements && check_part(coop, acc, part, depth))
			mainloop(coop, "tsr_gemm", acc, a, b, part, gate, ctx);
		epilogue(coop, acc, part.at, ctx);
	}
	coop->worker->tiled = false;
	tsr_cpu_at(coop, file, line);
	tsr_cpu_met(coop);
	tsr_cpu_frag_drop(&acc);
}
