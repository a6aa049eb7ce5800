/*
 * Windows of the CUDA backend, in whole worlds of processes on a driver without
 * a GPU (fake/cuda.h): memory, descriptors and mappings are real, kernels there
 * are none.
 */
#include <dlfcn.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "clean_environment.h"
#include "gpu/gpu.h"
#include "src/world/world.h"
#include "tests/unit/backends/fake/cuda.h"
#include "world_test.h"

enum { UNIT = FAKE_UNIT };

static fake_cuda_t *fake; /* every rank's process has its own */

/** Loads the driver beside this program, under the name that the backend looks for. */
static void begin(const char *environment)
{
	char path[PATH_MAX] = "";
	const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	char *end = length > 0 ? strrchr(path, '/') : NULL;
	cr_assert(end != NULL);
	strcpy(end, "/fake/libcuda.so");
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	cr_assert(library != NULL, "%s", dlerror());
	fake = dlsym(library, "fake_cuda");
	cr_assert(fake != NULL);
	clean_environment();
	set_environment("TESSERA_BACKEND=cuda TESSERA_HEAP_SIZE=3M TESSERA_DEADLINE=200s");
	set_environment(environment);
}

/** The functions of the fake, which this program does not link. */
static void *memory_of(char kind)
{
	void *(*make)(fake_cuda_t *, char);
	*(void **)(void *)&make = dlsym(RTLD_DEFAULT, "fake_cuda_memory");
	return make(fake, kind);
}

static unsigned char *parts_of(int id, size_t bytes, int parts)
{
	void *(*make)(fake_cuda_t *, int, size_t, int);
	*(void **)(void *)&make = dlsym(RTLD_DEFAULT, "fake_cuda_parts");
	return make(fake, id, bytes, parts);
}

static void each_world(tsr_main_fn body)
{
	static const int sizes[] = {1, 2, 3, 5, 8};
	begin("");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		cr_expect(world_run(sizes[i], TSR_PLACE_PROCESS, body, NULL) == 0, "%d ranks",
			  sizes[i]);
}

static bool says(const char *text)
{
	return strstr(tsr_last_error(), text) != NULL;
}

static unsigned char mark_of(int rank, size_t at)
{
	return (unsigned char)(rank * 37 + (int)(at / 4096) * 5 + 1);
}

static void fill(unsigned char *memory, size_t bytes, int rank)
{
	for (size_t at = 0; at < bytes; at++)
		memory[at] = mark_of(rank, at);
}

/** Windows begin at one offset on all ranks. */
static int check_offset(tsr_world_t *world, const TSR_HEAP void *window)
{
	const uintptr_t base = (uintptr_t)tsr_heap_base(world, tsr_world_rank(world));
	const uint64_t mine = (uintptr_t)window - base;
	uint64_t all[8];
	CHECK(tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine) == TSR_OK);
	for (int r = 0; r < tsr_world_size(world); r++)
		CHECK(all[r] == mine && mine % UNIT == 0, "rank %d has %zu", r, (size_t)all[r]);
	return 0;
}

/** Every byte of every rank's window, as it is mapped here. */
static int check_peers(tsr_world_t *world, const TSR_HEAP void *window, size_t bytes)
{
	for (int r = 0; r < tsr_world_size(world); r++) {
		const unsigned char *seen = tsr_native_pointer(world, window, r);
		CHECK(seen != NULL);
		for (size_t at = 0; at < bytes; at += 511)
			CHECK(seen[at] == mark_of(r, at), "rank %d, byte %zu is %d", r, at,
			      seen[at]);
	}
	return tsr_barrier(world) == TSR_OK ? 0 : 1;
}

/* ------------------------------------------------------------------ the life of a window */

/** Writes of the rank before arrive in this rank's memory, by a pointer and by a stream. */
static int write_to_next(tsr_world_t *world, TSR_HEAP unsigned char *window,
			 const unsigned char *memory)
{
	enum { AT = UNIT - 100, BYTES = 333 }; /* across two units */
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const int next = (me + 1) % size, previous = (me + size - 1) % size;
	tsr_stream_t *stream;
	unsigned char *there = tsr_native_pointer(world, window, next);
	memset(there + AT, 200 + me, BYTES);
	const tsr_view_t src = {window + 64, 1, 20, 20, TSR_U8, TSR_SPACE_HEAP},
			 dst = {window + AT + BYTES, 1, 20, 20, TSR_U8, TSR_SPACE_HEAP};
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_stream_put_2d(stream, dst, src, next) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK && tsr_stream_destroy(stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < BYTES + 20; i++)
		CHECK(memory[AT + i] == (i < BYTES ? 200 + previous : mark_of(previous, 64)),
		      "byte %d is %d", i, memory[AT + i]);
	return 0;
}

