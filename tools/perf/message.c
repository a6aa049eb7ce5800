/*
 * put-signal: a ping-pong of messages, each under its signal, between the
 * kernels of two ranks; by size. marked: the same in words that carry their own
 * flag, beside that.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

enum { POISON = 0xa5, GUARD_BYTES = 64 };

typedef struct messages {
	perf_run_t *run;
	perf_pingpong_args_t args;
	tsr_tensor_t outbox;
	const tsr_kernel_t *kernel, *beside; /* what is measured; the reference, or null */
	uint64_t epoch;                      /* the next one, of both */
	uint64_t rounds, beside_rounds;      /* of a sample */
	bool plays;                          /* ranks 0 and 1 play, the others wait */
} messages_t;

static tsr_status_t prepare(messages_t *m)
{
	perf_run_t *run = m->run;
	const int64_t words = (int64_t)((run->options->max_bytes + 7) / 8);
	const size_t whole = (size_t)words * 8 + GUARD_BYTES;
	TSR_HEAP void *flag, *missed, *marked = NULL;

	m->plays = run->rank < 2;
	m->epoch = 1;
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf flag", &flag));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf missed", &missed));
	PERF_TRY(tsr_tensor_randint(run->world, TSR_I64, 1, &words, INT64_MIN, INT64_MAX,
				    (uint64_t)run->rank, &m->outbox));
	PERF_TRY(tsr_heap_alloc(run->world, whole, 0, "perf inbox", &m->args.inbox));
	PERF_TRY(tsr_heap_alloc(run->world, whole, 0, "perf kept", &m->args.kept));
	if (m->kernel == &perf_marked)
		PERF_TRY(perf_alloc_clear(run, (size_t)words * 16, "perf words", &marked));
	m->args.words = (TSR_HEAP uint64_t *)marked;
	m->args.flag = (TSR_HEAP uint64_t *)flag;
	m->args.missed = (TSR_HEAP uint64_t *)missed;
	m->args.outbox = m->outbox.data;
	m->args.partner = run->rank == 0 ? 1 : 0;
	m->args.leads = run->rank == 0;
	return TSR_OK;
}

static tsr_status_t release(messages_t *m)
{
	tsr_world_t *world = m->run->world;

	if (m->args.words)
		PERF_TRY(tsr_heap_free(world, m->args.words));
	PERF_TRY(tsr_heap_free(world, m->args.kept));
	PERF_TRY(tsr_heap_free(world, m->args.inbox));
	PERF_TRY(tsr_tensor_free(world, &m->outbox));
	PERF_TRY(tsr_heap_free(world, m->args.missed));
	return tsr_heap_free(world, m->args.flag);
}

/** Runs `rounds` rounds, on the two ranks that play. */
static tsr_status_t play_in(messages_t *m, const tsr_kernel_t *kernel, uint64_t rounds,
			    double *ns_out)
{
	perf_pingpong_args_t lead = m->args;

	*ns_out = 0;
	PERF_TRY(tsr_barrier(m->run->world));
	lead.first = m->epoch;
	lead.rounds = perf_lead(rounds);
	m->args.first = lead.first + lead.rounds;
	m->args.rounds = rounds;
	m->epoch = m->args.first + rounds;
	return m->plays ? perf_time(m->run, kernel, 1, &lead, &m->args, ns_out) : TSR_OK;
}

static tsr_status_t play(void *ctx, uint64_t rounds, double *ns_out)
{
	messages_t *m = ctx;
	return play_in(m, m->kernel, rounds, ns_out);
}

static tsr_status_t play_beside(void *ctx, uint64_t rounds, double *ns_out)
{
	messages_t *m = ctx;
	return play_in(m, m->beside, rounds, ns_out);
}

static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	messages_t *m = ctx;
	double ns;

	PERF_TRY(play(m, m->rounds, &ns));
	perf_samples_add(&pair->kernel, ns / (2.0 * (double)m->rounds));
	if (!m->beside)
		return TSR_OK;
	PERF_TRY(play_beside(m, m->beside_rounds, &ns));
	perf_samples_add(&pair->host, ns / (2.0 * (double)m->beside_rounds));
	return TSR_OK;
}

/**
 * Counts the bytes of my `box` that differ from what the partner sent, and the
 * bytes behind them that were overwritten.
 */
static tsr_status_t count_in(messages_t *m, TSR_HEAP void *box, int64_t *wrong)
{
	const size_t size = m->args.size_bytes;
	unsigned char *found = malloc(size + GUARD_BYTES);

	if (!found)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory to verify %s: choose a smaller -e, or -c 0",
				 TSR_SIZE(size));
	tsr_status_t status = tsr_memcpy_from_heap(m->run->world, found, box, size + GUARD_BYTES);
	for (size_t at = 0; status == TSR_OK && at < size; at++) {
		int64_t word =
			tsr_random_int((uint64_t)m->args.partner, at / 8, INT64_MIN, INT64_MAX);
		*wrong += found[at] != ((unsigned char *)&word)[at % 8];
	}
	for (size_t at = size; status == TSR_OK && at < size + GUARD_BYTES; at++)
		*wrong += found[at] != POISON;
	free(found);
	return status;
}

