/*
 * Same inputs, same bytes: what the emulator makes of integers, of which every
 * sum is exact, another backend makes too, in every dtype, tile and pattern
 * that is built. Where the emulator is all there is, ranks as threads stand in
 * for the other backend.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <unistd.h>

#include "kernels/host/matrices.h"
#include "tests/multi/each_world.h"
#include "tests/multi/gas_reference.h"

enum { SHAPES = 2 };

/** One product on one rank, as it is written to the file that the test compares. */
typedef struct outcome {
	char name[112]; /* pattern, variant, shape; rank */
	uint64_t digest;
	int64_t wrong; /* elements that differ from the product in double precision */
} outcome_t;

/** FNV-1a, over all bytes of C: one that differs changes it. */
static uint64_t digest_of(const unsigned char *bytes, size_t count)
{
	uint64_t digest = 0xcbf29ce484222325u;
	for (size_t i = 0; i < count; i++)
		digest = (digest ^ bytes[i]) * 0x100000001b3u;
	return digest;
}

/** An extent of 1 .. `most`, the same on every rank. */
static int64_t extent(uint64_t seed, uint64_t index, int64_t most)
{
	return tsr_random_int(seed, index, 1, most + 1);
}

/**
 * The config of the `index`-th variant that is built, in a small shape or in
 * one with whole tiles and parts of them on every rank; its pattern is left
 * open. False past the last.
 */
static bool config_of(int index, int shape, int ranks, uint64_t seed, gas_config_t *config_out)
{
	const tsr_kernel_t *kernel;
	char dtype[8];
	gas_config_t c = {.m = 0};
	const uint64_t at = (uint64_t)(index * SHAPES + shape) * 3;
	for (int i = 0; (kernel = tsr_kernel_at(i)) != NULL; i++)
		if (strcmp(kernel->name, "gas_producer") == 0 && index-- == 0)
			break;
	if (!kernel ||
	    sscanf(kernel->variant, "%7[^_]_%dx%dx%d", dtype, &c.tile.m, &c.tile.n, &c.tile.k) !=
		    4 ||
	    tsr_dtype_parse(dtype, &c.dtype) != TSR_OK)
		return false;
	c.m = shape == 0 ? extent(seed, at, 90) : c.tile.m + extent(seed, at, c.tile.m);
	c.n = shape == 0 ? extent(seed, at + 1, 90)
			 : (int64_t)ranks * c.tile.n + extent(seed, at + 1, c.tile.n);
	c.k = shape == 0 ? extent(seed, at + 2, 90) : 2 * c.tile.k + extent(seed, at + 2, c.tile.k);
	*config_out = c;
	return true;
}

/** One pattern: its C is poisoned, computed, judged and digested. */
static int compute(tsr_world_t *world, const gas_config_t *config, const workload_inputs_t *inputs,
		   const gas_reference_t *reference, outcome_t *outcome)
{
	const size_t bytes = (size_t)(config->m * config->n) * tsr_dtype_bytes(config->dtype);
	unsigned char *c = malloc(bytes);
	verdict_t verdict;
	gas_plan_t *plan;
	CHECK(c);
	CHECK(gas_plan_create(world, config, &plan) == TSR_OK, "%s", outcome->name);
	CHECK(gas_plan_fill(plan, world, inputs) == TSR_OK &&
		      gas_plan_poison(plan, world) == TSR_OK,
	      "%s", outcome->name);
	CHECK(gas_plan_run(plan) == TSR_OK && gas_plan_sync(plan) == TSR_OK, "%s", outcome->name);
	CHECK(matrix_read(world, gas_plan_c(plan), c) == TSR_OK, "%s", outcome->name);
	CHECK(gas_plan_destroy(plan) == TSR_OK, "%s", outcome->name);
	gas_reference_judge(reference, c, &verdict);
	outcome->wrong = verdict.wrong;
	outcome->digest = digest_of(c, bytes);
	free(c);
	return 0;
}

/**
 * Whether the config's tile is built for its pattern: the largest are not for
 * blocks that are split.
 */
static bool is_built(const gas_config_t *config)
{
	char variant[32];
	snprintf(variant, sizeof variant, "%s_%dx%dx%d", tsr_dtype_name(config->dtype),
		 config->tile.m, config->tile.n, config->tile.k);
	return config->pattern != GAS_FUSED_WAVE || tsr_kernel_find("gas_fused_wave", variant);
}

