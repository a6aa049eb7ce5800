/* Sleeping on a 32-bit word that processes may share. */
#ifndef TESSERA_BASE_FUTEX_H
#define TESSERA_BASE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/** Sleeps while *word == seen, for at most `ns`. May return early. */
static inline void tsr_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
			     .tv_nsec = (long)(ns % 1000000000u)};
	(void)syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

static inline void tsr_futex_wake_all(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#endif
