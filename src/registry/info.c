/*
 * The public view of the registry: for `tessera info`, and for programs that
 * choose for themselves.
 */
#include <stdio.h>

#include "src/base/error.h"
#include "src/base/settings/options.h"
#include "src/base/sized.h"
#include "src/registry/registry.h"
#include "tessera/backends.h"

tsr_status_t tsr_backend_at(int index, tsr_backend_info_t *info_out)
{
	const tsr_backend_t *backend;
	const char *name = tsr_backend_name_at(index, &backend), *why;

	if (info_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_backend_at: info_out must not be null");
	if (name == NULL)
		return tsr_error(
			TSR_ERR_NOT_FOUND,
			"there is no backend number %d: they are numbered from 0 on without a gap",
			index);

	tsr_backend_info_t info = {.name = name};
	if (tsr_backend_choose(name, &backend, &why) != TSR_OK ||
	    backend->device->probe(&info.devices) != TSR_OK) {
		info.devices = 0;
		snprintf(info.reason, sizeof info.reason, "%s", tsr_last_error());
	}
	return TSR_SIZED_GIVE(tsr_backend_info_t, reason, info_out, &info);
}

void tsr_environment_print(FILE *out)
{
	tsr_options_print(out);
}
