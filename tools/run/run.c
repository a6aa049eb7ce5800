/* tessera run: starts a program as a world of ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/net/net.h"
#include "tessera/launcher.h"
#include "tools/commands.h"
#include "tools/network.h"
#include "tools/run/run.h"
#include "tools/usage.h"

static const char help[] =
	"usage: tessera run -n RANKS [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
	"\n"
	"Starts PROGRAM as a world of RANKS ranks on this machine and waits for its end.\n"
	"When a rank fails, the other ranks are told, and its exit code is that of the\n"
	"command. No process, socket or shared memory is left behind.\n"
	"\n"
	"  -n, --ranks RANKS       number of ranks, 1 or more\n"
	"      --nodes NODES       emulate NODES nodes on this machine: ranks of different nodes\n"
	"                          share no memory (default: 1)\n"
	"      --node-network N    how these nodes reach each other: loopback (default),\n"
	"                          namespaces (each node has a network of its own, which\n"
	"                          takes root), or auto (namespaces where permitted)\n"
	"      --net-delay TIME[,JITTER]\n"
	"                          messages between nodes take TIME longer, such as 1ms, or\n"
	"                          1ms,300us: with JITTER some more and some less\n"
	"      --net-rate RATE     bytes a second that a rank sends to other nodes at most,\n"
	"                          such as 1G\n"
	"      --backend B         backend (default: TESSERA_BACKEND, or else the best one\n"
	"                          that has a device)\n"
	"  -p, --placement P       process: each rank is a process (default);\n"
	"                          thread: all ranks are threads of one process\n"
	"      --tag               begin each line that a rank prints with [RANK]\n"
	"      --output DIR        write what rank R prints to DIR/rank-R.txt; with --tag\n"
	"                          also print it\n"
	"      --gdb[=RANKS]       run the ranks, or those of a list such as 0,2-3, under\n"
	"                          gdb: it prints where a signal has ended a rank. The gdb\n"
	"                          of one rank alone gets the terminal\n"
	"  -h, --help              this text\n"
	"\n"
	"examples:\n"
	"  tessera run -n 8 ./hello\n"
	"  tessera run -n 8 --tag --output logs ./hello\n"
	"  tessera run -n 2 --gdb=1 ./hello\n";

/** Starts the program; each rank sets itself up first where that is asked for. */
static int launch(const tsr_launcher_t *launcher, const run_wishes_t *wishes, char **program)
{
	run_collector_t collector;

	if (!run_wishes_something(wishes))
		return tsr_launch_program(launcher, program);
	if (run_collector_begin(wishes, &collector))
		return TOOL_FAILED;
	char **command = run_rank_command(wishes, &collector, program);
	int code = TOOL_FAILED;
	if (command)
		code = tsr_launch_program(launcher, command);
	else
		fprintf(stderr, "tessera run: no host memory: end other programs\n");
	run_rank_command_free(command);
	run_take_terminal(wishes);
	return run_collector_end(&collector, code);
}

/** Whether ranks are threads, as far as the launcher or the environment says it. */
static bool are_threads(const tsr_launcher_t *launcher)
{
	const char *placement = getenv("TESSERA_PLACEMENT");

	if (launcher->placement != TSR_PLACE_DEFAULT)
		return launcher->placement == TSR_PLACE_THREAD;
	return placement && strcmp(placement, "thread") == 0;
}

/** --gdb without ranks: all of them. */
static int wish_debugger(const char *list, bool *all, run_wishes_t *wishes)
{
	*all = !list;
	return list ? run_read_debugged(list, wishes) : TOOL_OK;
}

/**
 * Several nodes: a program that has the library in itself may lie anywhere, so
 * it is told what carries messages between nodes.
 */
static void name_carrier(const tsr_launcher_t *launcher)
{
	char path[4096];

	if (launcher->nodes < 2 && !getenv("TESSERA_NODES"))
		return;
	if (!getenv("TESSERA_NET_PLUGIN") && tsr_net_find_plugin(path, sizeof path))
		(void)setenv("TESSERA_NET_PLUGIN", path, 1);
}

