/* The file of a machine: what was measured, and the rest of the nearest kind. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "tools/calibrate/calibrate.h"
#include "tools/document.h"

static void date_of_today(char text[16])
{
	const time_t now = time(NULL);
	struct tm today;
	if (!localtime_r(&now, &today) || strftime(text, 16, "%Y-%m-%d", &today) == 0)
		text[0] = '\0';
}

/** Whole numbers without a point. */
static json_t *json_of(double value)
{
	return value == (double)(json_int_t)value ? json_integer((json_int_t)value)
						  : json_real(value);
}

static json_t *measured(const calibration_t *c, calibrate_figure_t figure)
{
	char source[2 * CALIBRATE_TEXT], date[16];
	date_of_today(date);
	(void)snprintf(source, sizeof source, "tessera calibrate, %d of %s: %s", c->ranks,
		       c->device[0] ? c->device : "a device", c->found[figure].what);
	return json_pack("{s:o, s:s, s:s, s:s, s:s}", "value", json_of(c->found[figure].value),
			 "unit", calibrate_unit(figure), "from", "measured", "source", source,
			 "date", date);
}

/** As the file of --base has it, or the nearest kind. */
static json_t *taken(const calibration_t *c, calibrate_figure_t figure)
{
	json_t *told = json_object_get(json_object_get(c->base, "figures"), calibrate_name(figure));
	const double value = calibrate_value(c, figure);
	char source[CALIBRATE_TEXT];
	if (told)
		return json_incref(told);
	if (!(value > 0))
		return json_pack("{s:n, s:s, s:s}", "value", "unit", calibrate_unit(figure), "from",
				 "not known");
	(void)snprintf(source, sizeof source, "as on %s", c->kind->name);
	return json_pack("{s:o, s:s, s:s, s:s}", "value", json_of(value), "unit",
			 calibrate_unit(figure), "from", "assumed", "source", source);
}

static void print_figure(FILE *file, const calibration_t *c, calibrate_figure_t figure)
{
	json_t *told = c->found[figure].is_found ? measured(c, figure) : taken(c, figure);
	char *text = json_dumps(told, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
	(void)fprintf(file, "  \"%s\": %s%s\n", calibrate_name(figure), text ? text : "null",
		      figure + 1 < CALIBRATE_FIGURES ? "," : "");
	free(text);
	json_decref(told);
}

/** Who the machine is. With --base as that file says, but for the name. */
static json_t *head_of(const calibration_t *c, const char *name)
{
	const char *device = c->device[0] ? c->device : name;
	json_t *head = json_pack("{s:s, s:s, s:s, s:[s], s:b}", "name", name, "what", device,
				 "backend", c->kind->backend, "devices", device, "is_default", 0);
	static const char *const kept[] = {"what", "backend", "devices", "is_default"};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		json_t *value = json_object_get(c->base, kept[i]);
		if (value)
			(void)json_object_set(head, kept[i], value);
	}
	json_t *document = json_document("tessera-machine/1", head);
	json_decref(head);
	return document;
}

static void print_head(FILE *file, const calibration_t *c, const char *name)
{
	json_t *head = head_of(c, name), *value;
	const char *key;
	json_object_foreach(head, key, value)
	{
		char *text = json_dumps(value, JSON_ENCODE_ANY);
		(void)fprintf(file, " \"%s\": %s,\n", key, text ? text : "null");
		free(text);
	}
	json_decref(head);
}

bool calibrate_write(const calibration_t *c, const char *name, const char *path)
{
	FILE *file = fopen(path, "w");
	if (!file)
		return false;
	(void)fprintf(file, "{\n");
	print_head(file, c, name);
	(void)fprintf(file, " \"figures\": {\n");
	for (int i = 0; i < CALIBRATE_FIGURES; i++)
		print_figure(file, c, (calibrate_figure_t)i);
	(void)fprintf(file, " }\n}\n");
	const bool good = !ferror(file);
	return fclose(file) == 0 && good;
}
