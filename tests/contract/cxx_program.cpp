/* A program in C++: kernels that say what differs between the languages, and a host half. Each rank checks what it got. */
#include <cstdio>
#include <vector>

#include "tessera/dev.h"
#include "tessera/tessera.h"

namespace
{
/* Fixed layout, as in C. */
struct args_t {
	TSR_HEAP uint32_t *u32;
	TSR_HEAP int64_t *i64;
	TSR_HEAP uint64_t *u64;
	TSR_HEAP float *f32;
	TSR_HEAP double *f64;
	TSR_HEAP uint64_t *barrier;
	tsr_view_t a, b, c;
};

template <typename T> T twice(T x)
{
	return x + x;
}

TSR_FN tsr_part_t order(int64_t task, const void *ctx)
{
	(void)ctx;
	return tsr_whole({task * 16, 0});
}

TSR_FN float half(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)row, (void)col, (void)ctx;
	return x / 2;
}

TSR_TILE(tile, f32, 16, 16, 16);

TSR_FN void epilogue(tsr_coop_t *me, tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const args_t *a = static_cast<const args_t *>(ctx);
	tsr_frag_map(me, acc, at, half, nullptr);
	tsr_store(me, a->c, at, acc, tsr_rank(me));
}
} // namespace

/* To every rank's words, by every kind of atomic and value. */
TSR_KERNEL(add_everywhere, args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block);
	for (int i = 0; i < size; i++) {
		const int peer = tsr_peer(block, i);
		tsr_atomic_add(block, a->u32, 1u, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tsr_atomic_max(block, a->i64, twice<int64_t>(me) - 1, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tsr_atomic_or(block, a->u64, uint64_t(1) << me, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tsr_atomic_add(block, a->f32, 0.5f, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tsr_put_value(block, a->f64 + me, 1.5 * me, peer);
		tsr_signal(block, a->u64 + 1, 1, TSR_SIGNAL_ADD, peer);
	}
	tsr_wait_word(block, a->u64 + 1, TSR_CMP_EQ, uint64_t(size), me, TSR_ACQUIRE, TSR_SCOPE_SYSTEM, TSR_ANY_RANK, nullptr);
	if (tsr_atomic_load(block, a->u32, me, TSR_ACQUIRE, TSR_SCOPE_SYSTEM) == uint32_t(size))
		tsr_atomic_cas(block, a->u32, uint32_t(size), 1000u + uint32_t(size), me, TSR_ACQ_REL, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_put_value(block, a->i64 + 1, tsr_get_value(block, a->i64, me) + 1, me);
	tsr_fence(block, TSR_ACQ_REL, TSR_SCOPE_SYSTEM);
	tsr_barrier_ranks(block, reinterpret_cast<TSR_HEAP tsr_barrier_state_t *>(a->barrier));
}

struct shared_t {
	uint64_t flag;
	TSR_SHARED_TILES(tile, tiles, 1);
};

/* C = A * B / 2 by the main loop in worker 0; worker 1 waits for it in the block's shared memory. */
TSR_KERNEL_SPLIT(multiply, 2, shared_t, args_t, a)
{
	args_t mine = *a;
	tsr_shared_clear(block, shared, sizeof *shared);
	if (tsr_worker_index(worker) == 0) {
		tsr_gemm(tile, worker, a->a, a->b, (tsr_tasks_t{0, 1, (a->c.rows + 15) / 16}), order, TSR_NO_GATE, epilogue, &mine);
		TSR_FRAG(tile, frag, worker);
		tsr_tile_load(worker, frag, a->c, {0, 0});
		tsr_tile_store(worker, tsr_view_shared(shared->tiles[0], TSR_TILE_DTYPE(tile), 16, 16, 16), {0, 0}, frag);
		tsr_signal_local(worker, &shared->flag, 1, TSR_SCOPE_BLOCK);
	} else {
		tsr_wait_local(worker, &shared->flag, 1, TSR_SCOPE_BLOCK);
		TSR_FRAG(tile, frag, worker);
		tsr_tile_load(worker, frag, tsr_view_shared(shared->tiles[0], TSR_TILE_DTYPE(tile), 16, 16, 16), {0, 0});
		tsr_tile_store(worker, a->b, {0, 0}, frag); /* over B, which nobody reads any more */
	}
}

namespace
{
template <typename T> tsr_status_t make(tsr_world_t *world, size_t count, const char *name, TSR_HEAP T **out)
{
	TSR_HEAP void *memory;
	tsr_status_t status = tsr_heap_alloc(world, count * sizeof(T), 0, name, &memory);
	if (status == TSR_OK)
		status = tsr_memset_heap(world, memory, 0, count * sizeof(T));
	if (status == TSR_OK)
		*out = static_cast<TSR_HEAP T *>(memory);
	return status;
}

int wrong(const char *what, double got, double wanted)
{
	if (got == wanted)
		return 0;
	std::fprintf(stderr, "%s is %g, not %g\n", what, got, wanted);
	return 1;
}

template <typename T> T word(tsr_world_t *world, const TSR_HEAP T *at)
{
	T value{};
	return tsr_memcpy_from_heap(world, &value, at, sizeof value) == TSR_OK ? value : T(-77);
}

int check_words(tsr_world_t *world, const args_t &a)
{
	const int size = tsr_world_size(world);
	int bad = wrong("u32", word(world, a.u32), 1000 + size) + wrong("f32", word(world, a.f32), 0.5 * size);
	bad += wrong("i64", double(word(world, a.i64)), size == 1 ? 0 : 2 * (size - 1) - 1);
	bad += wrong("i64 + 1", double(word(world, a.i64 + 1)), size == 1 ? 1 : 2 * (size - 1));
	bad += wrong("u64", double(word(world, a.u64)), double((uint64_t(1) << size) - 1));
	for (int r = 0; r < size; r++)
		bad += wrong("f64", word(world, a.f64 + r), 1.5 * r);
	return bad;
}

int check_product(tsr_world_t *world, const tsr_tensor_t (&t)[3])
{
	std::vector<float> a(37 * 11), c(37 * 16), b(11 * 16);
	if (tsr_tensor_read(world, &t[0], a.data()) != TSR_OK || tsr_tensor_read(world, &t[1], b.data()) != TSR_OK ||
	    tsr_tensor_read(world, &t[2], c.data()) != TSR_OK)
		return wrong("a tensor's content", 0, 1);
	int bad = 0;
	for (int i = 0; i < 11 * 16; i++) /* B was overwritten with the first rows of C */
		bad += wrong("b", b[i], c[i]);
	for (int row = 0; row < 37; row++)
		for (int col = 0; col < 16; col++) {
			float sum = 0;
			for (int k = 0; k < 11; k++)
				sum += a[row * 11 + k] * 2;
			bad += wrong("c", c[row * 16 + col], sum / 2);
		}
	return bad;
}
} // namespace

TSR_MAIN(world, argc, argv)
{
	args_t args{};
	tsr_stream_t *stream, *side;
	tsr_tensor_t t[3];
	tsr_device_props_t props = {};
	props.size = sizeof props;
	TSR_TRY(tsr_world_device(world, &props));
	TSR_TRY(make(world, 1, "u32", &args.u32));
	TSR_TRY(make(world, 2, "i64", &args.i64));
	TSR_TRY(make(world, 2, "u64", &args.u64));
	TSR_TRY(make(world, 1, "f32", &args.f32));
	TSR_TRY(make(world, size_t(tsr_world_size(world)), "f64", &args.f64));
	TSR_TRY(make(world, (tsr_barrier_state_bytes(tsr_world_size(world)) + 7) / 8, "barrier", &args.barrier));
	const int64_t shapes[3][2] = {{37, 11}, {11, 16}, {37, 16}};
	TSR_TRY(tsr_tensor_randint(world, TSR_F32, 2, shapes[0], -9, 10, 7, &t[0]));
	TSR_TRY(tsr_tensor_full(world, TSR_F32, 2, shapes[1], 2, &t[1]));
	TSR_TRY(tsr_tensor_empty(world, TSR_F32, 2, shapes[2], &t[2]));
	TSR_TRY(tsr_tensor_view(&t[0], &args.a));
	TSR_TRY(tsr_tensor_view(&t[1], &args.b));
	TSR_TRY(tsr_tensor_view(&t[2], &args.c));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &side));
	TSR_TRY(tsr_barrier(world));
	const tsr_launch_desc_t both[] = {TSR_LAUNCH_DESC(stream, &add_everywhere, 1, &args), TSR_LAUNCH_DESC(side, &multiply, 1, &args)};
	TSR_TRY(tsr_launch_group(both, 2));
	TSR_TRY(tsr_barrier(world));
	const int bad = check_words(world, args) + check_product(world, t);
	if (bad == 0)
		std::printf("rank %d: %s, all is right\n", tsr_world_rank(world), tsr_kernel_find("multiply", nullptr)->name);
	return bad != 0;
}
