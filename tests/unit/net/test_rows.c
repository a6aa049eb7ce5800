/*
 * Puts, gets and fills of rows: every byte is where it belongs, and no other
 * byte has changed.
 */
#include <criterion/criterion.h>

#include "net_test.h"

enum { POISON = 0xa5, ROOM = 3 << 20, DONE = 0 };

static const char *const carriers[] = {NULL, "seed 1 delay 0", "seed 2 delay 300"};
enum { CARRIERS = sizeof carriers / sizeof *carriers };

/** A shape of rows: on both sides, with gaps of odd sizes or none. */
typedef struct shape {
	size_t row_bytes, rows, far_gap, near_gap;
} shape_t;

static const shape_t shapes[] = {
	{0, 1, 0, 0},
	{1, 0, 0, 0},
	{1, 1, 0, 0},
	{7, 1, 0, 0},
	{4095, 1, 0, 0},
	{4096, 3, 0, 0},
	{(1 << 20) + 3, 1, 0, 0},
	{1, 13, 1, 0},
	{1, 977, 0, 2},
	{7, 211, 9, 0},
	{7, 211, 0, 5},
	{129, 301, 31, 3},
	{4095, 17, 1, 1},
	{61441, 5, 7, 0},
	{61439, 5, 0, 3},
	{70001, 11, 3, 5},
	{300001, 3, 17, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static unsigned char byte_of(int rank, int shape, size_t index)
{
	return (unsigned char)(17 * rank + 31 * shape + (int)(index % 251) + 1);
}

static tsr_net_rows_t far_rows(const shape_t *shape, size_t offset)
{
	return (tsr_net_rows_t){offset, shape->row_bytes + shape->far_gap, shape->row_bytes,
				shape->rows};
}

/** How many bytes from `begin` on are not those of rows with poison between. */
static long wrong_bytes(const unsigned char *begin, size_t bytes, const shape_t *shape,
			size_t pitch, int rank, int index)
{
	long wrong = 0;
	for (size_t i = 0; i < bytes; i++) {
		const size_t row = pitch ? i / pitch : shape->rows, column = pitch ? i % pitch : 0;
		const bool written = row < shape->rows && column < shape->row_bytes;
		wrong += begin[i] !=
			 (written ? byte_of(rank, index, row * shape->row_bytes + column) : POISON);
	}
	return wrong;
}

/** Rank r puts into r + 1, which then looks; and gets back what it has put. */
static int move_shape(net_rank_t *me, int index, unsigned char *near)
{
	const shape_t *shape = &shapes[index];
	const int next = (me->rank + 1) % me->size, before = (me->rank + me->size - 1) % me->size;
	const size_t pitch = shape->row_bytes + shape->near_gap;
	const size_t offset = 4096 + 3 * (size_t)index;
	memset(me->heap, POISON, NET_HEAP_BYTES);
	memset(near, POISON, ROOM);
	for (size_t r = 0; r < shape->rows; r++)
		for (size_t c = 0; c < shape->row_bytes; c++)
			near[r * pitch + c] = byte_of(me->rank, index, r * shape->row_bytes + c);
	net_meet(me);
	tsr_net_put(me->net, next, far_rows(shape, offset), near, pitch);
	memset(near, POISON, ROOM); /* the source may be reused */
	tsr_net_flush(me->net);
	net_meet(me);
	const size_t far_pitch = shape->row_bytes + shape->far_gap;
	for (size_t i = 0; i < offset; i++)
		NEED(me->heap[i] == POISON);
	NEED(wrong_bytes(me->heap + offset, NET_HEAP_BYTES - offset, shape, far_pitch, before,
			 index) == 0);
	net_meet(me);
	tsr_net_get(me->net, next, far_rows(shape, offset), near, pitch);
	NEED(wrong_bytes(near, ROOM, shape, pitch, me->rank, index) == 0);
	net_meet(me);
	return 0;
}

static int move_shapes(net_rank_t *me)
{
	unsigned char *near = malloc(ROOM);
	for (int i = 0; i < SHAPES; i++) {
		const int line = move_shape(me, i, near);
		if (line != 0)
			return line;
	}
	free(near);
	return 0;
}

Test(net_rows, puts_and_gets_of_all_shapes, .timeout = 300)
{
	static const int sizes[] = {2, 3, 5};
	for (int c = 0; c < CARRIERS; c++) {
		for (int i = 0; i < 3 && net_has_carrier(carriers[c]); i++) {
			net_test_t test = {
				.size = sizes[i], .carrier = carriers[c], .late = i == 1};
			net_test_begin(&test);
			cr_expect_eq(net_run(&test, move_shapes), 0, "%d ranks over %s%s",
				     test.size, carriers[c] ? carriers[c] : "UCX",
				     test.late ? ", heaps reached by calls" : "");
			net_test_end(&test);
		}
	}
}
