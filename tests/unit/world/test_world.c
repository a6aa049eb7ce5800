/* The host API of a world: queries, collectives, streams and events, and the end. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clean_environment.h"
#include "world_test.h"

static void begin(const char *environment)
{
	clean_environment();
	set_environment("TESSERA_HEAP_SIZE=1M TESSERA_DEADLINE=200s");
	set_environment(environment);
}

/** Of the ranks of one node, each one's part, but at least two blocks. */
static int share_of_processors(int ranks, int resident)
{
	cpu_set_t set;
	const int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1,
		  share = cpus / ranks < 2 ? 2 : cpus / ranks;
	return share < resident ? share : resident;
}

static int queries(tsr_world_t *world, int argc, char **argv)
{
	tsr_device_props_t props = {.size = sizeof props};
	const int size = tsr_world_size(world), rank = tsr_world_rank(world);
	CHECK(argc == 2 && size == atoi(argv[1]), "argv[1] is %s", argv[1]);
	CHECK(rank >= 0 && rank < size);
	CHECK(strcmp(tsr_world_backend(world), "cpuemu") == 0);
	CHECK(tsr_world_deadline_ns(world) == 500000000000u);
	CHECK(tsr_world_device(world, &props) == TSR_OK);
	CHECK(props.resident_blocks == 7 && props.workers_per_block == 8 &&
	      props.shared_bytes == 228 * 1024);
	CHECK(props.ordinal == -1);
	CHECK(props.parallel_blocks == share_of_processors(size, props.resident_blocks));
	CHECK(tsr_world_device(world, NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_finalize(world) == TSR_ERR_ARGUMENT && tsr_barrier(world) == TSR_OK,
	      "the world of TSR_MAIN goes on until its body ends");
	return 0;
}

Test(world, queries)
{
	static const int sizes[] = {1, 2, 3, 5, 8};
	begin("TESSERA_DEADLINE=500s TESSERA_CPUEMU_RESIDENT_BLOCKS=7");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char size[8];
		snprintf(size, sizeof size, "%d", sizes[i]);
		cr_expect_eq(world_run(sizes[i], TSR_PLACE_PROCESS, queries, size), 0);
		cr_expect_eq(world_run(sizes[i], TSR_PLACE_THREAD, queries, size), 0);
	}
}

