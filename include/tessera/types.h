/* Words that host and device code share: limits, heap pointers, element types, positions, views. */
#ifndef TESSERA_TYPES_H
#define TESSERA_TYPES_H

#include <stddef.h>
#include <stdint.h>

/** The most ranks of one world. Nothing that a program sees is sized by it. */
#define TSR_MAX_RANKS 256

/**
 * Marks a pointer into the symmetric heap: `TSR_HEAP float *x`. Such a pointer
 * is handed to the API and never dereferenced: on a device the data may be
 * another rank's, on the emulator the memory may be modelled.
 * clang rejects a dereference (noderef); other compilers take the mark as a
 * comment.
 */
#if defined(__clang__) && !defined(__cplusplus)
#define TSR_HEAP __attribute__((noderef))
#else
#define TSR_HEAP
#endif

/** Element types. The values are part of the file formats that carry them. */
typedef enum tsr_dtype {
	TSR_F64 = 0,
	TSR_F32 = 1,
	TSR_F16 = 2,  /* IEEE binary16 */
	TSR_BF16 = 3, /* the upper half of a binary32 */
	TSR_I64 = 4,
	TSR_I32 = 5,
	TSR_I8 = 6,
	TSR_U8 = 7,
	/* Reserved: no call takes them yet, and each says so. Of 8 bits: OCP's two formats, and the
	 * variants of gfx942, which have no negative zero and no infinity, and other exponents. */
	TSR_F8_E4M3 = 8,
	TSR_F8_E5M2 = 9,
	TSR_F8_E4M3_FNUZ = 10,
	TSR_F8_E5M2_FNUZ = 11
} tsr_dtype_t;

/** Position of a tile's upper left element, in elements of the matrix that is tiled. */
typedef struct tsr_pos {
	int64_t row, col;
} tsr_pos_t;

/**
 * How a matrix that a main loop reads stands in memory: itself, or its
 * transpose (TSR_TILE_MAJOR of dev/tile.h).
 */
typedef enum tsr_major { TSR_ROW_MAJOR = 0, TSR_COL_MAJOR = 1 } tsr_major_t;

/** Whose memory a view looks at. */
typedef enum tsr_space {
	TSR_SPACE_HEAP = 0,  /* the symmetric heap: may be translated to a peer */
	TSR_SPACE_SHARED = 1 /* shared memory of a block: this block only */
} tsr_space_t;

/**
 * A row-major matrix in memory: `rows` by `cols` elements, consecutive rows
 * `ld` elements apart.
 * Its edges are the mask of every operation on it: elements outside are neither
 * read nor written.
 * Passed by value, in kernel arguments too. Built by tsr_view (device);
 * tsr_tensor_view, tsr_tensor_view_at and tsr_heap_view (host).
 */
typedef struct tsr_view {
	TSR_HEAP void *data;
	int64_t rows, cols, ld;
	int32_t dtype; /* tsr_dtype_t */
	int32_t space; /* tsr_space_t */
} tsr_view_t;

/** How a signal changes its flag. SET has one producer; ADD may have many. */
typedef enum tsr_signal_op { TSR_SIGNAL_SET = 0, TSR_SIGNAL_ADD = 1 } tsr_signal_op_t;

/** How a wait compares a word, without a sign, with its value. */
typedef enum tsr_cmp {
	TSR_CMP_GE = 0, /* word >= value: what flags are waited for by */
	TSR_CMP_EQ = 1,
	TSR_CMP_NE = 2,
	TSR_CMP_LT = 3,
	TSR_CMP_LE = 4,
	TSR_CMP_GT = 5,
	TSR_CMP_ANY = 6 /* any bit of the value is set in the word */
} tsr_cmp_t;

/** What caches may do with what a call touches: tessera/dev/hint.h. */
typedef enum tsr_hint {
	TSR_HINT_NONE = 0, /* as the call without a hint */
	/* used once: it is the first that caches give up. Operands and partial sums stay there
	 * instead */
	TSR_HINT_STREAM = 1,
	/* stores go on to memory, and no cache keeps what is written for later; loads: as
	 * TSR_HINT_NONE */
	TSR_HINT_THROUGH = 2
} tsr_hint_t;

/** A wait that may be satisfied by any rank names this in place of a rank. */
#define TSR_ANY_RANK (-1)

/** How a wait in a kernel ended. */
typedef enum tsr_wait_result {
	TSR_WAIT_OK = 0,
	TSR_WAIT_EXPIRED = 1, /* its own deadline passed; the world goes on */
	/* the world has ended: nothing that the kernel does from here on counts */
	TSR_WAIT_ABORTED = 2
} tsr_wait_result_t;

#endif
