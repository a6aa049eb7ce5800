#!/bin/sh
# The test runner itself: what crashes, hangs, runs nothing or leaves something
# behind is a failure, and counts are counted.
. "$(dirname "$0")/../cli/tap"
tests=$TAP_FILES/tests
checks=$tests/ci/checks
mkdir -p "$checks"

# script FILE: makes a script of what stands on stdin.
script() {
	{ echo '#!/bin/sh'; cat; } >"$1"
	chmod +x "$1"
}

# counts NAME TOTALS PATTERN TEST...: ci/run-tests ends with TOTALS, a line matches, and its exit
# code tells failures.
counts() {
	name=$1 totals=$2 pattern=$3
	shift 3
	runs "$@"
	verdict $? "$name" "exit code $code; wanted $wanted, /$pattern/ and: $totals"
}

# runs TEST...: the same without a verdict. A program may take $limit seconds.
limit=1000
runs() {
	try ci/run-tests --limit $limit \
		--patience 1 --shm "$TAP_FILES/shm" --tally "$TAP_FILES/tally" "$@"
	wanted=1
	case $totals in *' 0 failed'*) wanted=0 ;; esac
	[ "$code" -eq $wanted ] && [ "$(tail -n 1 "$TAP_FILES/out")" = "$totals" ] &&
		grep -qE -- "$pattern" "$TAP_FILES/out" &&
		[ "$(cat "$TAP_FILES/tally")" = \
			"$(echo "$totals" | tr -dc '0-9 ' | tr -s ' ' | sed 's/^ //; s/ $//')" ]
}

script "$tests/mixed.sh" <<'E2'
echo "ok - one"; echo "ok - two # skip no device"; echo "not ok - three"; exit 1
E2
counts "a script's lines" "1 passed, 1 failed, 1 skipped" 'skipped two: no device' "$tests/mixed.sh"
echo 'echo "ok - one"' | script "$tests/good.sh"
counts "several scripts" "2 passed, 1 failed, 1 skipped" 'FAILED three' \
	"$tests/mixed.sh" "$tests/good.sh"
counts "success" "1 passed, 0 failed, 0 skipped" 'good.sh: 1 passed' "$tests/good.sh"
echo 'exit 0' | script "$tests/nothing.sh"
counts "a script that runs nothing" "0 passed, 1 failed, 0 skipped" 'ran no test' \
	"$tests/nothing.sh"
echo 'echo "ok - one"; exit 3' | script "$tests/error.sh"
counts "an exit code that no test explains" "1 passed, 1 failed, 0 skipped" 'exited with 3' \
	"$tests/error.sh"
echo 'echo "ok - one"; kill -SEGV $$' | script "$tests/crash.sh"
counts "a crash" "1 passed, 1 failed, 0 skipped" 'ended by signal 11' "$tests/crash.sh"
echo 'echo "ok - one"; sleep 1000' | script "$tests/hang.sh"
for limit in 1 8 64; do # a busy machine may need longer for the line before the hang
	totals="1 passed, 1 failed, 0 skipped" pattern="did not end within $limit s"
	runs "$tests/hang.sh" && break
done
verdict $? "a hang" "exit code $code; wanted $wanted, /$pattern/ and: $totals"
limit=1000
echo 'echo "ok - one"; echo "==1==ERROR: LeakSanitizer: detected memory leaks"' |
	script "$tests/leak.sh"
counts "a report that no exit code tells" \
	"1 passed, 1 failed, 0 skipped" 'FAILED leak.sh: ERROR: LeakSanitizer' "$tests/leak.sh"
echo 'echo "ok - one"; setsid sleep 1000 &' | script "$tests/orphan.sh"
counts "a process that is left behind" \
	"1 passed, 1 failed, 0 skipped" 'left process [0-9]+ \(sleep\) behind' "$tests/orphan.sh"
mkdir "$TAP_FILES/shm"
echo "echo 'ok - one'; : >$TAP_FILES/shm/tessera-runner-test" | script "$tests/litter.sh"
counts "a file that is left in /dev/shm" \
	"1 passed, 1 failed, 0 skipped" 'left tessera-runner-test' "$tests/litter.sh"
printf '%s\n' "$TAP_FILES/one $tests/build.sh" "$TAP_FILES/two $tests/build.sh" \
	"$TAP_FILES/two $tests/wrapped env BY=wrap" >"$TAP_FILES/list"
echo 'echo "ok - of ${BUILD##*/}"; [ ${BUILD##*/} = one ] || { echo "not ok - two"; exit 1; }' |
	script "$tests/build.sh"
echo 'echo "ok - $BY" >"${1#--tap=}"; [ "$BY" = wrap ]' | script "$tests/wrapped"
counts "a list of tests of two builds" "3 passed, 1 failed, 0 skipped" \
	'build.sh in .*/two: 1 passed, 1 failed' --list "$TAP_FILES/list"
seen "the time of each build" '^(one tests|two tests|two env tests): [0-9]+ s of CPU$' 3
counts "a program that is not there" "0 passed, 1 failed, 0 skipped" 'cannot be started' \
	"$tests/absent"
echo 'exit 0' | script "$checks/good"
echo 'echo no compiler; exit 77' | script "$checks/absent"
echo 'exit 2' | script "$checks/bad"
counts "checks" "1 passed, 1 failed, 1 skipped" \
	'skipped absent: no compiler' "$checks/good" "$checks/absent" "$checks/bad"

cat >"$tests/plain.c" <<'E2'
#include <criterion/criterion.h>
#include <signal.h>
#include <unistd.h>
Test(plain, good) { cr_assert(1); cr_expect_eq(2, 2, "two is %d", 2); }
Test(plain, wrong) { cr_expect_eq(1, 2); }
Test(plain, not_a_number) { cr_assert_float_eq(NAN, 1, 10); }
Test(plain, fatal) { cr_assert_str_eq("a", "b", "of %d", 3); _exit(0); }
Test(plain, crash) { raise(SIGSEGV); }
Test(plain, hang, .timeout = 1) { sleep(1000); }
Test(plain, skip) { cr_skip_test("no %s", "device"); }
E2
gcc -D_GNU_SOURCE -Itests/harness/plain "$tests/plain.c" tests/harness/plain/main.c \
	-lm -o "$tests/plain" 2>"$TAP_FILES/err"
counts "the plain runner" "1 passed, 5 failed, 1 skipped" 'skipped plain::skip: no device' \
	"$tests/plain"
prints "a filter with several names" '^1 passed, 0 failed, 1 skipped$' \
	"$tests/plain" --filter '@(plain|else)/@(good|skip)'
refuses "a filter that nothing matches" 1 'no test ran' \
	sh -c "'$tests/plain' --filter plain/gone >/dev/null"
finish
