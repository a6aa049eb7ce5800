/*
 * Patience: spin, then yield, then sleep, and sooner where the machine is busy;
 * and the wait record.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

#include "cpuemu/dev/memory/far.h"
#include "cpuemu/dev/memory/wait.h"

enum {
	LOOKS = 512,        /* between two looks at the clock and at the world */
	LOOKS_CROWDED = 64, /* if polling takes the processor from the thread that we wait for */
	/* polls without a pause, which would take longer than a flag takes to arrive */
	LOOKS_BARE = 256,
	YIELDS_CROWDED = 16, /* before the first sleep */
	/* While every worker may have a processor of its own, a wait holds on to its processor for
	 * longer than a turn of the system's scheduler. Two threads that yield to each other on one
	 * processor would be left there for good: they seem to get along, and none of them has
	 * waited long enough to be moved. */
	AWAKE_NS = 5 * 1000 * 1000,
	/* Some hundred polls take microseconds. If they took this long, the system gave the
	 * processor to other work. Then the wait sleeps instead of spinning, because the system
	 * runs a thread soon after it is woken. After BUSY_NS it tries to spin again. */
	DISTURBED_NS = 300 * 1000,
	BUSY_NS = 100 * 1000 * 1000,
	LOST_EVERY_NS = 100 * 1000 * 1000, /* asking for a lost rank costs a system call */
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static bool crowded(const tsr_cpu_env_t *env)
{
	/* Relaxed: a guess. All ranks of a world share the processors of one node. Where nodes are
	 * emulated, the thread that serves the net sleeps while another one waits. */
	const int running = atomic_load_explicit(&((tsr_cpu_env_t *)(uintptr_t)env)->running,
						 memory_order_relaxed);
	return running * env->size > env->cpus;
}

/**
 * Whether other work takes the processors, at `now`, with the last look, or the
 * end of the last sleep, at `last`.
 */
static bool is_busy(const tsr_cpu_env_t *env, uint64_t last, uint64_t now)
{
	_Atomic uint64_t *until = &((tsr_cpu_env_t *)(uintptr_t)env)->busy_until_ns;
	/* Relaxed: a guess, which orders nothing. */
	if (now - last > DISTURBED_NS)
		atomic_store_explicit(until, now + BUSY_NS, memory_order_relaxed);
	return now < atomic_load_explicit(until, memory_order_relaxed);
}

TSR_CPU_UNSEEN static bool look(tsr_patience_t *p, int looks)
{
	for (int i = 0; i < looks; i++) {
		if (p->over(p->ctx))
			return true;
		if (i >= LOOKS_BARE)
			pause_briefly();
	}
	return false;
}

/**
 * Ends the world if a rank has died, because the flag that we wait for may never
 * be raised, and no other rank may notice.
 */
static bool rank_lost(tsr_coop_t *coop)
{
	const tsr_cpu_block_t *block = coop->block;
	const tsr_host_t *host = block->env->host;
	char sentence[640], who[TSR_WHO_TEXT], place[TSR_CPU_PLACE_TEXT];
	int lost = host->lost_rank(host->ctx);
	if (lost < 0)
		return false;
	snprintf(sentence, sizeof sentence,
		 "rank %d ended without leaving the world while %s, block %d of kernel %s waited "
		 "at %s; see what that rank printed last",
		 lost, tsr_cpu_member(coop, tsr_rank(coop), who), block->index, block->kernel->name,
		 tsr_cpu_place(coop, place));
	tsr_cpu_launch_fail(block->launch, TSR_ERR_PEER_LOST, sentence);
	return true;
}

/**
 * The longest sleep grows with the crowd, so that hundreds of sleepers do not
 * keep the processors busy by looking. A ring wakes at once; this bounds only
 * how late an abort or a lost rank is seen.
 */
static uint64_t longest_sleep_ns(const tsr_cpu_env_t *env)
{
	return 1000000u +
	       50000u * (uint64_t)atomic_load_explicit(&env->host->words->rank[env->rank].sleepers,
						       memory_order_relaxed);
}

