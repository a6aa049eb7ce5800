#include "tools/cc/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/device_half/device_half.h"
#include "tools/usage.h"

enum { MOST_FOLDERS = 128, PATH_ROOM = 160 };

/** Flags whose value, the next word, goes with them. */
static bool is_in_two_words(const char *flag)
{
	return !flag[2] || strcmp(flag, "-isystem") == 0 || strcmp(flag, "-include") == 0;
}

/** Flags that say what the source is, rather than how the C compiler works. */
static bool is_for_devices(const char *flag)
{
	return flag[0] == '-' && (flag[1] == 'D' || flag[1] == 'U' || flag[1] == 'I' ||
				  strcmp(flag, "-isystem") == 0 || strcmp(flag, "-include") == 0);
}

static void add_flags(const cc_device_t *device, cc_words_t *words)
{
	for (int i = 0; i < device->flag_count; i++) {
		if (!is_for_devices(device->flags[i]))
			continue;
		cc_words_add(words, "%s", device->flags[i]);
		if (is_in_two_words(device->flags[i]) && i + 1 < device->flag_count)
			cc_words_add(words, "%s", device->flags[++i]);
	}
}

/** The folders of the user's own headers. */
static int list_folders(const cc_device_t *device, const char *folders[MOST_FOLDERS])
{
	int count = 0;

	for (int i = 0; i < device->flag_count && count < MOST_FOLDERS; i++) {
		if (strncmp(device->flags[i], "-I", 2) != 0)
			continue;
		if (device->flags[i][2])
			folders[count++] = device->flags[i] + 2;
		else if (i + 1 < device->flag_count)
			folders[count++] = device->flags[++i];
	}
	return count;
}

bool cc_device_write_half(const cc_device_t *device, FILE *out, const char **why_out)
{
	const char *folders[MOST_FOLDERS];

	return device_half_write(device->source, folders, list_folders(device, folders), out,
				 why_out);
}

void cc_device_show_half(const cc_device_t *device)
{
	cc_words_t words = {.count = 0};
	char self[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof self);

	cc_words_add(&words, "%.*s", length > 0 ? (int)length : 7, length > 0 ? self : "tessera");
	cc_words_add(&words, "cc");
	cc_words_add(&words, "--device-half");
	add_flags(device, &words);
	cc_words_add(&words, "%s", device->source);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", device->half);
	(void)cc_run(&words, 0, CC_SHOW);
	cc_words_clear(&words);
}

/**
 * Writes the half to its file. A source that does not come apart is no error:
 * the compiler is given all of it.
 */
static bool write_half(const cc_device_t *device)
{
	const char *why = NULL;
	FILE *out = fopen(device->half, "w");

	if (!out)
		return false;
	bool written = cc_device_write_half(device, out, &why);
	if (!written && device->say == CC_SAY)
		fprintf(stderr, "tessera cc: device compilers read all of %s: %s\n", device->source,
			why);
	written = written && !ferror(out);
	return fclose(out) == 0 && written;
}

/**
 * Compiles `file`, which is all or half of the source; what the compiler says
 * goes to the file `messages`.
 */
static int compile(const cc_device_t *device, const cc_toolkit_t *toolkit, const char *file,
		   const char *image, const char *messages)
{
	cc_words_t words = {.count = 0};

	cc_toolkit_compile(toolkit, &words);
	cc_words_add_string(&words, "TSR_UNIT", device->unit);
	if (device->define)
		cc_words_add(&words, "-D%s", device->define);
	add_flags(device, &words);
	cc_place_add_includes(device->place, &words);
	cc_words_add(&words, "%s", file);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", image);
	int code = cc_run_into(&words, device->group, device->say, messages);
	cc_words_clear(&words);
	return code;
}

static void print_messages(const char *path)
{
	FILE *file = fopen(path, "r");
	char part[4096];

	for (size_t got = 1; file && (got = fread(part, 1, sizeof part, file)) > 0;)
		fwrite(part, 1, got, stderr);
	if (file)
		fclose(file);
}

static void explain(const cc_device_t *device, const cc_toolkit_t *toolkit)
{
	fprintf(stderr,
		"tessera cc: %s: device code for %s (%s) does not compile. Device compilers read "
		"kernels, TSR_FN functions and "
		"what these "
		"name as C++17: mark functions that kernels call TSR_FN; there cast void pointers, "
		"keep designators in order, name "
		"nothing "
		"'new' or 'class'. %s says:\n",
		device->source, toolkit->backend, toolkit->arch, toolkit->compiler);
}

int cc_device_compile(const cc_device_t *device, const cc_toolkit_t *toolkit, const char *image)
{
	char messages[2][PATH_ROOM];
	const char *files[2] = {device->cxx ? device->source : device->half,
				device->cxx ? device->half : device->source};
	int code = TOOL_FAILED, first = 0, told = 0;

	if (device->say == CC_SHOW)
		return compile(device, toolkit, files[0], image, NULL);
	if (!write_half(device)) { /* the whole alone */
		files[0] = files[1] = device->source;
		first = 1;
	}
	for (int i = first; i < 2 && code; i++) {
		snprintf(messages[i], sizeof messages[i], "%s/messages-%d", device->temp, i);
		code = compile(device, toolkit, files[i], image, messages[i]);
		told = i;
	}
	if (code)
		explain(device, toolkit);
	print_messages(messages[code ? first : told]);
	return code;
}
