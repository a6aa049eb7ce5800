#!/bin/sh
# The litmus suite under ThreadSanitizer: tests that the model calls free of
# races raise no report, those that it calls racy do.
. "$(dirname "$0")/../tap"
suite=tests/litmus
case ${BUILD-} in
*-tsan) ;;
*)
	skip "races of the litmus suite are reported" "this is not the tsan variant"
	finish
	;;
esac
TESSERA_PLACEMENT=thread
export TESSERA_PLACEMENT

right=$(grep -L '^Expect=racy' $suite/*.litmus)
count=$(echo "$right" | wc -l)
prints "no report from $count tests without a race" "^agree $count of $count\$" \
	tessera litmus $right --on cpuemu --runs 500

# Of the racy ones, those with plain accesses: two atomics that race are no race to ThreadSanitizer.
racy=$(grep -l '^Expect=racy' $suite/*.litmus | xargs grep -l '\[na')
count=$(echo "$racy" | wc -l)
reported=0 missed=
for test in $racy; do
	for runs in 2000 20000 20000; do # a race needs an execution that has it
		try tessera litmus "$test" --on cpuemu --runs $runs
		grep -q 'WARNING: ThreadSanitizer: data race' "$TAP_FILES/err" && break
	done
	if grep -q 'WARNING: ThreadSanitizer: data race' "$TAP_FILES/err"; then
		reported=$((reported + 1))
	else
		missed="$missed $(basename "$test")"
	fi
done
# On a busy machine one or another execution does not come
[ "$count" -ge 30 ] && [ "$reported" -ge $((count - 3)) ]
verdict $? "$reported of $count tests with a race are reported" "not:$missed"
finish
