/*
 * A stand-in for backends/cuda/dev/wgmma.h. A product reads its operands, and
 * changes its sums, when the warpgroup awaits it, which is as late as the
 * hardware may. So a stage that is handed back too early, or a register that is
 * used too early, shows. PTX ISA 8.0, section 9.7.15.5: the layouts.
 */
#ifndef TESSERA_LOCKSTEP_WGMMA_H
#define TESSERA_LOCKSTEP_WGMMA_H

#include <string.h>

/** A product that a thread has started. `held`: the first operand is in registers. */
struct lockstep_product {
	void (*make)(const lockstep_product &);
	float *sum;
	const uint32_t *held;
	uint64_t a, b;
	bool begins;
	int group;
};

/** Those of a thread that have not been awaited: the hardware's pipeline. */
enum { LOCKSTEP_PRODUCTS = 64 };
inline thread_local lockstep_product lockstep_started[LOCKSTEP_PRODUCTS];
inline thread_local int lockstep_products, lockstep_groups;

/** Where the warps of a warpgroup meet. */
enum { LOCKSTEP_WARPGROUPS = TSR_CUDA_MAIN_THREADS / TSR_CUDA_WARPGROUP_THREADS };
struct lockstep_meetings {
	pthread_barrier_t meet[LOCKSTEP_WARPGROUPS];
	lockstep_meetings()
	{
		for (pthread_barrier_t &each : meet)
			pthread_barrier_init(&each, nullptr, TSR_CUDA_WARPGROUP_THREADS);
	}
};
inline lockstep_meetings lockstep_warpgroups;

TSR_DEV void lockstep_start(lockstep_product product)
{
	if (lockstep_products == LOCKSTEP_PRODUCTS)
		lockstep_wrong("too many products are in flight", 0);
	product.group = lockstep_groups;
	lockstep_started[lockstep_products++] = product;
}

TSR_DEV void tsr_cuda_wgmma_begin(void)
{
}

TSR_DEV void tsr_cuda_wgmma_commit(void)
{
	lockstep_groups++;
}

template <int PENDING> TSR_DEV void tsr_cuda_wgmma_await(void)
{
	int made = 0;
	while (made < lockstep_products &&
	       lockstep_started[made].group < lockstep_groups - PENDING) {
		lockstep_started[made].make(lockstep_started[made]);
		made++;
	}
	lockstep_products -= made;
	memmove(lockstep_started, lockstep_started + made,
		(size_t)lockstep_products * sizeof lockstep_started[0]);
	/* the tensor cores multiply a warpgroup's rows together */
	pthread_barrier_wait(&lockstep_warpgroups
				      .meet[lockstep_thread / TSR_CUDA_WARPGROUP_THREADS]);
}

/** The warpgroup meets before the flag is set, before it is read, and before it is cleared. */
TSR_DEV bool tsr_cuda_any_of_group(int group, bool says)
{
	pthread_barrier_t *meet =
		&lockstep_warpgroups.meet[lockstep_thread / TSR_CUDA_WARPGROUP_THREADS];
	static int found[2];
	if (lockstep_thread % TSR_CUDA_WARPGROUP_THREADS == 0)
		__atomic_store_n(&found[group], 0, __ATOMIC_RELAXED);
	pthread_barrier_wait(meet);
	if (says)
		__atomic_store_n(&found[group], 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(meet);
	const bool any = __atomic_load_n(&found[group], __ATOMIC_RELAXED) != 0;
	pthread_barrier_wait(meet);
	return any;
}

template <int COUNT> TSR_DEV void tsr_cuda_pin(float *)
{
}

template <int COUNT> TSR_DEV void tsr_cuda_pin(uint32_t *)
{
}

/**
 * An element of an operand in shared memory. `along`: K runs along the rows of
 * 128 bytes, which are the operand's; else its columns do, 64 of them.
 */
template <typename D> TSR_DEV float lockstep_element(uint64_t operand, bool along, int row, int k)
{
	const uint32_t first = (uint32_t)(operand & 0x3fff) << 4,
		       leading = (uint32_t)(operand >> 16 & 0x3fff) << 4,
		       stride = (uint32_t)(operand >> 32 & 0x3fff) << 4;
	const int down = along ? row : k, across = along ? k : row % 64;
	const uint32_t place = first + (along ? 0 : (uint32_t)(row / 64) * leading) +
			       (uint32_t)(down / 8) * stride + (uint32_t)(down % 8) * 128 +
			       (uint32_t)across * 2;
	uint16_t bits;
	memcpy(&bits, tsr_port_dynamic_shared() + lockstep_swizzled(place), sizeof bits);
	return tsr_gpu_decode<float, D>(bits);
}

/** A thread's sums += x * B, where x are its two rows of A. */
template <int N, typename D>
TSR_DEV void lockstep_add(float *sum, const float (&x)[2][16], uint64_t b, bool along)
{
	const int lane = lockstep_thread % LOCKSTEP_LANES;
	for (int i = 0; i < N / 2; i++)
		for (int k = 0; k < 16; k++)
			sum[i] +=
				x[i / 2 % 2][k] *
				lockstep_element<D>(b, along, i / 4 * 8 + lane % 4 * 2 + i % 2, k);
}

template <int N, typename D, bool A_ALONG, bool B_ALONG> struct tsr_cuda_wgmma {
	static void make(const lockstep_product &p)
	{
		const int row = lockstep_thread / LOCKSTEP_LANES % 4 * 16 +
				lockstep_thread % LOCKSTEP_LANES / 4;
		float x[2][16];
		for (int i = 0; i < N / 2 && p.begins; i++)
			p.sum[i] = 0;
		for (int i = 0; i < 32; i++)
			x[i / 16][i % 16] =
				lockstep_element<D>(p.a, A_ALONG, row + i / 16 * 8, i % 16);
		lockstep_add<N, D>(p.sum, x, p.b, B_ALONG);
	}
	static void begin(float *sum, uint64_t a, uint64_t b)
	{
		lockstep_start({make, sum, nullptr, a, b, true, 0});
	}
	static void add(float *sum, uint64_t a, uint64_t b)
	{
		lockstep_start({make, sum, nullptr, a, b, false, 0});
	}
};

template <int N, typename D> struct tsr_cuda_wgmma_held {
	static void make(const lockstep_product &p)
	{
		lockstep_wave_t *warp = &lockstep_waves[lockstep_thread / LOCKSTEP_LANES];
		const int lane = lockstep_thread % LOCKSTEP_LANES;
		float x[2][16];
		for (int i = 0; i < 8; i++)
			warp->number[lane][i] =
				tsr_gpu_decode<float, D>((uint16_t)(p.held[i / 2] >> i % 2 * 16));
		__syncwarp();
		for (int i = 0; i < 32; i++) {
			const int k = i % 16, owner = lane / 4 * 4 + k % 8 / 2;
			x[i / 16][k] = warp->number[owner][(k / 8 * 2 + i / 16) * 2 + k % 2];
		}
		__syncwarp();
		lockstep_add<N, D>(p.sum, x, p.b, false);
	}
	static void add(float *sum, const uint32_t *a, uint64_t b)
	{
		lockstep_start({make, sum, a, 0, b, false, 0});
	}
};

#endif
