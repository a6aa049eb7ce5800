/*
 * Copies of rows by an index, in PTX and in HIP: compiled when the program
 * runs, so that no build needs a device compiler.
 */
#include "bench/gpu/rows.h"

/*
 * d1 to, d2 from, d3 index, d4 rows, d5 rows of from, d6 units in a row; r0
 * threads of a block, r1 this thread; d7 the row, d8 blocks, d9 the index, d10
 * and d11 the thread's unit in `from` and `to`, d12 units up to there, d13
 * bytes from one of the thread's units to its next, d14 units as many.
 */
#define PTX_KERNEL(bytes_, shift_, load_, store_)                                   \
	".visible .entry copy_rows_" bytes_ "(.param .u64 to, .param .u64 from, \n" \
	"	.param .u64 index, .param .u64 rows, .param .u64 from_rows, \n"           \
	"	.param .u64 units)\n"                                                     \
	"{\n"                                                                       \
	"	.reg .pred %p<3>;\n"                                                      \
	"	.reg .b16 %h<1>;\n"                                                       \
	"	.reg .b32 %r<4>;\n"                                                       \
	"	.reg .b32 %v<4>;\n"                                                       \
	"	.reg .b64 %d<16>;\n"                                                      \
	"	ld.param.u64 %d1, [to];\n"                                                \
	"	ld.param.u64 %d2, [from];\n"                                              \
	"	ld.param.u64 %d3, [index];\n"                                             \
	"	ld.param.u64 %d4, [rows];\n"                                              \
	"	ld.param.u64 %d5, [from_rows];\n"                                         \
	"	ld.param.u64 %d6, [units];\n"                                             \
	"	cvta.to.global.u64 %d1, %d1;\n"                                           \
	"	cvta.to.global.u64 %d2, %d2;\n"                                           \
	"	cvta.to.global.u64 %d3, %d3;\n"                                           \
	"	mov.u32 %r0, %ntid.x;\n"                                                  \
	"	mov.u32 %r1, %tid.x;\n"                                                   \
	"	mov.u32 %r2, %ctaid.x;\n"                                                 \
	"	mov.u32 %r3, %nctaid.x;\n"                                                \
	"	cvt.u64.u32 %d7, %r2;\n"                                                  \
	"	cvt.u64.u32 %d8, %r3;\n"                                                  \
	"	mul.wide.u32 %d13, %r0, " bytes_ ";\n"                              \
	"row:\n"                                                                    \
	"	setp.ge.u64 %p0, %d7, %d4;\n"                                             \
	"	@%p0 bra done;\n"                                                         \
	"	shl.b64 %d9, %d7, 2;\n"                                                   \
	"	add.u64 %d9, %d3, %d9;\n"                                                 \
	"	ld.global.u32 %r2, [%d9];\n"                                              \
	"	cvt.u64.u32 %d9, %r2;\n"                                                  \
	"	setp.ge.u64 %p1, %d9, %d5;\n"                                             \
	"	@%p1 bra next;\n"                                                         \
	"	cvt.u64.u32 %d12, %r1;\n"                                                 \
	"	mad.lo.u64 %d10, %d9, %d6, %d12;\n"                                       \
	"	shl.b64 %d10, %d10, " shift_ ";\n"                                  \
	"	add.u64 %d10, %d2, %d10;\n"                                               \
	"	mad.lo.u64 %d11, %d7, %d6, %d12;\n"                                       \
	"	shl.b64 %d11, %d11, " shift_ ";\n"                                  \
	"	add.u64 %d11, %d1, %d11;\n"                                               \
	"	cvt.u64.u32 %d14, %r0;\n"                                                 \
	"unit:\n"                                                                   \
	"	setp.ge.u64 %p2, %d12, %d6;\n"                                            \
	"	@%p2 bra next;\n"                                                         \
	"	" load_ ", [%d10];\n"                                               \
	"	" store_ ";\n"                                                      \
	"	add.u64 %d10, %d10, %d13;\n"                                              \
	"	add.u64 %d11, %d11, %d13;\n"                                              \
	"	add.u64 %d12, %d12, %d14;\n"                                              \
	"	bra unit;\n"                                                              \
	"next:\n"                                                                   \
	"	add.u64 %d7, %d7, %d8;\n"                                                 \
	"	bra row;\n"                                                               \
	"done:\n"                                                                   \
	"	ret;\n"                                                                   \
	"}\n"

const char bench_rows_ptx[] =
	".version 7.0\n"
	".target sm_80\n"
	".address_size 64\n" PTX_KERNEL("16", "4", "ld.global.v4.u32 {%v0, %v1, %v2, %v3}",
					"st.global.v4.u32 [%d11], {%v0, %v1, %v2, %v3}")
		PTX_KERNEL("4", "2", "ld.global.u32 %v0", "st.global.u32 [%d11], %v0")
			PTX_KERNEL("2", "1", "ld.global.u16 %h0", "st.global.u16 [%d11], %h0");

#define HIP_KERNEL(bytes_, type_)                                                          \
	"extern \"C\" __global__ void copy_rows_" bytes_ "(" type_ " *to, const " type_    \
	" *from,\n"                                                                        \
	"	const unsigned *index, unsigned long long rows, unsigned long long from_rows,\n" \
	"	unsigned long long units)\n"                                                     \
	"{\n"                                                                              \
	"	for (unsigned long long row = blockIdx.x; row < rows; row += gridDim.x) {\n"     \
	"		const unsigned long long x = index[row];\n"                                     \
	"		if (x < from_rows)\n"                                                           \
	"			for (unsigned long long i = threadIdx.x; i < units; i += "                     \
	"blockDim.x)\n"                                                                    \
	"				to[row * units + i] = from[x * units + i];\n"                                 \
	"	}\n"                                                                             \
	"}\n"

const char bench_rows_hip[] =
	HIP_KERNEL("16", "uint4") HIP_KERNEL("4", "unsigned") HIP_KERNEL("2", "unsigned short");
