/*
 * What attention has in shared memory on Hopper, and who fills it: a panel of
 * queries for each warpgroup that multiplies, and two stages each of keys and of
 * values. One warp calls span and gate, and one of its threads starts the copy
 * engine's loads as far in advance as stages are free.
 */
#ifndef TESSERA_CUDA_PANELS_H
#define TESSERA_CUDA_PANELS_H

#include "cuda/dev/load.h"
#include "gpu/dev/fragments/attend.h"

enum {
	TSR_CUDA_PANEL_ROWS = 64, /* of a box */
	TSR_CUDA_PANEL_STAGES = 2,
	/* barriers of the pipeline: of K's stages, of V's, of each warpgroup's queries */
	TSR_CUDA_BARRIER_K = 0,
	TSR_CUDA_BARRIER_V = 2,
	TSR_CUDA_BARRIER_Q = 4,
	TSR_CUDA_BARRIERS = 6,
	TSR_CUDA_GROUP_WARPS = TSR_CUDA_WARPGROUP_THREADS / 32
};

/** The sizes of panels for states S: whole boxes of 64 rows and 64 columns. */
template <typename S> struct tsr_cuda_panel_bytes {
	enum {
		boxes = (int)S::tile_t::N / 64, /* side by side */
		q = boxes * TSR_CUDA_BOX_BYTES, /* of a warpgroup */
		half = (int)S::keys * 128,      /* of a stage: 64 columns of all its keys */
		stage = boxes * half,
		all = 2 * q + 2 * TSR_CUDA_PANEL_STAGES * stage
	};
};

/**
 * Offsets of the panels, behind the address from which on they lie in shared
 * memory: queries, keys, values.
 */
template <typename S> struct tsr_cuda_panel_at {
	typedef tsr_cuda_panel_bytes<S> bytes;
	enum { k = 2 * (int)bytes::q, v = k + TSR_CUDA_PANEL_STAGES * (int)bytes::stage };
};

/** The shared addresses of a panel's barriers. Constants, which take no register. */
TSR_DEV uint32_t tsr_cuda_panel_full(uint32_t barrier)
{
	return tsr_cuda_shared_address(tsr_cuda_pipeline()->full) + 8u * barrier;
}

TSR_DEV uint32_t tsr_cuda_panel_empty(uint32_t barrier)
{
	return tsr_cuda_shared_address(tsr_cuda_pipeline()->empty) + 8u * barrier;
}

/** Step `n` of all tasks: its stage, and the parity of the stage's phase. */
TSR_DEV uint32_t tsr_cuda_stage_of(uint32_t n)
{
	return n % TSR_CUDA_PANEL_STAGES;
}

TSR_DEV uint32_t tsr_cuda_parity_of(uint32_t n)
{
	return n / TSR_CUDA_PANEL_STAGES % 2;
}

/**
 * Called by one warp, before the block meets. Arrivals: the loader at `full`; at
 * `empty` each warp that multiplies, for queries those of one warpgroup.
 */
TSR_DEV void tsr_cuda_panels_open(tsr_cuda_pipeline_t *pipeline, int lane, uint32_t panels,
				  tsr_tasks_t tasks)
{
	if (lane < TSR_CUDA_BARRIERS)
		tsr_cuda_mbarrier_init<1>(tsr_cuda_shared_address(&pipeline->full[lane]));
	if (lane < TSR_CUDA_BARRIER_Q)
		tsr_cuda_mbarrier_init<2 * TSR_CUDA_GROUP_WARPS>(
			tsr_cuda_shared_address(&pipeline->empty[lane]));
	else if (lane < TSR_CUDA_BARRIERS)
		tsr_cuda_mbarrier_init<TSR_CUDA_GROUP_WARPS>(
			tsr_cuda_shared_address(&pipeline->empty[lane]));
	tsr_cuda_sends_open(pipeline, lane);
	if (lane == 0) {
		pipeline->loaded = TSR_CUDA_LOADED_ALL; /* senders need not pace themselves */
		pipeline->awaited = 0;
		pipeline->panels = panels;
		pipeline->number = tasks.first;
		pipeline->end = tasks.end;
	}
	tsr_cuda_mbarrier_publish();
}

/*
 * What the threads of both sides need to know, in shared memory, so that it
 * takes no register before the registers are divided: the panels' shared
 * address, 0 if they are not used, and the tasks. `step` is the same as before.
 */
