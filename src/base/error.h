/*
 * Errors:     tsr_error, which programs on top of the library use too, and the
 *             place that keeps its sentence.
 */
#ifndef TESSERA_BASE_ERROR_H
#define TESSERA_BASE_ERROR_H

#include <stdbool.h>

#include "tessera/program.h"

enum { TSR_ERROR_BYTES = 1024 }; /* of a sentence, including the final 0 */

struct tsr_world;
struct tsr_log;

/** The last error of a thread or a fibre. Zero at first. */
typedef struct tsr_error_slot {
	char sentence[TSR_ERROR_BYTES]; /* the last sentence */
	bool printed;                   /* another process has printed it */
	struct tsr_world *world;        /* the world that this thread is a rank of; null: none */
	struct tsr_log *log;            /* that rank's (log.h); null: none */
} tsr_error_slot_t;

/**
 * Makes this thread keep its errors in `slot`; null: in the thread's own slot.
 * Returns the slot used before. For fibres, which share a thread but not their
 * errors: the code that switches between them gives each its slot.
 */
tsr_error_slot_t *tsr_error_use(tsr_error_slot_t *slot);

/** The slot in use. */
tsr_error_slot_t *tsr_error_here(void);

/**
 * Another process has printed this thread's last sentence, so it need not be
 * printed again. Reset by the next tsr_error.
 */
void tsr_error_mark_printed(void);
bool tsr_error_is_printed(void);

#endif
