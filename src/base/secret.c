/* Random bits of the kernel, and SipHash-2-4 as its authors' paper has it. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/secret.h"

bool tsr_random_bytes(void *bytes_out, size_t size_bytes)
{
	ssize_t got;
	do
		got = getrandom(bytes_out, size_bytes, 0);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)size_bytes;
}

static inline uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/** `count` bytes (at most 8) as a number, the first the lowest. */
static uint64_t word_of(const unsigned char *bytes, size_t count)
{
	uint64_t word = 0;
	for (size_t i = 0; i < count; i++)
		word |= (uint64_t)bytes[i] << (8 * i);
	return word;
}

static void take_in(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
}

uint64_t tsr_siphash(const tsr_key_t *key, const void *bytes, size_t size_bytes)
{
	const unsigned char *at = bytes;
	uint64_t v[4] = {key->half[0] ^ 0x736f6d6570736575u, key->half[1] ^ 0x646f72616e646f6du, key->half[0] ^ 0x6c7967656e657261u,
			 key->half[1] ^ 0x7465646279746573u};
	size_t left = size_bytes;
	for (; left >= 8; left -= 8, at += 8)
		take_in(v, word_of(at, 8));
	take_in(v, (uint64_t)size_bytes << 56 | word_of(at, left));
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

tsr_key_t tsr_key_of(const char *text)
{
	static const tsr_key_t first = {{0, 1}}, second = {{2, 3}}; /* any two that differ */
	const size_t length = strlen(text);
	return (tsr_key_t){{tsr_siphash(&first, text, length), tsr_siphash(&second, text, length)}};
}
