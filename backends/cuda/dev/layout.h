/* How fragments are dealt to threads: sums of products as the tensor cores leave them, for the tiles that they multiply. */
#ifndef TESSERA_CUDA_LAYOUT_H
#define TESSERA_CUDA_LAYOUT_H

template <typename D> constexpr bool tsr_cuda_multiplies = false;
template <> constexpr bool tsr_cuda_multiplies<tsr_gpu_bf16> = true;
template <> constexpr bool tsr_cuda_multiplies<tsr_gpu_f16> = true;

/** Whether the tile has so few rows that the tensor cores make its transposed product: their blocks have 64 rows, and any multiple
 * of 8 columns. */
template <typename T> constexpr bool tsr_cuda_is_flat = ((int)T::M == 16 || (int)T::M == 64) && (int)T::N % 128 == 0;

/** Whether the tensor cores make a tile's product: T's extents divide into their blocks, for two warpgroups of consumers. */
template <typename T>
constexpr bool tsr_cuda_is_fast = tsr_cuda_multiplies<typename T::dtype_t> && (int)T::K == TSR_CUDA_TILE_DEPTH &&
				  ((int)T::N % 64 == 0 || (int)T::N == 224) &&
				  (((int)T::M == 128 && (int)T::N <= 256) || ((int)T::M == 256 && (int)T::N <= 128) ||
				   (tsr_cuda_is_flat<T> && (int)T::N <= 256));

/**
 * Each warpgroup has half of the rows, in bands of 64. Of a band a warp has 16 rows and a thread four elements of every eight
 * columns: two that are neighbours, and two eight rows below. PTX ISA 8.0, section 9.7.15.5, matrix D. Of a flat tile, whose
 * transposed product that is, each has half of the columns in bands of 64, and so on with rows and columns exchanged.
 */
template <typename F> struct tsr_port_layout {
	typedef typename F::tile_t tile_t;
	enum {
		dealt = F::role == TSR_GPU_ACCUMULATOR && tsr_cuda_is_fast<tile_t>,
		flat = tsr_cuda_is_flat<tile_t>,
		across = flat ? (int)tile_t::M : (int)tile_t::N,         /* of the block that the tensor cores make: its columns */
		bands = (flat ? (int)tile_t::N : (int)tile_t::M) / 128,  /* of a warpgroup */
		band_elements = 64 * across / TSR_CUDA_WARPGROUP_THREADS /* of a thread */
	};
	TSR_DEV int together(int threads)
	{
		return dealt && threads == TSR_CUDA_CONSUMER_THREADS ? (flat ? 1 : 2) : 0;
	}
	/** Row and column of the block. */
	TSR_DEV int down(const tsr_coop_t *coop, int i)
	{
		int warpgroup = coop->thread / TSR_CUDA_WARPGROUP_THREADS, warp = coop->thread / 32 % 4, lane = coop->thread % 32;
		return (warpgroup * bands + i / band_elements) * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
	}
	TSR_DEV int along(const tsr_coop_t *coop, int i)
	{
		return i % band_elements / 4 * 8 + coop->thread % 4 * 2 + i % 2;
	}
	TSR_DEV int row(const tsr_coop_t *coop, int i)
	{
		return flat ? along(coop, i) : down(coop, i);
	}
	TSR_DEV int col(const tsr_coop_t *coop, int i)
	{
		return flat ? down(coop, i) : along(coop, i);
	}
};

#endif
