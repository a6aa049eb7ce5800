/* How tessera perf tells: nccl-tests' columns, and JSON. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tools/document.h"
#include "tools/json_rows.h"
#include "tools/perf/perf.h"

static const char no_reference[] = "none", limit[] = "limit", loads[] = "load";

/** The means that the operation is compared with. */
static const char *reference_name(const perf_options_t *options, bool on_host, bool far)
{
	const perf_op_t op = options->op;
	if (far && (op == PERF_SIGNAL || op == PERF_ATOMIC || (!on_host && perf_op_moves(op))))
		return no_reference;
	if (perf_has_limits(options, on_host))
		return limit;
	if (perf_op_moves(op))
		return on_host ? "memcpy" : "plain";
	if (op == PERF_BARRIER)
		return "host";
	if (op == PERF_MARKED)
		return "put-signal";
	if (op == PERF_SIGNAL && options->scope != PERF_SCOPE_SYSTEM)
		return no_reference;
	if (op == PERF_SIGNAL)
		return on_host ? "C11" : "relaxed";
	if (op == PERF_ATOMIC)
		return on_host ? "C11" : loads;
	return no_reference;
}

static tsr_status_t begin_json(perf_report_t *report, tsr_world_t *world, const char *device)
{
	const perf_options_t *o = report->options;

	report->json =
		json_pack("{s:s, s:s, s:s?, s:i, s:s, s:s, s:i, s:i, s:b, s:s, s:[]}", "command",
			  "perf", "operation", perf_op_name(o->op), "scope",
			  o->op == PERF_SIGNAL ? perf_scope_name(o->scope) : NULL, "ranks",
			  tsr_world_size(world), "backend", tsr_world_backend(world), "device",
			  device, "samples", (int)o->samples, "blocks", (int)o->blocks,
			  "each_launched", (int)o->each, "reference", report->reference, "rows");
	return report->json ? TSR_OK
			    : tsr_error(TSR_ERR_NO_MEMORY,
					"no host memory for the report: end other programs");
}

static int bits_in(unsigned bits)
{
	int count = 0;

	for (; bits; bits >>= 1)
		count += (int)(bits & 1);
	return count;
}

/** How many lines there will be, as far as the options say. */
static int steps_of(const perf_options_t *options, int ranks)
{
	const int atomics = bits_in(options->atomics), vias = bits_in(options->vias);

	if (options->pairs)
		return atomics > 0 ? (ranks * ranks + 1) * atomics
				   : ranks * ranks + perf_sizes(options);
	if (!perf_op_sized(options->op))
		return atomics > 0 ? 2 * atomics : 1;
	return perf_sizes(options) * (vias > 0 ? vias : 1);
}

/** Which blocks move, where they are chosen for the whole table. */
static void print_blocks(const perf_options_t *options, bool on_host)
{
	if (!perf_op_blocks(options->op))
		return;
	if (options->blocks)
		printf(", %ld block%s", options->blocks, options->blocks == 1 ? "" : "s");
	else if (!on_host && !options->vias)
		printf(", a block for every %d KiB", PERF_BLOCK_BYTES >> 10);
}

/** Who measures what, and how. */
static void print_head(const perf_options_t *options, const tsr_world_t *world, const char *device,
		       bool on_host)
{
	const int ranks = tsr_world_size(world);
	char pair[96];

	printf("# tessera perf %s: %d rank%s as %s on %s (%s)", perf_op_name(options->op), ranks,
	       ranks == 1 ? "" : "s", tsr_world_in_threads(world) ? "threads" : "processes",
	       tsr_world_backend(world), device);
	print_blocks(options, on_host);
	printf("\n# median of %ld sample%s, each of many %s\n", options->samples,
	       options->samples == 1 ? "" : "s",
	       perf_op_moves(options->op) && options->each ? "launches of one operation"
							   : "operations inside one launch");
	perf_op_pair(options, ranks, pair, sizeof pair);
	printf("# %s\n", pair);
	if (!perf_op_sized(options->op) && options->sized)
		printf("# %s has no size or type to choose: -b, -e, -f, -i and -d change nothing\n",
		       perf_op_name(options->op));
}

/**
 * Whether ratios are to what the hardware carries, or to the loads that it makes
 * on the same way: then they are percent of it.
 */
static bool is_limit(const perf_report_t *report)
{
	return report->reference == limit || report->reference == loads;
}

