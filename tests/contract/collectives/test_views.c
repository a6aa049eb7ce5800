/*
 * The collectives on views: matrices of any shape, whole or in parts that no
 * number of ranks divides, by any number of blocks, call after call with
 * nothing in between. Most are small and take one step; tall ones are about as
 * large as one step takes (dev/collective.h), so some of them take two. Shapes
 * are drawn anew in each run; set TSR_SEED to the seed that a failure names to
 * draw them again.
 */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "tests/contract/contract_test.h"
#include "tests/contract/node_order.h"

#include "tessera/dtype.h"
#include "tessera/random.h"

enum { CALLS = 3, MOST_BLOCKS = 3, MOST_ROWS = 21, MOST_COLS = 40, CASES = 36, TALL_EACH = 9 };
enum { ONE_STEP_WORDS = (256 << 10) / 4 }; /* of all ranks' messages (dev/collective.h) */
enum { OFFSET = 5, GUARD = 11 };           /* elements before and behind a matrix */

typedef enum kind {
	ALL_GATHER,
	ALL_TO_ALL,
	BROADCAST,
	GATHER,
	SCATTER,
	REDUCE_SCATTER,
	ALL_REDUCE,
	REDUCE,
	KINDS
} kind_t;
static const char *const kind_names[KINDS] = {"all-gather", "all-to-all", "broadcast",
					      "gather",     "scatter",    "reduce-scatter",
					      "all-reduce", "reduce"};

typedef struct views_args {
	tsr_view_t dst, src[CALLS], fresh[CALLS]; /* in place, fresh is copied to src */
	tsr_view_t home, kept;                    /* a row: all bytes around dst */
	TSR_HEAP tsr_collective_state_t *state;
	TSR_HEAP uint64_t *bad;
	int32_t kind, split, place, root, op, in_place;
} views_args_t;

TSR_FN tsr_wait_result_t move_once(tsr_coop_t *block, const views_args_t *a, int call)
{
	const tsr_dim_t split = (tsr_dim_t)a->split, place = (tsr_dim_t)a->place;
	switch ((kind_t)a->kind) {
	case ALL_GATHER:
		return tsr_all_gather_view(block, a->dst, a->src[call], split, a->state);
	case ALL_TO_ALL:
		return tsr_all_to_all(block, a->dst, a->src[call], split, place, a->state);
	case GATHER:
		return tsr_gather(block, a->dst, a->src[call], split, a->root, a->state);
	case SCATTER:
		return tsr_scatter(block, a->dst, a->src[call], split, a->root, a->state);
	default:
		return tsr_broadcast(block, a->dst, a->src[call], a->root, a->state);
	}
}

TSR_FN tsr_wait_result_t scatter_sums_once(tsr_coop_t *block, const views_args_t *a, int call)
{
	return tsr_reduce_scatter(block, a->dst, a->src[call], (tsr_dim_t)a->split,
				  (tsr_reduce_t)a->op, a->state);
}

TSR_FN tsr_wait_result_t sum_once(tsr_coop_t *block, const views_args_t *a, int call)
{
	if (a->kind == REDUCE)
		return tsr_reduce_view(block, a->dst, a->src[call], (tsr_reduce_t)a->op, a->root,
				       a->state);
	return tsr_all_reduce_view(block, a->dst, a->src[call], (tsr_reduce_t)a->op, a->state);
}

/*
 * Each block keeps what each call has left, before the next call overwrites it.
 * A broadcast of nothing is a barrier.
 */
