#!/bin/sh
# tessera check: what findings say, beside their class: memory that is not there, which edge is missing.
. "$(dirname "$0")/tap"

needs_forks schedules

report="$TAP_FILES/report.json"
astray="$BUILD/tests/planted/astray"

# strays KIND CLASS CALL TEXT [OPTION...]: every schedule ends with that class, at that call, and nothing else; a line says the text.
strays() {
	kind=$1 class=$2 call=$3 text=$4
	shift 4
	try tessera check -n 2 --seeds 50 --json "$report" "$@" "$astray" "$kind"
	[ "$code" -eq 1 ] && grep -qE -- "$text" "$TAP_FILES/out" && python3 - "$report" "$class" "$call" <<'CHECK'
import json
import sys
found = json.load(open(sys.argv[1], encoding="utf-8"))["findings"]
sys.exit([(each["class"], each["access"][0]["call"], each["schedules"]) for each in found] != [(sys.argv[2], sys.argv[3], 50)])
CHECK
	verdict $? "$kind is $class by $call $*" "exit code $code"
}

strays wait-freed use-after-free tsr_wait "'old flags'\+0 \(8 bytes\) of rank 1$"
strays signal-freed use-after-free tsr_signal "'old flags'\+0 \(8 bytes\) of rank 1$"
strays wait-slack out-of-bounds tsr_wait "'no allocation'\+24 \(8 bytes\) of rank 1$"
strays signal-slack out-of-bounds tsr_signal "'no allocation'\+24 \(8 bytes\) of rank 1$"
strays wait-any out-of-bounds tsr_wait_any "'flags'\+0 \(32 bytes\) of rank 1, which has 24 bytes$"
strays wait-freed use-after-free tsr_wait "'old flags'" --weak cache
strays signal-slack out-of-bounds tsr_signal '' --weak cache
prints "flags that are there" '^no finding$' tessera check -n 2 --seeds 50 "$astray" none
finish