static void print_columns(const perf_report_t *report)
{
	char reference[32];

	if (report->reference == no_reference)
		snprintf(reference, sizeof reference, "-");
	else
		snprintf(reference, sizeof reference, "%s(%s)", report->reference,
			 perf_op_moves(report->options->op) ? "GB/s" : "us");
	printf("#\n#%12s %12s %6s %12s %12s %12s %7s %13s %8s %9s\n", "size(B)", "count", "type",
	       "time(us)", "algbw(GB/s)", "busbw(GB/s)", "#wrong", reference,
	       is_limit(report) ? "limit(%)" : "ratio", "spread(%)");
}

tsr_status_t perf_report_begin(perf_report_t *report, const perf_options_t *options,
			       tsr_world_t *world)
{
	perf_report_t fresh = {.options = options, .progress = tool_progress_begin(0)};
	tsr_device_props_t props = {.size = sizeof props};
	const bool on_host = strcmp(tsr_world_backend(world), "cpuemu") == 0;

	*report = fresh;
	report->reference = reference_name(options, on_host, tsr_world_nodes(world) > 1);
	report->progress.steps = steps_of(options, tsr_world_size(world));
	PERF_TRY(tsr_world_device(world, &props));
	if (options->json || options->csv)
		PERF_TRY(begin_json(report, world, props.name));
	print_head(options, world, props.name, on_host);
	print_columns(report);
	return TSR_OK;
}

/**
 * A row with what was made of its samples. 0 stands for what there is not: a
 * bandwidth of nothing, a ratio to nothing.
 */
typedef struct line {
	const perf_row_t *row;
	double time_ns, spread, reference_ns;
	double algbw, busbw; /* bytes a nanosecond: GB/s */
	/* of moves, and to a limit: how many times as fast as the other means; else how many times
	 * as long */
	double ratio;
	bool disturbed, reference_disturbed;
} line_t;

