/*
 * The host half of HIP, on a runtime without a GPU (fake/hip.h): the backend
 * takes the runtime that is loaded already.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/backends/fake/ranks.h"

/* -------------------------------------------------- two kernels, with code for one architecture */

KERNEL(one, "hip_test", "hip_test_one", "");
KERNEL(two, "hip_test", "hip_test_two", "v");
KERNEL(absent, "hip_test", "hip_test_absent", "");
KERNEL(foreign, "hip_test_foreign", "hip_test_one", "");
IMAGE(image, "hip_test");
IMAGE(foreign_image, "hip_test_foreign");

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
	cr_expect(!tsr_hip_arch_runs("gfx942", "sm_90"));
	cr_expect(!tsr_hip_arch_runs("sm_90a", "gfx90a"));
}

Test(hip, images_of_numbered_architectures_run_by_their_kind)
{
	/* one architecture alone: that one */
	cr_expect(tsr_gpu_number_runs("sm_90a", 9, 0));
	cr_expect(!tsr_gpu_number_runs("sm_100a", 10, 3));
	cr_expect(!tsr_gpu_number_runs("sm_103a", 10, 0));
	/* a family: it, and later ones of the same major number */
	cr_expect(tsr_gpu_number_runs("sm_100f", 10, 0));
	cr_expect(tsr_gpu_number_runs("sm_100f", 10, 3));
	cr_expect(!tsr_gpu_number_runs("sm_103f", 10, 0));
	cr_expect(!tsr_gpu_number_runs("sm_100f", 11, 0));
	cr_expect(!tsr_gpu_number_runs("sm_100f", 12, 0));
	cr_expect(tsr_gpu_number_runs("sm_120f", 12, 1));
	/* neither: likewise */
	cr_expect(tsr_gpu_number_runs("sm_90", 9, 0));
	cr_expect(tsr_gpu_number_runs("sm_100", 10, 3));
	cr_expect(!tsr_gpu_number_runs("sm_90", 10, 0));
	/* by HIP's name of them, too */
	cr_expect(tsr_hip_arch_runs("sm_100f", "sm_103"));
	cr_expect(!tsr_hip_arch_runs("sm_100a", "sm_103"));
	/* kinds that nobody knows yet, and what is no name */
	cr_expect(!tsr_gpu_number_runs("sm_100g", 10, 0));
	cr_expect(!tsr_gpu_number_runs("sm_100af", 10, 0));
	cr_expect(!tsr_gpu_number_runs("gfx90a", 9, 0));
	cr_expect(!tsr_gpu_number_runs("sm_", 9, 0));
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
	cr_expect_eq(props.parallel_blocks, FAKE_SMS);
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
	wants_uncached = true;
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

Test(hip, streams_of_the_program_are_used_and_left_to_it)
{
	fake_hip_t *fake = load_fake();
	rank_t ranks[2];
	void *bases[2], *native = NULL;
	char theirs;
	tsr_device_stream_t *adopted;
	make_heaps(ranks);
	cr_assert_eq(map(ranks, 1, bases), TSR_OK);
	tsr_device_stream_t *own = make_stream(&ranks[1]);
	cr_assert_eq(hip->stream->adopt(ranks[1].device, ranks[1].team, &theirs, &adopted), TSR_OK);
	const tsr_device_launch_t launch = {.stream = adopted, .kernel = &two, .blocks = 1};
	cr_assert_eq(hip->stream->launch(ranks[1].device, &launch, 1, false), TSR_OK);
	cr_expect(fake->launched_on == (tsr_hip_stream_t)(void *)&theirs);
	cr_expect_eq(hip->stream->native(adopted, &native), TSR_OK);
	cr_expect(native == &theirs);
	cr_expect_eq(hip->stream->sync(adopted), TSR_OK);
	hip->stream->destroy(adopted);
	cr_expect_eq(fake->destroyed, 0);
	hip->stream->destroy(own);
	cr_expect_eq(fake->destroyed, 1);
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
