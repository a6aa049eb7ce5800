/* The emulator's patience on a machine that does other work too. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "cpuemu/block.h"
#include "cpuemu/dev/memory/wait.h"
#include "tessera/dev.h"

/**
 * A wait for what comes with the first sleep. `disturbed_at`: the look at which
 * the processor is taken away for 2 ms; 0: none.
 */
typedef struct awaited {
	int looks, disturbed_at;
	bool slept;
} awaited_t;

static bool look(void *ctx)
{
	awaited_t *awaited = ctx;
	if (++awaited->looks == awaited->disturbed_at)
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	return awaited->slept;
}

static void sleep_once(void *ctx, uint64_t ns)
{
	(void)ns;
	((awaited_t *)ctx)->slept = true;
}

static int nobody_is_lost(void *ctx)
{
	(void)ctx;
	return -1;
}

/** How often a wait looks before it sleeps, in a world that has processors to spare. */
static int looks_before_sleep(uint64_t busy_until_ns, int disturbed_at)
{
	static tsr_shared_words_t words;
	const tsr_host_t host = {.words = &words, .lost_rank = nobody_is_lost};
	tsr_cpu_env_t env = {
		.host = &host, .size = 1, .cpus = 1000, .busy_until_ns = busy_until_ns};
	tsr_cpu_block_t block = {.env = &env};
	tsr_coop_t coop = {.block = &block, .count = 1};
	awaited_t awaited = {.disturbed_at = disturbed_at};
	tsr_patience_t patience = {
		.over = look, .sleep = sleep_once, .ctx = &awaited, .deadline_ns = UINT64_MAX / 2};
	cr_assert_eq(tsr_wait_patiently(&coop, &patience), TSR_WAIT_OK);
	return awaited.looks;
}

/* What a wait spins otherwise lasts five milliseconds: some hundred thousand looks. */
Test(wait, sleeps_soon_where_the_processor_was_taken_away)
{
	const int looks = looks_before_sleep(0, 1000);
	cr_expect(looks < 3000, "%d looks", looks);
}

Test(wait, sleeps_at_once_where_another_wait_has_found_the_machine_busy)
{
	const int looks = looks_before_sleep(UINT64_MAX, 0);
	cr_expect(looks < 1000, "%d looks", looks);
}
