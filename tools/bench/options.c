/*
 * The command line of `tessera bench WORKLOAD`: options of all workloads, and
 * one for each of its parameters.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/bench/tune_file.h"
#include "tools/network.h"
#include "tools/usage.h"

/* Long options without a letter; those of parameters follow. */
enum {
	OPT_PATTERN = 256,
	OPT_VERIFY,
	OPT_INTEGERS,
	OPT_SEED,
	OPT_BASELINE,
	OPT_TUNE,
	OPT_NO_TUNED,
	OPT_RECORD,
	OPT_JSON,
	OPT_CSV,
	OPT_DUMP,
	OPT_TRACE,
	OPT_PICTURE,
	OPT_TAXES,
	OPT_TAXES_PICTURE,
	OPT_MODEL,
	OPT_EXPLAIN,
	OPT_NODES,
	OPT_PARAM
};

/* clang-format off */
static const struct option common_options[] = {
	{"ranks",       required_argument, NULL, 'n'},
	{"nodes",       required_argument, NULL, OPT_NODES},
	TOOL_NETWORK_OPTIONS,
	{"backend",     required_argument, NULL, 'b'},
	{"placement",   required_argument, NULL, 'p'},
	{"pattern",     required_argument, NULL, OPT_PATTERN},
	{"iterations",  required_argument, NULL, 'i'},
	{"warmup",      required_argument, NULL, 'w'},
	{"verify",      no_argument,       NULL, OPT_VERIFY},
	{"integers",    no_argument,       NULL, OPT_INTEGERS},
	{"seed",        required_argument, NULL, OPT_SEED},
	{"baseline",    no_argument,       NULL, OPT_BASELINE},
	{"tune",        no_argument,       NULL, OPT_TUNE},
	{"no-tuned",    no_argument,       NULL, OPT_NO_TUNED},
	{"record",      no_argument,       NULL, OPT_RECORD},
	{"json",        required_argument, NULL, OPT_JSON},
	{"csv",         required_argument, NULL, OPT_CSV},
	{"dump",        required_argument, NULL, OPT_DUMP},
	{"trace",       required_argument, NULL, OPT_TRACE},
	{"picture",     required_argument, NULL, OPT_PICTURE},
	{"taxes",       no_argument,       NULL, OPT_TAXES},
	{"taxes-picture", required_argument, NULL, OPT_TAXES_PICTURE},
	{"model",       no_argument,       NULL, OPT_MODEL},
	{"explain",     no_argument,       NULL, OPT_EXPLAIN},
	{"help",        no_argument,       NULL, 'h'},
};
/* clang-format on */

enum { COMMON_OPTIONS = sizeof common_options / sizeof *common_options };

/** A line that is being read: what it says, and how messages begin. */
typedef struct reading {
	bench_options_t options;
	char command[BENCH_KEY_TEXT];
	struct option long_options[COMMON_OPTIONS + WORKLOAD_PARAMS + 1];
} reading_t;

/* ---------------------------------------------------------------- --help */

static const char help_before[] =
	"  -n, --ranks N         ranks of the world (default 8)\n"
	"      --nodes N         emulate N nodes on this machine: ranks of different nodes\n"
	"                        reach each other by the network alone\n"
	"      --net-delay TIME[,JITTER]\n"
	"                        messages between nodes take TIME longer, such as 1ms, or\n"
	"                        1ms,300us: with JITTER some more and some less\n"
	"      --net-rate RATE   bytes a second that a rank sends to other nodes at most,\n"
	"                        such as 1G\n"
	"      --backend B       backend (default: TESSERA_BACKEND, or else the best one\n"
	"                        that has a device)\n"
	"  -p, --placement P     process: each rank is a process (default);\n"
	"                        thread: all ranks are threads of one process\n"
	"      --pattern P,...   all (default), some of the patterns below, or fastest: the one\n"
	"                        that should take least time, where the workload knows it\n";

