/*
 * Puts to all ranks. The emulator makes one copy after the other; a device reads
 * once, and its stores to all of them are under way at one time. The linker puts
 * each __wrap_X in the place of X (--wrap).
 */
#include "cpuemu/events.h"
#include "model/perf/sim/device/device.h"

void __real_tsr_put_all(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			size_t size_bytes);
void __wrap_tsr_put_all(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			size_t size_bytes);
void __real_tsr_put_all_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src);
void __wrap_tsr_put_all_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src);

static void make_copies(tsr_coop_t *coop, const sim_copies_t *copies)
{
	tsr_exploration_t *sim = tsr_cpu_exploration(coop);
	sim->running->copies = NULL;
	sim_copy_to_all(sim, copies);
	tsr_cpu_event_sent(coop);
}

void __wrap_tsr_put_all(tsr_coop_t *coop, TSR_HEAP void *dst, const TSR_HEAP void *src,
			size_t size_bytes)
{
	sim_copies_t copies = {0};
	tsr_cpu_exploration(coop)->running->copies = &copies;
	__real_tsr_put_all(coop, dst, src, size_bytes);
	make_copies(coop, &copies);
}

void __wrap_tsr_put_all_2d(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src)
{
	sim_copies_t copies = {0};
	sim_task_t *self = tsr_cpu_exploration(coop)->running;
	self->copies = &copies;
	self->copies_table = sim_is_table(src);
	__real_tsr_put_all_2d(coop, dst, src);
	self->copies_table = false;
	make_copies(coop, &copies);
}
