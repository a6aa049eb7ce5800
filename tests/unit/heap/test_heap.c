/*
 * The symmetric heap in worlds of several sizes: the same offsets everywhere,
 * on all ranks or on none.
 */
#include <pthread.h>

#include "tessera/dev.h"
#include "world_test.h"

enum { MIB = 1 << 20 };

static size_t offset_of(const tsr_world_t *world, const TSR_HEAP void *pointer)
{
	return (size_t)((uintptr_t)pointer -
			(uintptr_t)tsr_heap_base(world, tsr_world_rank(world)));
}

/* True where every rank's pointer lies at the same offset. Collective. */
static bool symmetric(tsr_world_t *world, const TSR_HEAP void *pointer)
{
	uint64_t mine = offset_of(world, pointer), all[TSR_MAX_RANKS];
	if (tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine) != TSR_OK)
		return false;
	for (int r = 0; r < tsr_world_size(world); r++)
		if (all[r] != mine)
			return false;
	return true;
}

/* ------------------------------------------------------------------ allocation */

static int alloc_body(tsr_world_t *world, int argc, char **argv)
{
	static const size_t sizes[] = {1, 255, 256, 257, 4096, 1000003};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t align = 0; align <= 2 * MIB; align = align ? align * 8 : 1) {
			TSR_HEAP void *pointer;
			CHECK(tsr_heap_alloc(world, sizes[i], align, "x", &pointer) == TSR_OK);
			CHECK((uintptr_t)pointer % (align ? align : 256) == 0,
			      "%zu is not aligned to %zu", offset_of(world, pointer), align);
			CHECK(symmetric(world, pointer));
		}
	TSR_HEAP void *reused;
	size_t offset = 0;
	for (int i = 0; i < 3; i++) {
		CHECK(tsr_heap_alloc(world, 5000, 0, "reused", &reused) == TSR_OK);
		CHECK(i == 0 || offset_of(world, reused) == offset,
		      "released memory is used again");
		offset = offset_of(world, reused);
		CHECK(tsr_heap_free(world, reused) == TSR_OK);
	}
	CHECK(tsr_heap_free(world, NULL) == TSR_OK);
	return 0;
}

Test(heap, the_same_offsets_on_every_rank)
{
	world_each(alloc_body, NULL);
}

static int poison_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const size_t bytes = 10007;
	unsigned char *host = (unsigned char *)malloc(bytes);
	TSR_HEAP void *pointer;
	/* the second time over memory that has been written */
	for (int round = 0; round < 2; round++) {
		CHECK(tsr_heap_alloc(world, bytes, 0, "poisoned", &pointer) == TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, host, pointer, bytes) == TSR_OK);
		for (size_t i = 0; i < bytes; i++)
			CHECK(host[i] == 0xFF, "byte %zu is %02x", i, host[i]);
		CHECK(tsr_dtype_get(TSR_F32, host, 5) != tsr_dtype_get(TSR_F32, host, 5), "NaN");
		CHECK(tsr_memset_heap(world, pointer, 7, bytes) == TSR_OK);
		CHECK(tsr_heap_free(world, pointer) == TSR_OK);
	}
	free(host);
	return 0;
}

Test(heap, fresh_memory_is_poisoned)
{
	world_each(poison_body, NULL);
}

/* A random life: every allocation keeps what was written to it, whatever happens around it. */
static int life_body(tsr_world_t *world, int argc, char **argv)
{
	enum { LIVE = 16, STEPS = 150, MOST = 5000 };
	(void)argc, (void)argv;
	struct {
		TSR_HEAP void *pointer;
		size_t bytes;
		unsigned char value;
	} live[LIVE] = {{0}};
	unsigned char host[MOST];
	for (uint64_t step = 0; step < STEPS; step++) {
		const int i = (int)tsr_random_int(1, step, 0, LIVE);
		if (live[i].bytes == 0) {
			live[i].bytes = (size_t)tsr_random_int(2, step, 1, MOST);
			live[i].value = (unsigned char)(step + (uint64_t)tsr_world_rank(world));
			CHECK(tsr_heap_alloc(world, live[i].bytes, (size_t)1 << step % 13, NULL,
					     &live[i].pointer) == TSR_OK);
			CHECK(tsr_memset_heap(world, live[i].pointer, live[i].value,
					      live[i].bytes) == TSR_OK);
		} else {
			CHECK(symmetric(world, live[i].pointer));
			CHECK(tsr_memcpy_from_heap(world, host, live[i].pointer, live[i].bytes) ==
			      TSR_OK);
			for (size_t b = 0; b < live[i].bytes; b++)
				CHECK(host[b] == live[i].value, "byte %zu of allocation %d is %d",
				      b, i, host[b]);
			CHECK(tsr_heap_free(world, live[i].pointer) == TSR_OK);
			live[i].bytes = 0;
		}
	}
	for (int i = 0; i < LIVE; i++)
		CHECK(live[i].bytes == 0 || tsr_heap_free(world, live[i].pointer) == TSR_OK);
	tsr_heap_usage_t usage = {.size = sizeof usage};
	CHECK(tsr_heap_usage(world, &usage) == TSR_OK);
	CHECK(usage.allocations == 0 && usage.free_bytes == usage.heap_bytes &&
	      usage.largest_bytes == usage.heap_bytes);
	return 0;
}

