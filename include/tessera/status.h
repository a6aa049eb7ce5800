/* Status codes, and the sentence that describes the last error. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

#include "tessera/visibility.h"

/*
 * C23 and C++17 define this attribute. Other compilers may know it too;
 * __extension__ keeps -Wpedantic silent there.
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
 * The result of every host call. Zero is success. The negative values are
 * grouped by what is lost: the call alone, the device, or the world.
 *
 * A compiler warns where a program ignores a status. Write `(void)` before the
 * call where that is intended.
 */
TSR_EXTENSION typedef enum TSR_MUST_USE tsr_status {
	TSR_OK = 0,

	/* The call did nothing; the world goes on. */
	/* a value outside its range, a null pointer, an invalid shape */
	TSR_ERR_ARGUMENT = -1,
	TSR_ERR_NO_MEMORY = -2, /* no room in the symmetric heap, or on the host */
	/* the ranks asked for different things in a collective call */
	TSR_ERR_MISMATCH = -3,
	TSR_ERR_NOT_FOUND = -4, /* no such backend, kernel, variant, option or allocation */
	/* this backend cannot do it; it never does something weaker instead */
	TSR_ERR_UNSUPPORTED = -5,
	TSR_ERR_CONFIG = -6, /* an environment variable or an option that cannot be read */
	/* the blocks of a co-resident group do not fit on the device together */
	TSR_ERR_RESIDENCY = -7,

	/* This process has lost its device. */
	TSR_ERR_NO_DEVICE = -20, /* the backend finds no device here */
	/* the operating system or a vendor's runtime failed; the sentence quotes it */
	TSR_ERR_SYSTEM = -21,
	/* a kernel misused the device API; the sentence names the call, the block and the cause */
	TSR_ERR_KERNEL = -22,

	/* The world is lost. */
	TSR_ERR_TIMEOUT = -40,   /* a deadline passed; tsr_wait_record says which wait expired */
	TSR_ERR_PEER_LOST = -41, /* a rank ended, or never joined */
	TSR_ERR_ABORTED = -42    /* another rank, or an earlier call, ended the world */
} tsr_status_t;

/** The code's name, such as "TSR_ERR_NO_MEMORY". Never null. Any thread. */
TSR_API const char *tsr_status_name(tsr_status_t status);

/**
 * One sentence that names cause and cure of the last error that a call returned
 * on this thread. It is valid until the next call that fails on this thread.
 * Never null; "" before the first error. The library prints nothing: the
 * program prints this sentence when it gives up (with TSR_MAIN: tsr_fail()).
 *
 * Called by:  any thread.
 */
TSR_API const char *tsr_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
