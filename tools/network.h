/* Options of commands that start worlds on emulated nodes: how slow their network is. */
#ifndef TESSERA_TOOLS_NETWORK_H
#define TESSERA_TOOLS_NETWORK_H

#include <getopt.h>
#include <stdbool.h>

/* The values of the options in a command's table. */
enum { TOOL_NET_DELAY = 2000, TOOL_NET_RATE };

#define TOOL_NETWORK_OPTIONS                                       \
	{"net-delay", required_argument, NULL, TOOL_NET_DELAY},    \
	{                                                          \
		"net-rate", required_argument, NULL, TOOL_NET_RATE \
	}

/**
 * --net-delay or --net-rate: sets the variable of the environment that ranks
 * read. TOOL_OK, or TOOL_MISUSED after one sentence.
 */
int tool_parse_network(const char *command, int letter, const char *text);

/**
 * Refuses a slow network where there is no network: neither --nodes nor
 * TESSERA_NODES says that there are several.
 */
int tool_check_network(const char *command, int nodes);

#endif
