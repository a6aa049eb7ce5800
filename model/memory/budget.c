#include "model/memory/budget.h"

#include "src/base/os/clock.h"
#include "tessera/program.h"

#define SECOND_NS UINT64_C(1000000000)

budget_t budget_begin(const litmus_test_t *test, const litmus_options_t *options)
{
	const uint64_t now = tsr_now_ns();

	return (budget_t){.test = test, .options = options, .began_ns = now, .told_ns = now};
}

bool budget_look(budget_t *budget)
{
	const litmus_options_t *options = budget->options;
	const uint64_t now = tsr_now_ns();

	if (options->progress && now - budget->told_ns >= SECOND_NS) {
		budget->told_ns = now;
		options->progress(options->progress_context, budget->test, now - budget->began_ns);
	}
	budget->spent =
		budget->spent || (options->limit_ns && now - budget->began_ns >= options->limit_ns);
	return budget->spent;
}

tsr_status_t budget_give_up(const budget_t *budget)
{
	return tsr_error(TSR_ERR_TIMEOUT,
			 "%s: given up after %.1f s (limit %g s; --limit raises it)",
			 budget->test->name, (double)(tsr_now_ns() - budget->began_ns) * 1e-9,
			 (double)budget->options->limit_ns * 1e-9);
}
