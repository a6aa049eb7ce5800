/* Rows of matrices between memory and private buffers: what the value family, tiles and the main loop stand on. */
#ifndef TESSERA_CPUEMU_VALUE_H
#define TESSERA_CPUEMU_VALUE_H

#include "cpuemu/dev/convert.h"
#include "cpuemu/dev/memory.h"

/** Reads `count` elements of `dtype` at `from` into `held`, converted. */
void tsr_mem_read_row(const tsr_mem_t *mem, int32_t held_dtype, void *held, int32_t dtype, const unsigned char *from, size_t count);

/** The reverse. */
void tsr_mem_write_row(const tsr_mem_t *mem, int32_t dtype, unsigned char *to, int32_t held_dtype, const void *held, size_t count);

/** A part of a matrix: what lies at its first element, how far its rows are apart, and its extents. */
typedef struct tsr_mem_part {
	unsigned char *at;
	size_t pitch_bytes;
	int32_t dtype;
	int64_t rows, cols;
} tsr_mem_part_t;

/** Reads it into the dense rows of `held`, converted. Where blocks are explored it is one access, else one a row. */
void tsr_mem_read_part(const tsr_mem_t *mem, int32_t held_dtype, unsigned char *held, const tsr_mem_part_t *part);

/** Element (row, col) of a fragment's private buffer. */
static inline unsigned char *tsr_frag_at(const tsr_frag_t *frag, int64_t row, int64_t col)
{
	return (unsigned char *)frag->elements + (size_t)(row * frag->cols + col) * tsr_cpu_bytes(frag->held);
}

/** Whether the elements have values. False: the misuse is noted. */
bool tsr_frag_has_values(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag);

/** Whether it was declared as one value a row. False: the misuse is noted. */
bool tsr_frag_is_rows(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag);

/** Rounds a row of an operand to the type that the operand stands for; an accumulator stays as it is. */
void tsr_frag_settle(tsr_frag_t *frag, int64_t row);

#endif
