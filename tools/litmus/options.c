/* What may be said to tessera litmus. */
#include <stdio.h>
#include <string.h>

#include "model/memory/axioms/axioms.h"
#include "tessera/program.h"
#include "tools/litmus/explore.h"
#include "tools/litmus/run/run.h"
#include "tools/litmus/suite.h"
#include "tools/network.h"
#include "tools/usage.h"

#define SECOND_NS UINT64_C(1000000000)

enum { DEFAULT_LIMIT_S = 60 };

static const char help[] =
	"usage: tessera litmus FILE|DIR|ORACLE.jsonl... [--on WITNESS] [OPTIONS]\n"
	"\n"
	"Says which final states a litmus test may show, whether the answer to its question\n"
	"holds Always, Sometimes or Never, and which races it has. A program with a race\n"
	"has no meaning, so its final states are no promise.\n"
	"\n"
	"  FILE                  a test in herd's LISA form (man tessera-litmus)\n"
	"  DIR                   every .litmus file below it\n"
	"  ORACLE.jsonl          one test in each line, {name, litmus, outcomes, races};\n"
	"                        compared with the outcomes and races where it has them\n"
	"\n"
	"      --on WITNESS      the witness to ask (default axioms):\n"
	"%s"
	"      --why[=FILE]      explain the answer: by an execution that shows it, or by\n"
	"                        the cycle that forbids it; if FILE ends in .dot or .svg,\n"
	"                        draw it too (for one test)\n"
	"      --expect FILE     a table 'test,verdict,races': Allowed or Forbidden;\n"
	"                        datarace, scoperace, both joined by '+', or -\n"
	"      --axioms VARIANT  a variant of the axioms:\n"
	"%s"
	"      --nodes N         for cache: the test's devices are on N nodes, and locations\n"
	"                        at any of them (default 1); for cpuemu: on emulated nodes\n"
	"                        that reach each other by messages\n"
	"      --net-delay TIME[,JITTER]\n"
	"                        with --nodes for cpuemu: messages take TIME longer, such as\n"
	"                        1ms, or 1ms,300us: with JITTER some more and some less\n"
	"      --net-rate RATE   the same: bytes a second that a device sends at most\n"
	"      --unroll N        how often a loop may go back (default 2)\n"
	"      --limit SECONDS   how long a witness that searches may take for one test\n"
	"                        (default 60; 0: no limit); a test that takes longer is not\n"
	"                        judged\n"
	"      --runs N          runs of each test, for witnesses that run it; for explore\n"
	"                        the largest number of schedules (default 100000)\n"
	"      --through HOW     how cuda plays a test: lanes (default: an instance is a GPU\n"
	"                        thread, an access is an instruction) or api (a block, and a\n"
	"                        call of the device API)\n"
	"      --weak MEMORY     what memory does in explore: view (default: all that the\n"
	"                        model allows) or off (interleaving only)\n"
	"      --seed N          seed for witnesses that choose at random (default 1)\n"
	"  -v, --verbose         also print tests that are as expected\n"
	"      --json FILE       write what was found as JSON too\n"
	"      --csv FILE        write it as CSV too, a line for each test\n"
	"  -h, --help            this text\n"
	"\n"
	"If a test or an oracle has the right answer, only tests that differ are printed,\n"
	"and the last line is 'agree N of M'.\n"
	"\n"
	"exit code: 0 every test was judged and nothing differs; 1 something differs, or a\n"
	"test could not be read or judged; 2 misused\n";

enum {
	OPT_ON = 256,
	OPT_WHY,
	OPT_EXPECT,
	OPT_AXIOMS,
	OPT_NODES,
	OPT_UNROLL,
	OPT_LIMIT,
	OPT_RUNS,
	OPT_SEED,
	OPT_THROUGH,
	OPT_WEAK,
	OPT_JSON,
	OPT_CSV
};

static const struct option long_options[] = {
	{"on", required_argument, NULL, OPT_ON},
	{"why", optional_argument, NULL, OPT_WHY},
	{"expect", required_argument, NULL, OPT_EXPECT},
	{"axioms", required_argument, NULL, OPT_AXIOMS},
	{"nodes", required_argument, NULL, OPT_NODES},
	TOOL_NETWORK_OPTIONS,
	{"unroll", required_argument, NULL, OPT_UNROLL},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"runs", required_argument, NULL, OPT_RUNS},
	{"seed", required_argument, NULL, OPT_SEED},
	{"through", required_argument, NULL, OPT_THROUGH},
	{"weak", required_argument, NULL, OPT_WEAK},
	{"json", required_argument, NULL, OPT_JSON},
	{"csv", required_argument, NULL, OPT_CSV},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/** A line for each name. */
static void add_line(char *lines, size_t size, const char *name, const char *summary)
{
	size_t used = strlen(lines);
	snprintf(lines + used, size - used, "                          %-24s %s\n", name, summary);
}

static void print_help(void)
{
	char witnesses[1024] = "", variants[1024] = "";

	for (int i = 0; suite_witnesses[i]; i++)
		add_line(witnesses, sizeof witnesses, suite_witnesses[i]->name,
			 suite_witnesses[i]->summary);
	for (int i = 0; axioms_variants[i].name; i++)
		add_line(variants, sizeof variants, axioms_variants[i].name,
			 axioms_variants[i].summary);
	tool_help_t text;
	tool_help_begin(&text);
	tool_help_add(&text, help, witnesses, variants);
	tool_help_end(&text);
}

