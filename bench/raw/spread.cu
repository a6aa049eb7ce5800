/*
 * What every GPU can send to all others at one time: its columns of an M x N matrix of 16-bit elements, tile by tile, to the same
 * place on the others. By few blocks or many, that load a tile for each peer or once for all, and by copy engines; alone, and beside
 * cuBLAS products (which take other kernels where fewer multiprocessors are left to them). Needs two GPUs or more that reach each
 * other, and cuBLAS.
 *
 *     spread [M N K]      default: 8192 36864 4608
 */
#include <algorithm>
#include <vector>

#include "product.h"

enum {
	MOST_GPUS = 8,
	MULTIPROCESSORS = 132,
	TILE_ROWS = 128,
	TILE_ROW_BYTES = 512,
	THREADS = 384,
	ALL_SHARED = 200 << 10, /* bytes: so that a block has its multiprocessor to itself */
	IN_FLIGHT = 8,          /* rows that a thread has on their way */
	TURNS = 3,
	BANDS = 4, /* of a turn by copy engines */
	PRODUCTS = 8,
	TIMED = 2, /* of these */
	SAMPLES = 5
};

/* ------------------------------------------------------------------ by blocks */

struct spread_t {
	char *c[MOST_GPUS]; /* mine first, then those of the peers in turn */
	int gpus, rows, tiles_n;
	size_t pitch, first; /* bytes; my columns begin at `first` */
};

/** To the peers from `peer` to before `end`: 16 bytes a thread of a warp, a row each. */
__device__ static void send_tile(const spread_t &a, size_t begin, int peer, int end)
{
	for (int done = 0; done < TILE_ROWS; done += IN_FLIGHT) {
		const size_t at = begin + threadIdx.x % 32 * 16 + done * a.pitch;
		uint4 held[IN_FLIGHT];
#pragma unroll
		for (int j = 0; j < IN_FLIGHT; j++)
			held[j] = *(const uint4 *)(a.c[0] + at + j * a.pitch);
		for (int p = peer; p < end; p++)
#pragma unroll
			for (int j = 0; j < IN_FLIGHT; j++)
				*(uint4 *)(a.c[p] + at + j * a.pitch) = held[j];
	}
}

template <bool ONE_LOAD> __global__ void __launch_bounds__(THREADS) spread(const __grid_constant__ spread_t a)
{
	const int groups = THREADS / 32, count = a.rows / TILE_ROWS * a.tiles_n, in_group = 8 * a.tiles_n;
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = blockIdx.x * groups + threadIdx.x / 32; i < count; i += gridDim.x * groups) {
			const int m = i / in_group * 8 + i % in_group % 8, n = i % in_group / 8; /* as products order them */
			const size_t begin = (size_t)m * TILE_ROWS * a.pitch + a.first + (size_t)n * TILE_ROW_BYTES;
			for (int p = 1; p < a.gpus; p += ONE_LOAD ? a.gpus : 1)
				send_tile(a, begin, p, ONE_LOAD ? a.gpus : p + 1);
		}
}

/* ------------------------------------------------------------------ all GPUs at one time */

struct gpu_t {
	cudaStream_t sends, copies[MOST_GPUS];
	cudaEvent_t begin, end, copied[MOST_GPUS];
	char *c;
	product_t product;
};
static gpu_t gpu[MOST_GPUS];
static int gpus, m, n, k;

static void open_gpu(int i)
{
	gpu_t &g = gpu[i];
	g.product = product_create(i, m, n / gpus, k);
	for (int j = 0; j < gpus; j++) {
		TRY(cudaStreamCreateWithFlags(&g.copies[j], cudaStreamNonBlocking));
		TRY(cudaEventCreate(&g.copied[j]));
		if (j != i)
			TRY(cudaDeviceEnablePeerAccess(j, 0));
	}
	TRY(cudaStreamCreateWithFlags(&g.sends, cudaStreamNonBlocking));
	TRY(cudaEventCreate(&g.begin));
	TRY(cudaEventCreate(&g.end));
	TRY(cudaMalloc(&g.c, (size_t)m * n * 2));
	fill<<<1024, 256, 0, g.sends>>>((__nv_bfloat16 *)g.c, (size_t)m * n, 3);
	TRY(cudaDeviceSynchronize());
}

enum way_t { NOTHING, ENGINES, PEER_BY_PEER, ONE_LOAD };

/** Copies of all peers at one time, of each in bands. */
static void start_copies(gpu_t &g, const spread_t &a)
{
	const int rows = m / BANDS;
	for (int p = 1; p < gpus; p++) {
		TRY(cudaStreamWaitEvent(g.copies[p], g.begin));
		for (int band = 0; band < TURNS * BANDS; band++) {
			const size_t at = a.first + a.pitch * rows * (band % BANDS);
			TRY(cudaMemcpy2DAsync(a.c[p] + at, a.pitch, a.c[0] + at, a.pitch, a.tiles_n * TILE_ROW_BYTES, rows,
					      cudaMemcpyDefault, g.copies[p]));
		}
		TRY(cudaEventRecord(g.copied[p], g.copies[p]));
		TRY(cudaStreamWaitEvent(g.sends, g.copied[p]));
	}
}

