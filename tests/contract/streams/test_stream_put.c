/*
 * Copies to peers on streams: every shape and nothing beside it, to myself
 * where the views are apart, and what is refused.
 */
#include "tests/contract/streams/marked_memory.h"

/* ------------------------------------------------------------------ shapes */

/** `at`: the slot's elements before the view. */
typedef struct shape {
	const char *name;
	int64_t rows, cols, dst_ld, src_ld, dst_at, src_at;
} shape_t;

static const shape_t shapes[] = {
	{"odd extents, both pitched", 23, 17, 19, 29, 5, 3},
	{"rows without gaps", 16, 33, 33, 33, 0, 0},
	{"to rows without gaps", 9, 31, 31, 40, 1, 2},
	{"from rows without gaps", 9, 31, 40, 31, 2, 1},
	{"columns inside larger matrices", 20, 7, 24, 36, 8, 11},
	{"one column", 41, 1, 13, 3, 12, 2},
	{"one row", 1, 301, 301, 301, 3, 5},
	{"one row, which has no next", 1, 301, 7, 0, 3, 5},
	{"one element", 1, 1, 1, 1, 7, 2},
	{"no rows", 0, 17, 19, 29, 5, 3},
	{"no columns", 23, 0, 19, 29, 5, 3},
};

/* elements of the largest view with what is around it, bytes of an element */
enum { SLOT = 1000, WIDEST = 8 };

typedef struct places {
	tsr_world_t *world;
	tsr_stream_t *stream[2];
	TSR_HEAP unsigned char *dst, *src; /* dst: a slot for each rank that sends */
	unsigned char *host;
} places_t;

/** What byte `index` of a sender's slot should hold. */
static unsigned char wanted(const shape_t *shape, size_t element, int sender, size_t index)
{
	const int64_t at = (int64_t)(index / element) - shape->dst_at,
		      ld = shape->rows > 1 ? shape->dst_ld : SLOT;
	if (at < 0 || at / ld >= shape->rows || at % ld >= shape->cols)
		return POISON;
	const int64_t from = shape->src_at + at / ld * shape->src_ld + at % ld;
	return mark_of(sender, (size_t)from * element + index % element);
}

static int check_slots(const places_t *p, const shape_t *shape, size_t element)
{
	tsr_world_t *world = p->world;
	const size_t slot = SLOT * element, all = slot * (size_t)tsr_world_size(world);
	CHECK(tsr_memcpy_from_heap(world, p->host, p->dst, all) == TSR_OK);
	for (size_t i = 0; i < all; i++)
		CHECK(p->host[i] == wanted(shape, element, (int)(i / slot), i % slot),
		      "%s, elements of %zu bytes, from %zu: byte %zu", shape->name, element,
		      i / slot, i % slot);
	return 0;
}

/** Every rank to every rank, myself included. */
static int put_shape(const places_t *p, const shape_t *shape, tsr_dtype_t dtype)
{
	tsr_world_t *world = p->world;
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const size_t element = tsr_dtype_bytes(dtype);
	TSR_HEAP unsigned char *mine =
		p->dst + ((size_t)me * SLOT + (size_t)shape->dst_at) * element;
	const tsr_view_t dst = view_of(mine, shape->rows, shape->cols, shape->dst_ld, dtype);
	const tsr_view_t src = view_of(p->src + (size_t)shape->src_at * element, shape->rows,
				       shape->cols, shape->src_ld, dtype);
	CHECK(tsr_memset_heap(world, p->dst, POISON, SLOT * element * (size_t)size) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < size; i++)
		CHECK(tsr_stream_put_2d(p->stream[i % 2], dst, src, (me + i) % size) == TSR_OK,
		      "%s", shape->name);
	CHECK(tsr_stream_sync(p->stream[0]) == TSR_OK && tsr_stream_sync(p->stream[1]) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return check_slots(p, shape, element);
}

static int shapes_body(tsr_world_t *world, int argc, char **argv)
{
	static const tsr_dtype_t dtypes[] = {TSR_F32, TSR_BF16, TSR_U8, TSR_I64};
	const size_t bytes = SLOT * WIDEST;
	(void)argc, (void)argv;
	places_t p;
	p.world = world;
	p.dst = poisoned(world, bytes * (size_t)tsr_world_size(world), "dst");
	p.src = marked(world, bytes, "src");
	p.host = (unsigned char *)malloc(bytes * (size_t)tsr_world_size(world));
	CHECK(p.dst && p.src && p.host);
	CHECK(tsr_stream_create(tsr_world_team(world), &p.stream[0]) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &p.stream[1]) == TSR_OK);
	int failed = 0;
	for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
		for (size_t s = 0; !failed && s < sizeof shapes / sizeof *shapes; s++)
			failed = put_shape(&p, &shapes[s], dtypes[d]);
	if (!failed)
		CHECK(tsr_memcpy_from_heap(world, p.host, p.src, bytes) == TSR_OK);
	for (size_t i = 0; !failed && i < bytes; i++)
		CHECK(p.host[i] == mark_of(tsr_world_rank(world), i), "src is as it was, byte %zu",
		      i);
	free(p.host);
	CHECK(tsr_stream_destroy(p.stream[0]) == TSR_OK &&
	      tsr_stream_destroy(p.stream[1]) == TSR_OK);
	CHECK(tsr_heap_free(world, p.dst) == TSR_OK && tsr_heap_free(world, p.src) == TSR_OK);
	return failed;
}