static int life_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	const fake_cuda_t before = *fake;
	tsr_heap_usage_t usage[2] = {{.size = sizeof *usage}, {.size = sizeof *usage}};
	TSR_HEAP void *window = NULL;
	void *memory = NULL;
	const char *name;
	size_t offset;
	unsigned char byte;
	(void)argc, (void)argv;
	CHECK(tsr_window_unit_bytes(world) == UNIT);
	CHECK(tsr_heap_usage(world, &usage[0]) == TSR_OK);
	CHECK(tsr_window_alloc(world, 3 * UNIT - 5, &memory) == TSR_OK && memory != NULL);
	fill(memory, 3 * UNIT, me);
	for (int time = 0; time < 2; time++) {
		CHECK(tsr_window_register(world, memory, 3 * UNIT, "data", &window) == TSR_OK);
		CHECK(check_offset(world, window) == 0);
		CHECK(check_peers(world, window, 3 * UNIT) == 0);
		CHECK(write_to_next(world, window, memory) == 0);
		TSR_HEAP unsigned char *const inside = (TSR_HEAP unsigned char *)window + UNIT + 7;
		CHECK(tsr_heap_find(world, inside, &name, &offset) == TSR_OK);
		CHECK(strcmp(name, "data") == 0 && offset == UNIT + 7);
		CHECK(tsr_memset_heap(world, inside, 99, 1) == TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, &byte, inside, 1) == TSR_OK && byte == 99);
		CHECK(tsr_memset_heap(world, inside, 99, 2 * UNIT) == TSR_ERR_ARGUMENT);
		CHECK(says("leaves \"data\""));
		CHECK(tsr_heap_usage(world, &usage[1]) == TSR_OK);
		CHECK(usage[1].free_bytes == usage[0].free_bytes, "windows take of the heap");
		CHECK(tsr_window_free(world, memory) == TSR_ERR_ARGUMENT);
		CHECK(says("tsr_window_release first"));
		CHECK(tsr_window_release(world, window) == TSR_OK);
		CHECK(tsr_heap_find(world, window, &name, &offset) == TSR_ERR_NOT_FOUND);
		CHECK(((unsigned char *)memory)[UNIT + 7] == 99, "the program's own address");
		fill(memory, 3 * UNIT, me);
	}
	CHECK(tsr_window_free(world, memory) == TSR_OK);
	CHECK(tsr_window_free(world, memory) == TSR_ERR_NOT_FOUND && says("freed already"));
	CHECK(tsr_window_free(world, NULL) == TSR_OK);
	CHECK(fake->mappings == before.mappings && fake->objects == before.objects &&
		      fake->reservations == before.reservations,
	      "%d mappings, %d objects are left", fake->mappings - before.mappings,
	      fake->objects - before.objects);
	return 0;
}

Test(cuda_windows, reach_every_rank_and_leave_nothing)
{
	each_world(life_body);
}

/**
 * What is mapped behind a window, of its last object, is nobody else's: the next
 * window is behind that of the rank that has most.
 */
static int check_room(tsr_world_t *world, unsigned char *memory)
{
	const int me = tsr_world_rank(world);
	TSR_HEAP unsigned char *first, *next;
	unsigned char byte, *more = parts_of(me % FAKE_GPUS, 3 * UNIT, 3);
	CHECK(more != NULL);
	fill(more, 3 * UNIT, me);
	CHECK(tsr_window_register(world, memory, 2 * UNIT, "first", (TSR_HEAP void **)&first) ==
	      TSR_OK);
	CHECK(tsr_window_register(world, more, 3 * UNIT, "next", (TSR_HEAP void **)&next) ==
	      TSR_OK);
	CHECK(next == first + 7 * UNIT, "%td units", (next - first) / UNIT);
	CHECK(check_peers(world, first, 2 * UNIT) == 0 && check_peers(world, next, 3 * UNIT) == 0);
	CHECK(tsr_memcpy_from_heap(world, &byte, first + 2 * UNIT, 1) == TSR_ERR_ARGUMENT);
	CHECK(says("belongs to no allocation"));
	CHECK(tsr_window_release(world, first) == TSR_OK);
	CHECK(check_peers(world, next, 3 * UNIT) == 0);
	return tsr_window_release(world, next) == TSR_OK ? 0 : 1;
}