Test(heap, allocations_do_not_touch_each_other)
{
	world_each(life_body, NULL);
}

/* ------------------------------------------------------------------ questions */

static int questions_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	const int rank = tsr_world_rank(world), size = tsr_world_size(world);
	TSR_HEAP void *pointer, *peer;
	const char *name;
	size_t offset;
	CHECK(tsr_heap_alloc(world, 1000, 0, "before", &pointer) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 1000, 0, "weights of the second layer, all of them",
			     &pointer) == TSR_OK);
	CHECK(tsr_heap_find(world, (TSR_HEAP char *)pointer + 999, &name, &offset) == TSR_OK);
	CHECK(strcmp(name, "weights of the second layer, all of them") == 0 && offset == 999,
	      "%s + %zu", name, offset);
	CHECK(tsr_heap_find(world, (TSR_HEAP char *)pointer + 1000, &name, &offset) ==
	      TSR_ERR_NOT_FOUND);
	CHECK(tsr_heap_find(world, pointer, NULL, NULL) == TSR_OK);
	for (int r = 0; r < size; r++) {
		CHECK(tsr_heap_translate(world, (TSR_HEAP char *)pointer + 5, r, &peer) == TSR_OK);
		CHECK((uintptr_t)peer - (uintptr_t)tsr_heap_base(world, r) ==
		      offset_of(world, pointer) + 5);
	}
	CHECK(tsr_heap_translate(world, pointer, rank, &peer) == TSR_OK);
	CHECK(peer == pointer, "my own copy is where my pointer points");
	CHECK(tsr_native_pointer(world, pointer, rank) == (void *)(uintptr_t)pointer);
	CHECK(tsr_heap_base(world, -1) == NULL && tsr_heap_base(world, size) == NULL);
	return 0;
}

Test(heap, find_and_translate)
{
	world_each(questions_body, NULL);
}

/* What a rank writes into its copy is what its peers find at the translated address. */
static int sharing_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (strcmp(tsr_world_backend(world), "cpuemu") != 0)
		return 0; /* elsewhere the host cannot read a peer's memory */
	const int rank = tsr_world_rank(world);
	TSR_HEAP void *pointer, *peer;
	CHECK(tsr_heap_alloc(world, sizeof rank, 0, "mine", &pointer) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, pointer, &rank, sizeof rank) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int r = 0; r < tsr_world_size(world); r++) {
		int found;
		CHECK(tsr_heap_translate(world, pointer, r, &peer) == TSR_OK);
		memcpy(&found, (const void *)(uintptr_t)peer, sizeof found);
		CHECK(found == r, "found %d in the heap of rank %d", found, r);
		CHECK(tsr_native_pointer(world, pointer, r) == (void *)(uintptr_t)peer);
	}
	return tsr_barrier(world) == TSR_OK ? 0 : 1;
}

Test(heap, peers_share_what_is_allocated)
{
	world_each(sharing_body, NULL);
}

/* ------------------------------------------------------------------ host copies */

