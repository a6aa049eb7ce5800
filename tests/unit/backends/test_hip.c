/*
 * The host half of HIP, on a runtime without a GPU (fake/hip.h): the backend
 * takes the runtime that is loaded already.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clean_environment.h"
#include "hip/device.h"
#include "tests/unit/backends/fake/hip.h"
#include "under_valgrind.h"

/* -------------------------------------------------- two kernels, with code for one architecture */

#define KERNEL(object_, name_, variant_)                            \
	static const tsr_kernel_t object_ = {.abi = TSR_KERNEL_ABI, \
					     .workers = 1,          \
					     .name = name_,         \
					     .variant = variant_,   \
					     .unit = "hip_test",    \
					     .shared_bytes = 64};   \
	static const tsr_kernel_t *const object_##_entry            \
		__attribute__((used, section("tsr_kernels"))) = &object_
KERNEL(one, "hip_test_one", "");
KERNEL(two, "hip_test_two", "v");
KERNEL(absent, "hip_test_absent", "");
static const tsr_kernel_t foreign = {.abi = TSR_KERNEL_ABI,
				     .workers = 1,
				     .name = "hip_test_one",
				     .variant = "",
				     .unit = "hip_test_foreign"};
static const tsr_kernel_t *const foreign_entry __attribute__((used, section("tsr_kernels"))) =
	&foreign;

static const unsigned char code[] = "code";
static const tsr_image_t image = {.unit = "hip_test",
				  .backend = "hip",
				  .arch = "gfx942",
				  .bytes = code,
				  .size_bytes = sizeof code};
static const tsr_image_t *const image_entry __attribute__((used, section("tsr_images"))) = &image;
static const tsr_image_t recorded = {.unit = "hip_test" TSR_IMAGE_RECORDED,
				     .backend = "hip",
				     .arch = "gfx942",
				     .bytes = code,
				     .size_bytes = sizeof code};
static const tsr_image_t *const recorded_entry __attribute__((used, section("tsr_images"))) =
	&recorded;
/* keeps no record */
static const tsr_image_t foreign_image = {.unit = "hip_test_foreign",
					  .backend = "hip",
					  .arch = "gfx942",
					  .bytes = code,
					  .size_bytes = sizeof code};
static const tsr_image_t *const foreign_image_entry __attribute__((used, section("tsr_images"))) =
	&foreign_image;

/* ------------------------------------------ the runtime, and worlds of two ranks in one process */

/** Loads the runtime beside this program, under the name that the backend looks for. */
static fake_hip_t *load_fake(void)
{
	char path[PATH_MAX] = "";
	const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	char *end = length > 0 ? strrchr(path, '/') : NULL;
	cr_assert(end != NULL);
	strcpy(end, "/fake/libhip.so");
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	cr_assert(library != NULL, "%s", dlerror());
	fake_hip_t *fake = dlsym(library, "fake_hip");
	cr_assert(fake != NULL);
	fake->devices = 2;
	fake->arch = "gfx942:sramecc+:xnack-";
	return fake;
}

typedef struct rank {
	tsr_host_t host;
	tsr_device_t *device;
	tsr_heap_export_t export;
	tsr_host_team_t members; /* of both ranks */
	tsr_device_team_t *team; /* null: none was made */
	tsr_status_t ended;      /* what the world was ended with */
	char sentence[640];
	tsr_wait_record_t record;
} rank_t;

static tsr_shared_words_t words;

static void abort_world(void *ctx, tsr_status_t status, const char *sentence)
{
	rank_t *rank = ctx;
	rank->ended = status;
	snprintf(rank->sentence, sizeof rank->sentence, "%s", sentence);
	rank->host.words->aborted = 1;
}

static void keep_wait_record(void *ctx, tsr_wait_record_t *record, const void *flag)
{
	rank_t *rank = ctx;
	(void)flag;
	rank->record = *record;
}

static int lost_rank(void *ctx)
{
	(void)ctx;
	return -1;
}

static bool find_allocation(void *ctx, size_t heap_offset, char name_out[32], size_t *offset_out)
{
	(void)ctx;
	strcpy(name_out, "flags");
	*offset_out = heap_offset;
	return true;
}

static const tsr_backend_t *const hip = &tsr_backend_hip;

