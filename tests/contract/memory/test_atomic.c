/* Atomics: every operation, type, order and scope; and many blocks of many ranks on one word. */
#include "tests/contract/contract_test.h"

/* -------------------------------------------------------------- meaning: old values and results */

typedef struct meaning_args {
	TSR_HEAP void *word;         /* the peer's is acted on */
	TSR_HEAP unsigned char *log; /* mine: 1 where a step went as it should */
	int32_t peer, reserved;
} meaning_args_t;

/* Acts and notes whether the old value was `old_` and the new one is `new_`. */
#define STEP(type_, call_, old_, new_)                                                         \
	do {                                                                                   \
		type_ old = (call_);                                                           \
		type_ now = tsr_atomic_load(block, w, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM); \
		ok = ok && old == (type_)(old_) && now == (type_)(new_);                       \
	} while (0)

#define NUMBER_STEPS(type_, low_)                                                                  \
	TSR_HEAP type_ *w = (TSR_HEAP type_ *)a->word;                                             \
	int ok = 1;                                                                                \
	tsr_atomic_store(block, w, (type_)5, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);              \
	STEP(type_, tsr_atomic_add(block, w, (type_)3, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM), 5, \
	     8);                                                                                   \
	STEP(type_, tsr_atomic_xchg(block, w, (type_)20, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM),  \
	     8, 20);                                                                               \
	STEP(type_, tsr_atomic_min(block, w, (type_)30, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM),   \
	     20, 20);                                                                              \
	STEP(type_,                                                                                \
	     tsr_atomic_min(block, w, (type_)(low_), a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM), 20,  \
	     low_);                                                                                \
	STEP(type_,                                                                                \
	     tsr_atomic_max(block, w, (type_)(low_), a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM),      \
	     low_, low_);                                                                          \
	STEP(type_, tsr_atomic_max(block, w, (type_)7, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM),    \
	     low_, 7)

#define INTEGER_STEPS(type_)                                                                      \
	STEP(type_, tsr_atomic_or(block, w, (type_)8, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM), 7, \
	     15);                                                                                 \
	STEP(type_, tsr_atomic_and(block, w, (type_)12, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM),  \
	     15, 12);                                                                             \
	STEP(type_, tsr_atomic_xor(block, w, (type_)6, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM),   \
	     12, 10);                                                                             \
	STEP(type_,                                                                               \
	     tsr_atomic_cas(block, w, (type_)11, (type_)1, a->peer, TSR_RELAXED, TSR_RELAXED,     \
			    TSR_SCOPE_SYSTEM),                                                    \
	     10, 10);                                                                             \
	STEP(type_,                                                                               \
	     tsr_atomic_cas(block, w, (type_)10, (type_)1, a->peer, TSR_RELAXED, TSR_RELAXED,     \
			    TSR_SCOPE_SYSTEM),                                                    \
	     10, 1);                                                                              \
	STEP(type_, tsr_atomic_add(block, w, (type_)-2, a->peer, TSR_RELAXED, TSR_SCOPE_SYSTEM),  \
	     1, (type_)-1)

#define MEANING(name_, type_, low_, more_)                                         \
	TSR_KERNEL(name_, meaning_args_t, a)                                       \
	{                                                                          \
		NUMBER_STEPS(type_, low_);                                         \
		more_;                                                             \
		tsr_atomic_store(block, (TSR_HEAP uint32_t *)a->log, (uint32_t)ok, \
				 tsr_rank(block), TSR_RELAXED, TSR_SCOPE_SYSTEM);  \
	}
MEANING(mean_u32, uint32_t, 2, INTEGER_STEPS(uint32_t))
MEANING(mean_i32, int32_t, -2, INTEGER_STEPS(int32_t))
MEANING(mean_u64, uint64_t, 2, INTEGER_STEPS(uint64_t))
MEANING(mean_i64, int64_t, -0x100000000, INTEGER_STEPS(int64_t))
MEANING(mean_f32, float, -2.5f, (void)0)
MEANING(mean_f64, double, -2.5, (void)0)

