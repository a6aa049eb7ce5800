#include "src/base/os/beside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INSTALLED = 1 };

/** The folder of this library or program, whatever links lead to it. False: nobody knows it. */
static bool find_home(char home[PATH_MAX])
{
	static const char here = 0;
	Dl_info object;
	char *slash;
	/* of a program the loader knows the name by which it was called */
	const bool is_library = dladdr(&here, &object) != 0 && object.dli_fname &&
				strstr(object.dli_fname, ".so") != NULL;
	if (!realpath(is_library ? object.dli_fname : "/proc/self/exe", home) ||
	    !(slash = strrchr(home, '/')))
		return false;
	*slash = '\0';
	return true;
}

bool tsr_find_beside(const char *file, const char *const *folders, int count, char path[PATH_MAX])
{
	char home[PATH_MAX];
	snprintf(path, PATH_MAX, "%s", file);
	if (!find_home(home))
		return false;
	for (int i = 0; i < count; i++) {
		char tried[PATH_MAX + 128];
		const int length =
			snprintf(tried, sizeof tried, "%s/%s/%s", home, folders[i], file);
		if (length >= PATH_MAX)
			continue;
		const bool found = access(tried, F_OK) == 0;
		if (found || i == INSTALLED)
			memcpy(path, tried, (size_t)length + 1);
		if (found)
			return true;
	}
	return false;
}
