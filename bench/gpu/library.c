/* Finding a library when the program runs. */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/gpu/library.h"

/**
 * What is there and cannot be loaded leaves the loader's reason. The library
 * stays: NVIDIA's cannot be unloaded once they have been used.
 */
static void *open_at(const char *folder, const char *name, char reason[BENCH_SENTENCE])
{
	char path[PATH_MAX];
	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path ||
	    access(path, F_OK) != 0)
		return NULL;
	void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!found)
		(void)snprintf(reason, BENCH_SENTENCE, "%.200s", dlerror());
	return found;
}

/**
 * Calls open_at for each folder of a list such as PATH's, with `below`
 * appended, which may hold wildcards.
 */
static void *open_in_list(const char *list, const char *below, const char *name,
			  char reason[BENCH_SENTENCE])
{
	void *found = NULL;
	for (const char *at = list; at && !found; at = *at ? at + 1 : NULL) {
		size_t length = strcspn(at, ":");
		char pattern[PATH_MAX];
		glob_t folders;
		if (length > 0 &&
		    (size_t)snprintf(pattern, sizeof pattern, "%.*s%s", (int)length, at, below) <
			    sizeof pattern &&
		    glob(pattern, 0, NULL, &folders) == 0) {
			for (size_t i = 0; i < folders.gl_pathc && !found; i++)
				found = open_at(folders.gl_pathv[i], name, reason);
			globfree(&folders);
		}
		at += length;
	}
	return found;
}

/**
 * Where wheels are: beside the python3 that PATH has, in the virtual
 * environment, and in the system's folders.
 */
static void *open_in_wheels(const char *wheels, const char *name, char reason[BENCH_SENTENCE])
{
	char below[PATH_MAX], beside[PATH_MAX + sizeof "/.."];
	(void)snprintf(below, sizeof below, "/lib/python3*/*-packages/%s/lib", wheels);
	(void)snprintf(beside, sizeof beside, "/..%s", below);
	void *found = open_in_list(getenv("VIRTUAL_ENV"), below, name, reason);
	if (!found)
		found = open_in_list(getenv("PATH"), beside, name, reason);
	return found ? found : open_in_list("/usr/local:/usr", below, name, reason);
}

static void *open_library(const bench_places_t *places, const char *name,
			  char reason[BENCH_SENTENCE])
{
	void *found = open_in_list(getenv("LD_LIBRARY_PATH"), "", name, reason);
	if (!found)
		found = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!found)
		found = open_in_list(getenv(places->home), "/lib*", name, reason);
	if (!found)
		found = open_in_list(places->toolkits, "/lib*", name, reason);
	return found ? found : open_in_wheels(places->wheels, name, reason);
}

/** Null, too, where the library does not ask for it. */
static void *find_loaded(const bench_library_t *library)
{
	void *found = NULL;
	for (const char *const *name = library->names; library->prefer_loaded && *name && !found;
	     name++)
		found = dlopen(*name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
	return found;
}

bool bench_library_find(const bench_library_t *library, void *table_out,
			char sentence[BENCH_SENTENCE])
{
	char reason[BENCH_SENTENCE] = "";
	void *handle = find_loaded(library);
	for (const char *const *name = library->names; *name && !handle; name++)
		handle = open_library(library->places, *name, reason);
	if (!handle) {
		if (reason[0])
			(void)snprintf(sentence, BENCH_SENTENCE,
				       "the %s here cannot be loaded (%.200s): %s", library->what,
				       reason, library->cure);
		else
			(void)snprintf(sentence, BENCH_SENTENCE,
				       "there is no %s here: %s is not in LD_LIBRARY_PATH, the "
				       "toolkit's folders or Python's; %s",
				       library->what, library->names[0], library->cure);
		return false;
	}
	for (const bench_entry_t *entry = library->entries; entry->symbol; entry++) {
		void *address = dlsym(handle, entry->symbol);
		if (!address) {
			(void)snprintf(sentence, BENCH_SENTENCE, "the %s here has no %s: %s",
				       library->what, entry->symbol, library->cure);
			return false;
		}
		*(void **)(void *)((char *)table_out + entry->offset) = address;
	}
	return true;
}
