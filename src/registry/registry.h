/* The backends that this library may contain. */
#ifndef TESSERA_REGISTRY_H
#define TESSERA_REGISTRY_H

#include "backend.h"

/**
 * Chooses the backend called `name`, or (null) the best one that has a device.
 * `why_out` is half a sentence for the log. A backend that is named is not
 * probed: opening its device reports what is missing, and a vendor's runtime
 * takes a second to start.
 * Errors:     TSR_ERR_NOT_FOUND (no such name; the sentence lists the names and
 *             the nearest), TSR_ERR_NO_DEVICE (not built in; or no name was
 *             given and there is no device).
 */
tsr_status_t tsr_backend_choose(const char *name, const tsr_backend_t **backend_out,
				const char **why_out);

/**
 * The `index`-th name that TESSERA_BACKEND may have, best first. Also writes
 * its backend, or null if this library was built without it. Null past the last
 * name.
 */
const char *tsr_backend_name_at(int index, const tsr_backend_t **backend_out);

#endif
