/*
 * The main loop of attention: masks, lengths that divide nothing, ranges without
 * keys, grouped heads, gates that choose the peer, states that go from task to
 * task. TSR_SEED: the seed that a failure names.
 */
#include <time.h>

#include "tests/contract/attend/heads.h"

enum { MOST_PARTS = 3, MOST_TASKS = 96 };

typedef struct heads_run {
	const heads_args_t *args;
	int64_t m, n, tiles;   /* of a tile; tiles of a head */
	int64_t first, stride; /* of the tiles that a block has */
	int64_t started, done; /* tasks */
} heads_run_t;

/* Tasks of a block: the parts of a tile one after the other. */
TSR_FN int64_t heads_tile_of(int64_t task, const heads_run_t *run)
{
	return run->first + task / run->args->c.parts * run->stride;
}

TSR_FN tsr_span_t heads_span(int64_t task, const void *ctx)
{
	const heads_run_t *run = (const heads_run_t *)ctx;
	const heads_case_t *c = &run->args->c;
	const int64_t tile = heads_tile_of(task, run), part = task % c->parts,
		      head = tile / run->tiles, row = tile % run->tiles * run->m;
	tsr_span_t span = {{head * c->queries + row, 0},
			   {head / c->share * c->rows, 0},
			   c->queries - row,
			   c->keys * part / c->parts,
			   c->keys * (part + 1) / c->parts,
			   (int32_t)c->mask,
			   c->group,
			   row,
			   c->diagonal};
	return span;
}

/* Two runs are read from the rank that their first key names, once it has said so here. */
TSR_FN tsr_keys_from_t heads_gate(tsr_coop_t *loader, tsr_span_t run, const void *ctx)
{
	const heads_run_t *all = (const heads_run_t *)ctx;
	const int rank = (int)(run.k0 % tsr_size(loader));
	const tsr_keys_from_t from = {rank, run.k0 + 2 * (run.k1 - run.k0)};
	tsr_wait(loader, all->args->flags + rank, 1, rank);
	return from;
}

/* The number of a task among those of all blocks. */
TSR_FN int64_t heads_number(int64_t task, const heads_run_t *run)
{
	return heads_tile_of(task, run) * run->args->c.parts + task % run->args->c.parts;
}

