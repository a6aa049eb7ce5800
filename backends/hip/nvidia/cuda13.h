/*
 * Read before HIP's NVIDIA platform headers (5.2, as Debian 12 has them), which
 * were written for CUDA 11: gives them what CUDA 13 took away or changed, so
 * that they compile. C++ only. Nothing of it is called by the library.
 */
#ifndef TESSERA_HIP_NVIDIA_CUDA13_H
#define TESSERA_HIP_NVIDIA_CUDA13_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000

/* Members that left cudaDeviceProp: attributes tell them. */
struct tsr_hip_old_properties : cudaDeviceProp {
	int clockRate = 0, memoryClockRate = 0, computeMode = 0, cooperativeMultiDeviceLaunch = 0,
	    kernelExecTimeoutEnabled = 0;
};
#define cudaDeviceProp tsr_hip_old_properties
#define cudaDevAttrCooperativeMultiDeviceLaunch ((cudaDeviceAttr)96)

/* Locations of memory are structs now. */
static inline cudaMemLocation tsr_hip_location(int device)
{
	cudaMemLocation location = {};
	location.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
	location.id = device < 0 ? 0 : device;
	return location;
}

static inline cudaError_t cudaMemAdvise(const void *p, size_t size_bytes, cudaMemoryAdvise advice,
					int device)
{
	return cudaMemAdvise(p, size_bytes, advice, tsr_hip_location(device));
}

static inline cudaError_t cudaMemPrefetchAsync(const void *p, size_t size_bytes, int device,
					       cudaStream_t stream)
{
	return cudaMemPrefetchAsync(p, size_bytes, tsr_hip_location(device), 0u, stream);
}

static inline CUresult tsr_hip_create_context(CUcontext *context, unsigned flags, CUdevice device)
{
	return (cuCtxCreate)(context, nullptr, flags, device);
}
#undef cuCtxCreate
#define cuCtxCreate tsr_hip_create_context

/* Edges of graphs carry data. */
static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
						   const cudaGraphNode_t *to, size_t count)
{
	return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

static inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph,
						      const cudaGraphNode_t *from,
						      const cudaGraphNode_t *to, size_t count)
{
	return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}

static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from,
					    cudaGraphNode_t *to, size_t *count)
{
	return cudaGraphGetEdges(graph, from, to, nullptr, count);
}

static inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
						       size_t *count)
{
	return cudaGraphNodeGetDependencies(node, nodes, nullptr, count);
}

static inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
							 cudaGraphNode_t *nodes, size_t *count)
{
	return cudaGraphNodeGetDependentNodes(node, nodes, nullptr, count);
}

static inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
							      cudaGraphNode_t *nodes, size_t count,
							      unsigned flags)
{
	return cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
}
#define cudaStreamGetCaptureInfo_v2(stream, state, id, graph, nodes, count) \
	cudaStreamGetCaptureInfo(stream, state, id, graph, nodes, nullptr, count)

/* Gone for good: references to textures, and cooperative launches on several devices. */
template <class... Arguments> static inline cudaError_t tsr_hip_gone(Arguments &&...)
{
	return cudaErrorNotSupported;
}
template <class T, int DIMENSIONS, cudaTextureReadMode MODE> struct texture {
};
#define cudaBindTexture tsr_hip_gone
#define cudaBindTexture2D tsr_hip_gone
#define cudaBindTextureToArray tsr_hip_gone
#define cudaUnbindTexture tsr_hip_gone
#define cudaGetTextureAlignmentOffset tsr_hip_gone
#define cudaLaunchCooperativeKernelMultiDevice tsr_hip_gone

#endif
#endif
