/*
 * What a product loses beside a busy link. A cuBLAS product runs on GPU 0 (with `both`, on both GPUs) while something else moves
 * memory: the copy engines, plain stores or loads by some multiprocessors, over the link or at home. Printed beside the product's
 * time: the rate of the moves, and the clock and power that the driver reports. Needs two GPUs that reach each other, and cuBLAS.
 *
 *     beside [M N K]      default: 8192 2048 8192, what each of four ranks computes of a product of 8192 cubed
 *
 * A product that slows down beside the copy engines as much as beside stores does so for power or memory; one that slows down
 * beside stores alone does so for the way that multiprocessors reach memory.
 */
#include <algorithm>
#include <vector>

#include <unistd.h>

#include "product.h"

enum {
	GPUS = 2,
	PRODUCTS = 8,
	SAMPLES = 21,
	MOVERS = 16,
	MOVE_BYTES = 64 << 20,
	MOVE_NS = 12000000
};

/* ------------------------------------------------------------------ what the driver says */

static void *nvml(const char *symbol)
{
	static const char *const names[] = {"libnvidia-ml.so.1", nullptr};
	return find(names, symbol);
}

/** SM clock in MHz and power in W of a GPU; 0 where the driver does not say. */
static void ask_driver(int gpu, unsigned *mhz, unsigned *watts)
{
	auto init = (int (*)(void))nvml("nvmlInit_v2");
	auto by_bus = (int (*)(const char *, void **))nvml("nvmlDeviceGetHandleByPciBusId_v2");
	auto clock = (int (*)(void *, int, unsigned *))nvml("nvmlDeviceGetClockInfo");
	auto power = (int (*)(void *, unsigned *))nvml("nvmlDeviceGetPowerUsage");
	char bus[32];
	void *device;
	*mhz = *watts = 0;
	TRY(cudaDeviceGetPCIBusId(bus, sizeof bus, gpu));
	if (!init || !by_bus || !clock || !power || init() != 0 || by_bus(bus, &device) != 0)
		return;
	clock(device, 1, mhz);
	if (power(device, watts) == 0)
		*watts /= 1000;
}

/* ------------------------------------------------------------------ the moves */

/** MOVERS blocks, for `for_ns`: `src` to `dst` again and again; bytes by each block to `moved`. */
__global__ void move(uint4 *dst, const uint4 *src, size_t units, uint64_t for_ns, unsigned long long *moved)
{
	const size_t step = (size_t)gridDim.x * blockDim.x, begin = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	const uint64_t end = now_ns() + for_ns;
	enum { IN_FLIGHT = 8 };
	unsigned long long bytes = 0;
	for (size_t i = begin; now_ns() < end; i = i + 2 * IN_FLIGHT * step <= units ? i + IN_FLIGHT * step : begin) {
		uint4 held[IN_FLIGHT];
		if (units == 0)
			continue;
#pragma unroll
		for (int j = 0; j < IN_FLIGHT; j++)
			held[j] = src[i + j * step];
#pragma unroll
		for (int j = 0; j < IN_FLIGHT; j++)
			dst[i + j * step] = held[j];
		bytes += IN_FLIGHT * blockDim.x * sizeof(uint4);
	}
	if (threadIdx.x == 0)
		moved[blockIdx.x] = bytes;
}

enum kind_t { NOTHING, ENGINE, STORES, LOADS, AT_HOME, SPIN };

typedef struct mover {
	enum kind_t kind;
	int gpu;
	cudaStream_t stream;
	cudaEvent_t begin, end; /* of the copy engine's copies */
	int copies;
	char *mine, *more, *theirs; /* memory of this GPU, twice, and of the other */
	unsigned long long *moved;
} mover_t;

static mover_t mover_create(int gpu, enum kind_t kind)
{
	mover_t m = {};
	m.kind = kind, m.gpu = gpu;
	TRY(cudaSetDevice(1 - gpu));
	TRY(cudaMalloc(&m.theirs, MOVE_BYTES));
	TRY(cudaSetDevice(gpu));
	TRY(cudaMalloc(&m.mine, MOVE_BYTES));
	TRY(cudaMalloc(&m.more, MOVE_BYTES));
	TRY(cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking));
	TRY(cudaEventCreate(&m.begin));
	TRY(cudaEventCreate(&m.end));
	TRY(cudaMalloc(&m.moved, MOVERS * sizeof *m.moved));
	return m;
}

static void mover_destroy(mover_t *m)
{
	cudaFree(m->mine), cudaFree(m->more), cudaFree(m->theirs), cudaFree(m->moved);
	cudaStreamDestroy(m->stream);
}

static void mover_start(mover_t *m, int copies)
{
	char *dst = m->kind == STORES || m->kind == ENGINE ? m->theirs : m->mine;
	char *src = m->kind == LOADS ? m->theirs : m->kind == AT_HOME ? m->more : m->mine;
	TRY(cudaSetDevice(m->gpu));
	TRY(cudaMemsetAsync(m->moved, 0, MOVERS * sizeof *m->moved, m->stream));
	m->copies = m->kind == ENGINE ? copies : 0;
	TRY(cudaEventRecord(m->begin, m->stream));
	for (int i = 0; i < m->copies; i++)
		TRY(cudaMemcpyAsync(dst, src, MOVE_BYTES, cudaMemcpyDefault, m->stream));
	TRY(cudaEventRecord(m->end, m->stream));
	if (m->kind > ENGINE)
		move<<<MOVERS, 1024, 0, m->stream>>>((uint4 *)dst, (const uint4 *)src,
						     m->kind == SPIN ? 0 : MOVE_BYTES / sizeof(uint4), MOVE_NS, m->moved);
	TRY(cudaGetLastError());
}

