/* TESSERA_CHECK: its keys, read and written. */
#include "src/explore/wire/options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "tessera/types.h"

static const char *const strategies[] = {"random", "pct", "exhaustive", NULL};
static const char *const memories[] = {"off", "cache", "view", NULL};

const char *tsr_check_strategy_name(tsr_check_strategy_t strategy)
{
	return strategies[strategy];
}

const char *tsr_check_weak_name(tsr_check_weak_t weak)
{
	return memories[weak];
}

/** Which of `words` it is. */
static tsr_status_t parse_word(const char *what, const char *text, const char *const *words,
			       int *index_out)
{
	char all[128] = "";
	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0) {
			*index_out = i;
			return TSR_OK;
		}
		const size_t used = strlen(all);
		snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", words[i]);
	}
	const char *near = tsr_nearest_name(text, words);
	if (near != NULL)
		return tsr_error(TSR_ERR_CONFIG, "%s is '%s'; did you mean '%s'?", what, text,
				 near);
	return tsr_error(TSR_ERR_CONFIG, "%s is '%s'; it must be one of: %s", what, text, all);
}

tsr_status_t tsr_check_strategy_parse(const char *what, const char *text,
				      tsr_check_strategy_t *strategy_out)
{
	int index;
	const tsr_status_t status = parse_word(what, text, strategies, &index);
	if (status == TSR_OK)
		*strategy_out = (tsr_check_strategy_t)index;
	return status;
}

tsr_status_t tsr_check_weak_parse(const char *what, const char *text, tsr_check_weak_t *weak_out)
{
	int index;
	const tsr_status_t status = parse_word(what, text, memories, &index);
	if (status == TSR_OK)
		*weak_out = (tsr_check_weak_t)index;
	return status;
}

tsr_check_options_t tsr_check_options_default(void)
{
	return (tsr_check_options_t){.ranks = 1,
				     .strategy = TSR_CHECK_RANDOM,
				     .weak = TSR_CHECK_WEAK_VIEW,
				     .nodes = 1,
				     .seeds = 100,
				     .first = 1,
				     .stride = 1,
				     .preemptions = -1,
				     .depth = 3,
				     .reuse = true,
				     .report_fd = -1,
				     .script_fd = -1};
}

/* ---------------------------------------------------------------- the keys */

typedef enum key_type { KEY_INT, KEY_UINT64, KEY_BOOL, KEY_STRATEGY, KEY_WEAK } key_type_t;

typedef struct option_key {
	const char *name;
	key_type_t type;
	size_t offset;
	long low, high; /* of an int */
} option_key_t;

#define AT(field_) offsetof(tsr_check_options_t, field_)

static const option_key_t keys[] = {
	{"ranks", KEY_INT, AT(ranks), 1, TSR_MAX_RANKS},
	{"strategy", KEY_STRATEGY, AT(strategy), 0, 0},
	{"weak", KEY_WEAK, AT(weak), 0, 0},
	{"nodes", KEY_INT, AT(nodes), 1, TSR_MAX_RANKS},
	{"seeds", KEY_UINT64, AT(seeds), 0, 0},
	{"first", KEY_UINT64, AT(first), 0, 0},
	{"stride", KEY_UINT64, AT(stride), 0, 0},
	{"resident_blocks", KEY_INT, AT(resident_blocks), 0, 65536},
	{"preemptions", KEY_INT, AT(preemptions), -1, INT_MAX},
	{"depth", KEY_INT, AT(depth), 1, 64},
	{"steps", KEY_UINT64, AT(steps), 0, 0},
	{"quiet_ms", KEY_UINT64, AT(quiet_ms), 0, 0},
	{"reuse", KEY_BOOL, AT(reuse), 0, 1},
	{"trace", KEY_BOOL, AT(trace), 0, 1},
	{"whole", KEY_BOOL, AT(whole), 0, 1},
	{"parallel", KEY_BOOL, AT(parallel), 0, 1},
	{"report_fd", KEY_INT, AT(report_fd), -1, INT_MAX},
	{"script_fd", KEY_INT, AT(script_fd), -1, INT_MAX},
};
enum { KEYS = sizeof keys / sizeof *keys };

static tsr_status_t parse_uint64(const char *what, const char *text, uint64_t *value_out)
{
	char *end;
	errno = 0;
	const unsigned long long value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
		return tsr_error(TSR_ERR_CONFIG, "%s is '%s'; it must be a whole number from 0 on",
				 what, text);
	*value_out = value;
	return TSR_OK;
}