/* Signals and waits are partners. Litmus: MP.rel.acq.sameGPU-aa. */
#define ATTEND(name_, dtype_, m_, n_, d_)                                                          \
	TSR_ATTEND_TILE(name_, dtype_, m_, n_, d_);                                                \
	TSR_FN void start_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t span,         \
				  void *ctx)                                                       \
	{                                                                                          \
		heads_run_t *run = (heads_run_t *)ctx;                                             \
		const heads_args_t *a = run->args;                                                 \
		const int64_t task = run->started++, part = task % a->c.parts,                     \
			      number = heads_number(task, run);                                    \
		(void)span;                                                                        \
		if (part == 0 || (a->c.how != HOW_CONTINUED && a->c.how != HOW_LOADED))            \
			tsr_state_neutral(me, state);                                              \
		else if (a->c.how == HOW_LOADED) {                                                 \
			tsr_wait_local(me, a->ready + number - 1, 1, TSR_SCOPE_DEVICE);            \
			tsr_state_load(me, state,                                                  \
				       a->saved + (number - 1) * (int64_t)TSR_STATE_BYTES(name_)); \
		}                                                                                  \
	}                                                                                          \
	TSR_FN void finish_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t span,        \
				   tsr_view_t to, tsr_view_t lse_to, int64_t behind)               \
	{                                                                                          \
		TSR_FRAG(name_, o, me);                                                            \
		TSR_FRAG_ROWS(name_, lse, me);                                                     \
		const tsr_pos_t first = {span.q.row + behind, 0}, at = {0, 0};                     \
		tsr_state_finish(me, state, o, lse);                                               \
		tsr_tile_store(me, tsr_view_part(to, first, span.queries, to.cols), at, o);        \
		tsr_rows_store(me, tsr_view_part(lse_to, first, span.queries, 1), at, lse,         \
			       tsr_rank(me));                                                      \
	}                                                                                          \
	TSR_FN void merge_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t span,         \
				  const heads_args_t *a, int64_t number)                           \
	{                                                                                          \
		for (int64_t part = 0; part + 1 < a->c.parts; part++) {                            \
			const int64_t from = number - a->c.parts + 1 + part;                       \
			const tsr_pos_t at = {span.q.row + part * a->q.rows, 0}, none = {0, 0};    \
			tsr_wait_local(me, a->ready + from, 1, TSR_SCOPE_DEVICE);                  \
			if (a->c.how == HOW_MERGED)                                                \
				tsr_state_merge_saved(                                             \
					me, state,                                                 \
					a->saved + from * (int64_t)TSR_STATE_BYTES(name_));        \
			else                                                                       \
				tsr_state_merge_output(me, state,                                  \
						       tsr_view_part(a->part_o, at, span.queries,  \
								     a->part_o.cols),              \
						       none,                                       \
						       tsr_view_part(a->part_lse, at,              \
								     span.queries, 1),             \
						       none, tsr_rank(me));                        \
		}                                                                                  \
	}                                                                                          \
	TSR_FN void keep_##name_(tsr_coop_t *me, name_##_state_t *state, tsr_span_t span,          \
				 void *ctx)                                                        \
	{                                                                                          \
		heads_run_t *run = (heads_run_t *)ctx;                                             \
		const heads_args_t *a = run->args;                                                 \
		const int64_t task = run->done++, part = task % a->c.parts,                        \
			      number = heads_number(task, run);                                    \
		if (part + 1 == a->c.parts) {                                                      \
			if (a->c.how == HOW_MERGED || a->c.how == HOW_OUTPUT)                      \
				merge_##name_(me, state, span, a, number);                         \
			finish_##name_(me, state, span, a->o, a->lse, 0);                          \
			return;                                                                    \
		}                                                                                  \
		if (a->c.how == HOW_OUTPUT)                                                        \
			finish_##name_(me, state, span, a->part_o, a->part_lse, part * a->q.rows); \
		else if (a->c.how != HOW_CONTINUED)                                                \
			tsr_state_save(me, a->saved + number * (int64_t)TSR_STATE_BYTES(name_),    \
				       state);                                                     \
		if (a->c.how != HOW_CONTINUED)                                                     \
			tsr_signal_local(me, a->ready + number, 1, TSR_SCOPE_DEVICE);              \
	}                                                                                          \
	TSR_FN void run_##name_(tsr_coop_t *coop, const heads_args_t *a)                           \
	{                                                                                          \
		heads_run_t run = {a,                                                              \
				   m_,                                                             \
				   n_,                                                             \
				   tsr_tiles(a->c.queries, m_),                                    \
				   tsr_block_index(coop),                                          \
				   tsr_block_count(coop),                                          \
				   0,                                                              \
				   0};                                                             \
		const int64_t all = run.tiles * a->c.heads, mine = all - run.first;                \
		tsr_tasks_t tasks = {0, 1,                                                         \
				     mine > 0 ? tsr_tiles(mine, run.stride) * a->c.parts : 0};     \
		if (a->c.gated && tsr_block_index(coop) == 0)                                      \
			tsr_signal_all(coop, a->flags + tsr_rank(coop), 1, TSR_SIGNAL_SET);        \
		if (a->c.gated)                                                                    \
			tsr_attend(name_, coop, a->q, a->k, a->v, a->scale, tasks, heads_span,     \
				   heads_gate, start_##name_, keep_##name_, &run);                 \
		else if (a->c.parts > 1)                                                           \
			tsr_attend(name_, coop, a->q, a->k, a->v, a->scale, tasks, heads_span,     \
				   TSR_NO_KEYS_GATE, start_##name_, keep_##name_, &run);           \
		else                                                                               \
			for (int time = 0; time < 2;                                               \
			     time++) /* in shared memory that another loop has left */             \
				tsr_attend(name_, coop, a->q, a->k, a->v, a->scale, tasks,         \
					   heads_span, TSR_NO_KEYS_GATE, TSR_NO_START,             \
					   keep_##name_, &run);                                    \
	}                                                                                          \
	TSR_KERNEL(attend_##name_, heads_args_t, a)                                                \
	{                                                                                          \
		run_##name_(block, a);                                                             \
	}
ATTEND(small, f32, 16, 16, 16)
ATTEND(odd, f16, 64, 32, 64)
ATTEND(wide, bf16, 128, 128, 128) /* these two are what tensor cores take */
ATTEND(narrow, f16, 128, 64, 64)
ATTEND(few, f16, 16, 64, 128) /* and these two are for few queries */
ATTEND(fewer, bf16, 16, 64, 64)

typedef struct nothing {
	int32_t nothing;
} nothing_t;

/* The first of two workers attends. */
TSR_KERNEL_SPLIT(attend_split, 2, nothing_t, heads_args_t, a)
{
	if (tsr_worker_index(worker) == 0)
		run_small(worker, a);
}

/** What P and O are rounded by, relative (dev/attend.h). */
static double roundings(tsr_dtype_t dtype)
{
	return dtype == TSR_BF16 ? 0x1p-7 : dtype == TSR_F16 ? 0x1p-10 : 0x1p-18;
}

static int row_check(tsr_world_t *world, const heads_tile_t *t, const heads_case_t *c,
		     uint64_t seed, const heads_values_t *values, int64_t head, int64_t row,
		     const float *out, float lse, double *room)
{
	heads_row_t want = {room, room + t->d, 0};
	double *p = room + (size_t)(2 * t->d);
	heads_refer(t, c, values, head, row, tsr_world_rank(world), tsr_world_size(world), p,
		    &want);
	const bool exact = c->content == CONTENT_EQUAL || c->content == CONTENT_DOMINANT;
	const double bound = exact ? 0 : roundings(t->dtype) + (double)c->keys * 0x1p-24;
	/* Factors of f16 are multiples of 2^-24, and values are 6 at most. Of a key that vanishes
	 * e^-724 is left here, which shows where the dominant one has a 0. */
	const double small = exact                 ? 0x1p-1000
			     : t->dtype != TSR_F16 ? 0
						   : (double)c->keys * 0x1p-24 * 6;
	for (int64_t d = 0; d < t->d; d++)
		CHECK(fabs((double)out[d] - want.out[d]) <= bound * want.weight[d] + small,
		      "TSR_SEED=%llu: %s, %d queries, %d keys, mask %d at %d, groups of %d, %d "
		      "parts %d, content %d: head %d, row %d, column %d: %g for %g",
		      (unsigned long long)seed, t->kernel->name, (int)c->queries, (int)c->keys,
		      (int)c->mask, (int)c->diagonal, (int)c->group, (int)c->parts, (int)c->how,
		      (int)c->content, (int)head, (int)row, (int)d, (double)out[d], want.out[d]);
	CHECK(want.lse == (double)lse ||
		      fabs((double)lse - want.lse) <= 1e-5 * (8 + fabs(want.lse)),
	      "TSR_SEED=%llu: %s, %d queries, %d keys, mask %d at %d: head %d, row %d: logarithm "
	      "%g "
	      "for %g",
	      (unsigned long long)seed, t->kernel->name, (int)c->queries, (int)c->keys,
	      (int)c->mask, (int)c->diagonal, (int)head, (int)row, (double)lse, want.lse);
	return 0;
}

/** Rows at the edges of tiles, and some between them; nothing behind the columns. */
static int heads_check(tsr_world_t *world, const heads_tile_t *t, const heads_case_t *c,
		       uint64_t seed, const float *out, const float *lse)
{
	const int64_t ld = t->d + MARGIN;
	double *room = (double *)malloc((size_t)(2 * t->d + c->keys + 1) * sizeof(double));
	heads_values_t values = {{0}, {0}};
	int failed = !room || heads_values_make(world, t, c, seed, &values);
	for (int64_t i = 0; !failed && i < c->heads * c->queries; i++) {
		const int64_t row = i % c->queries;
		float poison;
		memset(&poison, POISON, sizeof poison);
		for (int64_t col = t->d; col < ld; col++)
			CHECK(memcmp(out + i * ld + col, &poison, sizeof poison) == 0,
			      "past the edge");
		if (row < 3 || row % 64 < 2 || row % 64 == 63 || row + 1 == c->queries ||
		    row % 11 == 0)
			failed = row_check(world, t, c, seed, &values, i / c->queries, row,
					   out + i * ld, lse[i], room);
	}
	heads_values_free(&values);
	free(room);
	return failed;
}

/** Memory for outputs, and for what tasks leave for others. */
static int heads_outputs(tsr_world_t *world, const heads_tile_t *t, const heads_case_t *c,
			 heads_args_t *args)
{
	const int64_t rows = c->heads * c->queries, ld = t->d + MARGIN;
	const size_t bytes = (size_t)(rows * ld) * sizeof(float),
		     column = (size_t)rows * sizeof(float);
	any_heap_t o = poisoned(world, bytes, "output"), lse = poisoned(world, column, "lse"),
		   part_o = poisoned(world, bytes * MOST_PARTS, "outputs of parts"),
		   part_lse = poisoned(world, column * MOST_PARTS, "lse of parts");
	CHECK(o && lse && part_o && part_lse);
	args->o = (tsr_view_t){o, rows, t->d, ld, TSR_F32, TSR_SPACE_HEAP};
	args->lse = (tsr_view_t){lse, rows, 1, 1, TSR_F32, TSR_SPACE_HEAP};
	args->part_o = (tsr_view_t){part_o, rows * MOST_PARTS, t->d, ld, TSR_F32, TSR_SPACE_HEAP};
	args->part_lse = (tsr_view_t){part_lse, rows * MOST_PARTS, 1, 1, TSR_F32, TSR_SPACE_HEAP};
	args->saved = (TSR_HEAP unsigned char *)
		poisoned(world, (size_t)(MOST_TASKS * t->m * (t->d + 2)) * sizeof(float), "saved");
	args->ready = (TSR_HEAP uint64_t *)zeroed(world, MOST_TASKS * 8, "ready");
	args->flags =
		(TSR_HEAP uint64_t *)zeroed(world, (size_t)tsr_world_size(world) * 8, "flags");
	CHECK(args->saved && args->ready && args->flags);
	return 0;
}

static int heads_free(tsr_world_t *world, const heads_args_t *args)
{
	TSR_HEAP void *const all[] = {
		args->q.data,      args->k.data,        args->v.data, args->o.data, args->lse.data,
		args->part_o.data, args->part_lse.data, args->saved,  args->ready,  args->flags};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		CHECK(tsr_heap_free(world, all[i]) == TSR_OK);
	return 0;
}

static int heads_one(tsr_world_t *world, const heads_tile_t *t, const heads_case_t *c,
		     uint64_t seed, int blocks)
{
	heads_args_t args;
	memset(&args, 0, sizeof args);
	args.c = *c;
	args.scale = (float)heads_scale(t);
	const int64_t rows = c->heads * c->queries;
	const size_t count = (size_t)(rows * (t->d + MARGIN));
	if (heads_matrix(world, t, c, seed, OF_Q, &args.q) ||
	    heads_matrix(world, t, c, seed, OF_K, &args.k) ||
	    heads_matrix(world, t, c, seed, OF_V, &args.v) || heads_outputs(world, t, c, &args))
		return 1;
	float *out = (float *)malloc(count * sizeof(float)),
	      *lse = (float *)malloc((size_t)rows * sizeof(float));
	CHECK(out && lse && tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, t->kernel, blocks, &args) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, out, args.o.data, count * sizeof(float)) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, lse, args.lse.data, (size_t)rows * sizeof(float)) ==
	      TSR_OK);
	const int failed = heads_check(world, t, c, seed, out, lse);
	free(out);
	free(lse);
	return failed || heads_free(world, &args);
}

/* ------------------------------------------------------------------ cases */

static uint64_t heads_seed(int argc, char **argv)
{
	return argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
}

static void heads_each(tsr_main_fn body)
{
	const char *set = getenv("TSR_SEED");
	char seed[32];
	/* the schedules of an exploration run one program */
	snprintf(seed, sizeof seed, "%llu",
		 set                       ? strtoull(set, NULL, 10)
		 : getenv("TESSERA_CHECK") ? 1
					   : (unsigned long long)time(NULL) * 1000);
	world_each(body, seed);
}

#define TILES                                                                                      \
	{                                                                                          \
		{&attend_small, TSR_F32, 16, 16, 16}, {&attend_odd, TSR_F16, 64, 32, 64},          \
			{&attend_wide, TSR_BF16, 128, 128, 128},                                   \
			{&attend_narrow, TSR_F16, 128, 64, 64},                                    \
			{&attend_split, TSR_F32, 16, 16, 16}, {&attend_few, TSR_F16, 16, 64, 128}, \
			{&attend_fewer, TSR_BF16, 16, 64, 64},                                     \
	}
enum { TILES_COUNT = 7 };

/* heads, share, queries, keys, rows, group, mask, diagonal, parts, how, gated, content */
static int cases_run(tsr_world_t *world, int argc, char **argv, const heads_case_t *cases,
		     int count)
{
	const heads_tile_t tiles[TILES_COUNT] = TILES;
	for (int i = 0; i < count; i++)
		for (int t = 0; t < TILES_COUNT; t++)
			/* the emulator: the small tile, and of the others one at a time */
			if ((t == 0 || t == 1 + i % (TILES_COUNT - 1) || !world_has_threads()) &&
			    heads_one(world, &tiles[t], &cases[i],
				      heads_seed(argc, argv) + (uint64_t)i, 1 + (i + t) % 3))
				return 1;
	return 0;
}

static int lengths_body(tsr_world_t *world, int argc, char **argv)
{
	static const int64_t lengths[] = {0, 1, 63, 64, 65, 200};
	heads_case_t cases[12];
	for (int i = 0; i < 12; i++) {
		const heads_case_t c = {2,
					1,
					i % 2 ? 65 : 3,
					lengths[i / 2],
					lengths[i / 2] + 7,
					1,
					TSR_MASK_NONE,
					0,
					1,
					HOW_CONTINUED,
					0,
					i == 7 ? CONTENT_STEEP : CONTENT_RANDOM};
		cases[i] = c;
	}
	return cases_run(world, argc, argv, cases, 12);
}

Test(attend, lengths_that_divide_nothing)
{
	heads_each(lengths_body);
}

static int causal_body(tsr_world_t *world, int argc, char **argv)
{
	static const heads_case_t cases[] = {
		{1, 1, 130, 130, 130, 1, TSR_MASK_CAUSAL, 0, 1, HOW_CONTINUED, 0, CONTENT_RANDOM},
		{1, 1, 70, 130, 130, 1, TSR_MASK_CAUSAL, 60, 1, HOW_CONTINUED, 0, CONTENT_STEEP},
		{2, 2, 40, 20, 30, 1, TSR_MASK_CAUSAL, -5, 1, HOW_CONTINUED, 0, CONTENT_RANDOM},
		{1, 1, 140, 150, 150, 1, TSR_MASK_CAUSAL, -130, 1, HOW_CONTINUED, 0,
		 CONTENT_RANDOM},
		{2, 1, 20, 30, 30, 1, TSR_MASK_CAUSAL, -40, 1, HOW_CONTINUED, 0, CONTENT_RANDOM},
		{1, 1, 129, 257, 257, 3, TSR_MASK_CAUSAL, 1, 1, HOW_CONTINUED, 0, CONTENT_RANDOM},
		{2, 1, 66, 131, 131, 8, TSR_MASK_CAUSAL, 110, 2, HOW_MERGED, 0, CONTENT_RANDOM},
	};
	return cases_run(world, argc, argv, cases, 7);
}

Test(attend, causal_masks_at_any_diagonal)
{
	heads_each(causal_body);
}

static int parts_body(tsr_world_t *world, int argc, char **argv)
{
	static const heads_case_t cases[] = {
		{3, 3, 70, 200, 200, 1, TSR_MASK_NONE, 0, 3, HOW_CONTINUED, 0, CONTENT_RANDOM},
		{2, 1, 70, 200, 200, 1, TSR_MASK_CAUSAL, 90, 3, HOW_LOADED, 0, CONTENT_STEEP},
		{2, 2, 40, 150, 150, 1, TSR_MASK_CAUSAL, 20, 3, HOW_MERGED, 0, CONTENT_RANDOM},
		{1, 1, 40, 150, 150, 1, TSR_MASK_NONE, 0, 2, HOW_OUTPUT, 0, CONTENT_RANDOM},
		/* the first part, then the last one, have no keys that the first rows see */
		{1, 1, 40, 1, 9, 1, TSR_MASK_NONE, 0, 3, HOW_MERGED, 0, CONTENT_RANDOM},
		{1, 1, 40, 2, 9, 1, TSR_MASK_CAUSAL, -9, 3, HOW_OUTPUT, 0, CONTENT_RANDOM},
		{1, 1, 40, 0, 9, 1, TSR_MASK_NONE, 0, 2, HOW_CONTINUED, 0, CONTENT_RANDOM},
	};
	return cases_run(world, argc, argv, cases, 7);
}

Test(attend, states_go_from_task_to_task)
{
	heads_each(parts_body);
}

static int gates_body(tsr_world_t *world, int argc, char **argv)
{
	static const heads_case_t cases[] = {
		{2, 1, 70, 200, 210, 1, TSR_MASK_NONE, 0, 1, HOW_CONTINUED, 1, CONTENT_RANDOM},
		{4, 2, 30, 300, 300, 1, TSR_MASK_CAUSAL, 200, 3, HOW_CONTINUED, 1, CONTENT_RANDOM},
		{2, 2, 20, 100, 120, 4, TSR_MASK_CAUSAL, 90, 2, HOW_MERGED, 1, CONTENT_STEEP},
	};
	return cases_run(world, argc, argv, cases, 3);
}

Test(attend, keys_of_peers_behind_a_gate)
{
	heads_each(gates_body);
}

static int exact_body(tsr_world_t *world, int argc, char **argv)
{
	static const heads_case_t cases[] = {
		{2, 1, 70, 64, 70, 1, TSR_MASK_NONE, 0, 1, HOW_CONTINUED, 0, CONTENT_EQUAL},
		{1, 1, 20, 256, 256, 1, TSR_MASK_NONE, 0, 2, HOW_MERGED, 1, CONTENT_EQUAL},
		{2, 1, 70, 150, 150, 1, TSR_MASK_NONE, 0, 1, HOW_CONTINUED, 0, CONTENT_DOMINANT},
		{1, 1, 20, 150, 150, 1, TSR_MASK_NONE, 0, 3, HOW_LOADED, 1, CONTENT_DOMINANT},
	};
	return cases_run(world, argc, argv, cases, 4);
}

Test(attend, results_that_are_exact)
{
	heads_each(exact_body);
}