TSR_DEV uint32_t tsr_cuda_panels(void)
{
	return (uint32_t)tsr_cuda_pipeline()->panels;
}

/** Beside another worker there are none, and the compiler knows it. */
TSR_DEV bool tsr_cuda_has_panels(const tsr_coop_t *coop)
{
	return coop->workers == 1 && tsr_cuda_panels() != 0;
}

TSR_DEV tsr_tasks_t tsr_cuda_tasks(tsr_tasks_t tasks)
{
	tasks.first = tsr_cuda_pipeline()->number;
	tasks.end = tsr_cuda_pipeline()->end;
	return tasks;
}

/** Called by one warp, after the block has met. */
TSR_DEV void tsr_cuda_panels_close(tsr_cuda_pipeline_t *pipeline, int lane)
{
	if (lane < TSR_CUDA_BARRIERS) {
		tsr_cuda_mbarrier_end(tsr_cuda_shared_address(&pipeline->full[lane]));
		tsr_cuda_mbarrier_end(tsr_cuda_shared_address(&pipeline->empty[lane]));
	}
	tsr_cuda_sends_close(pipeline, lane);
}

/* ---- maps */

/**
 * A map from which boxes can be cut after any row, so that nothing behind the
 * rows of a span is read: matrices of 64 rows, one of which begins at each row
 * of the view (tsr_cuda_stack). A box of `count` rows from `row` on is in the
 * matrix of which they are the last ones, which begins 64 - count rows before
 * them. So the first matrix begins 64 rows before the view. The engine computes
 * addresses there, and reads nothing.
 */
TSR_DEV tsr_cuda_matrix_t tsr_cuda_rows_of(const tsr_coop_t *loader, const tsr_view_t &view,
					   int peer)
{
	const char *data = tsr_gpu_view_address(loader, view, peer);
	return {(uint64_t)(uintptr_t)data -
			(uint64_t)view.ld * (TSR_CUDA_PANEL_ROWS * sizeof(uint16_t)),
		TSR_CUDA_PANEL_ROWS, (uint64_t)view.cols, (uint64_t)view.ld};
}

/** The state of the loading thread. */
typedef struct tsr_cuda_reader {
	const tsr_cuda_workspace_t *workspace;
	tsr_cuda_place_t *places; /* of this multiprocessor; null: none */
	const void *q, *k, *v;    /* maps */
	int from;                 /* the rank of K's and V's; -1: none yet */
	uint32_t n, turns;        /* steps and tasks so far */
} tsr_cuda_reader_t;

TSR_DEV tsr_cuda_reader_t tsr_cuda_reader(const tsr_coop_t *coop)
{
	tsr_cuda_workspace_t *workspace = (tsr_cuda_workspace_t *)coop->context->workspace;
	const uint32_t multiprocessor = tsr_cuda_multiprocessor();
	tsr_cuda_reader_t reader = {workspace, 0, 0, 0, 0, -1, 0, 0};
	if (workspace && multiprocessor < coop->context->workspace_parts)
		reader.places =
			workspace->place + (size_t)multiprocessor * coop->context->workspace_each;
	return reader;
}

/** One thread: the map of a rank's view. */
TSR_DEV const void *tsr_cuda_rows_map(const tsr_coop_t *loader, const tsr_cuda_reader_t *reader,
				      const tsr_view_t &view, int peer, int which)
{
	return tsr_cuda_stack(reader->workspace,
			      &reader->places[peer * TSR_CUDA_PLACES_EACH + which],
			      tsr_cuda_rows_of(loader, view, peer));
}

/** One thread: the maps of a rank's keys and values. */
TSR_DEV void tsr_cuda_read_from(const tsr_coop_t *loader, tsr_cuda_reader_t *reader,
				const tsr_gpu_attention_t &a, int from)
{
	if (from == reader->from)
		return;
	reader->k = tsr_cuda_rows_map(loader, reader, a.k, from, TSR_CUDA_PLACE_K);
	reader->v = tsr_cuda_rows_map(loader, reader, a.v, from, TSR_CUDA_PLACE_V);
	reader->from = from;
}

/* ---- loads. Rows and columns are the engine's coordinates, of 32 bits. */

/**
 * One thread: 64 rows of a panel, which begins at `row`: those from `first` on, as
 * far as `count` goes; the others are zeros. Behind the last row the panel's own
 * first row stands for them, because an H100 calls a box without any row of its
 * matrix an illegal address. No result depends on it: no query is stored from
 * there, and the factors of such keys are 0.
 */
