/* Schedules as text: "12:1+40:2". */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/explore/wire/options.h"

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a schedule; free some");
}

/** Digits, and what must follow them; returns what comes behind, or null. */
static const char *scan(const char *text, uint64_t most, uint64_t *value_out)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	const unsigned long long value = strtoull(text, &end, 10);
	if (errno != 0 || value > most)
		return NULL;
	*value_out = value;
	return end;
}

/** Reads into a script that has room; null where the text is none. */
static const char *scan_deviations(const char *text, tsr_check_script_t *script)
{
	for (;;) {
		uint64_t choice, alternative;
		text = scan(text, UINT64_MAX, &choice);
		if (text == NULL || *text != ':')
			return NULL;
		text = scan(text + 1, UINT32_MAX, &alternative);
		if (text == NULL ||
		    (script->count > 0 && choice <= script->at[script->count - 1].choice))
			return NULL;
		script->at[script->count++] = (tsr_check_deviation_t){
			.choice = choice, .alternative = (uint32_t)alternative};
		if (*text != '+')
			return text;
		text++;
	}
}

tsr_status_t tsr_check_script_parse(const char *what, const char *text,
				    tsr_check_script_t *script_out)
{
	static const char none[] = "default";
	tsr_check_script_t script = {.count = 0};
	size_t room = 1;
	for (const char *c = text; *c != '\0'; c++)
		room += *c == '+';
	script.at = malloc(room * sizeof *script.at);
	if (script.at == NULL)
		return no_memory();
	const char *end = text + strspn(text, " \t\r\n");
	if (strncmp(end, none, sizeof none - 1) == 0)
		end += sizeof none - 1;
	else
		end = scan_deviations(end, &script);
	if (end == NULL || end[strspn(end, " \t\r\n")] != '\0') {
		free(script.at);
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is '%.60s%s', which is not a schedule: write "
				 "choice:alternative by rising choice, such as "
				 "12:1+40:2, or default",
				 what, text, strlen(text) > 60 ? "..." : "");
	}
	*script_out = script;
	return TSR_OK;
}

tsr_status_t tsr_check_script_load(int fd, tsr_check_script_t *script_out)
{
	struct stat file;
	if (fstat(fd, &file) != 0)
		return tsr_error(TSR_ERR_SYSTEM, "the file of the schedule cannot be read: %s",
				 strerror(errno));
	const size_t size = (size_t)file.st_size;
	char *text = malloc(size + 1);
	if (text == NULL)
		return no_memory();
	size_t have = 0;
	ssize_t got = 1;
	while (have < size && got != 0) {
		got = pread(fd, text + have, size - have, (off_t)have);
		if (got < 0 && errno != EINTR) {
			free(text);
			return tsr_error(TSR_ERR_SYSTEM,
					 "the file of the schedule cannot be read: %s",
					 strerror(errno));
		}
		have += got > 0 ? (size_t)got : 0;
	}
	text[have] = '\0';
	const tsr_status_t status =
		tsr_check_script_parse("the file of the schedule", text, script_out);
	free(text);
	return status;
}

char *tsr_check_script_text(const tsr_check_script_t *script)
{
	enum { MOST = 20 + 1 + 10 + 1 }; /* digits of a choice, ':', of an alternative, '+' */
	char *text = malloc(script->count * MOST + sizeof "default"), *end = text;
	if (text == NULL)
		return NULL;
	if (script->count == 0)
		memcpy(text, "default", sizeof "default");
	for (size_t i = 0; i < script->count; i++)
		end += sprintf(end, "%s%" PRIu64 ":%" PRIu32, i > 0 ? "+" : "",
			       script->at[i].choice, script->at[i].alternative);
	return text;
}

tsr_status_t tsr_check_script_copy(const tsr_check_script_t *script, tsr_check_script_t *copy_out)
{
	tsr_check_script_t copy = {.count = script->count};
	if (script->count > 0) {
		copy.at = malloc(script->count * sizeof *copy.at);
		if (copy.at == NULL)
			return no_memory();
		memcpy(copy.at, script->at, script->count * sizeof *copy.at);
	}
	*copy_out = copy;
	return TSR_OK;
}

void tsr_check_script_clear(tsr_check_script_t *script)
{
	free(script->at);
	*script = (tsr_check_script_t){.count = 0};
}