static const char help_behind[] =
	"      --iterations I    timed runs of each pattern (default 20)\n"
	"  -w, --warmup W        runs before them (default 2)\n"
	"      --verify          compare every element on every rank with a result in double\n"
	"                        precision\n"
	"      --integers        inputs are whole numbers from -4 to 4, and results must be\n"
	"                        right bit for bit; otherwise inputs are uniform in [-1, 1)\n"
	"      --seed S          seed of the inputs (default 1)\n"
	"      --baseline        also measure the vendor's libraries on the same inputs\n"
	"                        (cuBLAS + NCCL on cuda, hipBLASLt + RCCL on hip, OpenBLAS\n"
	"                        and memcpy on cpuemu), and compare the patterns with them\n"
	"      --tune            search what the command line leaves open for each pattern,\n"
	"                        print each trial, and remember the best\n"
	"      --no-tuned        ignore what an earlier --tune has remembered\n"
	"      --record          print what each worker of each block did in one run\n"
	"      --json FILE       write the results as JSON\n"
	"      --csv FILE        write them as CSV, a line for each pattern\n"
	"      --dump FILE       write inputs and the outputs of each pattern as raw arrays;\n"
	"                        FILE.json describes them\n"
	"      --trace FILE      write what each worker did in one run, for ui.perfetto.dev\n"
	"      --picture FILE    draw as SVG which share of each rank's workers multiplied,\n"
	"                        sent and waited in one run, over time\n"
	"                        (of several patterns: FILE with the pattern's name before\n"
	"                        its last dot)\n"
	"      --taxes           also print what a run consists of, each part measured by\n"
	"                        itself: launches, idling in meetings, intermediates in\n"
	"                        memory, computation and communication\n"
	"      --taxes-picture FILE\n"
	"                        draw that as SVG, a stacked bar for each pattern\n"
	"      --explain         also print why pattern, tile and split were chosen: candidates,\n"
	"                        what each should take, and what bounds it\n"
	"      --model           also print what 'tessera sim' says of each pattern, in the\n"
	"                        same configuration, and when a run reaches its moments:\n"
	"                        measured and simulated\n"
	"  -h, --help            this text\n"
	"\n"
	"columns:\n"
	"  median, spread   time of the slowest rank, over the timed runs. Each timed run\n"
	"                   directly follows another run; before the next one the device\n"
	"                   rests eight times as long\n"
	"  written, read    bytes that all ranks wrote into, and read back from, their own\n"
	"                   heaps in one run, without the operands\n"
	"  to peers         bytes that all ranks stored into other ranks' heaps in one run\n"
	"  early            whether ranks stored to a peer before their last product ended:\n"
	"                   yes, no, or how many of them\n"
	"  baseline, floor  with --baseline, in place of these: how many times as fast as\n"
	"                   the libraries' steps a pattern is, and how many times as long as\n"
	"                   the floor it takes. The floor is the larger of two times: of the\n"
	"                   library's product, and of what is sent at the rate of one pair\n"
	"\n"
	"columns of --taxes (on the emulator in percent of the run only):\n"
	"  launches         of a run, and as long as launches that do nothing\n"
	"  meetings         of all ranks, and how long a rank idled in them until the last\n"
	"                   one arrived: the mean over ranks, from the record\n"
	"  intermediates    bytes that one part of a run writes into memory for another one\n"
	"                   and that are read back, and the time of a copy that moves as many\n"
	"  compute, send    the computation without communication; what is sent, at the rate\n"
	"                   of plain stores of each rank to each other\n"
	"  both             how much of these two a rank does at once, from the record: it is\n"
	"                   counted once\n"
	"  remains, larger  the run without the first three, to be compared with the larger\n"
	"                   of compute and send\n";

