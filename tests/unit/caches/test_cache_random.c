/*
 * The cache machine at random: without a race it is memory, and the same
 * answers are the same run.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cache_test.h"
#include "src/caches/caches.h"

/**
 * A few thousand things at random by all threads. They take turns at the memory
 * as a lock would have it: nothing races.
 */
static void run_at_random(machine_t *m, uint64_t seed, uint8_t *expected)
{
	uint64_t r = seed;
	int holder = 0;

	for (int i = 0; i < 3000; i++) {
		const int thread = (int)(next_random(&r) % 4);
		size_t a = next_random(&r) % BYTES, b = next_random(&r) % BYTES,
		       bytes = next_random(&r) % 200;
		bytes = a + bytes > BYTES ? BYTES - a : bytes;
		bytes = b + bytes > BYTES ? BYTES - b : bytes;
		const bool apart = a + bytes <= b || b + bytes <= a;
		const tsr_cache_place_t to = at(m, a, bytes), from = at(m, b, bytes);
		uint8_t buffer[200], value = (uint8_t)next_random(&r);
		cr_assert(thread == holder || tsr_cache_hand_over(m->cache, m->thread[holder],
								  m->thread[thread]) == TSR_OK);
		holder = thread;
		switch (next_random(&r) % 4) {
		case 0:
			memset(buffer, value, sizeof buffer);
			cr_assert(tsr_cache_write(m->cache, m->thread[thread], &to, buffer) ==
				  TSR_OK);
			memset(expected + a, value, bytes);
			break;
		case 1:
			cr_assert(!apart || tsr_cache_copy_bytes(m->cache, m->thread[thread], &to,
								 &from) == TSR_OK);
			memcpy(expected + (apart ? a : 0), expected + (apart ? b : 0),
			       apart ? bytes : 0);
			break;
		case 2:
			cr_assert(tsr_cache_read(m->cache, m->thread[thread], &from, buffer) ==
				  TSR_OK);
			cr_assert(memcmp(buffer, expected + b, bytes) == 0, "seed %u, step %d",
				  (unsigned)seed, i);
			break;
		default:
			cr_assert(tsr_cache_arrivals(m->cache) == TSR_OK);
		}
	}
}

static void at_random(int home, tsr_cache_config_t config, uint64_t seed, uint64_t digest[2])
{
	machine_t m = {.chooser = {.seed = seed}};
	uint8_t expected[BYTES] = {0};

	begin_with(&m, home, config);
	run_at_random(&m, seed, expected);
	if (config.lines_l1 == 0)
		tsr_cache_digest(m.cache, digest);
	for (int i = 0; i < 4; i++)
		tsr_views_mix(digest, (uint64_t)m.chooser.asked[i]);
	cr_assert(tsr_cache_settle(m.cache) == TSR_OK);
	cr_assert(memcmp(m.home, expected, BYTES) == 0, "seed %u", (unsigned)seed);
	end(&m);
}

Test(cache, without_a_race_it_is_memory)
{
	static const int nodes[DEVICES] = {0, 1};
	static const tsr_cache_config_t configs[] = {
		{.buffered_stores = 8},
		{.buffered_stores = 8, .fills = true},
		{.buffered_stores = 2, .lines_l1 = 3, .lines_l2 = 5},
		{.buffered_stores = 0, .lines_l1 = 1, .lines_l2 = 1},
		{.node = nodes, .buffered_stores = 8, .fills = true},
		{.node = nodes, .queued_commands = 3, .buffered_stores = 2, .lines_l1 = 3}};

	for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
		for (uint64_t seed = 1; seed <= 20; seed++)
			for (int home = TSR_CACHE_NOWHERE; home < DEVICES; home++)
				at_random(home, configs[i], seed, (uint64_t[2]){0});
}

Test(cache, the_same_answers_are_the_same_run)
{
	uint64_t first[2] = {0}, second[2] = {0}, other[2] = {0};

	at_random(HERE, (tsr_cache_config_t){.buffered_stores = 8, .fills = true}, 7, first);
	at_random(HERE, (tsr_cache_config_t){.buffered_stores = 8, .fills = true}, 7, second);
	at_random(HERE, (tsr_cache_config_t){.buffered_stores = 8, .fills = true}, 8, other);
	cr_expect(memcmp(first, second, sizeof first) == 0);
	cr_expect(memcmp(first, other, sizeof first) != 0);
	/* The same with every compiler: another number means that other questions are asked, and
	 * that kept scripts replay no more. */
	cr_expect_eq(first[0], UINT64_C(0x2c00f4e8a786d9a5), "%llx", (unsigned long long)first[0]);
}

Test(cache, a_copy_goes_its_own_way)
{
	machine_t m;
	uint8_t home[BYTES];
	void *memory[] = {home};
	tsr_cache_t *copy = NULL;
	uint64_t of_one[2] = {0}, of_other[2] = {0};

	begin(&m, TSR_CACHE_NOWHERE);
	m.chooser.store = 1;
	fill(&m, 0, 0, 200, 1);
	m.chooser.store = 2;
	fill(&m, 3, 300, 200, 2);
	memcpy(home, m.home, sizeof home);
	cr_assert(tsr_cache_copy(m.cache, memory, &copy) == TSR_OK);
	tsr_cache_digest(m.cache, of_one);
	tsr_cache_digest(copy, of_other);
	cr_expect(memcmp(of_one, of_other, sizeof of_one) == 0);
	fill(&m, 0, 0, 10, 3);
	tsr_cache_digest(m.cache, of_one);
	cr_expect(memcmp(of_one, of_other, sizeof of_one) != 0);
	cr_expect(tsr_cache_settle(copy) == TSR_OK);
	end(&m);
	cr_expect(home[0] == 1 && home[199] == 1 && home[300] == 2 && home[499] == 2);
	cr_expect_eq(m.home[0], 0);
	tsr_cache_destroy(copy);
}

Test(cache, it_takes_no_more_than_what_is_touched)
{
	machine_t m = {.chooser = {.store = 1}};

	begin_with(&m, TSR_CACHE_NOWHERE,
		   (tsr_cache_config_t){.buffered_stores = 4, .lines_l1 = 4, .lines_l2 = 4});
	for (int i = 0; i < 100; i++)
		fill(&m, i % 4, 0, BYTES, i);
	cr_expect(tsr_cache_size_bytes(m.cache) < 20000, "%zu", tsr_cache_size_bytes(m.cache));
	end(&m);
}
