/* The neutral descriptor of a kernel: what a launch needs to know, whatever the backend. */
#ifndef TESSERA_KERNEL_H
#define TESSERA_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "tessera/types.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_KERNEL_ABI 1u

struct tsr_coop;

/**
 * The kernel compiled for the CPU: called once a worker, with the launch's
 * arguments and the block's shared memory.
 */
typedef void (*tsr_kernel_cpu_fn)(struct tsr_coop *block, struct tsr_coop *worker, const void *args,
				  void *shared);

/** A kernel. Made by the macros of dev/kernel.h; never written by hand. */
typedef struct tsr_kernel {
	uint32_t abi;     /* TSR_KERNEL_ABI */
	uint32_t workers; /* workers a block is split into, 1 where it is not */
	const char *name; /* as given to TSR_KERNEL */
	/* as given by TSR_VARIANT, such as "bf16_64x64x32"; "" where there is one variant only */
	const char *variant;
	const char *unit; /* the translation unit, which its device images carry too */
	size_t args_bytes;
	size_t shared_bytes;
	tsr_kernel_cpu_fn cpu;
} tsr_kernel_t;

/**
 * The device code of one translation unit for one backend and architecture,
 * embedded as bytes. Made by the build.
 */
typedef struct tsr_image {
	const char *unit;    /* equals tsr_kernel_t.unit */
	const char *backend; /* "cuda", "hip" */
	const char *arch;    /* "sm_90a", "gfx942" */
	const unsigned char *bytes;
	size_t size_bytes;
} tsr_image_t;

/**
 * The kernels and images of one module: the program, or a shared library that
 * it uses. Made by TSR_KERNEL; never written by hand. A linker gathers what a
 * module's translation units list; the module tells the library where that is.
 */
typedef struct tsr_module {
	size_t size_bytes; /* of this struct */
	const tsr_kernel_t *const *kernels, *const *kernels_end;
	const tsr_image_t *const *images, *const *images_end;
	struct tsr_module *next; /* the library's */
} tsr_module_t;

/**
 * Adds a module, which stays where it is, and takes it out. TSR_KERNEL has the
 * loader call them: while the program, or the shared library with the kernel,
 * is loaded and unloaded, under the loader's lock. No other thread looks for a
 * kernel while a module that has any is unloaded. Every kernel makes the call,
 * and a module is added once.
 */
TSR_API void tsr_module_register(tsr_module_t *module);
TSR_API void tsr_module_forget(tsr_module_t *module);

/**
 * Declares a kernel that another translation unit defines: the descriptor has
 * the kernel's name.
 */
#define TSR_KERNEL_DECLARE(name_) TSR_EXTERN const tsr_kernel_t name_

/**
 * Finds a kernel of the program and its shared libraries by name and variant
 * ("" or null: the only one). Any thread. Null where there is none.
 */
TSR_API const tsr_kernel_t *tsr_kernel_find(const char *name, const char *variant);

/**
 * The `index`-th kernel, and the `index`-th device image, of the program and
 * its shared libraries; null past the last. Any thread.
 */
TSR_API const tsr_kernel_t *tsr_kernel_at(int index);
TSR_API const tsr_image_t *tsr_image_at(int index);

#ifdef __cplusplus
}
#endif
#endif
