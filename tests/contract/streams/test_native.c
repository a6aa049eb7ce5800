/*
 * Streams of the vendor's runtime: Tessera's own is adopted as if it were the
 * program's, and both queue into it. The emulator has none, and says so.
 */
#include "tests/contract/contract_test.h"

enum { STEPS = 20 };

typedef struct chain_args {
	TSR_HEAP uint64_t *value;
	uint64_t add;
} chain_args_t;

/** The result tells the order of the launches. */
TSR_KERNEL(chain, chain_args_t, a)
{
	const int me = tsr_rank(block);
	const uint64_t value = tsr_get_value(block, a->value, me);
	tsr_sync(block);
	tsr_put_value(block, a->value, 3 * value + a->add, me);
}

static bool on_emulator(const tsr_world_t *world)
{
	return strcmp(tsr_world_backend(world), "cpuemu") == 0;
}

static int check_refused(tsr_world_t *world)
{
	tsr_stream_t *own, *adopted = NULL;
	void *native = NULL;
	CHECK(tsr_stream_from_native(tsr_world_team(world), NULL, &adopted) == TSR_ERR_UNSUPPORTED);
	CHECK(strstr(tsr_last_error(), "no streams of CUDA or HIP") != NULL);
	CHECK(adopted == NULL);
	CHECK(tsr_stream_create(tsr_world_team(world), &own) == TSR_OK);
	CHECK(tsr_stream_native(own, &native) == TSR_ERR_UNSUPPORTED && native == NULL);
	return tsr_stream_destroy(own) == TSR_OK ? 0 : 1;
}

static int check_order(tsr_world_t *world)
{
	tsr_stream_t *streams[2];
	void *native;
	uint64_t value = 0, wanted = 0;
	chain_args_t args = {.value = zeroed(world, sizeof value, "value")};
	CHECK(args.value != NULL);
	CHECK(tsr_stream_create(tsr_world_team(world), &streams[0]) == TSR_OK);
	CHECK(tsr_stream_native(streams[0], &native) == TSR_OK && native != NULL);
	CHECK(tsr_stream_from_native(tsr_world_team(world), native, &streams[1]) == TSR_OK);
	CHECK(tsr_stream_native(streams[1], &native) == TSR_OK);
	for (int i = 0; i < STEPS; i++) {
		args.add = (uint64_t)i;
		wanted = 3 * wanted + args.add;
		CHECK(tsr_launch(streams[i % 2], &chain, 1, &args) == TSR_OK);
	}
	CHECK(tsr_stream_destroy(streams[1]) == TSR_OK); /* waits, and leaves the other one whole */
	CHECK(tsr_memcpy_from_heap(world, &value, args.value, sizeof value) == TSR_OK);
	CHECK(value == wanted, "%llu, not %llu", (unsigned long long)value,
	      (unsigned long long)wanted);
	CHECK(tsr_launch(streams[0], &chain, 1, &args) == TSR_OK);
	CHECK(tsr_stream_destroy(streams[0]) == TSR_OK);
	return tsr_heap_free(world, args.value) == TSR_OK ? 0 : 1;
}

static int native_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_stream_t *stream;
	void *native;
	(void)argc, (void)argv;
	CHECK(tsr_stream_from_native(NULL, NULL, &stream) == TSR_ERR_ARGUMENT);
	CHECK(tsr_stream_native(NULL, &native) == TSR_ERR_ARGUMENT);
	return on_emulator(world) ? check_refused(world) : check_order(world);
}

Test(native, the_programs_streams_are_taken_where_there_are_any)
{
	world_each(native_body, NULL);
}
