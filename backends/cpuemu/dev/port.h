/*
 * The CPU's port: what dev/port.h asks for, in plain C11 and in C++17. The
 * bodies are functions of the library.
 */
#ifndef TESSERA_CPUEMU_PORT_H
#define TESSERA_CPUEMU_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "cpuemu/dev/typed.h"
#include "tessera/kernel.h"
#include "tessera/types.h"
#include "tessera/visibility.h"

#define TSR_FN __attribute__((unused)) static inline
#define TSR_DEV TSR_EXTERN TSR_API
#define TSR_DEV_OWN TSR_EXTERN
#define TSR_DEV_FRAG TSR_DEV
#define TSR_DEV_FRAG_ROWS TSR_DEV
#define TSR_DEV_ROWS TSR_DEV
#define TSR_DEV_FRAG_DOT TSR_DEV
#define TSR_DEV_FRAG_DOT_BT TSR_DEV
#define TSR_DEV_STATE TSR_DEV
#define TSR_DEV_STATE_FRAG TSR_DEV
#define TSR_PORT_BODIES "cpuemu/dev/bodies.h"

/* ------------------------------------------------------------------ who calls */

enum tsr_cpu_coop_kind { TSR_CPU_BLOCK, TSR_CPU_WORKER, TSR_CPU_LOADER };

/**
 * One thread's part in a coop. Every thread has coops of its own, so noting the
 * call's place is no race.
 */
typedef struct tsr_coop {
	struct tsr_cpu_block *block;   /* the emulated block */
	struct tsr_cpu_worker *worker; /* what belongs to this thread */
	int index, count;              /* of this thread among the coop's */
	enum tsr_cpu_coop_kind kind;
	const char *file; /* of the last call; "": unknown, and `line` is 0 */
	int line;
	const char *part_of; /* the call of the API that the last one is part of; null: of none */
	uint32_t calls;      /* counted where their places are noted */
} tsr_coop_t;

static inline tsr_coop_t *tsr_cpu_at(tsr_coop_t *coop, const char *file, int line)
{
	coop->file = file;
	coop->line = line;
	coop->calls++;
	return coop;
}

#define TSR_AT(coop_) tsr_cpu_at((coop_), __FILE__, __LINE__)
/* a coop begins with the place of its launch */
#define TSR_AT_LAUNCH(coop_) tsr_cpu_at((coop_), (coop_)->file, (coop_)->line)
#define TSR_PART_OF_NONE ((const char *)0)
#define TSR_PART_OF(coop_, call_) ((void)((coop_)->part_of = (call_)))
#define TSR_COLLECTIVE(coop_, call_, state_, count_, per_round_, to_, reach_, size_, root_,     \
		       words_, how_)                                                            \
	tsr_cpu_collective((coop_), (call_), (state_), (count_), (per_round_), (to_), (reach_), \
			   (size_), (root_), (words_), (how_))
/* teams may span nodes (common/dev/nodes.h) */
#define TSR_PORT_NODES 1
#define TSR_REFUSE(coop_, call_, cure_, ...) \
	((void)tsr_cpu_misuse((coop_), (call_), (cure_), __VA_ARGS__))

/* ------------------------------------------------------------------ shared loops (dev/coop.h) */

/*
 * A step of 0: the library gives each pass. It may have the passes made several
 * times, and then returns from tsr_cpu_each_end to where the loop begins
 * (dev/passes/passes.h).
 */
