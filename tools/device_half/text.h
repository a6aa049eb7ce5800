/* A source and the user's headers that it includes, as one text. */
#ifndef TESSERA_TOOLS_DEVICE_HALF_TEXT_H
#define TESSERA_TOOLS_DEVICE_HALF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** A text that grows. `data` ends in a null character. */
typedef struct half_text {
	char *data;
	size_t length, room;
	const char *wrong; /* why it could not grow or be read; null while all is well */
} half_text_t;

/**
 * Reads `source` into `*text`, which is zero, with the headers below in place
 * of their #include. False where `text->wrong` says why.
 */
bool half_text_read(half_text_t *text, const char *source, const char *const *folders,
		    int folder_count);

void half_text_free(half_text_t *text);

#endif
