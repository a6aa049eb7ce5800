/* Numbers as people write them: sizes, durations, whole numbers. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "src/base/error.h"
#include "src/base/settings/options.h"

typedef struct unit {
	const char *name;
	uint64_t factor;
} unit_t;

static const unit_t size_units[] = {
	{"", 1},
	{"K", (uint64_t)1 << 10},
	{"M", (uint64_t)1 << 20},
	{"G", (uint64_t)1 << 30},
	{"T", (uint64_t)1 << 40},
	{NULL, 0},
};

static const unit_t time_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60ull * 1000000000},
	{"h", 3600ull * 1000000000},
	{NULL, 0},
};

/**
 * Reads digits, and a fraction where they have one. Returns what follows, or
 * null where that is no number.
 */
static const char *scan_number(const char *text, uint64_t *whole_out, double *fraction_out)
{
	if (!isdigit((unsigned char)*text))
		return NULL;
	uint64_t whole = 0;
	for (; isdigit((unsigned char)*text); text++) {
		const uint64_t digit = (uint64_t)(*text - '0');
		if (whole > (UINT64_MAX - digit) / 10)
			return NULL;
		whole = whole * 10 + digit;
	}
	double fraction = 0, place = 0.1;
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return NULL;
		for (; isdigit((unsigned char)*text); text++, place /= 10)
			fraction += place * (*text - '0');
	}
	*whole_out = whole;
	*fraction_out = fraction;
	return text;
}

typedef enum scan { SCAN_OK, SCAN_NONE, SCAN_TOO_LARGE } scan_t;

/**
 * Number and unit. SCAN_NONE: it is none of `units`; a fraction needs a unit
 * that can be divided. SCAN_TOO_LARGE: it does not fit.
 */
static scan_t scan_scaled(const char *text, const unit_t *units, uint64_t *value_out)
{
	uint64_t whole;
	double fraction;
	const char *rest = scan_number(text, &whole, &fraction);
	if (rest == NULL)
		return SCAN_NONE;
	while (units->name != NULL && strcasecmp(units->name, rest) != 0)
		units++;
	if (units->name == NULL || (units->factor == 1 && fraction != 0))
		return SCAN_NONE;
	const uint64_t part = (uint64_t)(fraction * (double)units->factor + 1e-6);
	if (whole > (UINT64_MAX - part) / units->factor)
		return SCAN_TOO_LARGE;
	*value_out = whole * units->factor + part;
	return SCAN_OK;
}

static tsr_status_t too_large(const char *what, const char *text)
{
	return tsr_error(TSR_ERR_CONFIG, "%s is '%s', which does not fit 64 bits: write less", what,
			 text);
}

tsr_status_t tsr_parse_size(const char *what, const char *text, size_t *size_out)
{
	uint64_t value;
	const scan_t scan = scan_scaled(text, size_units, &value);
	if (scan == SCAN_NONE)
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is '%s', which is not a size: write a number of bytes, or one "
				 "with K, M, G or T, such as 256M",
				 what, text);
	if (scan == SCAN_TOO_LARGE || value > SIZE_MAX)
		return too_large(what, text);
	*size_out = (size_t)value;
	return TSR_OK;
}

tsr_status_t tsr_parse_duration(const char *what, const char *text, uint64_t *ns_out)
{
	uint64_t value;
	const scan_t scan = scan_scaled(text, time_units, &value);
	if (scan == SCAN_TOO_LARGE)
		return too_large(what, text);
	if (scan == SCAN_NONE)
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is '%s', which is not a duration: write a number with ns, us, "
				 "ms, s, m or h, such as 30s or 500ms",
				 what, text);
	*ns_out = value;
	return TSR_OK;
}

tsr_status_t tsr_parse_int(const char *what, const char *text, long low, long high, long *value_out)
{
	char *end;
	errno = 0;
	const long value = strtol(text, &end, 10);
	const bool number = (isdigit((unsigned char)*text) || *text == '-') && end != text &&
			    *end == '\0' && errno == 0;
	if (!number || value < low || value > high)
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is '%s'; it must be a whole number from %ld to %ld", what,
				 text, low, high);
	*value_out = value;
	return TSR_OK;
}

const char *tsr_size_text(size_t size_bytes, char *text, size_t text_bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	size_t unit = 1024, index = 0;

	for (; index < 3 && size_bytes / unit >= 1024; index++)
		unit *= 1024;
	const size_t whole = size_bytes / unit, rest = size_bytes % unit;
	if (size_bytes < unit || (size_bytes < 10000 && rest != 0 && rest * 10 % unit != 0))
		snprintf(text, text_bytes, "%zu byte%s", size_bytes, size_bytes == 1 ? "" : "s");
	else if (rest == 0)
		snprintf(text, text_bytes, "%zu %s", whole, units[index]);
	else if (rest * 10 % unit == 0)
		snprintf(text, text_bytes, "%zu.%zu %s", whole, rest * 10 / unit, units[index]);
	else
		snprintf(text, text_bytes, "%.1f %s (%zu bytes)", (double)size_bytes / (double)unit,
			 units[index], size_bytes);
	return text;
}
