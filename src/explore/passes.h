/*
 * What the executor's files know of loops whose passes a coop's threads share,
 * and of what a coop has written to shared memory since it last met.
 */
#ifndef TESSERA_EXPLORE_PASSES_H
#define TESSERA_EXPLORE_PASSES_H

#include "src/explore/exploration.h"
#include "src/explore/wire/finding.h"

struct tsr_actor;

/** Bytes of shared memory that a coop has written since it last met. */
typedef struct tsr_unmet {
	uint32_t operation;
	int area;
	size_t offset, bytes;
} tsr_unmet_t;

/** A coop has written to shared memory; and it has met, or ends. */
tsr_status_t tsr_unmet_note(tsr_exploration_t *x, uint32_t operation, int area, size_t offset,
			    const tsr_rows_of_bytes_t *rows);
void tsr_unmet_forget(struct tsr_actor *actor, bool for_good);

/** A program fails: says, in `text`, if it may be for a loop's locals. */
void tsr_passes_explain(const tsr_exploration_t *x, tsr_finding_t *finding, char *text,
			size_t size);

/** A pass has accessed what is no memory; `code`: by which instruction. */
_Noreturn void tsr_passes_fault(tsr_exploration_t *x, const char *code);

#endif
