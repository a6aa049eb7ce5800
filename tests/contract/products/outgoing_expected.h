/*
 * What must be in each rank's memory when tiles have left a main loop
 * (test_outgoing.c): the steps of an epilogue, what they leave, and whether it
 * is there, to the byte.
 */
#ifndef TESSERA_CONTRACT_OUTGOING_EXPECTED_H
#define TESSERA_CONTRACT_OUTGOING_EXPECTED_H

#include "tests/contract/contract_test.h"

#include <inttypes.h>

#include "tessera/dtype.h"

enum {
	SIDE = 128,
	DEPTH = 64,
	OPS = 8,
	TASKS_MOST = 8,
	ROWS_MOST = 208, /* of the product */
	COLS_MOST = 224,
	K_MOST = 328,
	LD_MOST = 208, /* of a place */
	PAD = 64,      /* elements before and behind a rank's slot that nobody writes */
	SLOT = PAD + 8 + 200 * LD_MOST + PAD,
	SCRIBBLED = 77
};

/**
 * What an epilogue does, one after the other. Stores go to the first place, or
 * with OTHER to the second.
 */
enum {
	END,
	OWN,        /* stores the tile to my own memory */
	PEERS,      /* to every peer's */
	ALL,        /* to both at once */
	MAP,        /* changes the fragment */
	ZERO,       /* too */
	SCRIBBLE,   /* copies something else to where the tile goes in my own memory */
	SIGNAL,     /* tells every peer that its tile is complete */
	PUT_SIGNAL, /* by a put with a signal */
	FENCED,     /* by a fence and a relaxed store */
	NARROWED,   /* the same, and between them a release of block scope */
	OTHER = 16
};

/* A change of an element, as the kernel makes it and the host expects it. */
#define CHANGED(x_, row_, col_) (2 * (x_) + (float)(((row_) + (col_)) & 3))

typedef struct outgoing_case {
	const char *name;
	int64_t rows, cols, ld; /* of a place */
	int64_t k, base;        /* elements from a multiple of 16 bytes to where a place begins */
	tsr_pos_t shift;
	int beyond; /* tasks that begin outside of the product */
	int odd;    /* A begins where no copy engine reads: the plain loop */
	int blocks, watched, later;
	int32_t op[OPS];
} outgoing_case_t;

/** What a rank keeps of one run of a test's body. */
typedef struct outgoing_world {
	tsr_world_t *world;
	uint64_t seed;
	TSR_HEAP unsigned char *a, *b, *places, *scribble;
	TSR_HEAP uint64_t *flags;
	signed char *host_a, *host_b; /* without what depends on the rank */
	int *product;
	int64_t product_of[3]; /* rows, columns and depth of `product`, which many cases share */
	unsigned char *found;
} outgoing_world_t;

/** -1, 0 or 1. */
static inline signed char element(uint64_t seed, int64_t row, int64_t col)
{
	uint64_t x = seed + (uint64_t)row * UINT64_C(0x9e3779b97f4a7c15) +
		     (uint64_t)col * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 30) * UINT64_C(0x94d049bb133111eb);
	x = (x ^ x >> 27) * UINT64_C(0xd6e8feb86659fd93);
	return (signed char)((int)((x >> 32) % 3) - 1);
}

/**
 * Whole numbers: every sum is exact; what the type does not hold is rounded
 * once. Rank r has r more in each row's first element.
 */
static inline int fill(const outgoing_world_t *w, tsr_dtype_t dtype, int64_t odd)
{
	tsr_world_t *world = w->world;
	enum { A = ROWS_MOST * K_MOST, B = K_MOST * COLS_MOST };
	unsigned char *host = (unsigned char *)malloc(2 * (A > B ? A : B));
	CHECK(host);
	for (int64_t i = 0; i < A; i++)
		tsr_dtype_set(dtype, host, (size_t)i,
			      w->host_a[i] + (i % K_MOST == 0 ? tsr_world_rank(world) : 0));
	CHECK(tsr_memcpy_to_heap(world, w->a + 2 * odd, host, 2 * A) == TSR_OK);
	for (int64_t i = 0; i < B; i++)
		tsr_dtype_set(dtype, host, (size_t)i, w->host_b[i]);
	CHECK(tsr_memcpy_to_heap(world, w->b, host, 2 * B) == TSR_OK);
	for (int64_t i = 0; i < SIDE * SIDE; i++)
		tsr_dtype_set(dtype, host, (size_t)i, SCRIBBLED);
	CHECK(tsr_memcpy_to_heap(world, w->scribble, host, 2 * SIDE * SIDE) == TSR_OK);
	free(host);
	return 0;
}

static inline int64_t positive(int64_t x)
{
	return x > 0 ? x : 0;
}

/**
 * Rank 0's product, of the rows and columns that the case has: what goes to a
 * place may begin before it.
 */
static inline void multiply(outgoing_world_t *w, const outgoing_case_t *c)
{
	const int64_t rows = c->rows + positive(-c->shift.row),
		      cols = c->cols + positive(-c->shift.col), of[] = {rows, cols, c->k};
	if (memcmp(w->product_of, of, sizeof of) == 0)
		return;
	memcpy(w->product_of, of, sizeof of);
	memset(w->product, 0, sizeof(int) * ROWS_MOST * COLS_MOST);
	for (int64_t row = 0; row < rows; row++)
		for (int64_t k = 0; k < c->k; k++) {
			const int x = w->host_a[row * K_MOST + k];
			const signed char *b = &w->host_b[k * COLS_MOST];
			int *sum = &w->product[row * COLS_MOST];
			for (int64_t col = 0; x != 0 && col < cols; col++)
				sum[col] += x * b[col];
		}
}