#define CALL_OFTEN(name_, call_once_)                                                           \
	TSR_KERNEL(name_, views_args_t, a)                                                      \
	{                                                                                       \
		const int me = tsr_rank(block), index = tsr_block_index(block);                 \
		const tsr_view_t none = tsr_view(a->dst.data, TSR_U8, 0, 0, 1);                 \
		uint64_t bad = 0;                                                               \
		for (int call = 0; call < CALLS && bad == 0; call++) {                          \
			if (a->in_place) {                                                      \
				bad += tsr_broadcast(block, none, none, 0, a->state) !=         \
				       TSR_WAIT_OK;                                             \
				if (call % tsr_block_count(block) == index)                     \
					tsr_put_2d(block, a->src[call], a->fresh[call], me);    \
			}                                                                       \
			bad += call_once_(block, a, call) != TSR_WAIT_OK;                       \
			const tsr_pos_t at = {index * CALLS + call, 0};                         \
			tsr_put_2d(block, tsr_view_part(a->kept, at, 1, a->home.cols), a->home, \
				   me);                                                         \
		}                                                                               \
		tsr_atomic_add(block, a->bad, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);          \
	}
CALL_OFTEN(move_often, move_once)
CALL_OFTEN(scatter_sums_often, scatter_sums_once)
CALL_OFTEN(sum_often, sum_once)

/* ------------------------------------------------------------------ cases */

typedef struct views_case {
	uint64_t seed;
	kind_t kind;
	tsr_dtype_t dtype;
	tsr_dim_t split, place;
	tsr_reduce_t op;
	int rows, cols, root, in_place, src_ld, dst_ld, ranks;
	const node_order_t *order;
} views_case_t;

static bool combines(kind_t kind)
{
	return kind == REDUCE_SCATTER || kind == ALL_REDUCE || kind == REDUCE;
}

/**
 * Rows of a few bytes, each of which takes a word: about as many as one step
 * takes, and in three of four cases a few more or fewer.
 */
static void draw_tall(views_case_t *c, uint64_t drawn)
{
	const int near = (int)tsr_random_int(drawn, 14, 0, 9) - 4,
		  by_cols = (int)c->split == TSR_DIM_COLS ||
			    (c->kind == ALL_TO_ALL && (int)c->place == TSR_DIM_COLS),
		  by_rows = (int)c->split == TSR_DIM_ROWS ||
			    (c->kind == ALL_TO_ALL && (int)c->place == TSR_DIM_ROWS);
	const bool whole =
		c->kind != ALL_TO_ALL && c->kind != ALL_GATHER && c->kind != REDUCE_SCATTER;
	c->dtype = c->seed % 2 ? TSR_U8 : TSR_I8;
	c->cols = whole || !by_cols ? (int)tsr_random_int(drawn, 15, 1, 5) : c->ranks;
	c->rows = ONE_STEP_WORDS / (whole || !by_rows ? c->ranks : 1) + near;
	c->src_ld = c->dst_ld = c->cols + 1;
}

static views_case_t draw(uint64_t seed, int ranks)
{
	static const tsr_dtype_t dtypes[] = {TSR_I64,  TSR_F64, TSR_F32, TSR_F16,
					     TSR_BF16, TSR_I32, TSR_I8,  TSR_U8};
	const uint64_t drawn = tsr_random_bits(seed, (uint64_t)ranks); /* another in each world */
	views_case_t c;
	memset(&c, 0, sizeof c);
	c.seed = seed;
	c.ranks = ranks;
	c.kind = (kind_t)tsr_random_int(drawn, 0, 0, KINDS);
	c.split = (tsr_dim_t)tsr_random_int(drawn, 2, 0, 2);
	c.place = (tsr_dim_t)tsr_random_int(drawn, 3, 0, 2);
	c.rows = (int)tsr_random_int(drawn, 4, 0, tsr_random_int(drawn, 5, 0, 2) ? 4 : MOST_ROWS);
	c.cols = (int)tsr_random_int(drawn, 6, 0, tsr_random_int(drawn, 7, 0, 2) ? 9 : MOST_COLS);
	c.root = (int)tsr_random_int(drawn, 8, 0, ranks);
	c.in_place = c.kind != ALL_TO_ALL && tsr_random_int(drawn, 9, 0, 2);
	c.op = (tsr_reduce_t)tsr_random_int(drawn, 12, 0, 3);
	c.dtype = dtypes[tsr_random_int(drawn, 1, combines(c.kind), 8)];
	/* what dst holds along its columns may be more than the matrix: a piece of each rank */
	c.dst_ld = c.cols + ranks + (int)tsr_random_int(drawn, 10, 0, 9);
	c.src_ld = c.in_place ? c.dst_ld : c.cols + (int)tsr_random_int(drawn, 11, 1, 9);
	if (c.kind != ALL_TO_ALL && tsr_random_int(drawn, 13, 0, 3) == 0)
		c.src_ld = c.dst_ld = c.cols > 0 ? c.cols : 1; /* rows without gaps */
	/* tools that watch each word take long for them */
	if (seed % TALL_EACH == 0 && !UNDER_TSAN && !under_valgrind() && !getenv("TESSERA_CHECK"))
		draw_tall(&c, drawn);
	return c;
}

