/*
 * Types that host and device code share: limits, heap pointers, element types,
 * positions, views.
 */
#ifndef TESSERA_TYPES_H
#define TESSERA_TYPES_H

#include <stddef.h>
#include <stdint.h>

/** The largest number of ranks in a world. No public struct is sized by it. */
#define TSR_MAX_RANKS 256

/**
 * Marks a pointer into the symmetric heap: `TSR_HEAP float *x`. A program
 * passes such a pointer to the API and never dereferences it: on a device the
 * data may belong to another rank, and the emulator may model the memory. clang
 * rejects a dereference (noderef); for other compilers the mark has no effect.
 */
#if defined(__clang__) && !defined(__cplusplus)
#define TSR_HEAP __attribute__((noderef))
#else
#define TSR_HEAP
#endif

/** Element types. File formats store these values. */
typedef enum tsr_dtype {
	TSR_F64 = 0,
	TSR_F32 = 1,
	TSR_F16 = 2,  /* IEEE binary16 */
	TSR_BF16 = 3, /* the upper half of a binary32 */
	TSR_I64 = 4,
	TSR_I32 = 5,
	TSR_I8 = 6,
	TSR_U8 = 7,
	/* Reserved: every call refuses them so far. 8-bit floats: the two formats of OCP, and
	 * the variants of gfx942, which have no negative zero, no infinity and another exponent
	 * bias. */
	TSR_F8_E4M3 = 8,
	TSR_F8_E5M2 = 9,
	TSR_F8_E4M3_FNUZ = 10,
	TSR_F8_E5M2_FNUZ = 11
} tsr_dtype_t;

/**
 * The position of a tile's upper left element, in elements of the tiled matrix.
 */
typedef struct tsr_pos {
	int64_t row, col;
} tsr_pos_t;

/**
 * How a matrix that a main loop reads is stored: as itself, or as its transpose
 * (TSR_TILE_MAJOR of dev/tile.h).
 */
typedef enum tsr_major { TSR_ROW_MAJOR = 0, TSR_COL_MAJOR = 1 } tsr_major_t;

/**
 * How elements are combined. Maximum and minimum are those of IEEE 754-2019: if an
 * element is NaN the result is NaN, whoever has it, and -0 is less than +0. Which
 * bits that NaN has is the backend's own. The same rule holds for tsr_atomic_max
 * and tsr_atomic_min of floats.
 */
typedef enum tsr_reduce_op {
	TSR_REDUCE_SUM = 0,
	TSR_REDUCE_MAX = 1,
	TSR_REDUCE_MIN = 2
} tsr_reduce_t;

/** The memory that a view refers to. */
typedef enum tsr_space {
	TSR_SPACE_HEAP = 0,  /* the symmetric heap: can be translated to a peer */
	TSR_SPACE_SHARED = 1 /* a block's shared memory: usable by this block only */
} tsr_space_t;

/**
 * A row-major matrix in memory: `rows` by `cols` elements; consecutive rows are
 * `ld` elements apart. The edges of a view mask every operation on it: elements
 * outside are neither read nor written. Views are passed by value, also in
 * kernel arguments. tsr_view makes one on the device; tsr_tensor_view,
 * tsr_tensor_view_at and tsr_heap_view make one on the host.
 */
typedef struct tsr_view {
	TSR_HEAP void *data;
	int64_t rows, cols, ld;
	int32_t dtype; /* tsr_dtype_t */
	int32_t space; /* tsr_space_t */
} tsr_view_t;

/**
 * How a signal changes its flag. Only one producer may SET a flag; several may
 * ADD to it.
 */
typedef enum tsr_signal_op { TSR_SIGNAL_SET = 0, TSR_SIGNAL_ADD = 1 } tsr_signal_op_t;

/** How a wait compares a word with its value. Both are unsigned. */
typedef enum tsr_cmp {
	TSR_CMP_GE = 0, /* word >= value: the comparison for flags */
	TSR_CMP_EQ = 1,
	TSR_CMP_NE = 2,
	TSR_CMP_LT = 3,
	TSR_CMP_LE = 4,
	TSR_CMP_GT = 5,
	TSR_CMP_ANY = 6 /* at least one bit of the value is set in the word */
} tsr_cmp_t;

/** A hint to caches about the data of a call: tessera/dev/hint.h. */
typedef enum tsr_hint {
	TSR_HINT_NONE = 0, /* as the call without a hint */
	/* The data is used once, so caches drop it first. That leaves room for operands and partial
	 * sums. */
	TSR_HINT_STREAM = 1,
	/* Stores go through to memory and stay in no cache. Loads: as TSR_HINT_NONE. */
	TSR_HINT_THROUGH = 2
} tsr_hint_t;

/**
 * How many u64 of the heap carry a message of `size_bytes` bytes as words with
 * their own flag: tessera/dev/marked.h.
 */
#define TSR_MARKED_WORDS(size_bytes_) (((size_bytes_) + 3) / 4)

/** In place of a rank: any rank may end the wait. */
#define TSR_ANY_RANK (-1)

/** How a wait in a kernel ended. */
typedef enum tsr_wait_result {
	TSR_WAIT_OK = 0,
	TSR_WAIT_EXPIRED = 1, /* its own deadline passed; the world goes on */
	/* the world has ended: nothing that the kernel does afterwards counts */
	TSR_WAIT_ABORTED = 2
} tsr_wait_result_t;

#endif