static double quotient(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static line_t make_line(const perf_report_t *report, const perf_row_t *row, perf_pair_t *pair)
{
	const perf_op_t op = report->options->op;
	line_t line = {
		.row = row,
		.time_ns = perf_samples_median(&pair->kernel),
		.spread = perf_samples_spread(&pair->kernel),
		.reference_ns = perf_samples_median(&pair->host),
		.disturbed = perf_samples_disturbed(&pair->kernel),
		.reference_disturbed = perf_samples_disturbed(&pair->host),
	};

	line.algbw = quotient(row->still ? 0 : (double)row->size_bytes, line.time_ns);
	line.busbw = quotient((double)row->link_bytes, line.time_ns);
	if (perf_op_moves(op) || is_limit(report))
		line.ratio = quotient(line.reference_ns, line.time_ns);
	else if (op != PERF_BARRIER)
		line.ratio = quotient(line.time_ns, line.reference_ns);
	return line;
}

/** nccl-tests' count: elements that a rank gives. */
static size_t row_count(const perf_row_t *row)
{
	return row->size_bytes / row->type_bytes / (size_t)(row->pieces > 0 ? row->pieces : 1);
}

/** `value`, or a dash where there is none. */
static const char *figure(double value, int digits, char text_out[24])
{
	if (value > 0)
		snprintf(text_out, 24, "%.*f", digits, value);
	else
		snprintf(text_out, 24, "-");
	return text_out;
}

/** The end of the line: which row it is, and whose samples were disturbed. */
static void print_words(const perf_report_t *report, const line_t *line)
{
	const char *what = line->row->what;

	if (what)
		printf("  %s", what);
	if (line->disturbed || line->reference_disturbed)
		printf("%s%s%sdisturbed", what ? ", " : "  ",
		       line->disturbed ? "" : report->reference, line->disturbed ? "" : " ");
	printf("\n");
}

static void print_line(const perf_report_t *report, const line_t *line)
{
	const perf_row_t *row = line->row;
	bool moves = perf_op_moves(report->options->op);
	char algbw[24], busbw[24], wrong[24] = "N/A", reference[24], ratio[24];

	if (row->wrong >= 0)
		snprintf(wrong, sizeof wrong, "%lld", (long long)row->wrong);
	if (moves)
		(void)figure(quotient((double)row->size_bytes, line->reference_ns), 2, reference);
	else
		(void)figure(line->reference_ns / 1e3, 3, reference);
	if (is_limit(report))
		(void)figure(line->ratio * 100, 1, ratio);
	else
		(void)figure(line->ratio, 3, ratio);
	printf(" %12zu %12zu %6s %12.3f %12s %12s %7s %13s %8s %9.1f", row->size_bytes,
	       row_count(row), row->type, line->time_ns / 1e3, figure(line->algbw, 2, algbw),
	       figure(line->busbw, 2, busbw), wrong, reference, ratio, line->spread * 100);
	print_words(report, line);
	fflush(stdout);
}

/**
 * What is promised, the sizes that it is promised for taken into account: the
 * worst ratio is told at the end.
 */
static void note_ratio(perf_report_t *report, const line_t *line)
{
	bool moves = perf_op_moves(report->options->op);

	if (line->ratio <= 0 || is_limit(report) || report->options->vias || line->row->crowded ||
	    report->options->op == PERF_ATOMIC || report->options->op == PERF_MARKED ||
	    (moves && line->row->size_bytes < 32768))
		return;
	if (report->worst_ratio > 0 &&
	    (moves ? line->ratio >= report->worst_ratio : line->ratio <= report->worst_ratio))
		return;
	report->worst_ratio = line->ratio;
	report->worst_disturbed = line->disturbed || line->reference_disturbed;
}

/** Null where there is none. */
static json_t *figure_json(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static tsr_status_t add_json(perf_report_t *report, const line_t *line)
{
	const perf_row_t *row = line->row;
	json_t *object = json_pack(
		"{s:s?, s:s?, s:s?, s:i, s:I, s:I, s:s, s:f, s:f, s:b, s:o, s:b, s:o, s:I, s:I, "
		"s:o, s:o}",
		"what", row->what, "atomic", row->atomic, "via", row->via, "blocks", row->blocks,
		"size_bytes", (json_int_t)row->size_bytes, "count", (json_int_t)row_count(row),
		"type", row->type, "time_us", line->time_ns / 1e3, "spread", line->spread,
		"disturbed", (int)line->disturbed, "reference_us",
		figure_json(line->reference_ns / 1e3), "reference_disturbed",
		(int)line->reference_disturbed, "ratio", figure_json(line->ratio), "wrong",
		(json_int_t)row->wrong, "link_bytes", (json_int_t)row->link_bytes, "algbw_gbps",
		figure_json(line->algbw), "busbw_gbps", figure_json(line->busbw));

	if (!object || json_array_append_new(json_object_get(report->json, "rows"), object) != 0)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the report: end other programs");
	return TSR_OK;
}

tsr_status_t perf_report_row(perf_report_t *report, const perf_row_t *row, perf_pair_t *pair)
{
	const line_t line = make_line(report, row, pair);

	tool_progress_clear(&report->progress);
	print_line(report, &line);
	note_ratio(report, &line);
	report->wrong += row->wrong > 0 ? row->wrong : 0;
	return report->json ? add_json(report, &line) : TSR_OK;
}

/** The lines as files. */
static tsr_status_t write_files(perf_report_t *report)
{
	const char *json = report->options->json, *csv = report->options->csv, *bad = NULL;

	json_t *document = json_document("tessera-perf/1", report->json);
	errno = 0;
	if (json && json_rows_dump_file(document, json, JSON_REAL_PRECISION(9)) != 0)
		bad = json;
	else if (csv && csv_rows_dump_file(report->json, "rows", csv) != 0)
		bad = csv;
	json_decref(document);
	json_decref(report->json);
	report->json = NULL;
	if (bad)
		return tsr_error(TSR_ERR_SYSTEM, "cannot write '%s': %s", bad, strerror(errno));
	return TSR_OK;
}

tsr_status_t perf_report_end(perf_report_t *report)
{
	const perf_options_t *options = report->options;

	if (options->check)
		printf("# wrong elements: %lld%s\n", (long long)report->wrong,
		       report->wrong ? "" : " (ok)");
	else
		printf("# not verified (-c 0)\n");
	if (report->worst_ratio > 0) {
		const bool moves = perf_op_moves(options->op);
		printf(moves ? "# least ratio to %s from 32 KiB on: %.3f%s\n"
			     : "# ratio to %s atomics: %.2f%s\n",
		       report->reference, report->worst_ratio,
		       report->worst_disturbed ? " (disturbed by other work: measure again when "
						 "the machine is idle)"
					       : "");
	}
	fflush(stdout);
	return report->json ? write_files(report) : TSR_OK;
}