/**
 * Whether the epilogue leaves anything in a place of the writer's own memory
 * (kind: OWN) or of its peers'.
 */
static inline bool reaches(const outgoing_case_t *c, int kind, int place)
{
	for (int i = 0; i < OPS; i++) {
		const int op = c->op[i] % OTHER;
		if (((op == kind || op == ALL) && c->op[i] / OTHER == place) ||
		    (op == SCRIBBLE && kind == OWN && place == 0))
			return true;
	}
	return false;
}

/** What the epilogue leaves of `x` where it reaches. */
static inline float outcome(const outgoing_case_t *c, float x, tsr_pos_t at, int kind, int place)
{
	float left = 0;
	for (int i = 0; i < OPS && c->op[i] != END; i++) {
		const int op = c->op[i] & (OTHER - 1);
		if (op == MAP)
			x = CHANGED(x, at.row, at.col);
		else if (op == ZERO)
			x = 0;
		else if ((op == kind || op == ALL) && c->op[i] / OTHER == place)
			left = x;
		else if (op == SCRIBBLE && kind == OWN && place == 0)
			left = SCRIBBLED;
	}
	return left;
}

/**
 * Row `row` of a place, `ld` elements, as the writer's epilogue leaves it
 * there: poison, and what it writes.
 */
static inline void row_wanted(const outgoing_world_t *w, const outgoing_case_t *c,
			      tsr_dtype_t dtype, int64_t row, int writer, int place,
			      unsigned char *want)
{
	const int kind = writer == tsr_world_rank(w->world) ? OWN : PEERS;
	const int64_t from = positive(c->shift.col);
	const tsr_pos_t begin = {row - c->shift.row, from - c->shift.col};
	memset(want, POISON + tsr_world_rank(w->world), 2 * (size_t)c->ld);
	for (int64_t col = from; begin.row >= 0 && col < c->cols; col++) {
		const tsr_pos_t at = {begin.row, begin.col + col - from};
		const float x = (float)(w->product[at.row * COLS_MOST + at.col] +
					writer * w->host_b[at.col]);
		tsr_dtype_set(dtype, want, (size_t)col, outcome(c, x, at, kind, place));
	}
}

/** How many of the first `bytes` bytes are `value`. */
static inline int64_t all_of(const unsigned char *found, unsigned char value, int64_t bytes)
{
	int64_t i = 0;
	while (i < bytes && found[i] == value)
		i++;
	return i;
}

/** The slot of `writer` in place 0 or 1, or, as 2, what the watcher has read of place 0. */
static inline int slot_check(const outgoing_world_t *w, const outgoing_case_t *c, tsr_dtype_t dtype,
			     int place, int writer)
{
	static const char *const names[] = {"place 0", "place 1", "what was seen"};
	tsr_world_t *world = w->world;
	const unsigned char poison = (unsigned char)(POISON + tsr_world_rank(world));
	const bool mine = writer == tsr_world_rank(world),
		   absent = place == 2 && (mine || !c->watched);
	const unsigned char *slot =
		w->found + 2 * SLOT * ((int64_t)place * tsr_world_size(world) + writer);
	const int64_t before = PAD + c->base,
		      rows = absent || !reaches(c, mine ? OWN : PEERS, place % 2) ? 0 : c->rows;
	const int64_t behind = before + rows * c->ld, end = before + c->rows * c->ld + PAD;
	CHECK(all_of(slot, poison, 2 * before) == 2 * before,
	      "%s: something is written before rank %d's slot in %s", c->name, writer,
	      names[place]);
	CHECK(all_of(slot + 2 * behind, poison, 2 * (end - behind)) == 2 * (end - behind),
	      "%s: something is written behind rank %d's slot in %s, or there where nothing goes",
	      c->name, writer, names[place]);
	for (int64_t row = 0; row < rows; row++) {
		unsigned char want[2 * LD_MOST];
		const unsigned char *found = slot + 2 * (before + row * c->ld);
		row_wanted(w, c, dtype, row, writer, place % 2, want);
		for (int64_t i = 0; memcmp(found, want, 2 * (size_t)c->ld) != 0 && i < c->ld; i++)
			CHECK(memcmp(found + 2 * i, want + 2 * i, 2) == 0,
			      "%s%s, %s, seed %" PRIu64
			      ": rank %d's slot in %s, row %d, col %d: %02x%02x for %02x%02x",
			      c->name, c->op[0] == ALL ? ", by one call" : "",
			      tsr_dtype_name(dtype), w->seed, writer, names[place], (int)row,
			      (int)i, found[2 * i + 1], found[2 * i], want[2 * i + 1], want[2 * i]);
	}
	return 0;
}

static inline int words_check(const outgoing_world_t *w, const outgoing_case_t *c, int64_t tasks)
{
	tsr_world_t *world = w->world;
	const int size = tsr_world_size(world);
	uint64_t words[TSR_MAX_RANKS * TASKS_MOST];
	bool put = false;
	for (int i = 0; i < OPS; i++)
		put = put || c->op[i] == PUT_SIGNAL;
	CHECK(tsr_memcpy_from_heap(world, words, w->flags + 2 * size * TASKS_MOST,
				   sizeof *words * (size_t)size * TASKS_MOST) == TSR_OK);
	for (int i = 0; i < size * TASKS_MOST; i++) {
		const bool told = c->watched && put && i / TASKS_MOST != tsr_world_rank(world) &&
				  i % TASKS_MOST < tasks;
		CHECK(words[i] == (told ? (uint64_t)i + 1 : 0), "%s: rank %d's word %d is %" PRIu64,
		      c->name, i / TASKS_MOST, i % TASKS_MOST, words[i]);
	}
	return 0;
}

#endif