static int first_of(int extent, int part, int parts)
{
	return (int)((int64_t)extent * part / parts);
}

/** Some rows and columns of a matrix. */
typedef struct box {
	int row, col, rows, cols;
} box_t;

static box_t cut(box_t box, tsr_dim_t dim, int part, int parts)
{
	const int extent = dim == TSR_DIM_ROWS ? box.rows : box.cols,
		  first = first_of(extent, part, parts),
		  length = first_of(extent, part + 1, parts) - first;
	if (dim == TSR_DIM_ROWS)
		box.row += first, box.rows = length;
	else
		box.col += first, box.cols = length;
	return box;
}

/** The matrix that a rank gives to a call, and where it lies in place. */
static box_t given(const views_case_t *c, int rank)
{
	const box_t all = {0, 0, c->rows, c->cols};
	if (c->kind == ALL_GATHER || c->kind == GATHER)
		return cut(all, c->split, rank, c->ranks);
	if (c->kind == ALL_TO_ALL && c->split != c->place)
		return cut(all, c->place, rank, c->ranks);
	return all;
}

/** The matrix that a rank gets, or would get if it were the root. */
static box_t got(const views_case_t *c, int rank)
{
	box_t all = {0, 0, c->rows, c->cols};
	if (c->kind != ALL_TO_ALL && c->kind != REDUCE_SCATTER && c->kind != SCATTER)
		return all;
	all = cut(all, c->split, rank, c->ranks);
	if (c->kind != ALL_TO_ALL)
		return all;
	all.row = all.col = 0;
	if (c->split == c->place)
		*(c->place == TSR_DIM_ROWS ? &all.rows : &all.cols) *= c->ranks;
	return all;
}

/* ------------------------------------------------------------------ what must come out */

/** Floats whose sums tell the order of the ranks; of integers small ones. */
static double value_of(tsr_dtype_t dtype, uint64_t random)
{
	if (dtype == TSR_U8 || dtype == TSR_I8 || dtype == TSR_I32)
		return (double)(random % 15) - (dtype == TSR_U8 ? 0 : 7);
	if (dtype == TSR_F16) /* nothing subnormal */
		return ((double)(random >> 48) - 32768) / (double)(1 << random % 12);
	return ((double)(random >> 11) - 4503599627370496.0) / (double)(1u << random % 24);
}

/** Writes the bits of an element that a rank gives. */
static void give(const views_case_t *c, int call, int rank, int row, int col, void *bits)
{
	const uint64_t index =
		(uint64_t)call << 60 | (uint64_t)rank << 40 | (uint64_t)row << 20 | (uint64_t)col;
	const uint64_t random = tsr_random_bits(c->seed, index);
	if (combines(c->kind)) {
		tsr_dtype_set(c->dtype, bits, 0, value_of(c->dtype, random));
		return;
	}
	memcpy(bits, &random, tsr_dtype_bytes(c->dtype));
}

/** The part of `extent` in which `at` lies. */
static int part_with(int extent, int parts, int at)
{
	int part = 0;
	while (first_of(extent, part + 1, parts) <= at)
		part++;
	return part;
}

