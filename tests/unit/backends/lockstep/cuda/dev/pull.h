/*
 * A stand-in for backends/cuda/dev/pull.h: a pull copies at once, and lanes of a
 * warp that need each other's values meet.
 */
#ifndef TESSERA_LOCKSTEP_PULL_H
#define TESSERA_LOCKSTEP_PULL_H

#include <string.h>

typedef struct __attribute__((aligned(16))) tsr_cuda_unit {
	uint32_t word[4];
} tsr_cuda_unit_t;

TSR_DEV void tsr_cuda_pull(void *to, const void *from, bool is_there)
{
	if (is_there)
		memcpy(to, from, sizeof(tsr_cuda_unit_t));
	else
		memset(to, 0, sizeof(tsr_cuda_unit_t));
}

TSR_DEV void tsr_cuda_pull_group(void)
{
}

template <int LEFT> TSR_DEV void tsr_cuda_pull_await(void)
{
}

TSR_DEV tsr_cuda_unit_t tsr_cuda_unit_read(const void *from)
{
	return *(const tsr_cuda_unit_t *)from;
}

TSR_DEV float tsr_cuda_larger(float x, float y)
{
	return __builtin_fmaxf(x, y);
}

/** The values of all lanes of the warp; they meet before and afterwards. */
struct lockstep_values {
	lockstep_wave_t *warp = &lockstep_waves[lockstep_thread / LOCKSTEP_LANES];
	explicit lockstep_values(float x)
	{
		warp->number[lockstep_thread % LOCKSTEP_LANES][0] = x;
		pthread_barrier_wait(&warp->meet);
	}
	~lockstep_values()
	{
		pthread_barrier_wait(&warp->meet);
	}
	float of(int lane) const
	{
		return warp->number[lane][0];
	}
};

TSR_DEV void tsr_cuda_lanes_meet(void)
{
	pthread_barrier_wait(&lockstep_waves[lockstep_thread / LOCKSTEP_LANES].meet);
}

TSR_DEV float tsr_cuda_quad_most(float x)
{
	const lockstep_values all(x);
	const int first = lockstep_thread % LOCKSTEP_LANES / 4 * 4;
	return __builtin_fmaxf(__builtin_fmaxf(all.of(first), all.of(first + 1)),
			       __builtin_fmaxf(all.of(first + 2), all.of(first + 3)));
}

TSR_DEV float tsr_cuda_quad_sum(float x)
{
	const lockstep_values all(x);
	const int first = lockstep_thread % LOCKSTEP_LANES / 4 * 4;
	return (all.of(first) + all.of(first + 1)) + (all.of(first + 2) + all.of(first + 3));
}

TSR_DEV bool tsr_cuda_any(bool x)
{
	const lockstep_values all(x ? 1 : 0);
	bool any = false;
	for (int lane = 0; lane < LOCKSTEP_LANES; lane++)
		any = any || all.of(lane) != 0;
	return any;
}

template <typename D> TSR_DEV uint32_t tsr_cuda_pair(float first, float second)
{
	return (uint32_t)tsr_gpu_encode<D>(first) | (uint32_t)tsr_gpu_encode<D>(second) << 16;
}

#endif
