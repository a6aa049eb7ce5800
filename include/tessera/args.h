/*
 * Compile-time checks of launch arguments: the macros of launches compare the
 * size of the arguments with the size that the kernel takes.
 */
#ifndef TESSERA_ARGS_H
#define TESSERA_ARGS_H

#include <stddef.h>

#include "tessera/kernel.h"

/*
 * The size of what a pointer points to; 0 for a `void *`. The pointer is not
 * evaluated.
 */
#if defined(__cplusplus)
template <typename T> constexpr size_t tsr_pointee_bytes(const T *)
{
	return sizeof(T);
}
constexpr size_t tsr_pointee_bytes(const void *)
{
	return 0;
}
#define TSR_POINTEE_BYTES(...) tsr_pointee_bytes(__VA_ARGS__)
#else
#define TSR_POINTEE_BYTES(...) \
	(_Generic((__VA_ARGS__), void * : 0, const void * : 0, default : sizeof *_Generic((__VA_ARGS__), void * : "", const void * : "", default : (__VA_ARGS__))))
#endif

/*
 * The program never calls this function, and no library defines it. The
 * optimiser removes the call where the sizes agree; a call that is left is a
 * compile-time error.
 */
#if defined(__OPTIMIZE__) && defined(__has_attribute)
#if __has_attribute(error)
#ifdef __cplusplus
extern "C"
#endif
	__attribute__((error("the arguments have another size than the kernel takes: hand it the "
			     "struct that its TSR_KERNEL names"))) void
	tsr_launch_with_other_arguments(void);
#define TSR_ARGS_DIFFER() tsr_launch_with_other_arguments()
#endif
#endif
#ifndef TSR_ARGS_DIFFER
#define TSR_ARGS_DIFFER() ((void)0)
#endif

/**
 * Returns `kernel`. Where the compiler knows both sizes and `args_bytes`
 * differs from what the kernel takes, the program does not compile. Called by
 * the macros of launches.
 */
__attribute__((always_inline)) static inline const tsr_kernel_t *tsr_kernel_for(
	const tsr_kernel_t *kernel, size_t args_bytes)
{
	if (kernel && __builtin_constant_p(kernel->args_bytes) &&
	    __builtin_constant_p(args_bytes) && args_bytes != 0 && kernel->args_bytes != args_bytes)
		TSR_ARGS_DIFFER();
	return kernel;
}

#endif