static void open_rank(rank_t *rank, int index)
{
	*rank = (rank_t){.host = {.ctx = rank,
				  .rank = index,
				  .size = 2,
				  .deadline_ns = 1000000,
				  .words = &words}};
	rank->host.abort_world = abort_world;
	rank->host.keep_wait_record = keep_wait_record;
	rank->host.lost_rank = lost_rank;
	rank->host.find_allocation = find_allocation;
	cr_assert_eq(hip->device->open(&rank->host, &rank->device), TSR_OK, "%s", tsr_last_error());
}

enum { HEAP_BYTES = 4096 };

/** Opens both ranks, and makes their heaps. */
static void make_heaps(rank_t ranks[2])
{
	for (int r = 0; r < 2; r++) {
		open_rank(&ranks[r], r);
		cr_assert_eq(hip->heap->create(ranks[r].device, HEAP_BYTES, &ranks[r].export),
			     TSR_OK, "%s", tsr_last_error());
	}
}

static tsr_status_t map(rank_t ranks[2], int rank, void *bases[2])
{
	const tsr_heap_export_t exports[] = {ranks[0].export, ranks[1].export};
	return hip->heap->map(ranks[rank].device, exports, 2, bases);
}

/** A stream of both ranks. */
static tsr_device_stream_t *make_stream(rank_t *rank)
{
	static const int both[] = {0, 1};
	tsr_device_stream_t *stream;
	rank->members =
		(tsr_host_team_t){.rank = rank->host.rank, .size = 2, .ranks = both, .name = ""};
	if (!rank->team)
		cr_assert_eq(hip->team->create(rank->device, &rank->members, &rank->team), TSR_OK,
			     "%s", tsr_last_error());
	cr_assert_eq(hip->stream->create(rank->device, rank->team, &stream), TSR_OK, "%s",
		     tsr_last_error());
	return stream;
}

static void close_ranks(rank_t ranks[2])
{
	for (int r = 0; r < 2; r++)
		if (ranks[r].team)
			hip->team->destroy(ranks[r].device, ranks[r].team);
	for (int r = 0; r < 2; r++)
		hip->heap->unmap(ranks[r].device);
	for (int r = 0; r < 2; r++)
		hip->device->close(ranks[r].device);
}

/* ------------------------------------------------------------------ */

Test(hip, images_run_on_their_architecture)
{
	cr_expect(tsr_hip_arch_runs("gfx942", "gfx942"));
	cr_expect(!tsr_hip_arch_runs("gfx90a", "gfx942"));
	cr_expect(!tsr_hip_arch_runs("gfx90a", "gfx90")); /* another one, not a kind of it */
	cr_expect(tsr_hip_arch_runs("sm_90a", "sm_90"));
	cr_expect(tsr_hip_arch_runs("sm_90", "sm_90"));
	cr_expect(!tsr_hip_arch_runs("sm_100a", "sm_90"));
	cr_expect(!tsr_hip_arch_runs("sm_90a", "sm_9"));
}

Test(hip, the_architecture_is_found_among_the_properties_of_any_version)
{
	static const int places[] = {396, 1160}; /* in HIP 5, in HIP 6 */
	char arch[64];
	for (int i = 0; i < 2; i++) {
		tsr_hip_properties_t properties = {"AMD gfx000"};
		cr_expect(!tsr_hip_arch_find(&properties, arch));
		strcpy(properties.bytes + places[i], "gfx90a:sramecc+:xnack-");
		cr_assert(tsr_hip_arch_find(&properties, arch));
		cr_assert_str_eq(arch, "gfx90a");
		strcpy(properties.bytes + places[i], "sm_90");
		cr_assert(tsr_hip_arch_find(&properties, arch));
		cr_assert_str_eq(arch, "sm_90");
	}
}

Test(hip, devices_are_counted_and_taken_in_turn)
{
	fake_hip_t *fake = load_fake();
	rank_t rank;
	tsr_device_props_t props = {.size = sizeof props};
	int count = 0;
	cr_assert_eq(hip->device->probe(&count), TSR_OK, "%s", tsr_last_error());
	cr_expect_eq(count, 2);
	open_rank(&rank, 3);
	cr_expect_eq(hip->device->properties(rank.device, &props), TSR_OK);
	cr_assert_str_eq(props.name, "fake GPU 1 (gfx942)");
	cr_expect_eq(props.resident_blocks, FAKE_SMS);
	cr_expect_eq(fake->current, 0, "the program's device is given back");
	hip->device->close(rank.device);
}

