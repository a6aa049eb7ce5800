/* Waits of one thread for flags and for words. */
#include "cpuemu/dev/memory/flag.h"

#include "cpuemu/dev/memory/explored.h"
#include "cpuemu/events.h"
#include "src/base/compare.h"

uint32_t tsr_cpu_wait_groups(const tsr_cpu_env_t *env, const tsr_mem_t *words, int64_t count)
{
	uint32_t groups = 0;
	for (int64_t i = 0; i < count && groups != UINT32_MAX; i++) {
		tsr_mem_t word = *words;
		word.at += (size_t)i * sizeof(uint64_t);
		groups |= tsr_bell_group(env, &word);
	}
	return groups;
}

/**
 * Counts itself, reads the bell, looks once more, sleeps. Partner:
 * tsr_bell_ring, where the order is explained.
 */
static void flag_sleep(void *ctx, uint64_t ns)
{
	tsr_cpu_wait_t *w = ctx;
	tsr_cpu_env_t *env = w->coop->block->env;
	_Atomic uint32_t *bell = &env->host->words->rank[w->flags.rank].bell;
	_Atomic uint32_t *sleepers = &env->host->words->rank[w->flags.rank].sleepers;
	atomic_fetch_add_explicit(sleepers, 1, TSR_BELL_ORDER);
	uint32_t seen = atomic_load_explicit(bell, TSR_BELL_ORDER);
	if (!w->look(w))
		tsr_bell_sleep(bell, seen, tsr_cpu_wait_groups(env, &w->flags, w->count), ns);
	atomic_fetch_sub_explicit(sleepers, 1, memory_order_relaxed);
}

/** Where the flag lies in the heap of its rank. */
static size_t flag_offset(const tsr_cpu_wait_t *w)
{
	return (size_t)(w->flags.at - w->coop->block->env->base[w->flags.rank]);
}

static void name_flag(const tsr_cpu_wait_t *w, char name[80])
{
	const tsr_cpu_block_t *block = w->coop->block;
	const tsr_host_t *host = block->env->host;
	char allocation[32];
	size_t offset;
	if (w->flags.shared)
		snprintf(name, 80, "shared memory+%zu", (size_t)(w->flags.at - block->shared));
	else if (host->find_allocation(host->ctx, flag_offset(w), allocation, &offset))
		snprintf(name, 80, "'%s'+%zu", allocation, offset);
	else
		snprintf(name, 80, "the flag at heap offset %zu", flag_offset(w));
}

/** Whether the wait is a part of tsr_lock. */
static bool is_for_lock(const tsr_cpu_wait_t *w)
{
	return w->coop->part_of && strcmp(w->coop->part_of, "tsr_lock") == 0;
}

/** The sentence with which an expired wait for a lock ends the world. */
static void lock_fail(const tsr_cpu_wait_t *w, const tsr_wait_record_t *record, const char *name)
{
	char who[TSR_WHO_TEXT], of[48];
	snprintf(of, sizeof of, " of rank %d%s", w->flags.rank,
		 tsr_of_world(w->coop->block->team->host->name));
	if (w->seen == 0 || w->seen > (uint64_t)tsr_size(w->coop))
		tsr_wait_fail(w->coop, record,
			      "the lock %s%s, whose word names no holder: it is %llu; a lock is "
			      "zero before the first tsr_lock, and nothing else writes it",
			      name, of, (unsigned long long)w->seen);
	else
		tsr_wait_fail(w->coop, record,
			      "the lock %s%s, which %s holds: it has not called tsr_unlock, or it "
			      "waits itself, or it takes longer than TESSERA_DEADLINE",
			      name, of, tsr_cpu_member(w->coop, (int)w->seen - 1, who));
}

/** The sentence with which an expired wait for a word ends the world. */
static void word_fail(const tsr_cpu_wait_t *w, const tsr_wait_record_t *record, const char *who,
		      const char *name)
{
	char of[32] = "";
	if (!w->flags.shared && w->flags.rank != record->rank)
		snprintf(of, sizeof of, " of rank %d", w->flags.rank);
	tsr_wait_fail(w->coop, record,
		      "%s to write %s%s so that it %s%s %llu; it was %llu: nobody wrote such a "
		      "value, or it came and went, or it takes "
		      "longer than TESSERA_DEADLINE",
		      who, name, of, w->cmp == TSR_CMP_ANY ? "" : "is ", tsr_cmp_name(w->cmp),
		      (unsigned long long)w->value, (unsigned long long)w->seen);
}

/** The same for a word that carries its own flag. */
static void marked_fail(const tsr_cpu_wait_t *w, const tsr_wait_record_t *record, const char *who,
			const char *name)
{
	tsr_wait_fail(w->coop, record,
		      "%s to put a word of epoch %llu to %s; its epoch was %llu: nobody put it, or "
		      "a later one overwrote it before it was taken, or it takes longer than "
		      "TESSERA_DEADLINE",
		      who, (unsigned long long)w->value, name, (unsigned long long)w->seen);
}

