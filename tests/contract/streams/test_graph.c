/*
 * Launches, waits of kernels, collectives and events, captured into a CUDA graph
 * and replayed. The graph's calls are the driver's own, as a program would make
 * them. Other backends have no such graphs: the test is skipped there.
 */
#include <dlfcn.h>

#include "tests/contract/contract_test.h"

enum { REPLAYS = 25, ELEMENTS = 70, INSIDE = 2 };

typedef struct feed_args {
	TSR_HEAP uint64_t *round;
	TSR_HEAP float *src;
	TSR_HEAP tsr_barrier_state_t *barrier;
} feed_args_t;

/** Counts rounds in memory, and makes this round's input. All ranks meet in it. */
TSR_KERNEL(feed, feed_args_t, a)
{
	const int me = tsr_rank(block);
	const uint64_t round = tsr_get_value(block, a->round, me) + 1;
	tsr_sync(block);
	tsr_put_value(block, a->round, round, me);
	for (int i = 0; i < ELEMENTS; i++)
		tsr_put_value(block, a->src + i, (float)(round * (uint64_t)(me + 1 + i)), me);
	(void)tsr_barrier_ranks(block, a->barrier);
}

/** The entries of libcuda that capture and replay. Handles are pointers. */
typedef struct graphs {
	int (*begin)(void *stream, int mode);
	int (*end)(void *stream, void **graph);
	int (*instantiate)(void **exec, void *graph, unsigned long long flags);
	int (*launch)(void *exec, void *stream);
	int (*destroy_exec)(void *exec);
	int (*destroy)(void *graph);
	int (*device)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*push)(void *context);
	int (*pop)(void **context);
} graphs_t;

static bool find_graphs(graphs_t *g)
{
	static const char *const names[] = {"cuStreamBeginCapture_v2",
					    "cuStreamEndCapture",
					    "cuGraphInstantiateWithFlags",
					    "cuGraphLaunch",
					    "cuGraphExecDestroy",
					    "cuGraphDestroy",
					    "cuDeviceGet",
					    "cuDevicePrimaryCtxRetain",
					    "cuDevicePrimaryCtxRelease_v2",
					    "cuCtxPushCurrent_v2",
					    "cuCtxPopCurrent_v2"};
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
		void *entry = dlsym(library, names[i]);
		if (!entry)
			return false;
		memcpy((char *)g + i * sizeof entry, &entry, sizeof entry);
	}
	return library != NULL;
}

/** What is captured, twice in a graph: one stream, and a second one beside it. */
typedef struct work {
	feed_args_t args;
	tsr_tensor_t src, dst;
	TSR_HEAP tsr_collective_state_t *state;
	tsr_stream_t *stream, *beside;
	tsr_event_t *forked, *joined;
} work_t;

static int queue(tsr_world_t *world, const work_t *w)
{
	for (int i = 0; i < INSIDE; i++) {
		CHECK(tsr_launch(w->stream, &feed, 1, &w->args) == TSR_OK);
		CHECK(tsr_event_record(w->forked, w->stream) == TSR_OK);
		CHECK(tsr_stream_wait_event(w->beside, w->forked) == TSR_OK);
		CHECK(tsr_stream_all_reduce(w->beside, &w->dst, &w->src, TSR_REDUCE_SUM,
					    w->state) == TSR_OK);
		CHECK(tsr_event_record(w->joined, w->beside) == TSR_OK);
		CHECK(tsr_stream_wait_event(w->stream, w->joined) == TSR_OK);
	}
	return 0;
}

static int verify(tsr_world_t *world, const work_t *w, int rounds)
{
	float out[ELEMENTS];
	CHECK(tsr_tensor_read(world, &w->dst, out) == TSR_OK);
	for (int i = 0; i < ELEMENTS; i++) {
		float sum = 0;
		for (int r = 0; r < tsr_world_size(world); r++)
			sum += (float)(rounds * (r + 1 + i));
		CHECK(out[i] == sum, "round %d, element %d: %g, not %g", rounds, i, (double)out[i],
		      (double)sum);
	}
	return 0;
}

