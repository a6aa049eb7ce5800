/* TSR_EACH: its passes are plain C, which takes no time here. */
#include <limits.h>

#include "cpuemu/dev/internal.h"

int tsr_cpu_each_step(tsr_coop_t *coop, int count)
{
	(void)count;
	return coop->count;
}

int tsr_cpu_each_next(tsr_coop_t *coop)
{
	(void)coop;
	return INT_MAX; /* the step is never 0 */
}

int tsr_cpu_each_begin(tsr_coop_t *coop)
{
	return coop->index;
}

int tsr_cpu_each_end(tsr_coop_t *coop)
{
	(void)coop;
	return 0;
}
