/*
 * The environment: settings, and what launchers say. Whatever stands there, it
 * is read or refused with a sentence.
 */
#include "src/base/settings/options.h"
#include "src/bootstrap/bootstrap.h"
#include "tests/fuzz/fuzz.h"

extern char **environ;

enum { MOST = 64 };

static void check_job(const tsr_job_t *job)
{
	FUZZ_CHECK(job->size >= 1 && job->size <= TSR_MAX_RANKS, "a job of %d ranks", job->size);
	FUZZ_CHECK(job->rank >= 0 && job->rank < job->size, "rank %d of %d", job->rank, job->size);
	FUZZ_CHECK(memchr(job->name, '\0', sizeof job->name) != NULL, "the job's name has no end");
	FUZZ_CHECK(job->launcher != NULL, "nobody has launched it");
}

static void check_options(const tsr_options_t *options)
{
	FUZZ_CHECK(options->rank >= -1 && options->rank < TSR_MAX_RANKS &&
			   options->size <= TSR_MAX_RANKS,
		   "rank %d of %d", options->rank, options->size);
	FUZZ_CHECK(options->heap_bytes >= 4096 && options->deadline_ns >= 1000000,
		   "a heap of %zu bytes, a deadline of %llu ns", options->heap_bytes,
		   (unsigned long long)options->deadline_ns);
}

/** An input is the variables, a line each. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *variables[MOST + 1] = {NULL}, **before = environ;
	int count = 0;
	for (char *line = strtok(text, "\n"); line != NULL && count < MOST;
	     line = strtok(NULL, "\n"))
		variables[count++] = line;
	environ = variables;
	tsr_options_t options;
	tsr_job_t job;
	memset(&options, 0xa5, sizeof options);
	memset(&job, 0xa5, sizeof job);
	if (tsr_options_read(&options) == TSR_OK)
		check_options(&options);
	else
		FUZZ_CHECK(tsr_last_error()[0] != '\0', "it was refused, but nobody said why");
	if (tsr_job_detect(&job) == TSR_OK)
		check_job(&job);
	environ = before;
	free(text);
	return 0;
}
