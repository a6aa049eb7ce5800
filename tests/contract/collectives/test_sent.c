/*
 * Partial sums that are sent to the rank that adds them up: the same bits in
 * every run, whatever order they come in.
 */
#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"

/* tiles a round, dealt to the ranks; every inbox is used once a round */
enum { PARTS = 5, ROUNDS = 2 };

typedef struct sent_args {
	tsr_view_t from;            /* my partial sums: ROUNDS * PARTS tiles below each other */
	tsr_view_t to;              /* the sums of my tiles, the others stay as they are */
	TSR_HEAP unsigned char *in; /* an inbox for each of my tiles of a round and each source */
	TSR_HEAP uint64_t *came;    /* rounds of each source that have come */
	TSR_HEAP uint64_t *added;   /* rounds that each owner has added */
	int64_t inbox_bytes;
	int32_t as, reserved;
} sent_args_t;

TSR_FN float sum_of(float x, float y, const void *ctx)
{
	(void)ctx;
	return x + y;
}

TSR_FN TSR_HEAP unsigned char *inbox_of(const sent_args_t *a, int part, int source, int ranks)
{
	return a->in + ((int64_t)(part / ranks) * ranks + source) * a->inbox_bytes;
}

/*
 * Sends what is others' and signals; then adds, in rank order, what has come
 * for mine. Partners: the waits and signals of the same names on the other
 * ranks. Litmus: MP.rel.acq.diffGPU-ss (came), LB.retired.diffGPU-ss (added).
 */