template <int BOXES>
TSR_DEV void tsr_cuda_load_rows(uint32_t to, uint32_t apart, const void *map, int row, int first,
				int col, int count, uint32_t barrier)
{
	const int left = count - first, rows = left < 1 ? 1
					       : left < TSR_CUDA_PANEL_ROWS
						       ? left
						       : (int)TSR_CUDA_PANEL_ROWS;
	row += left < 1 ? 0 : first;
	TSR_GPU_UNROLL
	for (int box = 0; box < BOXES; box++)
		tsr_cuda_load_box_of(to + (uint32_t)box * apart, map, col + box * 64,
				     TSR_CUDA_PANEL_ROWS - rows, row + rows, barrier);
}

/**
 * One thread: the queries of a task, for both warpgroups, once they have read
 * those before. Partners: the arrivals and waits in tsr_cuda_first_step and
 * tsr_cuda_next_step. Litmus: LB.retired.sameWG-ww (empty), MP.rel.acq.sameWG-ww
 * (full).
 */
template <typename S>
TSR_DEV void tsr_cuda_load_queries(uint32_t panels, tsr_cuda_reader_t *reader,
				   const tsr_gpu_attention_t &a, const tsr_span_t &span)
{
	typedef tsr_cuda_panel_bytes<S> bytes;
	const int queries = tsr_gpu_queries<S>(a, span), row = tsr_cuda_coordinate(span.q.row),
		  col = tsr_cuda_coordinate(span.q.col);
	TSR_GPU_UNROLL
	for (int group = 0; group < 2; group++) {
		const uint32_t barrier = (uint32_t)(TSR_CUDA_BARRIER_Q + group),
			       full = tsr_cuda_panel_full(barrier);
		const int first = group * TSR_CUDA_PANEL_ROWS;
		/* in the first round all panels are free */
		tsr_cuda_mbarrier_wait(tsr_cuda_panel_empty(barrier), (reader->turns & 1) ^ 1);
		tsr_cuda_mbarrier_expect(full, bytes::q);
		tsr_cuda_load_rows<bytes::boxes>(panels + (uint32_t)(group * bytes::q),
						 TSR_CUDA_BOX_BYTES, reader->q, row, first, col,
						 queries, full);
	}
	reader->turns++;
}

/**
 * One thread: the first `count` keys from `row` on, of K or V, into the stage of
 * step `n`, once it is free. `stages`: shared address of the first stage; `first`:
 * BARRIER_K or BARRIER_V. Partners: the arrivals and waits in tsr_cuda_first_step,
 * tsr_cuda_next_step and tsr_cuda_last_values. Litmus: LB.retired.sameWG-ww
 * (empty), MP.rel.acq.sameWG-ww (full).
 */
template <typename S>
TSR_DEV void tsr_cuda_load_keys(uint32_t stages, uint32_t first, const void *map, uint32_t n,
				int row, int col, int count)
{
	typedef tsr_cuda_panel_bytes<S> bytes;
	const uint32_t stage = tsr_cuda_stage_of(n), full = tsr_cuda_panel_full(first + stage),
		       to = stages + stage * (uint32_t)bytes::stage;
	tsr_cuda_mbarrier_wait(tsr_cuda_panel_empty(first + stage), tsr_cuda_parity_of(n) ^ 1);
	tsr_cuda_mbarrier_expect(full, bytes::stage);
	TSR_GPU_UNROLL
	for (int key = 0; key < (int)S::keys; key += TSR_CUDA_PANEL_ROWS)
		tsr_cuda_load_rows<bytes::boxes>(to + (uint32_t)(key * 128), bytes::half, map, row,
						 key, col, count, full);
}

/** What has passed the gate: keys of a task, all of them read from one rank. */
typedef struct tsr_cuda_passed {
	int keys, from;
} tsr_cuda_passed_t;

/**
 * The warp: calls the gate of a step, unless its keys have passed. The copy engine
 * reads them after the fence, whichever call has acquired them.
 */
