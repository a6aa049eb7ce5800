/*
 * Secrets: random bits, and proofs that a peer knows a key, without sending the
 * key.
 */
#ifndef TESSERA_BASE_SECRET_H
#define TESSERA_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsr_key {
	uint64_t half[2];
} tsr_key_t;

/**
 * Fills `bytes_out` with at most 256 random bytes from the kernel. Returns
 * false (errno) if the kernel has none.
 */
bool tsr_random_bytes(void *bytes_out, size_t size_bytes);

/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a 64-bit hash that nobody can
 * predict without the key, however many other hashes with the same key are
 * known.
 */
uint64_t tsr_siphash(const tsr_key_t *key, const void *bytes, size_t size_bytes);

/** Derives a key from a text; it is as hard to guess as the text. */
tsr_key_t tsr_key_of(const char *text);

#endif
