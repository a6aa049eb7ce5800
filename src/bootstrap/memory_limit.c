#include "src/bootstrap/memory_limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/os/descriptor.h"
#include "tessera/program.h"

/* Files of a group, by the version: a count of kills among other lines, and the limit in bytes. */
static const char *const counts[] = {[1] = "memory.oom_control", [2] = "memory.events"};
static const char *const limits[] = {[1] = "memory.limit_in_bytes", [2] = "memory.max"};
static const char *const mounts[] = {[1] = "/sys/fs/cgroup/memory", [2] = "/sys/fs/cgroup"};

enum { FILE_BYTES = 8192 }; /* of which no more is read */

/** The text of a file; "" if it cannot be read. */
static void read_text(const char *path, char text_out[FILE_BYTES])
{
	size_t used = 0;
	ssize_t got = 0;
	const int fd = tsr_fd_keep(open(path, O_RDONLY | O_CLOEXEC));
	while (fd >= 0 && used + 1 < FILE_BYTES &&
	       (got = tsr_fd_read(fd, text_out + used, FILE_BYTES - 1 - used)) > 0)
		used += (size_t)got;
	text_out[used] = '\0';
	tsr_fd_close(&fd, 1);
}

/** The line "KEY NUMBER", or a number alone where `key` is "". False: it is not there. */
static bool read_number(const char *folder, const char *name, const char *key, uint64_t *number_out)
{
	char path[PATH_MAX], text[FILE_BYTES], *rest = NULL;
	const size_t length = strlen(key);
	bool found = false;
	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return false;
	read_text(path, text);
	for (char *line = strtok_r(text, "\n", &rest); line != NULL && !found;
	     line = strtok_r(NULL, "\n", &rest))
		found = strncmp(line, key, length) == 0 && (length == 0 || line[length] == ' ') &&
			sscanf(line + length, "%" SCNu64, number_out) == 1;
	return found;
}

static bool read_kills(const tsr_memory_limit_t *limit, uint64_t *kills_out)
{
	return limit->folder[0] != '\0' &&
	       read_number(limit->folder, counts[limit->version], "oom_kill", kills_out);
}

/** Cuts the last name off; false at the folder where groups begin. */
static bool go_up(const tsr_memory_limit_t *limit, char *folder)
{
	char *slash = strrchr(folder, '/');
	if (strlen(folder) <= strlen(limit->root) + strlen(mounts[limit->version]))
		return false;
	*slash = '\0';
	return true;
}

/**
 * Sets the folder from a line of /proc/self/cgroup, "4:memory:/path" or
 * "0::/path". In a container the path may begin above what is mounted here, so
 * that the nearest folder above that is there counts.
 */
static bool take_line(tsr_memory_limit_t *limit, char *line)
{
	const char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
	uint64_t kills;
	if (second == NULL)
		return false;
	const bool unified = second == first + 1 && strncmp(line, "0:", 2) == 0;
	if (!unified && strncmp(first, ":memory:", 8) != 0)
		return false;
	limit->version = unified ? 2 : 1;
	const char *path = strcmp(second + 1, "/") == 0 ? "" : second + 1;
	if (snprintf(limit->folder, sizeof limit->folder, "%s%s%s", limit->root,
		     mounts[limit->version], path) >= (int)sizeof limit->folder)
		return false;
	while (!read_kills(limit, &kills))
		if (!go_up(limit, limit->folder))
			return false;
	limit->kills = kills;
	return true;
}

void tsr_memory_limit_begin(tsr_memory_limit_t *limit, const char *root)
{
	char path[PATH_MAX], text[FILE_BYTES], *rest = NULL;
	bool found = false;
	*limit = (tsr_memory_limit_t){.version = 0};
	if (snprintf(limit->root, sizeof limit->root, "%s", root) >= (int)sizeof limit->root ||
	    snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path)
		return;
	read_text(path, text);
	for (char *line = strtok_r(text, "\n", &rest); line != NULL && !found;
	     line = strtok_r(NULL, "\n", &rest))
		found = take_line(limit, line);
	if (!found)
		limit->folder[0] = '\0';
}

/** The least limit of the group and those around it. False: none has one. */
static bool read_limit(const tsr_memory_limit_t *limit, uint64_t *bytes_out)
{
	/* Without a limit version 1 has the largest number of pages, version 2 no number. */
	const uint64_t none = (uint64_t)1 << 60;
	char folder[PATH_MAX];
	uint64_t bytes, least = none;
	(void)snprintf(folder, sizeof folder, "%s", limit->folder);
	do
		if (read_number(folder, limits[limit->version], "", &bytes) && bytes < least)
			least = bytes;
	while (go_up(limit, folder));
	*bytes_out = least;
	return least < none;
}

const char *tsr_memory_limit_why(tsr_memory_limit_t *limit, char text[TSR_MEMORY_LIMIT_TEXT])
{
	static const char cure[] = "start fewer ranks, or set TESSERA_HEAP_SIZE lower";
	uint64_t kills = 0, bytes;
	text[0] = '\0';
	if (!read_kills(limit, &kills) || kills <= limit->kills)
		return text;
	limit->kills++;
	if (read_limit(limit, &bytes))
		(void)snprintf(text, TSR_MEMORY_LIMIT_TEXT,
			       " by the kernel, because its control group (cgroup) has memory of "
			       "%s at most: raise that limit (%s), %s",
			       TSR_SIZE((size_t)bytes), limits[limit->version], cure);
	else
		(void)snprintf(text, TSR_MEMORY_LIMIT_TEXT,
			       " by the kernel, because this machine has no memory left: end other "
			       "programs, %s",
			       cure);
	return text;
}
