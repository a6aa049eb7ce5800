/* The file of tuned choices: damaged or not, it is read or refused, and what is remembered beside its content is found again. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/tune_file.h"

static const tune_key_t key = {.backend = "cpuemu",
			       .device = "emulated",
			       .workload = "gemm",
			       .pattern = "banded",
			       .dtype = "f32",
			       .ranks = 2,
			       .m = 1,
			       .n = 2,
			       .k = 3};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	tune_choice_t choice;
	bool found;
	const int fd = memfd_create("tune", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size, "cannot write the input");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	memset(&choice, 0xa5, sizeof choice);
	const tsr_status_t readable = tune_file_check(path);
	const tsr_status_t status = tune_file_find(path, &key, &choice, &found);
	FUZZ_CHECK(status == readable, "it can be read once, and not twice");
	if (status == TSR_OK && found)
		FUZZ_CHECK(memchr(choice.date, '\0', sizeof choice.date) != NULL, "the date has no end");
	if (status != TSR_OK)
		FUZZ_CHECK(tsr_last_error()[0] != '\0', "it was refused, but nobody said why");
	close(fd);
	return 0;
}
