/*
 * Collectives of teams that span nodes: their results, and the bytes that cross
 * between nodes, which are those of a formula, and never more than each rank for
 * itself would move.
 */
#if !defined(__cplusplus) /* device code is C++, and needs none of the host's */
#include "src/net/net.h"
#include "src/world/world.h"
#endif
#include "tessera/collective.h"
#include "tessera/dev.h"

#include "tests/contract/contract_test.h"
#include "tests/contract/node_order.h"

typedef enum op { ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, REDUCE, BROADCAST, ALL_TO_ALL, OPS } op_t;
static const char *const names[OPS] = {"all-gather", "reduce-scatter", "all-reduce",
				       "reduce",     "broadcast",      "all-to-all"};

/* A message of `rows` rows of `cols` elements, `gap` elements between rows. */
typedef struct shape {
	tsr_dtype_t dtype;
	int64_t rows, cols, gap;
} shape_t;

enum { ROOT = 1, MOST_BYTES = 3 << 19 };

typedef struct call {
	tsr_world_t *world;
	op_t op;
	shape_t shape;
	int ranks, me, nodes, in_place;
	const node_order_t *order;
	tsr_tensor_t dst, src;
} call_t;

static int members_of(const call_t *c, int node)
{
	int members = 0;
	for (int r = 0; r < c->ranks; r++)
		members += tsr_world_node(c->world, r) == node;
	return members;
}

static int members_beside(const call_t *c, int rank)
{
	return members_of(c, tsr_world_node(c->world, rank));
}

static int64_t elements_of(const call_t *c)
{
	return c->shape.rows * c->shape.cols;
}

/* ------------------------------------------------------------------ formulas */

/** Bytes of an element of what `members` have together. */
static int64_t held_bytes(const call_t *c, int members)
{
	const tsr_dtype_t dtype = c->shape.dtype;
	return members == 1 ? (int64_t)tsr_dtype_bytes(dtype) : dtype == TSR_F64 ? 8 : 4;
}

/** Bytes for each element of a part, all parts being equal, if one partial of a node crosses. */
static int64_t by_nodes(const call_t *c)
{
	int64_t bytes = 0;
	for (int k = 0; k < c->nodes; k++)
		bytes += held_bytes(c, members_of(c, k)) * (c->ranks - members_of(c, k));
	return bytes;
}

/** The same if the owner of a part gets each other rank's elements. */
static int64_t by_ranks(const call_t *c)
{
	int64_t others = 0;
	for (int r = 0; r < c->ranks; r++)
		others += c->ranks - members_beside(c, r);
	return others * (int64_t)tsr_dtype_bytes(c->shape.dtype);
}

static int64_t sums(const call_t *c)
{
	return by_nodes(c) <= by_ranks(c) ? by_nodes(c) : by_ranks(c);
}

/** Bytes that cross between nodes, from all ranks together; `flat`: each rank for itself. */
static int64_t formula(const call_t *c, int flat)
{
	const int64_t element = (int64_t)tsr_dtype_bytes(c->shape.dtype), shard = elements_of(c),
		      part = shard / c->ranks;
	switch (c->op) {
	case ALL_GATHER:
		return shard * (flat ? by_ranks(c) : element * c->ranks * (c->nodes - 1));
	case REDUCE_SCATTER:
		return shard * (flat ? by_ranks(c) : sums(c));
	case ALL_REDUCE:
		return flat ? 2 * part * by_ranks(c)
			    : part * sums(c) + shard * element * (c->nodes - 1);
	case REDUCE:
		return part * (flat ? by_ranks(c) : sums(c)) +
		       part * element * (c->ranks - members_beside(c, ROOT));
	case BROADCAST: /* flat: a share is fetched, and put to all */
		return flat ? part * (element * (c->ranks - members_beside(c, ROOT)) + by_ranks(c))
			    : shard * element * (c->nodes - 1);
	default:
		return shard * by_ranks(c);
	}
}

/* ------------------------------------------------------------------ values */

static int parts_of_src(op_t op)
{
	return op == REDUCE_SCATTER || op == ALL_TO_ALL;
}

