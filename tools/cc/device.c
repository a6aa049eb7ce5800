#include "tools/cc/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/device_half/device_half.h"
#include "tools/usage.h"

enum { MOST_FOLDERS = 128, PATH_ROOM = 160 };

/** Flags that say what the source is, rather than how the C compiler works. */
static bool is_for_devices(const char *flag)
{
	return flag[0] == '-' && (flag[1] == 'D' || flag[1] == 'U' || flag[1] == 'I');
}

static void add_flags(const cc_device_t *device, cc_words_t *words)
{
	for (int i = 0; i < device->flag_count; i++) {
		if (!is_for_devices(device->flags[i]))
			continue;
		cc_words_add(words, "%s", device->flags[i]);
		if (!device->flags[i][2] && i + 1 < device->flag_count) /* "-I folder", two words */
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

/**
 * Writes the half to a file. A source that does not come apart is no error: the
 * compiler is given all of it.
 */
static bool write_half(const cc_device_t *device, const char *path)
{
	const char *folders[MOST_FOLDERS], *why = NULL;
	FILE *out = fopen(path, "w");

	if (!out)
		return false;
	bool written = device_half_write(device->source, folders, list_folders(device, folders),
					 out, &why);
	if (!written && device->verbose)
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
	cc_words_add_unit(&words, "TSR_UNIT", device->source);
	add_flags(device, &words);
	cc_place_add_includes(device->place, &words);
	cc_words_add(&words, "%s", file);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", image);
	int code = cc_run_into(&words, device->group, device->verbose, messages);
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
	char half[PATH_ROOM], messages[PATH_ROOM], whole_messages[PATH_ROOM];
	const char *told = messages;
	int code = TOOL_FAILED;

	snprintf(half, sizeof half, "%s/half.c", device->temp);
	snprintf(messages, sizeof messages, "%s/messages", device->temp);
	snprintf(whole_messages, sizeof whole_messages, "%s/whole-messages", device->temp);
	const bool halved = write_half(device, half);
	if (halved)
		code = compile(device, toolkit, half, image, messages);
	if (code) {
		code = compile(device, toolkit, device->source, image, whole_messages);
		told = code && halved ? messages : whole_messages;
	}
	if (code)
		explain(device, toolkit);
	print_messages(told);
	return code;
}