template <typename S, tsr_keys_gate_fn GATE>
TSR_DEV void tsr_cuda_pass_keys(tsr_coop_t *loader, tsr_cuda_passed_t *passed,
				const tsr_gpu_attention_t &a, const tsr_span_t &span, int key,
				int count, const void *ctx)
{
	const int end = key + (int)S::keys < count ? key + (int)S::keys : count;
	if (end <= passed->keys)
		return;
	tsr_span_t run = span;
	run.k0 = span.k0 + key;
	run.k1 = span.k0 + end;
	const tsr_keys_from_t from = GATE(loader, run, ctx);
	passed->keys = (int)tsr_gpu_least(from.until - span.k0, count);
	passed->from = tsr_cuda_accepted(loader, a.k, from.rank);
	passed->from = tsr_cuda_accepted(loader, a.v, passed->from);
	tsr_cuda_acquired_to_engine();
}

/**
 * All steps of a task. Called by the warp if there is a gate, otherwise by one
 * thread. The consumers need the keys of a step together with the values of the
 * step before, and free them in this order.
 */
template <typename S, tsr_keys_gate_fn GATE>
TSR_DEV void tsr_cuda_read_span(tsr_coop_t *loader, uint32_t panels, tsr_cuda_reader_t *reader,
				const tsr_gpu_attention_t &a, const tsr_span_t &span,
				const void *ctx)
{
	enum { keys = (int)S::keys };
	const uint32_t k = panels + (uint32_t)tsr_cuda_panel_at<S>::k,
		       v = panels + (uint32_t)tsr_cuda_panel_at<S>::v;
	const int first = tsr_cuda_coordinate(span.kv.row + span.k0),
		  col = tsr_cuda_coordinate(span.kv.col), count = (int)(span.k1 - span.k0);
	const void *values = 0; /* the map of the step before */
	tsr_cuda_passed_t passed = {0, tsr_rank(loader)};
	TSR_GPU_NO_UNROLL
	for (int key = 0; key < count; key += keys, reader->n++) {
		if constexpr (GATE != TSR_NO_KEYS_GATE)
			tsr_cuda_pass_keys<S, GATE>(loader, &passed, a, span, key, count, ctx);
		if (GATE != TSR_NO_KEYS_GATE && !tsr_cuda_elected())
			continue;
		tsr_cuda_read_from(loader, reader, a, passed.from);
		tsr_cuda_load_keys<S>(k, TSR_CUDA_BARRIER_K, reader->k, reader->n, first + key, col,
				      count - key);
		if (key == 0)
			tsr_cuda_load_queries<S>(panels, reader, a, span);
		else
			tsr_cuda_load_keys<S>(v, TSR_CUDA_BARRIER_V, values, reader->n - 1,
					      first + key - keys, col, count - key + keys);
		values = reader->v;
	}
	const int last = (count - 1) / keys * keys;
	if (values)
		tsr_cuda_load_keys<S>(v, TSR_CUDA_BARRIER_V, values, reader->n - 1, first + last,
				      col, count - last);
}

template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE>
TSR_DEV void tsr_cuda_read_tasks(tsr_coop_t *loader, tsr_cuda_reader_t *reader,
				 const tsr_gpu_attention_t &a, tsr_tasks_t tasks, const void *ctx)
{
	if (GATE == TSR_NO_KEYS_GATE || tsr_cuda_elected())
		reader->q =
			tsr_cuda_rows_map(loader, reader, a.q, tsr_rank(loader), TSR_CUDA_PLACE_Q);
	tasks = tsr_cuda_tasks(tasks);
	TSR_GPU_NO_UNROLL
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step)
		tsr_cuda_read_span<S, GATE>(loader, tsr_cuda_panels(), reader, a,
					    tsr_gpu_span<S, SPAN>(a, task, ctx), ctx);
}

/** The loading warp. */
template <typename S, tsr_span_fn SPAN, tsr_keys_gate_fn GATE>
TSR_DEV void tsr_cuda_read(tsr_coop_t *loader, tsr_cuda_reader_t *reader,
			   const tsr_gpu_attention_t &a, tsr_tasks_t tasks, const void *ctx)
{
	if (GATE != TSR_NO_KEYS_GATE) { /* else it does nothing that is recorded */
		tsr_gpu_record_open(loader, TSR_GPU_WORKER_LOADER);
		tsr_gpu_record_role(loader, "loader");
	}
	if (GATE != TSR_NO_KEYS_GATE || tsr_cuda_elected())
		tsr_cuda_read_tasks<S, SPAN, GATE>(loader, reader, a, tasks, ctx);
	__syncwarp();
}

#endif
