/* The command line of `tessera check`. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/workload.h"
#include "tessera/program.h"
#include "tools/check/check.h"
#include "tools/input.h"

static const char help[] =
	"usage: tessera check -n RANKS [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
	"       tessera check --worlds LIST [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
	"       tessera check -n RANKS [OPTIONS] [--] WORKLOAD [--pattern P]\n"
	"                     [--PARAMETER VALUE]...\n"
	"\n"
	"Runs PROGRAM with all ranks on one thread, under many schedules, with the weakest\n"
	"memory that the model allows. Reports what goes wrong: races, scopes that are too\n"
	"narrow, buffers reused too early, lost signals, deadlocks, and more. Each finding\n"
	"says who did what, where, why it is wrong, and how to replay it.\n"
	"\n"
	"  -n, --ranks RANKS            number of ranks, 1 or more\n"
	"      --worlds LIST            several worlds, one after the other, such as 2-4 or\n"
	"                               2,3,8; they share schedules and time\n"
	"  -s, --seeds N                number of schedules (default: 100; exhaustive: all)\n"
	"      --all-seeds              do not end early when many schedules have shown\n"
	"                               nothing new\n"
	"      --first-seed S           the first seed (default: 1)\n"
	"      --strategy STRATEGY      random (default), pct (by priorities), or\n"
	"                               exhaustive (all schedules, for small cases)\n"
	"      --preemptions B          exhaustive: at most B preemptions in a schedule\n"
	"      --depth D                pct: orderings that a bug depends on (default: 3)\n"
	"      --weak MEMORY            view (default: all that the memory model allows),\n"
	"                               cache (what caches do), off (interleaving only)\n"
	"      --nodes N                the ranks are on N nodes: what is put to another node\n"
	"                               lands later (default: 1; more need --weak cache,\n"
	"                               which is then the default)\n"
	"      --resident-blocks K      blocks that fit on a device at one time (default:\n"
	"                               TESSERA_CPUEMU_RESIDENT_BLOCKS)\n"
	"      --replay SEED|SCHEDULE   run one schedule, that of a seed or one as printed\n"
	"                               (12:1+40:2), and show the program's output\n"
	"      --script FILE            the same, for a schedule in a file\n"
	"      --shrink                 make the first finding smaller: its world, shapes\n"
	"                               (AxBxC), resident blocks and schedule\n"
	"      --trace FILE             write a timeline for Perfetto, of the schedule that\n"
	"                               is replayed or of the first finding\n"
	"      --json FILE              write findings and counts as JSON\n"
	"      --csv FILE               write the counts of each world as CSV\n"
	"  -j, --jobs J                 run the program J times in parallel, and divide\n"
	"                               the seeds among the runs (default: 1)\n"
	"      --time-limit D           end after D, such as 5m, and report what was found\n"
	"      --quiet-limit D          give up if one schedule takes D (default: 60s)\n"
	"      --max-findings N         end after N different findings (default: 20)\n"
	"      --no-slowdown            do not compare a schedule's time with a plain run\n"
	"  -h, --help                   this text\n"
	"\n"
	"Exit code: 0 no finding (there may be warnings); 1 findings; 2 misused; 3 nothing\n"
	"can be said about the program.\n"
	"\n"
	"example:\n"
	"  tessera check -n 4 --seeds 1000 ./hello\n";

void check_options_help(void)
{
	tool_print_help(help);
}

enum {
	FIRST_SEED = 256,
	STRATEGY,
	PREEMPTIONS,
	DEPTH,
	WEAK,
	NODES,
	RESIDENT,
	REPLAY,
	SCRIPT,
	SHRINK,
	TRACE,
	JSON,
	CSV,
	TIME_LIMIT,
	QUIET_LIMIT,
	MAX_FINDINGS,
	NO_SLOWDOWN,
	WORLDS,
	ALL_SEEDS
};

static const struct option table[] = {
	{"ranks", required_argument, NULL, 'n'},
	{"seeds", required_argument, NULL, 's'},
	{"first-seed", required_argument, NULL, FIRST_SEED},
	{"strategy", required_argument, NULL, STRATEGY},
	{"preemptions", required_argument, NULL, PREEMPTIONS},
	{"depth", required_argument, NULL, DEPTH},
	{"weak", required_argument, NULL, WEAK},
	{"nodes", required_argument, NULL, NODES},
	{"resident-blocks", required_argument, NULL, RESIDENT},
	{"replay", required_argument, NULL, REPLAY},
	{"script", required_argument, NULL, SCRIPT},
	{"shrink", no_argument, NULL, SHRINK},
	{"trace", required_argument, NULL, TRACE},
	{"json", required_argument, NULL, JSON},
	{"csv", required_argument, NULL, CSV},
	{"jobs", required_argument, NULL, 'j'},
	{"time-limit", required_argument, NULL, TIME_LIMIT},
	{"quiet-limit", required_argument, NULL, QUIET_LIMIT},
	{"max-findings", required_argument, NULL, MAX_FINDINGS},
	{"no-slowdown", no_argument, NULL, NO_SLOWDOWN},
	{"worlds", required_argument, NULL, WORLDS},
	{"all-seeds", no_argument, NULL, ALL_SEEDS},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/**
 * What is read before it is known what it means: the default of --seeds is the
 * strategy's, that of --weak is due to --nodes, and a seed is no script.
 */
