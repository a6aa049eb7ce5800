/* What is checked of messages before they touch anything. */
#include "src/net/message.h"

#include <string.h>

uint64_t tsr_message_token(const tsr_key_t *key, int source, int target)
{
	struct {
		char what[8];
		int32_t source, target;
	} said = {.what = "tsr.net", .source = source, .target = target};
	return tsr_siphash(key, &said, sizeof said);
}

bool tsr_message_rows_fit(const tsr_message_t *message, size_t heap_bytes)
{
	if (message->rows == 0 || message->row_bytes == 0)
		return true;
	if (message->row_bytes > heap_bytes || message->offset > heap_bytes - message->row_bytes)
		return false;
	if (message->rows == 1)
		return true;
	const uint64_t behind = heap_bytes - message->row_bytes - message->offset;
	return message->pitch_bytes >= message->row_bytes &&
	       message->rows - 1 <= behind / message->pitch_bytes;
}

bool tsr_message_word_fits(const tsr_message_t *message, size_t heap_bytes)
{
	const uint64_t bytes = message->bytes;
	const uint64_t all = message->what == TSR_MESSAGE_EACH ? message->row_bytes : bytes;
	return (bytes == 2 || bytes == 4 || bytes == 8) && all <= heap_bytes &&
	       message->offset <= heap_bytes - all && message->offset % bytes == 0 &&
	       all % bytes == 0;
}

bool tsr_message_is_counted(uint8_t what)
{
	return what == TSR_MESSAGE_PUT || what == TSR_MESSAGE_FILL || what == TSR_MESSAGE_UPDATE ||
	       what == TSR_MESSAGE_EACH || what == TSR_MESSAGE_FETCH;
}