#define TSR_EACH(coop_, i_, count_)                                                           \
	for (int i_##_end = (count_), i_##_step = tsr_cpu_each_step(TSR_AT(coop_), i_##_end), \
		 i_ = tsr_cpu_each_begin(coop_);                                              \
	     i_ < i_##_end || tsr_cpu_each_end(coop_);                                        \
	     i_ = i_##_step ? i_ + i_##_step : tsr_cpu_each_next(coop_))

/* ------------------------------------------------------------------ kernels (dev/kernel.h) */

#if defined(TSR_UNIT)
#define TSR_CPU_UNIT TSR_UNIT
#else
#define TSR_CPU_UNIT ""
#endif

#define TSR_CPU_PASTE_(a_, b_) a_##__##b_
#define TSR_CPU_PASTE(a_, b_) TSR_CPU_PASTE_(a_, b_)
#define TSR_CPU_TEXT_(a_) #a_
#define TSR_CPU_TEXT(a_) TSR_CPU_TEXT_(a_)
#if defined(TSR_VARIANT)
#define TSR_CPU_OBJECT(name_) TSR_CPU_PASTE(name_, TSR_VARIANT)
#define TSR_CPU_VARIANT TSR_CPU_TEXT(TSR_VARIANT)
#else
#define TSR_CPU_OBJECT(name_) name_
#define TSR_CPU_VARIANT ""
#endif

#ifdef __cplusplus
extern "C" {
#endif
/*
 * The bounds of the sections in which this module lists its kernels and images.
 * Weak: it may have none.
 */
#define TSR_CPU_BOUND extern __attribute__((weak, visibility("hidden")))
TSR_CPU_BOUND const tsr_kernel_t *const __start_tsr_kernels[];
TSR_CPU_BOUND const tsr_kernel_t *const __stop_tsr_kernels[];
TSR_CPU_BOUND const tsr_image_t *const __start_tsr_images[];
TSR_CPU_BOUND const tsr_image_t *const __stop_tsr_images[];
#ifdef __cplusplus
}
#endif

/** This module, as one translation unit tells of it. */
static inline tsr_module_t *tsr_cpu_module(void)
{
	static tsr_module_t module = {sizeof(tsr_module_t), __start_tsr_kernels, __stop_tsr_kernels,
				      __start_tsr_images,   __stop_tsr_images,   NULL};
	return &module;
}

/*
 * The descriptor, and a pointer to it in a section of the module, which
 * the registry walks once the module has told it.
 */
#define TSR_CPU_DESCRIBE(name_, workers_, shared_bytes_, args_bytes_)              \
	__attribute__((constructor)) static void tsr_register_##name_(void)        \
	{                                                                          \
		tsr_module_register(tsr_cpu_module());                             \
	}                                                                          \
	__attribute__((destructor)) static void tsr_forget_##name_(void)           \
	{                                                                          \
		tsr_module_forget(tsr_cpu_module());                               \
	}                                                                          \
	TSR_EXTERN const tsr_kernel_t TSR_CPU_OBJECT(name_);                       \
	const tsr_kernel_t TSR_CPU_OBJECT(name_) = {                               \
		TSR_KERNEL_ABI, (workers_),    #name_,          TSR_CPU_VARIANT,   \
		TSR_CPU_UNIT,   (args_bytes_), (shared_bytes_), tsr_entry_##name_, \
	};                                                                         \
	__attribute__((used, section("tsr_kernels"))) static const tsr_kernel_t    \
		*const tsr_listed_##name_ = &TSR_CPU_OBJECT(name_)

#define TSR_KERNEL(name_, args_t_, a_)                                                         \
	static void tsr_body_##name_(tsr_coop_t *block, const args_t_ *a_);                    \
	static void tsr_entry_##name_(tsr_coop_t *block, tsr_coop_t *worker, const void *args, \
				      void *shared)                                            \
	{                                                                                      \
		(void)worker;                                                                  \
		(void)shared;                                                                  \
		tsr_body_##name_(block, (const args_t_ *)args);                                \
	}                                                                                      \
	TSR_CPU_DESCRIBE(name_, 1, 0, sizeof(args_t_));                                        \
	static void tsr_body_##name_(__attribute__((unused)) tsr_coop_t *block,                \
				     __attribute__((unused)) const args_t_ *a_)

/* A block of a CPU is one thread, whatever it does. */
#define TSR_KERNEL_WIDE(name_, args_t_, a_) TSR_KERNEL(name_, args_t_, a_)

#define TSR_KERNEL_SHARED(name_, shared_t_, args_t_, a_)                                       \
	static void tsr_body_##name_(tsr_coop_t *block, shared_t_ *shared, const args_t_ *a_); \
	static void tsr_entry_##name_(tsr_coop_t *block, tsr_coop_t *worker, const void *args, \
				      void *shared)                                            \
	{                                                                                      \
		(void)worker;                                                                  \
		tsr_body_##name_(block, (shared_t_ *)shared, (const args_t_ *)args);           \
	}                                                                                      \
	TSR_CPU_DESCRIBE(name_, 1, sizeof(shared_t_), sizeof(args_t_));                        \
	static void tsr_body_##name_(__attribute__((unused)) tsr_coop_t *block,                \
				     __attribute__((unused)) shared_t_ *shared,                \
				     __attribute__((unused)) const args_t_ *a_)

