/*
 * A stand-in for backends/cuda/dev/mma.h: the lanes of a warp meet, and sum up
 * by the published layout.
 */
#ifndef TESSERA_LOCKSTEP_MMA_H
#define TESSERA_LOCKSTEP_MMA_H

template <typename D> struct tsr_cuda_mma {
	static void add(float *sum, const uint32_t a[4], uint32_t b0, uint32_t b1)
	{
		lockstep_wave_t *warp = &lockstep_waves[lockstep_thread / LOCKSTEP_LANES];
		const int lane = lockstep_thread % LOCKSTEP_LANES;
		const uint32_t words[6] = {a[0], a[1], a[2], a[3], b0, b1};
		for (int i = 0; i < 12; i++)
			warp->number[lane][i] =
				tsr_gpu_decode<float, D>((uint16_t)(words[i / 2] >> i % 2 * 16));
		pthread_barrier_wait(&warp->meet);
		for (int reg = 0; reg < 4; reg++)
			for (int k = 0; k < 16; k++) {
				const int row = lane / 4 + reg / 2 * 8,
					  col = lane % 4 * 2 + reg % 2, of_k = k % 8 / 2;
				const float x = warp->number[row % 8 * 4 + of_k]
							    [(k / 8 * 2 + row / 8) * 2 + k % 2];
				sum[reg] += x * warp->number[col * 4 + of_k][8 + k / 8 * 2 + k % 2];
			}
		pthread_barrier_wait(&warp->meet);
	}
};

#endif
