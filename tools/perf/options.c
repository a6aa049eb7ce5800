/*
 * The options of tessera perf. Their letters are those of nccl-tests, unless
 * these clash with letters that all commands of tessera share.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/network.h"
#include "tools/perf/perf.h"
#include "tools/usage.h"

enum {
	OPT_BACKEND = 256,
	OPT_PLACEMENT,
	OPT_NODES,
	OPT_SCOPE,
	OPT_PAIRS,
	OPT_PICTURE,
	OPT_VIA,
	OPT_OP,
	OPT_CSV
};

static const struct option long_options[] = {
	{"ranks", required_argument, NULL, 'n'},
	{"minbytes", required_argument, NULL, 'b'},
	{"maxbytes", required_argument, NULL, 'e'},
	{"stepfactor", required_argument, NULL, 'f'},
	{"stepbytes", required_argument, NULL, 'i'},
	{"datatype", required_argument, NULL, 'd'},
	{"samples", required_argument, NULL, 'N'},
	{"agg_iters", required_argument, NULL, 'm'},
	{"warmup", required_argument, NULL, 'w'},
	{"warmup_iters", required_argument, NULL, 'w'}, /* as nccl-tests call it */
	{"check", required_argument, NULL, 'c'},
	{"json", required_argument, NULL, 'J'},
	{"csv", required_argument, NULL, OPT_CSV},
	{"blocks", required_argument, NULL, 'V'},
	{"launches", required_argument, NULL, 'l'},
	{"backend", required_argument, NULL, OPT_BACKEND},
	{"placement", required_argument, NULL, OPT_PLACEMENT},
	{"nodes", required_argument, NULL, OPT_NODES},
	TOOL_NETWORK_OPTIONS,
	{"scope", required_argument, NULL, OPT_SCOPE},
	{"via", required_argument, NULL, OPT_VIA},
	{"op", required_argument, NULL, OPT_OP},
	{"pairs", no_argument, NULL, OPT_PAIRS},
	{"picture", required_argument, NULL, OPT_PICTURE},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static const char *const scope_names[] = {[PERF_SCOPE_SYSTEM] = "system",
					  [PERF_SCOPE_DEVICE] = "device",
					  [PERF_SCOPE_BLOCK] = "block",
					  NULL};

const char *perf_scope_name(perf_scope_t scope)
{
	return scope_names[scope];
}

static const char *const via_names[] = {[PERF_VIA_THREADS] = "threads",
					[PERF_VIA_BULK] = "bulk",
					[PERF_VIA_COPY_ENGINE] = "copy-engine"};

const char *perf_via_name(perf_via_t via)
{
	return via_names[via];
}

static const char *const atomic_names[] = {
	[PERF_ADD] = "add", [PERF_AND] = "and", [PERF_OR] = "or",     [PERF_XOR] = "xor",
	[PERF_MIN] = "min", [PERF_MAX] = "max", [PERF_XCHG] = "xchg", [PERF_CAS] = "cas"};

const char *perf_atomic_name(perf_atomic_t atomic)
{
	return atomic_names[atomic];
}

static int parse_scope(const char *text, perf_scope_t *scope_out)
{
	for (int i = 0; scope_names[i]; i++)
		if (strcmp(scope_names[i], text) == 0) {
			*scope_out = (perf_scope_t)i;
			return TOOL_OK;
		}
	return tool_misuse("perf", "--scope '%s' is unknown: give system, device or block", text);
}

/** The bit of a name, or all bits for "all". 0: no such name. */
static unsigned bits_of(const char *text, const char *const *names, unsigned count)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], text) == 0 || strcmp("all", text) == 0)
			bits |= 1u << i;
	return bits;
}

static int parse_via(const char *text, unsigned *vias_out)
{
	*vias_out = bits_of(text, via_names, PERF_VIAS);
	return *vias_out ? TOOL_OK
			 : tool_misuse("perf",
				       "--via '%s' is unknown: give threads, bulk, copy-engine or "
				       "all",
				       text);
}

