/*
 * signal --scope block, device: a ping-pong within rank 0, between the workers
 * of a block or the blocks of a launch. The other ranks wait.
 */
#include <stdlib.h>

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

enum { MESSAGES = 64, POISON = 0xa5 };

typedef struct local {
	perf_run_t *run;
	perf_local_args_t args;
	const tsr_kernel_t *kernel;
	int blocks;
	uint64_t epoch, rounds; /* the next epoch of the blocks' flags; rounds of a sample */
} local_t;

static tsr_status_t prepare(local_t *l)
{
	perf_run_t *run = l->run;
	const bool in_block = run->options->scope == PERF_SCOPE_BLOCK;
	TSR_HEAP void *flags, *missed;

	l->kernel = in_block ? &perf_signal_in_block : &perf_signal_in_device;
	l->blocks = in_block ? 1 : 2;
	l->epoch = 1;
	PERF_TRY(perf_alloc_clear(run, 2 * sizeof(uint64_t), "perf flags", &flags));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf missed", &missed));
	l->args.flags = (TSR_HEAP uint64_t *)flags;
	l->args.missed = (TSR_HEAP uint64_t *)missed;
	return TSR_OK;
}

/** Runs `rounds` rounds on rank 0. Collective. */
static tsr_status_t play(void *ctx, uint64_t rounds, double *ns_out)
{
	local_t *l = ctx;
	perf_local_args_t lead = l->args, args = l->args;

	*ns_out = 0;
	lead.first = l->epoch;
	lead.rounds = perf_lead(rounds);
	args.first = lead.first + lead.rounds;
	args.rounds = rounds;
	l->epoch = args.first + rounds;
	PERF_TRY(tsr_barrier(l->run->world));
	return l->run->rank == 0 ? perf_time(l->run, l->kernel, l->blocks, &lead, &args, ns_out)
				 : TSR_OK;
}

static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	local_t *l = ctx;
	double ns;

	PERF_TRY(play(l, l->rounds, &ns));
	perf_samples_add(&pair->kernel, ns / (2.0 * (double)l->rounds));
	return TSR_OK;
}

/** Sends random words, each under its own signal. Counts those that did not arrive. */
static tsr_status_t compare(local_t *l, const tsr_tensor_t *kept, int64_t *wrong)
{
	int64_t received[MESSAGES];

	PERF_TRY(tsr_tensor_read(l->run->world, kept, received));
	for (uint64_t i = 0; i < MESSAGES; i++)
		*wrong += received[i] != tsr_random_int(0, i, INT64_MIN, INT64_MAX);
	return TSR_OK;
}

static tsr_status_t count_wrong(local_t *l, int64_t *wrong_out)
{
	perf_run_t *run = l->run;
	const int64_t words = MESSAGES;
	perf_local_args_t args = l->args;
	tsr_tensor_t outbox, inbox, kept;
	int64_t wrong = 0;
	uint64_t missed;

	PERF_TRY(tsr_tensor_randint(run->world, TSR_I64, 1, &words, INT64_MIN, INT64_MAX,
				    (uint64_t)run->rank, &outbox));
	PERF_TRY(tsr_tensor_zeros_like(run->world, &outbox, &inbox));
	PERF_TRY(tsr_tensor_zeros_like(run->world, &outbox, &kept));
	PERF_TRY(tsr_memset_heap(run->world, kept.data, POISON, sizeof(int64_t) * MESSAGES));
	args.outbox = (TSR_HEAP uint64_t *)outbox.data;
	args.inbox = (TSR_HEAP uint64_t *)inbox.data;
	args.kept = (TSR_HEAP uint64_t *)kept.data;
	args.first = l->epoch;
	args.rounds = MESSAGES;
	l->epoch += MESSAGES;
	PERF_TRY(tsr_barrier(run->world));
	if (run->rank == 0) {
		PERF_TRY(tsr_launch(run->stream, l->kernel, l->blocks, &args));
		PERF_TRY(tsr_stream_sync(run->stream));
		PERF_TRY(compare(l, &kept, &wrong));
	}
	PERF_TRY(tsr_memcpy_from_heap(run->world, &missed, l->args.missed, sizeof missed));
	PERF_TRY(perf_sum(run, wrong + (int64_t)missed, wrong_out));
	PERF_TRY(tsr_tensor_free(run->world, &kept));
	PERF_TRY(tsr_tensor_free(run->world, &inbox));
	return tsr_tensor_free(run->world, &outbox);
}

tsr_status_t perf_run_local_signal(perf_run_t *run)
{
	local_t l = {.run = run};
	perf_pair_t pair;
	int64_t wrong = -1;

	PERF_TRY(prepare(&l));
	PERF_TRY(perf_choose(run, 10000, play, &l, &l.rounds));
	if (run->report)
		tool_progress_step(&run->report->progress, "signal");
	PERF_TRY(perf_sample(run, true, sample, &l, &pair));
	if (run->options->check)
		PERF_TRY(count_wrong(&l, &wrong));
	if (run->report) {
		perf_row_t row = {
			.what = "one way",
			.size_bytes = sizeof(uint64_t),
			.type = "u64",
			.type_bytes = sizeof(uint64_t),
			.wrong = wrong,
		};
		PERF_TRY(perf_report_row(run->report, &row, &pair));
	}
	PERF_TRY(tsr_heap_free(run->world, l.args.missed));
	return tsr_heap_free(run->world, l.args.flags);
}
