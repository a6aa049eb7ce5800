/* Random bits of the kernel, and hashes of libsodium. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <sodium/crypto_generichash.h>
#include <sodium/crypto_shorthash_siphash24.h>

#include "src/base/os/secret.h"

_Static_assert(sizeof(tsr_key_t) == crypto_shorthash_siphash24_KEYBYTES, "a key is SipHash's");
_Static_assert(sizeof(uint64_t) == crypto_shorthash_siphash24_BYTES, "a proof is a SipHash");

bool tsr_random_bytes(void *bytes_out, size_t size_bytes)
{
	ssize_t got = -1;
	/* while the kernel gathers its first bits, after the machine has started, a signal may
	 * interrupt it */
	errno = EINTR;
	for (int i = 0; got < 0 && errno == EINTR && i < 10000; i++)
		got = getrandom(bytes_out, size_bytes, 0);
	return got == (ssize_t)size_bytes;
}

uint64_t tsr_siphash(const tsr_key_t *key, const void *bytes, size_t size_bytes)
{
	uint64_t hash;
	crypto_shorthash_siphash24((unsigned char *)&hash, bytes, size_bytes,
				   (const unsigned char *)key);
	return hash;
}

tsr_key_t tsr_key_of(const char *text)
{
	tsr_key_t key;
	crypto_generichash((unsigned char *)&key, sizeof key, (const unsigned char *)text,
			   strlen(text), NULL, 0);
	return key;
}
