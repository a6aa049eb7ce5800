/* What plans are made of: buffers in the heap, streams beside a main one, errors that are kept. */
#include "kernels/host/buffers.h"
#include "kernels/host/errors.h"
#include "kernels/host/streams.h"
#include "world_test.h"

/* ---------------------------------------------------------------- buffers */

static int flags_are_clear(tsr_world_t *world, const buffer_t *buffer)
{
	unsigned char byte[64];
	memset(byte, 0xFF, sizeof byte);
	CHECK(buffer->size_bytes == sizeof byte);
	CHECK(tsr_memcpy_from_heap(world, byte, buffer->data, sizeof byte) == TSR_OK);
	for (size_t i = 0; i < sizeof byte; i++)
		CHECK(byte[i] == 0);
	return 0;
}

static int buffers(tsr_world_t *world, int argc, char **argv)
{
	buffer_t some[] = {{.name = "rows", .size_bytes = 100},
			   {.name = "none"},
			   {.name = "flags", .size_bytes = 64, .is_cleared = true}};
	tsr_heap_usage_t before = {.size = sizeof before}, after = {.size = sizeof after};
	(void)argc, (void)argv;
	CHECK(tsr_heap_usage(world, &before) == TSR_OK);
	for (int round = 0; round < 2; round++) {
		CHECK(buffers_check(world, some, 3, "a test") == TSR_OK);
		CHECK(buffers_allocate(world, some, 3) == TSR_OK);
		CHECK(some[0].data && !some[1].data && some[2].data);
		if (flags_are_clear(world, &some[2]))
			return 1;
		/* The next round gets the same memory. */
		CHECK(tsr_memset_heap(world, some[2].data, 0xAA, 64) == TSR_OK);
		CHECK(buffers_free(world, some, 3) == TSR_OK);
		CHECK(!some[0].data && !some[2].data);
	}
	CHECK(tsr_heap_usage(world, &after) == TSR_OK);
	CHECK(before.allocations == after.allocations && before.free_bytes == after.free_bytes);
	return 0;
}

Test(plans, buffers_are_allocated_and_cleared)
{
	world_each(buffers, NULL);
}

static int too_large(tsr_world_t *world, int argc, char **argv)
{
	tsr_heap_usage_t before = {.size = sizeof before}, after = {.size = sizeof after};
	(void)argc, (void)argv;
	CHECK(tsr_heap_usage(world, &before) == TSR_OK);
	buffer_t some[] = {{.name = "rows", .size_bytes = 100},
			   {.name = "too much", .size_bytes = before.heap_bytes}};
	CHECK(buffers_check(world, some, 2, "shape 1x2x3") == TSR_ERR_NO_MEMORY);
	CHECK(strstr(tsr_last_error(), "shape 1x2x3 needs ") &&
	      strstr(tsr_last_error(), "TESSERA_HEAP_SIZE"));
	CHECK(buffers_allocate(world, some, 2) == TSR_ERR_NO_MEMORY);
	CHECK(strstr(tsr_last_error(), "too much"), "the sentence of the failure");
	CHECK(!some[0].data && !some[1].data);
	CHECK(tsr_heap_usage(world, &after) == TSR_OK);
	CHECK(before.allocations == after.allocations && before.free_bytes == after.free_bytes);
	some[0].size_bytes = SIZE_MAX / 256 * 256;
	CHECK(buffers_check(world, some, 2, "a sum that overflows") == TSR_ERR_NO_MEMORY);
	return 0;
}

Test(plans, buffers_that_do_not_fit_leave_nothing)
{
	world_each(too_large, NULL);
}

/* ---------------------------------------------------------------- streams */

enum { SIDES = 3, ROWS = 256, COLS = 256, RUNS = 20 };

/**
 * The main stream copies matrix 0 to matrix 1, side stream i copies that to
 * matrix 2 + i, and the main stream copies those to the last SIDES ones.
 */
