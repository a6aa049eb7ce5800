#!/bin/sh
# ptxas does not know that the result of a barrier's reduction is the same in all threads of a warp.
#
# Versions  ptxas 13.0.88, nvdisasm 13.5.37, sm_90a (PyPI: nvidia-cuda-nvcc, -nvdisasm)
# Source    PTX ISA 8.0, barrier.red: the predicate of all threads at the barrier is reduced, and
#           each of them gets the result
# Guess     a branch on it goes one way for the whole warp, so that what is counted behind it stays
#           in uniform registers, where wgmma takes its descriptors from
# Seen      a counter that such a branch changes is a register of each thread: in a loop each wgmma
#           has four R2UR and the loop a WARPSYNC.ALL. With a vote of the result (vote.sync.any)
#           between reduction and branch the counter is uniform, and there is none of either. In a
#           loop of attention with two products a step that was 4 % of the time of an H200.
. "$(dirname "$0")/common"
packages nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37

kernel() { # NAME, what makes %q2 of the result %q1
	cat <<PTX
.visible .entry $1(.param .u64 p, .param .u32 turns)
{
	.reg .pred %q<4>;
	.reg .b64 %rd<4>;
	.reg .b32 %r<6>;
	.reg .f32 %f<5>;
	.shared .align 1024 .b8 tile[32768];
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [turns];
	mov.u32 %r3, 0;
	mov.f32 %f1, 0f00000000;
	mov.f32 %f2, %f1;
	mov.f32 %f3, %f1;
	mov.f32 %f4, %f1;
again:
	and.b32 %r4, %r3, 3;
	shl.b32 %r4, %r4, 9;
	mov.u32 %r5, tile;
	shr.u32 %r5, %r5, 4;
	add.u32 %r5, %r5, %r4;
	cvt.u64.u32 %rd2, %r5;
	or.b64 %rd2, %rd2, 0x4000004000010000;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
		{%f1, %f2, %f3, %f4}, %rd2, %rd2, 1, 1, 1, 0, 0;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	setp.gt.f32 %q1, %f1, 0f41200000;
	barrier.cta.red.or.pred %q1, 1, 128, %q1;
	$2
	@!%q2 bra next;
	add.u32 %r3, %r3, 2;
	st.global.u32 [%rd1], %r3;
next:
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %q3, %r3, %r1;
	@%q3 bra again;
	mov.u32 %r2, %tid.x;
	mad.wide.u32 %rd3, %r2, 4, %rd1;
	st.global.f32 [%rd3], %f1;
	ret;
}
PTX
}
seen=$({
	printf '.version 8.0\n.target sm_90a\n.address_size 64\n'
	kernel reduced 'mov.pred %q2, %q1;'
	kernel voted 'vote.sync.any.pred %q2, %q1, 0xffffffff;'
} | sass sm_90a | grep -E 'R2UR|WARPSYNC|HGMMA' | sed -E 's/(: [A-Z0-9]+).*/\1/' | sort | uniq -c |
	sed 's/^ *//')
expect "what stands beside a product behind a branch on a reduction" "$seen" "1 reduced: HGMMA
4 reduced: R2UR
1 reduced: WARPSYNC
1 voted: HGMMA"
