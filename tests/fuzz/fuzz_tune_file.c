/*
 * The file of tuned choices: damaged or not, it is read or refused, and what is
 * remembered beside its content is found again.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/bench/tune_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	json_t *entry = NULL;
	json_t *key = json_pack("{s:s, s:s, s:s, s:i, s:[i,i,i]}", "backend", "cpuemu", "workload",
				"gemm", "pattern", "banded", "ranks", 2, "shape", 1, 2, 3);
	const int fd = memfd_create("tune", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size, "cannot write the input");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const tsr_status_t readable = tune_file_check(path);
	const tsr_status_t status = tune_file_find(path, key, &entry);
	FUZZ_CHECK(status == readable, "it can be read once, and not twice");
	if (entry)
		FUZZ_CHECK(status == TSR_OK && json_equal(json_object_get(entry, "shape"),
							  json_object_get(key, "shape")),
			   "what was found is not the key's");
	json_decref(entry);
	json_decref(key);
	if (status != TSR_OK)
		FUZZ_CHECK(tsr_last_error()[0] != '\0', "it was refused, but nobody said why");
	close(fd);
	return 0;
}
