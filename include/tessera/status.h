/* Status codes, and the sentence that goes with the last one. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include "tessera/visibility.h"

/*
 * The attribute stands in C23 and C++17; other compilers that know it are told
 * that it is no mistake.
 */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define TSR_MUST_USE [[nodiscard]]
#elif !defined(__cplusplus) && defined(__has_c_attribute)
#if __has_c_attribute(nodiscard)
#define TSR_MUST_USE [[nodiscard]]
#define TSR_EXTENSION __extension__
#endif
#endif
#ifndef TSR_MUST_USE
#define TSR_MUST_USE
#endif
#ifndef TSR_EXTENSION
#define TSR_EXTENSION
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What every host call returns. Zero is success. The negative values are
 * grouped by what is lost:
 * the call alone, the device, a peer, or the world.
 * Compilers warn where a program does not look at one: `(void)` before the call
 * says that it is meant.
 */
TSR_EXTENSION typedef enum TSR_MUST_USE tsr_status {
	TSR_OK = 0,

	/* The call did nothing; the world goes on. */
	/* a value outside its range, a null pointer, a shape that is not one */
	TSR_ERR_ARGUMENT = -1,
	TSR_ERR_NO_MEMORY = -2, /* the symmetric heap, or the host, has no room */
	/* the ranks did not ask for the same thing in a collective call */
	TSR_ERR_MISMATCH = -3,
	TSR_ERR_NOT_FOUND = -4, /* no such backend, kernel, variant, option or allocation */
	/* this backend cannot do it; it never does something weaker instead */
	TSR_ERR_UNSUPPORTED = -5,
	TSR_ERR_CONFIG = -6, /* an environment variable or option that cannot be read */
	/* the blocks of a co-resident group do not fit the device together */
	TSR_ERR_RESIDENCY = -7,

	/* The device is lost to this process. */
	TSR_ERR_NO_DEVICE = -20, /* the backend has no device here */
	/* the operating system or a vendor's runtime refused; the sentence quotes it */
	TSR_ERR_SYSTEM = -21,
	/* a kernel used the device API wrongly; the sentence names call, block and cause */
	TSR_ERR_KERNEL = -22,

	/* The world is lost. */
	TSR_ERR_TIMEOUT = -40,   /* a deadline passed; tsr_wait_record says who waited for whom */
	TSR_ERR_PEER_LOST = -41, /* a rank ended, or never arrived */
	TSR_ERR_ABORTED = -42    /* another rank or an earlier call ended the world */
} tsr_status_t;

/**
 * The code's name, such as "TSR_ERR_NO_MEMORY". Called by any thread. Never
 * null.
 */
TSR_API const char *tsr_status_name(tsr_status_t status);

/**
 * One sentence that names cause and cure of the last error that a call on this
 * thread returned.
 * Called by any thread; the text is valid until the next failing call on the
 * same thread. Never null; "" before the first error. The library prints
 * nothing: whoever ends the program prints this (TSR_MAIN programs:
 * tsr_fail()).
 */
TSR_API const char *tsr_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
