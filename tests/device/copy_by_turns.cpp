/*
 * The copying of gpu/dev/memory.h on a CPU, one thread of a coop after the other: which bytes go where needs no GPU to be checked, and
 * the sanitizers see what is read and written beside them. ci/checks/copying builds and runs it.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

/* A port of which only the pointers are real: nobody waits, meets or orders here. */
#define TSR_PORT_DEVICE
#define TSR_PORT_SHARED static
#define TSR_PORT_ENTRY(threads_) extern "C" void
#define TSR_PORT_BY_VALUE(type_) const type_
#define TSR_PORT_SOLE_THREADS 256
#define TSR_PORT_WIDE_THREADS 1024
#define TSR_PORT_MAIN_THREADS 256
#define TSR_PORT_MOVER_THREADS 128
#define TSR_PORT_PART_THREADS 32
#define TSR_PORT_BLOCK_THREADS(workers_) 256
enum { TSR_RELAXED, TSR_ACQUIRE, TSR_RELEASE, TSR_ACQ_REL, TSR_SEQ_CST };
enum { TSR_SCOPE_BLOCK, TSR_SCOPE_DEVICE, TSR_SCOPE_SYSTEM };
enum { TSR_MAX_SPLIT = 32 };
#include "gpu/dev/port.h"
template <typename T> TSR_DEV void tsr_port_forget(T *)
{
}
template <typename T> TSR_DEV T tsr_port_constant(const T *p)
{
	return *p;
}

template <typename T> TSR_DEV T *tsr_port_global(T *p)
{
	return p;
}
template <int ORDER, int SCOPE, typename W> TSR_DEV W tsr_port_load(W *p)
{
	return *p;
}
template <int ORDER, int SCOPE, typename W> TSR_DEV void tsr_port_store(W *p, W v)
{
	*p = v;
}
template <int ORDER, int SCOPE, typename W> TSR_DEV W tsr_port_add(W *p, W v)
{
	W old = *p;
	*p += v;
	return old;
}
template <int ORDER, int SCOPE> TSR_DEV void tsr_port_fence()
{
}
TSR_DEV int tsr_port_block()
{
	return 0;
}
TSR_DEV int tsr_port_thread()
{
	return 0;
}
TSR_DEV void tsr_port_meet_block()
{
}
TSR_DEV void tsr_port_meet_worker(int, int)
{
}
struct tsr_port_unit_t {
	uint64_t half[2];
};
template <int HINT> TSR_DEV void tsr_port_write_hinted(void *at, tsr_port_unit_t unit)
{
	memcpy(at, &unit, sizeof unit);
}
TSR_DEV tsr_port_unit_t tsr_port_read_streaming(const void *at)
{
	tsr_port_unit_t unit;
	memcpy(&unit, at, sizeof unit);
	return unit;
}
TSR_DEV float tsr_port_widen_f16(uint16_t)
{
	return 0;
}
TSR_DEV uint16_t tsr_port_round_f16(float)
{
	return 0;
}
#include "gpu/dev/coop.h"
#include "gpu/dev/memory.h"

TSR_DEV void tsr_port_settle(tsr_coop_t *)
{
}

static const unsigned char poison = 0x5b;
static long cases, wrong;

static char *aligned(std::vector<char> &memory, int offset)
{
	return (char *)(((uintptr_t)memory.data() + 63) / 64 * 64) + offset;
}

/** Rows of bytes from a source to places that are laid out alike. */
struct copy_t {
	int threads;
	int64_t rows, bytes, dst_pitch, src_pitch;
	int to, from; /* bytes from a multiple of 64 */
};

static std::vector<char> source_of(const copy_t &c)
{
	std::vector<char> src(128 + c.from + c.rows * c.src_pitch);
	for (size_t i = 0; i < src.size(); i++)
		src[i] = (char)(i * 7 + i / 251 + 1);
	return src;
}

/** A place that ends where its last row does. */
static std::vector<char> place_of(const copy_t &c)
{
	return std::vector<char>(128 + c.to + c.rows * c.dst_pitch, (char)poison);
}

/** What a place must hold, `s` being the source's first byte; `name` says which place it is. */
static void judge(const copy_t &c, std::vector<char> &dst, const char *s, const char *name)
{
	const char *d = aligned(dst, c.to);
	for (char &found : dst) {
		int64_t at = &found - d, row = at < 0 ? -1 : at / c.dst_pitch, col = at - row * c.dst_pitch;
		bool moved = row >= 0 && row < c.rows && col < c.bytes;
		if (found == (moved ? s[row * c.src_pitch + col] : (char)poison))
			continue;
		if (wrong++ < 10)
			printf("%s, %d threads, %lld rows of %lld bytes, pitches %lld and %lld, from %d to %d: row %lld byte "
			       "%lld\n",
			       name, c.threads, (long long)c.rows, (long long)c.bytes, (long long)c.dst_pitch,
			       (long long)c.src_pitch, c.from, c.to, (long long)row, (long long)col);
	}
	cases++;
}

