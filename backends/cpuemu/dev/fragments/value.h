/*
 * Rows of matrices between memory and private buffers: what the value family,
 * tiles and the main loop stand on.
 */
#ifndef TESSERA_CPUEMU_VALUE_H
#define TESSERA_CPUEMU_VALUE_H

#include "cpuemu/dev/arithmetic/convert.h"
#include "cpuemu/dev/memory/memory.h"

/** Reads `count` elements of `dtype` at `from` into `held`, converted. */
void tsr_mem_read_row(const tsr_mem_t *mem, int32_t held_dtype, void *held, int32_t dtype,
		      const unsigned char *from, size_t count);

/** The reverse. */
void tsr_mem_write_row(const tsr_mem_t *mem, int32_t dtype, unsigned char *to, int32_t held_dtype,
		       const void *held, size_t count);

/**
 * A part of a matrix: what lies at its first element, how far its rows are
 * apart, and its extents.
 */
typedef struct tsr_mem_part {
	unsigned char *at;
	size_t pitch_bytes;
	int32_t dtype;
	int64_t rows, cols;
} tsr_mem_part_t;

/**
 * Reads it into the dense rows of `held`, converted. Where blocks are explored,
 * or the memory is far, it is one access, else one a row.
 */
void tsr_mem_read_part(const tsr_mem_t *mem, int32_t held_dtype, unsigned char *held,
		       const tsr_mem_part_t *part);

/** Rows first .. last-1 of a tile with `cols` columns. */
typedef struct tsr_tile_rows {
	int64_t first, last, cols;
} tsr_tile_rows_t;

/** Which elements of a tile lie in a view, and where in memory. Rows and columns are the tile's. */
typedef struct tsr_patch {
	int64_t row0, row1, col0, col1; /* empty where row0 >= row1 or col0 >= col1 */
	tsr_mem_t mem;                  /* of element (row0, col0) */
	size_t element, step;           /* bytes of an element, and from row to row */
} tsr_patch_t;

/** The patch of some rows of the tile at `at`. False: a misuse was noted. */
bool tsr_patch_find(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
		    const tsr_tile_rows_t *rows, bool masked, int peer, tsr_mem_access_t access,
		    tsr_patch_t *patch);

/** Where elements col .. end-1 of a row stand: all of them, or some that a mask lets through. */
unsigned char *tsr_patch_run(const tsr_patch_t *patch, int64_t row, int64_t col, int64_t end);

/** The rows that this thread stores: its own, and of an operand that all threads hold a share. */
tsr_tile_rows_t tsr_frag_share(const tsr_coop_t *coop, const tsr_frag_t *frag);

/** tsr_load and tsr_store, in the name of another call. */
void tsr_frag_load(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
		   tsr_pos_t at, int peer);
void tsr_frag_store(tsr_coop_t *coop, const char *call, tsr_view_t view, tsr_pos_t at,
		    const tsr_frag_t *frag, int peer);

/** In which order elements stand in memory: a view's, or the backend's, of what is saved. */
typedef enum tsr_cpu_elements {
	TSR_CPU_OF_VIEW,
	TSR_CPU_OF_SAVED_FRAG, /* tsr_frag_save, tsr_frag_send */
	TSR_CPU_OF_SAVED_STATE /* tsr_state_save */
} tsr_cpu_elements_t;

/** The same at the beginning of a view that describes what is saved. */
void tsr_frag_load_saved(tsr_coop_t *coop, const char *call, tsr_frag_t *frag, tsr_view_t view,
			 tsr_cpu_elements_t of);
void tsr_frag_store_saved(tsr_coop_t *coop, const char *call, tsr_view_t view,
			  const tsr_frag_t *frag, tsr_cpu_elements_t of, int peer);

/** Element (row, col) of a fragment's private buffer. */
static inline unsigned char *tsr_frag_at(const tsr_frag_t *frag, int64_t row, int64_t col)
{
	return (unsigned char *)frag->elements +
	       (size_t)(row * frag->cols + col) * tsr_cpu_bytes(frag->held);
}

/** Whether the coop has the share that the fragment was declared with. False: misuse is noted. */
bool tsr_frag_is_mine(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag);

/** The same, and the elements have values. */
bool tsr_frag_has_values(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag);

/** Whether it was declared as one value a row. False: the misuse is noted. */
bool tsr_frag_is_rows(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag);

/**
 * Rounds a row of an operand to the type that the operand stands for; an
 * accumulator stays as it is.
 */
void tsr_frag_settle(tsr_frag_t *frag, int64_t row);

#endif
