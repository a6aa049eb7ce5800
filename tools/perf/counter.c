/* atomic: fetch-and-add at one counter, by one rank and by all, beside the host's. */
#include <stdatomic.h>

#include "tools/perf/kernels.h"
#include "tools/perf/perf.h"

/** Additions at one rank's counter: by all ranks, or by one rank alone. */
typedef struct counting {
	perf_run_t *run;
	int actor; /* this one */
	perf_atomic_args_t args;
	_Atomic uint64_t *host_counter; /* the same counter; null where the host cannot reach it */
	bool all;
	uint64_t repeats; /* of a sample */
	uint64_t added;   /* what the counter must show, of this rank's additions */
} counting_t;

/** One launch of each rank that takes part, begun together; the time of the slowest. */
static tsr_status_t add(counting_t *c, uint64_t repeats, double *ns_out)
{
	perf_run_t *run = c->run;
	double mine = 0, all[TSR_MAX_RANKS];

	PERF_TRY(tsr_barrier(run->world));
	if (c->all || run->rank == c->actor) {
		perf_atomic_args_t lead = c->args;
		lead.repeats = perf_lead(repeats);
		c->args.repeats = repeats;
		c->added += lead.repeats + repeats;
		PERF_TRY(perf_time(run, &perf_atomic, 1, &lead, &c->args, &mine));
	}
	PERF_TRY(tsr_team_gather_all(tsr_world_team(run->world), &mine, all, sizeof mine));
	for (int r = 0; r < run->size; r++)
		mine = all[r] > mine ? all[r] : mine;
	*ns_out = mine;
	return TSR_OK;
}

/** The same by the hosts. Relaxed: counting orders nothing. */
static tsr_status_t add_bare(counting_t *c, uint64_t repeats, double *ns_out)
{
	perf_run_t *run = c->run;
	double mine = 0, all[TSR_MAX_RANKS];

	PERF_TRY(tsr_barrier(run->world));
	if (c->host_counter && (c->all || run->rank == c->actor)) {
		uint64_t begin = perf_now_ns();
		for (uint64_t i = 0; i < repeats; i++)
			atomic_fetch_add_explicit(c->host_counter, 1, memory_order_relaxed);
		mine = (double)(perf_now_ns() - begin);
		c->added += repeats;
	}
	PERF_TRY(tsr_team_gather_all(tsr_world_team(run->world), &mine, all, sizeof mine));
	for (int r = 0; r < run->size; r++)
		mine = all[r] > mine ? all[r] : mine;
	*ns_out = mine;
	return TSR_OK;
}

/** The slowest rank's time is the same on all ranks, and so is what is chosen. */
static tsr_status_t choose_repeats(counting_t *c)
{
	const perf_options_t *options = c->run->options;
	double ns, fastest = 0;

	c->repeats = options->repeats ? (uint64_t)options->repeats : 100000;
	for (long i = 0; i < options->warmup + 1; i++) {
		PERF_TRY(add(c, c->repeats, &ns));
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

	PERF_TRY(add(c, c->repeats, &ns));
	perf_samples_add(&pair->kernel, ns / (double)c->repeats);
	PERF_TRY(add_bare(c, c->repeats, &ns));
	perf_samples_add(&pair->host, ns / (double)c->repeats);
	return TSR_OK;
}

/**
 * How far the counter is from the sum of all additions, and how many old values
 * came out of order.
 */
static tsr_status_t count_wrong(counting_t *c, int owner, int64_t *wrong_out)
{
	perf_run_t *run = c->run;
	uint64_t counter, disorder;
	int64_t added;

	PERF_TRY(perf_sum(run, (int64_t)c->added, &added)); /* which is a barrier, too */
	PERF_TRY(tsr_memcpy_from_heap(run->world, &counter, c->args.counter, sizeof counter));
	PERF_TRY(tsr_memcpy_from_heap(run->world, &disorder, c->args.wrong, sizeof disorder));
	int64_t off = run->rank == owner ? (int64_t)counter - added : 0;
	return perf_sum(run, (off < 0 ? -off : off) + (int64_t)disorder, wrong_out);
}

/** `actor`, or all ranks, at `owner`'s counter. Collective. */
static tsr_status_t measure_at(perf_run_t *run, bool all, int actor, int owner,
			       perf_pair_t *pair_out, int64_t *wrong_out)
{
	counting_t c = {.run = run, .all = all, .actor = actor};
	TSR_HEAP void *counter, *disorder;

	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf counter", &counter));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf disorder", &disorder));
	c.args.counter = (TSR_HEAP uint64_t *)counter;
	c.args.wrong = (TSR_HEAP uint64_t *)disorder;
	c.args.peer = owner;
	c.host_counter = perf_host_address(run, counter, owner);
	PERF_TRY(choose_repeats(&c));
	PERF_TRY(perf_sample(run, true, sample, &c, pair_out));
	PERF_TRY(count_wrong(&c, owner, wrong_out));
	PERF_TRY(tsr_heap_free(run->world, disorder));
	return tsr_heap_free(run->world, counter);
}

tsr_status_t perf_measure_atomic(perf_run_t *run, int actor, int owner, perf_pair_t *pair_out,
				 int64_t *wrong_out)
{
	return measure_at(run, false, actor, owner, pair_out, wrong_out);
}

tsr_status_t perf_measure_atomics_together(perf_run_t *run, perf_pair_t *pair_out,
					   int64_t *wrong_out)
{
	return measure_at(run, true, 0, 0, pair_out, wrong_out);
}

static tsr_status_t measure(perf_run_t *run, bool all)
{
	const int owner = all ? 0 : 1 % run->size;
	perf_pair_t pair;
	int64_t wrong;

	PERF_TRY(measure_at(run, all, 0, owner, &pair, &wrong));
	if (run->report) {
		perf_row_t row = {
			.what = all ? "all ranks at rank 0's counter, each" : "rank 0 alone",
			.size_bytes = sizeof(uint64_t),
			.type = "u64",
			.type_bytes = sizeof(uint64_t),
			.link_bytes = run->size > 1 ? sizeof(uint64_t) : 0,
			.wrong = run->options->check ? wrong : -1,
		};
		PERF_TRY(perf_report_row(run->report, &row, &pair));
	}
	return TSR_OK;
}

tsr_status_t perf_run_atomic(perf_run_t *run)
{
	for (int all = 0; all < 2; all++) {
		if (run->report)
			tool_progress_step(&run->report->progress,
					   all ? "atomic, all ranks" : "atomic, rank 0 alone");
		PERF_TRY(measure(run, all));
	}
	return TSR_OK;
}