static void print_help(const workload_t *w)
{
	const char *pattern;
	tool_help_t help;
	tool_help_begin(&help);
	tool_help_add(
		&help,
		"usage: tessera bench %s [OPTIONS]\n\n%s.\n"
		"Prints one line for each pattern. The exit code is 0 only if everything ran\n"
		"and every verified element is right.\n\n%s",
		w->name, w->summary, help_before);
	for (const workload_param_t *param = w->params; param->name; param++) {
		char option[BENCH_VALUE_TEXT];
		(void)snprintf(option, sizeof option, "--%s %s", param->name, param->letters);
		/* two spaces at least: what follows them is wrapped as a column */
		tool_help_add(&help, "      %-16s  %s%s%s%s\n", option, param->help,
			      param->preset ? " (default " : "", param->preset ? param->preset : "",
			      param->preset ? ")" : "");
	}
	tool_help_add(&help, "%s\npatterns:\n", help_behind);
	for (int64_t p = 0; (pattern = w->pattern(p)) != NULL; p++)
		tool_help_add(&help, "  %s\n", pattern);
	tool_help_add(&help, "\nexample:\n  tessera bench %s -n 8 --pattern all --verify\n",
		      w->name);
	tool_help_end(&help);
}

/* ---------------------------------------------------------------- values */

static tsr_status_t find_pattern(const workload_t *workload, const char *name, int64_t *number_out)
{
	const char *names[WORKLOAD_PATTERNS + 1] = {NULL};
	if (workload->find_pattern)
		return workload->find_pattern(name, number_out);
	for (int64_t p = 0; p < WORKLOAD_PATTERNS && (names[p] = workload->pattern(p)) != NULL; p++)
		if (strcmp(name, names[p]) == 0) {
			*number_out = p;
			return TSR_OK;
		}
	const char *near = tsr_nearest_name(name, names);
	if (near)
		return tsr_error(TSR_ERR_NOT_FOUND, "pattern '%s' is unknown; did you mean '%s'?",
				 name, near);
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "pattern '%s' is unknown; 'tessera bench --list' has those of %s", name,
			 workload->name);
}

static void mark_all(const workload_t *workload, bool patterns[WORKLOAD_PATTERNS])
{
	for (int64_t p = 0; p < WORKLOAD_PATTERNS && workload->pattern(p); p++)
		patterns[p] = true;
}

/** --pattern fastest: which one it is needs a device. */
static tsr_status_t parse_fastest(bench_options_t *options)
{
	if (!options->workload->fastest)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s does not know which of its patterns is fastest: name one, or "
				 "give all",
				 options->workload->name);
	options->fastest = true;
	mark_all(options->workload, options->patterns);
	return TSR_OK;
}

static tsr_status_t parse_patterns(const workload_t *workload, const char *text,
				   bool patterns[WORKLOAD_PATTERNS])
{
	memset(patterns, 0, WORKLOAD_PATTERNS * sizeof *patterns);
	for (const char *at = text;; at++) {
		char name[64];
		const size_t length = strcspn(at, ",");
		int64_t pattern;
		(void)snprintf(name, sizeof name, "%.*s",
			       length < sizeof name ? (int)length : (int)sizeof name - 1, at);
		if (strcmp(name, "all") == 0) {
			mark_all(workload, patterns);
		} else {
			tsr_status_t status = find_pattern(workload, name, &pattern);
			if (status != TSR_OK)
				return status;
			patterns[pattern] = true;
		}
		at += length;
		if (*at == '\0')
			return TSR_OK;
	}
}

static tsr_status_t parse_count(const char *what, const char *text, long low, long high,
				int *count_out)
{
	long value;
	tsr_status_t status = tsr_parse_int(what, text, low, high, &value);
	if (status == TSR_OK)
		*count_out = (int)value;
	return status;
}

static tsr_status_t parse_seed(const char *text, uint64_t *seed_out)
{
	long value;
	tsr_status_t status = tsr_parse_int("--seed", text, 0, LONG_MAX, &value);
	if (status == TSR_OK)
		*seed_out = (uint64_t)value;
	return status;
}

/**
 * The option wins over the environment, which the launcher would ask where it
 * is told "process".
 */