static int meaning_body(tsr_world_t *world, int argc, char **argv)
{
	const tsr_kernel_t *const kernels[] = {&mean_u32, &mean_i32, &mean_u64,
					       &mean_i64, &mean_f32, &mean_f64};
	int size = tsr_world_size(world), me = tsr_world_rank(world);
	uint32_t ok;
	(void)argc, (void)argv;
	meaning_args_t a = {.word = poisoned(world, 8, "word"),
			    .log = poisoned(world, 4, "log"),
			    .peer = (me + 1) % size};
	CHECK(a.word && a.log);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < 6; i++) { /* each rank alone acts on the next one's word */
		CHECK(run_kernel(world, kernels[i], 1, &a) == TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, &ok, a.log, sizeof ok) == TSR_OK);
		CHECK(ok == 1, "%s", kernels[i]->name);
	}
	return tsr_barrier(world) != TSR_OK;
}

Test(atomic, every_operation_of_every_type)
{
	world_each(meaning_body, NULL);
}

/* ------------------------------------------------------ every order and scope compiles and acts */

#define EVERY_RMW(scope_)                                                              \
	sum += 1 + 0 * tsr_atomic_add(block, w, (uint64_t)1, me, TSR_RELAXED, scope_); \
	sum += 1 + 0 * tsr_atomic_add(block, w, (uint64_t)1, me, TSR_ACQUIRE, scope_); \
	sum += 1 + 0 * tsr_atomic_add(block, w, (uint64_t)1, me, TSR_RELEASE, scope_); \
	sum += 1 + 0 * tsr_atomic_add(block, w, (uint64_t)1, me, TSR_ACQ_REL, scope_); \
	sum += 1 + 0 * tsr_atomic_add(block, w, (uint64_t)1, me, TSR_SEQ_CST, scope_)
#define EVERY_LOAD(scope_)                                                 \
	same &= tsr_atomic_load(block, w, me, TSR_RELAXED, scope_) == sum; \
	same &= tsr_atomic_load(block, w, me, TSR_ACQUIRE, scope_) == sum; \
	same &= tsr_atomic_load(block, w, me, TSR_SEQ_CST, scope_) == sum
#define EVERY_STORE(scope_)                                         \
	tsr_atomic_store(block, w, ++sum, me, TSR_RELAXED, scope_); \
	tsr_atomic_store(block, w, ++sum, me, TSR_RELEASE, scope_); \
	tsr_atomic_store(block, w, ++sum, me, TSR_SEQ_CST, scope_)
#define EVERY_FAILURE(order_, scope_)                                                           \
	same &= tsr_atomic_cas(block, w, sum + 9, sum, me, order_, TSR_RELAXED, scope_) == sum; \
	same &= tsr_atomic_cas(block, w, sum, sum + 1, me, order_, TSR_ACQUIRE, scope_) == sum; \
	sum++;                                                                                  \
	same &= tsr_atomic_cas(block, w, sum, sum + 1, me, order_, TSR_SEQ_CST, scope_) == sum; \
	sum++
#define EVERY_CAS(scope_)                   \
	EVERY_FAILURE(TSR_RELAXED, scope_); \
	EVERY_FAILURE(TSR_ACQUIRE, scope_); \
	EVERY_FAILURE(TSR_RELEASE, scope_); \
	EVERY_FAILURE(TSR_ACQ_REL, scope_); \
	EVERY_FAILURE(TSR_SEQ_CST, scope_)
#define EVERY(scope_)                          \
	EVERY_RMW(scope_);                     \
	EVERY_LOAD(scope_);                    \
	EVERY_STORE(scope_);                   \
	EVERY_CAS(scope_);                     \
	tsr_fence(block, TSR_ACQUIRE, scope_); \
	tsr_fence(block, TSR_RELEASE, scope_); \
	tsr_fence(block, TSR_ACQ_REL, scope_); \
	tsr_fence(block, TSR_SEQ_CST, scope_)

typedef struct every_args {
	TSR_HEAP uint64_t *word, *verdict;
} every_args_t;