Test(hip, why_there_is_no_device)
{
	fake_hip_t *fake = load_fake();
	int count = 0;
	fake->arch = "gfx1100";
	cr_expect_eq(hip->device->probe(&count), TSR_ERR_NO_DEVICE);
	cr_expect(strstr(tsr_last_error(), "gfx1100") && strstr(tsr_last_error(), "no code"), "%s",
		  tsr_last_error());
	fake->devices = 0;
	cr_expect_eq(hip->device->probe(&count), TSR_ERR_NO_DEVICE);
	cr_expect(strstr(tsr_last_error(), "finds no GPU"), "%s", tsr_last_error());
	setenv("ROCR_VISIBLE_DEVICES", "9", 1);
	cr_expect_eq(hip->device->probe(&count), TSR_ERR_NO_DEVICE);
	cr_expect(strstr(tsr_last_error(), "ROCR_VISIBLE_DEVICES is '9'"), "%s", tsr_last_error());
	cr_expect_eq(count, 0);
}

Test(hip, heaps_are_mapped_and_checked)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	void *bases[2][2];
	uint64_t word = 0;
	make_heaps(ranks);
	cr_expect_eq(fake->heap_flags, TSR_HIP_MEMORY_FINE);
	fake->old_ipc = true;
	cr_assert_eq(map(ranks, 0, bases[0]), TSR_OK, "%s", tsr_last_error());
	fake->old_ipc = false;
	cr_assert_eq(map(ranks, 1, bases[1]), TSR_OK, "%s", tsr_last_error());
	cr_expect(bases[0][0] == bases[1][0] && bases[0][1] == bases[1][1] &&
		  bases[0][0] != bases[0][1]);
	cr_expect_eq(hip->heap->fill(ranks[1].device, bases[1][1], 0x5a, 64), TSR_OK);
	cr_expect_eq(hip->heap->read(ranks[0].device, &word, bases[0][1], sizeof word), TSR_OK);
	cr_expect(word == 0x5a5a5a5a5a5a5a5a);
	cr_expect_eq(fake->opened, 2);
	close_ranks(ranks);
	cr_expect_eq(fake->opened, 0);
}

Test(hip, memory_of_the_heap_can_be_uncached)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	setenv("TESSERA_HIP_HEAP", "uncached", 1);
	make_heaps(ranks);
	cr_expect_eq(fake->heap_flags, TSR_HIP_MEMORY_UNCACHED);
	close_ranks(ranks);
}

Test(hip, a_broken_mapping_names_pair_cause_and_cure)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	void *bases[2];
	make_heaps(ranks);
	fake->loses_stores = true;
	cr_expect_eq(map(ranks, 1, bases), TSR_ERR_SYSTEM);
	cr_expect(strstr(tsr_last_error(), "rank 0's heap, mapped on the GPU of rank 1 (fake GPU 1 "
					   "(gfx942)), does not keep"),
		  "%s", tsr_last_error());
	cr_expect(strstr(tsr_last_error(), "set TESSERA_HIP_HEAP=uncached"), "%s",
		  tsr_last_error());
	fake->loses_stores = false;
	fake->loses_atomics = true;
	cr_expect_eq(map(ranks, 0, bases), TSR_ERR_SYSTEM);
	cr_expect(strstr(tsr_last_error(), "does not add up atomics"), "%s", tsr_last_error());
	fake->loses_atomics = false;
	const tsr_heap_export_t mine = ranks[0].export;
	ranks[0].export = ranks[1].export;
	cr_expect_eq(map(ranks, 1, bases), TSR_ERR_SYSTEM);
	cr_expect(strstr(tsr_last_error(), "rank 0's heap") &&
			  strstr(tsr_last_error(), "is not that heap"),
		  "%s", tsr_last_error());
	ranks[0].export = mine;
	ranks[0].export.size_bytes = 1;
	cr_expect_eq(map(ranks, 1, bases), TSR_ERR_MISMATCH);
	close_ranks(ranks);
}