static int take_placement(const char *command, const char *text, tsr_placement_t *placement_out)
{
	int misused = tool_parse_placement(command, text, placement_out);
	if (!misused && setenv("TESSERA_PLACEMENT", text, 1) != 0)
		return tool_misuse(command, "the environment cannot be changed: %s",
				   strerror(errno));
	return misused;
}

/* ---------------------------------------------------------------- the line */

static tsr_status_t take_value(int option, const char *value, bench_options_t *o)
{
	switch (option) {
	case OPT_PATTERN:
		return strcmp(value, "fastest") == 0
			       ? parse_fastest(o)
			       : parse_patterns(o->workload, value, o->patterns);
	case 'i':
		return parse_count("--iterations", value, 1, 1000000, &o->iterations);
	case 'w':
		return parse_count("--warmup", value, 0, 1000000, &o->warmup);
	case OPT_SEED:
		return parse_seed(value, &o->inputs.seed);
	default:
		return bench_value_parse(&o->workload->params[option - OPT_PARAM], value,
					 &o->config.value[option - OPT_PARAM]);
	}
}

/** Options without a value of their own, or that is kept as it stands. False: it is another. */
static bool take_plain(int option, bench_options_t *o)
{
	switch (option) {
	case OPT_VERIFY:
		return o->verify = true;
	case OPT_INTEGERS:
		return o->inputs.integers = true;
	case OPT_BASELINE:
		return o->baseline = true;
	case OPT_TUNE:
		return o->tune = true;
	case OPT_NO_TUNED:
		return o->no_tuned = true;
	case OPT_RECORD:
		return o->record = true;
	case OPT_TAXES:
		return o->taxes = true;
	case OPT_MODEL:
		return o->model = true;
	case OPT_EXPLAIN:
		return o->explain = true;
	case OPT_TAXES_PICTURE:
		o->taxes_picture = optarg;
		return o->taxes = true;
	case OPT_JSON:
		o->json = optarg;
		return true;
	case OPT_CSV:
		o->csv = optarg;
		return true;
	case OPT_DUMP:
		o->dump = optarg;
		return true;
	case OPT_TRACE:
		o->trace = optarg;
		return true;
	case OPT_PICTURE:
		o->picture = optarg;
		return true;
	default:
		return false;
	}
}

static int take_option(int option, char **argv, reading_t *reading)
{
	bench_options_t *o = &reading->options;
	if (take_plain(option, o))
		return TOOL_OK;
	switch (option) {
	case 'n':
		return tool_parse_ranks(reading->command, optarg, &o->ranks);
	case OPT_NODES:
		return tool_parse_nodes(reading->command, optarg, &o->nodes);
	case TOOL_NET_DELAY:
	case TOOL_NET_RATE:
		return tool_parse_network(reading->command, option, optarg);
	case 'b':
		return tool_parse_backend(reading->command, optarg, &o->backend);
	case 'p':
		return take_placement(reading->command, optarg, &o->placement);
	case '?':
	case ':':
		return tool_bad_option(reading->command, option, argv, reading->long_options);
	default:
		return take_value(option, optarg, o) == TSR_OK
			       ? TOOL_OK
			       : tool_misuse_last_error(reading->command);
	}
}

/** Reads the whole line; `*help_out` where it asks for help. */
static int read_line(int argc, char **argv, reading_t *reading, bool *help_out)
{
	int misused = TOOL_OK;
	optind = 0; /* glibc: begin anew, whoever called getopt before */
	for (int option; !misused && (option = tool_next_option(argc, argv, ":n:p:w:h",
								reading->long_options)) != -1;) {
		if (option == 'h') {
			*help_out = true;
			return TOOL_OK;
		}
		misused = take_option(option, argv, reading);
	}
	if (!misused && optind < argc)
		misused = tool_misuse(reading->command, "'%s' is not an option", argv[optind]);
	return misused;
}

