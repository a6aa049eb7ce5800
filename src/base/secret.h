/* Secrets: random bits, and proofs that somebody knows a key which is itself never sent. */
#ifndef TESSERA_BASE_SECRET_H
#define TESSERA_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsr_key {
	uint64_t half[2];
} tsr_key_t;

/**
 * Fills `bytes_out` with at most 256 random bytes of the kernel. False: the
 * kernel has none (errno).
 */
bool tsr_random_bytes(void *bytes_out, size_t size_bytes);

/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): 64 bits that nobody can tell who
 * does not know the key, however many others of the same key he has seen.
 */
uint64_t tsr_siphash(const tsr_key_t *key, const void *bytes, size_t size_bytes);

/** The key that a text stands for: as hard to guess as the text. */
tsr_key_t tsr_key_of(const char *text);

#endif