/** Memory of other objects on each rank, of which the last is not whole in the window. */
static int parts_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	const int mappings = fake->mappings;
	TSR_HEAP void *window;
	unsigned char *memory = parts_of(me % FAKE_GPUS, 7 * UNIT, 1 + me % 4);
	(void)argc, (void)argv;
	CHECK(memory != NULL);
	fill(memory, 7 * UNIT, me);
	CHECK(tsr_window_register(world, memory, 6 * UNIT, "parts", &window) == TSR_OK);
	CHECK(check_offset(world, window) == 0);
	CHECK(check_peers(world, window, 6 * UNIT) == 0);
	CHECK(tsr_window_release(world, window) == TSR_OK);
	CHECK(fake->mappings == mappings + 1 + me % 4, "%d", fake->mappings - mappings);
	CHECK(check_room(world, memory) == 0);
	/* from the second object on */
	if (tsr_world_size(world) == 1) {
		memory = parts_of(0, 3 * UNIT, 3);
		CHECK(tsr_window_register(world, memory + UNIT, 2 * UNIT, "rest", &window) ==
		      TSR_OK);
		CHECK(tsr_window_release(world, window) == TSR_OK);
	}
	return 0;
}

Test(cuda_windows, may_consist_of_several_objects)
{
	each_world(parts_body);
}

/* ------------------------------------------------------------------ their room */

static unsigned char *table_of(const tsr_world_t *world)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(world->device);
	return (unsigned char *)(uintptr_t)(gpu->launch.windows + 1);
}

/** What kernels of debug builds see: windows, and holes between them. */
static int check_table(const tsr_world_t *world, TSR_HEAP unsigned char *const *windows,
		       const size_t *units, int count)
{
	const unsigned char *table = table_of(world);
	const size_t all = (world->window_end - world->window_begin) / UNIT;
	const unsigned char *base = world->heap_bases[world->rank];
	size_t open = 0, found = 0;
	for (int i = 0; i < count; i++) {
		const size_t first =
			((uintptr_t)windows[i] - (uintptr_t)base - world->window_begin) / UNIT;
		for (size_t u = first; u < first + units[i]; u++)
			CHECK(table[u] != 0 && table[u] == table[first], "window %d", i);
		CHECK(first == 0 || table[first - 1] != table[first], "window %d", i);
		found += units[i];
	}
	for (size_t u = 0; u < all; u++)
		open += table[u] != 0;
	CHECK(open == found, "%zu units are open, not %zu", open, found);
	return 0;
}

static int room_body(tsr_world_t *world, int argc, char **argv)
{
	static const size_t units[] = {3, 5, 1};
	const size_t all = (world->window_end - world->window_begin) / UNIT;
	TSR_HEAP unsigned char *windows[4];
	void *memory[4];
	(void)argc, (void)argv;
	CHECK(all == 2 * FAKE_TOTAL / UNIT, "%zu units", all);
	CHECK(tsr_gpu_of(world->device)->launch.windows->begin == world->window_begin);
	for (int i = 0; i < 3; i++) {
		CHECK(tsr_window_alloc(world, units[i] * UNIT, &memory[i]) == TSR_OK);
		CHECK(tsr_window_register(world, memory[i], units[i] * UNIT, "w",
					  (TSR_HEAP void **)&windows[i]) == TSR_OK);
	}
	CHECK(check_table(world, windows, units, 3) == 0);
	CHECK(tsr_window_release(world, windows[1]) == TSR_OK);
	const size_t left[] = {3, 1};
	TSR_HEAP unsigned char *const two[] = {windows[0], windows[2]};
	CHECK(check_table(world, two, left, 2) == 0);
	/* not into the hole of five */
	CHECK(tsr_window_alloc(world, 6 * UNIT, &memory[3]) == TSR_OK);
	CHECK(tsr_window_register(world, memory[3], 6 * UNIT, "six",
				  (TSR_HEAP void **)&windows[3]) == TSR_OK);
	CHECK(windows[3] == windows[2] + UNIT && check_offset(world, windows[3]) == 0);
	TSR_HEAP unsigned char *const hole = windows[1];
	CHECK(tsr_window_register(world, memory[1], 5 * UNIT, "five",
				  (TSR_HEAP void **)&windows[1]) == TSR_OK);
	CHECK(windows[1] == hole, "the hole is not used again");
	const tsr_view_t across = {windows[1], 1, 6 * UNIT, 6 * UNIT, TSR_U8, TSR_SPACE_HEAP};
	tsr_stream_t *stream;
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_stream_put_2d(stream, across, across, world->rank) == TSR_ERR_ARGUMENT);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	for (int i = 0; i < 4; i++)
		CHECK(tsr_window_release(world, windows[i]) == TSR_OK);
	CHECK(check_table(world, windows, units, 0) == 0);
	return 0;
}