#define TSR_KERNEL_SPLIT(name_, workers_, shared_t_, args_t_, a_)                              \
	static void tsr_body_##name_(tsr_coop_t *block, tsr_coop_t *worker, shared_t_ *shared, \
				     const args_t_ *a_);                                       \
	static void tsr_entry_##name_(tsr_coop_t *block, tsr_coop_t *worker, const void *args, \
				      void *shared)                                            \
	{                                                                                      \
		tsr_body_##name_(block, worker, (shared_t_ *)shared, (const args_t_ *)args);   \
	}                                                                                      \
	TSR_CPU_DESCRIBE(name_, (workers_), sizeof(shared_t_), sizeof(args_t_));               \
	static void tsr_body_##name_(__attribute__((unused)) tsr_coop_t *block,                \
				     __attribute__((unused)) tsr_coop_t *worker,               \
				     __attribute__((unused)) shared_t_ *shared,                \
				     __attribute__((unused)) const args_t_ *a_)

/* ------------------------------------------------------------------ tiles (dev/tile.h) */

/** A configuration as the library's functions see it. */
typedef struct tsr_cpu_tile {
	int32_t m, n, k, dtype, a_major, b_major;
} tsr_cpu_tile_t;

/**
 * A fragment, of any configuration. Elements are held in the accumulator's
 * type: f32, f64 or i32. Each thread of the coop holds the rows first ..
 * last-1; of an operand K x N or N x K, which every row of a product needs, it
 * holds all.
 */
typedef struct tsr_frag {
	tsr_cpu_tile_t tile;
	int32_t rows, cols, first, last;
	int32_t use;    /* enum tsr_cpu_frag_use */
	int32_t held;   /* TSR_F32, TSR_F64 or TSR_I32 */
	int32_t dtype;  /* what the elements are rounded to when they are written */
	int32_t set;    /* whether the elements have been given values */
	void *elements; /* rows x cols, private to the thread */
} tsr_frag_t;
typedef tsr_frag_t tsr_rows_t;
typedef tsr_frag_t tsr_frag_a_t;
typedef tsr_frag_t tsr_frag_b_t;
typedef tsr_frag_t tsr_frag_bt_t;

enum { TSR_CPU_SENT_HEADER_BYTES = 16 };
enum tsr_cpu_frag_use {
	TSR_CPU_FRAG_C,
	TSR_CPU_FRAG_A,
	TSR_CPU_FRAG_B,
	TSR_CPU_FRAG_BT,
	TSR_CPU_FRAG_ROWS
};

enum {
	TSR_CPU_DTYPE_f64 = TSR_F64,
	TSR_CPU_DTYPE_f32 = TSR_F32,
	TSR_CPU_DTYPE_f16 = TSR_F16,
	TSR_CPU_DTYPE_bf16 = TSR_BF16,
	TSR_CPU_DTYPE_i32 = TSR_I32,
	TSR_CPU_DTYPE_i8 = TSR_I8,
	TSR_CPU_DTYPE_u8 = TSR_U8,
	TSR_CPU_BYTES_f64 = 8,
	TSR_CPU_BYTES_f32 = 4,
	TSR_CPU_BYTES_f16 = 2,
	TSR_CPU_BYTES_bf16 = 2,
	TSR_CPU_BYTES_i32 = 4,
	TSR_CPU_BYTES_i8 = 1,
	TSR_CPU_BYTES_u8 = 1
};

#define TSR_TILE(cfg_, dtype_, m_, n_, k_) \
	TSR_TILE_MAJOR(cfg_, dtype_, m_, n_, k_, TSR_ROW_MAJOR, TSR_ROW_MAJOR)
