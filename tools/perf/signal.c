/*
 * signal: a ping-pong between the kernels of two ranks, beside one that is
 * bare: of C11 atomics between their hosts, or, where hosts cannot reach heaps,
 * of relaxed stores between kernels, which order nothing. Between nodes there is
 * nothing beside it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/kernels/kernels.h"
#include "tools/perf/perf.h"

enum { MESSAGES = 64, MESSAGE_BYTES = 1024, POISON = 0xa5, FIRST_FAR = 100 };

typedef struct pingpong {
	perf_run_t *run;
	perf_pingpong_args_t args;
	TSR_HEAP void *bare_flag; /* of the bare one: my own, raised by the partner */
	/* addresses of both for hosts; null where those cannot reach them */
	_Atomic uint64_t *mine, *partners;
	uint64_t epoch, bare_epoch, rounds; /* the next epoch of each; rounds of a sample */
	bool plays;                         /* ranks 0 and 1 play, the others wait */
} pingpong_t;

static tsr_status_t prepare(pingpong_t *p)
{
	perf_run_t *run = p->run;
	TSR_HEAP void *flag, *missed;

	p->plays = run->rank < 2;
	p->epoch = p->bare_epoch = 1;
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf flag", &flag));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf missed", &missed));
	PERF_TRY(perf_alloc_clear(run, sizeof(uint64_t), "perf bare flag", &p->bare_flag));
	p->args.flag = (TSR_HEAP uint64_t *)flag;
	p->args.missed = (TSR_HEAP uint64_t *)missed;
	p->args.partner = run->rank == 0 ? 1 : 0;
	p->args.leads = run->rank == 0;
	p->mine = perf_host_address(run, p->bare_flag, run->rank);
	p->partners = perf_host_address(run, p->bare_flag, p->args.partner);
	return TSR_OK;
}

/** `rounds` rounds between kernels, from `*epoch` on; on the ranks that play. */
static tsr_status_t play_in(pingpong_t *p, const tsr_kernel_t *kernel, TSR_HEAP uint64_t *flag,
			    uint64_t *epoch, uint64_t rounds, double *ns_out)
{
	perf_pingpong_args_t lead = p->args, args = p->args;

	*ns_out = 0;
	PERF_TRY(tsr_barrier(p->run->world));
	lead.flag = args.flag = flag;
	lead.first = *epoch;
	lead.rounds = perf_lead(rounds);
	args.first = lead.first + lead.rounds;
	args.rounds = rounds;
	*epoch = args.first + rounds;
	return p->plays ? perf_time(p->run, kernel, 1, &lead, &args, ns_out) : TSR_OK;
}

static tsr_status_t play(pingpong_t *p, uint64_t rounds, double *ns_out)
{
	return play_in(p, &perf_signal, p->args.flag, &p->epoch, rounds, ns_out);
}

/**
 * Spins until my flag shows `epoch`. The acquire's partner is the release in
 * bare_rounds on the other rank.
 */
static bool await_bare(_Atomic uint64_t *mine, uint64_t epoch, uint64_t deadline_ns)
{
	for (uint64_t spins = 1; atomic_load_explicit(mine, memory_order_acquire) < epoch;
	     spins++) {
		if (spins % (1u << 22) == 0 && perf_now_ns() > deadline_ns)
			return false;
	}
	return true;
}

/**
 * Rounds first .. end - 1 between the hosts. The release's partner is the
 * acquire in await_bare on the other rank.
 */
static tsr_status_t bare_rounds(pingpong_t *p, uint64_t first, uint64_t end, uint64_t deadline_ns)
{
	for (uint64_t epoch = first; epoch < end; epoch++) {
		if (p->args.leads)
			atomic_store_explicit(p->partners, epoch, memory_order_release);
		if (!await_bare(p->mine, epoch, deadline_ns))
			return tsr_error(TSR_ERR_TIMEOUT,
					 "rank %d's host did not answer rank %d's within the "
					 "deadline: raise TESSERA_DEADLINE",
					 p->args.partner, p->run->rank);
		if (!p->args.leads)
			atomic_store_explicit(p->partners, epoch, memory_order_release);
	}
	return TSR_OK;
}

/** The same between the hosts, the first rounds untimed likewise. */
static tsr_status_t play_on_hosts(pingpong_t *p, uint64_t rounds, double *ns_out)
{
	uint64_t first = p->bare_epoch, timed = first + perf_lead(rounds);

	*ns_out = 0;
	p->bare_epoch = timed + rounds;
	PERF_TRY(tsr_barrier(p->run->world));
	if (!p->plays)
		return TSR_OK;
	uint64_t deadline_ns = perf_now_ns() + tsr_world_deadline_ns(p->run->world);
	PERF_TRY(bare_rounds(p, first, timed, deadline_ns));
	uint64_t begin = perf_now_ns();
	PERF_TRY(bare_rounds(p, timed, p->bare_epoch, deadline_ns));
	*ns_out = (double)(perf_now_ns() - begin);
	return TSR_OK;
}

static tsr_status_t play_bare(pingpong_t *p, uint64_t rounds, double *ns_out)
{
	if (p->mine && p->partners)
		return play_on_hosts(p, rounds, ns_out);
	return play_in(p, &perf_bare_signal, (TSR_HEAP uint64_t *)p->bare_flag, &p->bare_epoch,
		       rounds, ns_out);
}

