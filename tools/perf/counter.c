/*
 * atomic: the operations on one word, by one rank and by all, beside the host's
 * or, on a GPU, beside loads of the word.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

/** A measurement of one operation, on one rank's word: by all ranks, or by one rank alone. */
typedef struct counting {
	perf_run_t *run;
	perf_atomic_t atomic;
	int actor, owner; /* the rank that operates, and whose word it is */
	bool all;
	const tsr_kernel_t *kernel;
	perf_atomic_args_t args;
	_Atomic uint64_t *host_word; /* the word of the hosts; null: hosts cannot reach the heap */
	uint64_t host_first;         /* the host's next operation */
	uint64_t repeats;            /* of a sample */
} counting_t;

static const tsr_kernel_t *const kernels[PERF_ATOMICS] = {
	[PERF_ADD] = &perf_atomic_add,   [PERF_AND] = &perf_atomic_and,
	[PERF_OR] = &perf_atomic_or,     [PERF_XOR] = &perf_atomic_xor,
	[PERF_MIN] = &perf_atomic_min,   [PERF_MAX] = &perf_atomic_max,
	[PERF_XCHG] = &perf_atomic_xchg, [PERF_CAS] = &perf_atomic_cas};

/** The word before the first operation. "and" and "min" need one that they can lower. */
static uint64_t first_value(perf_atomic_t atomic)
{
	return atomic == PERF_AND || atomic == PERF_MIN ? UINT64_MAX : 0;
}

/** Minimum (`down`) or maximum of the word and `value`, which C11 has no operation for. */
static void go_to(_Atomic uint64_t *word, uint64_t value, bool down)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

	while ((down ? value < old : value > old) &&
	       !atomic_compare_exchange_weak_explicit(word, &old, value, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/** The host's operation `i`. Relaxed: it hands nothing over. */
static void operate(perf_atomic_t atomic, _Atomic uint64_t *word, uint64_t i)
{
	const uint64_t bit = (uint64_t)1 << (i & 63);
	uint64_t expected = i;

	switch (atomic) {
	case PERF_ADD:
		atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
		break;
	case PERF_AND:
		atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed);
		break;
	case PERF_OR:
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
		break;
	case PERF_XOR:
		atomic_fetch_xor_explicit(word, bit, memory_order_relaxed);
		break;
	case PERF_MIN:
		go_to(word, UINT64_MAX - i, true);
		break;
	case PERF_MAX:
		go_to(word, i, false);
		break;
	case PERF_XCHG:
		(void)atomic_exchange_explicit(word, i, memory_order_relaxed);
		break;
	default:
		(void)atomic_compare_exchange_strong_explicit(word, &expected, i + 1,
							      memory_order_relaxed,
							      memory_order_relaxed);
	}
}

/** Runs `repeats` operations on this rank: by `kernel`, or by the host if it is null. */
static tsr_status_t play_mine(counting_t *c, const tsr_kernel_t *kernel, uint64_t repeats,
			      double *ns_out)
{
	perf_atomic_args_t lead = c->args;
	const uint64_t begin = perf_now_ns();

	if (!kernel) {
		for (uint64_t i = 0; i < repeats; i++)
			operate(c->atomic, c->host_word, c->host_first + i);
		*ns_out = (double)(perf_now_ns() - begin);
		c->host_first += repeats;
		return TSR_OK;
	}
	lead.repeats = perf_lead(repeats);
	c->args.first = lead.first + lead.repeats;
	c->args.repeats = repeats;
	PERF_TRY(perf_time(c->run, kernel, 1, &lead, &c->args, ns_out));
	c->args.first += repeats;
	return TSR_OK;
}

/** All ranks that take part begin together. Gives the time of the slowest. Collective. */
static tsr_status_t play(counting_t *c, const tsr_kernel_t *kernel, uint64_t repeats,
			 double *ns_out)
{
	perf_run_t *run = c->run;
	double mine = 0, all[TSR_MAX_RANKS];

	PERF_TRY(tsr_barrier(run->world));
	if (c->all || run->rank == c->actor)
		PERF_TRY(play_mine(c, kernel, repeats, &mine));
	PERF_TRY(tsr_team_gather_all(tsr_world_team(run->world), &mine, all, sizeof mine));
	for (int r = 0; r < run->size; r++)
		mine = all[r] > mine ? all[r] : mine;
	*ns_out = mine;
	return TSR_OK;
}

/** All ranks know the slowest rank's time, so they choose the same number. */
static tsr_status_t choose_repeats(counting_t *c)
{
	const perf_options_t *options = c->run->options;
	double ns, fastest = 0;

	c->repeats = options->repeats ? (uint64_t)options->repeats : c->run->far ? 200 : 100000;
	for (long i = 0; i < options->warmup + 1; i++) {
		PERF_TRY(play(c, c->kernel, c->repeats, &ns));
		fastest = i == 0 || ns < fastest ? ns : fastest;
	}
	if (!options->repeats)
		c->repeats = perf_enough(c->repeats, fastest);
	return TSR_OK;
}

static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	counting_t *c = ctx;
	double ns;

	PERF_TRY(play(c, c->kernel, c->repeats, &ns));
	perf_samples_add(&pair->kernel, ns / (double)c->repeats);
	if (c->run->far)
		return TSR_OK;
	PERF_TRY(play(c, perf_on_host(c->run) ? NULL : &perf_atomic_loads, c->repeats, &ns));
	perf_samples_add(&pair->host, ns / (double)c->repeats);
	return TSR_OK;
}