#define TSR_TILE_MAJOR(cfg_, dtype_, m_, n_, k_, a_major_, b_major_) \
	typedef tsr_frag_t cfg_##_frag_t;                            \
	typedef tsr_frag_a_t cfg_##_a_t;                             \
	typedef tsr_frag_b_t cfg_##_b_t;                             \
	typedef tsr_frag_bt_t cfg_##_bt_t;                           \
	typedef tsr_rows_t cfg_##_rows_t;                            \
	enum {                                                       \
		cfg_##_tile_m = (m_),                                \
		cfg_##_tile_n = (n_),                                \
		cfg_##_tile_k = (k_),                                \
		cfg_##_tile_dtype = TSR_CPU_DTYPE_##dtype_,          \
		cfg_##_tile_a_major = (int)(a_major_),               \
		cfg_##_tile_b_major = (int)(b_major_),               \
		cfg_##_tile_bytes = TSR_CPU_BYTES_##dtype_           \
	}
#define TSR_TILE_M(cfg_) cfg_##_tile_m
#define TSR_TILE_N(cfg_) cfg_##_tile_n
#define TSR_TILE_K(cfg_) cfg_##_tile_k
#define TSR_TILE_DTYPE(cfg_) ((tsr_dtype_t)cfg_##_tile_dtype)
#define TSR_CPU_TILE(cfg_)                                                        \
	(TSR_LITERAL(tsr_cpu_tile_t){cfg_##_tile_m, cfg_##_tile_n, cfg_##_tile_k, \
				     cfg_##_tile_dtype, cfg_##_tile_a_major, cfg_##_tile_b_major})

#define TSR_FRAG_BYTES(cfg_) \
	((size_t)cfg_##_tile_m * cfg_##_tile_n * (cfg_##_tile_bytes == 8 ? 8 : 4))

/* Elements of 2 or 4 bytes behind a header of 16. */
#define TSR_FRAG_SENT_BYTES(cfg_, as_)                                                         \
	(((size_t)cfg_##_tile_m * cfg_##_tile_n * ((as_) == TSR_F32 ? 4 : 2) + 15) / 16 * 16 + \
	 TSR_CPU_SENT_HEADER_BYTES)

#define TSR_SHARED_TILES(cfg_, name_, count_)       \
	__attribute__((aligned(128))) unsigned char \
		name_[count_]                       \
		     [(cfg_##_tile_m * cfg_##_tile_n * cfg_##_tile_bytes + 127) / 128 * 128]

/* A fragment lives in its thread's arena, given back where its scope ends. */
#define TSR_CPU_FRAG(cfg_, name_, coop_, use_)                                        \
	__attribute__((cleanup(tsr_cpu_frag_drop), unused)) tsr_frag_t *const name_ = \
		tsr_cpu_frag_take(TSR_AT(coop_), TSR_CPU_TILE(cfg_), (use_))
#define TSR_FRAG(cfg_, name_, coop_) TSR_CPU_FRAG(cfg_, name_, coop_, TSR_CPU_FRAG_C)
#define TSR_FRAG_A(cfg_, name_, coop_) TSR_CPU_FRAG(cfg_, name_, coop_, TSR_CPU_FRAG_A)
#define TSR_FRAG_B(cfg_, name_, coop_) TSR_CPU_FRAG(cfg_, name_, coop_, TSR_CPU_FRAG_B)
#define TSR_FRAG_BT(cfg_, name_, coop_) TSR_CPU_FRAG(cfg_, name_, coop_, TSR_CPU_FRAG_BT)
#define TSR_FRAG_ROWS(cfg_, name_, coop_) TSR_CPU_FRAG(cfg_, name_, coop_, TSR_CPU_FRAG_ROWS)

#define tsr_gemm(cfg_, coop_, a_, b_, tasks_, order_, gate_, epilogue_, ctx_)                    \
	tsr_cpu_gemm(TSR_AT(coop_), TSR_CPU_TILE(cfg_), (a_), (b_), (tasks_), (order_), (gate_), \
		     (epilogue_), (ctx_))

/* ------------------------------------------------------------------ attention (dev/attend.h) */

/** A state: O, the maxima in base 2 and the sums of M queries, in the thread's arena. */
typedef struct tsr_state {
	tsr_frag_t *o;
	tsr_rows_t *top, *sum;
} tsr_state_t;

enum { TSR_CPU_ATTENDS_f32 = 4, TSR_CPU_ATTENDS_f16 = 4, TSR_CPU_ATTENDS_bf16 = 4 };

/* As a configuration of products: P (M x N keys) times V (N keys x D). */
#define TSR_ATTEND_TILE(cfg_, dtype_, m_, n_, d_) \
	TSR_TILE(cfg_, dtype_, m_, d_, n_);       \
	typedef tsr_state_t cfg_##_state_t;       \
	enum { cfg_##_state_bytes = (m_) * ((d_) + 2) * (int)TSR_CPU_ATTENDS_##dtype_ }
#define TSR_ATTEND_KEYS(cfg_) cfg_##_tile_k
#define TSR_STATE_BYTES(cfg_) ((size_t)cfg_##_state_bytes)
#define TSR_STATE(cfg_, name_, coop_)                                                        \
	__attribute__((cleanup(tsr_cpu_state_drop), unused)) tsr_state_t name_##_fragments = \
		tsr_cpu_state_take(TSR_AT(coop_), TSR_CPU_TILE(cfg_));                       \
	__attribute__((unused)) tsr_state_t *const name_ = &name_##_fragments

#define TSR_NO_START ((tsr_cpu_state_fn)0)
#define tsr_attend(cfg_, coop_, q_, k_, v_, scale_, tasks_, span_, gate_, start_, epilogue_, ctx_) \
	tsr_cpu_attend(TSR_AT(coop_), TSR_CPU_TILE(cfg_), (q_), (k_), (v_), (scale_), (tasks_),    \
		       (span_), (gate_), (start_), (epilogue_), (ctx_))

/* -------------------------------------------------------------- ordered accesses (dev/atomic.h) */

/* The compilers' own values, so that the library hands them on. */
#define TSR_RELAXED 0
#define TSR_ACQUIRE 2
#define TSR_RELEASE 3
#define TSR_ACQ_REL 4
#define TSR_SEQ_CST 5
#if TSR_RELAXED != __ATOMIC_RELAXED || TSR_ACQUIRE != __ATOMIC_ACQUIRE ||     \
	TSR_RELEASE != __ATOMIC_RELEASE || TSR_ACQ_REL != __ATOMIC_ACQ_REL || \
	TSR_SEQ_CST != __ATOMIC_SEQ_CST
#error "this compiler numbers the memory orders otherwise"
#endif

#define TSR_SCOPE_BLOCK 0
#define TSR_SCOPE_DEVICE 1
#define TSR_SCOPE_SYSTEM 2

enum tsr_cpu_op {
	TSR_CPU_LOAD,
	TSR_CPU_STORE,
	TSR_CPU_XCHG,
	TSR_CPU_ADD,
	TSR_CPU_AND,
	TSR_CPU_OR,
	TSR_CPU_XOR,
	TSR_CPU_MIN,
	TSR_CPU_MAX,
	TSR_CPU_CAS
};

#define TSR_CPU_LOAD_ORDER(o_) ((o_) == TSR_RELAXED || (o_) == TSR_ACQUIRE || (o_) == TSR_SEQ_CST)
#define TSR_CPU_STORE_ORDER(o_) ((o_) == TSR_RELAXED || (o_) == TSR_RELEASE || (o_) == TSR_SEQ_CST)
#define TSR_CPU_RMW_ORDER(o_) (TSR_CPU_LOAD_ORDER(o_) || (o_) == TSR_RELEASE || (o_) == TSR_ACQ_REL)
#define TSR_CPU_SCOPE(s_) \
	((s_) == TSR_SCOPE_BLOCK || (s_) == TSR_SCOPE_DEVICE || (s_) == TSR_SCOPE_SYSTEM)

#define TSR_CPU_CHECKED(p_, order_ok_, scope_)                                                 \
	TSR_CPU_REQUIRE(sizeof(*(p_)) >= 4, "an atomic is a u32, i32, u64, i64, f32 or f64"),  \
		TSR_CPU_REQUIRE(order_ok_,                                                     \
				"the operation cannot have this order; it must be a literal"), \
		TSR_CPU_REQUIRE(TSR_CPU_SCOPE(scope_), "no such scope; it must be a literal")

#define TSR_CPU_RMW(op_, coop_, p_, v_, peer_, order_, scope_)                                   \
	(TSR_CPU_CHECKED(p_, TSR_CPU_RMW_ORDER(order_), scope_),                                 \
	 TSR_CPU_TYPED(tsr_cpu_atomic, p_)(TSR_AT(coop_), (op_), TSR_CPU_RAW(p_), (v_), (peer_), \
					   (order_), (scope_)))
#define TSR_CPU_BITWISE(op_, coop_, p_, v_, peer_, order_, scope_)                       \
	(TSR_CPU_REQUIRE(TSR_CPU_INTEGER(p_), "f32 and f64 have no bitwise operations"), \
	 TSR_CPU_RMW(op_, coop_, p_, v_, peer_, order_, scope_))

#define tsr_atomic_load(coop_, p_, peer_, order_, scope_)                                   \
	(TSR_CPU_CHECKED(p_, TSR_CPU_LOAD_ORDER(order_), scope_),                           \
	 TSR_CPU_TYPED(tsr_cpu_atomic, p_)(TSR_AT(coop_), TSR_CPU_LOAD, TSR_CPU_RAW(p_), 0, \
					   (peer_), (order_), (scope_)))
#define tsr_atomic_store(coop_, p_, v_, peer_, order_, scope_)                                  \
	(TSR_CPU_CHECKED(p_, TSR_CPU_STORE_ORDER(order_), scope_),                              \
	 (void)TSR_CPU_TYPED(tsr_cpu_atomic, p_)(TSR_AT(coop_), TSR_CPU_STORE, TSR_CPU_RAW(p_), \
						 (v_), (peer_), (order_), (scope_)))
#define tsr_atomic_xchg(...) TSR_CPU_RMW(TSR_CPU_XCHG, __VA_ARGS__)
#define tsr_atomic_add(...) TSR_CPU_RMW(TSR_CPU_ADD, __VA_ARGS__)
#define tsr_atomic_min(...) TSR_CPU_RMW(TSR_CPU_MIN, __VA_ARGS__)
#define tsr_atomic_max(...) TSR_CPU_RMW(TSR_CPU_MAX, __VA_ARGS__)
#define tsr_atomic_and(...) TSR_CPU_BITWISE(TSR_CPU_AND, __VA_ARGS__)
#define tsr_atomic_or(...) TSR_CPU_BITWISE(TSR_CPU_OR, __VA_ARGS__)
#define tsr_atomic_xor(...) TSR_CPU_BITWISE(TSR_CPU_XOR, __VA_ARGS__)
#define tsr_atomic_cas(coop_, p_, expected_, desired_, peer_, order_, failure_, scope_)          \
	(TSR_CPU_CHECKED(p_, TSR_CPU_RMW_ORDER(order_), scope_),                                 \
	 TSR_CPU_REQUIRE(TSR_CPU_LOAD_ORDER(failure_), "a failed compare-and-swap is a load"),   \
	 TSR_CPU_REQUIRE(TSR_CPU_INTEGER(p_), "f32 and f64 have no compare-and-swap"),           \
	 TSR_CPU_TYPED(tsr_cpu_cas, p_)(TSR_AT(coop_), TSR_CPU_RAW(p_), (expected_), (desired_), \
					(peer_), (order_), (failure_), (scope_)))

/* dev/pointer.h */
#define TSR_CPU_IS_VALUE(p_)                                      \
	TSR_CPU_REQUIRE(sizeof(*(p_)) == 4 || sizeof(*(p_)) == 8, \
			"a value is a u32, i32, u64, i64, f32 or f64")
#define tsr_put_value(coop_, p_, v_, peer_) \
	(TSR_CPU_IS_VALUE(p_), TSR_CPU_PUT_VALUE(TSR_AT(coop_), p_, v_, peer_))
#define tsr_get_value(coop_, p_, peer_) \
	(TSR_CPU_IS_VALUE(p_), TSR_CPU_GET_VALUE(TSR_AT(coop_), p_, peer_))
#define TSR_CPU_IS_RECORD(p_, record_)                                               \
	TSR_CPU_REQUIRE(sizeof(*(p_)) % 4 == 0 && sizeof(*(p_)) <= 256,              \
			"a record has 4 to 256 bytes, in fours"),                    \
		TSR_CPU_REQUIRE(__alignof__(*(p_)) >= 4 && __alignof__(*(p_)) <= 16, \
				"a record is aligned to 4 to 16"),                   \
		TSR_CPU_REQUIRE(sizeof(*(p_)) == sizeof(*(record_)),                 \
				"memory and variable are of one type")
#define tsr_put_record(coop_, p_, record_, peer_)                                     \
	(TSR_CPU_IS_RECORD(p_, record_),                                              \
	 tsr_cpu_put_record(TSR_AT(coop_), TSR_CPU_RAW(p_), (record_), sizeof(*(p_)), \
			    __alignof__(*(p_)), (peer_)))
#define tsr_get_record(coop_, record_, p_, peer_)                                     \
	(TSR_CPU_IS_RECORD(p_, record_),                                              \
	 tsr_cpu_get_record(TSR_AT(coop_), (record_), TSR_CPU_RAW(p_), sizeof(*(p_)), \
			    __alignof__(*(p_)), (peer_)))

#define tsr_fence(coop_, order_, scope_)                                                \
	(TSR_CPU_REQUIRE(TSR_CPU_RMW_ORDER(order_) && (order_) != TSR_RELAXED,          \
			 "a fence cannot have this order"),                             \
	 TSR_CPU_REQUIRE(TSR_CPU_SCOPE(scope_), "no such scope; it must be a literal"), \
	 tsr_cpu_fence(TSR_AT(coop_), (order_), (scope_)))

#define TSR_CPU_LOCAL(flag_, scope_)                                                         \
	TSR_CPU_REQUIRE(sizeof(*(flag_)) == 8 && TSR_CPU_INTEGER(flag_), "a flag is a u64"), \
		TSR_CPU_REQUIRE(                                                             \
			(scope_) == TSR_SCOPE_BLOCK || (scope_) == TSR_SCOPE_DEVICE,         \
			"a local signal has block or device scope; between ranks use tsr_signal")
#define TSR_CPU_WORD(p_, order_, scope_)                                                          \
	TSR_CPU_REQUIRE(TSR_CPU_WITHOUT_SIGN(p_), "a word that is waited for is a u32 or u64"),   \
		TSR_CPU_REQUIRE(sizeof(*(p_)) >= 4, "a word that is waited for is a u32 or u64"), \
		TSR_CPU_REQUIRE((order_) == TSR_RELAXED || (order_) == TSR_ACQUIRE,               \
				"a wait has TSR_RELAXED or TSR_ACQUIRE, as a literal"),           \
		TSR_CPU_REQUIRE(TSR_CPU_SCOPE(scope_), "no such scope; it must be a literal")
#define tsr_wait_word(coop_, p_, cmp_, value_, peer_, order_, scope_, from_, seen_out_)     \
	(TSR_CPU_WORD(p_, order_, scope_),                                                  \
	 tsr_cpu_wait_word(TSR_AT(coop_), TSR_CPU_RAW(p_), sizeof(*(p_)), (cmp_), (value_), \
			   (peer_), (order_), (scope_), (from_), (seen_out_)))
#define tsr_wait_word_until(coop_, p_, cmp_, value_, peer_, order_, scope_, from_, deadline_ns_,  \
			    seen_out_)                                                            \
	(TSR_CPU_WORD(p_, order_, scope_),                                                        \
	 tsr_cpu_wait_word_until(TSR_AT(coop_), TSR_CPU_RAW(p_), sizeof(*(p_)), (cmp_), (value_), \
				 (peer_), (order_), (scope_), (from_), (deadline_ns_),            \
				 (seen_out_)))

#define tsr_signal_local(coop_, flag_, value_, scope_) \
	(TSR_CPU_LOCAL(flag_, scope_),                 \
	 tsr_cpu_signal_local(TSR_AT(coop_), TSR_CPU_RAW(flag_), (value_), (scope_)))
#define tsr_wait_local(coop_, flag_, value_, scope_) \
	(TSR_CPU_LOCAL(flag_, scope_),               \
	 tsr_cpu_wait_local(TSR_AT(coop_), TSR_CPU_RAW(flag_), (value_), (scope_)))

#endif
