/* What `tessera bench` prints: the baseline, the trials of a search, a line a pattern. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tools/bench/bench.h"

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
	(void)snprintf(text_out, BENCH_SHORT_TEXT, "%d of %d", traffic->early_senders,
		       traffic->senders);
	return text_out;
}

/** 10^12 operations a second. */
static double tflops(double operations, uint64_t ns)
{
	return ns ? operations / (double)ns * 1e-3 : 0.0;
}

/** What is computed at what rate; where nothing is, how fast rank 0's links carry it. */
static double rate(const bench_session_t *session, const workload_config_t *config, uint64_t ns)
{
	const int ranks = tsr_world_size(session->world);
	const double operations = bench_all_operations(session->workload, config, ranks);
	if (operations > 0)
		return tflops(operations, ns);
	return ns ? session->workload->cost(config, 0, ranks).link_bytes / (double)ns : 0.0;
}

/** A NaN is what outputs were poisoned with: no result of the inputs is one. */
static const char *got_text(double got, char text_out[BENCH_SHORT_TEXT])
{
	if (isnan(got))
		return "NaN (never stored)";
	(void)snprintf(text_out, BENCH_SHORT_TEXT, "%.9g", got);
	return text_out;
}

static void print_verdict(const bench_judgement_t *judgement)
{
	const verdict_t *v = &judgement->verdict;
	const workload_matrix_t *wrong = &judgement->wrong;
	char got[BENCH_SHORT_TEXT];
	if (!judgement->verified)
		(void)printf("not verified\n");
	else if (judgement->wrong_rank < 0)
		(void)printf("ok\n");
	else
		(void)printf("WRONG on rank %d after the %s: %s(%" PRId64 ", %" PRId64
			     ") is %s, expected %.9g within %.3g; %" PRId64 " of %" PRId64
			     " elements are wrong\n",
			     judgement->wrong_rank, judgement->wrong_run, wrong->name, v->row,
			     v->col, got_text(v->got, got), v->expected, v->bound, v->wrong,
			     wrong->part_rows * wrong->part_cols);
}

/** A parameter's column, as wide as its head. */
static void print_value(const workload_param_t *param, const workload_value_t *value)
{
	char text[BENCH_VALUE_TEXT];
	(void)printf(" %*s", param->width, bench_value_text(param, value, text));
}

/* ---------------------------------------------------------------- the head, and the baseline */

void bench_print_head(const tsr_world_t *world, const bench_options_t *options)
{
	tsr_device_props_t device = {.size = sizeof device, .name = "?"};
	char problem[BENCH_PROBLEM_TEXT];
	(void)tsr_world_device(world, &device);
	(void)printf("%s, %s, %d ranks (one %s each) on %s (%s), %s inputs, seed %" PRIu64 "; %s\n",
		     options->workload->title,
		     bench_problem_text(options->workload, &options->config, problem),
		     tsr_world_size(world), tsr_world_in_threads(world) ? "thread" : "process",
		     tsr_world_backend(world), device.name,
		     options->inputs.integers ? "integer" : "random", options->inputs.seed,
		     options->verify ? "every element on every rank is verified" : "not verified");
	(void)fflush(stdout);
}

/** "what   median   spread", without the end of the line. */
static void print_times(const char *what, const bench_times_t *times)
{
	char spread[BENCH_SHORT_TEXT];
	(void)printf("  %-38s %9.3f %18s", what, (double)bench_median_ns(times) * 1e-6,
		     spread_text(times, spread));
}

/** One row of the baseline: what is done, and its rate; or why it was not measured. */
static void print_line(const bench_session_t *session, const bench_theirs_t *theirs, int index)
{
	const bench_line_t *line = &theirs->line[index];
	const uint64_t ns = bench_median_ns(&line->times);
	const workload_config_t *config = &session->options->config;
	if (line->missing[0]) {
		(void)printf("  %-38s %9s  %s\n", line->what, "-", line->missing);
		return;
	}
	print_times(line->what, &line->times);
	if (index == theirs->pair || index == theirs->all)
		(void)printf(" %10.1f GB/s out of a rank",
			     index == theirs->pair ? theirs->pair_gbps : theirs->all_gbps);
	else if (index == theirs->product && bench_cost(session, config, 0).operations == 0)
		(void)printf(" %10.3f GB/s on rank 0's links", rate(session, config, ns));
	else if (index == theirs->product)
		(void)printf(" %10.3f TFLOP/s on rank 0",
			     tflops(bench_cost(session, config, 0).operations, ns));
	else if (line->timed.count > 1)
		(void)printf(" %10.3f TFLOP/s of all",
			     tflops(bench_all_operations(session->workload, config,
							 tsr_world_size(session->world)),
				    ns));
	if (line->judged) {
		(void)printf(", ");
		print_verdict(&theirs->judgement);
	} else {
		(void)printf("\n");
	}
}

/** The workload's own computation beside the library's. */
static void print_own(const bench_session_t *session, const bench_theirs_t *theirs)
{
	char what[3 * BENCH_VALUE_TEXT];
	const workload_param_t *params = session->workload->params;
	const uint64_t ours = bench_median_ns(&theirs->own),
		       library = bench_median_ns(&theirs->line[theirs->product].times);
	if (theirs->own.count == 0)
		return;
	int used = snprintf(what, sizeof what, "%s by Tessera", theirs->line[theirs->product].what);
	for (int i = 0; params[i].name; i++) {
		char text[BENCH_VALUE_TEXT];
		if (params[i].in_row)
			used += snprintf(what + used, sizeof what - (size_t)used, ", %s",
					 bench_value_text(&params[i], &theirs->own_config.value[i],
							  text));
	}
	print_times(what, &theirs->own);
	(void)printf(" %10.3f TFLOP/s on rank 0",
		     tflops(bench_cost(session, &session->options->config, 0).operations, ours));
	if (library && ours)
		(void)printf(", %.3f of the library's", (double)library / (double)ours);
	(void)printf("\n");
}