static int copy_in_turn(tsr_world_t *world, const streams_t *streams, tsr_view_t *view)
{
	const int me = tsr_world_rank(world);
	CHECK(tsr_stream_put_2d(streams->main, view[1], view[0], me) == TSR_OK);
	CHECK(streams_fork(streams, SIDES) == TSR_OK);
	for (int i = 0; i < SIDES; i++)
		CHECK(tsr_stream_put_2d(streams->side[i], view[2 + i], view[1], me) == TSR_OK);
	CHECK(streams_join(streams, SIDES) == TSR_OK);
	for (int i = 0; i < SIDES; i++)
		CHECK(tsr_stream_put_2d(streams->main, view[2 + SIDES + i], view[2 + i], me) ==
		      TSR_OK);
	CHECK(tsr_stream_sync(streams->main) == TSR_OK);
	return 0;
}

static int check_ends(tsr_world_t *world, tsr_view_t *view, float *host, float wanted)
{
	for (int i = 0; i < SIDES; i++) {
		CHECK(tsr_memcpy_from_heap(world, host, view[2 + SIDES + i].data,
					   ROWS * COLS * sizeof *host) == TSR_OK);
		for (int e = 0; e < ROWS * COLS; e++)
			CHECK(host[e] == wanted, "side %d, element %d: %g", i, e, (double)host[e]);
	}
	return 0;
}

static int forks(tsr_world_t *world, int argc, char **argv)
{
	buffer_t buffer = {.name = "matrices",
			   .size_bytes = sizeof(float[2 + 2 * SIDES][ROWS][COLS])};
	tsr_view_t view[2 + 2 * SIDES];
	float *host = malloc(ROWS * COLS * sizeof *host);
	streams_t streams = {.main = NULL};
	(void)argc, (void)argv;
	CHECK(host && buffers_allocate(world, &buffer, 1) == TSR_OK);
	for (int i = 0; i < 2 + 2 * SIDES; i++)
		view[i] = (tsr_view_t){.data = (TSR_HEAP float *)buffer.data +
					       (ptrdiff_t)i * ROWS * COLS,
				       .rows = ROWS,
				       .cols = COLS,
				       .ld = COLS,
				       .dtype = TSR_F32};
	CHECK(streams_create(world, SIDES, 2, &streams) == TSR_OK);
	const streams_t created = streams;
	CHECK(streams_create(world, SIDES - 1, 1, &streams) == TSR_OK);
	CHECK(memcmp(&created, &streams, sizeof streams) == 0, "what is there stays");
	CHECK(streams.mark[1] && !streams.mark[2] && !streams.side[SIDES]);
	for (int run = 0; run < RUNS; run++) {
		for (int e = 0; e < ROWS * COLS; e++)
			host[e] = (float)run;
		CHECK(tsr_memcpy_to_heap(world, view[0].data, host, ROWS * COLS * sizeof *host) ==
		      TSR_OK);
		if (copy_in_turn(world, &streams, view) ||
		    check_ends(world, view, host, (float)run))
			return 1;
	}
	CHECK(streams_sync(&streams) == TSR_OK && streams_destroy(&streams) == TSR_OK);
	CHECK(!streams.main && !streams.side[0] && !streams.forked);
	CHECK(streams_destroy(&streams) == TSR_OK, "nothing is left to destroy");
	CHECK(buffers_free(world, &buffer, 1) == TSR_OK);
	free(host);
	return 0;
}

Test(plans, side_streams_begin_and_end_with_the_main_one)
{
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, forks, NULL), 0);
	cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, forks, NULL), 0);
}

/* ---------------------------------------------------------------- errors */

Test(plans, a_kept_error_is_the_last_one_again)
{
	const tsr_status_t status = tsr_error(TSR_ERR_RESIDENCY, "100 %% of the blocks");
	const kept_error_t kept = error_keep(status);
	(void)tsr_error(TSR_ERR_ARGUMENT, "another");
	cr_expect_eq(error_again(&kept), TSR_ERR_RESIDENCY);
	cr_expect_str_eq(tsr_last_error(), "100 % of the blocks");
	cr_expect_eq(error_first(TSR_OK, TSR_ERR_TIMEOUT), TSR_ERR_TIMEOUT);
	cr_expect_eq(error_first(TSR_ERR_RESIDENCY, TSR_ERR_TIMEOUT), TSR_ERR_RESIDENCY);
}
