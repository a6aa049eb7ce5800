/* How tessera perf tells: nccl-tests' columns, and JSON. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tools/perf.h"

static const char no_reference[] = "none";

/** The means that the operation is compared with. */
static const char *reference_name(perf_op_t op, bool on_host)
{
	if (perf_op_moves(op))
		return on_host ? "memcpy" : "plain";
	if (op == PERF_ALL_GATHER)
		return no_reference;
	if (op == PERF_SIGNAL && !on_host)
		return "relaxed";
	return op == PERF_BARRIER ? "host" : "C11";
}

static tsr_status_t begin_json(perf_report_t *report, tsr_world_t *world, const char *device)
{
	const perf_options_t *o = report->options;

	report->json = json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:b, s:s, s:[]}", "command", "perf", "operation",
				 perf_op_name(o->op), "ranks", tsr_world_size(world), "backend", tsr_world_backend(world), "device",
				 device, "samples", (int)o->samples, "blocks", (int)o->blocks, "each_launched", (int)o->each,
				 "reference", report->reference, "rows");
	return report->json ? TSR_OK : tsr_error(TSR_ERR_NO_MEMORY, "no host memory for the report: end other programs");
}

tsr_status_t perf_report_begin(perf_report_t *report, const perf_options_t *options, tsr_world_t *world)
{
	perf_report_t fresh = {.options = options, .progress = tool_progress_begin(0)};
	tsr_device_props_t props;
	bool moves = perf_op_moves(options->op), sized = perf_op_sized(options->op);
	bool on_host = strcmp(tsr_world_backend(world), "cpuemu") == 0, blocks = perf_op_blocks(options->op);
	char reference[32], pair[96];

	*report = fresh;
	report->reference = reference_name(options->op, on_host);
	PERF_TRY(tsr_world_device(world, &props));
	if (options->json)
		PERF_TRY(begin_json(report, world, props.name));
	for (size_t s = sized ? options->min_bytes : 0; s; s = perf_next_size(options, s))
		report->progress.steps++;
	if (!sized)
		report->progress.steps = options->op == PERF_ATOMIC ? 2 : 1;

	printf("# tessera perf %s: %d ranks as %s on %s (%s)", perf_op_name(options->op), tsr_world_size(world),
	       tsr_world_in_threads(world) ? "threads" : "processes", tsr_world_backend(world), props.name);
	if (blocks && options->blocks)
		printf(", %ld block%s", options->blocks, options->blocks == 1 ? "" : "s");
	else if (blocks && !on_host)
		printf(", a block for every %d KiB", PERF_BLOCK_BYTES >> 10);
	printf("\n# median of %ld sample%s, each of many %s\n", options->samples, options->samples == 1 ? "" : "s",
	       moves && options->each ? "launches of one operation" : "operations inside one launch");
	perf_op_pair(options->op, tsr_world_size(world), pair, sizeof pair);
	printf("# %s\n", pair);
	if (!sized && options->sized)
		printf("# %s has no size or type to choose: -b, -e, -f, -i and -d change nothing\n", perf_op_name(options->op));
	if (strcmp(report->reference, no_reference) == 0)
		snprintf(reference, sizeof reference, "-");
	else
		snprintf(reference, sizeof reference, "%s(%s)", report->reference, moves ? "GB/s" : "us");
	printf("#\n#%12s %12s %6s %12s %12s %12s %7s %13s %7s %9s\n", "size(B)", "count", "type", "time(us)", "algbw(GB/s)",
	       "busbw(GB/s)", "#wrong", reference, "ratio", "spread(%)");
	return TSR_OK;
}

/** For moves how many times as fast as the other means, else how many times as long. */
static double row_ratio(perf_op_t op, const perf_row_t *row)
{
	if (row->reference_ns <= 0 || row->time_ns <= 0 || op == PERF_BARRIER)
		return 0;
	return perf_op_moves(op) ? row->reference_ns / row->time_ns : row->time_ns / row->reference_ns;
}

/** nccl-tests' factor: how much of the size each rank's link carries. */
static double bus_factor(const perf_row_t *row)
{
	return row->pieces > 0 ? (row->pieces - 1.0) / row->pieces : 1;
}

