/*
 * Litmus tests under the exploring executor: what the two sides of its witness
 * know of each other.
 */
#ifndef TESSERA_TOOLS_LITMUS_EXPLORE_H
#define TESSERA_TOOLS_LITMUS_EXPLORE_H

#include "src/explore/wire/options.h"
#include "tools/litmus/plan.h"

extern const litmus_witness_t litmus_explore; /* all that memory may do */
/* the same with --weak off: its states are some of those */
extern const litmus_witness_t litmus_interleaved;

/**
 * In a process of its own: plays the test once in each schedule. The executor's
 * lines go to `options->report_fd`, and where a schedule has come to its end,
 * {"type":"state","values":[...]}, in the order of test->observed. Returns the
 * exit code.
 */
int litmus_explore_play(const litmus_plan_t *plan, const tsr_check_options_t *options);

#endif