static int collectives(tsr_world_t *world, int argc, char **argv)
{
	enum { COUNT = 10007 };
	const int size = tsr_world_size(world), rank = tsr_world_rank(world);
	int *mine = malloc(COUNT * sizeof *mine), *all = malloc((size_t)size * COUNT * sizeof *all);
	(void)argc, (void)argv;
	CHECK(mine && all);
	for (int i = 0; i < COUNT; i++)
		mine[i] = rank * 100000 + i;
	memset(all, 0xee, (size_t)size * COUNT * sizeof *all);
	CHECK(tsr_team_gather_all(tsr_world_team(world), mine, all, COUNT * sizeof *mine) ==
	      TSR_OK);
	for (int i = 0; i < size * COUNT; i++)
		CHECK(all[i] == i / COUNT * 100000 + i % COUNT, "element %d is %d", i, all[i]);
	for (int root = 0; root < size; root++) {
		for (int i = 0; i < COUNT; i++)
			mine[i] = rank == root ? root - i : -77;
		CHECK(tsr_team_broadcast(tsr_world_team(world), mine, COUNT * sizeof *mine, root) ==
		      TSR_OK);
		for (int i = 0; i < COUNT; i++)
			CHECK(mine[i] == root - i, "element %d is %d", i, mine[i]);
	}
	CHECK(tsr_team_broadcast(tsr_world_team(world), NULL, 0, 0) == TSR_OK &&
	      tsr_team_gather_all(tsr_world_team(world), NULL, NULL, 0) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	free(mine);
	free(all);
	return 0;
}

Test(world, collectives_move_every_byte)
{
	begin("");
	world_each(collectives, NULL);
}

/*
 * Every rank counts up in memory that all share; nobody leaves a barrier before
 * all have counted.
 */
static int *counter;

static int count_between_barriers(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int round = 1; round <= 200; round++) {
		const int target = round * tsr_world_size(world);
		__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(__atomic_load_n(counter, __ATOMIC_RELAXED) == target);
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	return 0;
}

Test(world, a_barrier_holds_until_all_have_come)
{
	begin("");
	for (int size = 1; size <= 5; size += 2)
		for (tsr_placement_t placement = TSR_PLACE_PROCESS; placement <= TSR_PLACE_THREAD;
		     placement++) {
			counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
			cr_expect_eq(world_run(size, placement, count_between_barriers, NULL), 0);
			munmap(counter, sizeof *counter);
		}
}

static int arguments(tsr_world_t *world, int argc, char **argv)
{
	int x = 0;
	(void)argc, (void)argv;
	CHECK(tsr_team_broadcast(tsr_world_team(world), &x, sizeof x, -1) == TSR_ERR_ARGUMENT);
	CHECK(strstr(tsr_last_error(), "rank -1") != NULL);
	CHECK(tsr_team_broadcast(tsr_world_team(world), &x, sizeof x, tsr_world_size(world)) ==
	      TSR_ERR_ARGUMENT);
	CHECK(tsr_team_broadcast(tsr_world_team(world), NULL, 4, 0) == TSR_ERR_ARGUMENT);
	CHECK(tsr_team_gather_all(tsr_world_team(world), &x, NULL, 4) == TSR_ERR_ARGUMENT);
	CHECK(tsr_barrier(NULL) == TSR_ERR_ARGUMENT && tsr_finalize(NULL) == TSR_OK &&
	      tsr_init(NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_stream_create(tsr_world_team(world), NULL) == TSR_ERR_ARGUMENT &&
	      tsr_stream_sync(NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_stream_destroy(NULL) == TSR_OK && tsr_event_destroy(NULL) == TSR_OK);
	CHECK(tsr_wait_record(world, 0, NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_barrier(world) == TSR_OK); /* the world goes on */
	return 0;
}

Test(world, wrong_arguments_cost_the_call_only)
{
	begin("");
	world_each(arguments, NULL);
}

static void never_run(struct tsr_coop *block, struct tsr_coop *worker, const void *args,
		      void *shared)
{
	(void)block, (void)worker, (void)args, (void)shared;
	abort();
}

static int launches(tsr_world_t *world, int argc, char **argv)
{
	const int args = 1;
	const tsr_kernel_t kernel = {.abi = TSR_KERNEL_ABI,
				     .workers = 1,
				     .name = "never",
				     .variant = "",
				     .unit = "test",
				     .args_bytes = sizeof args,
				     .cpu = never_run};
	tsr_kernel_t old = kernel;
	tsr_stream_t *stream = NULL, *other = NULL;
	old.abi++;
	(void)argc, (void)argv;
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &other) == TSR_OK);
	CHECK(tsr_launch(NULL, &kernel, 1, &args) == TSR_ERR_ARGUMENT);
	CHECK(tsr_launch(stream, NULL, 1, &args) == TSR_ERR_ARGUMENT);
	CHECK(tsr_launch(stream, &kernel, 0, &args) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "never on 0 blocks"));
	CHECK(tsr_launch(stream, &kernel, 1, NULL) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "4 bytes"));
	CHECK(tsr_launch(stream, &old, 1, &args) == TSR_ERR_UNSUPPORTED);
	const struct {
		int64_t value, more;
	} large = {0, 0};
	/* or it does not compile where compilers optimise */
	const tsr_kernel_t *volatile unseen = &kernel;
	CHECK(tsr_launch(stream, unseen, 1, &large) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(),
		     "tsr_launch of never with arguments of 16 bytes: it takes 4 bytes;"));
	CHECK(tsr_launch_sized(stream, &kernel, 1, &args, 3) == TSR_ERR_ARGUMENT);
	CHECK(tsr_launch(stream, &old, 1, (const void *)&large) == TSR_ERR_UNSUPPORTED,
	      "a void * is not compared");
	const tsr_launch_desc_t twice[] = {TSR_LAUNCH_DESC(stream, &kernel, 1, &args),
					   TSR_LAUNCH_DESC(stream, &kernel, 1, &args)};
	CHECK(tsr_launch_group(twice, 2) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "in one stream"));
	CHECK(tsr_launch_group(twice, 0) == TSR_ERR_ARGUMENT &&
	      tsr_launch_group(NULL, 1) == TSR_ERR_ARGUMENT);
	const tsr_launch_desc_t half_wrong[] = {TSR_LAUNCH_DESC(stream, &kernel, 1, &args),
						TSR_LAUNCH_DESC(other, &kernel, -1, &args)};
	/* and nothing was started: never_run would end us */
	CHECK(tsr_launch_group(half_wrong, 2) == TSR_ERR_ARGUMENT);
	const tsr_launch_desc_t large_one[] = {TSR_LAUNCH_DESC(stream, &kernel, 1, &args),
					       TSR_LAUNCH_DESC(other, unseen, 1, &large)};
	CHECK(tsr_launch_group(large_one, 2) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(),
		     "tsr_launch_group of never with arguments of 16 bytes: it takes 4 bytes;"));
	CHECK(TSR_LAUNCH_DESC(stream, &old, 1, (const void *)&large).args_bytes == 0,
	      "a void * is not compared");
	CHECK(tsr_stream_sync(stream) == TSR_OK && tsr_stream_destroy(stream) == TSR_OK);
	return 0; /* the other stream is the world's to destroy */
}

