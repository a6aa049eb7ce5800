/*
 * Worlds of GPUs over several nodes, in worlds of processes on a driver without a
 * GPU (fake/cuda.h): the test asks as kernels do (gpu/dev/far.h), and couriers,
 * UCX and what serves far ranks are real.
 */
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <unistd.h>

#include "clean_environment.h"
#include "gpu/far/nodes.h"
#include "src/world/stream.h"
#include "src/world/team.h"
#include "src/world/world.h"
#include "tests/unit/backends/fake/cuda.h"
#include "world_test.h"

enum { ROWS = 3, ROW_BYTES = 5, PITCH = 9, SLOT = 64, WORDS = 8, MOST = 8 };

/** A file of the build beside this program's folder of tests, or beside this program. */
static char *build_file(char path[PATH_MAX], const char *folder, const char *name)
{
	const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 64);
	path[length > 0 ? length : 0] = '\0';
	char *end = strstr(path, folder);
	cr_assert(end != NULL);
	strcpy(end, name);
	return path;
}

/** False: no UCX, so nothing carries messages. */
static bool begin(int nodes)
{
	char path[PATH_MAX], set[64];
	void *library = dlopen(build_file(path, "/test_cuda_nodes", "/fake/libcuda.so"),
			       RTLD_NOW | RTLD_GLOBAL);
	cr_assert(library != NULL, "%s", dlerror());
	clean_environment();
	set_environment("TESSERA_BACKEND=cuda TESSERA_HEAP_SIZE=3M TESSERA_DEADLINE=200s");
	snprintf(set, sizeof set, "TESSERA_NODES=%d", nodes);
	set_environment(set);
	build_file(path, "/tests/unit/", "/plugins/libtessera-net-ucx.so");
	setenv("TESSERA_NET_PLUGIN", path, 1);
	return access(path, R_OK) == 0;
}

static void each_world(tsr_main_fn body)
{
	static const struct {
		int ranks, nodes;
	} worlds[] = {{2, 2}, {3, 2}, {5, 2}, {5, 4}, {8, 3}};
	for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
		if (!begin(worlds[i].nodes))
			return;
		cr_expect(world_run(worlds[i].ranks, TSR_PLACE_PROCESS, body, NULL) == 0,
			  "%d ranks on %d nodes", worlds[i].ranks, worlds[i].nodes);
	}
}

/* ------------------------------------------------------------------ as a kernel asks */

static const tsr_gpu_far_t *far_of(const tsr_world_t *world)
{
	return tsr_gpu_of(world->device)->launch.far;
}

static char *room_of(const tsr_world_t *world, int place)
{
	return far_of(world)->rooms + (size_t)place * TSR_GPU_ROOM_BYTES;
}

/** Asks by the request `place`, and waits. Returns the old bits of a fetch. */
static uint64_t ask(const tsr_world_t *world, int place, tsr_gpu_request_t want)
{
	tsr_gpu_request_t *r = &far_of(world)->requests[place];
	*r = want;
	__atomic_store_n(&r->state, TSR_GPU_REQUEST_ASKED, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != TSR_GPU_REQUEST_ANSWERED)
		sched_yield();
	return r->old;
}

static uint64_t offset_of(const tsr_world_t *world, const TSR_HEAP void *place)
{
	return (uint64_t)((const char *)place -
			  (const char *)tsr_heap_base(world, tsr_world_rank(world)));
}

/** What all ranks have: a slot for each other rank, and words. */
typedef struct places {
	TSR_HEAP unsigned char *slots;
	TSR_HEAP uint64_t *count;
	TSR_HEAP uint32_t *words, *scattered;
} places_t;

static bool make_places(tsr_world_t *world, places_t *p)
{
	return tsr_heap_alloc(world, MOST * SLOT, 256, "slots", (TSR_HEAP void **)&p->slots) ==
		       TSR_OK &&
	       tsr_heap_alloc(world, 128, 64, "count", (TSR_HEAP void **)&p->count) == TSR_OK &&
	       tsr_heap_alloc(world, MOST * WORDS * 4, 64, "words", (TSR_HEAP void **)&p->words) ==
		       TSR_OK &&
	       tsr_heap_alloc(world, MOST * 64 * 4, 64, "scattered",
			      (TSR_HEAP void **)&p->scattered) == TSR_OK &&
	       tsr_memset_heap(world, p->slots, 0xa5, MOST * SLOT) == TSR_OK &&
	       tsr_memset_heap(world, p->count, 0, 128) == TSR_OK &&
	       tsr_memset_heap(world, p->words, 0, MOST * WORDS * 4) == TSR_OK &&
	       tsr_memset_heap(world, p->scattered, 0, MOST * 64 * 4) == TSR_OK &&
	       tsr_barrier(world) == TSR_OK;
}