void bench_print_theirs(const bench_session_t *session, const bench_theirs_t *theirs)
{
	(void)printf("  %-38s %9s %18s\n", theirs->name, "median ms", "spread ms");
	for (int i = 0; i < theirs->count; i++) {
		print_line(session, theirs, i);
		if (i == theirs->product)
			print_own(session, theirs);
	}
	if (theirs->floor_ns)
		(void)printf("  floor: %.3f ms, the larger of the library's %s and %.3f ms of "
			     "stores at one pair's rate\n",
			     (double)theirs->floor_ns * 1e-6, theirs->line[theirs->product].what,
			     (double)theirs->exchange_ns * 1e-6);
	else
		(void)printf("  floor: not known without the above\n");
	(void)fflush(stdout);
}

/* ---------------------------------------------------------------- a search */

void bench_print_trials(const workload_t *workload, const bench_trials_t *trials)
{
	(void)printf("  %-27s", "tried");
	for (const workload_param_t *param = workload->params; param->name; param++)
		if (param->heading)
			(void)printf(" %*s", param->width, param->heading);
	(void)printf(" %8s %9s\n", "samples", "median ms");
	for (int i = 0; i < trials->count; i++) {
		const bench_trial_t *t = &trials->trial[i];
		(void)printf("  %-27s", workload->pattern(t->config.pattern));
		for (int p = 0; workload->params[p].name; p++)
			if (workload->params[p].heading)
				print_value(&workload->params[p], &t->config.value[p]);
		(void)printf(" %8d %9.3f%s\n", t->samples, (double)t->median_ns * 1e-6,
			     t->best        ? "  best"
			     : t->abandoned ? "  given up"
					    : "");
	}
	(void)fflush(stdout);
}

void bench_print_tuned(const workload_t *workload, const bench_result_t *results, int count)
{
	int told = 0;
	for (int i = 0; i < count; i++)
		if (results[i].remembered)
			(void)printf("%s%s (%s)", told++ ? ", " : "as --tune has found them: ",
				     workload->pattern(results[i].config.pattern),
				     results[i].tuned_on);
	if (told)
		(void)printf("; --no-tuned leaves them out\n");
	(void)fflush(stdout);
}

/* ---------------------------------------------------------------- the table */

void bench_print_columns(const bench_session_t *session, const bench_theirs_t *theirs)
{
	const workload_t *workload = session->workload;
	const bool computes = bench_all_operations(workload, &session->options->config, 1) > 0;
	(void)printf("%-27s", "pattern");
	for (const workload_param_t *param = workload->params; param->name; param++)
		if (param->in_row)
			(void)printf(" %*s", param->width, param->heading);
	(void)printf(" %9s %18s %8s ", "median ms", "spread ms", computes ? "TFLOP/s" : "GB/s");
	if (theirs->measured)
		(void)printf("%9s %8s  ", "baseline", "floor");
	else
		(void)printf("%8s %8s %8s %8s %6s  ", "launches", "written", "read", "to peers",
			     "early");
	(void)printf("verdict\n");
	(void)fflush(stdout);
}

/** How many times faster than the baseline, and how many times the floor. */
static void print_ratios(const bench_theirs_t *theirs, uint64_t ns)
{
	char faster[BENCH_SHORT_TEXT] = "?", over[BENCH_SHORT_TEXT] = "?";
	const uint64_t whole = bench_theirs_ns(theirs);
	if (whole && ns)
		(void)snprintf(faster, sizeof faster, "%.3fx", (double)whole / (double)ns);
	if (theirs->floor_ns)
		(void)snprintf(over, sizeof over, "%.3fx", (double)ns / (double)theirs->floor_ns);
	(void)printf("%9s %8s  ", faster, over);
}

static void print_traffic(const bench_traffic_t *t)
{
	char launches[BENCH_SHORT_TEXT] = "?", early[BENCH_SHORT_TEXT] = "?";
	char written[BENCH_SHORT_TEXT] = "?", read[BENCH_SHORT_TEXT] = "?",
	     sent[BENCH_SHORT_TEXT] = "?";
	if (t->recorded) {
		(void)snprintf(launches, sizeof launches, "%d", t->launches);
		(void)bench_bytes_text(t->local_written_bytes, written);
		(void)bench_bytes_text(t->local_read_bytes, read);
		(void)bench_bytes_text(t->remote_written_bytes, sent);
	}
	(void)printf("%8s %8s %8s %8s %6s  ", launches, written, read, sent,
		     t->recorded ? early_text(t, early) : early);
}

void bench_print_result(const bench_session_t *session, const bench_result_t *result,
			const bench_theirs_t *theirs)
{
	const workload_t *workload = session->workload;
	const uint64_t ns = bench_median_ns(&result->times);
	char spread[BENCH_SHORT_TEXT];
	(void)printf("%-27s", workload->pattern(result->config.pattern));
	for (int i = 0; workload->params[i].name; i++)
		if (workload->params[i].in_row)
			print_value(&workload->params[i], &result->config.value[i]);
	(void)printf(" %9.3f %18s %8.3f ", (double)ns * 1e-6, spread_text(&result->times, spread),
		     rate(session, &result->config, ns));
	if (theirs->measured)
		print_ratios(theirs, ns);
	else
		print_traffic(&result->traffic);
	print_verdict(&result->judgement);
	(void)fflush(stdout);
}