/** A descriptor of a later version. */
typedef struct later_desc {
	tsr_launch_desc_t known;
	int64_t cluster, more;
} later_desc_t;

static atomic_int runs; /* of the kernel below: ranks are processes */

static void count_run(struct tsr_coop *block, struct tsr_coop *worker, const void *args,
		      void *shared)
{
	(void)block, (void)worker, (void)args, (void)shared;
	atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed);
}

static int later_groups(tsr_world_t *world, int argc, char **argv)
{
	const tsr_kernel_t kernel = {.abi = TSR_KERNEL_ABI,
				     .workers = 1,
				     .name = "counts",
				     .variant = "",
				     .unit = "test",
				     .cpu = count_run};
	tsr_stream_t *stream = NULL, *other = NULL;
	(void)argc, (void)argv;
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &other) == TSR_OK);
	later_desc_t both[] = {{TSR_LAUNCH_DESC(stream, &kernel, 1, NULL), 0, 0},
			       {TSR_LAUNCH_DESC(other, &kernel, 2, NULL), 0, 0}};
	both[0].known.size = both[1].known.size = sizeof both[0];
	CHECK(tsr_launch_group(&both[0].known, 2) == TSR_OK && tsr_barrier(world) == TSR_OK);
	CHECK(runs == 3, "%d blocks ran", runs);
	both[1].more = 1;
	CHECK(tsr_launch_group(&both[0].known, 2) == TSR_ERR_UNSUPPORTED);
	both[1].more = 0, both[1].known.size = sizeof(tsr_launch_desc_t);
	CHECK(tsr_launch_group(&both[0].known, 2) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "and launch 1 one of"));
	both[0].known.size = 0;
	CHECK(tsr_launch_group(&both[0].known, 1) == TSR_ERR_ARGUMENT &&
	      strstr(tsr_last_error(), "a tsr_launch_desc_t cannot"));
	CHECK(tsr_barrier(world) == TSR_OK && runs == 3, "%d blocks ran", runs);
	return 0;
}

Test(world, launches_of_a_later_version)
{
	begin("");
	cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, later_groups, NULL), 0);
}

/**
 * What each call that fills a struct does with one of a later version, and with
 * one whose size is none.
 */
#define CHECK_SIZED(type_, last_, ...)                                                         \
	do {                                                                                   \
		struct {                                                                       \
			type_ known;                                                           \
			unsigned char later[64], behind;                                       \
		} x;                                                                           \
		type_ *const it = &x.known;                                                    \
		memset(&x, 0xAA, sizeof x);                                                    \
		it->size = 0;                                                                  \
		CHECK((__VA_ARGS__) == TSR_ERR_ARGUMENT &&                                     \
		      strstr(tsr_last_error(), "a " #type_ " cannot"));                        \
		it->size = offsetof(type_, last_);                                             \
		CHECK((__VA_ARGS__) == TSR_ERR_ARGUMENT);                                      \
		it->size = sizeof x.known + sizeof x.later;                                    \
		CHECK((__VA_ARGS__) == TSR_OK && it->size == sizeof x.known + sizeof x.later); \
		CHECK(x.later[0] == 0 && x.later[63] == 0 && x.behind == 0xAA, #type_);        \
		CHECK(offsetof(type_, last_) + sizeof it->last_ + 7 >= sizeof *it,             \
		      "not the last: " #last_);                                                \
	} while (0)

static int sized(tsr_world_t *world, int argc, char **argv)
{
	const tsr_kernel_t kernel = {.abi = TSR_KERNEL_ABI,
				     .workers = 1,
				     .name = "counts",
				     .variant = "",
				     .unit = "test",
				     .cpu = count_run};
	tsr_stream_t *stream = NULL;
	(void)argc, (void)argv;
	CHECK(tsr_record_start(world) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_launch(stream, &kernel, 1, NULL) == TSR_OK && tsr_stream_sync(stream) == TSR_OK);
	CHECK(tsr_record_stop(world) == TSR_OK);
	CHECK_SIZED(tsr_device_props_t, tile_depth, tsr_world_device(world, it));
	CHECK_SIZED(tsr_heap_usage_t, allocations, tsr_heap_usage(world, it));
	CHECK_SIZED(tsr_backend_info_t, reason, tsr_backend_at(0, it));
	CHECK_SIZED(tsr_record_entry_t, clock_error_ns, tsr_record_entry(world, 0, it));
	if (tsr_world_rank(world) == 0) { /* rank 1 does not come in time */
		CHECK(tsr_barrier(world) == TSR_ERR_TIMEOUT);
	} else {
		while (tsr_wait_record(world, 0,
				       &(tsr_wait_record_t){.size = sizeof(tsr_wait_record_t)}) !=
		       TSR_OK)
			;
		sleep(1); /* the record comes before rank 0 is told; were this rank gone, of that */
	}
	CHECK_SIZED(tsr_wait_record_t, waited_ns, tsr_wait_record(world, 0, it));
	return 42; /* 0 would become that of a world that has ended by its deadline */
}

Test(world, structs_of_a_later_version_are_filled)
{
	begin("TESSERA_DEADLINE=1s");
	cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, sized, NULL), 42);
}

Test(world, launches_that_cannot_be)
{
	begin("");
	cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, launches, NULL), 0);
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, launches, NULL), 0);
}