/**
 * Sends one more message, of which rank 1's kernel keeps a copy when the signal
 * has come. Verifies the copy and what the earlier messages have left.
 */
static tsr_status_t count_wrong(messages_t *m, int64_t *wrong_out)
{
	perf_run_t *run = m->run;
	int64_t wrong = 0;
	uint64_t missed;

	PERF_TRY(tsr_barrier(run->world));
	if (m->plays)
		PERF_TRY(count_in(m, m->args.inbox, &wrong));
	PERF_TRY(tsr_memset_heap(run->world, m->args.inbox, POISON,
				 m->args.size_bytes + GUARD_BYTES));
	PERF_TRY(tsr_memset_heap(run->world, m->args.kept, POISON,
				 m->args.size_bytes + GUARD_BYTES));
	PERF_TRY(tsr_barrier(run->world));
	m->args.first = m->epoch++;
	m->args.rounds = 1;
	if (m->plays)
		PERF_TRY(tsr_launch(run->stream, &perf_message, 1, &m->args));
	PERF_TRY(tsr_barrier(run->world));
	if (run->rank == 1)
		PERF_TRY(count_in(m, m->args.kept, &wrong));
	PERF_TRY(tsr_memcpy_from_heap(run->world, &missed, m->args.missed, sizeof missed));
	return perf_sum(run, wrong + (int64_t)missed, wrong_out);
}

/** Plays one more round, and verifies what both ranks have taken, then and before. */
static tsr_status_t count_marked(messages_t *m, int64_t *wrong_out)
{
	perf_run_t *run = m->run;
	int64_t wrong = 0;
	uint64_t missed;

	PERF_TRY(tsr_barrier(run->world));
	if (m->plays) {
		PERF_TRY(count_in(m, m->args.inbox, &wrong));
		PERF_TRY(count_in(m, m->args.kept, &wrong));
	}
	PERF_TRY(tsr_memset_heap(run->world, m->args.kept, POISON,
				 m->args.size_bytes + GUARD_BYTES));
	PERF_TRY(tsr_barrier(run->world));
	m->args.first = m->epoch++;
	m->args.rounds = 1;
	if (m->plays)
		PERF_TRY(tsr_launch(run->stream, &perf_marked, 1, &m->args));
	PERF_TRY(tsr_barrier(run->world));
	if (m->plays)
		PERF_TRY(count_in(m, m->args.kept, &wrong));
	PERF_TRY(tsr_memcpy_from_heap(run->world, &missed, m->args.missed, sizeof missed));
	return perf_sum(run, wrong + (int64_t)missed, wrong_out);
}

static tsr_status_t measure_size(messages_t *m, size_t size_bytes)
{
	perf_run_t *run = m->run;
	int64_t wrong = -1;
	perf_pair_t pair;

	m->args.size_bytes = size_bytes;
	PERF_TRY(tsr_barrier(run->world));
	PERF_TRY(tsr_memset_heap(run->world, m->args.inbox, POISON, size_bytes + GUARD_BYTES));
	PERF_TRY(tsr_memset_heap(run->world, m->args.kept, POISON, size_bytes + GUARD_BYTES));
	const uint64_t first = perf_enough(1, 1000 + (double)m->args.size_bytes / 8);
	PERF_TRY(perf_choose(m->run, first, play, m, &m->rounds));
	if (m->beside)
		PERF_TRY(perf_choose(m->run, first, play_beside, m, &m->beside_rounds));
	PERF_TRY(perf_sample(run, true, sample, m, &pair));
	if (run->options->check)
		PERF_TRY(m->beside ? count_marked(m, &wrong) : count_wrong(m, &wrong));
	if (!run->report)
		return TSR_OK;
	perf_row_t row = {
		.what = "one way",
		.size_bytes = size_bytes,
		.type = tsr_dtype_name(run->options->dtype),
		.type_bytes = tsr_dtype_bytes(run->options->dtype),
		.link_bytes = size_bytes,
		.wrong = wrong,
	};
	return perf_report_row(run->report, &row, &pair);
}

static tsr_status_t measure(messages_t *m)
{
	perf_run_t *run = m->run;

	PERF_TRY(prepare(m));
	for (size_t s = run->options->min_bytes; s; s = perf_next_size(run->options, s)) {
		if (run->report)
			tool_progress_step(&run->report->progress, "%s of %zu bytes",
					   perf_op_name(run->options->op), s);
		PERF_TRY(measure_size(m, s));
	}
	return release(m);
}

tsr_status_t perf_run_put_signal(perf_run_t *run)
{
	messages_t m = {.run = run, .kernel = &perf_put_signal};
	return measure(&m);
}

tsr_status_t perf_run_marked(perf_run_t *run)
{
	messages_t m = {.run = run, .kernel = &perf_marked, .beside = &perf_put_signal};
	return measure(&m);
}
