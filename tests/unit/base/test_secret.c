/*
 * Proofs and keys: the vectors of SipHash-2-4 that its authors give, and that
 * texts which differ make keys which differ.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "src/base/os/secret.h"

Test(secret, siphash_agrees_with_its_authors)
{
	/* The reference implementation: key 00 .. 0f, and of the bytes 00, 01, ... the first
	 * `length`. */
	static const struct {
		size_t length;
		uint64_t hash;
	} vectors[] = {
		{0, 0x726fdb47dd0e0e31u}, {1, 0x74f839c593dc67fdu},  {7, 0xab0200f58b01d137u},
		{8, 0x93f5f5799a932462u}, {15, 0xa129ca6149be45e5u},
	};
	const tsr_key_t key = {{0x0706050403020100u, 0x0f0e0d0c0b0a0908u}};
	unsigned char bytes[16];
	for (int i = 0; i < 16; i++)
		bytes[i] = (unsigned char)i;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		cr_expect(tsr_siphash(&key, bytes, vectors[i].length) == vectors[i].hash,
			  "%zu bytes: %llx", vectors[i].length,
			  (unsigned long long)tsr_siphash(&key, bytes, vectors[i].length));
}

Test(secret, keys_follow_their_texts)
{
	static const char *const texts[] = {"", "a", "b", "ab", "a word", "a word "};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
			const tsr_key_t a = tsr_key_of(texts[i]), b = tsr_key_of(texts[j]);
			cr_expect_eq(memcmp(&a, &b, sizeof a) == 0, i == j, "'%s' and '%s'",
				     texts[i], texts[j]);
		}
}

Test(secret, random_bytes_differ)
{
	uint64_t seen[64];
	for (int i = 0; i < 64; i++) {
		cr_assert(tsr_random_bytes(&seen[i], sizeof seen[i]));
		for (int j = 0; j < i; j++)
			cr_expect(seen[i] != seen[j]);
	}
}