Test(hip, launches_carry_what_a_kernel_needs)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	void *bases[2];
	tsr_device_stream_t *stream;
	tsr_device_event_t *begin, *end;
	int64_t ns = 0;
	make_heaps(ranks);
	cr_assert_eq(map(ranks, 1, bases), TSR_OK);
	stream = make_stream(&ranks[1]);
	const tsr_device_launch_t launch = {.stream = stream, .kernel = &two, .blocks = 5};
	cr_assert_eq(hip->stream->launch(ranks[1].device, &launch, 1, false), TSR_OK, "%s",
		     tsr_last_error());
	cr_assert_str_eq(fake->name, "tsr_entry_hip_test_two__v");
	cr_expect_eq(fake->blocks, 5);
	cr_expect_eq(fake->threads, FAKE_THREADS);
	cr_expect_eq(fake->shared_bytes, 64);
	cr_expect(fake->context.rank == 1 && fake->context.size == 2 && fake->context.blocks == 5 &&
		  fake->context.launch == 1);
	cr_expect(fake->context.clock_khz == FAKE_CLOCK_KHZ &&
		  fake->context.heap_bytes == HEAP_BYTES);
	cr_expect(fake->context.heap == bases[1] && fake->context.peer_offset[1] == 0);
	cr_expect(fake->context.peer_offset[0] == (intptr_t)bases[0] - (intptr_t)bases[1]);
	cr_expect_eq(hip->stream->sync(stream), TSR_OK);
	cr_assert_eq(hip->event->create(ranks[1].device, &begin), TSR_OK);
	cr_assert_eq(hip->event->create(ranks[1].device, &end), TSR_OK);
	cr_expect_eq(hip->event->elapsed_ns(begin, end, &ns), TSR_ERR_ARGUMENT);
	cr_expect_eq(hip->event->record(begin, stream), TSR_OK);
	cr_expect_eq(hip->event->record(end, stream), TSR_OK);
	cr_expect_eq(hip->stream->wait_event(stream, end), TSR_OK);
	cr_expect_eq(hip->event->sync(end), TSR_OK);
	cr_expect(hip->event->elapsed_ns(begin, end, &ns) == TSR_OK && ns == 1500000);
	hip->event->destroy(begin);
	hip->event->destroy(end);
	hip->stream->destroy(stream);
	close_ranks(ranks);
}

/** A number for each byte of a heap that is nobody else's. */
static unsigned char byte_of(int rank, size_t i)
{
	return (unsigned char)((size_t)rank * 100 + i * 3 + 1);
}

Test(hip, copies_on_streams_go_to_the_peer_row_by_row)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	void *bases[2];
	unsigned char bytes[HEAP_BYTES], *heap[2];
	tsr_device_stream_t *stream;
	make_heaps(ranks);
	cr_assert_eq(map(ranks, 1, bases), TSR_OK);
	for (int r = 0; r < 2; r++) {
		heap[r] = bases[r];
		for (size_t i = 0; i < HEAP_BYTES; i++)
			heap[r][i] = bytes[i] = byte_of(r, i);
	}
	stream = make_stream(&ranks[1]);
	tsr_device_copy_t copy = {.dst = heap[0] + 70,
				  .src = heap[1] + 11,
				  .dst_pitch_bytes = 64,
				  .src_pitch_bytes = 48,
				  .row_bytes = 33,
				  .rows = 5,
				  .peer = 0};
	cr_assert_eq(hip->stream->copy(stream, &copy), TSR_OK, "%s", tsr_last_error());
	cr_expect_eq(fake->current, 0, "the program's device is given back");
	cr_assert_eq(hip->stream->sync(stream), TSR_OK);
	for (size_t i = 0; i < HEAP_BYTES; i++) {
		const size_t row = (i - 70) / 64, col = (i - 70) % 64;
		const bool copied = i >= 70 && row < 5 && col < 33;
		cr_assert_eq(heap[0][i], copied ? byte_of(1, 11 + row * 48 + col) : byte_of(0, i),
			     "byte %zu", i);
		cr_assert_eq(heap[1][i], bytes[i], "my own heap is as it was, byte %zu", i);
	}
	copy.row_bytes = 49; /* which the library never asks for */
	cr_expect_eq(hip->stream->copy(stream, &copy), TSR_ERR_SYSTEM);
	cr_expect(strstr(tsr_last_error(), "copying 5 rows of 49 bytes from rank 1 to rank 0"),
		  "%s", tsr_last_error());
	copy.row_bytes = 1;
	words.aborted = 1;
	cr_expect_eq(hip->stream->copy(stream, &copy), TSR_ERR_ABORTED);
	cr_expect_eq(heap[0][70], byte_of(1, 11), "nothing is copied any more");
	hip->stream->destroy(stream);
	close_ranks(ranks);
}

