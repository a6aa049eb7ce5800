/* The sentence of the last error, kept for each thread, and the names of the codes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/log.h"

/*
 * The one piece of mutable state of the library that no handle owns: an error
 * may be that there is no handle.
 */
static _Thread_local tsr_error_slot_t own;
static _Thread_local tsr_error_slot_t *in_use; /* by what runs on this thread; null: own */

tsr_error_slot_t *tsr_error_here(void)
{
	return in_use != NULL ? in_use : &own;
}

/** What a sentence quotes may hold line breaks, and what moves a terminal's cursor. */
static void stay_on_one_line(char *sentence)
{
	for (char *c = sentence; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

tsr_status_t tsr_error(tsr_status_t status, const char *format, ...)
{
	char sentence[TSR_ERROR_BYTES]; /* apart: the arguments may quote the last sentence */
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof sentence, format, arguments);
	va_end(arguments);
	stay_on_one_line(sentence);
	tsr_error_slot_t *here = tsr_error_here();
	memcpy(here->sentence, sentence, sizeof sentence);
	here->printed = false;
	tsr_log(TSR_LOG_DEBUG, "%s: %s", tsr_status_name(status), sentence);
	return status;
}

void tsr_error_mark_printed(void)
{
	tsr_error_here()->printed = true;
}

bool tsr_error_is_printed(void)
{
	return tsr_error_here()->printed;
}

const char *tsr_last_error(void)
{
	return tsr_error_here()->sentence;
}

tsr_error_slot_t *tsr_error_use(tsr_error_slot_t *slot)
{
	tsr_error_slot_t *before = in_use;
	in_use = slot;
	return before;
}

const char *tsr_status_name(tsr_status_t status)
{
	switch (status) {
	case TSR_OK:
		return "TSR_OK";
	case TSR_ERR_ARGUMENT:
		return "TSR_ERR_ARGUMENT";
	case TSR_ERR_NO_MEMORY:
		return "TSR_ERR_NO_MEMORY";
	case TSR_ERR_MISMATCH:
		return "TSR_ERR_MISMATCH";
	case TSR_ERR_NOT_FOUND:
		return "TSR_ERR_NOT_FOUND";
	case TSR_ERR_UNSUPPORTED:
		return "TSR_ERR_UNSUPPORTED";
	case TSR_ERR_CONFIG:
		return "TSR_ERR_CONFIG";
	case TSR_ERR_RESIDENCY:
		return "TSR_ERR_RESIDENCY";
	case TSR_ERR_NO_DEVICE:
		return "TSR_ERR_NO_DEVICE";
	case TSR_ERR_SYSTEM:
		return "TSR_ERR_SYSTEM";
	case TSR_ERR_KERNEL:
		return "TSR_ERR_KERNEL";
	case TSR_ERR_TIMEOUT:
		return "TSR_ERR_TIMEOUT";
	case TSR_ERR_PEER_LOST:
		return "TSR_ERR_PEER_LOST";
	case TSR_ERR_ABORTED:
		return "TSR_ERR_ABORTED";
	}
	return "TSR_ERR_?";
}
