/*
 * tessera info: the backends that programs get with libtessera.so. It loads them
 * when it runs. The command has its own, and asks that library for its.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tessera/backends.h"
#include "tools/cc/toolkit.h"
#include "tools/info/info.h"

typedef tsr_status_t (*backend_at_fn)(int index, tsr_backend_info_t *info_out);

/** The library's question, in `path`; null, with a row that says why, or where there is none. */
static backend_at_fn ask_library(json_t *rows)
{
	char path[PATH_MAX + 32];
	cc_place_t place;

	if (!cc_place_look(&place))
		return NULL;
	snprintf(path, sizeof path, "%s/libtessera.so", place.library);
	if (access(path, F_OK) != 0)
		return NULL;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	/* a pointer to a function, as POSIX would have it, which ISO C has no conversion for */
	union {
		void *found;
		backend_at_fn call;
	} symbol = {.found = library ? dlsym(library, "tsr_backend_at") : NULL};
	if (!symbol.found)
		(void)json_array_append_new(rows,
					    json_pack("{s:s, s:i, s:s}", "name", "libtessera.so",
						      "devices", 0, "reason", dlerror()));
	return symbol.call;
}

json_t *info_plugins(bool *failed)
{
	tsr_backend_info_t info = {.size = sizeof info};
	json_t *rows = json_array();
	const backend_at_fn backend_at = ask_library(rows);

	(void)failed;
	for (int i = 0; backend_at && backend_at(i, &info) == TSR_OK; i++) {
		if (strcmp(info.name, "cpuemu") == 0) /* in the library itself */
			continue;
		(void)json_array_append_new(rows, json_pack("{s:s, s:i, s:s?}", "name", info.name,
							    "devices", info.devices, "reason",
							    info.devices ? NULL : info.reason));
	}
	return rows;
}

void info_print_plugins(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const long long devices = json_integer_value(json_object_get(row, "devices"));
		if (i == 0)
			printf("plug-ins of libtessera.so:\n");
		if (devices > 0)
			printf("  plug-in %-8s %lld device%s\n", info_text(row, "name"), devices,
			       devices == 1 ? "" : "s");
		else
			printf("  plug-in %-8s no device: %s\n", info_text(row, "name"),
			       info_text(row, "reason"));
	}
}
