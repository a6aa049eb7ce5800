#!/bin/sh
# A load of 256 bits with .acquire is compiled as one with .relaxed.
#
# Versions  ptxas 13.0.88, nvdisasm 13.5.37, sm_100a (PyPI: nvidia-cuda-nvcc, -nvdisasm)
# Source    PTX ISA 9.0, ld: ".v4 with .b64 ... supported on sm_100"; .acquire as for any ld
# Guess     an acquire load invalidates the L1 cache behind it, whatever its width: CCTL.IVALL
# Seen      8 bytes: LDG.E.64.STRONG.SYS, CCTL.IVALL. 32 bytes: LDG.E.ENL2.256.STRONG.SYS alone, to
#           the letter what .relaxed gives. A plain load behind it may then hit an old line.
. "$(dirname "$0")/common"
packages nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37

kernel() { # NAME, ORDER, VECTOR, REGISTERS
	cat <<PTX
.visible .entry $1(.param .u64 flag, .param .u64 out)
{
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [flag];
	ld.param.u64 %rd2, [out];
	ld.$2.sys.global$3.b64 $4, [%rd1];
	st.global.b64 [%rd2], %rd3;
	ret;
}
PTX
}
seen=$({
	printf '.version 9.0\n.target sm_100a\n.address_size 64\n'
	kernel narrow acquire '' '%rd3'
	kernel wide acquire .v4 '{%rd3, %rd4, %rd5, %rd6}'
	kernel wide_relaxed relaxed .v4 '{%rd3, %rd4, %rd5, %rd6}'
} | sass sm_100a | grep -E 'LDG|CCTL|MEMBAR' | sort)
expect "no CCTL.IVALL behind an acquire load of 256 bits" "$seen" "narrow: CCTL.IVALL
narrow: LDG.E.64.STRONG.SYS
wide: LDG.E.ENL2.256.STRONG.SYS
wide_relaxed: LDG.E.ENL2.256.STRONG.SYS"
