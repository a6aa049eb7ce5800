/*
 * The kernel descriptor: what a launch needs to know of a kernel, the same for
 * every backend.
 */
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
 * A kernel compiled for the CPU. Called once for each worker, with the launch's
 * arguments and the block's shared memory.
 */
typedef void (*tsr_kernel_cpu_fn)(struct tsr_coop *block, struct tsr_coop *worker, const void *args,
				  void *shared);

/**
 * A kernel. The macros of dev/kernel.h make it; programs never write it by
 * hand.
 */
typedef struct tsr_kernel {
	uint32_t abi;     /* TSR_KERNEL_ABI */
	uint32_t workers; /* workers in a block; 1 if it is not split */
	const char *name; /* as given to TSR_KERNEL */
	/* given by TSR_VARIANT, such as "bf16_64x64x32"; "" if there is only one variant */
	const char *variant;
	const char *unit; /* the translation unit; its device images carry the same name */
	size_t args_bytes;
	size_t shared_bytes;
	tsr_kernel_cpu_fn cpu;
} tsr_kernel_t;

/**
 * The device code of one translation unit for one backend and one architecture,
 * embedded as bytes. The build makes it.
 */
typedef struct tsr_image {
	const char *unit;    /* equal to tsr_kernel_t.unit */
	const char *backend; /* "cuda", "hip" */
	const char *arch;    /* "sm_90a", "gfx942" */
	const unsigned char *bytes;
	size_t size_bytes;
} tsr_image_t;

/**
 * The kernels and images of one module: of the program, or of a shared library
 * that it loads. TSR_KERNEL makes it; programs never write it by hand. The
 * linker gathers the lists of all translation units of the module, and the
 * module passes their place to the library.
 */
typedef struct tsr_module {
	size_t size_bytes; /* sizeof this struct */
	const tsr_kernel_t *const *kernels, *const *kernels_end;
	const tsr_image_t *const *images, *const *images_end;
	struct tsr_module *next; /* used by the library */
} tsr_module_t;

/**
 * tsr_module_register adds a module, which must stay at its address;
 * tsr_module_forget removes it. The loader calls them, under its lock, when it
 * loads and unloads the program or the shared library; TSR_KERNEL arranges
 * that. Each kernel of a module makes the call, and the first one adds the
 * module. While a module with kernels is unloaded, no other thread may look for
 * a kernel.
 */
TSR_API void tsr_module_register(tsr_module_t *module);
TSR_API void tsr_module_forget(tsr_module_t *module);

/**
 * Declares a kernel that another translation unit defines. The descriptor has
 * the kernel's name.
 */
#define TSR_KERNEL_DECLARE(name_) TSR_EXTERN const tsr_kernel_t name_

/**
 * Finds a kernel of the program or its shared libraries by name and variant (""
 * or null: the only one). Returns null if there is none. Any thread.
 */
TSR_API const tsr_kernel_t *tsr_kernel_find(const char *name, const char *variant);

/**
 * The `index`-th kernel and the `index`-th device image of the program and its
 * shared libraries; null past the last. Among them are the library's own
 * (tessera/collective.h), if the program calls them, or is linked with
 * libtessera.so. Any thread.
 */
TSR_API const tsr_kernel_t *tsr_kernel_at(int index);
TSR_API const tsr_image_t *tsr_image_at(int index);

#ifdef __cplusplus
}
#endif
#endif
