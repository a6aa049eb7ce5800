/* Pointer family: bytes and matrices between any pair of ranks, nothing touched beside them. */
#include "tests/contract/contract_test.h"

enum { OP_PUT, OP_GET, OP_COPY, OP_PUT_ALL, OPS };
enum { EVERYWHERE = -1 }; /* where a put to all ranks goes */

typedef struct move_args {
	TSR_HEAP unsigned char *dst, *src;
	uint64_t bytes;
	int32_t op, to, from;
} move_args_t;

TSR_KERNEL(move_bytes, move_args_t, a)
{
	if (a->op == OP_PUT)
		tsr_put(block, a->dst, a->src, a->bytes, a->to);
	else if (a->op == OP_GET)
		tsr_get(block, a->dst, a->src, a->bytes, a->from);
	else if (a->op == OP_PUT_ALL)
		tsr_put_all(block, a->dst, a->src, a->bytes);
	else
		tsr_copy(block, a->dst, a->to, a->src, a->from, a->bytes);
	for (int peer = 0; peer < tsr_size(block); peer++)
		if (a->to == EVERYWHERE || a->to == peer)
			tsr_flush(block, peer);
}

enum { ROOM = 5000, EDGE = 3 };

/* Rank `actor` moves; every rank then checks its own destination. */
static int move_once(tsr_world_t *world, move_args_t a, int actor)
{
	static const char *const names[] = {"put", "get", "copy", "put to all"};
	int me = tsr_world_rank(world);
	unsigned char host[ROOM];
	CHECK(tsr_memset_heap(world, a.dst, POISON, ROOM) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	a.dst += EDGE;
	if (me == actor)
		CHECK(run_kernel(world, &move_bytes, 1, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, a.dst - EDGE, ROOM) == TSR_OK);
	for (size_t i = 0; i < ROOM; i++) {
		bool moved = (me == a.to || a.to == EVERYWHERE) && i >= EDGE && i < EDGE + a.bytes;
		CHECK(host[i] == (moved ? mark_of(a.from, i - EDGE) : POISON),
		      "%s of %llu bytes by %d from %d to %d, byte %zu", names[a.op],
		      (unsigned long long)a.bytes, actor, a.from, a.to, i);
	}
	return 0;
}

static int bytes_body(tsr_world_t *world, int argc, char **argv)
{
	static const uint64_t sizes[] = {0, 1, 7, 64, 1000, 4097};
	int me = tsr_world_rank(world), size = tsr_world_size(world);
	unsigned char host[ROOM];
	(void)argc, (void)argv;
	move_args_t a = {.dst = poisoned(world, ROOM, "dst"), .src = poisoned(world, ROOM, "src")};
	CHECK(a.dst && a.src);
	for (size_t i = 0; i < ROOM; i++)
		host[i] = mark_of(me, i);
	CHECK(tsr_memcpy_to_heap(world, a.src, host, ROOM) == TSR_OK);
	/* any pair, by an actor that is neither where there are three */
	for (int i = 0; i < size * size; i++) {
		a.bytes = sizes[i % 6];
		a.from = i / size;
		a.to = i % size;
		a.op = OP_COPY;
		if (move_once(world, a, (a.from + a.to) % size) != 0)
			return 1;
		a.op = OP_PUT;
		a.bytes = sizes[(i + 1) % 6];
		if (move_once(world, a, a.from) != 0)
			return 1;
		a.op = OP_GET;
		a.bytes = sizes[(i + 2) % 6];
		if (move_once(world, a, a.to) != 0)
			return 1;
		a.op = OP_PUT_ALL;
		a.bytes = sizes[(i + 3) % 6];
		a.to = EVERYWHERE;
		if (move_once(world, a, a.from) != 0)
			return 1;
	}
	return 0;
}

Test(pointer, bytes_between_any_pair)
{
	world_each(bytes_body, NULL);
}

/* ------------------------------------------------------------------ matrices */

typedef struct part_args {
	tsr_view_t dst, src;
	tsr_pos_t at;
	int64_t rows, cols;
	int32_t op, to, from;
} part_args_t;

TSR_KERNEL(move_part, part_args_t, a)
{
	tsr_view_t dst = tsr_view_part(a->dst, a->at, a->rows, a->cols),
		   src = tsr_view_part(a->src, a->at, a->rows, a->cols);
	if (a->op == OP_PUT)
		tsr_put_2d(block, dst, src, a->to);
	else if (a->op == OP_GET)
		tsr_get_2d(block, dst, src, a->from);
	else if (a->op == OP_PUT_ALL)
		tsr_put_all_2d(block, dst, src);
	else
		tsr_copy_2d(block, dst, a->to, src, a->from);
}

enum { ROWS = 23, COLS = 17, DST_LD = 19, SRC_LD = 29 };

static int part_check(tsr_world_t *world, const part_args_t *a, size_t element)
{
	unsigned char host[ROWS * DST_LD * 8];
	size_t bytes = ROWS * DST_LD * element;
	CHECK(tsr_memcpy_from_heap(world, host, a->dst.data, bytes) == TSR_OK);
	for (size_t i = 0; i < bytes; i++) {
		int64_t row = (int64_t)(i / element / DST_LD),
			col = (int64_t)(i / element % DST_LD);
		bool here = tsr_world_rank(world) == a->to || a->op == OP_PUT_ALL;
		bool moved = here && row >= a->at.row && row < a->at.row + a->rows &&
			     col >= a->at.col && col < a->at.col + a->cols && col < COLS;
		size_t from = ((size_t)row * SRC_LD + (size_t)col) * element + i % element;
		CHECK(host[i] == (moved ? mark_of(a->from, from) : POISON),
		      "row %lld col %lld byte %zu of op %d", (long long)row, (long long)col,
		      i % element, a->op);
	}
	return 0;
}

static int parts_of(tsr_world_t *world, tsr_dtype_t dtype, size_t element)
{
	static const tsr_pos_t at[] = {{0, 0}, {16, 8}, {22, 16}, {-3, -2}, {23, 0}, {7, 5}};
	enum { PLACES = sizeof at / sizeof *at };
	int me = tsr_world_rank(world), size = tsr_world_size(world);
	unsigned char host[ROWS * SRC_LD * 8];
	TSR_HEAP void *dst = poisoned(world, ROWS * DST_LD * element, "dst");
	TSR_HEAP void *src = poisoned(world, ROWS * SRC_LD * element, "src");
	CHECK(dst && src);
	for (size_t i = 0; i < ROWS * SRC_LD * element; i++)
		host[i] = mark_of(me, i);
	CHECK(tsr_memcpy_to_heap(world, src, host, ROWS * SRC_LD * element) == TSR_OK);
	for (int i = 0; i < 2 * PLACES; i++) {
		part_args_t a = {.dst = {dst, ROWS, COLS, DST_LD, dtype, TSR_SPACE_HEAP},
				 .src = {src, ROWS, COLS, SRC_LD, dtype, TSR_SPACE_HEAP},
				 .at = at[i % PLACES],
				 .rows = 16,
				 .cols = 9};
		a.op = (i + i / PLACES) % OPS;
		a.from = i % size;
		a.to = (i + 1) % size;
		int actor = a.op == OP_PUT || a.op == OP_PUT_ALL ? a.from
			    : a.op == OP_GET                     ? a.to
								 : (i + 2) % size;
		CHECK(tsr_memset_heap(world, dst, POISON, ROWS * DST_LD * element) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		if (me == actor)
			CHECK(run_kernel(world, &move_part, 1, &a) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		if (part_check(world, &a, element) != 0)
			return 1;
	}
	CHECK(tsr_heap_free(world, dst) == TSR_OK);
	CHECK(tsr_heap_free(world, src) == TSR_OK);
	return 0;
}

static int parts_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	return parts_of(world, TSR_F64, 8) || parts_of(world, TSR_F32, 4) ||
	       parts_of(world, TSR_F16, 2) || parts_of(world, TSR_BF16, 2) ||
	       parts_of(world, TSR_I64, 8) || parts_of(world, TSR_I32, 4) ||
	       parts_of(world, TSR_I8, 1) || parts_of(world, TSR_U8, 1);
}

Test(pointer, parts_of_matrices_of_every_dtype)
{
	world_each(parts_body, NULL);
}

static int onto_itself_body(tsr_world_t *world, int argc, char **argv)
{
	unsigned char host[100], seen[100];
	(void)argc, (void)argv;
	move_args_t a = {.dst = poisoned(world, sizeof host, "buffer"), .bytes = sizeof host};
	CHECK(a.dst);
	a.src = a.dst;
	a.to = tsr_world_rank(world);
	for (size_t i = 0; i < sizeof host; i++)
		host[i] = mark_of(a.to, i);
	CHECK(tsr_memcpy_to_heap(world, a.dst, host, sizeof host) == TSR_OK);
	CHECK(run_kernel(world, &move_bytes, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, a.dst, sizeof seen) == TSR_OK);
	CHECK(memcmp(seen, host, sizeof host) == 0);
	return 0;
}

Test(pointer, a_put_onto_itself_changes_nothing)
{
	world_each(onto_itself_body, NULL);
}

/** A put to all from where it goes: mine stays, the others get it. */
static int in_place_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), from = tsr_world_size(world) - 1;
	unsigned char host[ROOM], seen[ROOM];
	(void)argc, (void)argv;
	move_args_t a = {.dst = poisoned(world, ROOM, "buffer"),
			 .bytes = ROOM - 7,
			 .op = OP_PUT_ALL,
			 .to = EVERYWHERE,
			 .from = from};
	CHECK(a.dst);
	a.src = a.dst;
	for (size_t i = 0; i < ROOM; i++)
		host[i] = mark_of(me, i);
	CHECK(tsr_memcpy_to_heap(world, a.dst, host, ROOM) == TSR_OK &&
	      tsr_barrier(world) == TSR_OK);
	if (me == from)
		CHECK(run_kernel(world, &move_bytes, 1, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, a.dst, ROOM) == TSR_OK);
	for (size_t i = 0; i < ROOM; i++)
		CHECK(seen[i] == mark_of(i < a.bytes ? from : me, i), "byte %zu", i);
	return 0;
}

