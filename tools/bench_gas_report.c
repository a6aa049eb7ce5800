/* What `tessera bench gemm-all-scatter` prints: the baseline, the trials of a search, a line a pattern. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tools/bench.h"

/* ---------------------------------------------------------------- pieces */

const char *bench_bytes_text(uint64_t bytes, char text_out[BENCH_SHORT_TEXT])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;
	for (; value >= 1024.0; unit++)
		value /= 1024.0;
	if (unit < 0)
		(void)snprintf(text_out, BENCH_SHORT_TEXT, "%" PRIu64, bytes);
	else
		(void)snprintf(text_out, BENCH_SHORT_TEXT, "%.1f%c", value, units[unit]);
	return text_out;
}

static const char *tile_text(gas_tile_size_t tile, char text_out[BENCH_SHORT_TEXT])
{
	(void)snprintf(text_out, BENCH_SHORT_TEXT, "%dx%dx%d", tile.m, tile.n, tile.k);
	return text_out;
}

static const char *spread_text(const bench_times_t *times, char text_out[BENCH_SHORT_TEXT])
{
	(void)snprintf(text_out, BENCH_SHORT_TEXT, "%.3f .. %.3f", (double)times->ns[0] * 1e-6,
		       (double)times->ns[times->count - 1] * 1e-6);
	return text_out;
}

/** yes, no, how many of the ranks that send, or - where none does. */
static const char *early_text(const bench_traffic_t *traffic, char text_out[BENCH_SHORT_TEXT])
{
	if (traffic->senders == 0)
		return "-";
	if (traffic->early_senders == 0)
		return "no";
	if (traffic->early_senders == traffic->senders)
		return "yes";
	(void)snprintf(text_out, BENCH_SHORT_TEXT, "%d of %d", traffic->early_senders, traffic->senders);
	return text_out;
}

/** 10^12 operations a second, of a product of `cols` columns. */
static double tflops(const gas_config_t *c, int64_t cols, uint64_t ns)
{
	return ns ? 2.0 * (double)c->m * (double)cols * (double)c->k / (double)ns * 1e-3 : 0.0;
}

/** A NaN is what C was poisoned with: no product of the inputs is one. */
static const char *got_text(double got, char text_out[BENCH_SHORT_TEXT])
{
	if (isnan(got))
		return "NaN (never stored)";
	(void)snprintf(text_out, BENCH_SHORT_TEXT, "%.9g", got);
	return text_out;
}

static void print_verdict(const gas_config_t *config, const bench_judgement_t *judgement)
{
	const gas_verdict_t *v = &judgement->verdict;
	char got[BENCH_SHORT_TEXT];
	if (!judgement->verified)
		(void)printf("not verified\n");
	else if (judgement->wrong_rank < 0)
		(void)printf("ok\n");
	else
		(void)printf("WRONG on rank %d after the %s: C(%" PRId64 ", %" PRId64 ") is %s, expected %.9g within %.3g; %" PRId64
			     " of %" PRId64 " elements are wrong\n",
			     judgement->wrong_rank, judgement->wrong_run, v->row, v->col, got_text(v->got, got), v->expected,
			     v->bound, v->wrong, config->m * config->n);
}

/* ---------------------------------------------------------------- the head, and the baseline */

void bench_gas_print_head(const tsr_world_t *world, const bench_gas_options_t *options)
{
	const gas_config_t *c = &options->config;
	tsr_device_props_t device = {.size = sizeof device, .name = "?"};
	(void)tsr_world_device(world, &device);
	(void)printf("GEMM + all-scatter, %" PRId64 "x%" PRId64 "x%" PRId64
		     " %s, %d ranks (one %s each) on %s (%s), %s inputs, seed %" PRIu64 "; %s\n",
		     c->m, c->n, c->k, tsr_dtype_name(c->dtype), tsr_world_size(world),
		     tsr_world_in_threads(world) ? "thread" : "process", tsr_world_backend(world), device.name,
		     options->inputs.integers ? "integer" : "random", options->inputs.seed,
		     options->verify ? "every element on every rank is verified" : "not verified");
	(void)fflush(stdout);
}