/** nccl-tests' count: elements that a rank gives. */
static size_t row_count(const perf_row_t *row)
{
	return row->size_bytes / row->type_bytes / (size_t)(row->pieces > 0 ? row->pieces : 1);
}

static void print_row(perf_op_t op, const perf_row_t *row, double ratio)
{
	double bandwidth = (double)row->size_bytes / row->time_ns; /* bytes a nanosecond: GB/s */
	double bus = bandwidth * bus_factor(row);
	char wrong[24] = "N/A", reference[24] = "-", times[24] = "-";

	if (row->wrong >= 0)
		snprintf(wrong, sizeof wrong, "%lld", (long long)row->wrong);
	if (row->reference_ns > 0 && perf_op_moves(op))
		snprintf(reference, sizeof reference, "%.2f", (double)row->size_bytes / row->reference_ns);
	else if (row->reference_ns > 0)
		snprintf(reference, sizeof reference, "%.3f", row->reference_ns / 1e3);
	if (ratio > 0)
		snprintf(times, sizeof times, "%.3f", ratio);
	printf(" %12zu %12zu %6s %12.3f %12.2f %12.2f %7s %13s %7s %9.1f%s%s\n", row->size_bytes, row_count(row), row->type,
	       row->time_ns / 1e3, bandwidth, bus, wrong, reference, times, row->spread * 100, row->what ? "  " : "",
	       row->what ? row->what : "");
	fflush(stdout);
}

/** What is promised, the sizes that it is promised for taken into account: the worst ratio is told at the end. */
static void note_ratio(perf_report_t *report, const perf_row_t *row, double ratio)
{
	bool moves = perf_op_moves(report->options->op);

	if (ratio <= 0 || report->options->op == PERF_ATOMIC || (moves && row->size_bytes < 32768))
		return;
	if (report->worst_ratio <= 0 || (moves ? ratio < report->worst_ratio : ratio > report->worst_ratio))
		report->worst_ratio = ratio;
}

tsr_status_t perf_report_row(perf_report_t *report, const perf_row_t *row)
{
	double ratio = row_ratio(report->options->op, row);
	double bandwidth = (double)row->size_bytes / row->time_ns;

	tool_progress_clear(&report->progress);
	print_row(report->options->op, row, ratio);
	note_ratio(report, row, ratio);
	report->wrong += row->wrong > 0 ? row->wrong : 0;
	if (!report->json)
		return TSR_OK;

	json_t *line =
		json_pack("{s:s?, s:I, s:I, s:s, s:f, s:f, s:f, s:f, s:I, s:f, s:f}", "what", row->what, "size_bytes",
			  (json_int_t)row->size_bytes, "count", (json_int_t)row_count(row), "type", row->type, "time_us",
			  row->time_ns / 1e3, "spread", row->spread, "reference_us", row->reference_ns / 1e3, "ratio", ratio,
			  "wrong", (json_int_t)row->wrong, "algbw_gbps", bandwidth, "busbw_gbps", bandwidth * bus_factor(row));
	if (!line || json_array_append_new(json_object_get(report->json, "rows"), line) != 0)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for the report: end other programs");
	return TSR_OK;
}

tsr_status_t perf_report_end(perf_report_t *report)
{
	const perf_options_t *options = report->options;

	if (options->check)
		printf("# wrong elements: %lld%s\n", (long long)report->wrong, report->wrong ? "" : " (ok)");
	else
		printf("# not verified (-c 0)\n");
	if (report->worst_ratio > 0 && perf_op_moves(options->op))
		printf("# least ratio to %s from 32 KiB on: %.3f\n", report->reference, report->worst_ratio);
	else if (report->worst_ratio > 0)
		printf("# ratio to %s atomics: %.2f\n", report->reference, report->worst_ratio);
	fflush(stdout);
	if (!report->json)
		return TSR_OK;
	int failed = json_dump_file(report->json, options->json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	json_decref(report->json);
	report->json = NULL;
	if (failed)
		return tsr_error(TSR_ERR_SYSTEM, "cannot write '%s': %s", options->json, strerror(errno));
	return TSR_OK;
}
