/* Compiling one file: the host's object, and device images inside it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cc/cc.h"
#include "tools/cc/device.h"
#include "tools/usage.h"

enum { PATH_ROOM = PATH_MAX + 64 };

void cc_add_compiler(cc_language_t language, cc_words_t *words)
{
	static const char blanks[] = " \t\n";
	const char *named = getenv(language == CC_CXX ? "CXX" : "CC");

	if (!named || !named[strspn(named, blanks)])
		named = language == CC_CXX ? "c++" : "cc";
	if (!strpbrk(named, blanks) || tool_is_program(named)) {
		cc_words_add(words, "%s", named);
		return;
	}
	for (named += strspn(named, blanks); *named; named += strspn(named, blanks)) {
		const int length = (int)strcspn(named, blanks);
		cc_words_add(words, "%.*s", length, named);
		named += length;
	}
}

/* ------------------------------------------------------------------ the unit's name */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size_bytes)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size_bytes; i++)
		hash = (hash ^ at[i]) * 1099511628211u; /* FNV-1a */
	return hash;
}

/**
 * The name that ties a file's kernels to its device images: the file's, without
 * .c. Objects that are kept may be linked with those of another folder's file
 * of the same name, so there a hash of the flags and of the text goes with it.
 */
static void name_unit(const cc_job_t *job, const cc_item_t *item, char unit[PATH_ROOM])
{
	const int length = (int)strlen(item->word);
	const bool plain = length > 2 && strcmp(item->word + length - 2, ".c") == 0;
	uint64_t hash = 14695981039346656037u;
	char part[4096];

	snprintf(unit, PATH_ROOM, "%.*s", plain ? length - 2 : length, item->word);
	if (job->goal != CC_OBJECTS)
		return;
	for (int i = 0; i < job->flags.count; i++)
		hash = hash_bytes(hash, job->flags.word[i], strlen(job->flags.word[i]) + 1);
	FILE *file = fopen(item->word, "rb");
	for (size_t got = 1; file && (got = fread(part, 1, sizeof part, file)) > 0;)
		hash = hash_bytes(hash, part, got);
	if (file)
		fclose(file);
	const size_t used = strlen(unit);
	snprintf(unit + used, PATH_ROOM - used, "-%08x", (unsigned)(hash ^ hash >> 32));
}

/* ------------------------------------------------------------------ the host's object */

/** A flag that names a standard of the other language. */
static bool is_foreign(const char *flag, cc_language_t language)
{
	const char *standard = strncmp(flag, "--std=", 6) == 0  ? flag + 6
			       : strncmp(flag, "-std=", 5) == 0 ? flag + 5
								: NULL;

	return standard && (strstr(standard, "++") != NULL) != (language == CC_CXX);
}

/** The command up to what it makes. */
static void begin_host(const cc_job_t *job, const cc_item_t *item, const char *unit,
		       cc_words_t *words)
{
	cc_add_compiler(item->language, words);
	cc_words_add(words, item->language == CC_CXX ? "-std=c++17" : "-std=c11");
	cc_words_add(words, "-D_GNU_SOURCE");
	cc_words_add(words, "-O2");
	cc_words_add(words, "-g");
	cc_words_add(words, "-pthread");
	if (item->language != CC_ASSEMBLY && job->probes_stack[item->language])
		cc_words_add(words, CC_PROBES_STACK);
	cc_words_add_string(words, "TSR_UNIT", unit);
	for (int i = 0; i < job->flags.count; i++) {
		if (!is_foreign(job->flags.word[i], item->language))
			cc_words_add(words, "%s", job->flags.word[i]);
	}
	cc_place_add_includes(&job->place, words);
}

static int compile_host(const cc_job_t *job, const cc_item_t *item, const char *unit,
			const char *object)
{
	static const char *const languages[] = {"none", "c", "c++", "assembler-with-cpp"};
	cc_words_t words = {.count = 0};

	begin_host(job, item, unit, &words);
	if (object)
		cc_words_add(&words, "-c");
	cc_words_add(&words, "-x");
	cc_words_add(&words, "%s", languages[item->language]);
	cc_words_add(&words, "%s", item->word);
	if (object) {
		cc_words_add(&words, "-o");
		cc_words_add(&words, "%s", object);
	}
	int code = cc_run(&words, job->temp.keeper, job->say);
	cc_words_clear(&words);
	return code;
}

int cc_compile_text(cc_job_t *job, const cc_item_t *item)
{
	char unit[PATH_ROOM];
	cc_words_t words = {.count = 0};

	name_unit(job, item, unit);
	begin_host(job, item, unit, &words);
	cc_words_add(&words, "%s", item->word);
	if (job->output) {
		cc_words_add(&words, "-o");
		cc_words_add(&words, "%s", job->output);
	}
	int code = cc_run(&words, job->temp.keeper, job->say);
	cc_words_clear(&words);
	return code;
}

/* ------------------------------------------------------------------ device images */