typedef struct check_words {
	const char *seeds, *weak, *replay, *script;
} check_words_t;

static tsr_status_t parse_int(const char *what, const char *text, long low, long high,
			      int *value_out)
{
	long value;
	const tsr_status_t status = tsr_parse_int(what, text, low, high, &value);
	if (status == TSR_OK)
		*value_out = (int)value;
	return status;
}

static tsr_status_t parse_count(const char *what, const char *text, long low, uint64_t *value_out)
{
	long value;
	const tsr_status_t status = tsr_parse_int(what, text, low, LONG_MAX, &value);
	if (status == TSR_OK)
		*value_out = (uint64_t)value;
	return status;
}

static tsr_status_t parse_limit(const char *what, const char *text, uint64_t *ns_out)
{
	const tsr_status_t status = tsr_parse_duration(what, text, ns_out);
	if (status == TSR_OK && *ns_out == 0)
		return tsr_error(TSR_ERR_CONFIG, "%s is '%s': nothing can be done in no time", what,
				 text);
	return status;
}

/** Options of exploring. `*taken_out` false: it is none of them. */
static tsr_status_t read_exploring(int code, const char *text, tsr_check_options_t *o,
				   bool *taken_out)
{
	*taken_out = true;
	switch (code) {
	case 'n':
		return parse_int("-n", text, 1, TSR_MAX_RANKS, &o->ranks);
	case FIRST_SEED:
		return parse_count("--first-seed", text, 0, &o->first);
	case STRATEGY:
		return tsr_check_strategy_parse("--strategy", text, &o->strategy);
	case PREEMPTIONS:
		return parse_int("--preemptions", text, 0, INT_MAX, &o->preemptions);
	case DEPTH:
		return parse_int("--depth", text, 1, 64, &o->depth);
	case NODES:
		return parse_int("--nodes", text, 1, TSR_MAX_RANKS, &o->nodes);
	case RESIDENT:
		return parse_int("--resident-blocks", text, 1, 65536, &o->resident_blocks);
	}
	*taken_out = false;
	return TSR_OK;
}

