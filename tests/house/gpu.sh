#!/bin/sh
# ci/gpu itself, on programs that only pretend: what fails, what is missing and
# what there was no time for is counted as that.
. "$(dirname "$0")/../cli/tap"
packed=$TAP_FILES/packed
mkdir "$packed"

# program NAME: makes a script of what stands on stdin.
program() {
	{ echo '#!/bin/sh'; cat; } >"$packed/$1"
	chmod +x "$packed/$1"
}

# on_gpus LINE...: a test program with two tests, which does this once it knows where its `$report`
# goes.
on_gpus() {
	{
		echo 'for option; do case $option in --list) echo one/a; echo one/b; exit ;;'
		echo '--tap=*) report=${option#--tap=} ;; esac; done'
		printf '%s\n' "$@"
	} | program on_gpus
}

# ends NAME CODE TOTALS PATTERN OPTION...: exit code, last line, and a line that matches.
ends() {
	name=$1 wanted=$2 totals=$3 pattern=$4
	shift 4
	gives "$@"
	verdict $? "$name" "exit code $code; wanted $wanted, /$pattern/ and: $totals"
}

# gives OPTION...: the same without a verdict.
gives() {
	try ci/gpu --emulate "$@" "$packed"
	[ "$code" -eq "$wanted" ] && [ "$(tail -n 1 "$TAP_FILES/out")" = "$totals" ] &&
		grep -qE -- "$pattern" "$TAP_FILES/out"
}

# Two workloads, of three cases and two large ones in all.
cat >"$packed/list" <<'E2'
gemm-all-scatter
  its summary (its source)
  patterns:                       lines of device code   of communication
    fused                                        126                 17
  parameters:
    --shape MxNxK          of the whole product
  cases:
    --shape 8x8x8
    --shape 9x9x9 --blocks 2
  large cases:
    --shape 99x99x99

gemm-reduce-scatter
  its summary (its source)
  patterns:
    fused
  cases:
    --shape 7x7x7
  large cases:
    --shape 77x77x77
E2
program tessera <<E2
[ "\$1" = info ] && echo '  cpuemu   1 device'
[ "\$1 \$2" = "bench --list" ] && cat $packed/list
exit 0
E2
echo 'exit 0' | program dot
on_gpus 'echo "ok - one::a" >"$report"; echo "ok - one::b # skip no peer" >>"$report"'
ends "success" 0 "17 passed, 0 failed, 1 skipped" 'skipped one::b: no peer'
on_gpus 'echo "not ok - one::a" >"$report"; echo "ok - one::b" >>"$report"' \
	'echo "it broke here"; exit 1'
ends "a failure" 1 "17 passed, 1 failed, 0 skipped" 'it broke here'
on_gpus 'echo "ok - one::a" >"$report"; exit 3'
ends "a crash between two tests" 1 "17 passed, 1 failed, 0 skipped" 'failed tests: exit code 3'
on_gpus 'exit 0'
ends "a program that runs nothing" 1 "16 passed, 1 failed, 0 skipped" 'after 0 tests'
# With the carrier of messages between nodes: a test program that has each suite it is asked for,
# but the one named $LACKS.
mkdir -p "$packed/lib/plugins"
echo >"$packed/lib/plugins/libtessera-net-ucx.so"
program on_gpus <<'E2'
names=one list='' report=''
for option; do case $option in --list) list=1 ;; --tap=*) report=${option#--tap=} ;;
	--filter=@*) names=$(echo "$option" | sed 's/.*(//; s/).*//' | tr '|' ' ') ;; esac; done
for name in $names; do
	[ "$name" = "$LACKS" ] || if [ "$list" ]; then echo "$name/a"; else
		echo "ok - $name::a" >>"$report"; fi
