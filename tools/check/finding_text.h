/*
 * Findings as text that a person reads: who did what where, which edge is
 * missing, and what would supply it.
 */
#ifndef TESSERA_TOOLS_CHECK_FINDING_TEXT_H
#define TESSERA_TOOLS_CHECK_FINDING_TEXT_H

#include <stdio.h>

#include "src/explore/wire/finding.h"

enum { TSR_FINDING_TEXT_BYTES = 1024 };

/**
 * Two sentences without a full stop: the happens-before edge that is missing,
 * and the smallest change that would supply it.
 */
typedef struct tsr_finding_advice {
	char missing[TSR_FINDING_TEXT_BYTES], change[TSR_FINDING_TEXT_BYTES];
} tsr_finding_advice_t;

/** Derived by the rules of finding_advice.c, unless the executor has said it. */
void tsr_finding_advise(const tsr_finding_t *finding, tsr_finding_advice_t *advice_out);

/**
 * "rank 1, kernel send (f32_16x16x16), launch 2, block 0, worker 0"; "host of
 * rank 1". Returns text.
 */
const char *tsr_finding_who_text(const tsr_finding_who_t *who, char *text, size_t size);

/**
 * What follows "rank" in advice: "1", and of a team's kernel, which counts ranks
 * in the team, "0 of team 'row' (rank 1 of the world)". Returns text.
 */
const char *tsr_finding_rank_text(const tsr_finding_who_t *who, char *text, size_t size);

/**
 * "'C'+4096 (64 bytes) of rank 2", or of a team's kernel "of rank 2 of the
 * world"; "" where no memory is known. Returns text.
 */
const char *tsr_finding_memory_text(const tsr_finding_access_t *access, char *text, size_t size);

/**
 * What makes two findings one: class, call, file and line of the first two
 * accesses, the allocation. From malloc, or null.
 */
char *tsr_finding_key(const tsr_finding_t *finding);

/** All but how often it was seen and how it is replayed. */
void tsr_finding_print(const tsr_finding_t *finding, FILE *out);

/** The graph alone: its cycle first, drawn as one, then the others, each with whom it waits for. */
void tsr_finding_print_graph(const tsr_finding_t *finding, FILE *out);

#endif
