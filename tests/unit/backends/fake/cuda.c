#include "tests/unit/backends/fake/cuda.h"

#include <cuda.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cuda/driver.h"
#include "gpu/dev/context.h"
#include "gpu/far/kernels.h"

/* As the driver declares them, but visible. */
#define DECLARE(field_, function_) \
	extern __typeof__(function_) function_ __attribute__((visibility("default")));
TSR_CUDA_ENTRIES(DECLARE)

/* ------------------------------------------------------------------ devices and contexts */

static char context;

CUresult cuGetErrorName(CUresult code, const char **name)
{
	*name = code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
	return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
	*text = code == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "refused by the fake";
	return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
	return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = FAKE_GPUS;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return ordinal >= 0 && ordinal < FAKE_GPUS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	snprintf(name, (size_t)length, "fake GPU %d", device);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? 9
		 : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? 0
		 : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT              ? 4
		 : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 232448
										      : 1;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
	(void)device;
	*out = (CUcontext)(void *)&context;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	(void)device;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
	(void)device, (void)flags;
	return CUDA_SUCCESS;
}

static int depth;

CUresult cuCtxPushCurrent(CUcontext pushed)
{
	depth++;
	return pushed == (CUcontext)(void *)&context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
	*out = (CUcontext)(void *)&context;
	return --depth >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ------------------------------------------------------------------ code and streams */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	*module = (CUmodule)(uintptr_t)image;
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
	(void)module;
	return CUDA_SUCCESS;
}

