/* The command line of `tessera bench gemm-all-scatter`. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench.h"
#include "tools/usage.h"

#define COMMAND "bench gemm-all-scatter"

static const char help_text[] =
	"usage: tessera bench gemm-all-scatter [OPTIONS]\n\n"
	"C = A * B on every rank: each computes its columns of C and sends them to all others, in one of six patterns.\n"
	"Prints a line a pattern. The exit code is 0 only if everything ran and every verified element is right.\n\n"
	"  -n, --ranks N         ranks of the world (8)\n"
	"  -b, --backend B       which backend; without it TESSERA_BACKEND, or the best one with a device\n"
	"  -p, --placement P     process: each rank is a process (default); thread: all ranks live in one process\n"
	"      --pattern P,...   all (default), or some of bulk-synchronous, producer-consumer, fused-sequential,\n"
	"                        fused-workgroup-specialized, fused-wave-specialized, banded\n"
	"      --shape MxNxK     of the whole product; rank r computes columns [r*N/W, (r+1)*N/W) of W ranks (1024x1024x1024)\n"
	"      --dtype D         of A, B and C: bf16, f16 or f32; sums are f32 (bf16)\n"
	"      --tile MxNxK      of the main loop, one that is built (which should take least time)\n"
	"      --blocks B        of a run on a rank, all resident together (one a tile)\n"
	"      --comm-blocks C   of these, those that only send, in the two patterns that have such (what keeps up)\n"
	"      --bands B         of banded, 1 to 10 (by what is sent)\n"
	"      --parts P         of K, in which the last tiles are multiplied, 1 or 2 (by what that takes)\n"
	"  -i, --iterations I    timed runs of a pattern (20)\n"
	"  -w, --warmup W        runs before them (2)\n"
	"      --verify          compare every element on every rank with a product in double precision\n"
	"      --integers        inputs -4 .. 4: results must be right bit for bit; otherwise uniform in [-1, 1)\n"
	"      --seed S          of the inputs (1)\n"
	"      --baseline        measure what one would use instead on the same A and B: cuBLAS + NCCL on cuda, OpenBLAS and\n"
	"                        memcpy on cpuemu; and print how the patterns compare with it\n"
	"      --tune            search tile, blocks and parts of each pattern, print what was tried, and remember the best\n"
	"      --no-tuned        do not use what an earlier --tune has remembered\n"
	"      --record          print what each worker of each block did in one run\n"
	"      --json FILE       write the results as JSON\n"
	"      --dump FILE       write A, B and each pattern's C as raw arrays; FILE.json says what is where\n"
	"  -h, --help            this text\n\n"
	"columns:\n"
	"  median, spread   of the slowest rank's time, over the timed runs, each directly behind another run\n"
	"                   and with a rest of eight times as long before the next\n"
	"  written, read    bytes written into, and read back from, the ranks' own heaps in one run, operands apart; all ranks\n"
	"  to peers         bytes stored into other ranks' heaps in one run; all ranks\n"
	"  early            whether ranks first stored to a peer before their last product had ended\n"
	"  baseline, floor  with --baseline, instead of the above: how many times faster than product + all-gather, and how many\n"
	"                   times the larger of the library's product and the stores to all other ranks at the rate of one pair\n\n"
	"example:\n"
	"  tessera bench gemm-all-scatter -n 8 --pattern all --shape 1024x1024x1024 --verify\n";

/* Long options without a letter. */
enum {
	OPT_PATTERN = 256,
	OPT_SHAPE,
	OPT_DTYPE,
	OPT_TILE,
	OPT_BLOCKS,
	OPT_COMM_BLOCKS,
	OPT_BANDS,
	OPT_PARTS,
	OPT_VERIFY,
	OPT_INTEGERS,
	OPT_SEED,
	OPT_BASELINE,
	OPT_TUNE,
	OPT_NO_TUNED,
	OPT_RECORD,
	OPT_JSON,
	OPT_DUMP
};

/* clang-format off */
static const struct option long_options[] = {
	{"ranks",       required_argument, NULL, 'n'},
	{"backend",     required_argument, NULL, 'b'},
	{"placement",   required_argument, NULL, 'p'},
	{"pattern",     required_argument, NULL, OPT_PATTERN},
	{"shape",       required_argument, NULL, OPT_SHAPE},
	{"dtype",       required_argument, NULL, OPT_DTYPE},
	{"tile",        required_argument, NULL, OPT_TILE},
	{"blocks",      required_argument, NULL, OPT_BLOCKS},
	{"comm-blocks", required_argument, NULL, OPT_COMM_BLOCKS},
	{"bands",       required_argument, NULL, OPT_BANDS},
	{"parts",       required_argument, NULL, OPT_PARTS},
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
	{"dump",        required_argument, NULL, OPT_DUMP},
	{"help",        no_argument,       NULL, 'h'},
	{NULL, 0, NULL, 0},
};
/* clang-format on */

/* ---------------------------------------------------------------- values */