Test(cuda_windows, share_the_room_behind_the_heap)
{
	each_world(room_body);
}

static int full_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t half = FAKE_TOTAL;
	TSR_HEAP void *windows[3] = {NULL};
	const int mappings = fake->mappings;
	unsigned char *memory[3];
	(void)argc, (void)argv;
	for (int i = 0; i < 3; i++)
		CHECK((memory[i] = parts_of(world->rank % FAKE_GPUS, half, 1)) != NULL);
	for (int i = 0; i < 2; i++)
		CHECK(tsr_window_register(world, memory[i], half, "half", &windows[i]) == TSR_OK);
	CHECK(tsr_window_register(world, memory[2], UNIT, "more", &windows[2]) ==
	      TSR_ERR_NO_MEMORY);
	CHECK(says("addresses for windows have no room for 64 MiB") && says("release windows"));
	CHECK(windows[2] == NULL && !says("TESSERA_HEAP_SIZE"));
	CHECK(tsr_window_release(world, windows[0]) == TSR_OK);
	CHECK(tsr_window_register(world, memory[2], UNIT, "more", &windows[2]) == TSR_OK);
	CHECK(windows[2] == windows[0]);
	CHECK(tsr_window_release(world, windows[1]) == TSR_OK);
	CHECK(tsr_window_release(world, windows[2]) == TSR_OK);
	CHECK(fake->mappings == mappings + 3);
	return 0;
}

Test(cuda_windows, that_find_no_room_are_refused)
{
	each_world(full_body);
}

static int less_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc;
	CHECK(world->window_end - world->window_begin == (size_t)atoi(argv[1]) << 20);
	return life_body(world, 1, argv);
}

static int none_body(tsr_world_t *world, int argc, char **argv)
{
	void *memory = NULL;
	TSR_HEAP void *window = NULL;
	(void)argc;
	CHECK(tsr_window_unit_bytes(world) == 0);
	CHECK(tsr_window_alloc(world, UNIT, &memory) == TSR_OK);
	CHECK(tsr_window_register(world, memory, UNIT, "w", &window) == TSR_ERR_UNSUPPORTED);
	CHECK(says(argv[1]) && window == NULL, "wanted: %s", argv[1]);
	return tsr_window_free(world, memory) == TSR_OK ? 0 : 1;
}

Test(cuda_windows, have_less_room_where_addresses_are_few)
{
	begin("");
	/* of two ranks, each with a heap of 4 MiB: 2 * (4 + 64) */
	fake->most_reserved = (size_t)140 << 20;
	cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, less_body, "64"), 0);
	fake->most_reserved = (size_t)130 << 20;
	cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, none_body, "ulimit -v"), 0);
	fake->most_reserved = 0;
	set_environment("TESSERA_CUDA_HEAP=ipc");
	cr_expect_eq(world_run(1, TSR_PLACE_PROCESS, none_body, "set TESSERA_CUDA_HEAP=vmm"), 0);
}

/* ------------------------------------------------------------------ what is refused */

static int refuses(tsr_world_t *world, void *memory, size_t bytes, const char *text)
{
	TSR_HEAP void *window = NULL;
	CHECK(memory != NULL);
	CHECK(tsr_window_register(world, memory, bytes, "w", &window) == TSR_ERR_ARGUMENT,
	      "wanted: %s", text);
	CHECK(says(text) && window == NULL, "wanted: %s", text);
	return 0;
}

