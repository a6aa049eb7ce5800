/*
 * Two ranks in one process on the runtime without a GPU (fake/hip.h): what the
 * tests of HIP's host half open, map and close.
 */
#ifndef TESSERA_TESTS_FAKE_RANKS_H
#define TESSERA_TESTS_FAKE_RANKS_H

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clean_environment.h"
#include "hip/device.h"
#include "tests/unit/backends/fake/hip.h"

/** A kernel as `tessera cc` registers one: `object_` is its description. */
#define KERNEL(object_, unit_, name_, variant_)                     \
	static const tsr_kernel_t object_ = {.abi = TSR_KERNEL_ABI, \
					     .workers = 1,          \
					     .name = name_,         \
					     .variant = variant_,   \
					     .unit = unit_,         \
					     .shared_bytes = 64};   \
	static const tsr_kernel_t *const object_##_entry            \
		__attribute__((used, section("tsr_kernels"))) = &object_

/** Device code of a unit for the fake's GPU: bytes that nothing reads. */
#define IMAGE(object_, unit_)                                                       \
	static const tsr_image_t object_ = {.unit = unit_,                          \
					    .backend = "hip",                       \
					    .arch = "gfx942",                       \
					    .bytes = (const unsigned char *)"code", \
					    .size_bytes = sizeof "code"};           \
	static const tsr_image_t *const object_##_entry                             \
		__attribute__((used, section("tsr_images"))) = &object_

/** Loads the runtime beside this program, under the name that the backend looks for. */
static inline fake_hip_t *load_fake(void)
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
static const int one_node[4] = {0, 0, 0, 0};

static inline void abort_world(void *ctx, tsr_status_t status, const char *sentence)
{
	rank_t *rank = ctx;
	rank->ended = status;
	snprintf(rank->sentence, sizeof rank->sentence, "%s", sentence);
	rank->host.words->aborted = 1;
}

static inline void keep_wait_record(void *ctx, tsr_wait_record_t *record, const void *flag)
{
	rank_t *rank = ctx;
	(void)flag;
	rank->record = *record;
}

static inline int lost_rank(void *ctx)
{
	(void)ctx;
	return -1;
}

static inline bool find_allocation(void *ctx, size_t heap_offset, char name_out[32],
				   size_t *offset_out)
{
	(void)ctx;
	strcpy(name_out, "flags");
	*offset_out = heap_offset;
	return true;
}

static const tsr_backend_t *const hip = &tsr_backend_hip;

/* Whether ranks ask for heaps that no cache keeps, as the world's settings may say. */
static bool wants_uncached;

static inline void open_rank(rank_t *rank, int index)
{
	*rank = (rank_t){.host = {.ctx = rank,
				  .rank = index,
				  .size = 2,
				  .deadline_ns = 1000000,
				  .nodes = one_node,
				  .hip_uncached = wants_uncached,
				  .words = &words}};
	rank->host.abort_world = abort_world;
	rank->host.keep_wait_record = keep_wait_record;
	rank->host.lost_rank = lost_rank;
	rank->host.find_allocation = find_allocation;
	cr_assert_eq(hip->device->open(&rank->host, &rank->device), TSR_OK, "%s", tsr_last_error());
}

enum { HEAP_BYTES = 4096 };

/** Opens both ranks, and makes their heaps. */
static inline void make_heaps(rank_t ranks[2])
{
	for (int r = 0; r < 2; r++) {
		open_rank(&ranks[r], r);
		cr_assert_eq(hip->heap->create(ranks[r].device, HEAP_BYTES, &ranks[r].export),
			     TSR_OK, "%s", tsr_last_error());
	}
}

static inline tsr_status_t map(rank_t ranks[2], int rank, void *bases[2])
{
	const tsr_heap_export_t exports[] = {ranks[0].export, ranks[1].export};
	return hip->heap->map(ranks[rank].device, exports, 2, bases);
}

/** A stream of both ranks. */
static inline tsr_device_stream_t *make_stream(rank_t *rank)
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

static inline void close_ranks(rank_t ranks[2])
{
	for (int r = 0; r < 2; r++)
		if (ranks[r].team)
			hip->team->destroy(ranks[r].device, ranks[r].team);
	for (int r = 0; r < 2; r++)
		hip->heap->unmap(ranks[r].device);
	for (int r = 0; r < 2; r++)
		hip->device->close(ranks[r].device);
}

#endif
