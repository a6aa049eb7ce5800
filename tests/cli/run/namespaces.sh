#!/bin/sh
# Ranks in PID namespaces of their own, as in a container a rank: all are process 1 of theirs.
. "$(dirname "$0")/../tap"
hello=$BUILD/examples/hello
# In such a namespace /proc shows the processes outside, and LeakSanitizer takes them for its own.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
for apart in 'unshare --pid --fork' 'unshare --user --map-root-user --pid --fork'; do
	$apart true 2>/dev/null && break
	apart=
done
if [ -z "$apart" ]; then
	skip "ranks in PID namespaces of their own" \
		"this machine permits no PID namespace (unshare --pid --fork)"
	finish
fi

for ranks in 1 2 3 5; do
	prints "$ranks ranks in namespaces of their own" "^rank 0 of $ranks received 1" \
		tessera run -n $ranks $apart "$hello"
	seen "$ranks ranks in namespaces of their own: each once" \
		"^rank [0-9] of $ranks received" $ranks
done
prints "a launcher in a namespace of its own" '^rank 0 of 3 received' \
	$apart tessera run -n 3 "$hello"

# By hand; the last one is outside.
export TESSERA_SIZE=3 TESSERA_JOB="namespaces.$$.$(date +%s)" TESSERA_SECRET=$$
for rank in 0 1; do
	TESSERA_RANK=$rank timeout 100 $apart "$hello" >"$TAP_FILES/rank.$rank" 2>&1 </dev/null &
done
TESSERA_RANK=2 try "$hello"
wait
cat "$TAP_FILES"/rank.? >>"$TAP_FILES/out"
seen "ranks started by hand, two of three in namespaces" '^rank [0-2] of 3 received' 3

# What ends in a namespace is lost for those outside.
unset TESSERA_SIZE TESSERA_JOB TESSERA_SECRET
try tessera run -n 3 $apart sh -c 'if [ $TESSERA_RANK = 1 ]; then exit 5; fi; exec "$@"' sh "$hello"
[ "$code" -eq 5 ] && grep -q 'rank 1 of 3 ended with exit code 5 before it joined the world' \
	"$TAP_FILES/err"
verdict $? "a rank that ends in its namespace is named" "exit code $code"

# In networks of their own they cannot meet, and are told so. Nodes are told which address is meant.
if unshare --net true 2>/dev/null; then
	refuses_both() {
		TESSERA_DEADLINE=2s try tessera run -n 2 $3 unshare --net "$hello"
		[ "$code" -eq 1 ] && grep -qE -- "$2" "$TAP_FILES/err"
		verdict $? "$1" "exit code $code"
	}
	why='never arrived .* in one network namespace: they meet at an abstract socket'
	refuses_both "a network namespace for each rank" "rank 0 of 2 $why" ''
	refuses_both "the other rank is told so too" "rank 1 of 2 $why" ''
	refuses_both "for each rank of two nodes" "cannot reach rank 0's node at 127.0.0.1:[0-9]+" \
		'--nodes 2'
else
	skip "a network namespace for each rank" "this machine permits none (unshare --net)"
fi
finish