/** Element (row, col) of what an all-to-all brings. */
static void exchanged(const views_case_t *c, int call, int me, int row, int col, void *bits)
{
	const bool rows = c->split == TSR_DIM_ROWS, by_rows = c->place == TSR_DIM_ROWS;
	const int extent = rows ? c->rows : c->cols, first = first_of(extent, me, c->ranks),
		  mine = first_of(extent, me + 1, c->ranks) - first;
	int at = by_rows ? row : col, from;
	if (c->split == c->place) {
		from = at / mine;
		at = first + at % mine;
		give(c, call, from, by_rows ? at : row, by_rows ? col : at, bits);
		return;
	}
	from = part_with(by_rows ? c->rows : c->cols, c->ranks, at);
	at -= first_of(by_rows ? c->rows : c->cols, from, c->ranks);
	give(c, call, from, by_rows ? at : first + row, by_rows ? first + col : at, bits);
}

/** An element of a call. */
typedef struct element {
	const views_case_t *c;
	int call, row, col;
} element_t;

static double element_of(const void *ctx, int rank)
{
	const element_t *e = (const element_t *)ctx;
	unsigned char bits[8];
	give(e->c, e->call, rank, e->row, e->col, bits);
	return tsr_dtype_get(e->c->dtype, bits, 0);
}

/** All ranks' elements at (row, col), in the type that holds sums. */
static void reduced(const views_case_t *c, int call, int row, int col, void *bits)
{
	const tsr_dtype_t held = c->dtype == TSR_F64                           ? TSR_F64
				 : c->dtype == TSR_F16 || c->dtype == TSR_BF16 ? TSR_F32
				 : c->dtype == TSR_F32                         ? TSR_F32
									       : TSR_I32;
	const element_t element = {c, call, row, col};
	tsr_dtype_set(c->dtype, bits, 0,
		      node_order_result(c->order, c->op, held, element_of, &element));
}

/** Element (row, col) of what the call brings to rank `me`. */
static void result(const views_case_t *c, int call, int me, int row, int col, void *bits)
{
	if (c->kind == ALL_TO_ALL) {
		exchanged(c, call, me, row, col, bits);
	} else if (combines(c->kind)) {
		const box_t box = got(c, me);
		reduced(c, call, box.row + row, box.col + col, bits);
	} else if (c->kind == BROADCAST || c->kind == SCATTER) {
		const box_t box = got(c, me);
		give(c, call, c->root, box.row + row, box.col + col, bits);
	} else {
		const bool rows = c->split == TSR_DIM_ROWS;
		const int from = part_with(rows ? c->rows : c->cols, c->ranks, rows ? row : col);
		const box_t box = given(c, from);
		give(c, call, from, row - box.row, col - box.col, bits);
	}
}

static bool has(box_t box, int row, int col)
{
	return row >= box.row && row < box.row + box.rows && col >= box.col &&
	       col < box.col + box.cols;
}

/** Elements of the memory around dst. */
static int home_elements(const views_case_t *c)
{
	return OFFSET + (c->rows + c->ranks) * c->dst_ld + GUARD;
}

/** What must be in the memory around dst behind a call. */
static void expect(const views_case_t *c, int call, int me, unsigned char *want)
{
	const size_t element = tsr_dtype_bytes(c->dtype);
	const box_t to = got(c, me), own = given(c, me);
	const bool gets = (c->kind != GATHER && c->kind != REDUCE) || me == c->root;
	memset(want, POISON, (size_t)home_elements(c) * element);
	for (int at = 0; at < home_elements(c) - OFFSET; at++) {
		const int row = at / c->dst_ld, col = at % c->dst_ld;
		unsigned char *bits = want + (size_t)(OFFSET + at) * element;
		if (gets && has(to, row, col))
			result(c, call, me, row - to.row, col - to.col, bits);
		else if (c->in_place && has(own, row, col))
			give(c, call, me, row - own.row, col - own.col, bits);
	}
}

/* ------------------------------------------------------------------ runs */

