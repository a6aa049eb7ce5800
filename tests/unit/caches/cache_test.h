/* Cache machines that are told what to do, for their tests. */
#ifndef TESSERA_TESTS_CACHE_TEST_H
#define TESSERA_TESTS_CACHE_TEST_H

#include <criterion/criterion.h>
#include <string.h>

#include "src/caches/caches.h"

/** Answers by kind, or at random where there is a seed; counts the questions. */
typedef struct chooser {
	int store, load, arrival, which; /* -1: the last alternative */
	uint64_t seed;
	int asked[4];
} chooser_t;

static inline uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

static inline int choose(void *context, tsr_cache_choice_t kind, int n)
{
	chooser_t *c = context;
	const int answers[] = {c->store, c->load, c->arrival, c->which};

	cr_assert(n >= 2);
	c->asked[kind]++;
	if (c->seed)
		return (int)(next_random(&c->seed) % (uint64_t)n);
	return answers[kind] < 0 || answers[kind] >= n ? n - 1 : answers[kind];
}

enum { HERE, THERE, DEVICES, BYTES = 1000 };

/**
 * Two devices; threads 0 and 1 in a block of the first, 2 in another block
 * there, 3 on the second.
 */
typedef struct machine {
	tsr_cache_t *cache;
	chooser_t chooser;
	int region, block[3], thread[4];
	uint8_t home[BYTES];
} machine_t;

static inline void begin_with(machine_t *m, int home, tsr_cache_config_t config)
{
	static const int block_of[] = {0, 0, 1, 2};

	config.devices = DEVICES;
	config.choose = choose;
	config.context = &m->chooser;
	memset(m->home, 0, sizeof m->home);
	cr_assert(tsr_cache_create(&config, &m->cache) == TSR_OK);
	cr_assert(tsr_cache_add_region(m->cache, home, m->home, BYTES, &m->region) == TSR_OK);
	for (int b = 0; b < 3; b++)
		cr_assert(tsr_cache_add_block(m->cache, b < 2 ? HERE : THERE, &m->block[b]) ==
			  TSR_OK);
	for (int t = 0; t < 4; t++)
		cr_assert(tsr_cache_add_thread(m->cache, m->block[block_of[t]], &m->thread[t]) ==
			  TSR_OK);
}

static inline void begin(machine_t *m, int home)
{
	*m = (machine_t){.cache = NULL};
	begin_with(m, home, (tsr_cache_config_t){.buffered_stores = 32});
}

static inline void end(machine_t *m)
{
	tsr_cache_destroy(m->cache);
}

static inline tsr_cache_place_t at(const machine_t *m, size_t offset, size_t bytes)
{
	return (tsr_cache_place_t){m->region, offset, bytes};
}

static inline void fill(machine_t *m, int thread, size_t offset, size_t bytes, int value)
{
	const tsr_cache_place_t place = at(m, offset, bytes);
	uint8_t buffer[BYTES];

	memset(buffer, value, bytes);
	cr_assert(tsr_cache_write(m->cache, thread, &place, buffer) == TSR_OK, "%s",
		  tsr_last_error());
}

/** The value that all these bytes have; -1 where they differ. */
static inline int see(machine_t *m, int thread, size_t offset, size_t bytes)
{
	const tsr_cache_place_t place = at(m, offset, bytes);
	uint8_t buffer[BYTES];

	cr_assert(tsr_cache_read(m->cache, thread, &place, buffer) == TSR_OK, "%s",
		  tsr_last_error());
	for (size_t i = 1; i < bytes; i++)
		if (buffer[i] != buffer[0])
			return -1;
	return buffer[0];
}

#endif
