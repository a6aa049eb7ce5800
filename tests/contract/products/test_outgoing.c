/*
 * How finished tiles leave a main loop: to my own memory, to peers' and to
 * both, in every order that changes what a port may copy from where, with edges
 * of every kind, and with signals behind them. 16-bit tiles of the extents that
 * matrix units take, for which ports have ways of their own: they may send a
 * tile on from my memory while the next one is multiplied.
 */
#include "tests/contract/products/outgoing_expected.h"

#include <sys/random.h>

typedef struct outgoing_args {
	tsr_view_t a, b;
	tsr_view_t place[2], seen; /* rank 0's slots; every rank writes its own, in all memories */
	tsr_view_t scribble;
	TSR_HEAP uint64_t *flags, *words, *seen_words; /* of each rank one a task */
	/* from the tile's place in the product to where it goes */
	tsr_pos_t shift;
	int64_t tiles_m, tiles_n, tasks;
	/* the last block reads what it is told of; it is told after the loop */
	int32_t watched, later;
	int32_t op[OPS];
} outgoing_args_t;

typedef struct outgoing_run {
	const outgoing_args_t *args;
	int64_t task, step; /* of the next epilogue */
} outgoing_run_t;

/**
 * The product's tiles, then as many as there are tasks that begin outside of
 * it, two of them by 2^32.
 */
TSR_FN tsr_part_t outgoing_order(int64_t task, const void *ctx)
{
	const outgoing_args_t *a = ((const outgoing_run_t *)ctx)->args;
	int64_t beyond = task - a->tiles_m * a->tiles_n;
	int64_t far = (int64_t)1 << 32;
	tsr_pos_t at = {task / a->tiles_n * SIDE, task % a->tiles_n * SIDE};
	if (beyond >= 0) {
		at.row = beyond == 0 ? a->tiles_m * SIDE : beyond == 2 ? far : 0;
		at.col = beyond == 1 ? a->tiles_n * SIDE : beyond == 3 ? far : 0;
	}
	return tsr_whole(at);
}

TSR_FN tsr_view_t slot_of(tsr_view_t slots, int rank)
{
	slots.data = (TSR_HEAP unsigned char *)slots.data + (int64_t)rank * SLOT * 2;
	return slots;
}

TSR_FN tsr_pos_t shifted(const outgoing_args_t *a, tsr_pos_t at)
{
	tsr_pos_t to = {at.row + a->shift.row, at.col + a->shift.col};
	return to;
}

TSR_FN float changed(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)ctx;
	return CHANGED(x, row, col);
}

/** Tells a peer that task `task` is complete there. Partner of each: the wait in watch. */
TSR_FN void tell(tsr_coop_t *coop, const outgoing_args_t *a, int64_t task, int how, int peer)
{
	int64_t mine = (int64_t)tsr_rank(coop) * TASKS_MOST + task;
	if (how == PUT_SIGNAL)
		tsr_put_signal(coop, a->words + mine, a->words + mine, sizeof *a->words,
			       a->flags + mine, 1, TSR_SIGNAL_SET, peer);
	else if (how >= FENCED) /* Litmus: MP.frel.facq.diffGPU-ss. */
		tsr_atomic_store(coop, a->flags + mine, (uint64_t)1, peer, TSR_RELAXED,
				 TSR_SCOPE_SYSTEM);
	else
		tsr_signal(coop, a->flags + mine, 1, TSR_SIGNAL_SET, peer);
}

