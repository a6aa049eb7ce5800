#!/bin/sh
# ptxas deletes a relaxed load of system scope whose result nobody uses.
#
# Versions  ptxas 13.0.88, nvdisasm 13.5.37, sm_90a (PyPI: nvidia-cuda-nvcc, -nvdisasm)
# Source    PTX ISA 8.0, Memory Consistency Model: relaxed operations are strong, and morally strong
#           with those of other devices
# Guess     an access of system scope is kept, as a volatile one is: the other side may be a device
# Seen      ld.relaxed.sys: nothing is left; ld.volatile: LDG.E.STRONG.SYS. A load that only warms a
#           line, or polls once, must use its result or be volatile.
. "$(dirname "$0")/common"
packages nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37

kernel() { # NAME, KIND, USE
	cat <<PTX
.visible .entry $1(.param .u64 p)
{
	.reg .b64 %rd<4>;
	.reg .b32 %r<4>;
	ld.param.u64 %rd1, [p];
	ld.$2.global.b32 %r1, [%rd1];
	$3
	ret;
}
PTX
}
seen=$({
	printf '.version 8.0\n.target sm_90a\n.address_size 64\n'
	kernel relaxed relaxed.sys ''
	kernel used relaxed.sys 'st.global.b32 [%rd1+4], %r1;'
	kernel volatile volatile ''
} | sass sm_90a | grep LDG | sort)
expect "an unused relaxed load of system scope is deleted" "$seen" "used: LDG.E.STRONG.SYS
volatile: LDG.E.STRONG.SYS"
