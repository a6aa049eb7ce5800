/* Tables as CSV: a line for each row, and one with the names of columns. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json_rows.h"

/** Whether a value is written in one column. */
static bool is_plain(const json_t *value)
{
	const json_t *part;
	size_t i;

	if (json_is_object(value))
		return false;
	json_array_foreach(value, i, part)
	{
		if (json_is_object(part) || json_is_array(part))
			return false;
	}
	return true;
}

/** Adds what has a column of `object` to the flat `row`, each name behind `prefix`. */
static void flatten(const json_t *object, const char *prefix, const char *but, json_t *row)
{
	const char *key;
	json_t *value;
	char name[256];

	json_object_foreach((json_t *)object, key, value)
	{
		if (but && strcmp(key, but) == 0)
			continue;
		snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
		if (is_plain(value))
			(void)json_object_set(row, name, value);
		else if (json_is_object(value) && !*prefix)
			flatten(value, key, NULL, row);
	}
}

/** A value without quotes or commas. */
static void write_plain(const json_t *value, FILE *file)
{
	if (json_is_string(value))
		fputs(json_string_value(value), file);
	else if (!json_is_null(value))
		(void)json_dumpf(value, file, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
}

static void write_text(const json_t *value, FILE *file)
{
	const json_t *part;
	size_t i;

	if (!json_is_array(value))
		write_plain(value, file);
	json_array_foreach(value, i, part)
	{
		if (i)
			fputc(';', file);
		write_plain(part, file);
	}
}

/** Writes a field, in quotes where it holds what CSV would read as something else. */
static bool write_field(const json_t *value, bool first, FILE *file)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return false;
	write_text(value, memory);
	if (fclose(memory) != 0)
		return false;
	if (!first)
		fputc(',', file);
	const bool quoted = strpbrk(text, ",\"\r\n") != NULL;
	if (quoted)
		fputc('"', file);
	for (const char *at = text; *at; at++) {
		if (*at == '"')
			fputc('"', file);
		fputc(*at, file);
	}
	if (quoted)
		fputc('"', file);
	free(text);
	return true;
}

static bool write_table(const json_t *flat, const json_t *columns, FILE *file)
{
	const char *name;
	json_t *row, *ignored;
	bool good = true, first = true;
	size_t i;

	json_object_foreach((json_t *)columns, name, ignored)
	{
		json_t *head = json_string(name);
		good = good && write_field(head, first, file);
		first = false;
		json_decref(head);
	}
	fputc('\n', file);
	json_array_foreach(flat, i, row)
	{
		first = true;
		json_object_foreach((json_t *)columns, name, ignored)
		{
			good = good && write_field(json_object_get(row, name), first, file);
			first = false;
		}
		fputc('\n', file);
	}
	return good && !ferror(file);
}

int csv_rows_dump_file(const json_t *root, const char *rows, const char *path)
{
	const json_t *table = rows ? json_object_get(root, rows) : root;
	json_t *flat = json_array(), *columns = json_object();
	const json_t *row;
	size_t i;

	json_array_foreach(table, i, row)
	{
		json_t *line = json_object();
		if (rows)
			flatten(root, "", rows, line);
		flatten(row, "", NULL, line);
		(void)json_object_update(columns, line);
		(void)json_array_append_new(flat, line);
	}
	FILE *file = fopen(path, "w");
	bool good = file && write_table(flat, columns, file);
	good = file && fclose(file) == 0 && good;
	json_decref(flat);
	json_decref(columns);
	return good ? 0 : -1;
}
