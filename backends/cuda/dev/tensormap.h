/*
 * Tensor maps, by which the copy engine finds boxes of a matrix. Views are made on the device, so maps are too: from one of the
 * host's, in shared memory, then kept in global memory. PTX ISA 8.3, sections 9.7.9.27 (tensormap.replace) and 9.7.13 (its proxy).
 */
#ifndef TESSERA_CUDA_TENSORMAP_H
#define TESSERA_CUDA_TENSORMAP_H

#include "cuda/dev/hopper.h"
#include "cuda/dev/shared.h"

/** A matrix in global memory as maps take it: row-major, of 16-bit elements. */
typedef struct tsr_cuda_matrix {
	uint64_t data, rows, cols, ld;
} tsr_cuda_matrix_t;

/** Whether the copy engine can read a view: its addresses are multiples of 16 bytes, and its extents fit 31 bits. */
TSR_DEV bool tsr_cuda_is_mappable(tsr_view_t view)
{
	return view.space != TSR_SPACE_SHARED && (uintptr_t)view.data % 16 == 0 && view.ld % 8 == 0 && view.rows > 0 &&
	       view.cols > 0 && view.rows < INT32_MAX && view.cols < INT32_MAX;
}

/** One thread: makes the map at shared address `map`, a copy of the host's, that of a matrix. */
TSR_DEV void tsr_cuda_map_change(uint32_t map, tsr_cuda_matrix_t matrix)
{
	uint64_t at = map;
	__asm__ volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"l"(at), "l"(matrix.data)
			 : "memory");
	__asm__ volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"l"(at),
			 "r"((uint32_t)matrix.cols)
			 : "memory");
	__asm__ volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"l"(at),
			 "r"((uint32_t)matrix.rows)
			 : "memory");
	__asm__ volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"l"(at), "l"(matrix.ld * 2)
			 : "memory");
}

/** The matrix that the map of this place was made for. Blocks of one multiprocessor follow one another, so relaxed accesses do. */
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

/** A warp: the map of `matrix`, kept in `place`, whose map was made for `before`. `made` is 128 bytes of shared memory, aligned to
 * as much. */
TSR_DEV const void *tsr_cuda_map(int lane, uint32_t *made, const tsr_cuda_workspace_t *workspace, tsr_cuda_place_t *place,
				 const tsr_cuda_matrix_t &before, const tsr_cuda_matrix_t &matrix)
{
	if (!__all_sync(~0u, tsr_cuda_is_same(before, matrix))) {
		made[lane] = ((const uint32_t *)workspace->first.map)[lane];
		__syncwarp();
		if (lane == 0)
			tsr_cuda_map_change(tsr_cuda_shared_address(made), matrix);
		__syncwarp();
		__asm__ volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
				 "[%0], [%1], 128;" ::"l"(__cvta_generic_to_global(place->map)),
				 "r"(tsr_cuda_shared_address(made))
				 : "memory");
		if (lane == 0) {
			tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->data, matrix.data);
			tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->rows, matrix.rows);
			tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->cols, matrix.cols);
			tsr_port_store<TSR_RELAXED, TSR_SCOPE_DEVICE>(&place->ld, matrix.ld);
		}
		__syncwarp();
	}
	/* The copy engine may hold what stood here before. */
	__asm__ volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(place->map) : "memory");
	return place->map;
}

#endif