static tsr_status_t parse_key(const option_key_t *key, const char *text,
			      tsr_check_options_t *options)
{
	char what[64];
	void *field = (char *)options + key->offset;
	snprintf(what, sizeof what, TSR_CHECK_VARIABLE ": %s", key->name);
	if (key->type == KEY_UINT64)
		return parse_uint64(what, text, field);
	if (key->type == KEY_STRATEGY)
		return tsr_check_strategy_parse(what, text, field);
	if (key->type == KEY_WEAK)
		return tsr_check_weak_parse(what, text, field);
	long value;
	const tsr_status_t status = tsr_parse_int(what, text, key->low, key->high, &value);
	if (status == TSR_OK && key->type == KEY_BOOL)
		*(bool *)field = value != 0;
	else if (status == TSR_OK)
		*(int *)field = (int)value;
	return status;
}

/** One "name=value"; `version_out` is written by that of the version. */
static tsr_status_t parse_pair(char *pair, tsr_check_options_t *options, long *version_out)
{
	char *equals = strchr(pair, '=');
	if (equals == NULL)
		return tsr_error(TSR_ERR_CONFIG,
				 TSR_CHECK_VARIABLE " has '%s', which is not key=value", pair);
	*equals = '\0';
	if (strcmp(pair, "version") == 0)
		return tsr_parse_int(TSR_CHECK_VARIABLE ": version", equals + 1, 1, INT_MAX,
				     version_out);
	for (int i = 0; i < KEYS; i++)
		if (strcmp(keys[i].name, pair) == 0)
			return parse_key(&keys[i], equals + 1, options);
	return tsr_error(TSR_ERR_CONFIG,
			 TSR_CHECK_VARIABLE
			 " has an unknown key '%s': are command and program of one version?",
			 pair);
}

tsr_status_t tsr_check_options_parse(const char *text, tsr_check_options_t *options_out)
{
	tsr_check_options_t options = tsr_check_options_default();
	long version = 0;
	char *copy = strdup(text), *rest = copy;
	if (copy == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the value of " TSR_CHECK_VARIABLE
				 "; free some");
	tsr_status_t status = TSR_OK;
	for (char *pair; status == TSR_OK && (pair = strsep(&rest, ",")) != NULL;)
		status = parse_pair(pair, &options, &version);
	free(copy);
	if (status != TSR_OK)
		return status;
	if (version != TSR_CHECK_VERSION)
		return tsr_error(TSR_ERR_CONFIG,
				 TSR_CHECK_VARIABLE " has version %ld, and this program speaks %d: "
						    "build it with the library of the command",
				 version, TSR_CHECK_VERSION);
	if (options.report_fd < 0 || options.stride == 0)
		return tsr_error(
			TSR_ERR_CONFIG, TSR_CHECK_VARIABLE
			" needs report_fd, and a stride of 1 or more; tessera check sets it");
	if (options.nodes > 1 && options.weak != TSR_CHECK_WEAK_CACHE)
		return tsr_error(TSR_ERR_CONFIG,
				 TSR_CHECK_VARIABLE
				 " has %d nodes, which the memory %s does not show: set weak=cache",
				 options.nodes, tsr_check_weak_name(options.weak));
	*options_out = options;
	return TSR_OK;
}

tsr_status_t tsr_check_options_read(bool *checked_out, tsr_check_options_t *options_out)
{
	const char *text = getenv(TSR_CHECK_VARIABLE);
	const tsr_status_t status =
		text != NULL ? tsr_check_options_parse(text, options_out) : TSR_OK;
	if (status == TSR_OK)
		*checked_out = text != NULL;
	return status;
}

static int write_key(const option_key_t *key, const tsr_check_options_t *options, char *text,
		     size_t size)
{
	const void *field = (const char *)options + key->offset;
	switch (key->type) {
	case KEY_UINT64:
		return snprintf(text, size, ",%s=%" PRIu64, key->name, *(const uint64_t *)field);
	case KEY_BOOL:
		return snprintf(text, size, ",%s=%d", key->name, *(const bool *)field);
	case KEY_STRATEGY:
		return snprintf(text, size, ",%s=%s", key->name,
				strategies[*(const tsr_check_strategy_t *)field]);
	case KEY_WEAK:
		return snprintf(text, size, ",%s=%s", key->name,
				memories[*(const tsr_check_weak_t *)field]);
	case KEY_INT:
		break;
	}
	return snprintf(text, size, ",%s=%d", key->name, *(const int *)field);
}

int tsr_check_options_write(const tsr_check_options_t *options, char *text, size_t size)
{
	int length = snprintf(text, size, "version=%d", TSR_CHECK_VERSION);
	for (int i = 0; i < KEYS; i++) {
		const size_t used = (size_t)length < size ? (size_t)length : size;
		length += write_key(&keys[i], options, text + used, size - used);
	}
	return length;
}
