#!/bin/sh
# tessera run --tag, --output and --gdb: whose line it is, where it goes, where a rank has died.
. "$(dirname "$0")/../tap"
hello=$BUILD/examples/hello

# ---- tags

prints "a tag before each line" '^\[2\] rank 2 of 3 received 1001$' \
	tessera run -n 3 --tag "$hello"
seen "before all of them" '^\[[0-2]\] rank [0-2] of 3 received [0-9]+$' 3
seen "and nothing else" '' 3
try tessera run -n 2 --tag sh -c 'echo out; echo err >&2; printf end'
seen "output" '^\[[01]\] out$' 2
seen "a last line without its end" '^\[[01]\] end$' 2
[ "$(sort "$TAP_FILES/err" | tr '\n' ' ')" = '[0] err [1] err ' ]
verdict $? "errors stay errors" "$(cat "$TAP_FILES/err")"
try tessera run -n 5 --tag \
	sh -c 'i=0; while [ $i -lt 300 ]; do echo "$i is a line"; i=$((i+1)); done'
seen "lines of several ranks do not mix" '^\[[0-4]\] [0-9]+ is a line$' 1500
seen "and none is lost" '' 1500
try tessera run -n 1 --tag sh -c 'head -c 3000000 /dev/zero | tr "\0" x; echo'
[ "$(tr -d '\n' <"$TAP_FILES/out" | tr -dc x | wc -c)" -eq 3000000 ]
verdict $? "of a line of 3 MB no letter is lost" "$(wc -c <"$TAP_FILES/out") bytes"
try tessera run -n 3 --tag sh -c 'exit 7'
[ "$code" -eq 7 ]
verdict $? "the exit code is that of the rank" "exit code $code, wanted 7"
try tessera run -n 2 --tag sh -c '(trap "" HUP; sleep 60) & echo done'
seen "a process that a rank leaves behind is not waited for" '^\[[01]\] done$' 2
echo 'a word' >"$TAP_FILES/in"
tessera run -n 2 --tag cat <"$TAP_FILES/in" >"$TAP_FILES/out" 2>"$TAP_FILES/err"
seen "rank 0 reads the input" '^\[0\] a word$' 1
timeout 60 sh -c 'tessera run -n 2 --tag yes; echo $? >"$1"' sh "$TAP_FILES/code" \
	2>"$TAP_FILES/err" | head -1 >"$TAP_FILES/out"
[ "$(cat "$TAP_FILES/code")" -eq 141 ] && [ ! -s "$TAP_FILES/err" ]
verdict $? "ranks end quietly when nobody reads" "exit code $(cat "$TAP_FILES/code"), wanted 141"
if [ -e /dev/full ]; then
	timeout 60 tessera run -n 1 --tag echo word >/dev/full 2>"$TAP_FILES/err"
	code=$?
	[ $code -eq 1 ] && grep -q 'cannot be written' "$TAP_FILES/err"
	verdict $? "output that is lost is a failure" "exit code $code"
fi

# ---- files

logs=$TAP_FILES/logs
prints "a file a rank" '' tessera run -n 3 --output "$logs" "$hello"
[ ! -s "$TAP_FILES/out" ] && [ "$(cat "$logs/rank-2.txt")" = 'rank 2 of 3 received 1001' ] &&
	[ "$(ls "$logs" | tr '\n' ' ')" = 'rank-0.txt rank-1.txt rank-2.txt ' ]
verdict $? "holds what the rank prints" "$(ls "$logs")"
try tessera run -n 1 --output "$logs" sh -c 'echo 1; echo 2 >&2; echo 3'
[ "$(cat "$logs/rank-0.txt")" = "$(printf '1\n2\n3')" ]
verdict $? "errors too, in order; what was there is gone" "$(cat "$logs/rank-0.txt")"
prints "with tags it is also printed" '^\[1\] rank 1 of 2 received 1000$' \
	tessera run -n 2 --tag --output "$logs" "$hello"
