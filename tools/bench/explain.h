/* What --explain prints and what --json has of it. */
#ifndef TESSERA_TOOLS_BENCH_EXPLAIN_H
#define TESSERA_TOOLS_BENCH_EXPLAIN_H

#include "kernels/choices/explain.h"
#include "tools/bench/bench.h"

/** Who has said what a parameter is. */
typedef enum bench_origin {
	BENCH_CHOSEN,  /* the workload */
	BENCH_GIVEN,   /* the command line */
	BENCH_TUNED,   /* --tune, now or earlier */
	BENCH_OF_TRIAL /* the workload, in the best trial of --tune */
} bench_origin_t;

bench_origin_t bench_origin(const bench_options_t *options, const bench_result_t *result,
			    int param);
const char *bench_origin_text(bench_origin_t origin);

/**
 * The value that ran. If the configuration leaves it to the plan, it is the
 * recorded one; `choice` may be null.
 */
workload_value_t bench_value_in_use(const bench_result_t *result, int param,
				    const explain_choice_t *choice);

/** A value of a parameter, or the name of a pattern, as it is typed. */
const char *bench_choice_text(const workload_t *workload, const char *param,
			      const workload_value_t *value, char text_out[BENCH_VALUE_TEXT]);

#endif
