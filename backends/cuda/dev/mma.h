/*
 * The warp's matrix product: 16 rows of A and 8 columns of B, 16 deep, in
 * registers. PTX ISA 8.0, section 9.7.14.5.
 */
#ifndef TESSERA_CUDA_MMA_H
#define TESSERA_CUDA_MMA_H

/**
 * sum += A * B. A's words: rows 0 .. 7, 8 .. 15, then the same of the other
 * half of K. For all lanes of a warp.
 */
template <typename D> struct tsr_cuda_mma;

#define TSR_CUDA_MMA(dtype_, type_)                                                               \
	template <> struct tsr_cuda_mma<tsr_gpu_##dtype_> {                                       \
		static TSR_PORT_DEVICE void add(float *sum, const uint32_t a[4], uint32_t b0,     \
						uint32_t b1)                                      \
		{                                                                                 \
			__asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32." type_ "." type_ \
					 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "    \
					 "{%0, %1, %2, %3};"                                      \
					 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) \
					 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),   \
					   "r"(b1));                                              \
		}                                                                                 \
	}
TSR_CUDA_MMA(bf16, "bf16");
TSR_CUDA_MMA(f16, "f16");

#endif
