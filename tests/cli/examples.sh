#!/bin/sh
# The examples, in worlds of several sizes and both placements. They verify what
# they receive, and exit with 1 if it is wrong.
. "$(dirname "$0")/tap"

for ranks in 1 2 3 5 8; do
	for placement in process thread; do
		for example in message_passing_load_store message_passing_put_signal sum_tiles \
			product window; do
			prints "$example on $ranks as $placement" ': ok$' \
				tessera run -n $ranks \
				--placement $placement "$BUILD/examples/$example"
			seen "$example on $ranks as $placement: all ranks" ': ok$' $ranks
		done
	done
	prints "hello on $ranks" \
		"^rank $((ranks - 1)) of $ranks received $((1000 + (2 * ranks - 2) % ranks))$" \
		tessera run -n $ranks "$BUILD/examples/hello"
done
prints "hello by itself is a world of one" '^rank 0 of 1 received 1000$' "$BUILD/examples/hello"
lines=$(wc -l <"$(dirname "$0")/../../examples/hello.c")
[ "$lines" -le 40 ]
verdict $? "hello has at most 40 lines" "it has $lines"
finish
