/*
 * What the contract tests of windows share: memory of the program's, which lies
 * in no heap, and the host's access to it. On GPUs the host has none of its own:
 * there it makes a window for a moment.
 */
#ifndef TESSERA_CONTRACT_WINDOW_PIECE_H
#define TESSERA_CONTRACT_WINDOW_PIECE_H

#include "moving_pages.h"
#include "tests/contract/contract_test.h"

/** This rank's memory, and what it is in the heap. */
typedef struct piece {
	unsigned char *memory;
	TSR_HEAP unsigned char *heap;
	size_t bytes;
} piece_t;

static inline bool is_on_gpu(const tsr_world_t *world)
{
	tsr_device_props_t props = {.size = sizeof props};
	return tsr_world_device(world, &props) == TSR_OK && props.ordinal >= 0;
}

/** `tessera check` must see all accesses, so the host makes calls there, as on GPUs. */
static inline bool by_calls(const tsr_world_t *world)
{
	return getenv("TESSERA_CHECK") != NULL || is_on_gpu(world);
}

static inline int register_piece(tsr_world_t *world, const char *name, piece_t *piece)
{
	TSR_HEAP void *heap = NULL;
	CHECK(tsr_window_register(world, piece->memory, piece->bytes, name, &heap) == TSR_OK);
	CHECK(heap != NULL);
	piece->heap = (TSR_HEAP unsigned char *)heap;
	return 0;
}

/* While the memory is a window: */

static inline int write_piece(tsr_world_t *world, const piece_t *piece, size_t at, const void *from,
			      size_t bytes)
{
	if (by_calls(world))
		return tsr_memcpy_to_heap(world, piece->heap + at, from, bytes) == TSR_OK ? 0 : 1;
	memcpy(piece->memory + at, from, bytes);
	return 0;
}

static inline int read_piece(tsr_world_t *world, const piece_t *piece, size_t at, void *to,
			     size_t bytes)
{
	if (by_calls(world))
		return tsr_memcpy_from_heap(world, to, piece->heap + at, bytes) == TSR_OK ? 0 : 1;
	memcpy(to, piece->memory + at, bytes);
	return 0;
}

/* While it is none. Collective on GPUs, as every rank does the same. */

static inline int write_memory(tsr_world_t *world, const piece_t *piece, size_t at,
			       const void *from, size_t bytes)
{
	piece_t window = *piece;
	if (is_on_gpu(world)) {
		CHECK(register_piece(world, "written", &window) == 0);
		CHECK(tsr_memcpy_to_heap(world, window.heap + at, from, bytes) == TSR_OK);
		CHECK(tsr_window_release(world, window.heap) == TSR_OK);
	} else {
		memcpy(piece->memory + at, from, bytes);
	}
	return 0;
}

static inline int read_memory(tsr_world_t *world, const piece_t *piece, size_t at, void *to,
			      size_t bytes)
{
	piece_t window = *piece;
	if (is_on_gpu(world)) {
		CHECK(register_piece(world, "read", &window) == 0);
		CHECK(tsr_memcpy_from_heap(world, to, window.heap + at, bytes) == TSR_OK);
		CHECK(tsr_window_release(world, window.heap) == TSR_OK);
	} else {
		memcpy(to, piece->memory + at, bytes);
	}
	return 0;
}

/** All bytes of the memory get one value. */
static inline int set_memory(tsr_world_t *world, const piece_t *piece, int byte)
{
	unsigned char *bytes = (unsigned char *)malloc(piece->bytes);
	CHECK(bytes != NULL);
	memset(bytes, byte, piece->bytes);
	const int code = write_memory(world, piece, 0, bytes, piece->bytes);
	free(bytes);
	return code;
}

/** Whole units of the program's, at least so many bytes, with nothing but POISON in them. */
static inline int own_bytes(tsr_world_t *world, size_t bytes, piece_t *piece)
{
	const size_t unit = tsr_window_unit_bytes(world);
	void *memory = NULL;
	CHECK(unit >= 4096 && (unit & (unit - 1)) == 0, "%zu", unit);
	piece->bytes = (bytes + unit - 1) / unit * unit;
	CHECK(tsr_window_alloc(world, bytes, &memory) == TSR_OK && memory != NULL);
	CHECK((uintptr_t)memory % unit == 0);
	piece->memory = (unsigned char *)memory;
	return set_memory(world, piece, POISON);
}

static inline int own_units(tsr_world_t *world, size_t units, piece_t *piece)
{
	return own_bytes(world, units * tsr_window_unit_bytes(world), piece);
}

static inline int free_piece(tsr_world_t *world, const piece_t *piece)
{
	return tsr_window_free(world, piece->memory) == TSR_OK ? 0 : 1;
}

static inline int release_piece(tsr_world_t *world, const piece_t *piece)
{
	CHECK(tsr_window_release(world, piece->heap) == TSR_OK);
	return free_piece(world, piece);
}

/** Runs a body in every world, where pages can move. */
static inline void each_world(tsr_main_fn body)
{
	if (!pages_move())
		cr_skip_test("pages cannot be mapped a second time here");
	world_each(body, NULL);
}

/** A backend may have none, and says so. True: this world is one of those. */
static inline bool has_none(tsr_world_t *world)
{
	return tsr_window_unit_bytes(world) == 0;
}

static inline int check_none(tsr_world_t *world)
{
	unsigned char memory[64];
	TSR_HEAP void *heap = NULL;
	CHECK(tsr_window_register(world, memory, sizeof memory, "none", &heap) ==
	      TSR_ERR_UNSUPPORTED);
	CHECK(strstr(tsr_last_error(), "windows") != NULL && heap == NULL);
	return tsr_barrier(world) == TSR_OK ? 0 : 1;
}

#endif
