#!/bin/sh
# What memory is called in findings: tensors by their variables, elements by
# their rows and columns.
. "$(dirname "$0")/../tap"

needs_forks schedules
named="$BUILD/tests/planted/memory/named"

# called KIND FIRST SECOND: both races are told of, each by its tensor.
called() {
	try tessera check -n 2 --seeds 20 --no-slowdown "$named" "$1"
	[ "$code" -eq 1 ] &&
		grep -qF " '$2' [3, 5] (4 bytes) of rank 1" "$TAP_FILES/out" &&
		grep -qF " '$3' [7, 2..5] (16 bytes) of rank 1" "$TAP_FILES/out"
	verdict $? "two tensors of one shape are told apart: $1" "exit code $code"
}

called plain box halo
called made out 'out#2'
called given 'hot plate' 'cold plate'
called line away.c:7 away.c:8

finish
