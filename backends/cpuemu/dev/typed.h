/*
 * What the CPU's port asks of the type of a pointer's target: by _Generic in C,
 * by templates in C++. `*p_` is never evaluated: a heap pointer is not
 * dereferenced outside the library.
 */
#ifndef TESSERA_CPUEMU_TYPED_H
#define TESSERA_CPUEMU_TYPED_H

#include <stddef.h>
#include <stdint.h>

/*
 * TSR_CPU_REQUIRE(cond, text)    an expression that does not compile where
 *                                `cond` is false
 * TSR_CPU_INTEGER(p)             whether `*p` is an integer, as constants:
 *                                that, and whether it has no sign
 * TSR_CPU_WITHOUT_SIGN(p)
 * TSR_CPU_TYPED(name, p)         the function of cpuemu/dev/bodies.h that
 *                                begins with `name` and is for the type of `*p`
 * TSR_CPU_PUT_VALUE(coop, p, v, peer), TSR_CPU_GET_VALUE(coop, p, peer)
 *                                one value of that type, to and from a rank;
 *                                the type is wide enough not to be promoted
 */
#define TSR_CPU_RAW(p_) ((void *)(uintptr_t)(p_))

#if defined(__cplusplus)

#define TSR_CPU_VALUE(p_) __typeof__(*(p_) + 0)
#define TSR_CPU_REQUIRE(cond_, text_) ((void)[] { static_assert((cond_), text_); })
#define TSR_CPU_INTEGER(p_) (tsr_cpu_type<TSR_CPU_VALUE(p_)>::integer)
#define TSR_CPU_WITHOUT_SIGN(p_) (tsr_cpu_type<TSR_CPU_VALUE(p_)>::without_sign)
#define TSR_CPU_TYPED(name_, p_) (tsr_cpu_type<TSR_CPU_VALUE(p_)>::name_)
#define TSR_CPU_PUT_VALUE(coop_, p_, v_, peer_)                                              \
	(tsr_cpu_type<TSR_CPU_VALUE(p_)>::put((coop_), TSR_CPU_RAW(p_), (v_), sizeof(*(p_)), \
					      (peer_)))
#define TSR_CPU_GET_VALUE(coop_, p_, peer_) \
	(tsr_cpu_type<TSR_CPU_VALUE(p_)>::get((coop_), TSR_CPU_RAW(p_), sizeof(*(p_)), (peer_)))

/** The types that a call may have, in cpuemu/dev/bodies.h. Others have no such thing. */
template <typename T> struct tsr_cpu_type;

#else

#define TSR_CPU_REQUIRE(cond_, text_)           \
	((void)sizeof(struct {                  \
		_Static_assert((cond_), text_); \
		char tsr_ok;                    \
	}))
#define TSR_CPU_INTEGER(p_) _Generic(*(p_) + 0, float : 0, double : 0, default : 1)
#define TSR_CPU_WITHOUT_SIGN(p_)                                                         \
	_Generic(*(p_) + 0, unsigned int : 1, unsigned long : 1, unsigned long long : 1, \
		 default : 0)
#define TSR_CPU_TYPED(name_, p_)                   \
	_Generic(*(p_) + 0, int                    \
		 : name_##_i32, unsigned int       \
		 : name_##_u32, long               \
		 : name_##_i64, long long          \
		 : name_##_i64, unsigned long      \
		 : name_##_u64, unsigned long long \
		 : name_##_u64, float              \
		 : name_##_f32, double             \
		 : name_##_f64)
/* By the type of a literal, which has no mark of a heap pointer's target (TSR_HEAP). */
#define TSR_CPU_VALUE(p_)                                                                      \
	__typeof__(_Generic(*(p_) + 0, int : 0, unsigned int : 0u, long : 0l, long long : 0ll, \
			    unsigned long : 0ul, unsigned long long : 0ull, float : 0.0f,      \
			    double : 0.0))
#define TSR_CPU_PUT_VALUE(coop_, p_, v_, peer_)                                                \
	tsr_cpu_put_value((coop_), TSR_CPU_RAW(p_), &(TSR_CPU_VALUE(p_)){(v_)}, sizeof(*(p_)), \
			  (peer_))
#define TSR_CPU_GET_VALUE(coop_, p_, peer_)                                \
	(*(TSR_CPU_VALUE(p_) *)tsr_cpu_get_value((coop_), TSR_CPU_RAW(p_), \
						 &(TSR_CPU_VALUE(p_)){0}, sizeof(*(p_)), (peer_)))

#endif
#endif