static int parse_atomic(const char *text, unsigned *atomics_out)
{
	*atomics_out = bits_of(text, atomic_names, PERF_ATOMICS);
	return *atomics_out ? TOOL_OK
			    : tool_misuse("perf",
					  "--op '%s' is unknown: give add, and, or, xor, min, max, "
					  "xchg, cas or all",
					  text);
}

/** The largest size stands for one that was not given. */
enum { MOST_SIZE_BITS = 62 };
static const size_t not_given = SIZE_MAX;

static int parse_size(const char *what, const char *text, size_t *size_out)
{
	size_t size_bytes = 0;

	if (tsr_parse_size(what, text, &size_bytes) != TSR_OK)
		return tool_misuse_last_error("perf");
	if (size_bytes >> MOST_SIZE_BITS != 0)
		return tool_misuse("perf",
				   "%s %s is more than any machine has: choose a smaller size",
				   what, text);
	*size_out = size_bytes;
	return TOOL_OK;
}

static int parse_number(const char *what, const char *text, long low, long high, long *number_out)
{
	return tsr_parse_int(what, text, low, high, number_out) == TSR_OK
		       ? TOOL_OK
		       : tool_misuse_last_error("perf");
}

/** -b -e -f -i -d: what is moved. */
static int parse_sized(int letter, const char *text, perf_options_t *options)
{
	long number = 0;
	int misused;

	options->sized = true;
	switch (letter) {
	case 'b':
		return parse_size("-b", text, &options->min_bytes);
	case 'e':
		return parse_size("-e", text, &options->max_bytes);
	case 'i':
		misused = parse_size("-i", text, &options->step_bytes);
		if (!misused && options->step_bytes == 0)
			misused = tool_misuse(
				"perf",
				"-i 0 would never end: give a step of at least one element");
		return misused;
	case 'f':
		misused = parse_number("-f", text, 2, 1 << 20, &number);
		options->factor = (size_t)number;
		return misused;
	default:
		return tsr_dtype_parse(text, &options->dtype) == TSR_OK
			       ? TOOL_OK
			       : tool_misuse_last_error("perf");
	}
}

static int parse_option(int letter, const char *text, perf_options_t *options)
{
	long check = 0, each = 0;
	int misused;

	switch (letter) {
	case 'n':
		return tool_parse_ranks("perf", text, &options->launcher.ranks);
	case 'N':
		return parse_number("-N", text, 1, PERF_MAX_SAMPLES, &options->samples);
	case 'm':
		return parse_number("-m", text, 1, 1000000000, &options->repeats);
	case 'w':
		return parse_number("-w", text, 0, 1000000, &options->warmup);
	case 'c':
		misused = parse_number("-c", text, 0, 1, &check);
		options->check = check != 0;
		return misused;
	case 'J':
		options->json = text;
		return TOOL_OK;
	case OPT_CSV:
		options->csv = text;
		return TOOL_OK;
	case 'V':
		return parse_number("-V", text, 1, 65536, &options->blocks);
	case 'l':
		misused = parse_number("-l", text, 0, 1, &each);
		options->each = each != 0;
		return misused;
	case OPT_BACKEND:
		return tool_parse_backend("perf", text, &options->launcher.backend);
	case OPT_NODES:
		return tool_parse_nodes("perf", text, &options->launcher.nodes);
	case TOOL_NET_DELAY:
	case TOOL_NET_RATE:
		return tool_parse_network("perf", letter, text);
	case OPT_PAIRS:
		options->pairs = true;
		return TOOL_OK;
	case OPT_PICTURE:
		options->picture = text;
		return TOOL_OK;
	case OPT_OP:
		return parse_atomic(text, &options->atomics);
	case OPT_VIA:
		return parse_via(text, &options->vias);
	case OPT_SCOPE:
		return parse_scope(text, &options->scope);
	case OPT_PLACEMENT:
		return tool_parse_placement("perf", text, &options->launcher.placement);
	default:
		return parse_sized(letter, text, options);
	}
}