/** The others that have a value. */
static tsr_status_t read_own(int code, const char *text, check_options_t *o, check_words_t *words)
{
	switch (code) {
	case 's':
		words->seeds = text;
		break;
	case WEAK:
		words->weak = text;
		break;
	case REPLAY:
		words->replay = text;
		break;
	case SCRIPT:
		words->script = text;
		break;
	case TRACE:
		o->trace = text;
		break;
	case JSON:
		o->json = text;
		break;
	case CSV:
		o->csv = text;
		break;
	case 'j':
		return parse_int("--jobs", text, 1, CHECK_MOST_JOBS, &o->jobs);
	case TIME_LIMIT:
		return parse_limit("--time-limit", text, &o->time_limit_ns);
	case QUIET_LIMIT:
		return parse_limit("--quiet-limit", text, &o->quiet_limit_ns);
	case WORLDS:
		return check_worlds_parse(text, &o->worlds);
	case MAX_FINDINGS:
		return parse_int("--max-findings", text, 1, INT_MAX, &o->max_findings);
	}
	return TSR_OK;
}

static tsr_status_t load_script(const char *path, tsr_check_script_t *script_out)
{
	const int fd = tool_open_input(path);
	if (fd < 0)
		return tsr_error(TSR_ERR_CONFIG, "--script: '%s' cannot be read: %s", path,
				 strerror(errno));
	const tsr_status_t status = tsr_check_script_load(fd, script_out);
	close(fd);
	return status;
}

/** --replay and --script: one schedule. */
static tsr_status_t read_replay(const check_words_t *words, check_options_t *o)
{
	check_case_t *subject = &o->subject;
	if (words->replay != NULL && words->script != NULL)
		return tsr_error(
			TSR_ERR_CONFIG,
			"--replay and --script both name the schedule to replay: give one of them");
	o->replay = words->replay != NULL || words->script != NULL;
	if (!o->replay)
		return TSR_OK;
	if (o->worlds.count > 1)
		return tsr_error(TSR_ERR_CONFIG,
				 "a replay is of one schedule, in one world: say which with -n");
	if (words->seeds != NULL)
		return tsr_error(TSR_ERR_CONFIG, "a replay is of one schedule: leave --seeds away");
	subject->options.seeds = 1;
	o->jobs = 1;
	const bool seed = words->replay != NULL &&
			  strspn(words->replay, "0123456789") == strlen(words->replay);
	if (seed && subject->options.strategy == TSR_CHECK_EXHAUSTIVE)
		return tsr_error(TSR_ERR_CONFIG, "--replay: an exhaustive search has no seeds: "
						 "give the schedule, such as 12:1+40:2");
	if (seed)
		return parse_count("--replay", words->replay, 0, &subject->options.first);
	subject->scripted = true;
	return words->script != NULL
		       ? load_script(words->script, &subject->script)
		       : tsr_check_script_parse("--replay", words->replay, &subject->script);
}

/** --weak, or what --nodes needs. */
static tsr_status_t read_memory(const check_words_t *words, tsr_check_options_t *explore)
{
	tsr_status_t status = TSR_OK;
	if (words->weak != NULL)
		status = tsr_check_weak_parse("--weak", words->weak, &explore->weak);
	else if (explore->nodes > 1)
		explore->weak = TSR_CHECK_WEAK_CACHE;
	if (status == TSR_OK && explore->nodes > 1 && explore->weak != TSR_CHECK_WEAK_CACHE)
		return tsr_error(TSR_ERR_CONFIG,
				 "--nodes is for --weak cache: with %s, memory has no places",
				 words->weak);
	return status;
}

static tsr_status_t read_words(const check_words_t *words, check_options_t *o)
{
	tsr_check_options_t *explore = &o->subject.options;
	tsr_status_t status = read_memory(words, explore);
	if (status != TSR_OK)
		return status;
	if (explore->strategy == TSR_CHECK_EXHAUSTIVE) {
		explore->seeds = 0;
		if (o->jobs > 1)
			status = tsr_error(
				TSR_ERR_CONFIG,
				"an exhaustive search runs in one process: leave --jobs away");
	}
	if (status == TSR_OK && words->seeds != NULL)
		status = parse_count("--seeds", words->seeds, 1, &explore->seeds);
	if (status == TSR_OK && explore->seeds > 0 && explore->seeds < (uint64_t)o->worlds.count)
		status = tsr_error(
			TSR_ERR_CONFIG,
			"--seeds %" PRIu64
			" leaves some of %d worlds without a schedule: give at least one each",
			explore->seeds, o->worlds.count);
	return status == TSR_OK ? read_replay(words, o) : status;
}

