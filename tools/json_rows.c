/* JSON files with a line for each row of measurements. */
#include <stdbool.h>
#include <stdio.h>

#include "tools/json_rows.h"

enum { ROW_LEVELS = 2 };

/** True if `value` is one line: it nests at most `levels` deep, and no array in it has objects. */
static bool fits(const json_t *value, int levels)
{
	const char *key;
	json_t *member;
	size_t i;
	if (!json_is_array(value) && !json_is_object(value))
		return true;
	if (levels == 0)
		return false;
	json_array_foreach(value, i, member) if (json_is_object(member) ||
						 !fits(member, levels - 1)) return false;
	json_object_foreach((json_t *)value, key,
			    member) if (!fits(member, levels - 1)) return false;
	return true;
}

static bool write_value(const json_t *value, FILE *file, size_t flags, int indent);

/** Begins a member's line, after the line before it has got its comma. */
static bool begin_line(FILE *file, bool first, int indent)
{
	return fprintf(file, "%s\n%*s", first ? "" : ",", indent, "") > 0;
}

static bool write_object(const json_t *object, FILE *file, size_t flags, int indent)
{
	const char *key;
	json_t *member;
	bool good = fputc('{', file) != EOF, first = true;
	json_object_foreach((json_t *)object, key, member)
	{
		json_t *name = json_string(key);
		good = good && begin_line(file, first, indent + 1);
		good = good && json_dumpf(name, file, flags | JSON_ENCODE_ANY) == 0 &&
		       fputs(": ", file) != EOF;
		good = good && write_value(member, file, flags, indent + 1);
		first = false;
		json_decref(name);
	}
	return good && fprintf(file, "\n%*s}", indent, "") > 0;
}

static bool write_array(const json_t *array, FILE *file, size_t flags, int indent)
{
	json_t *member;
	size_t i;
	bool good = fputc('[', file) != EOF;
	json_array_foreach(array, i, member) good = good && begin_line(file, i == 0, indent + 1) &&
						    write_value(member, file, flags, indent + 1);
	return good && fprintf(file, "\n%*s]", indent, "") > 0;
}

static bool write_value(const json_t *value, FILE *file, size_t flags, int indent)
{
	if (fits(value, ROW_LEVELS))
		return json_dumpf(value, file, flags | JSON_ENCODE_ANY) == 0;
	return json_is_array(value) ? write_array(value, file, flags, indent)
				    : write_object(value, file, flags, indent);
}

int json_rows_dump_file(const json_t *root, const char *path, size_t flags)
{
	FILE *file = fopen(path, "w");
	if (!file)
		return -1;
	const bool good = write_value(root, file, flags, 0) && fputc('\n', file) != EOF;
	return fclose(file) == 0 && good ? 0 : -1;
}
