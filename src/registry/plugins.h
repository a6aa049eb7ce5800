/*
 * Backends of the shared library that are in libraries of their own. The
 * archive has all of its backends in itself, and loads none.
 */
#ifndef TESSERA_REGISTRY_PLUGINS_H
#define TESSERA_REGISTRY_PLUGINS_H

#include "backend.h"

/**
 * Loads the plug-in of a backend: libtessera-NAME.so in the folder
 * tessera/plugins beside libtessera.so, where an installation has it, or in the
 * folder plugins there, where a build has it. It stays loaded.
 * Errors:     TSR_ERR_NO_DEVICE (there is none; the sentence says where it was
 *             looked for), TSR_ERR_UNSUPPORTED (what is there cannot be loaded,
 *             is no plug-in of this backend, or is one of another version).
 */
tsr_status_t tsr_plugin_load(const char *name, const tsr_backend_t **backend_out);

#endif
