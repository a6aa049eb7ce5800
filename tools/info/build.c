/* tessera info: what this build is, and where it lies; the settings. */
#include <stdio.h>

#include "src/base/settings/options.h"
#include "tessera/version.h"
#include "tools/cc/toolkit.h"
#include "tools/document.h"
#include "tools/info/info.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

const char *info_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static void add(json_t *rows, const char *name, const char *value)
{
	(void)json_array_append_new(rows, json_pack("{s:s, s:s}", "name", name, "value", value));
}

json_t *info_build(bool *failed)
{
	json_t *rows = json_array();
	cc_place_t place;

	(void)failed;
	add(rows, "version", tsr_version_text());
	add(rows, "commit", tsr_build_commit);
	add(rows, "build", tsr_build_name);
	add(rows, "compiler", COMPILER);
	if (cc_place_look(&place)) {
		add(rows, "prefix", place.root);
		add(rows, "libraries", place.library);
	}
	return rows;
}

void info_print_build(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (i == 0)
			printf("build:\n");
		printf("  %-10s %s\n", info_text(row, "name"), info_text(row, "value"));
	}
}

json_t *info_settings(bool *failed)
{
	json_t *rows = json_array();
	tsr_setting_t setting;

	(void)failed;
	for (size_t i = 0; tsr_setting_at(i, &setting); i++)
		(void)json_array_append_new(rows,
					    json_pack("{s:s, s:s?, s:s?, s:b, s:s}", "name",
						      setting.name, "value", setting.value,
						      "default", setting.fallback, "set",
						      setting.set, "meaning", setting.meaning));
	return rows;
}

void info_print_settings(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *value = json_string_value(json_object_get(row, "value")),
			   *fallback = json_string_value(json_object_get(row, "default"));
		printf("%-31s %-10s (default: %s)\n    %s\n", info_text(row, "name"),
		       value ? value : "not set", fallback ? fallback : "not set",
		       info_text(row, "meaning"));
	}
}