/**
 * Counts the old values that came out of order, and 1 more if the word has not
 * gained the sum of what all operations gained.
 */
static tsr_status_t count_wrong(counting_t *c, int64_t *wrong_out)
{
	perf_run_t *run = c->run;
	uint64_t word, disorder, mine, all[TSR_MAX_RANKS], gained = 0;

	PERF_TRY(tsr_barrier(run->world));
	PERF_TRY(tsr_memcpy_from_heap(run->world, &word, c->args.word, sizeof word));
	PERF_TRY(tsr_memcpy_from_heap(run->world, &disorder, c->args.wrong, sizeof disorder));
	PERF_TRY(tsr_memcpy_from_heap(run->world, &mine, c->args.gained, sizeof mine));
	PERF_TRY(tsr_team_gather_all(tsr_world_team(run->world), &mine, all, sizeof mine));
	for (int r = 0; r < run->size; r++)
		gained += all[r];
	const bool off = run->rank == c->owner && word - first_value(c->atomic) != gained;
	return perf_sum(run, (int64_t)disorder + off, wrong_out);
}

/** Allocates the words of the kernels and of the hosts. Collective. */
static tsr_status_t open_words(counting_t *c, TSR_HEAP void *words[4])
{
	static const char *const names[4] = {"perf word", "perf word of hosts", "perf disorder",
					     "perf gain"};
	perf_run_t *run = c->run;
	const uint64_t first = first_value(c->atomic);

	for (int i = 0; i < 4; i++)
		PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), names[i], &words[i]));
	for (int i = 0; i < 2; i++)
		PERF_TRY(tsr_memcpy_to_heap(run->world, words[i], &first, sizeof first));
	c->args.word = (TSR_HEAP uint64_t *)words[0];
	c->args.wrong = (TSR_HEAP uint64_t *)words[2];
	c->args.gained = (TSR_HEAP uint64_t *)words[3];
	c->args.peer = c->owner;
	c->host_word = perf_host_address(run, words[1], c->owner);
	return tsr_barrier(run->world);
}

static tsr_status_t measure_at(counting_t *c, perf_pair_t *pair_out, int64_t *wrong_out)
{
	TSR_HEAP void *words[4];

	c->kernel = kernels[c->atomic];
	PERF_TRY(open_words(c, words));
	PERF_TRY(choose_repeats(c));
	PERF_TRY(perf_sample(c->run, true, sample, c, pair_out));
	PERF_TRY(count_wrong(c, wrong_out));
	for (int i = 4; i-- > 0;)
		PERF_TRY(tsr_heap_free(c->run->world, words[i]));
	return TSR_OK;
}

tsr_status_t perf_measure_atomic(perf_run_t *run, perf_atomic_t atomic, int actor, int owner,
				 perf_pair_t *pair_out, int64_t *wrong_out)
{
	counting_t c = {.run = run, .atomic = atomic, .actor = actor, .owner = owner};

	return measure_at(&c, pair_out, wrong_out);
}

tsr_status_t perf_measure_atomics_together(perf_run_t *run, perf_atomic_t atomic,
					   perf_pair_t *pair_out, int64_t *wrong_out)
{
	counting_t c = {.run = run, .atomic = atomic, .all = true};

	return measure_at(&c, pair_out, wrong_out);
}

static tsr_status_t measure(perf_run_t *run, perf_atomic_t atomic, bool all)
{
	perf_pair_t pair;
	int64_t wrong;
	char what[64];

	snprintf(what, sizeof what,
		 all ? "%s, all ranks at rank 0's word, each" : "%s, rank 0 alone",
		 perf_atomic_name(atomic));
	if (run->report)
		tool_progress_step(&run->report->progress, "%s", what);
	PERF_TRY(all ? perf_measure_atomics_together(run, atomic, &pair, &wrong)
		     : perf_measure_atomic(run, atomic, 0, 1 % run->size, &pair, &wrong));
	if (!run->report)
		return TSR_OK;
	const perf_row_t row = {
		.what = what,
		.atomic = perf_atomic_name(atomic),
		.size_bytes = sizeof(uint64_t),
		.type = "u64",
		.type_bytes = sizeof(uint64_t),
		.link_bytes = run->size > 1 ? sizeof(uint64_t) : 0,
		.wrong = run->options->check ? wrong : -1,
	};
	return perf_report_row(run->report, &row, &pair);
}

tsr_status_t perf_run_atomic(perf_run_t *run)
{
	for (unsigned atomic = 0; atomic < PERF_ATOMICS; atomic++)
		for (int all = 0; all < 2; all++)
			if (run->options->atomics >> atomic & 1)
				PERF_TRY(measure(run, (perf_atomic_t)atomic, all));
	return TSR_OK;
}
