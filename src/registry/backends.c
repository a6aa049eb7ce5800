/* The backends, best first: an explicit list. */
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/settings/options.h"
#include "src/registry/plugins.h"
#include "src/registry/registry.h"

typedef struct entry {
	const char *name, *toolkit;   /* toolkit: what a build with it needs */
	const tsr_backend_t *backend; /* null: not part of this build */
} entry_t;

/*
 * The build says which the archive has; cpuemu is always there. The shared
 * library has no other, and loads plug-ins.
 */
#if defined(TSR_WITH_CUDA)
#define CUDA &tsr_backend_cuda
#else
#define CUDA NULL
#endif
#if defined(TSR_WITH_HIP)
#define HIP &tsr_backend_hip
#else
#define HIP NULL
#endif

static const entry_t entries[] = {
	{"cuda", "the CUDA toolkit, 13 or later", CUDA},
	{"hip", "clang 19 or later and its lld", HIP},
	{"cpuemu", "a C compiler", &tsr_backend_cpuemu},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

#if defined(TSR_WITH_PLUGINS)
enum { PLUGINS = 1 };
#else
enum { PLUGINS = 0 };
#endif

const char *tsr_backend_name_at(int index, const tsr_backend_t **backend_out)
{
	if (index < 0 || index >= ENTRIES)
		return NULL;
	*backend_out = entries[index].backend;
	return entries[index].name;
}

static tsr_status_t not_found(const char *name)
{
	const char *names[ENTRIES + 1] = {NULL};
	char list[64] = "";
	for (int i = 0; i < ENTRIES; i++) {
		const size_t used = strlen(list);
		snprintf(list + used, sizeof list - used, "%s%s",
			 i == 0             ? ""
			 : i == ENTRIES - 1 ? " and "
					    : ", ",
			 entries[i].name);
		names[i] = entries[i].name;
	}
	const char *nearest = tsr_nearest_name(name, names);
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "there is no backend '%s'%s%s%s: TESSERA_BACKEND may be one of %s", name,
			 nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
			 nearest != NULL ? "?)" : "", list);
}

/** The backend, if this library has it or a plug-in does; the sentence says why not. */
static tsr_status_t find_backend(const entry_t *entry, const tsr_backend_t **backend_out)
{
	if (entry->backend == NULL && PLUGINS)
		return tsr_plugin_load(entry->name, backend_out);
	if (entry->backend == NULL)
		return tsr_error(
			TSR_ERR_NO_DEVICE,
			"the backend '%s' is not part of this build of the library, so it has no "
			"device here: build it with "
			"`scons backends=%s`, which needs %s, or use TESSERA_BACKEND=cpuemu",
			entry->name, entry->name, entry->toolkit);
	if (entry->backend->abi != TSR_BACKEND_ABI)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"the backend '%s' was built for plug-in contract %u, not %u: build it anew",
			entry->name, entry->backend->abi, TSR_BACKEND_ABI);
	*backend_out = entry->backend;
	return TSR_OK;
}

static tsr_status_t choose_best(const tsr_backend_t **backend_out)
{
	tsr_status_t status = TSR_ERR_NO_DEVICE;
	for (int i = 0; i < ENTRIES; i++) {
		int devices;
		const tsr_backend_t *backend = NULL;
		status = find_backend(&entries[i], &backend);
		if (status == TSR_OK)
			status = backend->device->probe(&devices);
		if (status == TSR_OK) {
			/* why others were passed over is no error of the caller's */
			(void)tsr_error(TSR_OK, "%s", "");
			*backend_out = backend;
			return TSR_OK;
		}
	}
	return status;
}

tsr_status_t tsr_backend_choose(const char *name, const tsr_backend_t **backend_out,
				const char **why_out)
{
	if (name == NULL) {
		const tsr_status_t status = choose_best(backend_out);
		if (status == TSR_OK)
			*why_out = "it is the best one that has a device here";
		return status;
	}
	for (int i = 0; i < ENTRIES; i++) {
		if (strcmp(entries[i].name, name) != 0)
			continue;
		const tsr_status_t status = find_backend(&entries[i], backend_out);
		if (status == TSR_OK) {
			*why_out = "TESSERA_BACKEND names it";
		}
		return status;
	}
	return not_found(name);
}
