/* tessera info: the backends, and what their devices are like. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/choices/machine.h"
#include "src/base/os/descriptor.h"
#include "tessera/backends.h"
#include "tessera/tessera.h"
#include "tools/info/info.h"
#include "tools/usage.h"

/** What a rank tells of its device, through a pipe: it may be a process of its own. */
typedef struct told {
	tsr_device_props_t props;
	char machine[64];
} told_t;

/** A rank's entry; its argument is the pipe's number. */
static int tell_device(tsr_world_t *world, int argc, char **argv)
{
	told_t told;

	(void)argc;
	memset(&told, 0, sizeof told);
	told.props.size = sizeof told.props;
	TSR_TRY(tsr_world_device(world, &told.props));
	snprintf(told.machine, sizeof told.machine, "%s",
		 machine_find(tsr_world_backend(world), told.props.name)->name);
	if (tsr_fd_write(atoi(argv[1]), &told, sizeof told) == (ssize_t)sizeof told)
		return TOOL_OK;
	perror("tessera info: a rank cannot tell of its device");
	return TOOL_FAILED;
}

/** Asks a world of one rank. False after a sentence: the world's, the rank's, or one of here. */
static bool ask_device(const char *backend, told_t *told)
{
	tsr_launcher_t launcher = {.size = sizeof launcher, .ranks = 1, .backend = backend};
	char name[] = "info", number[16];
	char *argv[] = {name, number, NULL};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		perror("tessera info: a pipe");
		return false;
	}
	snprintf(number, sizeof number, "%d", ends[1]);
	/* neither end waits: the pipe has room for all that is told, and the rank has ended */
	const bool ended = tsr_launch_world(&launcher, 2, argv, tell_device) == 0,
		   good = ended &&
			  tsr_fd_read(ends[0], told, sizeof *told) == (ssize_t)sizeof *told;
	if (ended && !good)
		perror("tessera info: nothing has come of the device that a rank told of");
	close(ends[0]);
	close(ends[1]);
	return good;
}

/** Which backend a program takes that is started as this command was: the best ones come first. */
static void mark_choice(json_t *rows)
{
	const char *asked = getenv("TESSERA_BACKEND");
	bool found = false;
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const bool chosen = !found &&
				    json_integer_value(json_object_get(row, "devices")) > 0 &&
				    (!asked || strcmp(info_text(row, "name"), asked) == 0);
		(void)json_object_set_new(row, "chosen", json_boolean(chosen));
		if (chosen)
			(void)json_object_set_new(
				row, "because",
				json_string(asked ? "TESSERA_BACKEND names it"
						  : "it is the best one that has a device here"));
		found = found || chosen;
	}
}

json_t *info_backends(bool *failed)
{
	tsr_backend_info_t info = {.size = sizeof info};
	json_t *rows = json_array();
	told_t told;

	for (int i = 0; tsr_backend_at(i, &info) == TSR_OK; i++) {
		json_t *row = json_pack("{s:s, s:i, s:s?}", "name", info.name, "devices",
					info.devices, "reason", info.devices ? NULL : info.reason);
		if (row && info.devices > 0 && ask_device(info.name, &told))
			(void)json_object_update_new(row,
						     json_pack("{s:s, s:i, s:i, s:I, s:s}",
							       "device", told.props.name,
							       "resident_blocks",
							       told.props.resident_blocks,
							       "workers_per_block",
							       told.props.workers_per_block,
							       "shared_bytes",
							       (json_int_t)told.props.shared_bytes,
							       "figures", told.machine));
		else if (info.devices > 0)
			*failed = true;
		(void)json_array_append_new(rows, row);
	}
	mark_choice(rows);
	return rows;
}

static long long number(const json_t *row, const char *key)
{
	return (long long)json_integer_value(json_object_get(row, key));
}

void info_print_backends(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const long long devices = number(row, "devices");
		if (i == 0)
			printf("backends:\n");
		if (devices == 0) {
			printf("  %-8s no device: %s\n", info_text(row, "name"),
			       info_text(row, "reason"));
			continue;
		}
		printf("  %-8s %lld device%s", info_text(row, "name"), devices,
		       devices == 1 ? "" : "s");
		if (json_is_true(json_object_get(row, "chosen")))
			printf("; programs take it: %s", info_text(row, "because"));
		printf("\n");
		if (!json_object_get(row, "device"))
			continue;
		printf("    %s: %lld resident blocks, up to %lld workers a block, %lld KiB of "
		       "shared memory a block\n",
		       info_text(row, "device"), number(row, "resident_blocks"),
		       number(row, "workers_per_block"), number(row, "shared_bytes") / 1024);
		printf("    workloads choose tiles and blocks by the figures of %s\n",
		       info_text(row, "figures"));
	}
}