TSR_FN void tell_peers(tsr_coop_t *coop, const outgoing_args_t *a, int64_t task, int how)
{
	if (how >= FENCED)
		tsr_fence(coop, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	if (how == NARROWED) /* nobody waits: my own copy of the flag is no one's */
		tsr_signal_local(coop, a->flags + tsr_rank(coop) * TASKS_MOST + task, (uint64_t)1,
				 TSR_SCOPE_BLOCK);
	for (int i = 1; i < tsr_size(coop); i++)
		tell(coop, a, task, how, tsr_peer(coop, i));
}

TSR_FN void scribble(tsr_coop_t *coop, const outgoing_args_t *a, tsr_pos_t to)
{
	int me = tsr_rank(coop);
	tsr_sync(coop); /* other threads may copy to where one has stored */
	tsr_copy_2d(coop, tsr_view_part(slot_of(a->place[0], me), to, SIDE, SIDE), me, a->scribble,
		    me);
}

/** Reads each peer's tiles here as soon as they are said to be complete. */
TSR_FN void watch(tsr_coop_t *block, const outgoing_run_t *run)
{
	const outgoing_args_t *a = run->args;
	int me = tsr_rank(block);
	for (int64_t task = 0; task < a->tasks; task++)
		for (int i = 1; i < tsr_size(block); i++) {
			int from = tsr_peer(block, i);
			int64_t flag = (int64_t)from * TASKS_MOST + task;
			tsr_pos_t to = shifted(a, outgoing_order(task, run).at);
			tsr_wait(block, a->flags + flag, 1, from);
			tsr_copy_2d(block, tsr_view_part(slot_of(a->seen, from), to, SIDE, SIDE),
				    me, tsr_view_part(slot_of(a->place[0], from), to, SIDE, SIDE),
				    me);
			tsr_copy(block, a->seen_words + flag, me, a->words + flag, me,
				 sizeof *a->words);
		}
}

#define OUTGOING(dtype_)                                                                          \
	TSR_TILE(outgoing_##dtype_, dtype_, SIDE, SIDE, DEPTH);                                   \
	TSR_FN void leave_##dtype_(tsr_coop_t *me, outgoing_##dtype_##_frag_t *acc, tsr_pos_t at, \
				   void *ctx)                                                     \
	{                                                                                         \
		outgoing_run_t *run = (outgoing_run_t *)ctx;                                      \
		const outgoing_args_t *a = run->args;                                             \
		for (int i = 0; i < OPS; i++) {                                                   \
			const int op = a->op[i] % OTHER, stores = op == OWN || op == PEERS;       \
			tsr_view_t to = slot_of(a->place[a->op[i] / OTHER], tsr_rank(me));        \
			if (op == ALL)                                                            \
				tsr_store_all(me, to, shifted(a, at), acc);                       \
			for (int p = op == PEERS; stores && p < (op == OWN ? 1 : tsr_size(me));   \
			     p++)                                                                 \
				tsr_store(me, to, shifted(a, at), acc, tsr_peer(me, p));          \
			if (op == MAP)                                                            \
				tsr_frag_map(me, acc, at, changed, (const void *)0);              \
			else if (op == ZERO)                                                      \
				tsr_frag_zero(me, acc);                                           \
			else if (op == SCRIBBLE)                                                  \
				scribble(me, a, shifted(a, at));                                  \
			else if (op >= SIGNAL)                                                    \
				tell_peers(me, a, run->task, op);                                 \
		}                                                                                 \
		run->task += run->step;                                                           \
	}                                                                                         \
	TSR_KERNEL(send_##dtype_, outgoing_args_t, a)                                             \
	{                                                                                         \
		int64_t first = tsr_block_index(block),                                           \
			senders = tsr_block_count(block) - a->watched;                            \
		outgoing_run_t run = {a, first, senders};                                         \
		tsr_tasks_t tasks = {first, senders, a->tasks};                                   \
		if (first < senders) {                                                            \
			tsr_gemm(outgoing_##dtype_, block, a->a, a->b, tasks, outgoing_order,     \
				 TSR_NO_GATE, leave_##dtype_, &run);                              \
			for (int64_t task = first; a->later && task < run.task;                   \
			     task += senders) /* what the epilogues have kept */                  \
				tell_peers(block, a, task, SIGNAL);                               \
		} else {                                                                          \
			watch(block, &run);                                                       \
		}                                                                                 \
	}
OUTGOING(bf16)
OUTGOING(f16)

/* ------------------------------------------------------------------ a case */

static outgoing_args_t arguments(const outgoing_world_t *w, const outgoing_case_t *c,
				 tsr_dtype_t dtype)
{
	const int size = tsr_world_size(w->world);
	const int64_t rows = c->rows + positive(-c->shift.row),
		      cols = c->cols + positive(-c->shift.col);
	const tsr_view_t operand_a = {w->a + 2 * c->odd, rows, c->k, K_MOST, dtype, TSR_SPACE_HEAP};
	const tsr_view_t operand_b = {w->b, c->k, cols, COLS_MOST, dtype, TSR_SPACE_HEAP};
	const tsr_view_t scribbled = {w->scribble, SIDE, SIDE, SIDE, dtype, TSR_SPACE_HEAP};
	outgoing_args_t args;
	memset(&args, 0, sizeof args);
	args.a = operand_a;
	args.b = operand_b;
	for (int i = 0; i < 3; i++) {
		const tsr_view_t slots = {w->places +
						  2 * (SLOT * (int64_t)size * i + PAD + c->base),
					  c->rows,
					  c->cols,
					  c->ld,
					  dtype,
					  TSR_SPACE_HEAP};
		*(i < 2 ? &args.place[i] : &args.seen) = slots;
	}
	args.scribble = scribbled;
	args.flags = w->flags;
	args.words = w->flags + size * TASKS_MOST;
	args.seen_words = w->flags + 2 * size * TASKS_MOST;
	args.shift = c->shift;
	args.tiles_m = (rows + SIDE - 1) / SIDE;
	args.tiles_n = (cols + SIDE - 1) / SIDE;
	args.tasks = args.tiles_m * args.tiles_n + c->beyond;
	args.watched = c->watched;
	args.later = c->later;
	memcpy(args.op, c->op, sizeof args.op);
	return args;
}

/**
 * Poison in all places, another on each rank: what is sent from beside a tile
 * shows. Nothing told yet, and in my own words what they say at peers.
 */
static int prepare(const outgoing_world_t *w)
{
	tsr_world_t *world = w->world;
	const size_t size = (size_t)tsr_world_size(world);
	uint64_t words[TASKS_MOST];
	for (int i = 0; i < TASKS_MOST; i++)
		words[i] = (uint64_t)(tsr_world_rank(world) * TASKS_MOST + i + 1);
	CHECK(tsr_memset_heap(world, w->places, POISON + tsr_world_rank(world),
			      3 * size * 2 * SLOT) == TSR_OK);
	CHECK(tsr_memset_heap(world, w->flags, 0, 3 * size * sizeof words) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world,
				 w->flags + (size + (size_t)tsr_world_rank(world)) * TASKS_MOST,
				 words, sizeof words) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

static int run_case(outgoing_world_t *w, const outgoing_case_t *c, const tsr_kernel_t *kernel,
		    tsr_dtype_t dtype)
{
	tsr_world_t *world = w->world;
	const int size = tsr_world_size(world);
	const outgoing_args_t args = arguments(w, c, dtype);
	multiply(w, c);
	if (fill(w, dtype, c->odd) || prepare(w))
		return 1;
	CHECK(run_kernel(world, kernel, c->blocks + c->watched, &args) == TSR_OK, "%s", c->name);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, w->found, w->places, 3 * (size_t)size * 2 * SLOT) ==
	      TSR_OK);
	for (int i = 0; i < 3 * size; i++)
		if (slot_check(w, c, dtype, i / size, i % size))
			return 1;
	return words_check(w, c, args.tasks);
}

static int run_cases(outgoing_world_t *w, const outgoing_case_t *cases, int count)
{
	tsr_world_t *world = w->world;
	CHECK(w->a && w->b && w->places && w->scribble && w->flags && w->host_a && w->host_b &&
	      w->product && w->found);
	for (int64_t i = 0; i < ROWS_MOST * K_MOST; i++)
		w->host_a[i] = element(w->seed, i / K_MOST, i % K_MOST);
	for (int64_t i = 0; i < K_MOST * COLS_MOST; i++)
		w->host_b[i] = element(~w->seed, i / COLS_MOST, i % COLS_MOST);
	for (int i = 0; i < count; i++)
		/* on the emulator, where both are alike, every other */
		for (int f16 = 0; f16 < 2; f16++)
			if (!world_has_threads() || (i + tsr_world_size(world)) % 2 == f16)
				if (run_case(w, &cases[i], f16 ? &send_f16 : &send_bf16,
					     f16 ? TSR_F16 : TSR_BF16))
					return 1;
	return 0;
}

static int run_world(tsr_world_t *world, const char *seed, const outgoing_case_t *cases, int count)
{
	const size_t size = (size_t)tsr_world_size(world);
	outgoing_world_t w = {.world = world};
	w.seed = strtoull(seed, NULL, 10);
	w.a = poisoned(world, 2 * (ROWS_MOST * K_MOST + 8), "A");
	w.b = poisoned(world, 2 * K_MOST * COLS_MOST, "B");
	w.places = poisoned(world, 3 * size * 2 * SLOT, "places");
	w.scribble = poisoned(world, 2 * SIDE * SIDE, "scribble");
	w.flags = zeroed(world, 3 * size * TASKS_MOST * sizeof *w.flags, "flags");
	w.host_a = (signed char *)malloc(ROWS_MOST * K_MOST);
	w.host_b = (signed char *)malloc(K_MOST * COLS_MOST);
	w.product = (int *)malloc(sizeof(int) * ROWS_MOST * COLS_MOST);
	w.found = (unsigned char *)malloc(3 * size * 2 * SLOT);
	const int failed = run_cases(&w, cases, count);
	free(w.host_a);
	free(w.host_b);
	free(w.product);
	free(w.found);
	if (failed)
		return failed;
	CHECK(tsr_heap_free(world, w.a) == TSR_OK && tsr_heap_free(world, w.b) == TSR_OK &&
	      tsr_heap_free(world, w.places) == TSR_OK);
	CHECK(tsr_heap_free(world, w.scribble) == TSR_OK &&
	      tsr_heap_free(world, w.flags) == TSR_OK);
	return 0;
}

/** With a fresh seed, or what OUTGOING_SEED repeats. */
static void run_worlds(tsr_main_fn entry)
{
	const char *given = getenv("OUTGOING_SEED");
	uint64_t number = 0;
	char seed[24];
	cr_assert(given || getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number);
	number = given ? strtoull(given, NULL, 10) : number >> 16; /* easier to type */
	snprintf(seed, sizeof seed, "%" PRIu64, number);
	printf("outgoing: OUTGOING_SEED=%s\n", seed);
	fflush(stdout);
	world_each(entry, seed);
}

#define RUN_CASES(cases_) run_world(world, argv[1], cases_, (int)(sizeof cases_ / sizeof *cases_))

/* ------------------------------------------------------------------ edges */

#define KEPT OWN, PEERS   /* peers get what stands in my own memory */
#define DIRECT PEERS, OWN /* and here it does not stand there yet */

static int edges_body(tsr_world_t *world, int argc, char **argv)
{
	/* clang-format off */
	static const outgoing_case_t cases[] = {
		{"kept", 200, 201, 208, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {KEPT}},
		{"direct", 200, 201, 208, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {DIRECT}},
		{"rows not at 16 bytes, kept", 200, 201, 204, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {KEPT}},
		{"rows not at 16 bytes, direct",
		 200, 201, 204, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {DIRECT}},
		{"rows not at 16 bytes, all again",
		 200, 201, 204, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {ALL, MAP, ALL}},
		{"rows not at 16 bytes, all, then peers again",
		 200, 201, 204, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {ALL, MAP, PEERS}},
		{"base not at 16 bytes, kept", 200, 201, 208, 72, 1, {0, 0}, 0, 0, 2, 0, 0, {KEPT}},
		{"base not at 16 bytes, direct",
		 200, 201, 208, 72, 1, {0, 0}, 0, 0, 2, 0, 0, {DIRECT}},
		{"tiles at 16 bytes, base not, kept",
		 200, 201, 208, 72, 1, {0, 7}, 0, 0, 2, 0, 0, {KEPT}},
		{"tiles at 16 bytes, base not, direct",
		 200, 201, 208, 72, 1, {0, 7}, 0, 0, 2, 0, 0, {DIRECT}},
		{"not from the first element, kept",
		 200, 201, 208, 72, 0, {8, 16}, 0, 0, 2, 0, 0, {KEPT}},
		{"not from the first element, direct",
		 200, 201, 208, 72, 0, {3, 3}, 0, 0, 2, 0, 0, {DIRECT}},
		{"from before the view, kept",
		 200, 201, 208, 72, 0, {-8, -16}, 0, 0, 2, 0, 0, {KEPT}},
		{"from before the view's rows, direct",
		 200, 201, 208, 72, 0, {-8, 0}, 0, 0, 2, 0, 0, {DIRECT}},
		{"from before the view's columns, kept",
		 200, 201, 208, 72, 0, {0, -8}, 0, 0, 2, 0, 0, {KEPT}},
		{"behind the view, kept", 200, 201, 208, 72, 0, {0, 0}, 4, 0, 2, 0, 0, {KEPT}},
		{"behind the view, direct", 200, 201, 208, 72, 0, {0, 0}, 4, 0, 2, 0, 0, {DIRECT}},
		{"less than 16 bytes, kept", 200, 133, 136, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {KEPT}},
		{"less than 16 bytes, direct",
		 200, 133, 136, 72, 0, {0, 0}, 0, 0, 2, 0, 0, {DIRECT}},
		{"one row more, no gaps, kept",
		 129, 128, 128, 64, 0, {0, 0}, 0, 0, 1, 0, 0, {KEPT}},
		{"whole tiles, direct", 128, 128, 128, 8, 0, {0, 0}, 0, 0, 1, 0, 0, {DIRECT}},
		{"one element, kept", 1, 1, 8, 1, 0, {0, 0}, 0, 0, 1, 0, 0, {KEPT}},
		{"the plain loop, kept", 200, 201, 208, 72, 0, {0, 0}, 0, 1, 2, 0, 0, {KEPT}},
		{"the plain loop, direct", 200, 201, 208, 72, 0, {0, 0}, 0, 1, 2, 0, 0, {DIRECT}},
	};
	/* clang-format on */
	enum { CASES = sizeof cases / sizeof *cases };
	outgoing_case_t at_once[CASES];
	int count = 0;
	(void)argc;
	for (int i = 0; i < CASES; i++)
		if (cases[i].op[0] == OWN) { /* the same edges, by one call */
			at_once[count] = cases[i];
			memset(at_once[count].op, END, sizeof at_once[count].op);
			at_once[count++].op[0] = ALL;
		}
	return RUN_CASES(cases) || run_world(world, argv[1], at_once, count);
}

Test(outgoing, tiles_at_every_edge)
{
	run_worlds(edges_body);
}

/* ------------------------------------------------------------------ the order of stores */

/*
 * Several tiles of one block, and products long enough that what is sent beside
 * them has not ended when an epilogue goes on.
 */
#define SHAPE 130, 137, 144, 328, 0, {0, 0}, 0

static int orders_body(tsr_world_t *world, int argc, char **argv)
{
	/* clang-format off */
	static const outgoing_case_t cases[] = {
		{"own", SHAPE, 0, 1, 0, 0, {OWN}},
		{"peers", SHAPE, 0, 1, 0, 0, {PEERS}},
		{"own, peers", SHAPE, 0, 1, 0, 0, {OWN, PEERS}},
		{"peers, own, peers", SHAPE, 0, 1, 0, 0, {PEERS, OWN, PEERS}},
		{"own again while peers are sent the first",
		 SHAPE, 0, 1, 0, 0, {OWN, PEERS, MAP, OWN}},
		{"all again while peers are sent the first",
		 SHAPE, 0, 1, 0, 0, {OWN, PEERS, MAP, OWN, PEERS}},
		{"peers again while they are sent the first",
		 SHAPE, 0, 1, 0, 0, {OWN, PEERS, MAP, PEERS}},
		{"own memory is copied to while peers are sent",
		 SHAPE, 0, 1, 0, 0, {OWN, PEERS, SCRIBBLE}},
		{"mapped between", SHAPE, 0, 1, 0, 0, {OWN, MAP, PEERS}},
		{"zero between", SHAPE, 0, 1, 0, 0, {OWN, ZERO, PEERS}},
		{"own memory is copied to between", SHAPE, 0, 1, 0, 0, {OWN, SCRIBBLE, PEERS}},
		{"another place between", SHAPE, 0, 1, 0, 0, {OWN, OWN | OTHER, PEERS}},
		{"two places, then peers' two",
		 SHAPE, 0, 1, 0, 0, {OWN, OWN | OTHER, PEERS | OTHER, PEERS}},
		{"two places in turn",
		 SHAPE, 0, 1, 0, 0, {OWN, PEERS, MAP, OWN | OTHER, PEERS | OTHER, MAP, PEERS}},
		{"more at a time than wait in a ring",
		 SHAPE, 0, 1, 0, 0, {OWN, PEERS, PEERS, PEERS, PEERS, PEERS, PEERS, PEERS}},
		{"the plain loop: all again", SHAPE, 1, 1, 0, 0, {OWN, PEERS, MAP, OWN, PEERS}},
		{"all", SHAPE, 0, 1, 0, 0, {ALL}},
		{"all again while they are sent the first", SHAPE, 0, 1, 0, 0, {ALL, MAP, ALL}},
		{"all, then peers once more", SHAPE, 0, 1, 0, 0, {ALL, PEERS, MAP, PEERS}},
		{"own memory is copied to while all are sent", SHAPE, 0, 1, 0, 0, {ALL, SCRIBBLE}},
		{"two places of all", SHAPE, 0, 1, 0, 0, {ALL, ALL | OTHER, MAP, ALL}},
		{"the plain loop: all at once, again", SHAPE, 1, 1, 0, 0, {ALL, MAP, ALL}},
	};
	/* clang-format on */
	(void)argc;
	return RUN_CASES(cases);
}

Test(outgoing, stores_in_every_order)
{
	run_worlds(orders_body);
}

/* ------------------------------------------------------------------ signals */

static int signals_body(tsr_world_t *world, int argc, char **argv)
{
	/* clang-format off */
	static const outgoing_case_t cases[] = {
		{"signal", SHAPE, 0, 1, 1, 0, {OWN, PEERS, SIGNAL}},
		{"put with a signal", SHAPE, 0, 1, 1, 0, {OWN, PEERS, PUT_SIGNAL}},
		{"fence and a relaxed store", SHAPE, 0, 1, 1, 0, {OWN, PEERS, FENCED}},
		{"signal, direct", SHAPE, 0, 1, 1, 0, {PEERS, SIGNAL}},
		{"put with a signal, direct", SHAPE, 0, 1, 1, 0, {PEERS, OWN, PUT_SIGNAL}},
		{"fence, a narrower release, and a relaxed store",
		 SHAPE, 0, 1, 1, 0, {OWN, PEERS, NARROWED}},
		{"fence and a relaxed store, mapped", SHAPE, 0, 1, 1, 0, {OWN, MAP, PEERS, FENCED}},
		{"signal, what peers are sent at last",
		 SHAPE, 0, 1, 1, 0, {OWN, PEERS, MAP, PEERS, SIGNAL}},
		{"signal, then own again", SHAPE, 0, 1, 1, 0, {OWN, PEERS, SIGNAL, MAP, OWN}},
		{"signal behind the loop", SHAPE, 0, 1, 1, 1, {OWN, PEERS}},
		{"signal, all at once", SHAPE, 0, 1, 1, 0, {ALL, SIGNAL}},
		{"put with a signal, all at once", SHAPE, 0, 1, 1, 0, {ALL, PUT_SIGNAL}},
		{"fence, a narrower release, and a relaxed store, all at once",
		 SHAPE, 0, 1, 1, 0, {ALL, NARROWED}},
		{"signal behind the loop, all at once", SHAPE, 0, 1, 1, 1, {ALL}},
		{"signals of two blocks",
		 200, 201, 208, 72, 0, {0, 0}, 4, 0, 2, 1, 0, {OWN, PEERS, SIGNAL}},
	};
	/* clang-format on */
	(void)argc;
	return RUN_CASES(cases);
}

Test(outgoing, what_a_signal_tells_of_is_there)
{
	run_worlds(signals_body);
}