static int parts_of_dst(op_t op)
{
	return op == ALL_GATHER || op == ALL_TO_ALL;
}

/** Integers are small. Floats tell by their sums in which order they were added. */
static double given(tsr_dtype_t dtype, int rank, int64_t part, int64_t at)
{
	const uint32_t mixed =
		((uint32_t)at * 2654435761u ^ (uint32_t)(rank * 131 + part) * 40503u) * 2246822519u;
	unsigned char bits[8];
	tsr_dtype_set(dtype, bits, 0,
		      dtype == TSR_I8
			      ? (double)(mixed >> 16) / 8192
			      : ((double)(mixed >> 12 & 0xffff) - 32768) / (1 << mixed % 12));
	return tsr_dtype_get(dtype, bits, 0);
}

/** An element of a part, of all ranks. */
typedef struct element {
	tsr_dtype_t dtype;
	int64_t part, at;
} element_t;

static double element_of(const void *ctx, int rank)
{
	const element_t *e = ctx;
	return given(e->dtype, rank, e->part, e->at);
}

static double wanted(const call_t *c, int64_t part, int64_t at)
{
	const tsr_dtype_t dtype = c->shape.dtype, held = dtype == TSR_I8    ? TSR_I32
							 : dtype == TSR_F64 ? TSR_F64
									    : TSR_F32;
	const element_t element = {dtype, c->op == REDUCE_SCATTER ? c->me : 0, at};
	unsigned char bits[8];
	switch (c->op) {
	case ALL_GATHER:
		return given(dtype, (int)part, 0, at);
	case ALL_TO_ALL:
		return given(dtype, (int)part, c->me, at);
	case BROADCAST:
		return given(dtype, ROOT, 0, at);
	default:
		tsr_dtype_set(dtype, bits, 0,
			      node_order_result(c->order, TSR_REDUCE_SUM, held, element_of,
						&element));
		return tsr_dtype_get(dtype, bits, 0);
	}
}

/** The index in memory of an element of a part. */
static int64_t index_of(const shape_t *s, int64_t part, int64_t at)
{
	return (part * s->rows + at / s->cols) * (s->cols + s->gap) + at % s->cols;
}

static tsr_tensor_t tensor(TSR_HEAP void *data, const shape_t *s, int64_t parts)
{
	return (tsr_tensor_t){.data = data,
			      .dtype = s->dtype,
			      .dims = 2,
			      .shape = {parts * s->rows, s->cols},
			      .stride = {s->cols + s->gap, 1}};
}

static size_t bytes_of(const shape_t *s, int64_t parts)
{
	return (size_t)(parts * s->rows * (s->cols + s->gap)) * tsr_dtype_bytes(s->dtype);
}

static int fill(const call_t *c, unsigned char *host)
{
	const int parts = parts_of_src(c->op) ? c->ranks : 1;
	tsr_world_t *world = c->world;
	memset(host, POISON, bytes_of(&c->shape, parts));
	for (int part = 0; part < parts; part++)
		for (int64_t at = 0; at < elements_of(c); at++)
			tsr_dtype_set(c->shape.dtype, host, (size_t)index_of(&c->shape, part, at),
				      given(c->shape.dtype, c->me, part, at));
	CHECK(tsr_memcpy_to_heap(world, c->src.data, host, bytes_of(&c->shape, parts)) == TSR_OK);
	return 0;
}

/** Whether dst has what it must, and gaps what they had. */
static int check(const call_t *c, unsigned char *host)
{
	const int parts = parts_of_dst(c->op) ? c->ranks : 1;
	const size_t bytes = bytes_of(&c->shape, parts), element = tsr_dtype_bytes(c->shape.dtype);
	tsr_world_t *world = c->world;
	if (c->op == REDUCE && c->me != ROOT)
		return 0;
	CHECK(tsr_memcpy_from_heap(world, host, c->dst.data, bytes) == TSR_OK);
	for (int part = 0; part < parts; part++)
		for (int64_t at = 0; at < elements_of(c); at++) {
			const size_t i = (size_t)index_of(&c->shape, part, at);
			const double seen = tsr_dtype_get(c->shape.dtype, host, i);
			CHECK(seen == wanted(c, part, at), "%s of %s: part %d, element %d: %g",
			      names[c->op], tsr_dtype_name(c->shape.dtype), part, (int)at, seen);
			memset(host + i * element, POISON, element);
		}
	for (size_t i = 0; i < bytes; i++)
		CHECK(host[i] == POISON, "byte %zu is outside", i);
	return 0;
}

