/* TSR_EACH: its passes are plain C, which takes no time here. */
#include "cpuemu/dev/internal.h"

int tsr_cpu_each_begin(tsr_coop_t *coop)
{
	return coop->index;
}

int tsr_cpu_each_end(tsr_coop_t *coop)
{
	(void)coop;
	return 0;
}