static int copies_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	unsigned char host[1000], back[1002];
	TSR_HEAP char *pointer;
	CHECK(tsr_heap_alloc(world, 1000, 0, "copied", (TSR_HEAP void **)&pointer) == TSR_OK);
	for (size_t i = 0; i < sizeof host; i++)
		host[i] = (unsigned char)(i * 7 + (size_t)tsr_world_rank(world));
	CHECK(tsr_memset_heap(world, pointer, 0, 1000) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, pointer + 3, host + 3, 900) == TSR_OK);
	memset(back, 0xCC, sizeof back);
	CHECK(tsr_memcpy_from_heap(world, back + 1, pointer, 1000) == TSR_OK);
	CHECK(back[0] == 0xCC && back[1001] == 0xCC);
	for (size_t i = 0; i < 1000; i++)
		CHECK(back[i + 1] == (i >= 3 && i < 903 ? host[i] : 0), "byte %zu", i);
	CHECK(tsr_memcpy_to_heap(world, pointer + 1000, host, 0) == TSR_OK,
	      "nothing may go anywhere");
	return 0;
}

Test(heap, host_copies)
{
	world_each(copies_body, NULL);
}

/* Look-ups come from other threads, the backend's among them, while the rank allocates. */
typedef struct looker {
	tsr_world_t *world;
	TSR_HEAP void *pointer;
	int wrong;
} looker_t;

static void *look_up(void *data)
{
	looker_t *looker = (looker_t *)data;
	for (int i = 0; i < 2000; i++) {
		const char *name = "";
		size_t offset = 1;
		tsr_heap_usage_t usage = {.size = sizeof usage};
		looker->wrong +=
			tsr_heap_find(looker->world, looker->pointer, &name, &offset) != TSR_OK ||
			offset != 0 || strcmp(name, "stays") != 0;
		looker->wrong +=
			tsr_heap_usage(looker->world, &usage) != TSR_OK || usage.allocations < 1;
	}
	return NULL;
}

static int threads_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	looker_t looker = {.world = world};
	TSR_HEAP void *others[20];
	pthread_t thread;
	CHECK(tsr_heap_alloc(world, 100, 0, "stays", &looker.pointer) == TSR_OK);
	CHECK(pthread_create(&thread, NULL, look_up, &looker) == 0);
	int failures = 0;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 20; i++)
			failures += tsr_heap_alloc(world, 500, 0, "comes and goes", &others[i]) !=
				    TSR_OK;
		for (int i = 0; i < 20; i++)
			failures += tsr_heap_free(world, others[i]) != TSR_OK;
	}
	pthread_join(thread, NULL);
	CHECK(failures == 0 && looker.wrong == 0, "%d failures, %d wrong answers", failures,
	      looker.wrong);
	return 0;
}

Test(heap, look_ups_from_other_threads)
{
	world_each(threads_body, NULL);
}

/* ------------------------------------------------------------------ kernels in flight */

typedef struct late_args {
	TSR_HEAP uint32_t *done;
} late_args_t;

/* Takes its time, and says at the end that it is over. */
TSR_KERNEL(late, late_args_t, a)
{
	const int me = tsr_rank(block);
	uint32_t sum = 1;
	for (int i = 0; i < 300000; i++)
		sum += tsr_atomic_load(block, a->done, me, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, a->done, sum, me, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

/*
 * Rank 0's kernel runs when the release is called. When it returns, on whatever
 * rank, the kernel has ended.
 */
static int in_flight_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	TSR_HEAP void *done, *used, *peer;
	tsr_stream_t *stream;
	uint32_t seen = 0;
	CHECK(tsr_heap_alloc(world, sizeof seen, 0, "done", &done) == TSR_OK);
	CHECK(tsr_heap_alloc(world, 4096, 0, "used", &used) == TSR_OK);
	CHECK(tsr_memset_heap(world, done, 0, sizeof seen) == TSR_OK);
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const late_args_t args = {(TSR_HEAP uint32_t *)done};
	if (tsr_world_rank(world) == 0)
		CHECK(tsr_launch(stream, &late, 1, &args) == TSR_OK);
	CHECK(tsr_heap_free(world, used) == TSR_OK);
	CHECK(tsr_heap_translate(world, done, 0, &peer) == TSR_OK);
	if (strcmp(tsr_world_backend(world), "cpuemu") == 0)
		memcpy(&seen, (const void *)(uintptr_t)peer, sizeof seen);
	else if (tsr_world_rank(world) == 0)
		CHECK(tsr_memcpy_from_heap(world, &seen, done, sizeof seen) == TSR_OK);
	else
		seen = 1;
	CHECK(seen == 1, "the kernel of rank 0 was still running");
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return tsr_barrier(world) == TSR_OK ? 0 : 1;
}

Test(heap, release_waits_for_the_kernels_of_all_ranks)
{
	world_each(in_flight_body, NULL);
}
