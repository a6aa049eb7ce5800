/* Finding and loading the carrier, which is a plug-in. */
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/os/beside.h"
#include "src/net/state.h"

static const char file_name[] = "libtessera-net-ucx.so";

/**
 * Where the carrier may be, seen from the folder of this library, or of the
 * program that has it in itself: beside the command of a build, beside an
 * installed library, below the prefix of an installed command, and above the
 * other programs of a build.
 */
static const char *const folders[] = {
	"plugins",
	"tessera/plugins",
	"../lib/tessera/plugins",
	"../lib64/tessera/plugins",
#if defined __x86_64__
	"../lib/x86_64-linux-gnu/tessera/plugins",
#elif defined __aarch64__
	"../lib/aarch64-linux-gnu/tessera/plugins",
#endif
	"../plugins",
	"../../plugins",
	"../../../plugins",
};
enum { FOLDERS = sizeof folders / sizeof *folders };

static bool find_file(char path[PATH_MAX])
{
	return tsr_find_beside(file_name, folders, FOLDERS, path);
}

bool tsr_net_find_plugin(char *path_out, size_t bytes)
{
	char path[PATH_MAX];
	if (!find_file(path) || strlen(path) >= bytes)
		return false;
	memcpy(path_out, path, strlen(path) + 1);
	return true;
}

static tsr_status_t check(const tsr_carrier_t *carrier, const char *path)
{
	if (carrier == NULL)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "%s carries no messages for Tessera: it has no tsr_carrier_plugin",
				 path);
	if (carrier->abi != TSR_CARRIER_ABI || carrier->size != sizeof *carrier)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"%s is of another version (contract %u) than this library (contract "
			"%u): install both of one version",
			path, carrier->abi, TSR_CARRIER_ABI);
	return TSR_OK;
}

/**
 * Loads the plug-in, and UCX with it. UCX takes SIGHUP to print what it holds,
 * which is no use to who closes a terminal: the program's action stays, unless
 * UCX_DEBUG_SIGNO asks for one. It is never closed: UCX leaves threads and hooks
 * behind. A second call gets the same one.
 */
static void *open_quietly(const char *path)
{
	struct sigaction hangup;
	const bool keeps =
		getenv("UCX_DEBUG_SIGNO") == NULL && sigaction(SIGHUP, NULL, &hangup) == 0;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (keeps)
		(void)sigaction(SIGHUP, &hangup, NULL);
	return library;
}

tsr_status_t tsr_net_load(const char *plugin, const tsr_carrier_t **carrier_out)
{
	char path[PATH_MAX];
	if (plugin != NULL)
		snprintf(path, sizeof path, "%s", plugin);
	else if (!find_file(path))
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"a world over several nodes needs UCX: there is no %s; install "
			"libucx-dev (Debian) or ucx-devel (Fedora) and build Tessera again, or "
			"install Tessera's package tessera-net-ucx, or name the file by "
			"TESSERA_NET_PLUGIN",
			path);
	void *library = open_quietly(path);
	if (library == NULL)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"a world over several nodes needs UCX: %s; install libucx0 (Debian) "
			"or ucx (Fedora), or name the plug-in by TESSERA_NET_PLUGIN",
			dlerror());
	const tsr_carrier_t *carrier = (const tsr_carrier_t *)dlsym(library, "tsr_carrier_plugin");
	const tsr_status_t status = check(carrier, path);
	if (status == TSR_OK)
		*carrier_out = carrier;
	return status;
}

tsr_status_t tsr_net_about(const char *plugin, char text_out[TSR_NET_DESCRIPTION_BYTES])
{
	const tsr_carrier_t *carrier;
	const tsr_status_t status = tsr_net_load(plugin, &carrier);
	if (status == TSR_OK)
		carrier->about(text_out, TSR_NET_DESCRIPTION_BYTES);
	return status;
}