/* ------------------------------------------------------------------ calls */

static tsr_status_t start(const call_t *c, tsr_stream_t *s, TSR_HEAP tsr_collective_state_t *state)
{
	switch (c->op) {
	case ALL_GATHER:
		return tsr_stream_all_gather(s, &c->dst, &c->src, 0, state);
	case REDUCE_SCATTER:
		return tsr_stream_reduce_scatter(s, &c->dst, &c->src, 0, TSR_REDUCE_SUM, state);
	case ALL_REDUCE:
		return tsr_stream_all_reduce(s, &c->dst, &c->src, TSR_REDUCE_SUM, state);
	case REDUCE:
		return tsr_stream_reduce(s, &c->dst, &c->src, TSR_REDUCE_SUM, ROOT, state);
	case BROADCAST:
		return tsr_stream_broadcast(s, &c->dst, &c->src, ROOT, state);
	default:
		return tsr_stream_all_to_all(s, &c->dst, &c->src, 0, 0, state);
	}
}

/** What all ranks have sent so far, in bytes. */
static int64_t sent(tsr_world_t *world)
{
	uint64_t mine = 0, all[TSR_MAX_RANKS];
	int64_t bytes = 0;
	if (world->host.net)
		mine = tsr_net_sent_so_far(world->host.net).bytes;
	if (tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine) != TSR_OK)
		return -1;
	for (int r = 0; r < tsr_world_size(world); r++)
		bytes += (int64_t)all[r];
	return bytes;
}

static int run(const call_t *c, tsr_stream_t *stream, TSR_HEAP tsr_collective_state_t *state,
	       unsigned char *host)
{
	tsr_world_t *world = c->world;
	if (fill(c, host))
		return 1;
	if (!c->in_place)
		CHECK(tsr_memset_heap(world, c->dst.data, POISON,
				      bytes_of(&c->shape, parts_of_dst(c->op) ? c->ranks : 1)) ==
		      TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const int64_t before = sent(world);
	CHECK(start(c, stream, state) == TSR_OK && tsr_stream_sync(stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const int64_t crossed = sent(world) - before;
	CHECK(crossed == formula(c, 0), "%s of %s, %d x %d: %lld bytes, the formula has %lld",
	      names[c->op], tsr_dtype_name(c->shape.dtype), (int)c->shape.rows, (int)c->shape.cols,
	      (long long)crossed, (long long)formula(c, 0));
	CHECK(crossed <= formula(c, 1));
	/* three members: even what is not rounded is less */
	if (c->op != ALL_TO_ALL && c->shape.dtype != TSR_I8 && c->ranks > 2 * c->nodes)
		CHECK(crossed < formula(c, 1));
	return check(c, host);
}

/** A rank's part: one chunk, several, and rows with gaps between. Parts are whole lines. */
static int run_op(tsr_world_t *world, op_t op, tsr_stream_t *stream,
		  TSR_HEAP tsr_collective_state_t *state, TSR_HEAP unsigned char *room,
		  unsigned char *host)
{
	static const shape_t parts[] = {{TSR_F32, 1, 1536, 0},
					{TSR_BF16, 1, 70016, 0},
					{TSR_F64, 5, 65, 5},
					{TSR_I8, 1, 8192, 0},
					{TSR_F16, 3, 501, 3}};
	const node_order_t order = node_order_of(tsr_world_team(world));
	const int ranks = tsr_world_size(world),
		  is_cut = op == ALL_REDUCE || op == REDUCE || op == BROADCAST;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		call_t c = {.world = world,
			    .op = op,
			    .shape = parts[i],
			    .ranks = ranks,
			    .me = tsr_world_rank(world),
			    .nodes = tsr_world_nodes(world),
			    .order = &order,
			    .in_place = is_cut && i % 2};
		if (is_cut && c.shape.rows == 1)
			c.shape.cols *= ranks;
		else if (is_cut)
			c.shape.rows *= ranks;
		c.src = tensor(room, &c.shape, parts_of_src(op) ? ranks : 1);
		c.dst = tensor(c.in_place ? room : room + MOST_BYTES, &c.shape,
			       parts_of_dst(op) ? ranks : 1);
		if (run(&c, stream, state, host))
			return 1;
	}
	return 0;
}

static int bytes_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world);
	TSR_HEAP tsr_collective_state_t *state =
		zeroed(world, tsr_collective_state_bytes(ranks), "state");
	TSR_HEAP unsigned char *room = poisoned(world, 2 * MOST_BYTES, "room");
	unsigned char *host = malloc(MOST_BYTES);
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	CHECK(state && room && host && tsr_world_nodes(world) > 1);
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	for (int op = 0; op < OPS; op++)
		if (run_op(world, (op_t)op, stream, state, room, host))
			return 1;
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	free(host);
	return 0;
}

