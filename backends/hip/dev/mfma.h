/*
 * The instructions of the matrix cores that the main loop uses, for one block
 * of edge x edge. lanes.h distributes its operands and sums.
 */
#ifndef TESSERA_HIP_MFMA_H
#define TESSERA_HIP_MFMA_H

typedef float tsr_hip_4_f32 __attribute__((ext_vector_type(4)));
typedef float tsr_hip_16_f32 __attribute__((ext_vector_type(16)));
typedef short tsr_hip_4_bf16 __attribute__((ext_vector_type(4)));
typedef __fp16 tsr_hip_4_f16 __attribute__((ext_vector_type(4)));

/**
 * operand_t: what each lane provides of A and of B; sum_t: what it holds of the
 * block.
 */
template <typename D, int EDGE> struct tsr_hip_mfma;

#define TSR_HIP_MFMA(dtype_, edge_, operand_, sum_, builtin_)                              \
	template <> struct tsr_hip_mfma<dtype_, edge_> {                                   \
		typedef operand_ operand_t;                                                \
		typedef sum_ sum_t;                                                        \
		static TSR_PORT_DEVICE sum_t multiply(operand_t a, operand_t b, sum_t sum) \
		{                                                                          \
			return builtin_(a, b, sum, 0, 0, 0);                               \
		}                                                                          \
	};
TSR_HIP_MFMA(tsr_gpu_bf16, 32, tsr_hip_4_bf16, tsr_hip_16_f32,
	     __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
TSR_HIP_MFMA(tsr_gpu_bf16, 16, tsr_hip_4_bf16, tsr_hip_4_f32,
	     __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
TSR_HIP_MFMA(tsr_gpu_f16, 32, tsr_hip_4_f16, tsr_hip_16_f32, __builtin_amdgcn_mfma_f32_32x32x8f16)
TSR_HIP_MFMA(tsr_gpu_f16, 16, tsr_hip_4_f16, tsr_hip_4_f32, __builtin_amdgcn_mfma_f32_16x16x16f16)
TSR_HIP_MFMA(tsr_gpu_f32, 32, float, tsr_hip_16_f32, __builtin_amdgcn_mfma_f32_32x32x2f32)
TSR_HIP_MFMA(tsr_gpu_f32, 16, float, tsr_hip_4_f32, __builtin_amdgcn_mfma_f32_16x16x4f32)

#endif
