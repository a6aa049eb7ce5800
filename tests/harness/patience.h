/*
 * Deadlines that tests let expire. They are short, so that tests are quick. If
 * the machine was too busy for ranks to arrive in time, the test is repeated
 * with a longer deadline. A test must find what it looks for within one
 * deadline, so a bug shows within each.
 */
#ifndef TESSERA_PATIENCE_H
#define TESSERA_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/**
 * Whether the text reports a rank that did not arrive in time. `wanted` is the
 * sentence that the test is about (null: none).
 */
static inline bool tells_of_lateness(const char *text, const char *wanted)
{
	static const char *const signs[] = {" never arrived within ", " did not come to "};
	for (int i = 0; i < 2; i++)
		for (const char *at = text; (at = strstr(at, signs[i])) != NULL; at++) {
			const char *in_wanted = wanted ? strstr(wanted, signs[i]) : NULL;
			const size_t before = in_wanted ? (size_t)(in_wanted - wanted) : 0;
			if (!in_wanted || (size_t)(at - text) < before ||
			    strncmp(at - before, wanted, strlen(wanted)) != 0)
				return true;
		}
	return false;
}

/**
 * Makes a deadline longer, and prints that. Returns false if it is long enough
 * for any machine already.
 */
static inline bool be_more_patient(uint64_t *deadline_ns)
{
	if (*deadline_ns >= 60000000000u)
		return false;
	*deadline_ns *= 8;
	fprintf(stderr, "this machine was too busy: once more, with a deadline of %llu ms\n",
		(unsigned long long)(*deadline_ns / 1000000u));
	return true;
}

#endif
