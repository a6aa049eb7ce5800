/*
 * Heads of attention as tests lay them into the heap, and what must come of
 * them: a softmax in two passes, in double.
 */
#ifndef TESSERA_CONTRACT_ATTEND_HEADS_H
#define TESSERA_CONTRACT_ATTEND_HEADS_H

#include <math.h>

#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"

enum {
	GAP = 8,   /* columns between the rows of Q, K and V, which hold no numbers */
	MARGIN = 3 /* columns behind those of the output, which stay as they are */
};

/** What a tile of queries goes through, if its keys are in several parts. */
typedef enum how {
	HOW_CONTINUED, /* a task a part: each starts from what the one before has left */
	HOW_LOADED,    /* each loads what the one before has saved */
	HOW_MERGED,    /* each starts anew; the last one merges what the others have saved */
	HOW_OUTPUT     /* the last one merges the outputs of the others */
} how_t;

/** What elements are, beside random ones. */
typedef enum content {
	CONTENT_RANDOM,
	CONTENT_STEEP,   /* Q times 8: maxima move, and few keys count */
	CONTENT_EQUAL,   /* Q is 0 and V are whole numbers: the output is their mean, exactly */
	CONTENT_DOMINANT /* one key makes all others vanish: the output is its value, exactly */
} content_t;

/** One launch. Heads lie below each other in each view. */
typedef struct heads_case {
	int64_t heads, share; /* of Q; so many of them in turn have one key head */
	int64_t queries;      /* rows of a head */
	int64_t keys, rows;   /* of a key head: that are used, and that there are */
	int32_t group;        /* rows of a head at one position */
	tsr_mask_t mask;
	int64_t diagonal;
	int32_t parts;
	how_t how;
	int32_t gated;
	content_t content;
} heads_case_t;

/** A configuration: its kernel, its extents, and the type of its elements. */
typedef struct heads_tile {
	const tsr_kernel_t *kernel;
	tsr_dtype_t dtype;
	int m, n, d;
} heads_tile_t;

typedef struct heads_args {
	tsr_view_t q, k, v, o, lse;
	tsr_view_t part_o, part_lse; /* of the parts, each below the other */
	TSR_HEAP unsigned char *saved;
	TSR_HEAP uint64_t *flags; /* one a rank: its keys may be read */
	TSR_HEAP uint64_t *ready; /* one a task: what it leaves for others is there */
	heads_case_t c;
	float scale;
} heads_args_t;

static inline double heads_scale(const heads_tile_t *t)
{
	return 1 / sqrt((double)t->d);
}

/** The key that dominates the others for a head. */
static inline int64_t heads_dominant(const heads_case_t *c, int64_t key_head)
{
	return (key_head * 5 + 3) % c->keys;
}

/* Streams of random numbers: one for each matrix and rank. */
enum { OF_Q, OF_K, OF_V, MATRICES };

/** About normal, with deviation 1: twelve uniform bytes. The same for the same place. */
static inline double heads_random(uint64_t stream, uint64_t index)
{
	int sum = 0;
	for (uint64_t word = 0; word < 2; word++) {
		uint64_t z = (2 * index + word + 1) * UINT64_C(0x9e3779b97f4a7c15) +
			     stream * UINT64_C(0xd1342543de82ef95);
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		z ^= z >> 31;
		for (int byte = 0; byte < 6; byte++)
			sum += (int)(z >> (8 * byte) & 255);
	}
	return (sum - 1530) / 256.0;
}

/** Element (row, col) of a rank's matrix, before it is rounded. */
static inline double heads_raw(const heads_tile_t *t, const heads_case_t *c, uint64_t seed,
			       int which, int64_t row, int64_t col, int rank)
{
	const double x = heads_random(seed + (uint64_t)(rank * MATRICES + which),
				      (uint64_t)(row * t->d + col));
	switch (c->content) {
	case CONTENT_STEEP:
		return which == OF_Q ? 8 * x : x;
	case CONTENT_EQUAL:
		return which == OF_Q ? 0 : which == OF_V ? floor(2 * x) : x;
	case CONTENT_DOMINANT:
		if (which == OF_K)
			return row % c->rows == heads_dominant(c, row / c->rows) ? 64 : -64;
		return which == OF_V ? x : col == 0 ? 64 : 0;
	case CONTENT_RANDOM:
		break;
	}
	return x;
}

static inline int64_t heads_rows(const heads_case_t *c, int which)
{
	return which == OF_Q ? c->heads * c->queries : c->heads / c->share * c->rows;
}

/** The matrices of all ranks as kernels find them: rounded, D columns. */
typedef struct heads_values {
	double *of[MATRICES];
	int64_t elements[MATRICES]; /* of one rank */
} heads_values_t;

