/* How the library says what went wrong: tsr_error, which programs on top of it use as well; and where the sentence is kept. */
#ifndef TESSERA_BASE_ERROR_H
#define TESSERA_BASE_ERROR_H

#include <stdbool.h>

#include "tessera/program.h"

enum { TSR_ERROR_BYTES = 1024 }; /* of a sentence, its end included */

/**
 * From now on this thread keeps its sentence in `slot`, of TSR_ERROR_BYTES, or in its own where that is null; returns the slot
 * before. For fibres, which share a thread and not their errors: whoever switches between them gives each its slot.
 */
char *tsr_error_slot(char *slot);

/** Another process has printed this thread's last sentence: nobody need print it again. Until the next tsr_error. */
void tsr_error_mark_printed(void);
bool tsr_error_is_printed(void);

#endif
