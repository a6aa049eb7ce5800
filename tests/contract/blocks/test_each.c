/*
 * Loops whose passes the threads of a coop share: each pass is made once, by
 * blocks, by workers and by the parts of a block that was split.
 */
#include "tests/contract/contract_test.h"

enum { WORKERS = 3, MOST = 2053, BLOCKS = 2 };

typedef struct each_pad {
	int32_t made[MOST], of_worker[WORKERS][MOST];
} each_pad_t;

typedef struct each_out {
	int32_t of_block[MOST], of_worker[WORKERS][MOST];
	int32_t counted; /* how often the number of passes was asked for */
} each_out_t;

typedef struct each_args {
	TSR_HEAP each_out_t *out; /* of each block */
	int32_t count, reserved;
} each_args_t;

TSR_FN int ask(int *asked, int count)
{
	(*asked)++;
	return count;
}

/** Pass i of `count` adds 10 + i; those whose number is a multiple of 3, another 1000000. */
TSR_FN int make_passes(tsr_coop_t *coop, int32_t *made, int count)
{
	int asked = 0;
	TSR_EACH(coop, i, ask(&asked, count)) {
		const int32_t sum = made[i] + 10 + i;
		made[i] = sum;
		if (i % 3 != 0)
			continue;
		made[i] = sum + 1000000;
	}
	return asked;
}

/** A coop's passes are put when its threads have met. */
TSR_FN void put_passes(tsr_coop_t *coop, int32_t *to, int32_t *made)
{
	tsr_sync(coop);
	tsr_put_2d(coop, tsr_view(to, TSR_I32, 1, MOST, MOST),
		   tsr_view_shared(made, TSR_I32, 1, MOST, MOST), tsr_rank(coop));
}

TSR_KERNEL_SPLIT(each_of_workers, WORKERS, each_pad_t, each_args_t, a)
{
	const int me = tsr_worker_index(worker);
	TSR_HEAP each_out_t *out = a->out + tsr_block_index(block);
	tsr_shared_clear(block, shared, sizeof *shared);
	const int asked = make_passes(block, shared->made, a->count);
	make_passes(worker, shared->of_worker[me], a->count + me);
	put_passes(worker, out->of_worker[me], shared->of_worker[me]);
	put_passes(block, out->of_block, shared->made);
	tsr_atomic_store(block, &out->counted, asked, tsr_rank(block), TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
}

/** One worker of a block that was split, and the block before and after. */
TSR_KERNEL_SHARED(each_of_parts, each_pad_t, each_args_t, a)
{
	TSR_HEAP each_out_t *out = a->out + tsr_block_index(block);
	tsr_shared_clear(block, shared, sizeof *shared);
	const int asked = make_passes(block, shared->made, a->count);
	tsr_coop_t part = tsr_split(block);
	const int me = tsr_worker_index(&part);
	if (me < WORKERS) {
		make_passes(&part, shared->of_worker[me], a->count + me);
		put_passes(&part, out->of_worker[me], shared->of_worker[me]);
	}
	put_passes(block, out->of_block, shared->made);
	tsr_atomic_store(block, &out->counted, asked, tsr_rank(block), TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
}

static int check_passes(tsr_world_t *world, const int32_t *made, int count, const char *who)
{
	for (int i = 0; i < MOST; i++) {
		const int32_t want = i < count ? 10 + i + (i % 3 == 0 ? 1000000 : 0) : 0;
		CHECK(made[i] == want, "%s, %d passes: pass %d left %d, not %d", who, count, i,
		      made[i], want);
	}
	return 0;
}

/** A block may have fewer parts than workers: who was not there has left the poison. */
static int each_case(tsr_world_t *world, const tsr_kernel_t *kernel, const each_args_t *a,
		     each_out_t *out)
{
	const int32_t poison = POISON * 0x01010101;
	for (int block = 0; block < BLOCKS; block++) {
		CHECK(tsr_memcpy_from_heap(world, out, a->out + block, sizeof *out) == TSR_OK);
		CHECK(out->counted == 1, "the number of passes was asked for %d times",
		      out->counted);
		if (check_passes(world, out->of_block, a->count, "block") != 0)
			return 1;
		for (int w = 0; w < WORKERS; w++) {
			const bool unmade =
				kernel == &each_of_parts && w > 0 && out->of_worker[w][0] == poison;
			if (!unmade &&
			    check_passes(world, out->of_worker[w], a->count + w, "worker") != 0)
				return 1;
		}
	}
	return 0;
}

static int each_body(tsr_world_t *world, int argc, char **argv)
{
	static const int counts[] = {-7, 0, 1, 31, 33, 384, 1000, 2047};
	(void)argc, (void)argv;
	each_args_t a = {.out = (TSR_HEAP each_out_t *)poisoned(world, BLOCKS * sizeof(each_out_t),
								"passes")};
	CHECK(a.out != NULL);
	for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
		const tsr_kernel_t *kernel = i % 2 ? &each_of_parts : &each_of_workers;
		a.count = counts[i / 2];
		CHECK(tsr_memset_heap(world, a.out, POISON, BLOCKS * sizeof(each_out_t)) == TSR_OK);
		CHECK(run_kernel(world, kernel, BLOCKS, &a) == TSR_OK);
		each_out_t *out = (each_out_t *)malloc(sizeof *out);
		CHECK(out != NULL);
		const int failed = each_case(world, kernel, &a, out);
		free(out);
		if (failed)
			return 1;
	}
	return 0;
}

Test(each, passes_are_made_once)
{
	world_each(each_body, NULL);
}