static inline int heads_values_make(tsr_world_t *world, const heads_tile_t *t,
				    const heads_case_t *c, uint64_t seed, heads_values_t *values)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	for (int which = 0; which < MATRICES; which++) {
		const int64_t count = heads_rows(c, which) * t->d;
		double *to = (double *)malloc((size_t)(count * size + 1) * sizeof(double));
		CHECK(to);
		for (int rank = 0; rank < size; rank++)
			for (int64_t i = 0; i < count && (rank == me || c->gated); i++) {
				unsigned char bits[8];
				tsr_dtype_set(t->dtype, bits, 0,
					      heads_raw(t, c, seed, which, i / t->d, i % t->d,
							rank));
				to[rank * count + i] = tsr_dtype_get(t->dtype, bits, 0);
			}
		values->of[which] = to;
		values->elements[which] = count;
	}
	return 0;
}

static inline void heads_values_free(heads_values_t *values)
{
	for (int which = 0; which < MATRICES; which++)
		free(values->of[which]);
}

/** A row of a rank's matrix. */
static inline const double *heads_row_of(const heads_tile_t *t, const heads_values_t *values,
					 int which, int64_t row, int rank)
{
	return values->of[which] + rank * values->elements[which] + row * t->d;
}

/** The first key of a part. */
static inline int64_t heads_part_begin(const heads_case_t *c, int64_t part)
{
	return c->keys * part / c->parts;
}

/** Whose copy of a key is read: that of the rank that the gate names for its two runs. */
static inline int heads_owner(const heads_tile_t *t, const heads_case_t *c, int64_t key, int me,
			      int size)
{
	int64_t part = 0;
	while (part + 1 < c->parts && key >= heads_part_begin(c, part + 1))
		part++;
	const int64_t begin = heads_part_begin(c, part);
	return c->gated ? (int)((begin + (key - begin) / (2 * t->n) * (2 * t->n)) % size) : me;
}

/** The keys that a row of a head sees: all below this. */
static inline int64_t heads_limit(const heads_case_t *c, int64_t row)
{
	const int64_t own = row / (c->group > 1 ? c->group : 1) + c->diagonal + 1,
		      limit = c->mask == TSR_MASK_CAUSAL && own < c->keys ? own : c->keys;
	return limit > 0 ? limit : 0;
}

/** What must come of one row: the output, the sums of p |v|, the logarithm. */
typedef struct heads_row {
	double *out, *weight; /* D each */
	double lse;
} heads_row_t;

/** Two passes over the keys of row `row` of head `head`, whose scores go to `p`. */
static inline void heads_refer(const heads_tile_t *t, const heads_case_t *c,
			       const heads_values_t *values, int64_t head, int64_t row, int me,
			       int size, double *p, heads_row_t *want)
{
	const int64_t first = head / c->share * c->rows, limit = heads_limit(c, row);
	const double *q = heads_row_of(t, values, OF_Q, head * c->queries + row, me);
	double top = -INFINITY, sum = 0;
	for (int64_t key = 0; key < limit; key++) {
		const double *k = heads_row_of(t, values, OF_K, first + key,
					       heads_owner(t, c, key, me, size));
		p[key] = 0;
		for (int64_t d = 0; d < t->d; d++)
			p[key] += q[d] * k[d];
		p[key] *= heads_scale(t);
		top = p[key] > top ? p[key] : top;
	}
	for (int64_t key = 0; key < limit; key++)
		sum += p[key] = exp(p[key] - top);
	for (int64_t d = 0; d < t->d; d++)
		want->out[d] = want->weight[d] = 0;
	for (int64_t key = 0; key < limit; key++) {
		const double *v = heads_row_of(t, values, OF_V, first + key,
					       heads_owner(t, c, key, me, size));
		for (int64_t d = 0; d < t->d; d++) {
			want->out[d] += p[key] / sum * v[d];
			want->weight[d] += fabs(p[key] / sum * v[d]);
		}
	}
	want->lse = limit > 0 ? top + log(sum) : -INFINITY;
}

/** Heap memory for rows of heads, filled; no numbers in gaps and in rows that no task names. */
static inline int heads_matrix(tsr_world_t *world, const heads_tile_t *t, const heads_case_t *c,
			       uint64_t seed, int which, tsr_view_t *view)
{
	const int64_t heads = which == OF_Q ? c->heads : c->heads / c->share,
		      each = which == OF_Q ? c->queries : c->rows,
		      used = which == OF_Q ? c->queries : c->keys, ld = t->d + GAP;
	const size_t bytes = tsr_dtype_bytes(t->dtype), count = (size_t)(heads * each * ld);
	unsigned char *host = (unsigned char *)malloc(count * bytes);
	TSR_HEAP void *heap = poisoned(world, count * bytes, "heads");
	CHECK(host && heap);
	for (int64_t i = 0; i < heads * each * ld; i++) {
		const int64_t row = i / ld, col = i % ld;
		const bool counts = col < t->d && row % each < used;
		tsr_dtype_set(t->dtype, host, (size_t)i,
			      counts ? heads_raw(t, c, seed, which, row, col, tsr_world_rank(world))
				     : __builtin_nan(""));
	}
	CHECK(tsr_memcpy_to_heap(world, heap, host, count * bytes) == TSR_OK);
	free(host);
	*view = (tsr_view_t){heap, heads * each, t->d, ld, t->dtype, TSR_SPACE_HEAP};
	return 0;
}

#endif