#define SENT(name_, dtype_, m_, n_, k_)                                                           \
	TSR_TILE(sent_##name_, dtype_, m_, n_, k_);                                               \
	TSR_FN void send_parts_##name_(tsr_coop_t *coop, const sent_args_t *a, int round)         \
	{                                                                                         \
		const int me = tsr_rank(coop), ranks = tsr_size(coop);                            \
		TSR_FRAG(sent_##name_, x, coop);                                                  \
		for (int part = 0; part < PARTS; part++) {                                        \
			const tsr_pos_t at = {(int64_t)(round * PARTS + part) * (m_), 0};         \
			const int owner = part % ranks;                                           \
			if (owner == me)                                                          \
				continue;                                                         \
			tsr_wait(coop, a->added + owner, (uint64_t)round, owner);                 \
			tsr_load(coop, x, a->from, at, me);                                       \
			tsr_frag_send(coop, inbox_of(a, part, me, ranks), x, (tsr_dtype_t)a->as,  \
				      owner);                                                     \
		}                                                                                 \
		for (int i = 1; i < ranks; i++)                                                   \
			tsr_signal(coop, a->came + me, (uint64_t)round + 1, TSR_SIGNAL_SET,       \
				   tsr_peer(coop, i));                                            \
	}                                                                                         \
	TSR_FN void add_part_##name_(tsr_coop_t *coop, const sent_args_t *a, int round, int part) \
	{                                                                                         \
		const int me = tsr_rank(coop), ranks = tsr_size(coop);                            \
		const tsr_pos_t at = {(int64_t)(round * PARTS + part) * (m_), 0};                 \
		TSR_FRAG(sent_##name_, sum, coop);                                                \
		TSR_FRAG(sent_##name_, mine, coop);                                               \
		tsr_frag_zero(coop, sum);                                                         \
		tsr_load(coop, mine, a->from, at, me);                                            \
		for (int source = 0; source < ranks; source++) {                                  \
			if (source == me) {                                                       \
				tsr_frag_zip(coop, sum, mine, sum_of, a);                         \
				continue;                                                         \
			}                                                                         \
			tsr_wait(coop, a->came + source, (uint64_t)round + 1, source);            \
			tsr_frag_add_sent(coop, sum, inbox_of(a, part, source, ranks),            \
					  (tsr_dtype_t)a->as);                                    \
		}                                                                                 \
		tsr_store(coop, a->to, at, sum, me);                                              \
	}                                                                                         \
	TSR_FN void reduce_scatter_##name_(tsr_coop_t *coop, const sent_args_t *a)                \
	{                                                                                         \
		const int me = tsr_rank(coop), ranks = tsr_size(coop);                            \
		for (int round = 0; round < ROUNDS; round++) {                                    \
			send_parts_##name_(coop, a, round);                                       \
			for (int part = me; part < PARTS; part += ranks)                          \
				add_part_##name_(coop, a, round, part);                           \
			for (int i = 1; i < ranks; i++)                                           \
				tsr_signal(coop, a->added + me, (uint64_t)round + 1,              \
					   TSR_SIGNAL_SET, tsr_peer(coop, i));                    \
		}                                                                                 \
	}                                                                                         \
	TSR_KERNEL(reduce_scatter_of_##name_, sent_args_t, a)                                     \
	{                                                                                         \
		reduce_scatter_##name_(block, a);                                                 \
	}
SENT(f32, f32, 16, 32, 16)
SENT(f64, f64, 16, 16, 16)
SENT(f16, f16, 24, 20, 4) /* no multiple of a block's threads */
SENT(bf16, bf16, 64, 64, 16)
SENT(wide, bf16, 128, 128, 64) /* what tensor cores leave */

typedef struct nothing {
	int32_t nothing;
} nothing_t;

TSR_KERNEL_SPLIT(reduce_scatter_by_worker, 2, nothing_t, sent_args_t, a)
{
	if (tsr_worker_index(worker) == 0)
		reduce_scatter_f32(worker, a);
}

TSR_KERNEL_SPLIT(reduce_scatter_together, 3, nothing_t, sent_args_t, a)
{
	reduce_scatter_bf16(block, a);
}

typedef struct sent_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t held, as;
	int m, n;
	size_t bytes; /* what TSR_FRAG_SENT_BYTES says */
} sent_case_t;

/**
 * Numbers of which no two have the same last bits, so that sums tell in which
 * order they were made, and as what they were sent.
 */
static float partial_of(int rank, int64_t row, int col)
{
	const uint32_t mixed =
		((uint32_t)row * 2654435761u ^ (uint32_t)col * 40503u ^ (uint32_t)rank * 97u) *
		2246822519u;
	return ((float)(mixed >> 8 & 0xffff) - 32768) / (float)(1 << (4 + mixed % 9));
}

/** As the kernel adds: from 0 on, in rank order, the owner's own as it is. */
static double total_of(const sent_case_t *c, int owner, int ranks, int64_t row, int col)
{
	float narrow = 0;
	double wide = 0;
	for (int r = 0; r < ranks; r++) {
		unsigned char bits[8];
		const float x = partial_of(r, row, col);
		tsr_dtype_set(c->as, bits, 0, x);
		const float sent = r == owner ? x : (float)tsr_dtype_get(c->as, bits, 0);
		narrow += sent;
		wide += sent;
		if (c->held == TSR_F64 && r == owner)
			/* tsr_frag_zip takes and gives floats */
			wide = (double)((float)(wide - sent) + sent);
	}
	return c->held == TSR_F64 ? wide : narrow;
}

static int sent_check(tsr_world_t *world, const sent_case_t *c, const unsigned char *seen)
{
	const int me = tsr_world_rank(world), ranks = tsr_world_size(world);
	const size_t element = tsr_dtype_bytes(c->held);
	for (int64_t row = 0; row < ROUNDS * PARTS * c->m; row++)
		for (int col = 0; col < c->n; col++) {
			unsigned char want[8];
			memset(want, POISON, sizeof want);
			if ((int)(row / c->m) % PARTS % ranks == me)
				tsr_dtype_set(c->held, want, 0, total_of(c, me, ranks, row, col));
			CHECK(memcmp(seen + ((size_t)row * (size_t)c->n + (size_t)col) * element,
				     want, element) == 0,
			      "%s as %s: row %d, column %d", c->kernel->name, tsr_dtype_name(c->as),
			      (int)row, col);
		}
	return 0;
}

static int sent_one(tsr_world_t *world, const sent_case_t *c, unsigned char *host)
{
	const int me = tsr_world_rank(world), ranks = tsr_world_size(world);
	const int64_t rows = (int64_t)ROUNDS * PARTS * c->m;
	const size_t elements = (size_t)rows * (size_t)c->n,
		     to_bytes = elements * tsr_dtype_bytes(c->held);
	const size_t in_bytes = c->bytes * (size_t)((PARTS + ranks - 1) / ranks * ranks),
		     words = (size_t)ranks * sizeof(uint64_t);
	TSR_HEAP void *from = poisoned(world, elements * sizeof(float), "from"),
		      *to = poisoned(world, to_bytes, "to");
	sent_args_t a = {{from, rows, c->n, c->n, TSR_F32, TSR_SPACE_HEAP},
			 {to, rows, c->n, c->n, c->held, TSR_SPACE_HEAP},
			 poisoned(world, in_bytes, "in"),
			 zeroed(world, words, "came"),
			 zeroed(world, words, "added"),
			 (int64_t)c->bytes,
			 c->as,
			 0};
	CHECK(from && to && a.in && a.came && a.added);
	for (size_t i = 0; i < elements; i++)
		tsr_dtype_set(TSR_F32, host, i,
			      partial_of(me, (int64_t)i / c->n, (int)((int64_t)i % c->n)));
	CHECK(tsr_memcpy_to_heap(world, from, host, elements * sizeof(float)) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, c->kernel, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, to, to_bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_heap_free(world, from) == TSR_OK && tsr_heap_free(world, to) == TSR_OK &&
	      tsr_heap_free(world, a.in) == TSR_OK);
	CHECK(tsr_heap_free(world, a.came) == TSR_OK && tsr_heap_free(world, a.added) == TSR_OK);
	return sent_check(world, c, host);
}

/** Constant expressions, which arrays of the heap are sized by. */
enum {
	F32_BYTES = TSR_FRAG_SENT_BYTES(sent_f32, TSR_F32),
	F64_BYTES = TSR_FRAG_SENT_BYTES(sent_f64, TSR_BF16),
	F16_BYTES = TSR_FRAG_SENT_BYTES(sent_f16, TSR_F16)
};

static int sent_body(tsr_world_t *world, int argc, char **argv)
{
	const sent_case_t cases[] = {
		{&reduce_scatter_of_f32, TSR_F32, TSR_F32, 16, 32, F32_BYTES},
		{&reduce_scatter_of_f32, TSR_F32, TSR_BF16, 16, 32,
		 TSR_FRAG_SENT_BYTES(sent_f32, TSR_BF16)},
		{&reduce_scatter_of_f64, TSR_F64, TSR_F32, 16, 16,
		 TSR_FRAG_SENT_BYTES(sent_f64, TSR_F32)},
		{&reduce_scatter_of_f64, TSR_F64, TSR_BF16, 16, 16, F64_BYTES},
		{&reduce_scatter_of_f16, TSR_F32, TSR_F16, 24, 20, F16_BYTES},
		{&reduce_scatter_of_bf16, TSR_F32, TSR_BF16, 64, 64,
		 TSR_FRAG_SENT_BYTES(sent_bf16, TSR_BF16)},
		{&reduce_scatter_of_wide, TSR_F32, TSR_BF16, 128, 128,
		 TSR_FRAG_SENT_BYTES(sent_wide, TSR_BF16)},
		{&reduce_scatter_of_wide, TSR_F32, TSR_F32, 128, 128,
		 TSR_FRAG_SENT_BYTES(sent_wide, TSR_F32)},
		{&reduce_scatter_by_worker, TSR_F32, TSR_F16, 16, 32,
		 TSR_FRAG_SENT_BYTES(sent_f32, TSR_F16)},
		{&reduce_scatter_together, TSR_F32, TSR_F32, 64, 64,
		 TSR_FRAG_SENT_BYTES(sent_bf16, TSR_F32)},
	};
	unsigned char *host = (unsigned char *)malloc((size_t)ROUNDS * PARTS * 128 * 128 * 8);
	int failed = !host;
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases && !failed; i++)
		failed = sent_one(world, &cases[i], host);
	free(host);
	return failed;
}

Test(sent, sums_have_the_same_bits_in_every_run)
{
	world_each(sent_body, NULL);
}