int perf_op_buffers(perf_op_t op)
{
	/* a source, a destination, what is kept, and twice as much for words with an epoch */
	return op == PERF_MARKED ? 5 : op == PERF_PUT_SIGNAL ? 3 : 2;
}

/**
 * The memory of all ranks: a source and a destination each, what is kept of
 * messages, and what one rank needs to compare a result with what is expected.
 */
static double needed_bytes(const perf_options_t *options)
{
	const int on_each = perf_op_buffers(options->op);
	const int to_compare = options->check ? 2 : 0;
	return (double)options->max_bytes * (on_each * options->launcher.ranks + to_compare);
}

/** Memory that is available to programs; all memory, if the kernel does not tell. */
static double available_bytes(void)
{
	unsigned long long kib;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
			(void)fclose(file);
			return (double)kib * 1024;
		}
	if (file)
		(void)fclose(file);
	return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/** Checks sizes after all options have been read. */
static int check_sizes(perf_options_t *options)
{
	size_t element = tsr_dtype_bytes(options->dtype);
	const char *type = tsr_dtype_name(options->dtype);

	if (options->factor && options->step_bytes)
		return tool_misuse("perf", "-f and -i are two ways to step: give one of them");
	if (!options->factor && !options->step_bytes)
		options->factor = 2;
	if (options->min_bytes > options->max_bytes)
		return tool_misuse("perf",
				   "-b %zu is larger than -e %zu: the smallest size comes first",
				   options->min_bytes, options->max_bytes);
	if (options->min_bytes == 0)
		return tool_misuse("perf", "-b is 0: write at least 1 element of %s", type);
	if (options->min_bytes % element)
		return tool_misuse("perf",
				   "-b %zu is not a whole number of %s, which have %zu bytes each",
				   options->min_bytes, type, element);
	if (options->step_bytes % element)
		return tool_misuse("perf",
				   "-i %zu is not a whole number of %s, which have %zu bytes each",
				   options->step_bytes, type, element);

	/* The kernel would kill a rank that uses more memory than there is. */
	const double needed = needed_bytes(options), present = available_bytes();
	if (needed > present)
		return tool_misuse("perf",
				   "-e %zu needs %.3g GiB on %d ranks and this machine has %.3g "
				   "left: choose a smaller size",
				   options->max_bytes, needed / (1 << 30), options->launcher.ranks,
				   present / (1 << 30));
	return TOOL_OK;
}

/** --pairs measures pairs at the largest size, and all ranks at once at each size. */
static int check_pairs(perf_options_t *options)
{
	if (options->picture && !options->pairs)
		return tool_misuse("perf", "--picture draws what --pairs measures: give both");
	if (!options->pairs)
		return TOOL_OK;
	if (options->op == PERF_COPY || (!perf_op_moves(options->op) && options->op != PERF_ATOMIC))
		return tool_misuse("perf", "--pairs is for put, get, load, store and atomic");
	if (options->max_bytes == not_given)
		options->max_bytes = (size_t)4 << 20;
	if (options->min_bytes == not_given)
		options->min_bytes = options->max_bytes;
	return TOOL_OK;
}

/** --via: refuses options that contradict it, and chooses the sizes of messages. */
static int check_vias(perf_options_t *options)
{
	enum { BULK_UNIT = 16 };
	const bool bulk = options->vias >> PERF_VIA_BULK & 1;

	if (!options->vias)
		return TOOL_OK;
	if (options->op != PERF_PUT)
		return tool_misuse("perf", "--via is for the operation put");
	if (options->pairs || options->each)
		return tool_misuse("perf",
				   "--via compares messages of two ranks inside one launch: "
				   "leave --pairs and -l away");
	if (options->max_bytes == not_given)
		options->max_bytes = (size_t)2 << 20;
	if (options->min_bytes == not_given)
		options->min_bytes = 128;
	if (!options->factor && !options->step_bytes)
		options->factor = 4;
	if (bulk && (options->min_bytes % BULK_UNIT || options->step_bytes % BULK_UNIT))
		return tool_misuse("perf",
				   "--via %s moves multiples of %d bytes: give such for -b and -i",
				   via_names[PERF_VIA_BULK], BULK_UNIT);
	return TOOL_OK;
}

