/* libpmix.so.2, which is loaded only where a launcher speaks PMIx. */
#include <dlfcn.h>
#include <stdio.h>

#include "src/bootstrap/pmix/pmix.h"

bool tsr_pmix_load(tsr_pmix_calls_t *calls_out, char *why, size_t size)
{
	tsr_pmix_calls_t calls;
	const struct {
		const char *name;
		void *place;
	} entries[] = {
		{"PMIx_Init", &calls.init},
		{"PMIx_Finalize", &calls.finalize},
		{"PMIx_Get", &calls.get},
		{"PMIx_Put", &calls.put},
		{"PMIx_Commit", &calls.commit},
		{"PMIx_Fence", &calls.fence},
		{"PMIx_Error_string", &calls.error_string},
	};
	/* never closed: it leaves threads and hooks behind */
	void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (library == NULL) {
		(void)snprintf(why, size, "%s", dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		*(void **)entries[i].place = dlsym(library, entries[i].name);
		if (*(void **)entries[i].place == NULL) {
			(void)snprintf(why, size, "libpmix.so.2 has no %s", entries[i].name);
			return false;
		}
	}
	*calls_out = calls;
	return true;
}
