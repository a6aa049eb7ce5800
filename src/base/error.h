/*
 * How the library says what went wrong: tsr_error, which programs on top of it
 * use as well; and where the sentence is kept.
 */
#ifndef TESSERA_BASE_ERROR_H
#define TESSERA_BASE_ERROR_H

#include <stdbool.h>

#include "tessera/program.h"

enum { TSR_ERROR_BYTES = 1024 }; /* of a sentence, its end included */

struct tsr_world;

/** What a thread, or a fibre, keeps for whoever asks what went wrong. Zero at first. */
typedef struct tsr_error_slot {
	char sentence[TSR_ERROR_BYTES]; /* the last */
	bool printed;                   /* by another process */
	struct tsr_world *world;        /* that it is a rank of; null: of none */
} tsr_error_slot_t;

/**
 * From now on this thread keeps its errors in `slot`, or in its own where that
 * is null; returns the slot before. For fibres, which share a thread and not
 * their errors: whoever switches between them gives each its slot.
 */
tsr_error_slot_t *tsr_error_use(tsr_error_slot_t *slot);

/** The slot in use. */
tsr_error_slot_t *tsr_error_here(void);

/**
 * Another process has printed this thread's last sentence: nobody need print it
 * again. Until the next tsr_error.
 */
void tsr_error_mark_printed(void);
bool tsr_error_is_printed(void);

#endif
