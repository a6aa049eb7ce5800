/*
 * Runs every input of a target's corpus, without a fuzzer: what was found once
 * stays found. Called as ci/run-tests calls programs.
 */
#include <dirent.h>

#include "tests/fuzz/fuzz.h"

enum { PATH_BYTES = 4096, LARGEST_INPUT = 1 << 20 };

static FILE *report; /* in TAP */

/** An input is announced before it runs, so that a crash names it. */
static void replay(const char *folder, const char *name)
{
	char path[PATH_BYTES];
	uint8_t *input = malloc(LARGEST_INPUT);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "rb");
	FUZZ_CHECK(input != NULL && file != NULL, "cannot read %s", path);
	const size_t size = fread(input, 1, LARGEST_INPUT, file);
	fclose(file);
	/* so that a sanitizer sees what is read behind it */
	uint8_t *exact = malloc(size + (size == 0));
	FUZZ_CHECK(exact != NULL, "no memory");
	memcpy(exact, input, size);
	free(input);
	fprintf(stderr, "# %s\n", path);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	fprintf(report, "ok - %s\n", path);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/** In order of names, so that a run is like the next. */
static int replay_folder(const char *path)
{
	char *names[4096];
	int count = 0;
	DIR *folder = opendir(path);
	for (struct dirent *entry;
	     folder != NULL && (entry = readdir(folder)) != NULL && count < 4096;)
		if (entry->d_name[0] != '.')
			names[count++] = strdup(entry->d_name);
	if (folder != NULL)
		closedir(folder);
	qsort(names, (size_t)count, sizeof *names, compare);
	for (int i = 0; i < count; i++) {
		replay(path, names[i]);
		free(names[i]);
	}
	return count;
}

/** Arguments: --tap=FILE, then folders; without any the target's own, tests/fuzz/corpus/NAME. */
int main(int argc, char **argv)
{
	char own[PATH_BYTES];
	const char *slash = strrchr(argv[0], '/');
	int first = 1, inputs = 0;
	report = stdout;
	if (argc > first && strncmp(argv[first], "--tap=", 6) == 0)
		report = fopen(argv[first++] + 6, "w");
	FUZZ_CHECK(report != NULL, "cannot write the report");
	snprintf(own, sizeof own, "tests/fuzz/corpus/%s", slash != NULL ? slash + 1 : argv[0]);
	if (argc == first)
		inputs = replay_folder(own);
	for (int i = first; i < argc; i++)
		inputs += replay_folder(argv[i]);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	fprintf(report, "%s - %d inputs\n", inputs > 0 ? "ok" : "not ok", inputs);
	return fclose(report) != 0 || inputs == 0;
}
