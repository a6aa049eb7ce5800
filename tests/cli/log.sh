#!/bin/sh
# TESSERA_LOG: levels, whose line it is, and files.
. "$(dirname "$0")/tap"
hello=$BUILD/examples/hello
logs=$TAP_FILES/logs
mkdir "$logs"

# logged NAME PATTERN COUNT FILE: so many lines of the file match.
logged() {
	count=$(grep -cE -- "$2" "$4")
	[ "$count" -eq "$3" ]
	verdict $? "$1" "$count lines of $4 match /$2/, wanted $3"
}

try tessera run -n 2 "$hello"
[ "$code" -eq 0 ] && [ ! -s "$TAP_FILES/err" ]
verdict $? "nothing is logged that nobody asked for" "exit code $code"
for placement in process thread; do
	try env TESSERA_LOG=info tessera run -n 3 --placement $placement \
		--backend cpuemu "$hello"
	logged "info, $placement: the backend and why" \
		'^tessera: rank 0 of 3: info: backend cpuemu, because .*3 ranks as (proc|thr)' 1 \
		"$TAP_FILES/err"
	logged "info, $placement: the end" \
		'^tessera: rank 0 of 3: info: the world has ended well$' 1 "$TAP_FILES/err"
	logged "info, $placement: nothing else" '' 2 "$TAP_FILES/err"
	seen "info, $placement: output is as without" '^rank [0-2] of 3 received' 3
	try env TESSERA_LOG="debug:$logs/$placement-%r.txt" \
		tessera run -n 3 --placement $placement "$hello"
	[ "$code" -eq 0 ] && [ ! -s "$TAP_FILES/err" ]
	verdict $? "debug, $placement: files, not standard error" "exit code $code"
	for rank in 0 1 2; do
		logged "rank $rank: its memory" \
			"^20[0-9-]+T[0-9:.]+Z tessera: rank $rank of 3: debug: tsr_heap_alloc\(" 1 \
			"$logs/$placement-$rank.txt"
		logged "rank $rank: its launches" 'debug: launches hello on 1 blocks$' 1 \
			"$logs/$placement-$rank.txt"
		logged "rank $rank: no line of another" "tessera: rank $rank of 3: " \
			"$(wc -l <"$logs/$placement-$rank.txt")" "$logs/$placement-$rank.txt"
	done
	[ "$(ls "$logs" | grep -c "^$placement-")" -eq 3 ]
	verdict $? "$placement: a file a rank" "$(ls "$logs")"
done

# One file for all: each line is whole. What is there stays.
echo before >"$logs/all.txt"
try env TESSERA_LOG="debug:$logs/all.txt" tessera run -n 5 "$hello"
logged "what was in the file stays" '^before$' 1 "$logs/all.txt"
logged "lines of five ranks are whole" \
	'^20[0-9-]+T[0-9:.]+Z tessera: rank [0-4] of 5: (info|debug): .' \
	"$(($(wc -l <"$logs/all.txt") - 1))" "$logs/all.txt"
try env TESSERA_LOG="debug:$logs/%p.txt" tessera run -n 2 "$hello"
[ "$(find "$logs" -name '[0-9]*.txt' | wc -l)" -eq 2 ]
verdict $? "a file a process" "$(ls "$logs")"

# A full device: the run goes on, and each rank says once that its lines are lost.
for placement in process thread; do
	try env TESSERA_LOG=debug:/dev/full tessera run -n 2 --placement $placement "$hello"
	[ "$code" -eq 0 ] && [ "$(wc -l <"$TAP_FILES/err")" -eq 2 ]
	verdict $? "a full device, $placement: the run goes on" "exit code $code"
	for rank in 0 1; do
		logged "rank $rank: its lines are lost" \
			"rank $rank of 2: lines of its log are lost, because '/dev/full' .*No space" 1 \
			"$TAP_FILES/err"
	done
done

# Errors: each rank says its own, and each error of a call is there at debug.
cat >"$TAP_FILES/fails.c" <<'END'
#include "tessera/tessera.h"
TSR_MAIN(world, argc, argv)
{
	TSR_HEAP void *memory;
	(void)tsr_heap_alloc(world, 64, 3, "odd", &memory);
	TSR_TRY(tsr_heap_alloc(world, (size_t)1 << 50, 64, "huge", &memory));
	return 0;
}
END
variant=${BUILD##*/}
case $variant in
*-asan) flags='-fsanitize=address,undefined' ;;
*-tsan) flags='-fsanitize=thread' ;;
*) flags= ;;
esac
try env CC="${variant%-*}" tessera cc "$TAP_FILES/fails.c" -o "$TAP_FILES/fails" $flags
try env TESSERA_LOG="error:$logs/errors.txt" tessera run -n 3 "$TAP_FILES/fails"
[ "$code" -ne 0 ] && [ "$(wc -l <"$TAP_FILES/err")" -eq 1 ]
verdict $? "a failure is said once" "exit code $code"
logged "in the log by each rank" 'rank [0-2] of 3: error: fails: .*1024 TiB' 3 "$logs/errors.txt"
logged "an error that the program bears is not there" 'alignment' 0 "$logs/errors.txt"
try env TESSERA_LOG="debug:$logs/all-errors.txt" tessera run -n 1 "$TAP_FILES/fails"
logged "but at debug" 'debug: TSR_ERR_ARGUMENT: .*alignment' 1 "$logs/all-errors.txt"

# What cannot be logged to.
refuses "a level that there is not" 1 "must be quiet, error, info or debug, and :FILE may" \
	env TESSERA_LOG=loud tessera run -n 2 "$hello"
refuses "a level in capitals" 1 "'INFO'" env TESSERA_LOG=INFO tessera run -n 2 "$hello"
refuses "no file behind the colon" 1 'must have the name of a file' \
	env TESSERA_LOG=info: tessera run -n 2 "$hello"
refuses "a sign that stands for nothing" 1 'no other %' \
	env TESSERA_LOG=info:log-%h tessera run -n 2 "$hello"
refuses "a folder that is not there" 1 'none/log.*No such file' \
	env TESSERA_LOG="info:$TAP_FILES/none/log" tessera run -n 2 "$hello"
mkfifo "$TAP_FILES/pipe"
refuses "a pipe that nobody reads" 1 'pipe. cannot be written: No such device' \
	env TESSERA_LOG="info:$TAP_FILES/pipe" tessera run -n 2 "$hello"
finish
