/*
 * The record of a run on HIP, read from what kernels would leave on a runtime
 * without a GPU (fake/hip.h).
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/backends/fake/ranks.h"
#include "under_valgrind.h"

KERNEL(kept, "hip_test", "hip_test_two", "v");
KERNEL(foreign, "hip_test_foreign", "hip_test_one", ""); /* keeps no record */
IMAGE(image, "hip_test");
IMAGE(recorded, "hip_test" TSR_IMAGE_RECORDED);
IMAGE(foreign_image, "hip_test_foreign");

/** A tick of the fake clock is ten nanoseconds. */
enum { TICK_NS = 10, MARKS = TSR_GPU_EVENTS_EACH + 2 };

static uint64_t ticks_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 100000000 + (uint64_t)now.tv_nsec / TICK_NS;
}

/**
 * What a kernel of two blocks leaves: of block 1 a lane with marks in two
 * chunks, and before it in the kernel's order a worker of a lower number in a
 * later lane, which waited.
 */
static void leave_record(const tsr_gpu_context_t *context)
{
	const tsr_gpu_record_t *record = &context->record;
	tsr_gpu_lane_t *lane = record->lanes + record->lanes_each, *late = lane + 3;
	const uint64_t now = ticks_now();
	*record->chunks_taken = 3;
	*lane = (tsr_gpu_lane_t){.begin = now,
				 .end = now + 100,
				 .worker = 7,
				 .first_chunk = 1,
				 .events = MARKS,
				 .lost = 4,
				 .products = 2,
				 .first_product = now + 1,
				 .remote_written_bytes = 64,
				 .role = "worker"};
	record->chunks[0].next = 3;
	record->chunks[2].next = 0;
	for (int i = 0; i < MARKS; i++) {
		tsr_gpu_event_t *event =
			&record->chunks[i / TSR_GPU_EVENTS_EACH * 2].event[i % TSR_GPU_EVENTS_EACH];
		*event = (tsr_gpu_event_t){.kind = TSR_GPU_EVENT_MARK,
					   .begin = now + (uint64_t)i,
					   .end = now + (uint64_t)i,
					   .value = i};
		strcpy(event->more.name, "mark");
	}
	*late = (tsr_gpu_lane_t){.begin = now,
				 .end = now + 5,
				 .worker = 2,
				 .first_chunk = 2,
				 .events = 1,
				 .waited = 3};
	record->chunks[1].next = 0;
	record->chunks[1].event[0] = (tsr_gpu_event_t){
		.kind = TSR_GPU_EVENT_WAIT,
		.peer = TSR_ANY_RANK,
		.begin = now,
		.end = now + 3,
		.value = 9,
		.more.of = {.address = (uint64_t)(uintptr_t)context->heap + 64, .owner = 1}};
}

static void check_entries(tsr_device_t *device)
{
	tsr_record_entry_t e;
	cr_assert_eq(hip->record->entry(device, 0, &e), TSR_OK, "%s", tsr_last_error());
	cr_expect(e.launch == 0 && e.block == 1 && e.worker == 2 && e.wait_ns == 3 * TICK_NS);
	cr_assert_eq(hip->record->entry(device, 1, &e), TSR_OK, "%s", tsr_last_error());
	cr_expect(e.launch == 0 && e.stream == 0 && e.block == 1 && e.worker == 7);
	cr_assert_str_eq(e.kernel, "hip_test_two");
	cr_assert_str_eq(e.variant, "v");
	cr_assert_str_eq(e.role, "worker");
	cr_expect(e.products == 2 && e.remote_written_bytes == 64 && e.events == MARKS &&
		  e.events_lost == 4);
	/* The clock's rate is measured, under valgrind not so well, and each time is rounded. */
	const int64_t error_ns = under_valgrind() ? TICK_NS : 2;
	const int64_t took_ns = (int64_t)(e.end_ns - e.begin_ns),
		      product_ns = (int64_t)(e.first_product_ns - e.begin_ns);
	cr_expect(llabs(took_ns - 100 * TICK_NS) <= error_ns && llabs(product_ns - TICK_NS) <= 2 &&
			  e.last_product_ns == 0,
		  "%lld ns", (long long)took_ns);
	const uint64_t now_ns = ticks_now() * TICK_NS;
	cr_expect(e.begin_ns < now_ns + e.clock_error_ns && now_ns - e.begin_ns < 10000000000u,
		  "the fake's clock is the host's");
	/* half of the shortest time that a reading took */
	cr_expect(e.clock_error_ns >= TICK_NS &&
		  e.clock_error_ns < (under_valgrind() ? 100000000 : 1000000));
	cr_expect_eq(hip->record->entry(device, 2, &e), TSR_ERR_NOT_FOUND);
	cr_expect_eq(hip->record->entry(device, -1, &e), TSR_ERR_NOT_FOUND);
}

