#!/bin/sh
# ThreadSanitizer and scopes: messages whose release or acquire does not reach
# the other side are reported, and the others are not.
. "$(dirname "$0")/../tap"
program=$BUILD/tests/planted/order/scopes
case $BUILD in
*-tsan) ;;
*)
	prints "without ThreadSanitizer a scope too narrow is not seen" '' \
		tessera run -n 2 --placement thread "$program" block_block 1
	skip "scope races are reported" "this is not the tsan variant"
	finish
	;;
esac
TSAN_OPTIONS="exitcode=66 ${TSAN_OPTIONS-}"
export TSAN_OPTIONS

# passes RANKS BLOCKS CASE...: no report.
passes() {
	ranks=$1 blocks=$2
	shift 2
	for name in "$@"; do
		prints "$name, $ranks ranks of $blocks blocks: no report" '' \
			tessera run -n "$ranks" --placement thread "$program" "$name" "$blocks"
	done
}

# reported RANKS BLOCKS CASE...: ThreadSanitizer reports the payload: written by the one, read by
# the other, in this case's kernel.
reported() {
	ranks=$1 blocks=$2
	shift 2
	for name in "$@"; do
		try tessera run -n "$ranks" --placement thread "$program" "$name" "$blocks"
		[ "$code" -eq 66 ] &&
			grep -q 'WARNING: ThreadSanitizer: data race' "$TAP_FILES/err" &&
			grep -q "read_payload .*scopes.c" "$TAP_FILES/err" &&
			grep -q "write_payload .*scopes.c" "$TAP_FILES/err" &&
			grep -q "tsr_body_$name " "$TAP_FILES/err"
		verdict $? "$name, $ranks ranks of $blocks blocks: the payload is reported" \
			"exit code $code; wanted 66 and a report"
	done
}

# Workers of one block: every scope includes both.
passes 1 1 workers_block_block \
	workers_block_device workers_device_block workers_system_device workers_system_system \
	workers_local_block workers_local_device workers_local_device_block

# Blocks of one device: from the device's scope on.
passes 1 2 device_device device_system system_device system_system local_device fences_device
reported 1 2 block_block block_device device_block local_block local_device_block

# Ranks: the system's alone.
passes 2 1 system_system seq_cst signal_wait signal_add
reported 2 1 block_block \
	device_device device_system system_device store_wait_local signal_local_load

# Orders, as ever.
reported 2 1 relaxed_store relaxed_load flushed

# Fences count with their own scopes, and for what stands before and after them.
passes 2 1 fences fence_acquire release_fence two_fences
reported 2 1 fences_device fence_narrow narrow_fence fence_early early_fence

# Release sequences go on with read-modify-writes that include each other, and end with a store.
passes 2 2 continued
reported 2 2 continued_narrow cut
reported 1 2 widened
passes 2 1 cas
reported 2 1 cas_failed

# What was handed on by two scopes has been handed on.
passes 2 2 relay_device
reported 2 2 relay_block
finish
