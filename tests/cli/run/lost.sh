#!/bin/sh
# Ranks that end before they join, and ranks that are stopped: what the launcher
# knows of them the others learn at once.
. "$(dirname "$0")/../tap"
hello=$BUILD/examples/hello

# in_time LIMIT: the last command took less than LIMIT seconds.
in_time() {
	[ "$(($(date +%s) - began))" -lt "$1" ]
}

# one_ends NAME RANKS RANK HOW CODE SENTENCE: one rank does HOW before it joins. The deadline is
# never waited for, and it is said once.
one_ends() {
	began=$(date +%s)
	TESSERA_DEADLINE=300s try tessera run -n "$2" \
		sh -c "if [ \$TESSERA_RANK = $3 ]; then $4; fi; exec \"\$@\"" sh "$hello"
	[ "$code" -eq "$5" ] && grep -q "tessera: rank $3 of $2 $6.* before .* joined the world" \
		"$TAP_FILES/err" && in_time 150 &&
		! grep -q 'never arrived' "$TAP_FILES/err"
	verdict $? "$1" "exit code $code, wanted $5 and: $6"
}

for rank in 0 1 3; do
	one_ends "rank $rank of 4 exits before it joins" 4 $rank 'exit 3' 3 'ended with exit code 3'
	one_ends "rank $rank of 4 is killed before it joins" 4 \
		$rank 'kill -9 $$' 137 'was killed by signal 9'
	one_ends "rank $rank of 4 ends late, before it joins" 4 \
		$rank 'sleep 1; exit 4' 4 'ended with exit code 4'
done
one_ends "rank 0 of 2 has no program" 2 0 'exec /no/such/program' 127 'ended with exit code 127'
one_ends "a rank that ends well, but never joins" 3 2 'exit 0' 1 'ended with exit code 0'
one_ends "rank 0 that ends well, but never joins" 3 0 'exit 0' 1 'ended with exit code 0'

# A stopped rank costs one deadline: the launcher does not give it another.
for rank in 0 2; do
	began=$(date +%s)
	TESSERA_DEADLINE=10s try tessera run -n 3 sh -c \
		"if [ \$TESSERA_RANK = $rank ]; then kill -STOP \$\$; fi; exec \"\$@\"" sh "$hello"
	[ "$code" -ne 0 ] &&
		grep -q "tessera: rank $rank of 3 " "$TAP_FILES/err" && in_time 19 && ! in_time 9 &&
		grep -q "rank $rank did not end when the world did, and is killed" "$TAP_FILES/err"
	verdict $? "rank $rank is stopped before it joins: one deadline" \
		"exit code $code after $(($(date +%s) - began)) s"
done

# A thread cannot be ended alone: the process of all ranks is. Rank 0 reads what never comes.
mkfifo "$TAP_FILES/silent" && exec 9<>"$TAP_FILES/silent"
began=$(date +%s)
TESSERA_DEADLINE=3s try tessera run -n 2 --placement thread sh -c 'exec "$1" wait <"$2"' sh \
	"$BUILD/tests/planted/process/patient" "$TAP_FILES/silent"
[ "$code" -eq 1 ] && grep -q "waited 3 s .* for rank 0 to raise" "$TAP_FILES/err" &&
	grep -q "rank 0 did not end when the world did, and the process of all ranks is ended" \
		"$TAP_FILES/err" && in_time 30
verdict $? "a rank that is a thread does not end" \
	"exit code $code after $(($(date +%s) - began)) s"

# A rank leaves by exit. As a thread it takes the others with it; as a process it is lost to them.
exits=$BUILD/tests/planted/process/exits
refuses "a rank that is a thread calls exit(0)" 1 \
	'rank 1 of 3 called exit\(0\), which ends all ranks, because they are threads of one process' \
	tessera run -n 3 --placement thread "$exits" 0
refuses "and exit(256), which is the same" 1 'rank 1 of 2 called exit\(0\)' \
	tessera run -n 2 --placement thread "$exits" 256
try tessera run -n 3 --placement thread "$exits" 3
[ "$code" -eq 3 ]
verdict $? "and exit(3): the code is kept" "exit code $code"
refuses "a rank that is a thread calls _exit(0)" 1 \
	'all 3 ranks ended with exit code 0 before they had finished, as _exit\(0\) in one of them' \
	tessera run -n 3 --placement thread "$exits" at-once
refuses "and in a shell that says that all is well" 1 'all 2 ranks ended with exit code 0 before' \
	tessera run -n 2 --placement thread sh -c '"$@"; true' sh "$exits" at-once
prints "a program without ranks ends as it will" '' tessera run -n 2 --placement thread true
prints "two programs, one after the other" '' \
	tessera run -n 2 --placement thread sh -c '"$1" >/dev/null && "$1" >/dev/null' sh "$hello"
refuses "a rank that is a process calls _exit(0)" 1 \
	'rank 1 of 3 is lost: its process ended without leaving the world' \
	tessera run -n 3 "$exits" at-once
refuses "a rank that is a process calls exit(0)" 1 \
	'rank 1 of 3 is lost: its process ended without leaving the world' \
	tessera run -n 3 "$exits" 0
for placement in process thread; do
	prints "a child of a rank exits, as $placement" '' \
		tessera run -n 3 --placement $placement "$exits" child
done
finish
