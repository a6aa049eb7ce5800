/*
 * Plain stores, the measure of a link: one kernel in PTX, which NVIDIA's driver
 * compiles, and in HIP, which AMD's compiler at run time does. So no build
 * needs a device compiler.
 */
#include "bench/gpu/stores.h"

/*
 * void plain_stores(uint4 *dst, const uint4 *src, uint64_t count): each thread
 * copies every so many-th piece of 16 bytes, four of them in flight, as
 * bandwidth tests do.
 * rd1 dst, rd2 src, rd3 count; rd4 this thread's piece, rd5 pieces of all
 * threads, rd6 the last of the four.
 */
const char bench_stores_ptx[] = ".version 7.0\n"
				".target sm_80\n"
				".address_size 64\n"
				".visible .entry " BENCH_STORES_KERNEL
				"(.param .u64 dst, .param .u64 src, .param .u64 count)\n"
				"{\n"
				"	.reg .pred %p<3>;\n"
				"	.reg .b32 %r<4>;\n"
				"	.reg .b32 %v<16>;\n"
				"	.reg .b64 %rd<16>;\n"
				"	ld.param.u64 %rd1, [dst];\n"
				"	ld.param.u64 %rd2, [src];\n"
				"	ld.param.u64 %rd3, [count];\n"
				"	cvta.to.global.u64 %rd1, %rd1;\n"
				"	cvta.to.global.u64 %rd2, %rd2;\n"
				"	mov.u32 %r0, %ntid.x;\n"
				"	mov.u32 %r1, %ctaid.x;\n"
				"	mov.u32 %r2, %tid.x;\n"
				"	mov.u32 %r3, %nctaid.x;\n"
				"	mul.wide.u32 %rd4, %r1, %r0;\n"
				"	cvt.u64.u32 %rd5, %r2;\n"
				"	add.u64 %rd4, %rd4, %rd5;\n"
				"	mul.wide.u32 %rd5, %r3, %r0;\n"
				/* bytes from a thread's piece to its next */
				"	shl.b64 %rd7, %rd5, 4;\n"
				"four:\n"
				"	mad.lo.u64 %rd6, %rd5, 3, %rd4;\n"
				"	setp.ge.u64 %p0, %rd6, %rd3;\n"
				"	@%p0 bra one;\n"
				"	shl.b64 %rd8, %rd4, 4;\n"
				"	add.u64 %rd9, %rd2, %rd8;\n"
				"	add.u64 %rd10, %rd9, %rd7;\n"
				"	add.u64 %rd11, %rd10, %rd7;\n"
				"	add.u64 %rd12, %rd11, %rd7;\n"
				"	ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%rd9];\n"
				"	ld.global.v4.u32 {%v4, %v5, %v6, %v7}, [%rd10];\n"
				"	ld.global.v4.u32 {%v8, %v9, %v10, %v11}, [%rd11];\n"
				"	ld.global.v4.u32 {%v12, %v13, %v14, %v15}, [%rd12];\n"
				"	add.u64 %rd9, %rd1, %rd8;\n"
				"	add.u64 %rd10, %rd9, %rd7;\n"
				"	add.u64 %rd11, %rd10, %rd7;\n"
				"	add.u64 %rd12, %rd11, %rd7;\n"
				"	st.global.v4.u32 [%rd9], {%v0, %v1, %v2, %v3};\n"
				"	st.global.v4.u32 [%rd10], {%v4, %v5, %v6, %v7};\n"
				"	st.global.v4.u32 [%rd11], {%v8, %v9, %v10, %v11};\n"
				"	st.global.v4.u32 [%rd12], {%v12, %v13, %v14, %v15};\n"
				"	mad.lo.u64 %rd4, %rd5, 4, %rd4;\n"
				"	bra four;\n"
				"one:\n"
				"	setp.ge.u64 %p1, %rd4, %rd3;\n"
				"	@%p1 bra done;\n"
				"	shl.b64 %rd8, %rd4, 4;\n"
				"	add.u64 %rd9, %rd2, %rd8;\n"
				"	add.u64 %rd10, %rd1, %rd8;\n"
				"	ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%rd9];\n"
				"	st.global.v4.u32 [%rd10], {%v0, %v1, %v2, %v3};\n"
				"	add.u64 %rd4, %rd4, %rd5;\n"
				"	bra one;\n"
				"done:\n"
				"	ret;\n"
				"}\n";

/* The same. */
const char bench_stores_hip[] =
	"extern \"C\" __global__ void " BENCH_STORES_KERNEL
	"(uint4 *dst, const uint4 *src, unsigned long long count)\n"
	"{\n"
	"	const unsigned long long all = (unsigned long long)gridDim.x * blockDim.x;\n"
	"	unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	for (; i + 3 * all < count; i += 4 * all) {\n"
	"		const uint4 a = src[i], b = src[i + all];\n"
	"		const uint4 c = src[i + 2 * all], d = src[i + 3 * all];\n"
	"		dst[i] = a;\n"
	"		dst[i + all] = b;\n"
	"		dst[i + 2 * all] = c;\n"
	"		dst[i + 3 * all] = d;\n"
	"	}\n"
	"	for (; i < count; i += all)\n"
	"		dst[i] = src[i];\n"
	"}\n";
