/*
 * The workloads of this executable. Each puts a pointer to its struct into a
 * section, which the linker gathers into one array.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/workload.h"

/*
 * Weak, because without workloads the section does not exist; the symbols are
 * then null.
 */
#define SECTION_BOUND extern __attribute__((weak, visibility("hidden")))
SECTION_BOUND const workload_t *const __start_tsr_workloads[];
SECTION_BOUND const workload_t *const __stop_tsr_workloads[];

/**
 * Returns the workload whose name follows `name` in the alphabet; null past the
 * last. So workloads are sorted by name, whatever the linker's order is.
 */
static const workload_t *behind(const char *name)
{
	const workload_t *next = NULL;
	for (const workload_t *const *at = __start_tsr_workloads; at != __stop_tsr_workloads; at++)
		if (strcmp((*at)->name, name) > 0 && (!next || strcmp((*at)->name, next->name) < 0))
			next = *at;
	return next;
}

const workload_t *workload_at(int index)
{
	const workload_t *workload = behind("");
	for (int i = 0; workload && i < index; i++)
		workload = behind(workload->name);
	return workload;
}

/** "attention, moe". */
static void list_names(const char *const *names, char *text, size_t size)
{
	size_t used = 0;
	for (int i = 0; names[i] != NULL && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
					 names[i]);
}

tsr_status_t workload_find(const char *name, const workload_t **workload_out)
{
	enum { MOST = 64 };
	const char *names[MOST + 1] = {NULL};
	const workload_t *workload;
	for (int i = 0; i < MOST && (workload = workload_at(i)) != NULL; i++) {
		names[i] = workload->name;
		if (strcmp(name, workload->name) == 0) {
			*workload_out = workload;
			return TSR_OK;
		}
	}
	const char *near = tsr_nearest_name(name, names);
	char all[512] = "";
	if (near)
		return tsr_error(TSR_ERR_NOT_FOUND, "unknown workload '%s'; did you mean '%s'?",
				 name, near);
	list_names(names, all, sizeof all);
	return tsr_error(TSR_ERR_NOT_FOUND, "unknown workload '%s'; there are %s", name, all);
}