TSR_KERNEL(every_order, every_args_t, a)
{
	TSR_HEAP uint64_t *w = a->word;
	uint64_t sum = 0;
	int same = 1, me = tsr_rank(block);
	EVERY(TSR_SCOPE_BLOCK);
	EVERY(TSR_SCOPE_DEVICE);
	EVERY(TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, a->verdict, (uint64_t)same, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

static int every_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t words[2];
	(void)argc, (void)argv;
	every_args_t a = {.word = zeroed(world, sizeof words, "words")};
	CHECK(a.word);
	a.verdict = a.word + 1;
	CHECK(run_kernel(world, &every_order, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, words, a.word, sizeof words) == TSR_OK);
	CHECK(words[1] == 1);
	CHECK(words[0] == 3 * (5 + 3 + 10), "%llu", (unsigned long long)words[0]);
	return 0;
}

Test(atomic, every_order_and_scope)
{
	cr_expect(world_run(1, TSR_PLACE_THREAD, every_body, NULL) == 0);
}

/* ------------------------------------------------------------------ contention */

enum { ROUNDS = 200, BLOCKS = 3 };

typedef struct crowd {
	uint64_t sum64, lock, guarded, low, high, plain[2];
	uint32_t sum32, pad;
	double sum_f64;
	float sum_f32, pad_f;
} crowd_t;

typedef struct crowd_args {
	TSR_HEAP crowd_t *crowd; /* rank 0's is used by all */
} crowd_args_t;

TSR_FN void under_lock(tsr_coop_t *block, TSR_HEAP crowd_t *c)
{
	/* Partner of the acquire: the release below, by whoever had the lock before. */
	while (tsr_atomic_cas(block, &c->lock, (uint64_t)0, (uint64_t)1, 0, TSR_ACQUIRE,
			      TSR_RELAXED, TSR_SCOPE_SYSTEM) != 0)
		;
	uint64_t seen = tsr_atomic_load(block, &c->guarded, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, &c->guarded, seen + 1, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	/* Weak accesses, which race where the lock's orders do not reach the machine. */
	tsr_copy(block, &c->plain[seen % 2], 0, &c->plain[(seen + 1) % 2], 0, sizeof(uint64_t));
	tsr_atomic_store(block, &c->lock, (uint64_t)0, 0, TSR_RELEASE, TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(crowd_in, crowd_args_t, a)
{
	TSR_HEAP crowd_t *c = a->crowd;
	uint64_t who = (uint64_t)(tsr_rank(block) * BLOCKS + tsr_block_index(block));
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t mine = who * ROUNDS + (uint64_t)i + 1;
		tsr_atomic_add(block, &c->sum64, mine, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tsr_atomic_add(block, &c->sum32, (uint32_t)mine, 0, TSR_ACQ_REL, TSR_SCOPE_SYSTEM);
		tsr_atomic_add(block, &c->sum_f64, 0.5, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tsr_atomic_add(block, &c->sum_f32, 1.0f, 0, TSR_RELEASE, TSR_SCOPE_SYSTEM);
		tsr_atomic_min(block, &c->low, mine, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tsr_atomic_max(block, &c->high, mine, 0, TSR_SEQ_CST, TSR_SCOPE_SYSTEM);
		if (i % 8 == 0)
			under_lock(block, c);
	}
}

static int crowd_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t n = (uint64_t)tsr_world_size(world) * BLOCKS * ROUNDS;
	crowd_t seen = {.low = UINT64_MAX};
	(void)argc, (void)argv;
	crowd_args_t a = {poisoned(world, sizeof(crowd_t), "crowd")};
	CHECK(a.crowd);
	CHECK(tsr_memcpy_to_heap(world, a.crowd, &seen, sizeof seen) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &crowd_in, BLOCKS, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) != 0)
		return 0;
	CHECK(tsr_memcpy_from_heap(world, &seen, a.crowd, sizeof seen) == TSR_OK);
	CHECK(seen.sum64 == n * (n + 1) / 2);
	CHECK(seen.sum32 == (uint32_t)(n * (n + 1) / 2));
	CHECK(seen.sum_f64 == (double)n * 0.5);
	CHECK(seen.sum_f32 == (float)n);
	CHECK(seen.low == 1 && seen.high == n);
	CHECK(seen.guarded == n / 8);
	return 0;
}

Test(atomic, nothing_is_lost_in_a_crowd)
{
	world_each(crowd_body, NULL);
}
