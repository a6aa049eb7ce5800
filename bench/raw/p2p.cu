/*
 * What the hardware gives between two GPUs of one host, by bare CUDA: how long a signal takes by each sequence of instructions that
 * could make it, how long a message under a signal, how fast plain 16-byte stores and loads are, tiles by few blocks, and the copy
 * engine. Beside it stands what `tessera perf` measures on the same machine. Needs two GPUs that reach each other; takes some
 * seconds.
 *
 *     p2p [signals] [fences] [messages] [moves] [tiles] [copies]      all of them where none is named
 */
#include <algorithm>
#include <cstring>
#include <vector>

#include "raw.h"

/* ------------------------------------------------------------------ one way to signal, one way to wait */

enum release_t { ST_RELAXED, ST_RELEASE, RED_RELEASE, FENCE_RELEASE, FENCE_ACQ_REL, FENCE_SC, FENCE_RELEASE_GPU, RELEASES };
static const char *const release_names[] = {"st.relaxed (no order)",
					    "st.release",
					    "red.release.add",
					    "fence.release + st.relaxed",
					    "fence.acq_rel + st",
					    "fence.sc + st",
					    "fence.release.gpu + st (too narrow)"};

enum acquire_t {
	LD_RELAXED,
	LD_ACQUIRE,
	THEN_FENCE_ACQUIRE,
	THEN_LD_ACQUIRE,
	THEN_FENCE_ACQ_REL,
	TWO_IN_FLIGHT,
	GENERIC,
	ACQUIRES
};
static const char *const acquire_names[] = {"relaxed", "acquire", "+f.acq", "+ld.acq", "+f.acqrel", "2fl+f.acq", "gen+f.acq"};