/* ---------------------------------------------------------------- judging it */

/** That a file can be written is known before the work, not after it. */
static tsr_status_t check_writable(const char *option, const char *path, const char *suffix)
{
	char name[PATH_MAX];
	if ((size_t)snprintf(name, sizeof name, "%s%s", path, suffix) >= sizeof name)
		return tsr_error(TSR_ERR_ARGUMENT, "%s names a path that is longer than %d bytes",
				 option, PATH_MAX);
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return tsr_error(TSR_ERR_SYSTEM, "%s: '%s' cannot be written: %s", option, name,
				 strerror(errno));
	(void)close(fd);
	return TSR_OK;
}

bool bench_is_automatic(const workload_t *workload, const workload_config_t *config)
{
	for (int i = 0; workload->params[i].name; i++)
		if (!workload->params[i].problem && !bench_value_is_automatic(&config->value[i]))
			return false;
	return true;
}

/**
 * That a search can be remembered is known before it; what cannot be recalled
 * is told, and left alone.
 */
static tsr_status_t check_tune_file(reading_t *reading)
{
	bench_options_t *options = &reading->options;
	char path[PATH_MAX];
	if (!options->tune &&
	    (options->no_tuned || !bench_is_automatic(options->workload, &options->config)))
		return TSR_OK;
	tsr_status_t status = tune_file_path(path);
	if (status == TSR_OK)
		status = tune_file_check(path);
	if (status == TSR_OK || options->tune)
		return status;
	(void)fprintf(stderr, "tessera %s: %s; going on without them\n", reading->command,
		      tsr_last_error());
	options->no_tuned = true;
	return TSR_OK;
}

static bool are_all(const bench_options_t *options)
{
	for (int p = 0; p < WORKLOAD_PATTERNS && options->workload->pattern(p); p++)
		if (!options->patterns[p])
			return false;
	return true;
}

/**
 * Where all patterns are meant, those that are not built for the tile, or do not
 * take the shape, are left out, and said to be; one has to be left. Of the fastest
 * one, others are left out silently, for whatever reason.
 */
static tsr_status_t check_patterns(reading_t *reading, workload_config_t *config)
{
	bench_options_t *options = &reading->options;
	const workload_t *workload = options->workload;
	bool built[WORKLOAD_PATTERNS] = {false}, unsupported[WORKLOAD_PATTERNS] = {false},
	     any = false;
	const bool all = are_all(options);
	tsr_status_t status = TSR_OK;
	for (int p = 0; p < WORKLOAD_PATTERNS; p++) {
		config->pattern = p;
		if (!options->patterns[p])
			continue;
		status = workload->check(config, options->ranks);
		if (status == TSR_ERR_UNSUPPORTED && all && !options->fastest)
			(void)fprintf(stderr, "tessera %s: %s is left out: %s\n", reading->command,
				      workload->pattern(p), tsr_last_error());
		else if (status != TSR_OK && !options->fastest &&
			 !(all && status == TSR_ERR_NOT_FOUND))
			return status;
		unsupported[p] = status == TSR_ERR_UNSUPPORTED;
		built[p] = status == TSR_OK;
		any = any || built[p];
	}
	if (!any)
		return status;
	for (int p = 0; p < WORKLOAD_PATTERNS; p++)
		if (options->patterns[p] && !built[p] && !unsupported[p] && !options->fastest)
			(void)fprintf(stderr,
				      "tessera %s: %s is left out: it is not built for that tile "
				      "and dtype\n",
				      reading->command, workload->pattern(p));
	memcpy(options->patterns, built, sizeof built);
	return TSR_OK;
}