static int events(tsr_world_t *world, int argc, char **argv)
{
	tsr_stream_t *stream;
	tsr_event_t *first, *second;
	uint64_t ns = 77;
	(void)argc, (void)argv;
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_event_create(world, &first) == TSR_OK &&
	      tsr_event_create(world, &second) == TSR_OK);
	/* never recorded: reached */
	CHECK(tsr_event_sync(first) == TSR_OK && tsr_stream_wait_event(stream, first) == TSR_OK);
	CHECK(tsr_event_elapsed_ns(first, second, &ns) == TSR_ERR_ARGUMENT && ns == 77);
	CHECK(tsr_event_record(first, stream) == TSR_OK && tsr_event_sync(first) == TSR_OK);
	usleep(2000);
	CHECK(tsr_event_record(second, stream) == TSR_OK && tsr_event_sync(second) == TSR_OK);
	CHECK(tsr_event_elapsed_ns(first, second, &ns) == TSR_OK && ns >= 2000000, "%llu ns",
	      (unsigned long long)ns);
	ns = 77;
	CHECK(tsr_event_elapsed_ns(second, first, &ns) == TSR_ERR_ARGUMENT && ns == 77);
	CHECK(tsr_event_record(NULL, stream) == TSR_ERR_ARGUMENT &&
	      tsr_event_record(first, NULL) == TSR_ERR_ARGUMENT);
	CHECK(tsr_event_destroy(first) == TSR_OK && tsr_event_destroy(second) == TSR_OK &&
	      tsr_stream_destroy(stream) == TSR_OK);
	return 0;
}

Test(world, events)
{
	begin("");
	cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, events, NULL), 0);
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, events, NULL), 0);
}

/* Programs without TSR_MAIN: worlds may follow each other in one process. */
Test(world, init_and_finalize_again_and_again)
{
	begin("");
	for (int i = 0; i < 3; i++) {
		tsr_world_t *world = NULL;
		cr_assert_eq(tsr_init(&world), TSR_OK, "%s", tsr_last_error());
		cr_expect(tsr_world_rank(world) == 0 && tsr_world_size(world) == 1);
		cr_expect_eq(tsr_barrier(world), TSR_OK);
		cr_expect_eq(tsr_finalize(world), TSR_OK, "%s", tsr_last_error());
	}
}

Test(world, init_that_fails_writes_nothing)
{
	static const struct {
		const char *environment;
		tsr_status_t status;
		const char *says;
	} cases[] = {
		{"TESSERA_BACKEND=cpuemo", TSR_ERR_NOT_FOUND, "did you mean cpuemu?"},
		{"TESSERA_BACKEND=opencl", TSR_ERR_NOT_FOUND, "cuda, hip and cpuemu"},
		{"TESSERA_RANK=1", TSR_ERR_CONFIG, "TESSERA_SIZE"},
		{"TESSERA_HEAP_SIZE=huge", TSR_ERR_CONFIG, "'huge'"},
		{"TESSERA_HEEP_SIZE=1M", TSR_ERR_CONFIG, "did you mean TESSERA_HEAP_SIZE?"},
		{"TESSERA_PLACEMENT=thread TESSERA_SIZE=2", TSR_ERR_CONFIG, "TSR_MAIN"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tsr_world_t *world = NULL;
		begin(cases[i].environment);
		cr_expect_eq(tsr_init(&world), cases[i].status, "%s", cases[i].environment);
		cr_expect(strstr(tsr_last_error(), cases[i].says) != NULL, "%s: %s",
			  cases[i].environment, tsr_last_error());
		cr_expect(world == NULL);
	}
}
