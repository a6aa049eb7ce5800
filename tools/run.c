/* tessera run: starts a program as a world of ranks. */
#include <stdio.h>

#include "tessera/launcher.h"
#include "tools/commands.h"
#include "tools/usage.h"

static const char help[] =
	"usage: tessera run -n RANKS [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
	"\n"
	"Starts PROGRAM as a world of RANKS ranks on this machine and waits for its end.\n"
	"When a rank fails, the other ranks are told, and its exit code is that of the\n"
	"command. No process, socket or shared memory is left behind.\n"
	"\n"
	"  -n, --ranks RANKS       number of ranks, 1 or more\n"
	"  -b, --backend B         backend (default: TESSERA_BACKEND, or else the best one\n"
	"                          that has a device)\n"
	"  -p, --placement P       process: each rank is a process (default);\n"
	"                          thread: all ranks are threads of one process\n"
	"  -h, --help              this text\n"
	"\n"
	"example:\n"
	"  tessera run -n 8 ./hello\n";

int tsr_cmd_run(int argc, char **argv)
{
	static const struct option options[] = {
		{"ranks", required_argument, NULL, 'n'},
		{"backend", required_argument, NULL, 'b'},
		{"placement", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	tsr_launcher_t launcher = {.size = sizeof launcher, .ranks = 0};
	int misused = TOOL_OK;

	/* '+': what follows PROGRAM is the program's own. */
	for (int o; !misused && (o = getopt_long(argc, argv, "+:n:b:p:h", options, NULL)) != -1;) {
		switch (o) {
		case 'n':
			misused = tool_parse_ranks("run", optarg, &launcher.ranks);
			break;
		case 'b':
			misused = tool_parse_backend("run", optarg, &launcher.backend);
			break;
		case 'p':
			misused = tool_parse_placement("run", optarg, &launcher.placement);
			break;
		case 'h':
			fputs(help, stdout);
			return TOOL_OK;
		default:
			misused = tool_bad_option("run", o, argv, options);
		}
	}
	if (misused)
		return misused;
	if (launcher.ranks == 0)
		return tool_misuse("run", "how many ranks? Say it with -n, such as -n 8");
	if (optind >= argc)
		return tool_misuse("run", "which program? Name it behind the options");
	misused = tool_check_program("run", argv[optind]);
	return misused ? misused : tsr_launch_program(&launcher, argv + optind);
}