static unsigned char byte_of(int from, int to, int i)
{
	return (unsigned char)(17 * from + 29 * to + i + 1);
}

static bool is_far(const tsr_world_t *world, int rank)
{
	return world->nodes[rank] != world->nodes[world->rank];
}

/** Writes to a far rank in each way, by different requests; the last one releases. */
static void write_to(const tsr_world_t *world, const places_t *p, int rank)
{
	const int me = world->rank, place = rank % 7;
	char *room = room_of(world, place);
	for (int i = 0; i < ROWS * ROW_BYTES; i++)
		room[32 + i] = (char)byte_of(me, rank, i);
	ask(world, place,
	    (tsr_gpu_request_t){.what = TSR_GPU_ASK_PUT,
				.peer = rank,
				.offset = offset_of(world, p->slots + me * SLOT + 3),
				.pitch_bytes = PITCH,
				.row_bytes = ROW_BYTES,
				.rows = ROWS,
				.bits = 32});
	for (int i = 0; i < WORDS; i++)
		((uint32_t *)(void *)room)[i] = (uint32_t)(i + 1);
	ask(world, place,
	    (tsr_gpu_request_t){.what = TSR_GPU_ASK_EACH,
				.peer = rank,
				.kind = TSR_GPU_WORD_U32,
				.op = TSR_GPU_OP_ADD,
				.bytes = 4,
				.offset = offset_of(world, p->words),
				.pitch_bytes = 2 * WORDS * 2,
				.row_bytes = WORDS * 2,
				.rows = 2});
	const int32_t pairs[] = {64 * me + 7, 100 + me, -1, 5, 64 * me + 9, 200 + me};
	memcpy(room, pairs, sizeof pairs);
	ask(world, place,
	    (tsr_gpu_request_t){.what = TSR_GPU_ASK_SCATTER,
				.peer = rank,
				.offset = offset_of(world, p->scattered),
				.row_bytes = 8,
				.rows = 3});
	ask(world, place,
	    (tsr_gpu_request_t){.what = TSR_GPU_ASK_UPDATE,
				.peer = rank,
				.kind = TSR_GPU_WORD_U64,
				.op = TSR_GPU_OP_ADD,
				.bytes = 8,
				.release = 1,
				.offset = offset_of(world, p->count),
				.bits = 1});
}

/** What rank `from` has left here. */
static int check_from(tsr_world_t *world, const places_t *p, int from)
{
	unsigned char slot[SLOT];
	int32_t scattered[64];
	CHECK(tsr_memcpy_from_heap(world, slot, p->slots + from * SLOT, SLOT) == TSR_OK);
	for (int i = 0; i < SLOT; i++) {
		const int at = i - 3, row = at >= 0 ? at / PITCH : 0, col = at % PITCH;
		const bool put = at >= 0 && row < ROWS && col < ROW_BYTES;
		CHECK(slot[i] == (put ? byte_of(from, world->rank, row * ROW_BYTES + col) : 0xa5),
		      "byte %d of rank %d is %d", i, from, slot[i]);
	}
	CHECK(tsr_memcpy_from_heap(world, scattered, p->scattered + 64 * from, sizeof scattered) ==
	      TSR_OK);
	for (int i = 0; i < 64; i++)
		CHECK(scattered[i] == (i == 7   ? 100 + from
				       : i == 9 ? 200 + from
						: 0),
		      "word %d of rank %d is %d", i, from, (int)scattered[i]);
	return 0;
}

static int check_words(tsr_world_t *world, const places_t *p, int writers)
{
	uint32_t words[2 * WORDS];
	uint64_t count;
	CHECK(tsr_memcpy_from_heap(world, &count, p->count, sizeof count) == TSR_OK);
	CHECK(count == (uint64_t)writers, "%d signals of %d", (int)count, writers);
	CHECK(tsr_memcpy_from_heap(world, words, p->words, sizeof words) == TSR_OK);
	/* two rows of four words, eight words apart */
	for (int i = 0; i < 2 * WORDS; i++) {
		const uint32_t once = i % 8 < 4 ? (uint32_t)(i % 8 + i / 8 * 4 + 1) : 0;
		CHECK(words[i] == once * (uint32_t)writers, "word %d is %d", i, (int)words[i]);
	}
	return 0;
}