static void check_events(tsr_device_t *device)
{
	tsr_record_event_t e;
	cr_assert_eq(hip->record->event(device, 0, &e), TSR_OK, "%s", tsr_last_error());
	cr_expect(e.kind == TSR_RECORD_WAIT && e.block == 1 && e.worker == 2 && e.peer == -1 &&
		  e.owner == 1 && e.value == 9 && e.offset_bytes == 64 &&
		  strcmp(e.name, "flags") == 0 &&
		  llabs((long long)(e.end_ns - e.begin_ns) - 3 * TICK_NS) <= 2);
	for (int i = 0; i < MARKS; i++) {
		cr_assert_eq(hip->record->event(device, 1 + i, &e), TSR_OK, "%s", tsr_last_error());
		cr_expect(e.kind == TSR_RECORD_MARK && e.value == i && e.worker == 7 &&
			  e.owner == 1 && strcmp(e.name, "mark") == 0 && e.begin_ns == e.end_ns);
	}
	cr_expect_eq(hip->record->event(device, 1 + MARKS, &e), TSR_ERR_NOT_FOUND);
}

Test(hip, a_record_is_read_from_what_kernels_leave)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	void *bases[2];
	make_heaps(ranks);
	cr_assert_eq(map(ranks, 1, bases), TSR_OK);
	tsr_device_t *device = ranks[1].device;
	tsr_device_stream_t *stream = make_stream(&ranks[1]);
	const tsr_device_launch_t launch = {.stream = stream, .kernel = &kept, .blocks = 2},
				  unrecorded = {.stream = stream, .kernel = &foreign, .blocks = 1};
	fake->recorded = leave_record;
	cr_assert_eq(hip->stream->launch(device, &launch, 1, false), TSR_OK);
	cr_expect(fake->context.record.lanes == NULL, "nothing is recorded");
	cr_assert_eq(hip->record->start(device), TSR_OK, "%s", tsr_last_error());
	cr_assert_eq(hip->stream->launch(device, &launch, 1, false), TSR_OK, "%s",
		     tsr_last_error());
	cr_expect(fake->context.record.lanes_each == FAKE_THREADS / TSR_GPU_LANE_THREADS);
	cr_expect_eq(hip->record->stop(device), TSR_OK);
	check_entries(device);
	check_events(device);
	cr_assert_eq(hip->record->start(device), TSR_OK);
	cr_assert_eq(hip->stream->launch(device, &unrecorded, 1, false), TSR_OK, "%s",
		     tsr_last_error());
	cr_expect_eq(hip->record->stop(device), TSR_ERR_UNSUPPORTED);
	cr_expect(strstr(tsr_last_error(), "hip_test_one ran, and the executable has no code"),
		  "%s", tsr_last_error());
	fake->clock_stands_still = true;
	cr_expect_eq(hip->record->start(device), TSR_ERR_SYSTEM);
	cr_expect(strstr(tsr_last_error(), "rank 1's GPU does not say the time"), "%s",
		  tsr_last_error());
	hip->stream->destroy(stream);
	close_ranks(ranks);
}
