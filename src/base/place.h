/*
 * The place in the program of the host API call that a thread is in, as
 * tessera/site.h notes it.
 */
#ifndef TESSERA_BASE_PLACE_H
#define TESSERA_BASE_PLACE_H

typedef struct tsr_place {
	const char *call, *file; /* null: in no call, or in one without a call site */
	int line;
} tsr_place_t;

/**
 * The calling thread's place. Code that runs several programs on one thread
 * keeps one place for each, and swaps them here.
 */
tsr_place_t *tsr_place_here(void);

#endif