/** Three whole numbers, such as 512x512x512. Whether they make sense is for others to say. */
static tsr_status_t parse_extents(const char *what, const char *text, int64_t extents_out[3])
{
	const char *at = text;
	for (int i = 0; i < 3; i++) {
		char *end;
		errno = 0;
		long long value = strtoll(at, &end, 10);
		if (errno == ERANGE)
			return tsr_error(TSR_ERR_ARGUMENT, "%s '%s' overflows: an extent has more than 63 bits", what, text);
		if (end == at || *end != (i < 2 ? 'x' : '\0'))
			return tsr_error(TSR_ERR_ARGUMENT, "%s '%s' is not MxNxK, three whole numbers such as 512x512x512", what,
					 text);
		extents_out[i] = value;
		at = end + 1;
	}
	return TSR_OK;
}

static tsr_status_t parse_shape(const char *text, gas_config_t *config)
{
	int64_t extents[3];
	tsr_status_t status = parse_extents("--shape", text, extents);
	if (status != TSR_OK)
		return status;
	config->m = extents[0];
	config->n = extents[1];
	config->k = extents[2];
	return TSR_OK;
}

static tsr_status_t parse_tile(const char *text, gas_config_t *config)
{
	int64_t extents[3];
	tsr_status_t status = parse_extents("--tile", text, extents);
	if (status != TSR_OK)
		return status;
	for (int i = 0; i < 3; i++)
		if (extents[i] < 1 || extents[i] > INT_MAX)
			return tsr_error(TSR_ERR_ARGUMENT, "--tile '%s' is no tile: each extent must be in 1 .. %d", text, INT_MAX);
	config->tile = (gas_tile_size_t){(int)extents[0], (int)extents[1], (int)extents[2]};
	return TSR_OK;
}

static tsr_status_t parse_patterns(const char *text, bool patterns[GAS_PATTERN_COUNT])
{
	memset(patterns, 0, GAS_PATTERN_COUNT * sizeof *patterns);
	for (const char *at = text;; at++) {
		char name[64];
		size_t length = strcspn(at, ",");
		gas_pattern_t pattern;
		(void)snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, at);
		if (strcmp(name, "all") == 0) {
			for (int p = 0; p < GAS_PATTERN_COUNT; p++)
				patterns[p] = true;
		} else {
			tsr_status_t status = gas_pattern_parse(name, &pattern);
			if (status != TSR_OK)
				return status;
			patterns[pattern] = true;
		}
		at += length;
		if (*at == '\0')
			return TSR_OK;
	}
}

static tsr_status_t parse_count(const char *what, const char *text, long low, long high, int *count_out)
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

/** The option wins over the environment, which the launcher would ask where it is told "process". */
static int take_placement(const char *text, tsr_placement_t *placement_out)
{
	int misused = tool_parse_placement(COMMAND, text, placement_out);
	if (!misused && setenv("TESSERA_PLACEMENT", text, 1) != 0)
		return tool_misuse(COMMAND, "the environment cannot be changed: %s", strerror(errno));
	return misused;
}

/* ---------------------------------------------------------------- the line */

static tsr_status_t take_value(int option, const char *value, bench_gas_options_t *o)
{
	switch (option) {
	case OPT_PATTERN:
		return parse_patterns(value, o->patterns);
	case OPT_SHAPE:
		return parse_shape(value, &o->config);
	case OPT_DTYPE:
		return tsr_dtype_parse(value, &o->config.dtype);
	case OPT_TILE:
		return parse_tile(value, &o->config);
	case OPT_BLOCKS:
		return parse_count("--blocks", value, 1, 1 << 20, &o->config.blocks);
	case OPT_COMM_BLOCKS:
		return parse_count("--comm-blocks", value, 1, 1 << 20, &o->config.comm_blocks);
	case OPT_BANDS:
		return parse_count("--bands", value, 1, GAS_BANDS, &o->config.bands);
	case OPT_PARTS:
		return parse_count("--parts", value, 1, GAS_PARTS, &o->config.parts);
	case 'i':
		return parse_count("--iterations", value, 1, 1000000, &o->iterations);
	case 'w':
		return parse_count("--warmup", value, 0, 1000000, &o->warmup);
	default: /* OPT_SEED */
		return parse_seed(value, &o->inputs.seed);
	}
}

static int take_option(int option, char **argv, bench_gas_options_t *o)
{
	switch (option) {
	case 'n':
		return tool_parse_ranks(COMMAND, optarg, &o->ranks);
	case 'b':
		return tool_parse_backend(COMMAND, optarg, &o->backend);
	case 'p':
		return take_placement(optarg, &o->placement);
	case OPT_VERIFY:
		o->verify = true;
		return TOOL_OK;
	case OPT_INTEGERS:
		o->inputs.integers = true;
		return TOOL_OK;
	case OPT_BASELINE:
		o->baseline = true;
		return TOOL_OK;
	case OPT_TUNE:
		o->tune = true;
		return TOOL_OK;
	case OPT_NO_TUNED:
		o->no_tuned = true;
		return TOOL_OK;
	case OPT_RECORD:
		o->record = true;
		return TOOL_OK;
	case OPT_JSON:
		o->json = optarg;
		return TOOL_OK;
	case OPT_DUMP:
		o->dump = optarg;
		return TOOL_OK;
	case '?':
	case ':':
		return tool_bad_option(COMMAND, option, argv, long_options);
	default:
		return take_value(option, optarg, o) == TSR_OK ? TOOL_OK : tool_misuse_last_error(COMMAND);
	}
}