done
E2
try ci/gpu --emulate "$packed"
[ "$code" -eq 0 ] &&
	grep -q '^nodes, memory and signals, 1 GPUs: [0-9]* passed$' "$TAP_FILES/out" &&
	grep -q '^nodes, gemm-reduce-scatter --shape 77x77x77, 1 GPUs: 1 passed$' "$TAP_FILES/out"
verdict $? "tests and workloads over nodes" "exit code $code"
LACKS=marked
export LACKS
try ci/gpu --emulate "$packed"
[ "$code" -eq 1 ] && grep -q '^  failed marked::\*: no such test$' "$TAP_FILES/out" &&
	grep -qE '^[0-9]+ passed, 1 failed, 0 skipped$' "$TAP_FILES/out"
verdict $? "a suite over nodes that is not there" "exit code $code"
unset LACKS
rm -r "$packed/lib"
rm "$packed/on_gpus"
ends "no test program" 1 \
	"16 passed, 1 failed, 0 skipped" 'on_gpus does not list its tests: cannot be started'
on_gpus 'echo "ok - one::a" >"$report"; sleep 1000'
for seconds in 1 8 64; do # a busy machine may need longer for what stands before the sleep
	wanted=0 totals="1 passed, 0 failed, 0 skipped" pattern='^17 not run: there was no time'
	gives --seconds $seconds && break
done
verdict $? "too little time" "exit code $code; wanted $wanted, /$pattern/ and: $totals"
on_gpus 'echo "ok - one::a" >"$report"; echo "ok - one::b" >>"$report"; setsid sleep 1000 &'
ends "a process that is left behind" 1 \
	"18 passed, 1 failed, 0 skipped" 'left process [0-9]+ \(sleep\) behind'
mv "$packed/list" "$packed/no-list"
on_gpus 'echo "ok - one::a" >"$report"'
ends "a command that names no workload" 1 \
	"10 passed, 1 failed, 0 skipped" 'failed tessera bench --list names no workload'
mv "$packed/no-list" "$packed/list"
program tessera <<E2
[ "\$1" = info ] && printf '  cpuemu   1 device\\n  some_kernel   f16_16x16x16   1 worker\\n'
[ "\$1 \$2" = "bench --list" ] && cat $packed/list
exit 0
E2
PATH=$TAP_FILES/tools:$PATH
mkdir "$TAP_FILES/tools"
sanitizer() {
	printf '#!/bin/sh\n%s\n' "$1" >"$TAP_FILES/tools/compute-sanitizer"
	chmod +x "$TAP_FILES/tools/compute-sanitizer"
}
sanitizer 'echo "ERROR SUMMARY: 0 errors"'
ends "memcheck" 0 "2 passed, 0 failed, 0 skipped" '^memcheck gemm-reduce-scatter f16 16x16x16' \
	--memcheck
sanitizer 'echo "ERROR SUMMARY: 0 errors"; echo "ERROR SUMMARY: 2 errors"'
ends "memcheck that finds something" 1 \
	"0 passed, 2 failed, 0 skipped" 'errors of each process: \[0, 2\]' --memcheck
sanitizer 'exit 0'
ends "memcheck that watches nothing" 1 \
	"0 passed, 2 failed, 0 skipped" 'errors of each process: \[\]' --memcheck
sanitizer 'echo "Device not supported"; exit 1'
ends "memcheck without support" 0 "0 passed, 0 failed, 2 skipped" 'does not support the device' \
	--memcheck
program tessera <<'E2'
echo '  cpuemu   no device: it is asleep'
E2
try ci/gpu --emulate "$packed"
[ "$code" -eq 77 ] && [ "$(cat "$TAP_FILES/out")" = "skipped: it is asleep" ]
verdict $? "no device" "exit code $code; wanted 77 and the reason"
try ci/gpu "$TAP_FILES/absent"
[ "$code" -eq 77 ] && grep -q 'scons gpu makes it' "$TAP_FILES/out"
verdict $? "nothing packed" "exit code $code; wanted 77 and the reason"
finish