static int refusals_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world), gpu = me % FAKE_GPUS;
	const int mappings = fake->mappings;
	unsigned char *good = parts_of(gpu, 4 * UNIT, 1);
	TSR_HEAP void *window, *inside;
	(void)argc, (void)argv;
	CHECK(refuses(world, memory_of('d'), UNIT, "is of cudaMalloc") == 0);
	CHECK(says("tsr_window_alloc") && says("tessera.torch_pool"));
	CHECK(refuses(world, memory_of('m'), UNIT, "is managed memory") == 0);
	CHECK(refuses(world, memory_of('h'), UNIT, "is memory of the host") == 0);
	CHECK(refuses(world, (void *)((uintptr_t)1 << 40), UNIT, "is no memory of a GPU") == 0);
	CHECK(refuses(world, good + UNIT, UNIT, "begins 2 MiB inside of what was allocated") == 0);
	CHECK(refuses(world, good + 4096, UNIT, "begins at a multiple of 2 MiB") == 0);
	CHECK(refuses(world, good, UNIT + 4096, "a multiple of 2 MiB: allocate it by") == 0);
	CHECK(refuses(world, good, 5 * UNIT, "is not all there") == 0);
	CHECK(refuses(world, parts_of((gpu + 1) % FAKE_GPUS, UNIT, 1), UNIT, "is of GPU") == 0);
	fake->has_no_descriptors = true;
	CHECK(refuses(world, parts_of(gpu, UNIT, 1), UNIT, "without a descriptor") == 0);
	CHECK(tsr_heap_alloc(world, UNIT, UNIT, "inside", &inside) == TSR_OK);
	CHECK(refuses(world, (void *)(uintptr_t)inside, UNIT, "is in the heap of rank") == 0);
	CHECK(tsr_window_register(world, good, 2 * UNIT, "good", &window) == TSR_OK);
	CHECK(refuses(world, good, UNIT, "overlaps that of a window") == 0);
	CHECK(refuses(world, tsr_native_pointer(world, window, size - 1), UNIT,
		      "is in the heap of rank") == 0);
	CHECK(tsr_window_release(world, window) == TSR_OK);
	/* one rank's memory is wrong: no rank has a window */
	void *mixed = me == size - 1 ? memory_of('d') : good;
	CHECK(refuses(world, mixed, UNIT, me == size - 1 ? "cudaMalloc" : "undone on every rank") ==
	      0);
	CHECK(fake->mappings == mappings + 3, "%d are left", fake->mappings - mappings - 3);
	return 0;
}

Test(cuda_windows, of_memory_that_cannot_be_mapped_are_refused)
{
	each_world(refusals_body);
}

static int alloc_body(tsr_world_t *world, int argc, char **argv)
{
	void *memory = NULL;
	(void)argc, (void)argv;
	CHECK(tsr_window_alloc(NULL, UNIT, &memory) == TSR_ERR_ARGUMENT && says("without a world"));
	CHECK(tsr_window_alloc(world, 0, &memory) == TSR_ERR_ARGUMENT && says("0 bytes"));
	CHECK(tsr_window_alloc(world, UNIT, NULL) == TSR_ERR_ARGUMENT && says("no place"));
	CHECK(tsr_window_alloc(world, FAKE_TOTAL + 1, &memory) == TSR_ERR_NO_MEMORY);
	CHECK(says("CUDA_ERROR_OUT_OF_MEMORY") && says("free memory of the GPU"));
	CHECK(tsr_window_free(NULL, memory) == TSR_ERR_ARGUMENT);
	CHECK(tsr_window_free(world, memory_of('d')) == TSR_ERR_NOT_FOUND && memory == NULL);
	return 0;
}

Test(cuda_windows, memory_that_is_asked_for_in_a_wrong_way)
{
	each_world(alloc_body);
}

/* ------------------------------------------------------------------ failures */

/** The call fails on every rank, and nothing of it is left; then the same succeeds. */
static int fails_everywhere(tsr_world_t *world, void *memory, bool here)
{
	const int mappings = fake->mappings, objects = fake->objects;
	TSR_HEAP void *window = NULL;
	CHECK(tsr_window_register(world, memory, 4 * UNIT, "w", &window) != TSR_OK);
	CHECK(window == NULL && says(here ? "CUDA_ERROR_OTHER" : "undone on every rank"));
	CHECK(fake->mappings == mappings && fake->objects == objects, "%d mappings are left",
	      fake->mappings - mappings);
	fake->maps_until_failure = fake->imports_until_failure = fake->accesses_until_failure = 0;
	CHECK(tsr_window_register(world, memory, 4 * UNIT, "w", &window) == TSR_OK);
	CHECK(check_peers(world, window, 4 * UNIT) == 0);
	return tsr_window_release(world, window) == TSR_OK ? 0 : 1;
}