/** Worlds of as many ranks on as many nodes. */
static void run_on(int ranks, const char *nodes)
{
	setenv("TESSERA_HEAP_SIZE", "64M", 1);
	setenv("TESSERA_DEADLINE", "200s", 1);
	setenv("TESSERA_NODES", nodes, 1);
	cr_expect_eq(world_run(ranks, TSR_PLACE_PROCESS, bytes_body, NULL), 0);
}

static bool has_carrier(void)
{
	char about[TSR_NET_DESCRIPTION_BYTES];
	return tsr_net_about(getenv("TESSERA_NET_PLUGIN"), about) == TSR_OK;
}

Test(node_bytes, are_those_of_the_formulas)
{
	if (!has_carrier())
		cr_skip_test("no UCX: nothing carries messages between nodes");
	run_on(8, "2");
	run_on(5, "2");
	run_on(3, "2");
	run_on(5, "4");
	run_on(2, "2");
}

/* ------------------------------------------------------------------ barriers */

typedef struct barrier_args {
	TSR_HEAP tsr_barrier_state_t *state;
	int32_t rounds;
} barrier_args_t;

TSR_KERNEL(meets, barrier_args_t, a)
{
	for (int32_t i = 0; i < a->rounds; i++)
		tsr_barrier_ranks(block, a->state);
}

/** One rank of a node tells the ranks of the others: a message for each of these. */
static int barrier_body(tsr_world_t *world, int argc, char **argv)
{
	enum { ROUNDS = 5 };
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world),
		  node = tsr_world_node(world, me);
	const barrier_args_t args = {zeroed(world, tsr_barrier_state_bytes(ranks), "state"),
				     ROUNDS};
	uint64_t others = 0;
	int first = 1;
	(void)argc, (void)argv;
	CHECK(args.state && tsr_barrier(world) == TSR_OK);
	for (int r = 0; r < ranks; r++) {
		others += tsr_world_node(world, r) != node;
		first = first && !(r < me && tsr_world_node(world, r) == node);
	}
	const uint64_t before = tsr_net_sent_so_far(world->host.net).messages;
	CHECK(run_kernel(world, &meets, 1, &args) == TSR_OK);
	const uint64_t told = tsr_net_sent_so_far(world->host.net).messages - before;
	CHECK(told == (first ? ROUNDS * others : 0), "%d messages", (int)told);
	return 0;
}

Test(node_bytes, of_a_barrier_are_one_rank_s)
{
	if (!has_carrier())
		cr_skip_test("no UCX: nothing carries messages between nodes");
	setenv("TESSERA_NODES", "2", 1);
	cr_expect_eq(world_run(5, TSR_PLACE_PROCESS, barrier_body, NULL), 0);
	cr_expect_eq(world_run(8, TSR_PLACE_PROCESS, barrier_body, NULL), 0);
}
