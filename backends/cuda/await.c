/* Waiting for CUDA. */
#include "cuda/device.h"

typedef struct mark {
	const tsr_cuda_driver_t *cu;
	CUstream stream;
	CUevent event; /* null: the end of the stream */
	CUresult code; /* of the last look */
} mark_t;

static bool busy(void *ctx)
{
	mark_t *mark = ctx;
	mark->code = mark->event ? mark->cu->event_query(mark->event) : mark->cu->stream_query(mark->stream);
	return mark->code == CUDA_ERROR_NOT_READY;
}

tsr_status_t tsr_cuda_wait(tsr_device_t *device, CUstream stream, CUevent event, uint64_t serial)
{
	mark_t mark = {.cu = &device->cu, .stream = stream, .event = event};
	char text[128];
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	tsr_gpu_await(&device->gpu, busy, &mark);
	tsr_cuda_leave(device);
	const char *trouble = mark.code == CUDA_SUCCESS ? NULL : tsr_cuda_text(mark.cu, mark.code, text);
	return tsr_gpu_verdict(&device->gpu, serial, trouble);
}