/** "what   median   spread", without the end of the line. */
static void print_times(const char *what, const bench_times_t *times)
{
	char spread[BENCH_SHORT_TEXT];
	(void)printf("  %-38s %9.3f %18s", what, (double)bench_median_ns(times) * 1e-6, spread_text(times, spread));
}

/** One row of the baseline: what the step does, and the rate of what is done in it; or why it was not measured. */
static void print_step(const bench_gas_session_t *session, const bench_gas_baseline_t *b, bench_step_t step, const char *what)
{
	const gas_config_t *c = &session->options->config;
	uint64_t ns = bench_median_ns(&b->times[step]);
	if (b->missing[step][0]) {
		(void)printf("  %-38s %9s  %s\n", what, "-", b->missing[step]);
		return;
	}
	print_times(what, &b->times[step]);
	if (step == BENCH_PRODUCT)
		(void)printf(" %10.3f TFLOP/s on rank 0\n", tflops(c, gas_share(c->n, 0, tsr_world_size(session->world)).cols, ns));
	else if (step == BENCH_GATHER)
		(void)printf("\n");
	else if (step == BENCH_PUSH_PAIR || step == BENCH_PUSH_ALL)
		(void)printf(" %10.1f GB/s out of a rank\n", step == BENCH_PUSH_PAIR ? b->pair_gbps : b->all_gbps);
	else
		(void)printf(" %10.3f TFLOP/s of all", tflops(c, c->n, ns));
	if (step == BENCH_BOTH)
		(void)printf("\n");
	if (step == BENCH_LAYOUT) {
		(void)printf(", ");
		print_verdict(c, &b->judgement);
	}
}

static void print_own_product(const bench_gas_session_t *session, const bench_gas_baseline_t *b)
{
	const gas_config_t *c = &session->options->config;
	char what[2 * BENCH_SHORT_TEXT], tile[BENCH_SHORT_TEXT];
	uint64_t ours = bench_median_ns(&b->product), theirs = bench_median_ns(&b->times[BENCH_PRODUCT]);
	(void)snprintf(what, sizeof what, "product by Tessera, %s", tile_text(b->product_config.tile, tile));
	print_times(what, &b->product);
	(void)printf(" %10.3f TFLOP/s on rank 0", tflops(c, gas_share(c->n, 0, tsr_world_size(session->world)).cols, ours));
	if (theirs && ours)
		(void)printf(", %.3f of the library's", (double)theirs / (double)ours);
	(void)printf("\n");
}

void bench_gas_print_baseline(const bench_gas_session_t *session, const bench_gas_baseline_t *b)
{
	char bytes[BENCH_SHORT_TEXT], pair[3 * BENCH_SHORT_TEXT], all[3 * BENCH_SHORT_TEXT];
	(void)bench_bytes_text(b->push_bytes, bytes);
	(void)snprintf(pair, sizeof pair, "plain stores, rank 0 to 1, %s", bytes);
	(void)snprintf(all, sizeof all, "plain stores, each to each, %s", bytes);
	(void)printf("  %-38s %9s %18s\n", b->name, "median ms", "spread ms");
	print_step(session, b, BENCH_PRODUCT, "product");
	print_own_product(session, b);
	print_step(session, b, BENCH_GATHER, "all-gather");
	print_step(session, b, BENCH_BOTH, "product + all-gather: the baseline");
	print_step(session, b, BENCH_LAYOUT, "the same, + columns to their places");
	print_step(session, b, BENCH_PUSH_PAIR, pair);
	print_step(session, b, BENCH_PUSH_ALL, all);
	if (b->floor_ns)
		(void)printf("  floor: %.3f ms, the larger of the library's product and %.3f ms of stores at one pair's rate\n",
			     (double)b->floor_ns * 1e-6, (double)b->exchange_ns * 1e-6);
	else
		(void)printf("  floor: not known without the above\n");
	(void)fflush(stdout);
}

/* ---------------------------------------------------------------- a search */