/** Both, of which tsr_signal's time counts. */
static tsr_status_t play_both(void *ctx, uint64_t rounds, double *ns_out)
{
	const pingpong_t *p = ctx;
	double bare_ns;

	PERF_TRY(play(ctx, rounds, ns_out));
	return p->run->far ? TSR_OK : play_bare(ctx, rounds, &bare_ns);
}

static tsr_status_t sample(void *ctx, perf_pair_t *pair)
{
	pingpong_t *p = ctx;
	double ns;

	PERF_TRY(play(p, p->rounds, &ns));
	perf_samples_add(&pair->kernel, ns / (2.0 * (double)p->rounds));
	if (p->run->far)
		return TSR_OK;
	PERF_TRY(play_bare(p, p->rounds, &ns));
	perf_samples_add(&pair->host, ns / (2.0 * (double)p->rounds));
	return TSR_OK;
}

/**
 * Random messages, each under its own signal: elements that the receiver did
 * not find when the signal came.
 */
static tsr_status_t count_wrong(pingpong_t *p, int64_t *wrong_out)
{
	perf_run_t *run = p->run;
	const int64_t words = MESSAGES * MESSAGE_BYTES / 8;
	tsr_tensor_t outbox, inbox, kept;
	int64_t received[MESSAGES * MESSAGE_BYTES / 8], wrong = 0;
	uint64_t missed;

	PERF_TRY(tsr_tensor_randint(run->world, TSR_I64, 1, &words, INT64_MIN, INT64_MAX,
				    (uint64_t)run->rank, &outbox));
	PERF_TRY(tsr_tensor_zeros_like(run->world, &outbox, &inbox));
	PERF_TRY(tsr_tensor_zeros_like(run->world, &outbox, &kept));
	PERF_TRY(tsr_memset_heap(run->world, inbox.data, POISON, sizeof received));
	PERF_TRY(tsr_memset_heap(run->world, kept.data, POISON, sizeof received));
	p->args.outbox = outbox.data;
	p->args.inbox = inbox.data;
	p->args.kept = kept.data;
	p->args.size_bytes = MESSAGE_BYTES;
	p->args.first = p->epoch;
	p->args.rounds = MESSAGES;
	PERF_TRY(tsr_barrier(run->world));
	if (p->plays)
		PERF_TRY(tsr_launch(run->stream, &perf_message, 1, &p->args));
	PERF_TRY(tsr_barrier(run->world));
	if (run->rank == 1) {
		PERF_TRY(tsr_tensor_read(run->world, &kept, received));
		for (int64_t i = 0; i < words; i++)
			wrong +=
				received[i] != tsr_random_int(0, (uint64_t)i, INT64_MIN, INT64_MAX);
	}
	PERF_TRY(tsr_memcpy_from_heap(run->world, &missed, p->args.missed, sizeof missed));
	PERF_TRY(perf_sum(run, wrong + (int64_t)missed, wrong_out));
	PERF_TRY(tsr_tensor_free(run->world, &kept));
	PERF_TRY(tsr_tensor_free(run->world, &inbox));
	return tsr_tensor_free(run->world, &outbox);
}

/** The flags themselves: what the last round of each left must be what it raised them to. */
static tsr_status_t check_flags(pingpong_t *p, int64_t *wrong)
{
	uint64_t flag = 0, bare = 0;
	int64_t off;

	PERF_TRY(tsr_barrier(p->run->world));
	PERF_TRY(tsr_memcpy_from_heap(p->run->world, &flag, p->args.flag, sizeof flag));
	PERF_TRY(tsr_memcpy_from_heap(p->run->world, &bare, p->bare_flag, sizeof bare));
	PERF_TRY(perf_sum(p->run, p->plays && (flag != p->epoch - 1 || bare != p->bare_epoch - 1),
			  &off));
	*wrong += off;
	return TSR_OK;
}

static tsr_status_t release(pingpong_t *p)
{
	PERF_TRY(tsr_heap_free(p->run->world, p->bare_flag));
	PERF_TRY(tsr_heap_free(p->run->world, p->args.missed));
	return tsr_heap_free(p->run->world, p->args.flag);
}

tsr_status_t perf_run_signal(perf_run_t *run)
{
	pingpong_t p = {.run = run};
	perf_pair_t pair;
	int64_t wrong = 0;

	PERF_TRY(prepare(&p));
	PERF_TRY(perf_choose(p.run, run->far ? FIRST_FAR : 10000, play_both, &p, &p.rounds));
	if (run->report)
		tool_progress_step(&run->report->progress, "signal");
	PERF_TRY(perf_sample(run, true, sample, &p, &pair));
	PERF_TRY(check_flags(&p, &wrong));
	if (run->options->check) {
		int64_t messages;
		PERF_TRY(count_wrong(&p, &messages));
		wrong += messages;
	}
	if (run->report) {
		perf_row_t row = {
			.what = "one way",
			.size_bytes = sizeof(uint64_t),
			.type = "u64",
			.type_bytes = sizeof(uint64_t),
			.link_bytes = sizeof(uint64_t),
			.wrong = run->options->check ? wrong : -1,
		};
		PERF_TRY(perf_report_row(run->report, &row, &pair));
	}
	return release(&p);
}