/** Ends the moves; GB/s while they went on, which is longer than the products take. */
static double mover_stop(mover_t *m)
{
	unsigned long long moved[MOVERS], sum = 0;
	TRY(cudaStreamSynchronize(m->stream));
	if (m->copies > 0) {
		float ms;
		TRY(cudaEventElapsedTime(&ms, m->begin, m->end));
		return (double)m->copies * MOVE_BYTES / ms / 1e6;
	}
	TRY(cudaMemcpy(moved, m->moved, sizeof moved, cudaMemcpyDefault));
	for (int i = 0; i < MOVERS; i++)
		sum += moved[i];
	return m->kind == SPIN ? 0 : (double)sum / MOVE_NS;
}

/* ------------------------------------------------------------------ one row */

#define SOONER_S 300e-6 /* movers start before the products */

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** One sample: PRODUCTS products on each of `gpus` GPUs while the movers move; ms a product of GPU 0. */
static double sample(const product_t *products, int gpus, mover_t *movers, int count, double *rate)
{
	for (int i = 0; i < count; i++)
		mover_start(&movers[i], PRODUCTS * 8);
	usleep((useconds_t)(SOONER_S * 1e6));
	for (int g = 0; g < gpus; g++) {
		TRY(cudaSetDevice(g));
		TRY(cudaEventRecord(products[g].begin, products[g].stream));
		for (int i = 0; i < PRODUCTS; i++)
			product_start(&products[g]);
		TRY(cudaEventRecord(products[g].end, products[g].stream));
	}
	TRY(cudaEventSynchronize(products[0].end));
	*rate = 0;
	for (int i = 0; i < count; i++)
		*rate += mover_stop(&movers[i]) / count;
	TRY(cudaDeviceSynchronize());
	float ms;
	TRY(cudaEventElapsedTime(&ms, products[0].begin, products[0].end));
	return ms / PRODUCTS;
}

static void row(const char *name, const product_t *products, int gpus, enum kind_t kind, bool out, bool in)
{
	std::vector<mover_t> movers;
	std::vector<double> times, rates;
	if (out)
		movers.push_back(mover_create(0, kind));
	if (in)
		movers.push_back(mover_create(1, kind));
	for (int i = 0; i < SAMPLES + 3; i++) {
		double rate, ms = sample(products, gpus, movers.data(), (int)movers.size(), &rate);
		if (i >= 3)
			times.push_back(ms), rates.push_back(rate);
		usleep(30000); /* as tessera bench rests: else the first row is the fastest */
	}
	for (mover_t &m : movers)
		mover_destroy(&m);
	std::sort(times.begin(), times.end());
	std::sort(rates.begin(), rates.end());
	printf("%-44s %7.4f ms  (%.4f .. %.4f)  %6.1f GB/s\n", name, times[SAMPLES / 2], times[SAMPLES / 10],
	       times[SAMPLES * 9 / 10], rates[SAMPLES / 2]);
	fflush(stdout);
}

/** Without rests, for a second: what clock and power settle at. */
static void settled(const char *name, const product_t *products, int gpus, enum kind_t kind, bool out, bool in)
{
	std::vector<mover_t> movers;
	if (out)
		movers.push_back(mover_create(0, kind));
	if (in)
		movers.push_back(mover_create(1, kind));
	double end = now_s() + 1.5, ms = 0, rate;
	unsigned mhz = 0, watts = 0;
	while (now_s() < end) {
		for (int i = 0; i < 20; i++)
			ms = sample(products, gpus, movers.data(), (int)movers.size(), &rate);
		ask_driver(0, &mhz, &watts);
	}
	for (mover_t &m : movers)
		mover_destroy(&m);
	printf("%-44s %7.4f ms, without rests: %u MHz, %u W\n", name, ms, mhz, watts);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const int m = argc > 3 ? atoi(argv[1]) : 8192, n = argc > 3 ? atoi(argv[2]) : 2048, k = argc > 3 ? atoi(argv[3]) : 8192;
	int gpus = 0;
	if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < GPUS) {
		fprintf(stderr, "beside: needs two GPUs, and there are %d\n", gpus);
		return 77;
	}
	for (int g = 0; g < GPUS; g++) {
		TRY(cudaSetDevice(g));
		TRY(cudaDeviceEnablePeerAccess(1 - g, 0));
	}
	product_t products[GPUS] = {product_create(0, m, n, k), product_create(1, m, n, k)};
	printf("cuBLAS, %d x %d x %d, bf16, random; median of %d, tenth and ninetieth percentile; moves of %d blocks\n", m, n, k,
	       SAMPLES, MOVERS);
	row("alone", products, 1, NOTHING, false, false);
	row("alone, on both GPUs", products, 2, NOTHING, false, false);
	row("copy engine sends", products, 1, ENGINE, true, false);
	row("copy engine receives", products, 1, ENGINE, false, true);
	row("copy engines both ways", products, 1, ENGINE, true, true);
	row("copy engines both ways, on both GPUs", products, 2, ENGINE, true, true);
	row("stores to the peer", products, 1, STORES, true, false);
	row("the peer stores here", products, 1, STORES, false, true);
	row("stores both ways, on both GPUs", products, 2, STORES, true, true);
	row("loads from the peer", products, 1, LOADS, true, false);
	row("the peer loads from here", products, 1, LOADS, false, true);
	row("loads both ways, on both GPUs", products, 2, LOADS, true, true);
	row("16 blocks that move nothing", products, 1, SPIN, true, false);
	row("copies at home", products, 1, AT_HOME, true, false);
	row("alone, again", products, 1, NOTHING, false, false);
	settled("alone", products, 1, NOTHING, false, false);
	settled("copy engines both ways", products, 1, ENGINE, true, true);
	settled("stores to the peer", products, 1, STORES, true, false);
	return 0;
}