template <bool OF_A_TILE = false, typename TO> static void by_turns(const copy_t &c, const TO &to, char *d, const char *s)
{
	for (int thread = 0; thread < c.threads; thread++) {
		tsr_coop_t coop = {};
		coop.thread = thread;
		coop.threads = c.threads;
		coop.workers = 1;
		tsr_gpu_copy_rows<OF_A_TILE>(&coop, to, {d, s, c.dst_pitch, c.src_pitch, c.rows, c.bytes});
	}
}

static void copy(const copy_t &c)
{
	std::vector<char> dst = place_of(c), src = source_of(c);
	const char *s = aligned(src, c.from);
	by_turns(c, tsr_gpu_one_place_t(), aligned(dst, c.to), s);
	judge(c, dst, s, "one place");
}

enum { RANKS = 3, ME = 1 };

/** From the second rank's own place, which is left out, to the others. OF_A_TILE: as tiles that are stored to all ranks go. */
template <bool OF_A_TILE>
static void copy_from_own(const copy_t &c, const tsr_gpu_context_t &context, std::vector<char> dst[RANKS], const char *s)
{
	copy_t own = c;
	own.src_pitch = c.dst_pitch;
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != ME)
			std::fill(dst[rank].begin(), dst[rank].end(), (char)poison);
	by_turns<OF_A_TILE>(own, tsr_gpu_every_rank_t{&context, 1}, aligned(dst[ME], c.to), aligned(dst[ME], c.to));
	for (int rank = 0; rank < RANKS; rank++)
		judge(c, dst[rank], s, OF_A_TILE ? "all others, a tile" : "all others");
}

/** The second of three ranks to all, from memory that is none of the places; then from its own place. */
static void copy_to_all(const copy_t &c)
{
	std::vector<char> dst[RANKS], src = source_of(c);
	tsr_gpu_context_t context = {};
	context.size = RANKS;
	context.rank = ME;
	for (std::vector<char> &place : dst)
		place = place_of(c);
	int64_t peer_offset[RANKS];
	for (int rank = 0; rank < RANKS; rank++)
		peer_offset[rank] = aligned(dst[rank], 0) - aligned(dst[ME], 0);
	context.peer_offset = peer_offset;
	const char *s = aligned(src, c.from);
	by_turns(c, tsr_gpu_every_rank_t{&context, 0}, aligned(dst[ME], c.to), s);
	for (std::vector<char> &place : dst)
		judge(c, place, s, "all ranks");
	copy_from_own<false>(c, context, dst, s);
	copy_from_own<true>(c, context, dst, s);
}

/** Every small size at every alignment of both sides. */
static void small(int threads)
{
	static const int pitches[][2] = {{128, 112}, {108, 116}, {106, 102}, {101, 103}, {100, 100}};
	for (int size = 1; size <= 100; size++)
		for (int to = 0; to < 18; to++)
			for (int from = size % 3; from < 18; from += 3) {
				auto &pitch = pitches[(size + to) % 5];
				copy({threads, 1, size, size, size, to, from});
				copy({threads, 3, size, pitch[0], pitch[1], to, from});
				if ((size + to + from) % 8 == 0)
					copy_to_all({threads, 3, size, pitch[0], pitch[1], to, from});
			}
}

/** Less than a unit of 16 goes in units of 4, wherever it lies: as many threads as there are of those move all of it. */
static void short_ones()
{
	for (int size = 4; size < 32; size += 4)
		for (int at = 0; at < 16; at += 4) {
			if (size >= 16 + (-at & 15))
				continue;
			std::vector<char> dst(128, (char)poison), src(128, 1);
			char *d = aligned(dst, at), *s = aligned(src, at);
			for (int thread = 0; thread < size / 4; thread++) {
				tsr_coop_t coop = {};
				coop.thread = thread;
				coop.threads = 64;
				coop.workers = 1;
				tsr_gpu_copy_rows(&coop, tsr_gpu_one_place_t(), {d, s, size, size, 1, size});
			}
			if (memcmp(d, s, (size_t)size) != 0 && wrong++ < 10)
				printf("%d bytes at %d: not in units of 4\n", size, at);
			cases++;
		}
}

/** Up to some rounds of the threads, and rests of every length. */
static void large(int threads)
{
	uint64_t random = 1;
	auto below = [&](int64_t n) {
		return (int64_t)((random = random * 6364136223846793005u + 1442695040888963407u) >> 33) % n;
	};
	for (int i = 0; i < 300; i++) {
		int64_t rows = 1 + below(i % 2 ? 1 : 40), unit = (int64_t)1 << below(5),
			bytes = 1 + below(threads * 16 * 20 / rows);
		int64_t whole = (bytes + unit - 1) / unit * unit;
		int to = (int)below(18), from = below(2) ? to : (int)below(18);
		const copy_t one = {threads, rows, bytes, whole + below(3) * unit, whole + below(3) * unit, to, from};
		copy(one);
		if (i % 3 == 0)
			copy_to_all(one);
	}
}

int main()
{
	for (int threads : {32, 64, 128, 256, 1024}) {
		small(threads);
		large(threads);
	}
	short_ones();
	printf("%ld copies, %ld wrong bytes\n", cases, wrong);
	return wrong > 0;
}