static tsr_view_t view_of(TSR_HEAP unsigned char *heap, const views_case_t *c, int at, box_t box,
			  int ld)
{
	const int64_t first = at + (int64_t)box.row * ld + box.col;
	return tsr_view(heap + first * (int64_t)tsr_dtype_bytes(c->dtype), c->dtype, box.rows,
			box.cols, ld);
}

/** Memory for the largest case, the same for teams of all sizes. */
typedef struct room {
	tsr_world_t *world;
	TSR_HEAP unsigned char *dst, *src, *kept;
	TSR_HEAP tsr_collective_state_t *state;
	TSR_HEAP uint64_t *bad;
} room_t;

enum { MOST_RANKS = 8, MOST_LD = MOST_COLS + MOST_RANKS + 9 };
enum { TALL_BYTES = (ONE_STEP_WORDS + 5) * (MOST_RANKS + 1) }; /* rows, with what is between them */
enum { HOME_BYTES = TALL_BYTES + OFFSET + MOST_RANKS * (MOST_RANKS + 1) + GUARD };
enum { SRC_BYTES = CALLS * (TALL_BYTES + MOST_RANKS + 1) };
static_assert(HOME_BYTES >= (OFFSET + (MOST_ROWS + MOST_RANKS) * MOST_LD + GUARD) * 8 &&
		      SRC_BYTES >= CALLS * (MOST_ROWS + 1) * MOST_LD * 8,
	      "there is room for small cases, too");

/** What the rank gives in all calls, and poison where anything may be written. */
static int fill(const room_t *room, const views_case_t *c, int me)
{
	tsr_world_t *world = room->world;
	const int each = (c->rows + 1) * c->src_ld;
	const size_t element = tsr_dtype_bytes(c->dtype), bytes = (size_t)(CALLS * each) * element,
		     home = (size_t)home_elements(c) * element;
	const box_t box = given(c, me);
	unsigned char *host = (unsigned char *)malloc(bytes);
	CHECK(host);
	memset(host, POISON, bytes);
	for (int call = 0; call < CALLS; call++)
		for (int at = 0; at < box.rows * box.cols; at++)
			give(c, call, me, at / box.cols, at % box.cols,
			     host + (size_t)(call * each + at / box.cols * c->src_ld +
					     at % box.cols) *
					     element);
	CHECK(tsr_memcpy_to_heap(world, room->src, host, bytes) == TSR_OK);
	free(host);
	CHECK(tsr_memset_heap(world, room->dst, POISON, home) == TSR_OK);
	CHECK(tsr_memset_heap(world, room->kept, POISON, MOST_BLOCKS * CALLS * home) == TSR_OK);
	return 0;
}

static int check_kept(const room_t *room, const views_case_t *c, int me, int blocks)
{
	tsr_world_t *world = room->world;
	const size_t bytes = (size_t)home_elements(c) * tsr_dtype_bytes(c->dtype);
	unsigned char *seen = (unsigned char *)malloc(bytes),
		      *want = (unsigned char *)malloc(bytes);
	uint64_t bad;
	CHECK(seen && want);
	CHECK(tsr_memcpy_from_heap(world, &bad, room->bad, sizeof bad) == TSR_OK && bad == 0);
	for (int i = 0; i < blocks * CALLS; i++) {
		expect(c, i % CALLS, me, want);
		CHECK(tsr_memcpy_from_heap(world, seen, room->kept + (size_t)i * bytes, bytes) ==
		      TSR_OK);
		for (size_t at = 0; at < bytes; at++)
			CHECK(seen[at] == want[at],
			      "TSR_SEED=%llu: %s of %d x %d %s, split %d, place %d, root %d, in "
			      "place %d, %d ranks: block %d, call %d: byte %zu of %zu",
			      (unsigned long long)c->seed, kind_names[c->kind], c->rows, c->cols,
			      tsr_dtype_name(c->dtype), (int)c->split, (int)c->place, c->root,
			      c->in_place, c->ranks, i / CALLS, i % CALLS, at, bytes);
	}
	free(seen);
	free(want);
	return 0;
}

