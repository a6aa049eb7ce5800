/*
 * The warpgroup's matrix product: 64 rows of A and N columns of B, 16 deep,
 * both in shared memory with the 128-byte swizzle. PTX ISA 8.0, section 9.7.15.
 */
#ifndef TESSERA_CUDA_WGMMA_H
#define TESSERA_CUDA_WGMMA_H

/**
 * Whether the code is for GPUs that have the instruction. It is of one
 * architecture alone: later ones have neither it nor a code for it. Depends on a
 * parameter, so that only kernels that multiply by it are refused.
 */
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <bool> constexpr bool tsr_cuda_has_wgmma = true;
#else
template <bool> constexpr bool tsr_cuda_has_wgmma = false;
#endif

TSR_DEV void tsr_cuda_wgmma_begin(void)
{
	__asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

TSR_DEV void tsr_cuda_wgmma_commit(void)
{
	__asm__ volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/** Waits until at most PENDING of the warpgroup's groups are in flight. */
template <int PENDING> TSR_DEV void tsr_cuda_wgmma_await(void)
{
	__asm__ volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/** Whether it holds in any thread of the warpgroup, which meets. `group`: 0 or 1. */
TSR_DEV bool tsr_cuda_any_of_group(int group, bool says)
{
	uint32_t any;
	__asm__ volatile("{\n\t"
			 ".reg .pred says, any;\n\t"
			 "setp.ne.u32 says, %1, 0;\n\t"
			 "barrier.cta.red.or.pred any, %2, %3, says;\n\t"
			 "selp.u32 %0, 1, 0, any;\n\t}"
			 : "=r"(any)
			 : "r"((uint32_t)says), "r"(TSR_CUDA_BARRIER_GROUP + group),
			   "n"(TSR_CUDA_WARPGROUP_THREADS)
			 : "memory");
	return any != 0;
}

/**
 * No instruction; but the compiler moves no use of the registers across it. It
 * stands before products begin, and after they have been awaited.
 */
template <int COUNT> TSR_DEV void tsr_cuda_pin(float *x)
{
	TSR_GPU_UNROLL
	for (int i = 0; i < COUNT; i++)
		__asm__ volatile("" : "+f"(x[i]));
}

template <int COUNT> TSR_DEV void tsr_cuda_pin(uint32_t *x)
{
	TSR_GPU_UNROLL
	for (int i = 0; i < COUNT; i++)
		__asm__ volatile("" : "+r"(x[i]));
}

/*
 * The sums as operands of assembly: c_ is "+f" if they are added to, and "=f"
 * if they begin.
 */
#define TSR_CUDA_R8(c_, d_, i_)                                                     \
	c_((d_)[(i_)]), c_((d_)[(i_) + 1]), c_((d_)[(i_) + 2]), c_((d_)[(i_) + 3]), \
		c_((d_)[(i_) + 4]), c_((d_)[(i_) + 5]), c_((d_)[(i_) + 6]), c_((d_)[(i_) + 7])
#define TSR_CUDA_R32_AT(c_, d_, i_)                                                             \
	TSR_CUDA_R8(c_, d_, i_), TSR_CUDA_R8(c_, d_, (i_) + 8), TSR_CUDA_R8(c_, d_, (i_) + 16), \
		TSR_CUDA_R8(c_, d_, (i_) + 24)
#define TSR_CUDA_R32(c_, d_) TSR_CUDA_R32_AT(c_, d_, 0)
#define TSR_CUDA_R64(c_, d_) TSR_CUDA_R32(c_, d_), TSR_CUDA_R32_AT(c_, d_, 32)
#define TSR_CUDA_R96(c_, d_) TSR_CUDA_R64(c_, d_), TSR_CUDA_R32_AT(c_, d_, 64)
#define TSR_CUDA_R112(c_, d_) \
	TSR_CUDA_R96(c_, d_), TSR_CUDA_R8(c_, d_, 96), TSR_CUDA_R8(c_, d_, 104)
#define TSR_CUDA_R128(c_, d_) TSR_CUDA_R96(c_, d_), TSR_CUDA_R32_AT(c_, d_, 96)

#define TSR_CUDA_R8_ALL(c_, d_) TSR_CUDA_R8(c_, d_, 0)

#define TSR_CUDA_N16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TSR_CUDA_N64                                                             \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TSR_CUDA_N128                                                                      \
	TSR_CUDA_N64                                                                       \
	", "                                                                               \
	"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
	"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TSR_CUDA_N192                                                                      \
	TSR_CUDA_N128                                                                      \
	", "                                                                               \
	"%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
	"%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TSR_CUDA_N224                                                                              \
	TSR_CUDA_N192 ", "                                                                         \
		      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, " \
		      "%109, %110, %111"
#define TSR_CUDA_N256                                                                              \
	TSR_CUDA_N224 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, " \
		      "%124, %125, %126, %127"

/**
 * For N columns of type D: `begin` computes sum = A * B, `add` computes sum +=
 * A * B. Both only start the product. The sum is N / 2 registers of each of the
 * warpgroup's threads, which need not be cleared before. A_ALONG, B_ALONG: the
 * layout of the operands, as in tsr_cuda_operand.
 */
template <int N, typename D, bool A_ALONG, bool B_ALONG> struct tsr_cuda_wgmma;

#define TSR_CUDA_SOLE                                                                           \
	"a tile for Hopper's tensor cores has code for sm_90a alone, and no other GPU has its " \
	"instructions: compile with -gencode=arch=compute_90a,code=sm_90a, or for other GPUs "  \
	"take a tile whose depth is not 64, whose products need no such instructions"

/*
 * a_ and b_ are the operand numbers of the descriptors, turn_a_ and turn_b_
 * those of the transposition flags; adds_ is 0 or 1.
 */
#define TSR_CUDA_WGMMA_STEP(name_, n_, type_, sums_, a_, b_, turn_a_, turn_b_, adds_)              \
	TSR_DEV void name_(float *sum, uint64_t a, uint64_t b)                                     \
	{                                                                                          \
		__asm__ volatile("wgmma.mma_async.sync.aligned.m64n" #n_ "k16.f32." type_          \
				 "." type_ " {" TSR_CUDA_N##n_ "}, %" #a_ ", %" #b_ ", " adds_     \
							       ", 1, 1, %" #turn_a_ ", %" #turn_b_ \
							       ";"                                 \
				 : sums_                                                           \
				 : "l"(a), "l"(b), "n"(!A_ALONG), "n"(!B_ALONG));                  \
	}
#define TSR_CUDA_WGMMA(n_, dtype_, type_, sums_, a_, b_, turn_a_, turn_b_)                        \
	template <bool A_ALONG, bool B_ALONG>                                                     \
	struct tsr_cuda_wgmma<n_, tsr_gpu_##dtype_, A_ALONG, B_ALONG> {                           \
		static_assert(tsr_cuda_has_wgmma<A_ALONG>, TSR_CUDA_SOLE);                        \
		TSR_CUDA_WGMMA_STEP(begin, n_, type_, sums_("=f", sum), a_, b_, turn_a_, turn_b_, \
				    "0")                                                          \
		TSR_CUDA_WGMMA_STEP(add, n_, type_, sums_("+f", sum), a_, b_, turn_a_, turn_b_,   \
				    "1")                                                          \
	}
#define TSR_CUDA_WGMMA_TYPES(n_, sums_, a_, b_, turn_a_, turn_b_)          \
	TSR_CUDA_WGMMA(n_, bf16, "bf16", sums_, a_, b_, turn_a_, turn_b_); \
	TSR_CUDA_WGMMA(n_, f16, "f16", sums_, a_, b_, turn_a_, turn_b_)

TSR_CUDA_WGMMA_TYPES(16, TSR_CUDA_R8_ALL, 8, 9, 10, 11);
TSR_CUDA_WGMMA_TYPES(64, TSR_CUDA_R32, 32, 33, 34, 35);
TSR_CUDA_WGMMA_TYPES(128, TSR_CUDA_R64, 64, 65, 66, 67);
TSR_CUDA_WGMMA_TYPES(192, TSR_CUDA_R96, 96, 97, 98, 99);
TSR_CUDA_WGMMA_TYPES(224, TSR_CUDA_R112, 112, 113, 114, 115);
TSR_CUDA_WGMMA_TYPES(256, TSR_CUDA_R128, 128, 129, 130, 131);

/**
 * The same with 64 x 16 of A in registers, rounded to D: as the sums of another
 * product are laid out, in pairs. B's columns run along the 128 bytes. N
 * columns.
 */
template <int N, typename D> struct tsr_cuda_wgmma_held;

#define TSR_CUDA_WGMMA_HELD(n_, dtype_, type_, sums_, a0_, a1_, a2_, a3_, b_)                     \
	template <> struct tsr_cuda_wgmma_held<n_, tsr_gpu_##dtype_> {                            \
		TSR_DEV void add(float *sum, const uint32_t *a, uint64_t b)                       \
		{                                                                                 \
			__asm__ volatile("wgmma.mma_async.sync.aligned.m64n" #n_ "k16.f32." type_ \
					 "." type_ " {" TSR_CUDA_N##n_                            \
					 "}, {%" #a0_ ", %" #a1_ ", %" #a2_ ", %" #a3_ "}, %" #b_ \
					 ", 1, 1, 1, 1;"                                          \
					 : sums_("+f", sum)                                       \
					 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));   \
		}                                                                                 \
	}
TSR_CUDA_WGMMA_HELD(64, bf16, "bf16", TSR_CUDA_R32, 32, 33, 34, 35, 36);
TSR_CUDA_WGMMA_HELD(64, f16, "f16", TSR_CUDA_R32, 32, 33, 34, 35, 36);
TSR_CUDA_WGMMA_HELD(128, bf16, "bf16", TSR_CUDA_R64, 64, 65, 66, 67, 68);
TSR_CUDA_WGMMA_HELD(128, f16, "f16", TSR_CUDA_R64, 64, 65, 66, 67, 68);

#endif
