#include "tools/device_half/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 40, MOST_ONCE = 256, PATH_BYTES = 4096 };

/** What is the same for all files of a source. */
typedef struct reader {
	half_text_t *text;
	const char *const *folders;
	int folder_count, depth;
	char *once[MOST_ONCE]; /* headers with #pragma once that are in the text */
	int once_count;
} reader_t;

static void add(half_text_t *text, const char *data, size_t length)
{
	if (text->wrong)
		return;
	if (text->length + length + 1 > text->room) {
		size_t room = 2 * (text->length + length + 1);
		char *grown = realloc(text->data, room);
		if (!grown) {
			text->wrong = "there is no memory for it";
			return;
		}
		text->data = grown;
		text->room = room;
	}
	memcpy(text->data + text->length, data, length);
	text->length += length;
	text->data[text->length] = '\0';
}

/** Says that the next line is `line` of `path`. */
static void add_place(half_text_t *text, const char *path, int line)
{
	char place[PATH_BYTES + 32];
	int length = snprintf(place, sizeof place, "#line %d \"%s\"\n", line, path);

	add(text, place, (size_t)length < sizeof place ? (size_t)length : sizeof place - 1);
}

static char *read_whole(const char *path)
{
	FILE *file = fopen(path, "r");
	char *data = NULL;
	size_t length = 0, got = 1;

	while (file && got) {
		char *grown = realloc(data, length + 65537);
		if (!grown) {
			free(data);
			data = NULL;
			break;
		}
		data = grown;
		got = fread(data + length, 1, 65536, file);
		length += got;
		data[length] = '\0';
	}
	if (file)
		fclose(file);
	if (data && strlen(data) != length) { /* no text */
		free(data);
		data = NULL;
	}
	return data;
}

static bool is_file(const char *path)
{
	FILE *file = fopen(path, "r");

	if (file)
		fclose(file);
	return file != NULL;
}

/**
 * Where a header in quotes is: beside the file that includes it, or in a folder
 * of the user's. The library's own is not looked for.
 */
static bool find_header(const reader_t *r, const char *includer, const char *name, size_t length,
			char path_out[PATH_BYTES])
{
	static const char library[] = "tessera/";
	const char *slash = strrchr(includer, '/');
	int folder = slash ? (int)(slash + 1 - includer) : 0;

	if (strncmp(name, library, sizeof library - 1) == 0)
		return false;
	if (snprintf(path_out, PATH_BYTES, "%.*s%.*s", folder, includer, (int)length, name) <
		    PATH_BYTES &&
	    is_file(path_out))
		return true;
	for (int i = 0; i < r->folder_count; i++) {
		if (snprintf(path_out, PATH_BYTES, "%s/%.*s", r->folders[i], (int)length, name) <
			    PATH_BYTES &&
		    is_file(path_out))
			return true;
	}
	return false;
}

/** The text behind the word `word` where `line` is that directive, else null. */
static const char *after_directive(const char *line, const char *word)
{
	line += strspn(line, " \t");
	if (*line++ != '#')
		return NULL;
	line += strspn(line, " \t");
	if (strncmp(line, word, strlen(word)) != 0)
		return NULL;
	line += strlen(word);
	return line + strspn(line, " \t");
}

static void read_file(reader_t *r, const char *path);

/** Lays a header down in place of its line. False where the line includes none of the user's. */
static bool lay_down(reader_t *r, const char *path, const char *line)
{
	const char *name = after_directive(line, "include");
	char header[PATH_BYTES];

	if (!name || *name != '"' || r->depth == MOST_DEPTH)
		return false;
	size_t length = strcspn(++name, "\"\n");
	if (name[length] != '"' || !find_header(r, path, name, length, header))
		return false;
	for (int i = 0; i < r->once_count; i++) {
		if (strcmp(r->once[i], header) == 0)
			return true;
	}
	read_file(r, header);
	return true;
}

/**
 * Whether the line forbids a second copy of its file; it stays out of the text,
 * where it would speak of all.
 */
static bool note_once(reader_t *r, const char *path, const char *line)
{
	const char *word = after_directive(line, "pragma");

	if (!word || strncmp(word, "once", 4) != 0)
		return false;
	if (r->once_count < MOST_ONCE && (r->once[r->once_count] = strdup(path)))
		r->once_count++;
	return true;
}

/** Whether a comment is open at the end of a line, where `open` says so of its beginning. */
static bool comment_open(const char *line, size_t length, bool open)
{
	char quote = '\0';

	for (size_t i = 0; i < length; i++) {
		char next = i + 1 < length ? line[i + 1] : '\0';
		if (open && line[i] == '*' && next == '/') {
			open = false;
			i++;
		} else if (open) {
			continue;
		} else if (quote && line[i] == '\\') {
			i++;
		} else if (quote) {
			quote = line[i] == quote ? '\0' : quote;
		} else if (line[i] == '/' && next == '/') {
			return false;
		} else if (line[i] == '/' && next == '*') {
			open = true;
			i++;
		} else if (line[i] == '"' || line[i] == '\'') {
			quote = line[i];
		}
	}
	return open;
}

static void read_file(reader_t *r, const char *path)
{
	char *data = read_whole(path);
	bool in_comment = false;
	int number = 1;

	if (!data) {
		r->text->wrong = "it, or a header of it, cannot be read as text";
		return;
	}
	r->depth++;
	add_place(r->text, path, 1);
	for (char *line = data; *line; number++) {
		size_t length = strcspn(line, "\n");
		char *next = line + length + (line[length] == '\n');
		if (!in_comment && lay_down(r, path, line))
			add_place(r->text, path, number + 1);
		else {
			if (in_comment || !note_once(r, path, line))
				add(r->text, line, length);
			add(r->text, "\n", 1);
		}
		in_comment = comment_open(line, length, in_comment);
		line = next;
	}
	r->depth--;
	free(data);
}

bool half_text_read(half_text_t *text, const char *source, const char *const *folders,
		    int folder_count)
{
	reader_t reader = {.text = text, .folders = folders, .folder_count = folder_count};

	read_file(&reader, source);
	for (int i = 0; i < reader.once_count; i++)
		free(reader.once[i]);
	return !text->wrong;
}

void half_text_free(half_text_t *text)
{
	free(text->data);
	*text = (half_text_t){.data = NULL};
}
