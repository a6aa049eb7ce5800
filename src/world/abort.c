/* The end of a world, as its users see it: the sentence, and the wait records. */
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/sized.h"
#include "src/collectives/agree.h"
#include "src/world/stream.h"

tsr_status_t tsr_world_result(const tsr_world_t *world, tsr_status_t status)
{
	char why[512], apart[512];
	if (status == TSR_ERR_TIMEOUT) { /* the backend's sentence knows kernels, not calls */
		snprintf(why, sizeof why, "%s", tsr_last_error());
		if (*tsr_collective_apart(world, apart, sizeof apart) != '\0' &&
		    strstr(why, apart) == NULL)
			return tsr_error(status, "%s%s", why, apart);
	}
	if (status != TSR_ERR_ABORTED)
		return status;
	const tsr_status_t ended = tsr_boot_ended(world->boot);
	return ended != TSR_OK ? ended : status;
}

void tsr_abort(tsr_world_t *world, const char *sentence)
{
	if (world != NULL)
		tsr_boot_abort(world->boot, TSR_ERR_ABORTED,
			       sentence != NULL ? sentence
						: "the program ended the world (tsr_abort)");
}

tsr_status_t tsr_wait_record(const tsr_world_t *world, int index, tsr_wait_record_t *record_out)
{
	if (world == NULL || record_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_wait_record: world and record_out must not be null");
	tsr_wait_record_t record;
	const tsr_status_t status = tsr_boot_wait_record(world->boot, index, &record);
	return status == TSR_OK ? TSR_SIZED_GIVE(tsr_wait_record_t, waited_ns, record_out, &record)
				: status;
}