/** Leaves the wait record; `ends_world`: and the sentence. */
static void flag_expired(const tsr_cpu_wait_t *w, uint64_t waited_ns, bool ends_world)
{
	const tsr_cpu_env_t *env = w->coop->block->env;
	tsr_wait_record_t record = {
		.expected = w->value,
		.seen = w->seen,
		.cmp = (int)w->cmp,
		.owner = w->flags.rank,
		.from = w->from == TSR_ANY_RANK ? w->from : w->coop->block->team->ranks[w->from],
		.team_from = w->from,
		.waited_ns = waited_ns};
	char name[80], who[TSR_WHO_TEXT] = "any rank", among[48] = "";
	if (w->flags.shared) {
		snprintf(record.allocation, sizeof record.allocation, "shared memory");
		record.offset_bytes = (uint64_t)(w->flags.at - w->coop->block->shared);
	}
	tsr_wait_keep(w->coop, &record,
		      w->flags.shared ? NULL : env->base[env->rank] + flag_offset(w));
	if (!ends_world)
		return;
	name_flag(w, name);
	if (w->from != TSR_ANY_RANK)
		(void)tsr_cpu_member(w->coop, w->from, who);
	if (w->count > 1)
		snprintf(among, sizeof among, "one of the %d flags from ", w->count);
	if (w->shift > 0) {
		marked_fail(w, &record, who, name);
		return;
	}
	if (is_for_lock(w)) {
		lock_fail(w, &record, name);
		return;
	}
	if (w->word_bytes) {
		word_fail(w, &record, who, name);
		return;
	}
	tsr_wait_fail(w->coop, &record,
		      "%s to raise %s%s to %llu; it was %llu: the signal was not sent, or its "
		      "sender is not resident, or it takes "
		      "longer than TESSERA_DEADLINE",
		      who, among, name, (unsigned long long)w->value, (unsigned long long)w->seen);
}

/** Whether a message of another node may end the wait, for memory of my node. */
static bool comes_from_afar(const tsr_cpu_wait_t *w)
{
	const tsr_cpu_block_t *block = w->coop->block;
	const tsr_host_t *host = block->env->host;
	if (!host->net || w->flags.far || w->flags.shared)
		return false;
	return w->from == TSR_ANY_RANK || tsr_host_is_far(host, block->team->ranks[w->from]);
}

static tsr_wait_result_t flag_wait_slow(tsr_cpu_wait_t *w, uint64_t deadline_ns, bool ends_world)
{
	tsr_patience_t patience = {.over = w->look,
				   .sleep = flag_sleep,
				   .ctx = w,
				   .far = comes_from_afar(w),
				   .deadline_ns = deadline_ns};
	tsr_wait_result_t how = tsr_wait_patiently(w->coop, &patience);
	w->waited_ns = patience.waited_ns;
	if (how != TSR_WAIT_EXPIRED)
		return how;
	flag_expired(w, patience.waited_ns, ends_world);
	return ends_world ? TSR_WAIT_ABORTED : TSR_WAIT_EXPIRED;
}

/** Where the explorer looks. */
static tsr_wait_result_t flag_explore(tsr_cpu_wait_t *w, uint64_t deadline_ns, bool ends_world)
{
	tsr_explored_wait_t wait = {.count = w->count,
				    .start = w->start,
				    .word_bytes = w->word_bytes ? w->word_bytes : sizeof(uint64_t),
				    .shift = w->shift,
				    .cmp = w->cmp,
				    .value = w->value,
				    .order = w->order,
				    .scope = w->scope,
				    .from = w->from,
				    .ends_world = ends_world,
				    .deadline_ns = deadline_ns};
	tsr_wait_result_t how = tsr_explored_wait(&w->flags, &wait);
	w->which = wait.which;
	w->seen = wait.seen;
	return how;
}

tsr_wait_result_t tsr_cpu_wait_at(tsr_cpu_wait_t *w, const char *call, const TSR_HEAP void *p,
				  int peer, uint64_t deadline_ns, bool ends_world)
{
	tsr_coop_t *coop = w->coop;
	const size_t each = w->word_bytes ? w->word_bytes : sizeof(uint64_t);
	if (tsr_cpu_aborted(coop) || !tsr_mem_reach(coop, call, p, (size_t)w->count * each, each,
						    peer, TSR_MEM_READ, &w->flags))
		return TSR_WAIT_ABORTED;
	if (w->from != TSR_ANY_RANK && (unsigned)w->from >= (unsigned)tsr_size(coop)) {
		tsr_cpu_misuse(coop, call, "name the rank that signals, or TSR_ANY_RANK",
			       "for rank %d of a %s of %d", w->from, tsr_cpu_circle(coop),
			       tsr_size(coop));
		return TSR_WAIT_ABORTED;
	}
	/* of words that carry their own flag the whole take is one event */
	const uint64_t begin_ns = w->shift > 0 ? 0 : tsr_cpu_event_begin(w->coop);
	tsr_wait_result_t how = TSR_WAIT_OK;
	w->waited_ns = 0;
	if (w->flags.explored)
		how = flag_explore(w, deadline_ns, ends_world);
	else if (!w->look(w))
		how = flag_wait_slow(w, deadline_ns, ends_world);
	if (how == TSR_WAIT_OK && begin_ns > 0) {
		tsr_mem_t found = w->flags;
		found.at += (size_t)w->which * each;
		tsr_cpu_event_waited(w->coop, begin_ns, &found, w->from, w->value);
	}
	return how;
}