void bench_gas_print_trials(const bench_trials_t *trials)
{
	(void)printf("  %-27s %12s %6s %7s %5s %8s %9s\n", "tried", "tile", "blocks", "sending", "parts", "samples", "median ms");
	for (int i = 0; i < trials->count; i++) {
		const bench_trial_t *t = &trials->trial[i];
		char tile[BENCH_SHORT_TEXT];
		(void)printf("  %-27s %12s %6d %7d %5d %8d %9.3f%s\n", gas_pattern_name(t->config.pattern),
			     tile_text(t->config.tile, tile), t->config.blocks, t->config.comm_blocks, t->config.parts, t->samples,
			     (double)t->median_ns * 1e-6,
			     t->best        ? "  best"
			     : t->abandoned ? "  given up"
					    : "");
	}
	(void)fflush(stdout);
}

void bench_gas_print_tuned(const bench_gas_result_t *results, int count)
{
	int told = 0;
	for (int i = 0; i < count; i++)
		if (results[i].remembered)
			(void)printf("%s%s (%s)", told++ ? ", " : "tile and blocks as --tune has found them: ",
				     gas_pattern_name(results[i].config.pattern), results[i].tuned_on);
	if (told)
		(void)printf("; --no-tuned leaves them out\n");
	(void)fflush(stdout);
}

/* ---------------------------------------------------------------- the table */

void bench_gas_print_columns(const bench_gas_baseline_t *baseline)
{
	(void)printf("%-27s %12s %9s %18s %8s ", "pattern", "tile", "median ms", "spread ms", "TFLOP/s");
	if (baseline->measured)
		(void)printf("%9s %8s  ", "baseline", "floor");
	else
		(void)printf("%8s %8s %8s %8s %6s  ", "launches", "written", "read", "to peers", "early");
	(void)printf("verdict\n");
	(void)fflush(stdout);
}

/** How many times faster than the baseline, and how many times the floor. */
static void print_ratios(const bench_gas_baseline_t *baseline, uint64_t ns)
{
	char faster[BENCH_SHORT_TEXT] = "?", over[BENCH_SHORT_TEXT] = "?";
	uint64_t both = bench_median_ns(&baseline->times[BENCH_BOTH]);
	if (both && ns)
		(void)snprintf(faster, sizeof faster, "%.3fx", (double)both / (double)ns);
	if (baseline->floor_ns)
		(void)snprintf(over, sizeof over, "%.3fx", (double)ns / (double)baseline->floor_ns);
	(void)printf("%9s %8s  ", faster, over);
}

static void print_traffic(const bench_traffic_t *t)
{
	char launches[BENCH_SHORT_TEXT] = "?", early[BENCH_SHORT_TEXT] = "?";
	char written[BENCH_SHORT_TEXT] = "?", read[BENCH_SHORT_TEXT] = "?", sent[BENCH_SHORT_TEXT] = "?";
	if (t->recorded) {
		(void)snprintf(launches, sizeof launches, "%d", t->launches);
		(void)bench_bytes_text(t->local_written_bytes, written);
		(void)bench_bytes_text(t->local_read_bytes, read);
		(void)bench_bytes_text(t->remote_written_bytes, sent);
	}
	(void)printf("%8s %8s %8s %8s %6s  ", launches, written, read, sent, t->recorded ? early_text(t, early) : early);
}

void bench_gas_print_result(const bench_gas_result_t *result, const bench_gas_baseline_t *baseline)
{
	const gas_config_t *c = &result->config;
	char tile[BENCH_SHORT_TEXT], spread[BENCH_SHORT_TEXT];
	uint64_t ns = bench_median_ns(&result->times);
	(void)printf("%-27s %12s %9.3f %18s %8.3f ", gas_pattern_name(c->pattern), tile_text(c->tile, tile), (double)ns * 1e-6,
		     spread_text(&result->times, spread), tflops(c, c->n, ns));
	if (baseline->measured)
		print_ratios(baseline, ns);
	else
		print_traffic(&result->traffic);
	print_verdict(c, &result->judgement);
	(void)fflush(stdout);
}