/** Every pattern of one config; the outcomes begin at place `*next` of the file. */
static int compute_patterns(tsr_world_t *world, gas_config_t config,
			    const workload_inputs_t *inputs, int file, int *next)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	gas_reference_t *reference = NULL;
	CHECK(gas_reference_create(world, &config, inputs, &reference) == TSR_OK);
	for (int p = 0; p < GAS_PATTERN_COUNT; p++, (*next)++) {
		outcome_t outcome;
		config.pattern = (gas_pattern_t)p;
		memset(&outcome, 0, sizeof outcome);
		if (!is_built(&config))
			continue;
		snprintf(outcome.name, sizeof outcome.name,
			 "%s %s, tile %dx%dx%d, shape %dx%dx%d, rank %d of %d",
			 gas_pattern_name(config.pattern), tsr_dtype_name(config.dtype),
			 config.tile.m, config.tile.n, config.tile.k, (int)config.m, (int)config.n,
			 (int)config.k, rank, ranks);
		if (compute(world, &config, inputs, reference, &outcome))
			return 1;
		const off_t place = (off_t)(*next * ranks + rank) * (off_t)sizeof outcome;
		CHECK(pwrite(file, &outcome, sizeof outcome, place) == (ssize_t)sizeof outcome);
	}
	gas_reference_destroy(reference);
	return 0;
}

/** `argv[1]`: the seed, and the file to write to. */
static int compute_all(tsr_world_t *world, int argc, char **argv)
{
	workload_inputs_t inputs = {.integers = true};
	gas_config_t config;
	char path[128];
	int next = 0;
	CHECK(argc == 2 && sscanf(argv[1], "%" SCNu64 " %127s", &inputs.seed, path) == 2);
	const int file = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(file >= 0, "%s", path);
	for (int v = 0; config_of(v, 0, tsr_world_size(world), inputs.seed, &config); v++)
		for (int shape = 0; shape < SHAPES; shape++) {
			CHECK(config_of(v, shape, tsr_world_size(world), inputs.seed, &config));
			if (compute_patterns(world, config, &inputs, file, &next))
				return 1;
		}
	close(file);
	return 0;
}

/**
 * One world's outcomes, in a file that its ranks, which need not be children of
 * this process, open by its name.
 */
static int outcomes_of(const char *backend, tsr_placement_t placement, int ranks, uint64_t seed)
{
	char argument[160], path[] = "/tmp/tessera-agree-XXXXXX";
	const char *before = getenv("TESSERA_BACKEND");
	char *saved = before ? strdup(before) : NULL;
	const int file = mkstemp(path);
	snprintf(argument, sizeof argument, "%" PRIu64 " %s", seed, path);
	if (backend)
		setenv("TESSERA_BACKEND", backend, 1);
	cr_expect(world_run(ranks, placement, compute_all, argument) == 0,
		  "%d ranks, seed %" PRIu64, ranks, seed);
	if (saved)
		setenv("TESSERA_BACKEND", saved, 1);
	else
		unsetenv("TESSERA_BACKEND");
	free(saved);
	unlink(path);
	return file;
}

/** The outcomes of both, one by one; returns how many there are. */
static int compare(int one, int other, uint64_t seed)
{
	outcome_t a, b;
	int count = 0;
	for (; pread(one, &a, sizeof a, (off_t)count * (off_t)sizeof a) == (ssize_t)sizeof a;
	     count++) {
		memset(&b, 0, sizeof b);
		(void)!pread(other, &b, sizeof b, (off_t)count * (off_t)sizeof b);
		cr_expect(strcmp(a.name, b.name) == 0 && a.digest == b.digest,
			  "%s differs: seed %" PRIu64, a.name, seed);
		cr_expect(a.wrong == 0 && b.wrong == 0,
			  "%s: %d and %d elements are wrong: seed %" PRIu64, a.name, (int)a.wrong,
			  (int)b.wrong, seed);
	}
	return count;
}

/** A fresh one, or what AGREE_SEED repeats. */
static uint64_t choose_seed(void)
{
	const char *given = getenv("AGREE_SEED");
	uint64_t seed = 0;
	if (given)
		return strtoull(given, NULL, 10);
	cr_assert(getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed);
	return seed >> 16; /* doubled by the inputs, and easier to type */
}

static void agree(int ranks)
{
	const uint64_t seed = choose_seed();
	printf("backends_agree: %d ranks, AGREE_SEED=%" PRIu64 "\n", ranks, seed);
	fflush(stdout);
	const int emulated = outcomes_of("cpuemu", TSR_PLACE_PROCESS, ranks, seed);
	const int other = outcomes_of(NULL, TSR_PLACE_THREAD, ranks, seed);
	cr_expect(compare(emulated, other, seed) > 0, "nothing was compared");
	close(emulated);
	close(other);
}

Test(backends_agree, to_the_bit)
{
	static const int sizes[] = {1, 2, 3, 4, 5, 8};
#ifdef WORLD_THREADS_ONLY
	cr_skip_test("compares ranks as processes, which ThreadSanitizer cannot watch");
#endif
	if (under_valgrind())
		cr_skip_test(
			"nothing here touches memory otherwise than test_gemm_all_scatter does");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		agree(sizes[i]);
}
