/*
 * The library's functions behind the port's macros; those behind the contracts'
 * names are declared by the contracts.
 */
#ifndef TESSERA_CPUEMU_BODIES_H
#define TESSERA_CPUEMU_BODIES_H

#include "cpuemu/dev/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fragments are given back in the reverse order of taking: the ends of scopes see to it. */
TSR_API tsr_frag_t *tsr_cpu_frag_take(tsr_coop_t *coop, tsr_cpu_tile_t tile,
				      enum tsr_cpu_frag_use use);
TSR_API void tsr_cpu_frag_drop(tsr_frag_t *const *frag);

/*
 * TSR_EACH: from one pass of this thread to the next (0: as tsr_cpu_each_next
 * says), the first pass, and behind the last one false.
 */
TSR_API int tsr_cpu_each_step(tsr_coop_t *coop, int count);
TSR_API int tsr_cpu_each_begin(tsr_coop_t *coop);
TSR_API int tsr_cpu_each_next(tsr_coop_t *coop);
TSR_API int tsr_cpu_each_end(tsr_coop_t *coop);

typedef void (*tsr_cpu_epilogue_fn)(tsr_coop_t *coop, tsr_frag_t *acc, tsr_pos_t at, void *ctx);
TSR_API void tsr_cpu_gemm(tsr_coop_t *coop, tsr_cpu_tile_t tile, tsr_view_t a, tsr_view_t b,
			  tsr_tasks_t tasks, tsr_order_fn order, tsr_gate_fn gate,
			  tsr_cpu_epilogue_fn epilogue, void *ctx);

TSR_API tsr_state_t tsr_cpu_state_take(tsr_coop_t *coop, tsr_cpu_tile_t tile);
TSR_API void tsr_cpu_state_drop(tsr_state_t *state);

typedef void (*tsr_cpu_state_fn)(tsr_coop_t *coop, tsr_state_t *state, tsr_span_t span, void *ctx);
TSR_API void tsr_cpu_attend(tsr_coop_t *coop, tsr_cpu_tile_t tile, tsr_view_t q, tsr_view_t k,
			    tsr_view_t v, float scale, tsr_tasks_t tasks, tsr_span_fn span,
			    tsr_keys_gate_fn gate, tsr_cpu_state_fn start,
			    tsr_cpu_state_fn epilogue, void *ctx);

/**
 * Every atomic but compare-and-swap; the value is ignored by loads. Orders and
 * scopes have been checked by the macros.
 */
#define TSR_CPU_DECLARE_ATOMIC(suffix_, type_)                                                \
	TSR_API type_ tsr_cpu_atomic_##suffix_(tsr_coop_t *coop, enum tsr_cpu_op op, void *p, \
					       type_ value, int peer, int order, int scope);  \
	TSR_API type_ tsr_cpu_cas_##suffix_(tsr_coop_t *coop, void *p, type_ expected,        \
					    type_ desired, int peer, int order, int failure,  \
					    int scope)
TSR_CPU_DECLARE_ATOMIC(i32, int32_t);
TSR_CPU_DECLARE_ATOMIC(u32, uint32_t);
TSR_CPU_DECLARE_ATOMIC(i64, int64_t);
TSR_CPU_DECLARE_ATOMIC(u64, uint64_t);
TSR_CPU_DECLARE_ATOMIC(f32, float);
TSR_CPU_DECLARE_ATOMIC(f64, double);

TSR_API void tsr_cpu_collective(tsr_coop_t *coop, const char *call, const TSR_HEAP void *state,
				const TSR_HEAP uint64_t *count, uint64_t per_round,
				TSR_HEAP void *to, size_t reach_bytes, size_t size_bytes, int root,
				int64_t words, uint64_t how);
/* One value of `size_bytes`; a get returns where it has put it. */
TSR_API void tsr_cpu_put_value(tsr_coop_t *coop, void *p, const void *value, size_t size_bytes,
			       int peer);
TSR_API void *tsr_cpu_get_value(tsr_coop_t *coop, const void *p, void *value, size_t size_bytes,
				int peer);
TSR_API void tsr_cpu_put_record(tsr_coop_t *coop, void *p, const void *record, size_t size_bytes,
				size_t align, int peer);
TSR_API void tsr_cpu_get_record(tsr_coop_t *coop, void *record, const void *p, size_t size_bytes,
				size_t align, int peer);

TSR_API void tsr_cpu_fence(tsr_coop_t *coop, int order, int scope);
TSR_API void tsr_cpu_signal_local(tsr_coop_t *coop, void *flag, uint64_t value, int scope);
TSR_API tsr_wait_result_t tsr_cpu_wait_local(tsr_coop_t *coop, void *flag, uint64_t value,
					     int scope);
TSR_API tsr_wait_result_t tsr_cpu_wait_word(tsr_coop_t *coop, void *p, size_t bytes, tsr_cmp_t cmp,
					    uint64_t value, int peer, int order, int scope,
					    int from, uint64_t *seen_out);
TSR_API tsr_wait_result_t tsr_cpu_wait_word_until(tsr_coop_t *coop, void *p, size_t bytes,
						  tsr_cmp_t cmp, uint64_t value, int peer,
						  int order, int scope, int from,
						  uint64_t deadline_ns, uint64_t *seen_out);

#ifdef __cplusplus
}

/*
 * What cpuemu/dev/typed.h asks for: of each type that C may mean by i32, u32,
 * i64, u64, f32 and f64.
 */
#define TSR_CPU_TYPE(type_, suffix_, integer_, without_sign_)                                     \
	template <> struct tsr_cpu_type<type_> {                                                  \
		static constexpr bool integer = integer_, without_sign = without_sign_;           \
		static constexpr auto tsr_cpu_atomic = tsr_cpu_atomic_##suffix_;                  \
		static constexpr auto tsr_cpu_cas = tsr_cpu_cas_##suffix_;                        \
		static inline void put(tsr_coop_t *coop, void *p, type_ value, size_t size_bytes, \
				       int peer)                                                  \
		{                                                                                 \
			tsr_cpu_put_value(coop, p, &value, size_bytes, peer);                     \
		}                                                                                 \
		static inline type_ get(tsr_coop_t *coop, void *p, size_t size_bytes, int peer)   \
		{                                                                                 \
			type_ value = 0;                                                          \
			return *static_cast<type_ *>(tsr_cpu_get_value(coop, p, &value,           \
								       size_bytes, peer));        \
		}                                                                                 \
	}
TSR_CPU_TYPE(int, i32, true, false);
TSR_CPU_TYPE(unsigned int, u32, true, true);
TSR_CPU_TYPE(long, i64, true, false);
TSR_CPU_TYPE(long long, i64, true, false);
TSR_CPU_TYPE(unsigned long, u64, true, true);
TSR_CPU_TYPE(unsigned long long, u64, true, true);
TSR_CPU_TYPE(float, f32, false, false);
TSR_CPU_TYPE(double, f64, false, false);
#endif
#endif