Test(pointer, a_put_to_all_from_where_it_goes)
{
	world_each(in_place_body, NULL);
}

/* ------------------------------------------------------------------ one value */

typedef struct values {
	uint32_t u32;
	int32_t i32;
	uint64_t u64;
	int64_t i64;
	float f32, unused;
	double f64;
} values_t;

typedef struct values_args {
	TSR_HEAP values_t *mine, *came, *fetched; /* of each block; `mine` is the host's */
	TSR_HEAP uint64_t *ready;                 /* of each block */
} values_args_t;

enum { VALUE_BLOCKS = 3 };

typedef struct values_pad {
	uint64_t word;
} values_pad_t;

/* Signal and wait are partners. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL_SPLIT(move_values, 2, values_pad_t, values_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block), next = (me + 1) % size,
		  index = tsr_block_index(block);
	TSR_HEAP values_t *mine = a->mine + index, *came = a->came + index,
			  *fetched = a->fetched + index;
	const uint32_t number = (uint32_t)(me * 100 + index);
	if (tsr_worker_index(worker) == 0) {
		tsr_put_value(worker, &came->u32, 0xf0000000u + number, next);
		tsr_put_value(worker, &came->i32, -(int32_t)number, next);
		tsr_put_value(worker, &came->f32, 0.5f + (float)number, next);
	} else {
		tsr_put_value(worker, &came->u64, UINT64_C(0xf000000000000000) + number, next);
		tsr_put_value(worker, &came->i64, -((int64_t)number << 40), next);
		tsr_put_value(worker, &came->f64, 0.25 + number, next);
	}
	tsr_put_value(block, &shared->word, (uint64_t)number << 33, me);
	tsr_signal(block, a->ready + index, 1, TSR_SIGNAL_SET, next);
	tsr_wait(block, a->ready + index, 1, (me + size - 1) % size);
	tsr_put_value(block, &fetched->u64,
		      tsr_get_value(block, &shared->word, me) +
			      tsr_get_value(block, &mine->u64, next),
		      me);
	if (tsr_worker_index(worker) == 0) {
		tsr_put_value(worker, &fetched->u32, tsr_get_value(worker, &mine->u32, next), me);
		tsr_put_value(worker, &fetched->i32, tsr_get_value(worker, &mine->i32, next), me);
		tsr_put_value(worker, &fetched->f32, tsr_get_value(worker, &mine->f32, next), me);
	} else {
		tsr_put_value(worker, &fetched->i64, tsr_get_value(worker, &mine->i64, next), me);
		tsr_put_value(worker, &fetched->f64, tsr_get_value(worker, &mine->f64, next), me);
	}
}

static values_t values_of(uint32_t number)
{
	values_t v = {0xf0000000u + number,
		      -(int32_t)number,
		      UINT64_C(0xf000000000000000) + number,
		      -((int64_t)number << 40),
		      0.5f + (float)number,
		      0,
		      0.25 + number};
	memset(&v.unused, POISON, sizeof v.unused); /* nobody puts it */
	return v;
}

