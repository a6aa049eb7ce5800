/*
 * AMD's HIP and its compiler at run time, for tests of the baseline's calls.
 * The thread has another GPU current until the baseline makes its own current.
 * FAKE_NO_COMPILER: nothing can be compiled.
 */
#include "bench/gpu/amd/libraries.h"

#include "tests/fakes/runtime.h"

BENCH_RUNTIME_ENTRIES(FAKE_AMD)
BENCH_HIP_ENTRIES(FAKE_DECLARE)
BENCH_HIPRTC_ENTRIES(FAKE_DECLARE)

enum { OTHER_DEVICE = 1000 };

enum { CODE_BYTES = 64 };

static void code_of(const char *kernel, char code[CODE_BYTES])
{
	(void)snprintf(code, CODE_BYTES, "code of %s", kernel);
}

static bool is_made_of(const void *image, const char *kernel)
{
	char code[CODE_BYTES];
	code_of(kernel, code);
	return strcmp(image, code) == 0;
}

/** The first kernel of a program's text; null: none that is known. */
static const char *kernel_of(const char *text)
{
	return strstr(text, "__global__ void " BENCH_STORES_KERNEL "(") ? BENCH_STORES_KERNEL
	       : strstr(text, "__global__ void copy_rows_16(")          ? "copy_rows_16"
									: NULL;
}

const char *hipGetErrorString(int status)
{
	return status == OUT_OF_MEMORY ? "out of memory" : "refused by the fake";
}

static _Thread_local int current = OTHER_DEVICE;

int hipGetDevice(int *out)
{
	*out = current;
	return 0;
}

/** The rank's GPU and the other one take turns. */
int hipSetDevice(int device)
{
	if (device == current)
		return REFUSED;
	current = device;
	is_current = device != OTHER_DEVICE;
	return 0;
}

int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
		     size_t width_bytes, size_t height, int kind, void *stream)
{
	if (kind != BENCH_HIP_COPY_BY_ADDRESS || stream != &thing)
		return REFUSED;
	return copy_rows(to, to_pitch, from, from_pitch, width_bytes, height);
}

/* ------------------------------------------------------------ a program is its text */

const char *hiprtcGetErrorString(int status)
{
	return status == REFUSED ? "HIPRTC_ERROR_OUT_OF_MEMORY" : "unknown";
}

int hiprtcCreateProgram(void **out, const char *text, const char *name, int headers,
			const char **header_texts, const char **header_names)
{
	*out = strdup(text);
	return *out && name && headers == 0 && !header_texts && !header_names ? 0 : REFUSED;
}

int hiprtcCompileProgram(void *program, int count, const char **options)
{
	(void)options;
	return kernel_of(program) && count == 0 && !getenv("FAKE_NO_COMPILER") ? 0 : REFUSED;
}

int hiprtcGetCodeSize(void *program, size_t *out)
{
	*out = CODE_BYTES;
	return program ? 0 : REFUSED;
}

int hiprtcGetCode(void *program, char *out)
{
	code_of(kernel_of(program), out);
	return 0;
}

int hiprtcDestroyProgram(void **program)
{
	free(*program);
	*program = NULL;
	return 0;
}
