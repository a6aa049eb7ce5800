/* What `tessera run` does to the ranks besides starting them. */
#ifndef TESSERA_TOOLS_RUN_RUN_H
#define TESSERA_TOOLS_RUN_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "tessera/types.h"

/** What becomes of the ranks' output, and which ranks a debugger runs. */
typedef struct run_wishes {
	int ranks;
	bool tag;           /* each line begins with its rank */
	const char *folder; /* a file a rank in there; null: none */
	bool debug[TSR_MAX_RANKS];
	int debug_count;
} run_wishes_t;

/** Whether any rank is started differently. */
bool run_wishes_something(const run_wishes_t *wishes);

/**
 * Reads a list of ranks such as 0,2-3. TOOL_OK, or TOOL_MISUSED after a
 * sentence. Ranks beyond the world are judged by run_check_wishes.
 */
int run_read_debugged(const char *list, run_wishes_t *wishes);

/** Judges the wishes, and makes the folder. An exit code, after a sentence where it is not 0. */
int run_check_wishes(run_wishes_t *wishes, bool threads);

/* ------------------------------------------------------------------ the collector */

/**
 * A process that reads what the ranks print, and prints it with tags. It ends
 * when the ranks and the command have ended, or when nobody reads what it
 * prints: then ranks that print get SIGPIPE, as without it.
 */
typedef struct run_collector {
	pid_t process;              /* 0: there is none */
	int lifeline;               /* the command's end; closed when the ranks have ended */
	int fds[TSR_MAX_RANKS * 2]; /* of rank r: 2r for its output, 2r + 1 for its errors */
} run_collector_t;

/** TOOL_OK, or TOOL_FAILED after a sentence on stderr. */
int run_collector_begin(const run_wishes_t *wishes, run_collector_t *collector);

/** Waits until all is printed. Returns `code`, or what went wrong in printing where that is 0. */
int run_collector_end(run_collector_t *collector, int code);

/** The file of a rank in the folder. */
void run_file_name(const char *folder, int rank, char *name_out, size_t room);

/* ------------------------------------------------------------------ in a rank's process */

/**
 * The command that each rank executes in place of the program: it sets up the
 * rank, and executes the program or its debugger. Null-terminated; null: no
 * memory. The program's own words in it stay the caller's.
 */
char **run_rank_command(const run_wishes_t *wishes, const run_collector_t *collector,
			char **program);
void run_rank_command_free(char **command);

/** What that command does. */
int run_as_rank(int argc, char **argv);

/** After a debugger has had the terminal: the command takes it back. */
void run_take_terminal(const run_wishes_t *wishes);

#endif