static int values_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	values_t host[VALUE_BLOCKS], came[VALUE_BLOCKS], fetched[VALUE_BLOCKS];
	(void)argc, (void)argv;
	values_args_t a = {.mine = poisoned(world, sizeof host, "mine"),
			   .came = poisoned(world, sizeof host, "came"),
			   .fetched = poisoned(world, sizeof host, "fetched"),
			   .ready = zeroed(world, VALUE_BLOCKS * sizeof(uint64_t), "ready")};
	CHECK(a.mine && a.came && a.fetched && a.ready);
	for (uint32_t i = 0; i < VALUE_BLOCKS; i++)
		host[i] = values_of((uint32_t)me * 1000 + i * 7 + 5);
	CHECK(tsr_memcpy_to_heap(world, a.mine, host, sizeof host) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &move_values, VALUE_BLOCKS, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, came, a.came, sizeof came) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, fetched, a.fetched, sizeof fetched) == TSR_OK);
	for (uint32_t i = 0; i < VALUE_BLOCKS; i++) {
		const values_t put = values_of((uint32_t)((me + size - 1) % size) * 100 + i);
		values_t got = values_of((uint32_t)((me + 1) % size) * 1000 + i * 7 + 5);
		got.u64 += (uint64_t)((uint32_t)me * 100 + i) << 33;
		CHECK(memcmp(&came[i], &put, sizeof put) == 0, "block %d: put", (int)i);
		CHECK(memcmp(&fetched[i], &got, sizeof got) == 0, "block %d: got", (int)i);
	}
	return 0;
}

