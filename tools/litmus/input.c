/* Where litmus tests come from: files, folders, oracles; and tables of what they must show. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/input.h"
#include "tools/litmus/suite.h"

enum { LARGEST_TEST = 1 << 20 };

static bool complain(const char *path, const char *what)
{
	fprintf(stderr, "tessera litmus: %s: %s\n", path, what);
	return false;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text);
	return length > strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static bool visit_file(const char *path, suite_fn visit, void *context)
{
	FILE *file = tool_fopen_input(path);
	char *text = malloc(LARGEST_TEST + 1);
	bool fine = file && text;

	if (!fine) {
		complain(path, strerror(errno));
	} else {
		size_t length = fread(text, 1, LARGEST_TEST + 1, file);
		if (ferror(file) || length > LARGEST_TEST) {
			fine = complain(path, ferror(file) ? strerror(errno)
							   : "longer than any litmus test; an "
							     "oracle's name ends in .jsonl");
		} else {
			text[length] = '\0';
			visit(&(suite_case_t){.source = path, .text = text}, context);
		}
	}
	if (file)
		fclose(file);
	free(text);
	return fine;
}

/** One line of an oracle. */
static bool visit_line(const char *path, int number, const char *line, size_t length,
		       suite_fn visit, void *context)
{
	char source[512];
	json_error_t error;
	json_t *object = json_loadb(line, length, 0, &error);
	json_t *litmus = json_object_get(object, "litmus");
	bool answered = json_object_get(object, "outcomes") || json_object_get(object, "races");

	if (!json_is_string(litmus)) {
		snprintf(source, sizeof source, "%s:%d:%d", path, number,
			 object ? 1 : error.column);
		complain(source, object ? "an oracle's line is an object whose \"litmus\" is a test"
					: error.text);
		json_decref(object);
		return false;
	}
	snprintf(source, sizeof source, "%s:%d", path, number);
	visit(&(suite_case_t){.source = source,
			      .name = json_string_value(json_object_get(object, "name")),
			      .text = json_string_value(litmus),
			      .answer = answered ? object : NULL},
	      context);
	json_decref(object);
	return true;
}

static bool visit_oracle(const char *path, suite_fn visit, void *context)
{
	FILE *file = tool_fopen_input(path);
	char *line = NULL;
	size_t room = 0;
	bool fine = true;

	if (!file)
		return complain(path, strerror(errno));
	ssize_t length;
	for (int number = 1; (length = getline(&line, &room, file)) >= 0; number++) {
		if (strspn(line, " \t\r\n") < (size_t)length)
			fine &= visit_line(path, number, line, (size_t)length, visit, context);
	}
	if (ferror(file))
		fine = complain(path, strerror(errno));
	free(line);
	fclose(file);
	return fine;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/** *tests_inout counts the tests that were found. */
static bool visit_folder(const char *path, suite_fn visit, void *context, int *tests_inout)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_visible, alphasort);
	bool fine = true;

	if (count < 0)
		return complain(path, strerror(errno));
	for (int i = 0; i < count; i++) {
		char *inner;
		struct stat about;
		if (asprintf(&inner, "%s/%s", path, entries[i]->d_name) < 0) {
			fine = complain(path, "no memory");
		} else {
			if (lstat(inner, &about) == 0 && S_ISDIR(about.st_mode)) {
				fine &= visit_folder(inner, visit, context, tests_inout);
			} else if (ends_in(inner, ".litmus")) {
				++*tests_inout;
				fine &= visit_file(inner, visit, context);
			}
			free(inner);
		}
		free(entries[i]);
	}
	free(entries);
	return fine;
}

bool suite_visit(const char *path, suite_fn visit, void *context)
{
	struct stat about;
	int tests = 0;

	if (stat(path, &about) != 0)
		return complain(path, strerror(errno));
	if (S_ISDIR(about.st_mode)) {
		bool fine = visit_folder(path, visit, context, &tests);
		return tests > 0 || !fine ? fine : complain(path, "no file here ends in .litmus");
	}
	return ends_in(path, ".jsonl") ? visit_oracle(path, visit, context)
				       : visit_file(path, visit, context);
}

/** "datarace+scoperace" as an array. */
static json_t *read_races(char *text)
{
	json_t *races = json_array();
	char *rest = NULL;

	for (char *race = strtok_r(text, "+", &rest); race; race = strtok_r(NULL, "+", &rest)) {
		if (strcmp(race, "-") != 0)
			json_array_append_new(races, json_string(race));
	}
	return races;
}

json_t *suite_read_table(const char *path)
{
	FILE *file = tool_fopen_input(path);
	json_t *table = json_object();
	char *line = NULL;
	size_t room = 0;
	bool fine = file != NULL;

	if (!fine)
		complain(path, strerror(errno));
	for (int number = 1; fine && getline(&line, &room, file) >= 0; number++) {
		char *rest = NULL, *name = strtok_r(line, ",\r\n", &rest),
		     *verdict = strtok_r(NULL, ",\r\n", &rest);
		char *races = strtok_r(NULL, ",\r\n", &rest);
		if (!name || (number == 1 && strcmp(name, "test") == 0))
			continue;
		fine = races &&
		       (strcmp(verdict, "Allowed") == 0 || strcmp(verdict, "Forbidden") == 0);
		if (!fine)
			fprintf(stderr,
				"tessera litmus: %s:%d: expected 'test,Allowed|Forbidden,races'\n",
				path, number);
		else
			json_object_set_new(table, name,
					    json_pack("{s:s, s:o}", "verdict", verdict, "races",
						      read_races(races)));
	}
	if (fine && ferror(file))
		fine = complain(path, strerror(errno));
	if (file)
		fclose(file);
	free(line);
	if (!fine) {
		json_decref(table);
		return NULL;
	}
	return table;
}
