/* Loading the libraries of backends. */
#include "src/registry/plugins.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/os/beside.h"
#include "tessera/version.h"

/** Behind the folder of this library: where a build has plug-ins, and where an installation has. */
static const char *const folders[] = {"plugins", "tessera/plugins"};
enum { FOLDERS = sizeof folders / sizeof *folders };

static bool find_file(const char *name, char path[PATH_MAX])
{
	char file[64];
	snprintf(file, sizeof file, "libtessera-%.40s.so", name);
	return tsr_find_beside(file, folders, FOLDERS, path);
}

static tsr_status_t check(const tsr_plugin_t *plugin, const char *name, const char *path)
{
	if (!plugin)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"%s is no plug-in of Tessera: it has no tsr_backend_plugin; install "
			"the one of version %s",
			path, tsr_version_text());
	if (plugin->abi != TSR_BACKEND_ABI || strcmp(plugin->version, tsr_version_text()) != 0)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "the plug-in %s is of another version (%s, contract %u) than this "
				 "library (%s, contract %u): install both of one version",
				 path, plugin->abi == TSR_BACKEND_ABI ? plugin->version : "unknown",
				 plugin->abi, tsr_version_text(), TSR_BACKEND_ABI);
	if (strcmp(plugin->backend->name, name) != 0)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"the plug-in %s holds the backend '%s': give the file its own name "
			"back",
			path, plugin->backend->name);
	return TSR_OK;
}

tsr_status_t tsr_plugin_load(const char *name, const tsr_backend_t **backend_out)
{
	char path[PATH_MAX];
	if (!find_file(name, path))
		return tsr_error(
			TSR_ERR_NO_DEVICE,
			"the backend '%s' is a plug-in, and there is no %s: install it, or "
			"use TESSERA_BACKEND=cpuemu",
			name, path);
	/* Not closed: a program's worlds come and go, and the vendor's runtime stays. A second
	 * call gets the same one. */
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "the plug-in of the backend '%s' cannot be loaded: %s; install it "
				 "anew, for this machine and version %s",
				 name, dlerror(), tsr_version_text());
	const tsr_plugin_t *plugin = (const tsr_plugin_t *)dlsym(library, "tsr_backend_plugin");
	const tsr_status_t status = check(plugin, name, path);
	if (status != TSR_OK)
		(void)dlclose(library);
	else
		*backend_out = plugin->backend;
	return status;
}