Test(stream_put, every_shape_to_every_rank)
{
	world_each(shapes_body, NULL);
}

/* ------------------------------------------------------------------ within one matrix of mine */

enum { SIDE = 12, ACROSS = 20 };

typedef struct within {
	const char *name;
	int64_t dst_row, dst_col, dst_ld, src_row, src_col, src_ld, rows, cols;
	bool apart;
} within_t;

static const within_t withins[] = {
	{"columns beside columns", 0, 8, 20, 0, 0, 20, 12, 8, true},
	{"columns before columns", 0, 3, 20, 0, 8, 20, 12, 5, true},
	{"columns that share one", 0, 7, 20, 0, 0, 20, 12, 8, false},
	{"columns that share one, before", 0, 3, 20, 0, 8, 20, 12, 6, false},
	{"rows behind rows", 6, 0, 20, 0, 0, 20, 6, 20, true},
	{"rows that share one", 5, 0, 20, 0, 0, 20, 6, 20, false},
	{"rows that begin where rows end", 1, 0, 20, 0, 12, 20, 11, 8, true},
	{"rows that begin before rows end", 1, 0, 20, 0, 13, 20, 11, 8, false},
	{"every other row", 1, 0, 40, 0, 0, 40, 6, 20, true},
	{"rows at other distances", 1, 0, 80, 0, 0, 40, 3, 20, true},
	{"rows at other distances that meet", 1, 0, 60, 0, 0, 40, 3, 20, false},
	{"the same rows", 2, 3, 20, 2, 3, 20, 4, 4, false},
};

static int put_within(tsr_world_t *world, tsr_stream_t *stream, TSR_HEAP unsigned char *matrix,
		      const within_t *w)
{
	const int me = tsr_world_rank(world);
	uint16_t before[SIDE * ACROSS], after[SIDE * ACROSS];
	const int64_t dst = w->dst_row * ACROSS + w->dst_col,
		      src = w->src_row * ACROSS + w->src_col;
	for (int i = 0; i < SIDE * ACROSS; i++)
		before[i] = (uint16_t)(me * 1000 + i);
	CHECK(tsr_memcpy_to_heap(world, matrix, before, sizeof before) == TSR_OK);
	const tsr_status_t status =
		tsr_stream_put_2d(stream,
				  view_of(matrix + 2 * dst, w->rows, w->cols, w->dst_ld, TSR_BF16),
				  view_of(matrix + 2 * src, w->rows, w->cols, w->src_ld, TSR_BF16),
				  me);
	CHECK(status == (w->apart ? TSR_OK : TSR_ERR_ARGUMENT), "%s: %s", w->name,
	      tsr_status_name(status));
	CHECK(w->apart || strstr(tsr_last_error(), "to myself: dst and src overlap"), "%s",
	      w->name);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, after, matrix, sizeof after) == TSR_OK);
	for (int64_t row = 0; w->apart && row < w->rows; row++)
		for (int64_t col = 0; col < w->cols; col++)
			before[dst + row * w->dst_ld + col] =
				(uint16_t)(me * 1000 + (int)(src + row * w->src_ld + col));
	CHECK(memcmp(before, after, sizeof after) == 0, "%s", w->name);
	return 0;
}

static int within_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	TSR_HEAP unsigned char *matrix = poisoned(world, 2 * SIDE * ACROSS, "matrix");
	CHECK(matrix && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	for (size_t i = 0; i < sizeof withins / sizeof *withins; i++)
		if (put_within(world, stream, matrix, &withins[i]))
			return 1;
	CHECK(tsr_stream_destroy(stream) == TSR_OK && tsr_heap_free(world, matrix) == TSR_OK);
	return 0;
}

Test(stream_put, to_myself_where_views_are_apart)
{
	world_each(within_body, NULL);
}