tsr_status_t bench_pattern_path(const bench_options_t *options, int64_t pattern, const char *path,
				char path_out[BENCH_PATH_BYTES])
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	int patterns = 0, length;
	for (int p = 0; p < WORKLOAD_PATTERNS; p++)
		patterns += options->patterns[p];
	if (patterns == 1)
		length = snprintf(path_out, BENCH_PATH_BYTES, "%s", path);
	else
		length = snprintf(path_out, BENCH_PATH_BYTES, "%.*s-%s%s",
				  dot ? (int)(dot - path) : (int)strlen(path), path,
				  options->workload->pattern(pattern), dot ? dot : "");
	return length < BENCH_PATH_BYTES
		       ? TSR_OK
		       : tsr_error(TSR_ERR_ARGUMENT, "'%.40s...' is longer than a path may be",
				   path);
}

/** Whether the file of every pattern can be written. */
static tsr_status_t check_pattern_files(const bench_options_t *options, const char *option,
					const char *path)
{
	tsr_status_t status = TSR_OK;
	for (int p = 0; path && status == TSR_OK && p < WORKLOAD_PATTERNS; p++) {
		char file[BENCH_PATH_BYTES];
		if (!options->patterns[p])
			continue;
		status = bench_pattern_path(options, p, path, file);
		if (status == TSR_OK)
			status = check_writable(option, file, "");
	}
	return status;
}

static tsr_status_t check_options(reading_t *reading)
{
	bench_options_t *options = &reading->options;
	if (options->tune && options->no_tuned)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "--tune and --no-tuned contradict each other; give one of them");
	workload_config_t config = options->config;
	tsr_status_t status = check_patterns(reading, &config);
	if (status == TSR_OK && options->verify)
		status = options->workload->check_inputs(&config, &options->inputs);
	if (status == TSR_OK && options->json)
		status = check_writable("--json", options->json, "");
	if (status == TSR_OK && options->csv)
		status = check_writable("--csv", options->csv, "");
	if (status == TSR_OK && options->taxes_picture)
		status = check_writable("--taxes-picture", options->taxes_picture, "");
	if (status == TSR_OK && options->dump)
		status = check_writable("--dump", options->dump, ".json");
	if (status == TSR_OK)
		status = check_pattern_files(options, "--trace", options->trace);
	if (status == TSR_OK)
		status = check_pattern_files(options, "--picture", options->picture);
	return status == TSR_OK ? check_tune_file(reading) : status;
}

/** What the line says where it says nothing, and which options there are. */
static tsr_status_t begin_reading(const workload_t *workload, reading_t *reading)
{
	bench_options_t *options = &reading->options;
	tsr_status_t status = TSR_OK;
	int count = 0;
	memset(reading, 0, sizeof *reading);
	*options = (bench_options_t){.workload = workload,
				     .ranks = 8,
				     .inputs = {.seed = 1},
				     .iterations = 20,
				     .warmup = 2};
	(void)snprintf(reading->command, sizeof reading->command, "bench %s", workload->name);
	for (int p = 0; p < WORKLOAD_PATTERNS && workload->pattern(p); p++)
		options->patterns[p] = true;
	memcpy(reading->long_options, common_options, sizeof common_options);
	for (const workload_param_t *param = workload->params; status == TSR_OK && param->name;
	     param++, count++) {
		reading->long_options[COMMON_OPTIONS + count] =
			(struct option){param->name, required_argument, NULL, OPT_PARAM + count};
		if (param->preset)
			status = bench_value_parse(param, param->preset,
						   &options->config.value[count]);
	}
	return status;
}

bool bench_options_read(const workload_t *workload, int argc, char **argv,
			bench_options_t *options_out, int *code_out)
{
	bool help = false;
	reading_t reading;
	int code = begin_reading(workload, &reading) == TSR_OK
			   ? TOOL_OK
			   : tool_misuse_last_error(reading.command);
	if (code == TOOL_OK)
		code = read_line(argc, argv, &reading, &help);
	if (help)
		print_help(workload);
	else if (code == TOOL_OK && check_options(&reading) != TSR_OK)
		code = tool_misuse_last_error(reading.command);
	*code_out = code;
	if (help || code != TOOL_OK)
		return false;
	*options_out = reading.options;
	return true;
}
