/*
 * Clears the environment of TESSERA_* and launchers' variables, for tests about
 * the environment.
 */
#ifndef TESSERA_CLEAN_ENVIRONMENT_H
#define TESSERA_CLEAN_ENVIRONMENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static inline void clean_environment(void)
{
	static const char *const prefixes[] = {
		"TESSERA_",    "OMPI_",  "PMI",     "MPI_LOCAL",     "SLURM_",     "RANK=",
		"WORLD_SIZE=", "LOCAL_", "MASTER_", "TORCHELASTIC_", "GROUP_RANK="};
	for (char **entry = environ; *entry != NULL;) {
		char name[256];
		int ours = 0;
		for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
			ours |= strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
		if (!ours || unsetenv(name) != 0)
			entry++;
	}
}

/** Sets the variables of "NAME=value NAME=value". */
static inline void set_environment(const char *assignments)
{
	char copy[1024];
	snprintf(copy, sizeof copy, "%s", assignments);
	for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
		char *value = strchr(word, '=');
		*value = '\0';
		setenv(word, value + 1, 1);
	}
}

#endif
