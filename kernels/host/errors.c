#include "kernels/host/errors.h"

#include <stdio.h>

kept_error_t error_keep(tsr_status_t status)
{
	kept_error_t kept = {.status = status};
	(void)snprintf(kept.sentence, sizeof kept.sentence, "%s", tsr_last_error());
	return kept;
}

tsr_status_t error_again(const kept_error_t *kept)
{
	return tsr_error(kept->status, "%s", kept->sentence);
}