static int failures_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	unsigned char *memory = parts_of(me % FAKE_GPUS, 4 * UNIT, 2);
	(void)argc, (void)argv;
	CHECK(memory != NULL);
	fill(memory, 4 * UNIT, me);
	for (int bad = 0; bad < size; bad++)
		for (int nth = 1; nth <= (size > 3 ? 2 : 2 * size); nth++) {
			fake->maps_until_failure = me == bad ? nth : 0;
			CHECK(fails_everywhere(world, memory, me == bad) == 0, "map %d", nth);
			fake->accesses_until_failure = me == bad ? nth : 0;
			CHECK(fails_everywhere(world, memory, me == bad) == 0, "access %d", nth);
			if (nth > 2 * (size - 1)) /* there are no more */
				continue;
			fake->imports_until_failure = me == bad ? nth : 0;
			CHECK(fails_everywhere(world, memory, me == bad) == 0, "import %d", nth);
		}
	return 0;
}

Test(cuda_windows, fail_on_all_ranks_or_on_none)
{
	each_world(failures_body);
}

/** Rank 1 dies while the others give it their parts. */
static int death_body(tsr_world_t *world, int argc, char **argv)
{
	TSR_HEAP void *window;
	(void)argc, (void)argv;
	unsigned char *memory = parts_of(world->rank % FAKE_GPUS, 4 * UNIT, 2);
	fake->imports_until_death = world->rank == 1 ? 2 : 0;
	return tsr_window_register(world, memory, 4 * UNIT, "w", &window) == TSR_ERR_PEER_LOST ? 7
											       : 1;
}

Test(cuda_windows, a_dead_peer_holds_nobody_up)
{
	struct timespec before, after;
	begin("");
	clock_gettime(CLOCK_MONOTONIC, &before);
	cr_expect(world_run(3, TSR_PLACE_PROCESS, death_body, NULL) != 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	cr_expect(after.tv_sec - before.tv_sec < 60, "%d s", (int)(after.tv_sec - before.tv_sec));
}

/* ------------------------------------------------------------------ ends, and pools */

Test(cuda_windows, the_end_of_the_world_releases_all)
{
	tsr_world_t *world;
	TSR_HEAP void *window;
	void *memory, *registered;
	begin("");
	cr_assert_eq(tsr_init(&world), TSR_OK, "%s", tsr_last_error());
	cr_assert_eq(tsr_window_alloc(world, 2 * UNIT, &registered), TSR_OK);
	cr_assert_eq(tsr_window_alloc(world, UNIT, &memory), TSR_OK);
	cr_assert_eq(tsr_window_register(world, registered, 2 * UNIT, "left", &window), TSR_OK);
	cr_assert_eq(tsr_finalize(world), TSR_OK, "%s", tsr_last_error());
	cr_expect_eq(fake->mappings, 0);
	cr_expect_eq(fake->objects, 0);
	cr_expect_eq(fake->reservations, 0);
}

Test(cuda_windows, pools_of_frameworks_get_memory_of_a_gpu)
{
	tsr_world_t *world;
	TSR_HEAP void *window;
	begin("");
	unsigned char *memory = tsr_pool_alloc(UNIT + 1, 0, NULL);
	cr_assert(memory != NULL, "%s", tsr_last_error());
	memset(memory, 3, 2 * UNIT);
	cr_expect(!tsr_pool_alloc(UNIT, FAKE_GPUS, NULL) && says("GPU 4"));
	cr_expect(!tsr_pool_alloc(FAKE_TOTAL + 1, 0, NULL) && says("OUT_OF_MEMORY"));
	cr_expect(!tsr_pool_alloc(0, 0, NULL));
	cr_assert_eq(tsr_init(&world), TSR_OK, "%s", tsr_last_error());
	cr_assert_eq(tsr_window_register(world, memory, 2 * UNIT, "pool", &window), TSR_OK, "%s",
		     tsr_last_error());
	/* the window keeps what the pool frees */
	tsr_pool_free(memory, UNIT + 1, 0, NULL);
	unsigned char byte = 0;
	cr_expect_eq(tsr_memcpy_from_heap(world, &byte, (TSR_HEAP char *)window + UNIT, 1), TSR_OK);
	cr_expect_eq(byte, 3);
	cr_expect_eq(tsr_window_release(world, window), TSR_OK, "%s", tsr_last_error());
	cr_assert_eq(tsr_finalize(world), TSR_OK);
	cr_expect_eq(fake->objects, 0);
	cr_expect_eq(fake->reservations, 0);
}