Test(hip, what_cannot_be_launched)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	make_heaps(ranks);
	tsr_device_t *device = ranks[0].device;
	tsr_device_stream_t *a = make_stream(&ranks[0]), *b = make_stream(&ranks[0]);
	const int most = FAKE_SMS * FAKE_BLOCKS_PER_SM;
	tsr_device_launch_t group[] = {{.stream = a, .kernel = &one, .blocks = most},
				       {.stream = b, .kernel = &two, .blocks = 1}};
	cr_expect_eq(hip->stream->launch(device, group, 2, true), TSR_ERR_RESIDENCY);
	cr_expect(strstr(tsr_last_error(), "9 blocks, and 8 can be resident"), "%s",
		  tsr_last_error());
	cr_expect_eq(fake->launches, 0);
	group[0].blocks = most - 1;
	cr_expect_eq(hip->stream->launch(device, group, 2, true), TSR_OK, "%s", tsr_last_error());
	cr_expect_eq(fake->launches, 2);
	group[0].kernel = &absent;
	cr_expect_eq(hip->stream->launch(device, group, 1, false), TSR_ERR_UNSUPPORTED);
	cr_expect(strstr(tsr_last_error(), "no kernel hip_test_absent"), "%s", tsr_last_error());
	hip->stream->destroy(a);
	hip->stream->destroy(b);
	close_ranks(ranks);
}

Test(hip, an_expired_wait_ends_the_world)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	void *bases[2];
	tsr_device_stream_t *stream;
	make_heaps(ranks);
	cr_assert_eq(map(ranks, 0, bases), TSR_OK);
	stream = make_stream(&ranks[0]);
	const tsr_device_launch_t launch = {.stream = stream, .kernel = &one, .blocks = 1};
	fake->wait_expires = true;
	cr_assert_eq(hip->stream->launch(ranks[0].device, &launch, 1, false), TSR_OK);
	cr_expect_eq(hip->stream->sync(stream), TSR_ERR_TIMEOUT);
	cr_expect(strstr(tsr_last_error(), "hip_test_one") &&
			  strstr(tsr_last_error(), "fake.c:7 for rank 1 to raise 'flags'+64 to 3"),
		  "%s", tsr_last_error());
	cr_expect_eq(ranks[0].ended, TSR_ERR_TIMEOUT);
	cr_expect_eq(ranks[0].record.expected, 3);
	cr_expect_eq(hip->stream->sync(stream), TSR_ERR_ABORTED); /* said once */
	cr_expect_eq(hip->stream->launch(ranks[0].device, &launch, 1, false), TSR_ERR_ABORTED);
	hip->stream->destroy(stream);
	close_ranks(ranks);
}

Test(hip, a_crash_names_the_kernel)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	tsr_device_stream_t *stream;
	make_heaps(ranks);
	stream = make_stream(&ranks[0]);
	const tsr_device_launch_t launch = {.stream = stream, .kernel = &one, .blocks = 1};
	cr_assert_eq(hip->stream->launch(ranks[0].device, &launch, 1, false), TSR_OK);
	fake->stream = 719;
	cr_expect_eq(hip->stream->sync(stream), TSR_ERR_KERNEL);
	cr_expect(strstr(tsr_last_error(), "hip_test_one") && strstr(tsr_last_error(), "rocgdb"),
		  "%s", tsr_last_error());
	cr_expect_eq(ranks[0].ended, TSR_ERR_KERNEL);
	hip->stream->destroy(stream);
	close_ranks(ranks);
}

/* ------------------------------------------ the record of a run */

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
				 .remote_written_bytes = 64,
				 .first_product = now + 1,
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
	/* the clock's rate is measured, and each time is rounded */
	const int64_t took_ns = (int64_t)(e.end_ns - e.begin_ns),
		      product_ns = (int64_t)(e.first_product_ns - e.begin_ns);
	cr_expect(llabs(took_ns - 100 * TICK_NS) <= 2 && llabs(product_ns - TICK_NS) <= 2 &&
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
	const tsr_device_launch_t launch = {.stream = stream, .kernel = &two, .blocks = 2},
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