/** There are the library's own kernels: that which checks mappings, and those of several nodes. */
static const char *const kernels[] = {"tsr_gpu_check", "tsr_gpu_serve", "tsr_gpu_carry",
				      "tsr_gpu_stack"};

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	(void)module;
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (strcmp(name, kernels[i]) == 0) {
			*function = (CUfunction)(void *)(uintptr_t)&kernels[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncLoad(CUfunction function)
{
	(void)function;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	(void)value, (void)attribute, (void)function;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	(void)value, (void)attribute, (void)function;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
						     size_t shared_bytes)
{
	(void)blocks, (void)function, (void)threads, (void)shared_bytes;
	return CUDA_ERROR_NOT_SUPPORTED;
}

/** What tsr_gpu_serve does, of the kinds and operations that tests use. */
static CUresult serve(const tsr_gpu_service_t *s)
{
	for (uint64_t i = 0; i < s->count; i++) {
		uint64_t bits = s->bits, old = 0;
		if (s->kind == TSR_GPU_WORD_U32) {
			uint32_t *word = (uint32_t *)(void *)s->word + i;
			const uint32_t operand =
				s->operands ? ((const uint32_t *)(const void *)s->operands)[i]
					    : (uint32_t)bits;
			old = s->op == TSR_GPU_OP_ADD
				      ? __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL)
				      : __atomic_load_n(word, __ATOMIC_ACQUIRE);
		} else {
			uint64_t *word = (uint64_t *)(void *)s->word + i, expected = s->expected;
			if (s->operands)
				memcpy(&bits, s->operands + 8 * i, sizeof bits);
			switch (s->op) {
			case TSR_GPU_OP_ADD:
				old = __atomic_fetch_add(word, bits, __ATOMIC_ACQ_REL);
				break;
			case TSR_GPU_OP_STORE:
				__atomic_store_n(word, bits, __ATOMIC_RELEASE);
				break;
			case TSR_GPU_OP_CAS:
				(void)__atomic_compare_exchange_n(word, &expected, bits, 0,
								  __ATOMIC_ACQ_REL,
								  __ATOMIC_ACQUIRE);
				old = expected;
				break;
			default:
				old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
			}
		}
		if (s->old)
			*s->old = old;
	}
	return CUDA_SUCCESS;
}

/** What tsr_gpu_carry does, by the last request, which tests leave to it. */
static CUresult carry(const tsr_gpu_context_t *launch, const tsr_gpu_carried_t *c)
{
	enum { PLACE = TSR_GPU_REQUESTS - 1 };
	for (int64_t row = 0; row < c->rows; row++) {
		tsr_gpu_request_t *r = &launch->far->requests[PLACE];
		memcpy(launch->far->rooms + (size_t)PLACE * TSR_GPU_ROOM_BYTES,
		       c->src + row * c->src_pitch, (size_t)c->row_bytes);
		*r = (tsr_gpu_request_t){
			.what = TSR_GPU_ASK_PUT,
			.peer = launch->nodes[1 + c->peer],
			.offset = (uint64_t)(c->dst + row * c->dst_pitch - launch->heap),
			.pitch_bytes = (uint64_t)c->row_bytes,
			.row_bytes = (uint64_t)c->row_bytes,
			.rows = 1};
		__atomic_store_n(&r->state, TSR_GPU_REQUEST_ASKED, __ATOMIC_RELEASE);
		while (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != TSR_GPU_REQUEST_ANSWERED)
			sched_yield();
	}
	return CUDA_SUCCESS;
}

/** What gpu/dev/check.c does. */
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads,
			unsigned ty, unsigned tz, unsigned shared_bytes, CUstream stream,
			void **parameters, void **extra)
{
	uint64_t *words, *seen, pattern;
	(void)threads, (void)shared_bytes, (void)stream;
	if (x != 1 || y != 1 || z != 1 || ty != 1 || tz != 1 || extra)
		return CUDA_ERROR_INVALID_VALUE;
	if ((const void *)function == &kernels[1])
		return serve(parameters[0]);
	if ((const void *)function == &kernels[2])
		return carry(parameters[0], parameters[1]);
	if ((const void *)function == &kernels[3])
		return CUDA_SUCCESS;
	memcpy(&words, parameters[0], sizeof words);
	memcpy(&pattern, parameters[1], sizeof pattern);
	memcpy(&seen, parameters[2], sizeof seen);
	seen[0] = words[0] = pattern;
	seen[1] = words[1]++;
	seen[2] = words[1]++;
	seen[3] = pattern;
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				void *address, const cuuint64_t *extents, const cuuint64_t *strides,
				const cuuint32_t *box, const cuuint32_t *steps,
				CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	(void)type, (void)rank, (void)address, (void)extents, (void)strides, (void)box;
	(void)steps, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
	memset(map, 0, sizeof *map);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
	(void)flags;
	*stream = (CUstream)(void *)&context;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	(void)priority;
	return cuStreamCreate(stream, flags);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = *greatest = 0;
	return CUDA_SUCCESS;
}

/* Everything on a stream is done at once. */
#define DONE(function_, type_)          \
	CUresult function_(type_ thing) \
	{                               \
		(void)thing;            \
		return CUDA_SUCCESS;    \
	}
DONE(cuStreamDestroy, CUstream)
DONE(cuStreamQuery, CUstream)
DONE(cuStreamSynchronize, CUstream)
DONE(cuEventDestroy, CUevent)
DONE(cuEventQuery, CUevent)

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	(void)stream, (void)event, (void)flags;
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	(void)flags;
	*event = (CUevent)(void *)&context;
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	(void)event, (void)stream;
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
	(void)begin, (void)end;
	*ms = 0;
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	(void)stream;
	memcpy((void *)(uintptr_t)to, from, bytes);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	(void)stream;
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return CUDA_SUCCESS;
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	(void)stream;
	for (size_t row = 0; row < copy->Height; row++)
		memcpy((char *)(uintptr_t)copy->dstDevice + row * copy->dstPitch,
		       (const char *)(uintptr_t)copy->srcDevice + row * copy->srcPitch,
		       copy->WidthInBytes);
	return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream)
{
	(void)stream;
	memset((void *)(uintptr_t)to, byte, bytes);
	return CUDA_SUCCESS;
}