/** -n, or --worlds. */
static int read_worlds(check_options_t *o)
{
	int *ranks = &o->subject.options.ranks;
	if (*ranks == 0 && o->worlds.count == 0)
		return tool_misuse("check",
				   "how many ranks? Say it in front of the program: with -n, such "
				   "as -n 4, or with --worlds, such as --worlds 2-4");
	if (*ranks != 0 && o->worlds.count > 0)
		return tool_misuse("check",
				   "-n and --worlds both say how many ranks: give one of them");
	if (o->worlds.count == 0)
		o->worlds = (check_worlds_t){{*ranks}, 1};
	*ranks = o->worlds.ranks[0];
	return TOOL_OK;
}

/** Options without a value. False: it is none of them. */
static bool read_switch(int code, check_options_t *o)
{
	o->help |= code == 'h';
	o->shrink |= code == SHRINK;
	o->uncompared |= code == NO_SLOWDOWN;
	o->all_seeds |= code == ALL_SEEDS;
	return code == 'h' || code == SHRINK || code == NO_SLOWDOWN || code == ALL_SEEDS;
}

static int read_all(int argc, char **argv, check_options_t *o, check_words_t *words)
{
	/* '+': what follows PROGRAM is the program's own. */
	for (int code; (code = tool_next_option(argc, argv, "+:n:s:j:h", table)) != -1;) {
		bool taken;
		if (read_switch(code, o))
			continue;
		if (code == '?' || code == ':')
			return tool_bad_option("check", code, argv, table);
		tsr_status_t status = read_exploring(code, optarg, &o->subject.options, &taken);
		if (status == TSR_OK && !taken)
			status = read_own(code, optarg, o, words);
		if (status != TSR_OK)
			return tool_misuse_last_error("check");
	}
	return TOOL_OK;
}

/**
 * Where a workload is named in place of a program: this command, which has its
 * kernels, and the line as it stands.
 */
static tsr_status_t find_subject(int argc, char **argv, check_options_t *options)
{
	static char self[PATH_MAX], command[] = "workload";
	const workload_t *workload;
	options->subject.program = argv;
	if (strchr(argv[0], '/') || workload_find(argv[0], &workload) != TSR_OK)
		return TSR_OK;
	const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char **words = options->words = calloc((size_t)argc + 3, sizeof *words);
	if (length <= 0 || !words)
		return tsr_error(TSR_ERR_SYSTEM, "the command cannot find itself: %s",
				 strerror(errno));
	words[0] = self;
	words[1] = command;
	memcpy(words + 2, argv, (size_t)argc * sizeof *words);
	options->subject.program = words;
	return TSR_OK;
}

int check_options_read(int argc, char **argv, check_options_t *options)
{
	check_words_t words = {.seeds = NULL};
	*options = (check_options_t){.subject = {.options = tsr_check_options_default()},
				     .jobs = 1,
				     .quiet_limit_ns = 60ull * 1000000000,
				     .max_findings = 20};
	options->subject.options.ranks = 0;
	const int misused = read_all(argc, argv, options, &words);
	if (misused || options->help)
		return misused;
	if (read_worlds(options) != TOOL_OK)
		return TOOL_MISUSED;
	if (optind >= argc)
		return tool_misuse("check", "which program? Name it behind the options");
	if (read_words(&words, options) != TSR_OK ||
	    find_subject(argc - optind, argv + optind, options) != TSR_OK)
		return tool_misuse_last_error("check");
	return tool_check_program("check", options->subject.program[0]);
}

void check_options_clear(check_options_t *options)
{
	tsr_check_script_clear(&options->subject.script);
	free(options->words);
}