__device__ static uint64_t load_relaxed(const uint64_t *p)
{
	uint64_t v;
	asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

__device__ static uint64_t load_acquire(const uint64_t *p)
{
	uint64_t v;
	asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

__device__ static uint64_t load_generic(const uint64_t *p)
{
	uint64_t v;
	asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

template <int RELEASE> __device__ static void raise(uint64_t *flag, uint64_t value)
{
	if constexpr (RELEASE == FENCE_RELEASE)
		asm volatile("fence.release.sys;" ::: "memory");
	if constexpr (RELEASE == FENCE_ACQ_REL)
		asm volatile("fence.acq_rel.sys;" ::: "memory");
	if constexpr (RELEASE == FENCE_SC)
		asm volatile("fence.sc.sys;" ::: "memory");
	if constexpr (RELEASE == FENCE_RELEASE_GPU)
		asm volatile("fence.release.gpu;" ::: "memory");
	if constexpr (RELEASE == ST_RELEASE)
		asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
	else if constexpr (RELEASE == RED_RELEASE)
		asm volatile("red.release.sys.global.add.u64 [%0], %1;" ::"l"(flag), "l"((uint64_t)1) : "memory");
	else
		asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

/** Polls until the flag is high enough, or the other GPU must have failed. */
template <int ACQUIRE> __device__ static bool await(const uint64_t *flag, uint64_t value)
{
	const uint64_t limit_ns = 2000000000;
	uint64_t begin = 0, polls = 0;
	for (uint64_t next = ACQUIRE == TWO_IN_FLIGHT ? load_relaxed(flag) : 0;;) {
		uint64_t seen;
		if constexpr (ACQUIRE == TWO_IN_FLIGHT) {
			seen = next;
			next = load_relaxed(flag);
		} else if constexpr (ACQUIRE == LD_ACQUIRE)
			seen = load_acquire(flag);
		else if constexpr (ACQUIRE == GENERIC)
			seen = load_generic(flag);
		else
			seen = load_relaxed(flag);
		if (seen >= value)
			break;
		if (++polls % 256)
			continue;
		begin = begin ? begin : now_ns();
		if (now_ns() - begin > limit_ns)
			return false;
	}
	if constexpr (ACQUIRE == THEN_FENCE_ACQUIRE || ACQUIRE == TWO_IN_FLIGHT || ACQUIRE == GENERIC)
		asm volatile("fence.acquire.sys;" ::: "memory");
	if constexpr (ACQUIRE == THEN_FENCE_ACQ_REL)
		asm volatile("fence.acq_rel.sys;" ::: "memory");
	if constexpr (ACQUIRE == THEN_LD_ACQUIRE)
		(void)load_acquire(flag);
	return true;
}

/* ------------------------------------------------------------------ ping-pong */

/** How a message's stores come before its signal. */
enum message_t { NO_MESSAGE, ONE_RELEASES, ALL_FENCE, ONE_WARP };

struct pingpong_t {
	uint64_t *mine, *theirs;  /* flags */
	const uint4 *out;         /* my message */
	uint4 *in;                /* where it goes at the other */
	int units, rounds, leads; /* 16-byte units of a message */
	uint64_t *ns;             /* what all rounds took; 0 where a wait expired */
};

__device__ static void send(const pingpong_t &a, int threads)
{
	for (int i = threadIdx.x; i < a.units; i += threads)
		a.in[i] = a.out[i];
}

/** One signal of the block, with what its threads have stored before. */
template <int RELEASE, int MESSAGE> __device__ static void block_signal(const pingpong_t &a, uint64_t round)
{
	if constexpr (MESSAGE == ONE_WARP) {
		if (threadIdx.x < 32)
			send(a, 32);
		__syncwarp();
	} else {
		if constexpr (MESSAGE != NO_MESSAGE)
			send(a, blockDim.x);
		if constexpr (MESSAGE == ALL_FENCE)
			asm volatile("fence.release.sys;" ::: "memory");
		if (blockDim.x > 1)
			__syncthreads();
	}
	if (threadIdx.x == 0)
		raise<MESSAGE == ALL_FENCE ? (int)ST_RELAXED : RELEASE>(a.theirs, round);
}

template <int ACQUIRE> __device__ static bool block_wait(const pingpong_t &a, uint64_t round)
{
	__shared__ int came;
	bool mine = true;
	if (threadIdx.x == 0)
		came = mine = await<ACQUIRE>(a.mine, round);
	if (blockDim.x == 1)
		return mine;
	__syncthreads();
	return came != 0;
}

template <int RELEASE, int ACQUIRE, int MESSAGE>
__global__ void __launch_bounds__(1024) pingpong(const __grid_constant__ pingpong_t a)
{
	uint64_t begin = now_ns();
	bool came = true;
	for (uint64_t round = 1; round <= (uint64_t)a.rounds && came; round++) {
		if (a.leads)
			block_signal<RELEASE, MESSAGE>(a, round);
		came = block_wait<ACQUIRE>(a, round);
		if (!a.leads)
			block_signal<RELEASE, MESSAGE>(a, round);
	}
	if (threadIdx.x == 0)
		*a.ns = came ? now_ns() - begin : 0;
}

/* ------------------------------------------------------------------ fences alone */

enum alone_t { ALONE_RELEASE, ALONE_ACQ_REL, ALONE_SC, ALONE_ACQUIRE, ALONE_RELEASE_GPU, ALONES };
static const char *const alone_names[] = {"fence.release.sys", "fence.acq_rel.sys", "fence.sc.sys", "fence.acquire.sys",
					  "fence.release.gpu"};

/** One thread: a store to `word`, where there is one, and a fence behind it. */
template <int FENCE> __global__ void fences(uint64_t *word, int rounds, uint64_t *ns)
{
	uint64_t begin = now_ns();
	for (int i = 0; i < rounds; i++) {
		if (word)
			asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"((uint64_t)i) : "memory");
		if constexpr (FENCE == ALONE_RELEASE)
			asm volatile("fence.release.sys;" ::: "memory");
		if constexpr (FENCE == ALONE_ACQ_REL)
			asm volatile("fence.acq_rel.sys;" ::: "memory");
		if constexpr (FENCE == ALONE_SC)
			asm volatile("fence.sc.sys;" ::: "memory");
		if constexpr (FENCE == ALONE_ACQUIRE)
			asm volatile("fence.acquire.sys;" ::: "memory");
		if constexpr (FENCE == ALONE_RELEASE_GPU)
			asm volatile("fence.release.gpu;" ::: "memory");
	}
	*ns = now_ns() - begin;
}

/* ------------------------------------------------------------------ moves */

/** Plain accesses: the threads of all blocks side by side, each with IN_FLIGHT loads on their way before its stores. */
template <int IN_FLIGHT> __global__ void __launch_bounds__(1024) moves(uint4 *dst, const uint4 *src, size_t count)
{
	const size_t step = (size_t)gridDim.x * blockDim.x;
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	uint4 held[IN_FLIGHT];
	for (; i + (IN_FLIGHT - 1) * step < count; i += IN_FLIGHT * step) {
#pragma unroll
		for (int j = 0; j < IN_FLIGHT; j++)
			held[j] = src[i + j * step];
#pragma unroll
		for (int j = 0; j < IN_FLIGHT; j++)
			dst[i + j * step] = held[j];
	}
	for (; i < count; i += step)
		dst[i] = src[i];
}

/* ------------------------------------------------------------------ tiles by few blocks, as those that send in a product */

enum { TILE_ROWS = 128, TILE_ROW_BYTES = 512, TILES_N = 16, PITCH = TILES_N * TILE_ROW_BYTES };

/** Tiles, each by one group of GROUP threads, IN_FLIGHT loads a thread before its stores. The fewest instructions there can be. */
template <int IN_FLIGHT, int GROUP> __global__ void __launch_bounds__(384) tiles(char *dst, const char *src, int count)
{
	const int groups = (int)blockDim.x / GROUP, t = (int)threadIdx.x % GROUP, row = t / 32, rows = GROUP / 32;
	for (int i = (int)blockIdx.x * groups + (int)threadIdx.x / GROUP; i < count; i += (int)gridDim.x * groups) {
		const size_t begin = (size_t)(i / TILES_N * TILE_ROWS + row) * PITCH + i % TILES_N * TILE_ROW_BYTES + t % 32 * 16;
		const char *from = src + begin;
		char *to = dst + begin;
		for (int done = 0; done < TILE_ROWS; done += IN_FLIGHT * rows) {
			uint4 held[IN_FLIGHT];
#pragma unroll
			for (int j = 0; j < IN_FLIGHT; j++, from += rows * PITCH)
				held[j] = *(const uint4 *)from;
#pragma unroll
			for (int j = 0; j < IN_FLIGHT; j++, to += rows * PITCH)
				*(uint4 *)to = held[j];
		}
	}
}

/* ------------------------------------------------------------------ the host's part */

static const size_t most_bytes = (size_t)256 << 20;
enum { MOST_STREAMS = 4 };

/** GPU 0 and GPU 1, each with memory that the other reaches. */
struct gpu_t {
	cudaStream_t stream;
	cudaEvent_t begin, end;
	char *data, *source; /* most_bytes each */
	uint64_t *flag, *ns; /* one word each, in lines of their own */
};
static gpu_t gpu[2];

static void open_gpus()
{
	int count = 0;
	if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) {
		printf("skipped: %d GPU(s), two are needed\n", count);
		exit(77);
	}
	for (int i = 0; i < 2; i++) {
		gpu_t &g = gpu[i];
		TRY(cudaSetDevice(i));
		TRY(cudaDeviceEnablePeerAccess(1 - i, 0));
		TRY(cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking));
		TRY(cudaEventCreate(&g.begin));
		TRY(cudaEventCreate(&g.end));
		TRY(cudaMalloc(&g.data, most_bytes));
		TRY(cudaMalloc(&g.source, most_bytes));
		TRY(cudaMalloc(&g.flag, 4096));
		g.ns = g.flag + 256;
		std::vector<uint32_t> random(most_bytes / 4);
		for (size_t j = 0; j < random.size(); j++)
			random[j] = (uint32_t)((j + i) * 2654435761u) ^ (uint32_t)(j >> 7) * 40503u;
		TRY(cudaMemcpy(g.source, random.data(), most_bytes, cudaMemcpyHostToDevice));
		TRY(cudaMemset(g.data, 0x5b, most_bytes));
	}
	cudaDeviceProp props;
	TRY(cudaGetDeviceProperties(&props, 0));
	printf("# p2p: two GPUs in one process, %s, %d multiprocessors\n", props.name, props.multiProcessorCount);
}

typedef void (*pingpong_fn)(pingpong_t);

/** Nanoseconds one way: the median of some launches of many rounds. -1: the signal never came. */
static double play(pingpong_fn kernel, int threads, size_t bytes)
{
	const int rounds = 1000, samples = 5;
	std::vector<double> ns;
	/* On both before either runs: the driver loads a kernel when it is first needed, and may wait for what runs. */
	for (int i = 0; i < 2; i++) {
		cudaFuncAttributes loaded;
		TRY(cudaSetDevice(i));
		TRY(cudaFuncGetAttributes(&loaded, kernel));
	}
	for (int s = 0; s < samples; s++) {
		uint64_t took = 0;
		for (gpu_t &g : gpu)
			TRY(cudaMemset(g.flag, 0, 4096));
		TRY(cudaSetDevice(0));
		TRY(cudaDeviceSynchronize());
		TRY(cudaSetDevice(1));
		TRY(cudaDeviceSynchronize());
		for (int i = 0; i < 2; i++) {
			pingpong_t a = {gpu[i].flag,
					gpu[1 - i].flag,
					(uint4 *)gpu[i].source,
					(uint4 *)gpu[1 - i].data,
					(int)(bytes / 16),
					rounds,
					i == 0,
					gpu[i].ns};
			TRY(cudaSetDevice(i));
			kernel<<<1, threads, 0, gpu[i].stream>>>(a);
			TRY(cudaGetLastError());
		}
		for (gpu_t &g : gpu)
			TRY(cudaStreamSynchronize(g.stream));
		TRY(cudaMemcpy(&took, gpu[1].ns, sizeof took,
			       cudaMemcpyDeviceToHost)); /* it came last, and waits from the first on */
		if (took == 0)
			return -1;
		ns.push_back((double)took / rounds / 2);
	}
	std::sort(ns.begin(), ns.end());
	return ns[samples / 2];
}

template <int RELEASE> static void signal_row()
{
	static const pingpong_fn kernels[ACQUIRES] = {pingpong<RELEASE, 0, NO_MESSAGE>, pingpong<RELEASE, 1, NO_MESSAGE>,
						      pingpong<RELEASE, 2, NO_MESSAGE>, pingpong<RELEASE, 3, NO_MESSAGE>,
						      pingpong<RELEASE, 4, NO_MESSAGE>, pingpong<RELEASE, 5, NO_MESSAGE>,
						      pingpong<RELEASE, 6, NO_MESSAGE>};
	printf("%-36s", release_names[RELEASE]);
	for (pingpong_fn kernel : kernels)
		printf(" %10.0f", play(kernel, 1, 0));
	printf("\n");
	fflush(stdout);
}

static void signals()
{
	printf("#\n# signals: ns one way, one thread on either side; rows release, columns poll\n%-36s", "#");
	for (const char *name : acquire_names)
		printf(" %10s", name);
	printf("\n");
	signal_row<ST_RELAXED>();
	signal_row<ST_RELEASE>();
	signal_row<RED_RELEASE>();
	signal_row<FENCE_RELEASE>();
	signal_row<FENCE_ACQ_REL>();
	signal_row<FENCE_SC>();
	signal_row<FENCE_RELEASE_GPU>();
	printf("#\n# the same by blocks that meet before the signal and behind the wait\n#%12s %28s %28s\n", "threads",
	       "st.relaxed, relaxed", "st.release, +f.acq");
	for (int threads : {1, 32, 128, 256, 384, 1024})
		printf(" %12d %28.0f %28.0f\n", threads, play(pingpong<ST_RELAXED, LD_RELAXED, NO_MESSAGE>, threads, 0),
		       play(pingpong<ST_RELEASE, THEN_FENCE_ACQUIRE, NO_MESSAGE>, threads, 0));
}

template <int FENCE> static void fence_row()
{
	uint64_t *words[] = {NULL, gpu[0].flag, gpu[1].flag};
	const int rounds = 2000;
	TRY(cudaSetDevice(0));
	printf("%-36s", alone_names[FENCE]);
	for (uint64_t *word : words) {
		uint64_t ns;
		for (int warm = 0; warm < 2; warm++)
			fences<FENCE><<<1, 1, 0, gpu[0].stream>>>(word, rounds, gpu[0].ns);
		TRY(cudaStreamSynchronize(gpu[0].stream));
		TRY(cudaMemcpy(&ns, gpu[0].ns, sizeof ns, cudaMemcpyDeviceToHost));
		printf(" %14.0f", (double)ns / rounds);
	}
	printf("\n");
}

static void fences_alone()
{
	printf("#\n# fences: ns each, one thread\n%-36s %14s %14s %14s\n", "# behind", "nothing", "my store", "store to peer");
	fence_row<ALONE_RELEASE>();
	fence_row<ALONE_ACQ_REL>();
	fence_row<ALONE_SC>();
	fence_row<ALONE_ACQUIRE>();
	fence_row<ALONE_RELEASE_GPU>();
}

static void messages()
{
	printf("#\n# messages under a signal: ns one way; every thread stores, the block meets, one releases; or each thread "
	       "releases\n"
	       "# its own before they meet; or one warp does all, and no block meets\n#%12s %9s %22s %22s %22s\n",
	       "size(B)", "threads", "one releases", "each releases", "one warp");
	for (size_t bytes : {16, 256, 4096, 65536})
		for (int threads : {32, 256, 1024})
			printf(" %12zu %9d %22.0f %22.0f %22.0f\n", bytes, threads,
			       play(pingpong<ST_RELEASE, THEN_FENCE_ACQUIRE, ONE_RELEASES>, threads, bytes),
			       play(pingpong<ST_RELEASE, THEN_FENCE_ACQUIRE, ALL_FENCE>, threads, bytes),
			       play(pingpong<ST_RELEASE, THEN_FENCE_ACQUIRE, ONE_WARP>, threads, bytes));
}

/** GB/s of launches back to back on GPU 0, the launches included. */
template <int IN_FLIGHT> static double rate(int blocks, int threads, void *dst, const void *src, size_t bytes)
{
	const int launches = bytes < ((size_t)16 << 20) ? 50 : 5;
	float ms;
	TRY(cudaSetDevice(0));
	for (int i = -2; i < launches; i++) {
		if (i == 0)
			TRY(cudaEventRecord(gpu[0].begin, gpu[0].stream));
		moves<IN_FLIGHT><<<blocks, threads, 0, gpu[0].stream>>>((uint4 *)dst, (const uint4 *)src, bytes / 16);
		TRY(cudaGetLastError());
	}
	TRY(cudaEventRecord(gpu[0].end, gpu[0].stream));
	TRY(cudaEventSynchronize(gpu[0].end));
	TRY(cudaEventElapsedTime(&ms, gpu[0].begin, gpu[0].end));
	return (double)bytes * launches / ms / 1e6;
}

/** What the moves left: words that are not what was sent. */
static size_t wrong_words(const char *dst, const char *src)
{
	std::vector<uint32_t> found(most_bytes / 4), sent(most_bytes / 4);
	size_t wrong = 0;
	TRY(cudaMemcpy(found.data(), dst, most_bytes, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(sent.data(), src, most_bytes, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < found.size(); i++)
		wrong += found[i] != sent[i];
	return wrong;
}

static void moves_by_blocks()
{
	const size_t sizes[] = {(size_t)64 << 10, (size_t)1 << 20, (size_t)16 << 20, most_bytes};
	printf("#\n# moves: GB/s with launches, plain 16-byte accesses, 4 | 8 loads in flight a thread\n#%7s %8s", "blocks",
	       "threads");
	for (size_t bytes : sizes)
		printf("  store %7zuK     load %7zuK  ", bytes >> 10, bytes >> 10);
	printf("\n");
	for (int blocks : {1, 4, 8, 16, 32, 64, 132, 264})
		for (int threads : {256, 512, 1024}) {
			printf(" %7d %8d", blocks, threads);
			for (size_t bytes : sizes)
				printf("  %7.1f |%7.1f  %7.1f |%7.1f", rate<4>(blocks, threads, gpu[1].data, gpu[0].source, bytes),
				       rate<8>(blocks, threads, gpu[1].data, gpu[0].source, bytes),
				       rate<4>(blocks, threads, gpu[0].data, gpu[1].source, bytes),
				       rate<8>(blocks, threads, gpu[0].data, gpu[1].source, bytes));
			printf("\n");
			fflush(stdout);
		}
	printf("# wrong words: %zu\n", wrong_words(gpu[1].data, gpu[0].source) + wrong_words(gpu[0].data, gpu[1].source));
}

/** GB/s of copies by the copy engine from GPU 0 to GPU 1: rows of `row_bytes`, twice that apart, `copy_bytes` a copy. */
static double copy_rate(size_t row_bytes, size_t copy_bytes, int streams)
{
	const int copies = (int)(most_bytes / 2 / copy_bytes);
	cudaStream_t stream[MOST_STREAMS];
	cudaEvent_t ended;
	float least = 0;
	TRY(cudaSetDevice(0));
	TRY(cudaEventCreateWithFlags(&ended, cudaEventDisableTiming));
	for (int i = 0; i < streams; i++)
		TRY(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
	for (int sample = 0; sample < 5; sample++) {
		float ms;
		TRY(cudaEventRecord(gpu[0].begin, gpu[0].stream));
		for (int i = 0; i < streams; i++)
			TRY(cudaStreamWaitEvent(stream[i], gpu[0].begin, 0));
		for (int c = 0; c < copies; c++)
			TRY(cudaMemcpy2DAsync((char *)gpu[1].data + c * 2 * copy_bytes, 2 * row_bytes,
					      (char *)gpu[0].source + c * 2 * copy_bytes, 2 * row_bytes, row_bytes,
					      copy_bytes / row_bytes, cudaMemcpyDefault, stream[c % streams]));
		for (int i = 0; i < streams; i++) {
			TRY(cudaEventRecord(ended, stream[i]));
			TRY(cudaStreamWaitEvent(gpu[0].stream, ended, 0));
		}
		TRY(cudaEventRecord(gpu[0].end, gpu[0].stream));
		TRY(cudaEventSynchronize(gpu[0].end));
		TRY(cudaEventElapsedTime(&ms, gpu[0].begin, gpu[0].end));
		least = sample == 0 || ms < least ? ms : least;
	}
	for (int i = 0; i < streams; i++)
		TRY(cudaStreamDestroy(stream[i]));
	TRY(cudaEventDestroy(ended));
	return (double)copies * copy_bytes / least / 1e6;
}

static void copies_by_engine()
{
	const size_t mib = (size_t)1 << 20;
	printf("#\n# copies: GB/s of the copy engine, rows at twice their length apart, best of 5\n#%7s %12s %14s %14s\n",
	       "streams", "row(B)", "4 MiB a copy", "32 MiB a copy");
	for (int streams : {1, 2, (int)MOST_STREAMS})
		for (size_t row_bytes : {2048, 4096, 8192, 16384, 65536})
			printf(" %7d %12zu %14.1f %14.1f\n", streams, row_bytes, copy_rate(row_bytes, 4 * mib, streams),
			       copy_rate(row_bytes, 32 * mib, streams));
}

/** GB/s of tiles from GPU 0 by some of its blocks, best of 5. */
template <int IN_FLIGHT, int GROUP> static double tile_rate(int blocks, int threads, void *dst)
{
	const int count = (int)(most_bytes / (TILE_ROWS * TILE_ROW_BYTES));
	float least = 0;
	TRY(cudaSetDevice(0));
	for (int sample = 0; sample < 5; sample++) {
		float ms;
		TRY(cudaEventRecord(gpu[0].begin, gpu[0].stream));
		tiles<IN_FLIGHT, GROUP><<<blocks, threads, 0, gpu[0].stream>>>((char *)dst, (const char *)gpu[0].source, count);
		TRY(cudaGetLastError());
		TRY(cudaEventRecord(gpu[0].end, gpu[0].stream));
		TRY(cudaEventSynchronize(gpu[0].end));
		TRY(cudaEventElapsedTime(&ms, gpu[0].begin, gpu[0].end));
		least = sample == 0 || ms < least ? ms : least;
	}
	return (double)most_bytes / least / 1e6;
}

static void tiles_by_few_blocks()
{
	printf("#\n# tiles: GB/s of tiles of 128 rows of 512 bytes, loads in flight a thread x threads that share a tile\n");
	printf("#%7s %8s %12s %12s %12s %12s %12s\n", "blocks", "threads", "4 x 128", "8 x 128", "8 x 32", "16 x 32",
	       "8 x 128 home");
	for (int blocks : {1, 4, 8, 16})
		for (int threads : {128, 256, 384})
			printf(" %7d %8d %12.1f %12.1f %12.1f %12.1f %12.1f\n", blocks, threads,
			       tile_rate<4, 128>(blocks, threads, gpu[1].data), tile_rate<8, 128>(blocks, threads, gpu[1].data),
			       tile_rate<8, 32>(blocks, threads, gpu[1].data), tile_rate<16, 32>(blocks, threads, gpu[1].data),
			       tile_rate<8, 128>(blocks, threads, gpu[0].data));
	printf("# wrong words: %zu\n", wrong_words(gpu[1].data, gpu[0].source));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} parts[] = {{"signals", signals},       {"fences", fences_alone},       {"messages", messages},
		     {"moves", moves_by_blocks}, {"tiles", tiles_by_few_blocks}, {"copies", copies_by_engine}};
	for (int i = 1; i < argc; i++)
		if (std::none_of(std::begin(parts), std::end(parts), [&](auto &part) { return strcmp(part.name, argv[i]) == 0; })) {
			fprintf(stderr, "p2p: there is no '%s'; there are signals, fences, messages, moves, tiles and copies\n",
				argv[i]);
			return 2;
		}
	open_gpus();
	for (auto &part : parts)
		if (argc < 2 || std::any_of(argv + 1, argv + argc, [&](char *name) { return strcmp(part.name, name) == 0; }))
			part.run();
	return 0;
}