[ "$(cat "$logs/rank-1.txt")" = 'rank 1 of 2 received 1000' ]
verdict $? "and stands in the file without" "$(cat "$logs/rank-1.txt")"

# ---- a debugger

cat >"$TAP_FILES/dies.c" <<'END'
#include <stdlib.h>
#include "tessera/tessera.h"
static void __attribute__((noinline)) fall(tsr_world_t *world)
{
	if (tsr_world_rank(world) == 1)
		abort();
}
TSR_MAIN(world, argc, argv)
{
	fall(world);
	return 0;
}
END
variant=${BUILD##*/}
case $variant in
*-asan | *-tsan)
	skip "a debugger" "sanitizers and gdb both want to trace"
	;;
*)
	try env CC="${variant%-*}" tessera cc "$TAP_FILES/dies.c" -o "$TAP_FILES/dies"
	if command -v gdb >/dev/null && gdb -q -batch -ex run --args true >/dev/null 2>&1; then
		try tessera run -n 2 --tag --gdb=1 "$TAP_FILES/dies"
		# rank 0 may fail first, as it sees that its peer has gone before gdb ends
		[ "$code" -ne 0 ]
		verdict $? "a rank that dies under gdb is a failure" "exit code $code"
		seen "gdb shows where rank 1 died" '^\[1\] #[0-9]+ .* in fall \(world=.*dies\.c:6'
		seen "and runs rank 1 alone" '^\[0\]' 0
		try tessera run -n 2 --gdb=1 sh -c '[ $TESSERA_RANK -eq 0 ] || kill -ABRT $$'
		[ "$code" -eq 134 ]
		verdict $? "the exit code is that of the signal" "exit code $code, wanted 134"
		try tessera run -n 1 --gdb printf '<%s>' 'a $b' "it's" ''
		seen "arguments reach the program as they are" "^<a [\$]b><it's><>" 1
		try tessera run -n 2 --gdb "$hello"
		[ "$code" -eq 0 ]
		verdict $? "ranks that end well under gdb" "exit code $code, wanted 0"
		seen "print what they print" '^rank [01] of 2 received' 2
		try tessera run -n 2 --gdb=0 sh -c 'exit 3'
		[ "$code" -eq 3 ]
		verdict $? "and have their exit code" "exit code $code, wanted 3"
	else
		skip "a debugger" "no gdb here that may trace"
	fi
	;;
esac
mkdir "$TAP_FILES/programs"
ln -s /bin/true "$TAP_FILES/programs/true"
refuses "a debugger that is not there" 1 'no gdb on PATH: install it' \
	env PATH="$TAP_FILES/programs" "$BUILD/tessera" run -n 2 --gdb true
refuses "no list of ranks" 2 "not '0-'" tessera run -n 2 --gdb=0- "$hello"
refuses "a list backwards" 2 "not '2-1'" tessera run -n 3 --gdb=2-1 "$hello"
refuses "a rank that is not there" 2 'names rank 2; the ranks are 0 to 1' \
	tessera run -n 2 --gdb=0,2 "$hello"
refuses "a rank that no world has" 2 'from 0 to 255' tessera run -n 2 --gdb=4000000000 "$hello"
refuses "threads with tags" 2 'need ranks that are processes' \
	tessera run -n 2 -p thread --tag "$hello"
refuses "threads by the environment" 2 'need ranks that are processes' \
	env TESSERA_PLACEMENT=thread tessera run -n 2 --output "$logs" "$hello"
refuses "a file in place of a folder" 1 'it is no folder' \
	tessera run -n 2 --output "$TAP_FILES/dies.c" "$hello"
refuses "a folder in none" 1 'No such file' \
	tessera run -n 2 --output "$TAP_FILES/none/logs" "$hello"
refuses "too few descriptors" 1 'raise their number' \
	sh -c "ulimit -n 64; exec tessera run -n 64 --tag '$hello'"
refuses "the former letter of backends" 2 "did you mean '--backend'" \
	tessera run -n 2 -b cpuemu "$hello"
finish
