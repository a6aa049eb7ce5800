/*
 * Cost model of a product in tiles on one rank: rounds of tiles, operands, parts
 * of K, and links. Each workload that multiplies chooses tile and blocks by it.
 *
 * A cost is a time. Its unit is the time that a block needs to multiply one
 * element of a 128 x 256 tile, for one unit of K.
 */
#ifndef KERNELS_CHOICES_COST_H
#define KERNELS_CHOICES_COST_H

#include "kernels/choices/explain.h"
#include "kernels/choices/machine.h"
#include "kernels/host/variants.h"

/** A rank's product, divided into tiles. */
typedef struct cost_product {
	int64_t m, k; /* number of rows, and depth */
	tile_size_t tile;
	int64_t tiles; /* number of tiles that cover it */
	int parts;     /* number of parts of K for each of the last tiles; 0 or 1: whole tiles */
} cost_product_t;

/** The number of rounds in which `blocks` blocks compute `tiles` tiles, at least one. */
int64_t cost_rounds(int64_t tiles, int64_t blocks);

/**
 * The number of whole tiles, which one block computes alone, if `blocks` blocks
 * take `tiles` tiles in turn: all rounds of blocks but the last, if the
 * remaining tiles are divided into `parts` parts, each for another block. If
 * there are fewer blocks than parts, all tiles are whole.
 */
int64_t cost_whole_tiles(int64_t tiles, int64_t blocks, int parts);

/** The number of last tiles: those that a block's last task completes. */
int64_t cost_last_tiles(const cost_product_t *product, int64_t blocks);

/** Time for a block to load and multiply a tile, for each unit of K. */
double cost_tile(const machine_t *machine, tile_size_t tile);

/** The part of this time in which it multiplies; in the rest it loads. */
double cost_multiplying(const machine_t *machine, tile_size_t tile);

/** Time for a block to load and multiply a tile, with all of its K. */
double cost_whole_tile(const machine_t *machine, const cost_product_t *product);

/** Nanoseconds in which a block stores a tile of `area` elements and computes nothing. */
double cost_epilogue_ns(const machine_t *machine, double area);

typedef struct cost_computing {
	double time;
	double rounds; /* of whole tiles; a round of parts counts as its fraction of a tile */
	/* What the time consists of: multiplying; loading the edges of tiles; passing sums of parts
	 * on; reading B if A has few rows. */
	double multiplying, loading, handing_over, reading;
} cost_computing_t;

/** Time for `blocks` blocks to compute the product: rounds of whole tiles, then of parts. */
cost_computing_t cost_compute(const machine_t *machine, const cost_product_t *product,
			      int64_t blocks);

/** The time of computing by its parts, for formulas (explain_formula). */
#define COST_COMPUTING "multiply + load + pass sums on + read B"

/** Records what the time of computing consists of, as parts of a candidate's cost. */
void cost_explain(explain_t *explain, const cost_computing_t *computing);

/** What bounds computing: its longest part. */
const char *cost_bound(const cost_computing_t *computing);

/**
 * Nanoseconds of a cost of 1; 0 if the machine's clock or the width of its matrix
 * units is not known, or if they do not multiply the dtype.
 */
double cost_unit_ns(const machine_t *machine, const tsr_device_props_t *device, tsr_dtype_t dtype);

/** Whether the cost of sending is known. */
bool cost_knows_links(const machine_t *machine);

/**
 * Time to send one element of the result to all peers: by one block, and for the
 * rank's links as a whole.
 */
typedef struct cost_sending {
	double block, links;
	int lanes; /* number of blocks that fill the links */
} cost_sending_t;

cost_sending_t cost_send(const machine_t *machine, int peers);

/**
 * Time to send by blocks that need `by_blocks` alone, over links that need
 * `by_links`. Just as many blocks as could fill links do not: on four H200s 11
 * senders took 598 us, 16 took 564 and 26 took 558 (8192x14336x4096 in tiles of
 * 128 x 128, 15adc83).
 */
double cost_send_both(double by_blocks, double by_links);

/**
 * Whether the device multiplies such tiles many times faster than others:
 * 16-bit elements, and the K of its matrix units. Such a tile is the better
 * choice even if the shape does not fill it.
 */
bool cost_is_fast_tile(const tsr_device_props_t *device, tile_size_t tile, tsr_dtype_t dtype);

/** A search for the tile of least cost, among those that are built and fit the device. */
typedef struct cost_search {
	const char *kernel;
	tsr_dtype_t dtype;
	const tsr_device_props_t *device;
	/* Whether a tile can be chosen at all; null: each can. */
	bool (*can)(const void *ctx, tile_size_t tile);
	/* Whether it suits the shape: asked if the device is not fast at it. Null: all suit. */
	bool (*suits)(const void *ctx, tile_size_t tile);
	/* Its cost. It may record what that consists of (explain_part). */
	double (*cost)(const void *ctx, tile_size_t tile);
	const void *ctx;
	explain_t *explain;  /* where the choice is recorded; null: nowhere */
	const char *formula; /* of the cost (explain_formula) */
	double unit_ns;      /* nanoseconds of a cost of 1; 0: not known */
} cost_search_t;

/**
 * Chooses the cheapest tile that the device is fast at. If there is none: the
 * cheapest that suits the shape; if none suits: the smallest. `pattern` is for
 * the sentence. Errors: TSR_ERR_UNSUPPORTED (no tile fits a block).
 */
tsr_status_t cost_choose_tile(const cost_search_t *search, const char *pattern,
			      tile_size_t *tile_out);

#endif