static views_args_t args_of(const room_t *room, const views_case_t *c, int me)
{
	const box_t own = given(c, me), packed = {0, 0, own.rows, own.cols};
	const int each = (c->rows + 1) * c->src_ld;
	const int64_t bytes = home_elements(c) * (int64_t)tsr_dtype_bytes(c->dtype);
	views_args_t a;
	memset(&a, 0, sizeof a);
	a.dst = view_of(room->dst, c, OFFSET, got(c, me), c->dst_ld);
	for (int i = 0; i < CALLS; i++) {
		a.fresh[i] = view_of(room->src, c, i * each, packed, c->src_ld);
		a.src[i] = c->in_place ? view_of(room->dst, c, OFFSET, own, c->dst_ld) : a.fresh[i];
	}
	a.home = tsr_view(room->dst, TSR_U8, 1, bytes, bytes);
	a.kept = tsr_view(room->kept, TSR_U8, MOST_BLOCKS * CALLS, bytes, bytes);
	a.state = room->state;
	a.bad = room->bad;
	a.kind = (int32_t)c->kind;
	a.split = (int32_t)c->split;
	a.place = (int32_t)c->place;
	a.root = c->root;
	a.op = (int32_t)c->op;
	a.in_place = c->in_place;
	return a;
}

static int run_cases(const room_t *room, tsr_team_t *team, uint64_t seed, int count)
{
	tsr_world_t *world = room->world;
	const int me = tsr_team_rank(team), ranks = tsr_team_size(team);
	const node_order_t order = node_order_of(team);
	tsr_stream_t *stream;
	CHECK(tsr_stream_create(team, &stream) == TSR_OK);
	for (int i = 0; i < count; i++) {
		views_case_t c = draw(seed + (uint64_t)i, ranks);
		c.order = &order;
		const int blocks = 1 + (i + me) % MOST_BLOCKS;
		const views_args_t a = args_of(room, &c, me);
		const tsr_kernel_t *kernel = c.kind == REDUCE_SCATTER ? &scatter_sums_often
					     : combines(c.kind)       ? &sum_often
								      : &move_often;
		if (fill(room, &c, me))
			return 1;
		CHECK(tsr_team_barrier(team) == TSR_OK);
		CHECK(tsr_launch(stream, kernel, blocks, &a) == TSR_OK);
		CHECK(tsr_stream_sync(stream) == TSR_OK);
		if (check_kept(room, &c, me, blocks))
			return 1;
	}
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return 0;
}

static int views_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world);
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	room_t room = {world,
		       poisoned(world, HOME_BYTES, "dst"),
		       poisoned(world, SRC_BYTES, "src"),
		       poisoned(world, MOST_BLOCKS * CALLS * HOME_BYTES, "kept"),
		       zeroed(world, tsr_collective_state_bytes(ranks), "state"),
		       zeroed(world, sizeof(uint64_t), "bad")};
	tsr_team_t *team;
	CHECK(room.dst && room.src && room.kept && room.state && room.bad);
	if (run_cases(&room, tsr_world_team(world), seed, CASES))
		return 1;
	/* odd and even ranks by themselves, the last first */
	room.state = zeroed(world, tsr_collective_state_bytes(ranks), "team state");
	CHECK(room.state);
	CHECK(tsr_team_split(tsr_world_team(world), me % 2, -me, "half", &team) == TSR_OK);
	if (run_cases(&room, team, seed + CASES, CASES / 3))
		return 1;
	CHECK(tsr_team_destroy(team) == TSR_OK);
	return 0;
}

Test(views, are_what_the_ranks_gave_call_after_call)
{
	const char *set = getenv("TSR_SEED");
	char seed[32];
	/* the schedules of an exploration run one program */
	snprintf(seed, sizeof seed, "%llu",
		 set                       ? strtoull(set, NULL, 10)
		 : getenv("TESSERA_CHECK") ? 1
					   : (unsigned long long)time(NULL) * 1000);
	world_each(views_body, seed);
}
