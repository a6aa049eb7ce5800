/*
 * What ranks read from PMIx: the list of a node's ranks, and what rank 0 has
 * published. An input is a rank, a byte, and then the text.
 */
#include "src/bootstrap/pmix/pmix.h"
#include "tests/fuzz/fuzz.h"

static void read_peers(const char *text, int rank)
{
	int lowest = -1, local_rank = -1, local_size = -1;
	if (!tsr_pmix_read_peers(text, rank, &lowest, &local_rank, &local_size)) {
		FUZZ_CHECK(lowest == -1 && local_rank == -1 && local_size == -1,
			   "a list that is refused is not read");
		return;
	}
	FUZZ_CHECK(lowest >= 0 && lowest <= rank, "rank %d is below rank %d", lowest, rank);
	FUZZ_CHECK(local_rank >= 0 && local_rank < local_size && local_size <= TSR_MAX_RANKS,
		   "rank %d of %d", local_rank, local_size);
	FUZZ_CHECK((lowest == rank) == (local_rank == 0), "the lowest rank alone is the first");
}

static void read_published(const char *text)
{
	char secret[40], root[256], sentence[64];
	memset(secret, 'x', sizeof secret);
	memset(root, 'x', sizeof root);
	const bool read = tsr_pmix_read_published(text, secret, root, sentence, sizeof sentence);
	FUZZ_CHECK(memchr(sentence, '\0', sizeof sentence) != NULL, "a sentence without an end");
	if (!read)
		return;
	FUZZ_CHECK(sentence[0] == '\0', "it is read, and has failed");
	FUZZ_CHECK(memchr(secret, '\0', sizeof secret) != NULL && secret[0] != '\0' &&
			   memchr(root, '\0', sizeof root) != NULL,
		   "a secret or an address without an end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = fuzz_text(data + 1, size - 1);
	read_peers(text, data[0]);
	read_published(text);
	free(text);
	return 0;
}