static void start_sending(int i, way_t way, int blocks)
{
	spread_t a = {{}, gpus, m, n / gpus * 2 / TILE_ROW_BYTES, (size_t)n * 2, (size_t)(n / gpus) * 2 * i};
	const auto kernel = way == ONE_LOAD ? spread<true> : spread<false>;
	for (int j = 0; j < gpus; j++)
		a.c[j] = gpu[(i + j) % gpus].c;
	TRY(cudaSetDevice(i));
	TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ALL_SHARED));
	TRY(cudaEventRecord(gpu[i].begin, gpu[i].sends));
	if (way == ENGINES)
		start_copies(gpu[i], a);
	else if (way != NOTHING)
		kernel<<<blocks, THREADS, ALL_SHARED, gpu[i].sends>>>(a);
	TRY(cudaGetLastError());
	TRY(cudaEventRecord(gpu[i].end, gpu[i].sends));
}

static void start_products(const product_t &p, int i, int blocks)
{
	TRY(cudaSetDevice(i));
	((int (*)(void *, int))cublas("cublasSetSmCountTarget"))(p.handle, MULTIPROCESSORS - blocks);
	TRY(cudaEventRecord(p.begin, p.stream));
	for (int j = 0; j < PRODUCTS; j++) {
		if (j == TIMED)
			TRY(cudaEventRecord(p.end, p.stream));
		product_start(&p);
	}
}

/** One sample: the slowest GPU's times, ms. */
static void sample(way_t way, int blocks, bool multiply, float *sending, float *product)
{
	*sending = *product = 0;
	for (int i = 0; i < gpus; i++)
		start_sending(i, way, blocks);
	for (int i = 0; i < gpus && multiply; i++)
		start_products(gpu[i].product, i, blocks);
	for (int i = 0; i < gpus; i++) {
		float ms;
		TRY(cudaSetDevice(i));
		TRY(cudaDeviceSynchronize());
		TRY(cudaEventElapsedTime(&ms, gpu[i].begin, gpu[i].end));
		*sending = std::max(*sending, ms);
		if (!multiply)
			continue;
		TRY(cudaEventElapsedTime(&ms, gpu[i].product.begin, gpu[i].product.end));
		*product = std::max(*product, ms / TIMED);
	}
}

static double median(std::vector<float> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

static void row(const char *name, way_t way, int blocks, bool multiply)
{
	std::vector<float> sending(SAMPLES), product(SAMPLES);
	float warm[2];
	sample(way, blocks, multiply, &warm[0], &warm[1]);
	for (int i = 0; i < SAMPLES; i++)
		sample(way, blocks, multiply, &sending[i], &product[i]);
	const double rate = (double)TURNS * m * (n / gpus) * 2 * (gpus - 1) / median(sending) / 1e6;
	printf(" %-20s %6d", name, blocks);
	if (way == NOTHING)
		printf(" %10s %10s", "-", "-");
	else if (blocks == 0)
		printf(" %10.1f %10s", rate, "-");
	else
		printf(" %10.1f %10.2f", rate, rate / blocks);
	if (multiply)
		printf(" %10.4f", median(product));
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	m = argc > 3 ? atoi(argv[1]) : 8192, n = argc > 3 ? atoi(argv[2]) : 36864, k = argc > 3 ? atoi(argv[3]) : 4608;
	if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) {
		printf("skipped: %d GPU(s), two are needed\n", gpus);
		return 77;
	}
	gpus = std::min(gpus, (int)MOST_GPUS);
	if (m % (8 * TILE_ROWS) != 0 || n % (gpus * TILE_ROW_BYTES / 2) != 0) {
		fprintf(stderr, "spread: M is a multiple of %d, N of %d\n", 8 * TILE_ROWS, gpus * TILE_ROW_BYTES / 2);
		return 2;
	}
	for (int i = 0; i < gpus; i++)
		open_gpu(i);
	printf("# spread: %d GPUs, all at one time, %d x %d, products %d deep; GB/s out of a GPU, the slowest's\n", gpus, m, n, k);
	printf("# %-19s %6s %10s %10s %10s\n", "", "blocks", "GB/s", "a block", "product ms");
	for (bool multiply : {false, true}) {
		if (multiply)
			row("a product alone", NOTHING, 0, true);
		row("copy engines", ENGINES, 0, multiply);
		for (int blocks : {4, 8, 12, 16, 24, 132}) {
			if (multiply && blocks > 24)
				break;
			row("peer by peer", PEER_BY_PEER, blocks, multiply);
			row("one load for all", ONE_LOAD, blocks, multiply);
		}
	}
	return 0;
}