/** Reads the whole line; `*help_out` where it asks for help. */
static int read_line(int argc, char **argv, bench_gas_options_t *options, bool *help_out)
{
	int misused = TOOL_OK;
	optind = 0; /* glibc: begin anew, whoever called getopt before */
	for (int option; !misused && (option = getopt_long(argc, argv, ":n:b:p:i:w:h", long_options, NULL)) != -1;) {
		if (option == 'h') {
			*help_out = true;
			return TOOL_OK;
		}
		misused = take_option(option, argv, options);
	}
	if (!misused && optind < argc)
		misused = tool_misuse(COMMAND, "'%s' is not an option", argv[optind]);
	return misused;
}

/* ---------------------------------------------------------------- judging it */

/** That a file can be written is known before the work, not after it. */
static tsr_status_t check_writable(const char *option, const char *path, const char *suffix)
{
	char name[PATH_MAX];
	if ((size_t)snprintf(name, sizeof name, "%s%s", path, suffix) >= sizeof name)
		return tsr_error(TSR_ERR_ARGUMENT, "%s names a path that is longer than %d bytes", option, PATH_MAX);
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return tsr_error(TSR_ERR_SYSTEM, "%s: '%s' cannot be written: %s", option, name, strerror(errno));
	(void)close(fd);
	return TSR_OK;
}

/** That a search can be remembered is known before it; what cannot be recalled is told, and left alone. */
static tsr_status_t check_tune_file(bench_gas_options_t *options)
{
	char path[PATH_MAX];
	if (!options->tune && (options->no_tuned || !bench_gas_is_automatic(options)))
		return TSR_OK;
	tsr_status_t status = tune_file_path(path);
	if (status == TSR_OK)
		status = tune_file_check(path);
	if (status == TSR_OK || options->tune)
		return status;
	(void)fprintf(stderr, "tessera " COMMAND ": %s; going on without them\n", tsr_last_error());
	options->no_tuned = true;
	return TSR_OK;
}

/** Where all patterns are meant, those that are not built for the tile are left out, and said to be; one has to be left. */
static tsr_status_t check_patterns(bench_gas_options_t *options, gas_config_t *config)
{
	bool built[GAS_PATTERN_COUNT] = {false}, all = true, any = false;
	tsr_status_t status = TSR_OK;
	for (int p = 0; p < GAS_PATTERN_COUNT; p++)
		all = all && options->patterns[p];
	for (int p = 0; p < GAS_PATTERN_COUNT; p++) {
		config->pattern = (gas_pattern_t)p;
		if (!options->patterns[p])
			continue;
		status = gas_config_check(config, options->ranks);
		if (status != TSR_OK && !(all && status == TSR_ERR_NOT_FOUND))
			return status;
		built[p] = status == TSR_OK;
		any = any || built[p];
	}
	if (!any)
		return status;
	for (int p = 0; p < GAS_PATTERN_COUNT; p++)
		if (options->patterns[p] && !built[p])
			(void)fprintf(stderr, "tessera " COMMAND ": %s is left out: it is not built for that tile and dtype\n",
				      gas_pattern_name((gas_pattern_t)p));
	memcpy(options->patterns, built, sizeof built);
	return TSR_OK;
}

static tsr_status_t check_options(bench_gas_options_t *options)
{
	tsr_status_t status = TSR_OK;
	if (options->tune && options->no_tuned)
		return tsr_error(TSR_ERR_ARGUMENT, "--tune and --no-tuned contradict each other; give one of them");
	gas_config_t config = options->config;
	status = check_patterns(options, &config);
	if (status == TSR_OK && options->verify)
		status = gas_inputs_check(&config, &options->inputs);
	if (status == TSR_OK && options->json)
		status = check_writable("--json", options->json, "");
	if (status == TSR_OK && options->dump)
		status = check_writable("--dump", options->dump, ".json");
	return status == TSR_OK ? check_tune_file(options) : status;
}

bool bench_gas_options_read(int argc, char **argv, bench_gas_options_t *options_out, int *code_out)
{
	bool help = false;
	bench_gas_options_t options = {
		.ranks = 8,
		.config = {.m = 1024, .n = 1024, .k = 1024, .dtype = TSR_BF16},
		.inputs = {.seed = 1},
		.iterations = 20,
		.warmup = 2,
	};
	for (int p = 0; p < GAS_PATTERN_COUNT; p++)
		options.patterns[p] = true;

	int code = read_line(argc, argv, &options, &help);
	if (help)
		(void)fputs(help_text, stdout);
	else if (code == TOOL_OK && check_options(&options) != TSR_OK)
		code = tool_misuse_last_error(COMMAND);
	*code_out = code;
	if (help || code != TOOL_OK)
		return false;
	*options_out = options;
	return true;
}
