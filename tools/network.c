/* How slow the network between emulated nodes is. */
#include "tools/network.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/program.h"
#include "tools/usage.h"

static int check_delay(const char *command, const char *text)
{
	const char *comma = strchr(text, ',');
	const size_t length = comma ? (size_t)(comma - text) : strlen(text);
	uint64_t delay_ns = 0, jitter_ns = 0;
	char delay[32];

	snprintf(delay, sizeof delay, "%.*s", (int)(length < 31 ? length : 31), text);
	if (tsr_parse_duration("--net-delay", delay, &delay_ns) != TSR_OK)
		return tool_misuse_last_error(command);
	if (comma && tsr_parse_duration("--net-delay", comma + 1, &jitter_ns) != TSR_OK)
		return tool_misuse_last_error(command);
	if (delay_ns > 1000000000 || jitter_ns > delay_ns)
		return tool_misuse(command,
				   "--net-delay %s: give TIME or TIME,JITTER, at most 1s, and a "
				   "jitter of at most the time",
				   text);
	return TOOL_OK;
}

static int check_rate(const char *command, const char *text)
{
	size_t rate = 0;

	if (tsr_parse_size("--net-rate", text, &rate) != TSR_OK)
		return tool_misuse_last_error(command);
	if (rate < 1024 || rate > (size_t)1 << 40)
		return tool_misuse(command, "--net-rate %s: give 1K to 1T bytes a second", text);
	return TOOL_OK;
}

int tool_parse_network(const char *command, int letter, const char *text)
{
	const bool delay = letter == TOOL_NET_DELAY;
	const int misused = delay ? check_delay(command, text) : check_rate(command, text);

	if (!misused)
		(void)setenv(delay ? "TESSERA_NET_DELAY" : "TESSERA_NET_RATE", text, 1);
	return misused;
}

int tool_check_network(const char *command, int nodes)
{
	const char *delay = getenv("TESSERA_NET_DELAY"), *rate = getenv("TESSERA_NET_RATE");

	if (nodes > 1 || getenv("TESSERA_NODES") || (!delay && !rate))
		return TOOL_OK;
	return tool_misuse(command,
			   "--net-delay and --net-rate are about the network between nodes: say "
			   "with --nodes how many there are");
}