/** signal, put-signal and marked: they need two ranks that signal each other. */
static int check_signals(const perf_options_t *options)
{
	const bool signals = options->op == PERF_SIGNAL || options->op == PERF_PUT_SIGNAL ||
			     options->op == PERF_MARKED;

	if (options->op != PERF_SIGNAL && options->scope != PERF_SCOPE_SYSTEM)
		return tool_misuse("perf", "--scope is for the operation signal");
	if (signals && options->scope == PERF_SCOPE_SYSTEM && options->launcher.ranks < 2)
		return tool_misuse("perf", "a signal goes from one rank to another: -n 2 or more");
	return TOOL_OK;
}

/** atomic, load and store: refuses options that contradict them. */
static int check_words(perf_options_t *options)
{
	if (options->op != PERF_ATOMIC && options->atomics)
		return tool_misuse("perf", "--op is for the operation atomic");
	if (options->op == PERF_ATOMIC && !options->atomics)
		options->atomics = 1u << PERF_ADD;
	if (perf_op_sums(options->op) && options->dtype == TSR_I64)
		return tool_misuse("perf", "%s of i64, which no collective sums: give -d i32",
				   perf_op_name(options->op));
	if (perf_op_tiles(options->op) && options->dtype != TSR_F32)
		return tool_misuse("perf", "%s moves tiles of f32: leave -d away",
				   perf_op_name(options->op));
	return TOOL_OK;
}

static int check_all(perf_options_t *options)
{
	int misused = check_signals(options);

	if (!misused)
		misused = tool_check_nodes("perf", &options->launcher);
	if (!misused)
		misused = tool_check_network("perf", options->launcher.nodes);
	if (!misused)
		misused = check_words(options);
	if (!misused)
		misused = check_pairs(options);
	if (!misused)
		misused = check_vias(options);
	if (options->min_bytes == not_given)
		options->min_bytes = 8;
	if (options->max_bytes == not_given)
		options->max_bytes =
			options->op == PERF_MARKED ? (size_t)64 << 10 : (size_t)64 << 20;
	return misused ? misused : check_sizes(options);
}

int perf_options_parse(int argc, char **argv, perf_options_t *options_out, bool *help_out)
{
	perf_options_t options = {
		.launcher = {.size = sizeof(tsr_launcher_t), .ranks = 2},
		.min_bytes = not_given,
		.max_bytes = not_given,
		.dtype = TSR_F32,
		.samples = 15,
		.warmup = 2,
		.check = true,
	};

	*help_out = false;
	for (int o; (o = tool_next_option(argc, argv, ":n:b:e:f:i:d:N:m:w:c:V:l:J:h",
					  long_options)) != -1;) {
		if (o == 'h') {
			perf_print_help();
			*help_out = true;
			return TOOL_OK;
		}
		int misused = o == '?' || o == ':' ? tool_bad_option("perf", o, argv, long_options)
						   : parse_option(o, optarg, &options);
		if (misused)
			return misused;
	}
	if (optind >= argc)
		return perf_op_misused(NULL);
	int misused = perf_op_parse(argv[optind], &options.op);
	if (!misused && optind + 1 < argc)
		misused = tool_misuse("perf", "unexpected argument '%s': one operation a run",
				      argv[optind + 1]);
	if (!misused)
		misused = check_all(&options);
	if (!misused)
		*options_out = options;
	return misused;
}

int perf_sizes(const perf_options_t *options)
{
	int count = 0;

	for (size_t s = options->min_bytes; s; s = perf_next_size(options, s))
		count++;
	return count;
}

size_t perf_next_size(const perf_options_t *options, size_t size_bytes)
{
	/* Compared by what is left up to the largest size, so that nothing overflows. */
	if (options->factor)
		return size_bytes > options->max_bytes / options->factor
			       ? 0
			       : size_bytes * options->factor;
	return options->step_bytes > options->max_bytes - size_bytes
		       ? 0
		       : size_bytes + options->step_bytes;
}