static int parse_witness(const char *text, const litmus_witness_t **witness_out)
{
	enum { MOST = 12 };
	const char *names[MOST + 1] = {NULL};

	for (int i = 0; suite_witnesses[i] && i < MOST; i++) {
		names[i] = suite_witnesses[i]->name;
		if (strcmp(names[i], text) == 0) {
			*witness_out = suite_witnesses[i];
			return TOOL_OK;
		}
	}
	const char *near = tsr_nearest_name(text, names);
	if (near)
		return tool_misuse("litmus", "unknown witness '%s'; did you mean '%s'?", text,
				   near);
	return tool_misuse("litmus", "unknown witness '%s'", text);
}

static int parse_number(const char *what, const char *text, long low, long high, long *number_out)
{
	return tsr_parse_int(what, text, low, high, number_out) == TSR_OK
		       ? TOOL_OK
		       : tool_misuse_last_error("litmus");
}

static int parse_drawing(const char *text, suite_options_t *options)
{
	const char *dot = text ? strrchr(text, '.') : NULL;

	options->why = true;
	options->drawing = text;
	if (text && (!dot || (strcmp(dot, ".dot") != 0 && strcmp(dot, ".svg") != 0)))
		return tool_misuse("litmus",
				   "--why draws to a file that ends in .dot or .svg, not to '%s'",
				   text);
	return TOOL_OK;
}

static int parse_weak(const char *text, suite_options_t *options)
{
	tsr_check_weak_t weak;

	if (tsr_check_weak_parse("--weak", text, &weak) != TSR_OK)
		return tool_misuse_last_error("litmus");
	if (weak == TSR_CHECK_WEAK_CACHE)
		return tool_misuse("litmus", "--weak cache shows some of what the model allows, "
					     "and no test says how much of it");
	options->interleaved = weak == TSR_CHECK_WEAK_OFF;
	return TOOL_OK;
}

static int parse_through(const char *text, suite_options_t *options)
{
	options->litmus.through_api = strcmp(text, "api") == 0;
	if (!options->litmus.through_api && strcmp(text, "lanes") != 0)
		return tool_misuse("litmus", "--through is lanes or api, not '%s'", text);
	options->through = text;
	return TOOL_OK;
}

static int parse_option(int letter, const char *text, suite_options_t *options)
{
	const axioms_t *unused;
	long number = 0;
	int misused = TOOL_OK;

	switch (letter) {
	case OPT_ON:
		return parse_witness(text, &options->witness);
	case OPT_WHY:
		return parse_drawing(text, options);
	case OPT_EXPECT:
		options->expect = text;
		break;
	case OPT_AXIOMS:
		options->litmus.axioms = text;
		return axioms_find(text, &unused) == TSR_OK ? TOOL_OK
							    : tool_misuse_last_error("litmus");
	case OPT_NODES:
		misused = parse_number("--nodes", text, 1, LITMUS_MAX_THREADS, &number);
		options->litmus.nodes = (int)number;
		break;
	case TOOL_NET_DELAY:
	case TOOL_NET_RATE:
		return tool_parse_network("litmus", letter, text);
	case OPT_UNROLL:
		misused = parse_number("--unroll", text, 1, 64, &number);
		options->litmus.unroll = (int)number;
		break;
	case OPT_LIMIT:
		misused = parse_number("--limit", text, 0, 1000000, &number);
		options->litmus.limit_ns = (uint64_t)number * SECOND_NS;
		break;
	case OPT_RUNS:
		misused = parse_number("--runs", text, 1, 1000000000000, &number);
		options->litmus.runs = number;
		break;
	case OPT_SEED:
		misused = parse_number("--seed", text, 0, INT64_MAX, &number);
		options->litmus.seed = (uint64_t)number;
		break;
	case OPT_THROUGH:
		return parse_through(text, options);
	case OPT_WEAK:
		return parse_weak(text, options);
	case OPT_JSON:
		options->json = text;
		break;
	case OPT_CSV:
		options->csv = text;
		break;
	default:
		options->verbose = true;
	}
	return misused;
}

int suite_options_parse(int argc, char **argv, suite_options_t *options_out, bool *help_out)
{
	suite_options_t options = {.witness = &litmus_axioms,
				   .litmus = {.runs = 100000,
					      .seed = 1,
					      .unroll = 2,
					      .limit_ns = DEFAULT_LIMIT_S * SECOND_NS}};

	*help_out = false;
	for (int o; (o = tool_next_option(argc, argv, ":vh", long_options)) != -1;) {
		if (o == 'h') {
			print_help();
			*help_out = true;
			return TOOL_OK;
		}
		int misused = o == '?' || o == ':'
				      ? tool_bad_option("litmus", o, argv, long_options)
				      : parse_option(o, optarg, &options);
		if (misused)
			return misused;
	}
	if (optind >= argc)
		return tool_misuse("litmus", "which test? Give a file, a folder of .litmus files, "
					     "or an oracle (.jsonl)");
	if (options.why && options.witness != &litmus_axioms)
		return tool_misuse("litmus", "--why is answered by the axioms, not by '%s'",
				   options.witness->name);
	if (options.through && options.witness != &litmus_cuda)
		return tool_misuse("litmus", "--through is for --on cuda; %s has one way",
				   options.witness->name);
	if (options.litmus.nodes > 1 && options.witness != &litmus_cache &&
	    options.witness != &litmus_cpuemu)
		return tool_misuse("litmus",
				   "--nodes is for --on cache and --on cpuemu; %s has no nodes",
				   options.witness->name);
	if (tool_check_network("litmus", options.litmus.nodes))
		return TOOL_MISUSED;
	if (options.interleaved && options.witness != &litmus_explore)
		return tool_misuse("litmus",
				   "--weak off is for the exploring executor: --on explore");
	if (options.interleaved)
		options.witness = &litmus_interleaved;
	options.paths = argv + optind;
	*options_out = options;
	return TOOL_OK;
}
