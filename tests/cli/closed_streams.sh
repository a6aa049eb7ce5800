#!/bin/sh
# The command and its ranks with standard input, output and error closed in all
# combinations: nothing that is printed goes into a file that was opened
# meanwhile.
. "$(dirname "$0")/tap"
hello=$BUILD/examples/hello

# closed NUMBERS COMMAND...: runs it with those descriptors closed; in $code its exit code.
closed() {
	numbers=$1
	shift
	code=0
	(
		case $numbers in *0*) exec <&- ;; esac
		case $numbers in *1*) exec >&- ;; *) exec >"$TAP_FILES/out" ;; esac
		case $numbers in *2*) exec 2>&- ;; *) exec 2>"$TAP_FILES/err" ;; esac
		exec timeout -k 5 600 "$@"
	) || code=$?
}

# wanted NUMBERS: the exit code. What is printed to a closed output is lost, which is a failure, and
# the only one.
wanted() {
	case $1 in *1*) echo 1 ;; *) echo 0 ;; esac
}

: >"$TAP_FILES/out" >"$TAP_FILES/err"
for numbers in none 0 1 2 01 02 12 012; do
	rm -f "$TAP_FILES/table.json"
	closed $numbers tessera perf put -n 2 -b 8 -e 64 -f 8 --json "$TAP_FILES/table.json"
	[ "$code" -eq "$(wanted $numbers)" ] &&
		python3 -c 'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["rows"])' \
		"$TAP_FILES/table.json" 2>/dev/null
	verdict $? "perf --json with $numbers closed" \
		"exit code $code, $(head -c 200 "$TAP_FILES/table.json")"

	: >"$TAP_FILES/out"
	closed $numbers tessera run -n 3 "$hello"
	[ "$code" -eq "$(wanted $numbers)" ] &&
		case $numbers in
		*1*) ;;
		*) [ "$(grep -c '^rank [0-2] of 3 received' "$TAP_FILES/out")" -eq 3 ] ;;
		esac
	verdict $? "three ranks with $numbers closed" "exit code $code"
done

# By hand, where nobody has filled the places of closed descriptors.
export TESSERA_SIZE=2 TESSERA_JOB="closed.$$.$(date +%s)"
for numbers in 0 1 2 01 02 12 012; do
	(TESSERA_RANK=1 closed $numbers "$hello"; exit $code) &
	other=$!
	TESSERA_RANK=0 closed $numbers "$hello"
	wait $other
	its=$?
	[ "$code" -eq "$(wanted $numbers)" ] && [ "$its" -eq "$(wanted $numbers)" ]
	verdict $? "two ranks by hand with $numbers closed" "exit codes $code and $its"
done
finish