/** Reads back from a far rank, and changes a word there. */
static int read_from(tsr_world_t *world, const places_t *p, int rank)
{
	const int place = 8 + rank % 5;
	char *room = room_of(world, place);
	ask(world, place,
	    (tsr_gpu_request_t){.what = TSR_GPU_ASK_GET,
				.peer = rank,
				.offset = offset_of(world, p->slots + world->rank * SLOT + 3),
				.pitch_bytes = PITCH,
				.row_bytes = ROW_BYTES,
				.rows = ROWS,
				.bits = 16});
	for (int i = 0; i < ROWS * ROW_BYTES; i++)
		CHECK(room[16 + i] == (char)byte_of(world->rank, rank, i));
	tsr_gpu_request_t word = {.what = TSR_GPU_ASK_FETCH,
				  .peer = rank,
				  .kind = TSR_GPU_WORD_U64,
				  .op = TSR_GPU_OP_CAS,
				  .bytes = 8,
				  .offset = offset_of(world, p->count + 1 + world->rank),
				  .bits = 10,
				  .expected = 0};
	CHECK(ask(world, place, word) == 0); /* and is 10 from now on */
	CHECK(ask(world, place, word) == 10);
	word.op = TSR_GPU_OP_ADD;
	word.bits = 3;
	CHECK(ask(world, place, word) == 10);
	word.op = TSR_GPU_OP_LOAD;
	CHECK(ask(world, place, word) == 13);
	return 0;
}

static int access_body(tsr_world_t *world, int argc, char **argv)
{
	places_t p;
	int writers = 0, line = 0;
	(void)argc, (void)argv;
	CHECK(make_places(world, &p), "%s", tsr_last_error());
	for (int r = 0; r < tsr_world_size(world); r++)
		if (is_far(world, r))
			write_to(world, &p, r);
	ask(world, 20, (tsr_gpu_request_t){.what = TSR_GPU_ASK_FLUSH});
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int r = 0; r < tsr_world_size(world) && line == 0; r++)
		if (is_far(world, r)) {
			writers++;
			line = check_from(world, &p, r);
		}
	if (line == 0)
		line = check_words(world, &p, writers);
	for (int r = 0; r < tsr_world_size(world) && line == 0; r++)
		if (is_far(world, r))
			line = read_from(world, &p, r);
	CHECK(tsr_barrier(world) == TSR_OK);
	return line;
}

Test(cuda_nodes, what_kernels_ask_reaches_ranks_of_other_nodes, .timeout = 300)
{
	each_world(access_body);
}

/* ------------------------------------------------------------------ streams and teams */

/** A copy on a stream to each far rank, in rows. */
static int stream_body(tsr_world_t *world, int argc, char **argv)
{
	TSR_HEAP unsigned char *mine, *slots;
	tsr_stream_t *stream;
	unsigned char bytes[SLOT], seen[SLOT];
	(void)argc, (void)argv;
	CHECK(tsr_heap_alloc(world, SLOT, 64, "mine", (TSR_HEAP void **)&mine) == TSR_OK);
	CHECK(tsr_heap_alloc(world, MOST * SLOT, 64, "all", (TSR_HEAP void **)&slots) == TSR_OK);
	for (int i = 0; i < SLOT; i++)
		bytes[i] = byte_of(world->rank, 0, i);
	CHECK(tsr_memcpy_to_heap(world, mine, bytes, SLOT) == TSR_OK);
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	const tsr_view_t src = {mine, 4, 9, 16, TSR_U8, TSR_SPACE_HEAP},
			 dst = {slots + SLOT * world->rank, 4, 9, 11, TSR_U8, TSR_SPACE_HEAP};
	for (int r = 0; r < tsr_world_size(world); r++)
		CHECK(tsr_stream_put_2d(stream, dst, src, r) == TSR_OK, "%s", tsr_last_error());
	CHECK(tsr_stream_sync(stream) == TSR_OK && tsr_barrier(world) == TSR_OK);
	for (int r = 0; r < tsr_world_size(world); r++) {
		CHECK(tsr_memcpy_from_heap(world, seen, slots + SLOT * r, SLOT) == TSR_OK);
		for (int i = 0; i < 4 * 9; i++)
			CHECK(seen[i / 9 * 11 + i % 9] == byte_of(r, 0, i / 9 * 16 + i % 9));
	}
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return 0;
}

