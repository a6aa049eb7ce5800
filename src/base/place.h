/*
 * The place in the program of the host API call that a thread is in, as
 * tessera/site.h notes it.
 */
#ifndef TESSERA_BASE_PLACE_H
#define TESSERA_BASE_PLACE_H

typedef struct tsr_place {
	const char *call, *file; /* null: in no call, or in one without a call site */
	int line;
	const char *made; /* its arguments as they stand there, the last being what it makes */
} tsr_place_t;

enum { TSR_PLACE_NAME = 64 };

/**
 * The calling thread's place. Code that runs several programs on one thread
 * keeps one place for each, and swaps them here.
 */
tsr_place_t *tsr_place_here(void);

/**
 * Names what the calling thread's call makes: by its variable, "box" of
 * `tsr_tensor_zeros(world, TSR_F32, 2, shape, &box)`; or, where that is no plain
 * variable, by file and line. Returns `name`; null: the place is not known.
 */
const char *tsr_place_name(char name[TSR_PLACE_NAME]);

#endif
