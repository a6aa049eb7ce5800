/*
 * Tensor maps, which describe a matrix to the copy engine. Views are made on
 * the device, so maps are too: from one of the host's, in shared memory, then
 * stored in global memory. The instructions are in hopper.h.
 */
#ifndef TESSERA_CUDA_TENSORMAP_H
#define TESSERA_CUDA_TENSORMAP_H

#include "cuda/dev/hopper.h"
#include "cuda/dev/shared.h"

/**
 * A matrix in global memory that a map can describe: row-major, with 16-bit
 * elements.
 */
typedef struct tsr_cuda_matrix {
	uint64_t data, rows, cols, ld;
} tsr_cuda_matrix_t;

/**
 * Whether the copy engine can read a view: its addresses are multiples of 16
 * bytes, and its extents fit into 31 bits.
 */
TSR_DEV bool tsr_cuda_is_mappable(tsr_view_t view)
{
	return view.space != TSR_SPACE_SHARED && (uintptr_t)view.data % 16 == 0 &&
	       view.ld % 8 == 0 && view.rows > 0 && view.cols > 0 && view.rows < INT32_MAX &&
	       view.cols < INT32_MAX;
}

/** Tells later readers that the place's map now describes `matrix`. */
TSR_DEV void tsr_cuda_map_tell(tsr_cuda_place_t *place, const tsr_cuda_matrix_t &matrix)
{
	tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->data, matrix.data);
	tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->rows, matrix.rows);
	tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->cols, matrix.cols);
	tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->ld, matrix.ld);
}

/**
 * The matrix for which the map of this place was made. Blocks of one
 * multiprocessor run one after the other, so relaxed accesses are enough.
 */
TSR_DEV tsr_cuda_matrix_t tsr_cuda_map_made(tsr_cuda_place_t *place)
{
	return {tsr_port_load<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->data),
		tsr_port_load<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->rows),
		tsr_port_load<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->cols),
		tsr_port_load<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->ld)};
}

TSR_DEV bool tsr_cuda_is_same(const tsr_cuda_matrix_t &x, const tsr_cuda_matrix_t &y)
{
	return ((x.data ^ y.data) | (x.rows ^ y.rows) | (x.cols ^ y.cols) | (x.ld ^ y.ld)) == 0;
}

/**
 * A warp: returns the map of `matrix`, stored in `place`, whose current map was
 * made for `before`. `made` is 128 bytes of shared memory, aligned to 128.
 */
TSR_DEV const void *tsr_cuda_map(int lane, uint32_t *made, const tsr_cuda_workspace_t *workspace,
				 tsr_cuda_place_t *place, const tsr_cuda_matrix_t &before,
				 const tsr_cuda_matrix_t &matrix)
{
	if (!__all_sync(~0u, tsr_cuda_is_same(before, matrix))) {
		made[lane] = ((const uint32_t *)workspace->first.map)[lane];
		__syncwarp();
		if (lane == 0)
			tsr_cuda_map_change(tsr_cuda_shared_address(made), matrix.data, matrix.rows,
					    matrix.cols, matrix.ld);
		__syncwarp();
		tsr_cuda_map_copy(place->map, tsr_cuda_shared_address(made));
		if (lane == 0)
			tsr_cuda_map_tell(place, matrix);
		__syncwarp();
	}
	tsr_cuda_map_acquire(place->map);
	return place->map;
}

/*
 * ---- stacks: matrices of one shape, one of which begins at each row. The
 * third dimension of the map counts rows too. So a box is cut at the extents of
 * its own matrix, wherever that begins.
 */

/**
 * One thread: returns the map of the stack whose first matrix this is, stored
 * in `place`. One thread, because a loader without a gate is one thread; tasks
 * rarely need a new stack.
 */
TSR_DEV const void *tsr_cuda_stack(const tsr_cuda_workspace_t *workspace, tsr_cuda_place_t *place,
				   const tsr_cuda_matrix_t &matrix)
{
	if (!tsr_cuda_is_same(tsr_cuda_map_made(place), matrix)) {
		TSR_GPU_NO_UNROLL
		for (int i = 0; i < TSR_CUDA_MAP_BYTES / 4; i++)
			((uint32_t *)place->map)[i] = ((const uint32_t *)workspace->stack.map)[i];
		tsr_cuda_map_change_stack(place->map, matrix.data, matrix.rows, matrix.cols,
					  matrix.ld);
		tsr_cuda_map_tell(place, matrix);
	}
	tsr_cuda_map_acquire(place->map);
	return place->map;
}

#endif