Test(cuda_nodes, streams_put_to_other_nodes, .timeout = 300)
{
	each_world(stream_body);
}

/** The tables that kernels read: whose heap is far, and who is on which node. */
static int table_body(tsr_world_t *world, int argc, char **argv)
{
	const tsr_device_team_t *team = world->team->device;
	const int size = tsr_world_size(world);
	const int32_t *nodes = (const int32_t *)(team->peer_offset + size), *rank = nodes + 1,
		      *node = rank + size, *place = node + size, *first = place + size,
		      *member = first + nodes[0] + 1;
	(void)argc, (void)argv;
	CHECK(nodes[0] == tsr_world_nodes(world));
	for (int r = 0; r < size; r++) {
		CHECK((team->peer_offset[r] == TSR_GPU_FAR_OFFSET) == is_far(world, r));
		CHECK(rank[r] == r && node[r] == world->nodes[r]);
		CHECK(member[first[node[r]] + place[r]] == r);
		CHECK(place[r] < first[node[r] + 1] - first[node[r]]);
	}
	CHECK(first[0] == 0 && first[nodes[0]] == size);
	return 0;
}

Test(cuda_nodes, kernels_know_who_is_where, .timeout = 300)
{
	each_world(table_body);
}

/* ------------------------------------------------------------------ what there is not */

static const tsr_kernel_t lone = {
	.abi = TSR_KERNEL_ABI, .workers = 1, .name = "lone", .variant = "", .unit = "lone_unit"};
static const tsr_kernel_t *const lone_entry __attribute__((used, section("tsr_kernels"))) = &lone;
static const tsr_image_t lone_image = {.unit = "lone_unit",
				       .backend = "cuda",
				       .arch = "sm_90a",
				       .bytes = (const unsigned char *)"code",
				       .size_bytes = sizeof "code"};
static const tsr_image_t *const lone_image_entry __attribute__((used, section("tsr_images"))) =
	&lone_image;

static bool says(const char *text)
{
	return strstr(tsr_last_error(), text) != NULL;
}

static int refused_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_device_props_t props = {.size = sizeof props};
	tsr_stream_t *stream;
	TSR_HEAP void *window, *mine;
	void *memory = NULL;
	(void)argc, (void)argv;
	CHECK(tsr_world_device(world, &props) == TSR_OK);
	CHECK(props.resident_blocks == 3, "%d", (int)props.resident_blocks); /* of four */
	CHECK(tsr_window_unit_bytes(world) == 0);
	CHECK(tsr_window_register(world, &memory, 4096, "w", &window) == TSR_ERR_UNSUPPORTED);
	CHECK(says("over several nodes"), "%s", tsr_last_error());
	CHECK(tsr_record_start(world) == TSR_ERR_UNSUPPORTED && says("over several nodes"), "%s",
	      tsr_last_error());
	CHECK(tsr_heap_alloc(world, 64, 64, "mine", &mine) == TSR_OK);
	for (int r = 0; r < tsr_world_size(world); r++)
		CHECK((tsr_native_pointer(world, mine, r) == NULL) == is_far(world, r));
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_launch_sized(stream, &lone, 1, NULL, 0) == TSR_ERR_UNSUPPORTED &&
		      says("tessera cc --nodes"),
	      "%s", tsr_last_error());
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return 0;
}

Test(cuda_nodes, what_nodes_do_not_have_is_refused_with_a_cure, .timeout = 300)
{
	each_world(refused_body);
}

/* ------------------------------------------------------------------ ends */

/** Rank 1 dies, while the others ask again and again. */
static int death_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	if (world->rank == 1)
		_exit(7);
	tsr_gpu_request_t want = {.what = TSR_GPU_ASK_FETCH,
				  .peer = is_far(world, 1) ? 1 : world->size - 1,
				  .kind = TSR_GPU_WORD_U64,
				  .op = TSR_GPU_OP_LOAD,
				  .bytes = 8};
	while (atomic_load_explicit(&world->host.words->aborted, memory_order_relaxed) == 0) {
		ask(world, 5, want);
		ask(world, 6, (tsr_gpu_request_t){.what = TSR_GPU_ASK_FLUSH});
	}
	return tsr_barrier(world) == TSR_OK;
}

Test(cuda_nodes, a_lost_node_ends_what_kernels_ask_for, .timeout = 120)
{
	if (!begin(2))
		return;
	cr_expect(world_run(3, TSR_PLACE_PROCESS, death_body, NULL) != 0);
}
