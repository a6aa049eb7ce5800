/*
 * What a plug-in of a GPU's backend shows to the library: nothing else in it is
 * visible. The build says which backend it is.
 */
#include "backend.h"
#include "tessera/version.h"
#include "tessera/visibility.h"

#define TEXT_OF(number_) #number_
#define TEXT(number_) TEXT_OF(number_)

TSR_API extern const tsr_plugin_t tsr_backend_plugin;

const tsr_plugin_t tsr_backend_plugin = {
	.abi = TSR_BACKEND_ABI,
	.version = TEXT(TSR_VERSION_MAJOR) "." TEXT(TSR_VERSION_MINOR) "." TEXT(TSR_VERSION_PATCH),
	.backend = &TSR_PLUGIN_BACKEND,
};