/* ------------------------------------------------------------------ what is refused */

/** A copy that cannot be: its status and its sentence. */
static int refuses(tsr_world_t *world, tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src,
		   int peer, const char *sentence)
{
	const tsr_status_t status = tsr_stream_put_2d(stream, dst, src, peer);
	CHECK(status == TSR_ERR_ARGUMENT, "%s: %s", sentence, tsr_status_name(status));
	CHECK(strstr(tsr_last_error(), sentence), "wanted: %s", sentence);
	return 0;
}

/** Views of which one is no copy of the other. */
static int refuse_pairs(tsr_world_t *world, tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	char beyond[64];
	snprintf(beyond, sizeof beyond, "to rank %d: the world has ranks 0 to %d", size, size - 1);
	int failed = refuses(world, stream, dst, src, size, beyond);
	failed += refuses(world, stream, dst, src, -1, "to rank -1: the world has ranks 0 to");
	failed += refuses(world, NULL, dst, src, me, "stream must not be null");
	tsr_view_t other = src;
	other.rows--;
	failed += refuses(
		world, stream, dst, other, me,
		"of 3 x 8 elements of u8 to 4 x 8 of u8: give it views of the same extents");
	other = src;
	other.cols--;
	failed += refuses(world, stream, dst, other, me, "of 4 x 7 elements of u8 to 4 x 8 of u8");
	other = src;
	other.dtype = TSR_I8;
	failed += refuses(world, stream, dst, other, me, "of 4 x 8 elements of i8 to 4 x 8 of u8");
	failed += refuses(world, stream, src, src, me,
			  "to myself: dst and src overlap; let them be apart");
	return failed;
}

/** Each of these views in either place. */
static int refuse_views(tsr_world_t *world, tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src)
{
	static unsigned char outside[64];
	const int peer = (tsr_world_rank(world) + 1) % tsr_world_size(world);
	enum {
		OUTSIDE,
		PAST_THE_END,
		FAR_ROWS,
		SHARED,
		ROWS_IN_ROWS,
		NO_DTYPE,
		BELOW_NOTHING,
		CASES
	};
	int failed = 0;
	for (int i = 0; i < CASES; i++) {
		tsr_view_t wrong = src, right = dst;
		if (i == OUTSIDE)
			wrong.data = (TSR_HEAP void *)(uintptr_t)outside;
		if (i == PAST_THE_END)
			wrong.cols = right.cols = wrong.ld = right.ld = INT64_C(1) << 45;
		if (i == FAR_ROWS)
			wrong.ld = INT64_MAX / 2;
		if (i == SHARED)
			wrong.space = TSR_SPACE_SHARED;
		if (i == ROWS_IN_ROWS)
			wrong.ld = wrong.cols - 1;
		if (i == NO_DTYPE)
			wrong.dtype = right.dtype = 99;
		if (i == BELOW_NOTHING)
			wrong.rows = right.rows = -4;
		/* src is named first */
		const bool both = i == PAST_THE_END || i == NO_DTYPE || i == BELOW_NOTHING;
		failed += refuses(world, stream, right, wrong, peer,
				  "src does not lie in this rank's heap");
		failed += refuses(world, stream, wrong, right, peer,
				  both ? "src does not lie in this rank's heap"
				       : "dst does not lie in this rank's heap");
	}
	src.dtype = dst.dtype = TSR_F8_E5M2;
	return failed + refuses(world, stream, dst, src, peer, "f8_e5m2, which is reserved");
}

static int refused_body(tsr_world_t *world, int argc, char **argv)
{
	unsigned char host[64];
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	TSR_HEAP unsigned char *dst = poisoned(world, sizeof host, "dst"),
			       *src = marked(world, sizeof host, "src");
	CHECK(dst && src && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const tsr_view_t to = view_of(dst, 4, 8, 10, TSR_U8), from = view_of(src, 4, 8, 12, TSR_U8);
	if (refuse_pairs(world, stream, to, from) || refuse_views(world, stream, to, from))
		return 1;
	CHECK(tsr_stream_sync(stream) == TSR_OK && tsr_barrier(world) == TSR_OK,
	      "the world goes on");
	CHECK(tsr_memcpy_from_heap(world, host, dst, sizeof host) == TSR_OK);
	for (size_t i = 0; i < sizeof host; i++)
		CHECK(host[i] == POISON, "nothing was copied, byte %zu", i);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	CHECK(tsr_heap_free(world, dst) == TSR_OK && tsr_heap_free(world, src) == TSR_OK);
	return 0;
}

Test(stream_put, what_cannot_be_copied)
{
	world_each(refused_body, NULL);
}
