/* What UCX is and uses, read off what UCX prints. */
#include "net/ucx/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The version; UCX's text may have a commit behind it. */
static void write_version(char *text_out, size_t bytes)
{
	unsigned major, minor, release;
	ucp_get_version(&major, &minor, &release);
	snprintf(text_out, bytes, "UCX %u.%u.%u", major, minor, release);
}

void tsr_ucx_release(char *text_out, size_t bytes)
{
	unsigned major, minor, release;
	ucp_get_version(&major, &minor, &release);
	snprintf(text_out, bytes, "UCX %u.%u", major, minor);
}

static void append(char *text, size_t bytes, const char *what)
{
	const size_t used = strlen(text);
	snprintf(text + used, bytes - used, "%s", what);
}

/** Appends ", tcp over lo" where a line has "tcp/lo" between `at` and its end; once each. */
static void append_device(const char *at, const char *end, char *text, size_t bytes)
{
	char piece[128];
	const char *slash = memchr(at, '/', (size_t)(end - at));
	if (slash == NULL)
		return;
	const char *begin = slash;
	while (begin > at && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_'))
		begin--;
	const int device = (int)strcspn(slash + 1, ". \n");
	snprintf(piece, sizeof piece, ", %.*s over %.*s", (int)(slash - begin), begin, device,
		 slash + 1);
	/* what stays within a node has "memory" for a device */
	if (strstr(text, piece) == NULL && strncmp(slash + 1, "memory", 6) != 0)
		append(text, bytes, piece);
}

/** Appends the device of each line that has `mark` in it. */
static void append_devices(const char *printed, const char *mark, char *text, size_t bytes)
{
	for (const char *at = printed; (at = strstr(at, mark)) != NULL;) {
		const char *end = at + strcspn(at, "\n");
		append_device(at, end, text, bytes);
		at = end;
	}
}

void tsr_ucx_describe(ucp_ep_h endpoint, char *text_out, size_t bytes)
{
	char *printed = NULL;
	size_t printed_bytes;
	write_version(text_out, bytes);
	FILE *stream = endpoint != NULL ? open_memstream(&printed, &printed_bytes) : NULL;
	if (stream == NULL)
		return;
	ucp_ep_print_info(endpoint, stream);
	if (fclose(stream) == 0)
		append_devices(printed, "lane[", text_out, bytes);
	free(printed);
}

static void append_memory(ucp_context_h context, char *text, size_t bytes)
{
	static const struct {
		ucs_memory_type_t type;
		const char *name;
	} types[] = {{UCS_MEMORY_TYPE_HOST, " host"},
		     {UCS_MEMORY_TYPE_CUDA, " cuda"},
		     {UCS_MEMORY_TYPE_ROCM, " rocm"}};
	ucp_context_attr_t attributes = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
	if (ucp_context_query(context, &attributes) != UCS_OK)
		return;
	append(text, bytes, "; memory:");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (attributes.memory_types & 1ull << types[i].type)
			append(text, bytes, types[i].name);
}

void tsr_ucx_about(ucp_context_h context, char *text_out, size_t bytes)
{
	char *printed = NULL;
	size_t printed_bytes;
	write_version(text_out, bytes);
	if (context == NULL) {
		append(text_out, bytes, ", no device");
		return;
	}
	FILE *stream = open_memstream(&printed, &printed_bytes);
	if (stream != NULL) {
		ucp_context_print_info(context, stream);
		if (fclose(stream) == 0)
			append_devices(printed, " -- ", text_out, bytes);
		free(printed);
	}
	append_memory(context, text_out, bytes);
}
