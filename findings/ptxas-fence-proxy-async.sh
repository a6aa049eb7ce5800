#!/bin/sh
# fence.proxy.async without a state space costs a barrier of the whole GPU's memory; with
# .shared::cta it costs one of the block, and with .global none.
#
# Versions  ptxas 13.0.88, nvdisasm 13.5.37, sm_90a (PyPI: nvidia-cuda-nvcc, -nvdisasm)
# Source    PTX ISA 8.0, membar and fence: fence.proxy.async orders the generic proxy and the async
#           proxy; a state space narrows it
# Guess     the wider fence holds the narrower one: unnamed is .shared and .global together
# Seen      unnamed and .shared::cluster: MEMBAR.ALL.GPU, FENCE.VIEW.ASYNC.S; .shared::cta:
#           MEMBAR.ALL.CTA, FENCE.VIEW.ASYNC.S; .global: FENCE.VIEW.ASYNC.G alone, without MEMBAR.
#           So the unnamed one has no .G, and naming .shared::cta saves the dearest instruction.
. "$(dirname "$0")/common"
packages nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37

kernel() { # NAME, SPACE
	printf '.visible .entry %s()\n{\n\tfence.proxy.async%s;\n\tret;\n}\n' "$1" "$2"
}
seen=$({
	printf '.version 8.0\n.target sm_90a\n.address_size 64\n'
	kernel a_unnamed ''
	kernel b_cluster .shared::cluster
	kernel c_cta .shared::cta
	kernel d_global .global
} | sass sm_90a | grep -E 'FENCE|MEMBAR' | sort)
expect "which barriers fence.proxy.async becomes" "$seen" "a_unnamed: FENCE.VIEW.ASYNC.S
a_unnamed: MEMBAR.ALL.GPU
b_cluster: FENCE.VIEW.ASYNC.S
b_cluster: MEMBAR.ALL.GPU
c_cta: FENCE.VIEW.ASYNC.S
c_cta: MEMBAR.ALL.CTA
d_global: FENCE.VIEW.ASYNC.G"