/** Why a wait that has not succeeded ends now; TSR_WAIT_OK: it goes on. */
static tsr_wait_result_t given_up(tsr_coop_t *coop, tsr_patience_t *p, uint64_t now,
				  uint64_t *asked)
{
	if (tsr_cpu_aborted(coop))
		return TSR_WAIT_ABORTED;
	if (p->waited_ns >= p->deadline_ns)
		return TSR_WAIT_EXPIRED;
	if (now - *asked < LOST_EVERY_NS)
		return TSR_WAIT_OK;
	*asked = now;
	return rank_lost(coop) ? TSR_WAIT_ABORTED : TSR_WAIT_OK;
}

tsr_wait_result_t tsr_wait_patiently(tsr_coop_t *coop, tsr_patience_t *p)
{
	const tsr_cpu_env_t *env = coop->block->env;
	tsr_stopwatch_t watch = {0};
	uint64_t asked = 0, last = 0, sleep_ns = 20000;
	int yields = 0;
	bool busy = false;
	for (;;) {
		bool many = crowded(env);
		if (look(p, many || busy || p->far ? LOOKS_CROWDED : LOOKS))
			return TSR_WAIT_OK;
		if (p->far && tsr_far_help(env, p->over, p->ctx))
			return TSR_WAIT_OK;
		uint64_t now = tsr_now_ns();
		/* after the first looks: a wait that is over by then needs no clock */
		if (asked == 0)
			asked = last = now;
		busy = is_busy(env, last, now);
		last = now;
		p->waited_ns = tsr_stopwatch_look(&watch, now);
		const tsr_wait_result_t how = given_up(coop, p, now, &asked);
		if (how != TSR_WAIT_OK)
			return how;
		if (!many && !busy && p->waited_ns < AWAKE_NS)
			continue;
		if (many && !busy && yields++ < YIELDS_CROWDED) {
			sched_yield();
			continue;
		}
		uint64_t left = p->deadline_ns - p->waited_ns, most = longest_sleep_ns(env);
		p->sleep(p->ctx, sleep_ns < left ? sleep_ns : left);
		sleep_ns = sleep_ns * 2 < most ? sleep_ns * 2 : most;
		last = tsr_now_ns();
	}
}

void tsr_wait_keep(tsr_coop_t *coop, tsr_wait_record_t *record, const void *flag)
{
	const tsr_cpu_block_t *block = coop->block;
	const tsr_host_t *host = block->env->host;
	char place[TSR_CPU_PLACE_TEXT];
	record->rank = block->env->rank;
	record->team_rank = tsr_rank(coop);
	snprintf(record->team, sizeof record->team, "%s", block->team->host->name);
	record->block = block->index;
	record->worker = coop->worker->index;
	snprintf(record->kernel, sizeof record->kernel, "%s", block->kernel->name);
	snprintf(record->site, sizeof record->site, "%.*s", (int)sizeof record->site - 1,
		 tsr_cpu_place(coop, place));
	host->keep_wait_record(host->ctx, record, flag);
}

void tsr_wait_fail(tsr_coop_t *coop, const tsr_wait_record_t *record, const char *what, ...)
{
	char detail[320], sentence[832], who[TSR_WHO_TEXT], worker[32] = "";
	va_list arguments;
	va_start(arguments, what);
	vsnprintf(detail, sizeof detail, what, arguments);
	va_end(arguments);
	if (tsr_worker_count(coop) > 1)
		snprintf(worker, sizeof worker, ", worker %d", record->worker);
	snprintf(sentence, sizeof sentence,
		 "%s, block %d%s of kernel %s waited %.3g s at %s for %s",
		 tsr_cpu_member(coop, tsr_rank(coop), who), record->block, worker, record->kernel,
		 (double)record->waited_ns / 1e9, record->site, detail);
	tsr_cpu_launch_fail(coop->block->launch, TSR_ERR_TIMEOUT, sentence);
}
