#!/bin/sh
# ptxas takes a plain load from before an acquire load for the same load behind it.
#
# Versions  ptxas 13.0.88, nvdisasm 13.5.37, sm_90a (PyPI: nvidia-cuda-nvcc, -nvdisasm)
# Source    PTX ISA 8.0, Memory Consistency Model: what precedes a release is seen behind the
#           acquire that observes it
# Guess     an acquire load of any word ends what is known of plain memory: the second load is
#           made again
# Seen      load x, acquire flag (a neighbouring word), load x, sum: two LDG, not three. The
#           second value of x is the first. With fence.acq_rel.sys between there are three.
#           A program that reads x before it has acquired is racy, so this is permitted; code that
#           first looks and then waits has to read by another order.
. "$(dirname "$0")/common"
packages nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37

kernel() { # NAME, ACQUIRE
	cat <<PTX
.visible .entry $1(.param .u64 p)
{
	.reg .b64 %rd<4>;
	.reg .b32 %r<8>;
	ld.param.u64 %rd1, [p];
	ld.global.b32 %r1, [%rd1];
	$2
	ld.global.b32 %r3, [%rd1];
	add.u32 %r4, %r1, %r2;
	add.u32 %r4, %r4, %r3;
	st.global.b32 [%rd1+16], %r4;
	ret;
}
PTX
}
seen=$({
	printf '.version 8.0\n.target sm_90a\n.address_size 64\n'
	kernel acquire 'ld.acquire.sys.global.b32 %r2, [%rd1+8];'
	kernel fence 'ld.relaxed.sys.global.b32 %r2, [%rd1+8]; fence.acq_rel.sys;'
} | sass sm_90a | grep LDG | cut -d: -f1 | sort | uniq -c | sed 's/^ *//')
expect "one of two plain loads around an acquire load is left out" "$seen" "2 acquire
3 fence"