static int start(const tsr_launcher_t *launcher, run_wishes_t *wishes, bool debug_all,
		 char **program)
{
	wishes->ranks = launcher->ranks;
	for (int rank = 0; debug_all && rank < wishes->ranks; rank++) {
		wishes->debug_count += !wishes->debug[rank];
		wishes->debug[rank] = true;
	}
	name_carrier(launcher);
	const int code = run_check_wishes(wishes, are_threads(launcher));
	return code ? code : launch(launcher, wishes, program);
}

/** The launcher reads it there. */
static int wish_network(const char *word)
{
	static const char *const words[] = {"loopback", "namespaces", "auto"};
	for (int i = 0; i < 3; i++)
		if (strcmp(word, words[i]) == 0)
			return setenv("TESSERA_NODE_NETWORK", word, 1) == 0 ? TOOL_OK
									    : EXIT_FAILURE;
	return tool_misuse("run", "--node-network is loopback, namespaces or auto, not '%s'", word);
}

static int check_and_start(const tsr_launcher_t *launcher, run_wishes_t *wishes, bool debug_all,
			   char **program)
{
	if (launcher->ranks == 0)
		return tool_misuse("run",
				   "how many ranks? Say it with -n in front of the program, such "
				   "as -n 8");
	int misused = tool_check_nodes("run", launcher);
	if (!misused)
		misused = tool_check_network("run", launcher->nodes);
	if (misused)
		return misused;
	if (!*program)
		return tool_misuse("run", "which program? Name it behind the options");
	misused = tool_check_program("run", *program);
	return misused ? misused : start(launcher, wishes, debug_all, program);
}

enum { TAG = 256, OUTPUT, GDB, NODES, NODE_NETWORK };

int tsr_cmd_run(int argc, char **argv)
{
	static const struct option options[] = {
		{"ranks", required_argument, NULL, 'n'},
		{"nodes", required_argument, NULL, NODES},
		{"node-network", required_argument, NULL, NODE_NETWORK},
		TOOL_NETWORK_OPTIONS,
		{"backend", required_argument, NULL, 'b'},
		{"placement", required_argument, NULL, 'p'},
		{"tag", no_argument, NULL, TAG},
		{"output", required_argument, NULL, OUTPUT},
		{"gdb", optional_argument, NULL, GDB},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	tsr_launcher_t launcher = {.size = sizeof launcher, .ranks = 0};
	run_wishes_t wishes = {.ranks = 0};
	bool all = false;
	int misused = TOOL_OK;

	if (argc > 1 && strcmp(argv[1], "--as-rank") == 0)
		return run_as_rank(argc, argv);
	/* '+': what follows PROGRAM is the program's own. */
	for (int o; !misused && (o = tool_next_option(argc, argv, "+:n:p:h", options)) != -1;) {
		switch (o) {
		case 'n':
			misused = tool_parse_ranks("run", optarg, &launcher.ranks);
			break;
		case NODES:
			misused = tool_parse_nodes("run", optarg, &launcher.nodes);
			break;
		case NODE_NETWORK:
			misused = wish_network(optarg);
			break;
		case TOOL_NET_DELAY:
		case TOOL_NET_RATE:
			misused = tool_parse_network("run", o, optarg);
			break;
		case 'b':
			misused = tool_parse_backend("run", optarg, &launcher.backend);
			break;
		case 'p':
			misused = tool_parse_placement("run", optarg, &launcher.placement);
			break;
		case TAG:
			wishes.tag = true;
			break;
		case OUTPUT:
			wishes.folder = optarg;
			break;
		case GDB:
			misused = wish_debugger(optarg, &all, &wishes);
			break;
		case 'h':
			tool_print_help(help);
			return TOOL_OK;
		default:
			misused = tool_bad_option("run", o, argv, options);
		}
	}
	return misused ? misused : check_and_start(&launcher, &wishes, all, argv + optind);
}