static int embed(const cc_job_t *job, const cc_toolkit_t *toolkit, const char *unit,
		 const char *image, const char *object)
{
	cc_words_t words = {.count = 0};

	cc_add_compiler(CC_C, &words);
	cc_words_add(&words, "-c");
	cc_words_add_string(&words, "TSR_IMAGE_FILE", image);
	cc_words_add_string(&words, "TSR_IMAGE_UNIT", unit);
	cc_words_add_string(&words, "TSR_IMAGE_BACKEND", toolkit->backend);
	cc_words_add_string(&words, "TSR_IMAGE_ARCH", toolkit->arch);
	cc_words_add(&words, "%s/tools/embed.S", job->place.root);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s", object);
	int code = cc_run(&words, job->temp.keeper, job->say);
	cc_words_clear(&words);
	return code;
}

/**
 * A form of device code: its define, and what stands behind the unit's name
 * (backends/gpu/gpu.h) and behind the file's.
 */
typedef struct form {
	const char *define, *of_unit, *of_file;
} form_t;

/** Makes an object of a device image in one form, and adds it to `objects`. */
static int make_image(const cc_job_t *job, cc_device_t device, const cc_toolkit_t *toolkit,
		      int number, const form_t *form, cc_words_t *objects)
{
	char image[128], embedded[sizeof image + 2], unit[PATH_ROOM + 16];

	snprintf(image, sizeof image, "%s/%d.%s%s", job->temp.path, number, toolkit->arch,
		 form->of_file);
	snprintf(embedded, sizeof embedded, "%s.o", image);
	snprintf(unit, sizeof unit, "%s%s", device.unit, form->of_unit);
	device.define = form->define;
	int code = cc_device_compile(&device, toolkit, image);
	if (!code)
		code = embed(job, toolkit, unit, image, embedded);
	cc_words_add(objects, "%s", embedded);
	return code;
}

/** Makes an object of each device image of a file, and adds them to `objects`. */
static int make_images(const cc_job_t *job, const cc_item_t *item, int number, const char *unit,
		       cc_words_t *objects)
{
	static const form_t plain = {NULL, "", ""}, nodes = {"TSR_NODES", ":nodes", "-nodes"};
	char half[128];
	int code = TOOL_OK;

	snprintf(half, sizeof half, "%s/%d.half.%s", job->temp.path, number,
		 item->language == CC_CXX ? "cpp" : "c");
	const cc_device_t device = {.place = &job->place,
				    .source = item->word,
				    .cxx = item->language == CC_CXX,
				    .unit = unit,
				    .half = half,
				    .temp = job->temp.path,
				    .group = job->temp.keeper,
				    .flags = job->flags.word,
				    .flag_count = job->flags.count,
				    .say = job->say};
	if (job->say == CC_SHOW && !device.cxx)
		cc_device_show_half(&device);
	for (int i = 0; i < job->toolkit_count && !code; i++) {
		const cc_toolkit_t *toolkit = &job->toolkits[i];
		code = make_image(job, device, toolkit, number, &plain, objects);
		if (!code && job->nodes)
			code = make_image(job, device, toolkit, number, &nodes, objects);
	}
	return code;
}

/** What is only shown is not there to be asked: then every file may define kernels. */
static bool may_have_kernels(const cc_job_t *job, const cc_item_t *item, const char *object)
{
	if (item->language == CC_ASSEMBLY || job->toolkit_count == 0)
		return false;
	return job->say == CC_SHOW || cc_object_has_kernels(object);
}

int cc_compile_to_link(cc_job_t *job, const cc_item_t *item, int number)
{
	char object[128], unit[PATH_ROOM];

	name_unit(job, item, unit);
	snprintf(object, sizeof object, "%s/%d.o", job->temp.path, number);
	int code = compile_host(job, item, unit, object);
	cc_words_add(&job->objects, "%s", object);
	if (code || !may_have_kernels(job, item, object))
		return code;
	return make_images(job, item, number, unit, &job->objects);
}

/* ------------------------------------------------------------------ objects that are kept */

/** One object of the host's and those of images. */
static int join(const cc_job_t *job, const char *object, const cc_words_t *images)
{
	cc_words_t words = {.count = 0}, move = {.count = 0};

	cc_add_compiler(CC_C, &words);
	cc_words_add(&words, "-r");
	cc_words_add(&words, "-nostdlib");
	cc_words_add(&words, "%s", object);
	cc_words_add_all(&words, images->word, images->count);
	cc_words_add(&words, "-o");
	cc_words_add(&words, "%s/joined.o", job->temp.path);
	cc_words_add(&move, "cp");
	cc_words_add(&move, "%s/joined.o", job->temp.path);
	cc_words_add(&move, "%s", object);
	int code = cc_run(&words, job->temp.keeper, job->say);
	if (!code)
		code = cc_run(&move, job->temp.keeper, job->say);
	cc_words_clear(&words);
	cc_words_clear(&move);
	return code;
}

int cc_compile(cc_job_t *job, const cc_item_t *item, int number, const char *object)
{
	char unit[PATH_ROOM];
	cc_words_t images = {.count = 0};

	name_unit(job, item, unit);
	int code = compile_host(job, item, unit, object);
	if (code || !may_have_kernels(job, item, object))
		return code;
	code = make_images(job, item, number, unit, &images);
	if (!code)
		code = join(job, object, &images);
	if (code)
		unlink(object);
	cc_words_clear(&images);
	return code;
}
