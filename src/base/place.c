/* Where the call of the host API that a thread is in stands in the program. */
#include "src/base/place.h"

#include "tessera/site.h"

static _Thread_local tsr_place_t here;

tsr_place_t *tsr_place_here(void)
{
	return &here;
}

void tsr_site_begin(const char *call, const char *file, int line)
{
	here = (tsr_place_t){call, file, line};
}

tsr_status_t tsr_site_end(tsr_status_t status)
{
	here = (tsr_place_t){.line = 0};
	return status;
}