/* ------------------------------------------------------------------ one record */

typedef struct route {
	int32_t expert, row;
	float weight;
} route_t;

typedef struct place {
	uint64_t first;
	uint32_t rows, unused;
	double scale;
} place_t;

typedef struct records_args {
	TSR_HEAP route_t *mine, *came, *fetched; /* of each block; `mine` is the host's */
	TSR_HEAP place_t *place, *place_fetched; /* of each block */
	TSR_HEAP uint64_t *ready;                /* of each block */
} records_args_t;

typedef struct records_pad {
	route_t route;
} records_pad_t;

/*
 * Every thread gets a record of its own copy: each worker puts what it has got.
 * Signal and wait are partners. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_KERNEL_SPLIT(move_records, 2, records_pad_t, records_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block), next = (me + 1) % size,
		  index = tsr_block_index(block);
	const route_t put = {me * 100 + index, -index, 0.5f + (float)me};
	route_t route, again;
	place_t place = {(uint64_t)me << 40, (uint32_t)index, 0, 0.25 * me};
	tsr_put_record(block, a->came + index, &put, next);
	tsr_put_record(block, &shared->route, &put, me);
	if (tsr_worker_index(worker) == 1)
		tsr_put_record(worker, a->place + index, &place, next);
	tsr_signal(block, a->ready + index, 1, TSR_SIGNAL_SET, next);
	tsr_wait(block, a->ready + index, 1, (me + size - 1) % size);
	tsr_get_record(block, &route, a->mine + index, next);
	tsr_get_record(block, &again, &shared->route, me);
	route.weight += again.weight;
	if (tsr_worker_index(worker) == 0) {
		tsr_put_record(worker, a->fetched + index, &route, me);
	} else {
		tsr_get_record(worker, &place, a->place + index, me);
		place.rows += (uint32_t)(route.row + again.expert);
		tsr_put_record(worker, a->place_fetched + index, &place, me);
	}
}

static int records_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world), next = (me + 1) % size,
		  last = (me + size - 1) % size;
	route_t host[VALUE_BLOCKS], came[VALUE_BLOCKS], fetched[VALUE_BLOCKS];
	place_t place[VALUE_BLOCKS];
	(void)argc, (void)argv;
	records_args_t a = {.mine = poisoned(world, sizeof host, "mine"),
			    .came = poisoned(world, sizeof host, "came"),
			    .fetched = poisoned(world, sizeof host, "fetched"),
			    .place = poisoned(world, sizeof place, "place"),
			    .place_fetched = poisoned(world, sizeof place, "place fetched"),
			    .ready = zeroed(world, VALUE_BLOCKS * sizeof(uint64_t), "ready")};
	CHECK(a.mine && a.came && a.fetched && a.place && a.place_fetched && a.ready);
	for (int i = 0; i < VALUE_BLOCKS; i++)
		host[i] = (route_t){me * 1000 + i, i * 7 + 5, 2.0f * (float)me};
	CHECK(tsr_memcpy_to_heap(world, a.mine, host, sizeof host) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &move_records, VALUE_BLOCKS, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, came, a.came, sizeof came) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, fetched, a.fetched, sizeof fetched) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, place, a.place_fetched, sizeof place) == TSR_OK);
	for (int i = 0; i < VALUE_BLOCKS; i++) {
		const route_t put = {last * 100 + i, -i, 0.5f + (float)last};
		const route_t got = {next * 1000 + i, i * 7 + 5,
				     2.0f * (float)next + 0.5f + (float)me};
		const uint32_t rows = (uint32_t)(i + i * 7 + 5 + me * 100 + i);
		CHECK(memcmp(&came[i], &put, sizeof put) == 0, "block %d: put", i);
		CHECK(memcmp(&fetched[i], &got, sizeof got) == 0, "block %d: got", i);
		CHECK(place[i].first == (uint64_t)last << 40 && place[i].rows == rows &&
			      place[i].scale == 0.25 * last,
		      "block %d: place", i);
	}
	return 0;
}

Test(pointer, records_go_whole)
{
	world_each(records_body, NULL);
}

Test(pointer, values_go_by_themselves)
{
	world_each(values_body, NULL);
}
