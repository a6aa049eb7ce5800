/*
 * Where the call of the host API that a thread is in stands in the program:
 * what tessera/site.h notes.
 */
#ifndef TESSERA_BASE_PLACE_H
#define TESSERA_BASE_PLACE_H

typedef struct tsr_place {
	const char *call, *file; /* null: in no call, or in one that does not say where it stands */
	int line;
} tsr_place_t;

/**
 * The calling thread's. Who runs several programs on one thread keeps one for
 * each, and puts it here.
 */
tsr_place_t *tsr_place_here(void);

#endif