static int prepare(tsr_world_t *world, work_t *w)
{
	const int64_t shape[] = {ELEMENTS};
	const int ranks = tsr_world_size(world);
	tsr_team_t *team = tsr_world_team(world);
	w->args.round = zeroed(world, sizeof(uint64_t), "round");
	w->args.barrier = zeroed(world, tsr_barrier_state_bytes(ranks), "barrier");
	w->state = zeroed(world, tsr_collective_state_bytes(ranks), "reduce.state");
	CHECK(w->args.round && w->args.barrier && w->state);
	CHECK(tsr_tensor_zeros(world, TSR_F32, 1, shape, &w->src) == TSR_OK);
	CHECK(tsr_tensor_zeros(world, TSR_F32, 1, shape, &w->dst) == TSR_OK);
	w->args.src = (TSR_HEAP float *)w->src.data;
	CHECK(tsr_stream_create(team, &w->stream) == TSR_OK);
	CHECK(tsr_stream_create(team, &w->beside) == TSR_OK);
	CHECK(tsr_event_create(world, &w->forked) == TSR_OK);
	CHECK(tsr_event_create(world, &w->joined) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

static int release(tsr_world_t *world, work_t *w)
{
	CHECK(tsr_stream_destroy(w->beside) == TSR_OK && tsr_stream_destroy(w->stream) == TSR_OK);
	CHECK(tsr_event_destroy(w->forked) == TSR_OK && tsr_event_destroy(w->joined) == TSR_OK);
	CHECK(tsr_tensor_free(world, &w->src) == TSR_OK &&
	      tsr_tensor_free(world, &w->dst) == TSR_OK);
	CHECK(tsr_heap_free(world, w->state) == TSR_OK);
	CHECK(tsr_heap_free(world, w->args.barrier) == TSR_OK);
	return tsr_heap_free(world, w->args.round) == TSR_OK ? 0 : 1;
}

static int replay(tsr_world_t *world, const graphs_t *g, work_t *w)
{
	enum { GLOBAL = 0 }; /* the strictest mode: no call may reach the device meanwhile */
	void *native, *graph, *exec;
	CHECK(tsr_stream_native(w->stream, &native) == TSR_OK);
	/* before the capture, once: it loads the kernels' code */
	CHECK(queue(world, w) == 0 && tsr_stream_sync(w->stream) == TSR_OK);
	CHECK(verify(world, w, INSIDE) == 0);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(g->begin(native, GLOBAL) == 0);
	CHECK(queue(world, w) == 0);
	CHECK(g->end(native, &graph) == 0);
	CHECK(g->instantiate(&exec, graph, 0) == 0);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < REPLAYS; i++)
		CHECK(g->launch(exec, native) == 0);
	CHECK(tsr_stream_sync(w->stream) == TSR_OK);
	CHECK(verify(world, w, INSIDE * (1 + REPLAYS)) == 0);
	/* and a launch of its own among replays */
	CHECK(queue(world, w) == 0 && g->launch(exec, native) == 0);
	CHECK(tsr_stream_sync(w->stream) == TSR_OK);
	CHECK(verify(world, w, INSIDE * (3 + REPLAYS)) == 0);
	CHECK(g->destroy_exec(exec) == 0 && g->destroy(graph) == 0);
	return 0;
}

static int graph_body(tsr_world_t *world, int argc, char **argv)
{
	graphs_t g;
	work_t w;
	tsr_device_props_t props;
	void *context;
	int device = 0;
	(void)argc, (void)argv;
	memset(&props, 0, sizeof props);
	props.size = sizeof props;
	CHECK(find_graphs(&g), "libcuda.so.1 lacks an entry");
	CHECK(tsr_world_device(world, &props) == TSR_OK);
	CHECK(g.device(&device, props.ordinal) == 0 && g.retain(&context, device) == 0);
	CHECK(g.push(context) == 0);
	CHECK(prepare(world, &w) == 0);
	CHECK(replay(world, &g, &w) == 0);
	CHECK(release(world, &w) == 0);
	CHECK(g.pop(&context) == 0 && g.release(device) == 0);
	return 0;
}

static bool on_cuda(void)
{
	const char *backend = getenv("TESSERA_BACKEND");
	return backend && strcmp(backend, "cuda") == 0;
}

Test(graph, what_is_captured_does_the_same_in_each_replay)
{
	if (!on_cuda())
		cr_skip_test("CUDA graphs are replayed with TESSERA_BACKEND=cuda");
	world_each(graph_body, NULL);
}
