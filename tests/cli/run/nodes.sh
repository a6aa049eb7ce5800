#!/bin/sh
# tessera run --nodes: which rank is on which node, and what it refuses.
. "$(dirname "$0")/../tap"
hello=$BUILD/examples/hello

# $1: ranks, $2: nodes, $3: nodes and local ranks in the order of ranks
placed() {
	# shellcheck disable=SC2016 # the ranks' shells expand it
	places=$(tessera run -n "$1" --nodes "$2" sh -c \
		'echo "$TESSERA_RANK:$TESSERA_NODE.$TESSERA_LOCAL_RANK"' | sort -n | cut -d: -f2)
	[ "$(echo $places)" = "$3" ]
	verdict $? "$1 ranks on $2 nodes" "$(echo $places), wanted $3"
}
placed 2 2 '0.0 1.0'
placed 3 2 '0.0 0.1 1.0'
placed 5 3 '0.0 0.1 1.0 1.1 2.0'
placed 8 4 '0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1'
prints "one node is no node" '^none none$' tessera run -n 1 --nodes 1 sh -c \
	'echo ${TESSERA_NODE-none} ${TESSERA_ROOT-none}'
prints "all know where rank 0 listens" '^127.0.0.1:[0-9]+$' tessera run -n 3 --nodes 3 sh -c \
	'echo $TESSERA_ROOT'
seen "each rank" '^127.0.0.1:[0-9]+$' 3
prints "rank 0 alone has the socket" '^0 [0-9]+$' tessera run -n 3 --nodes 3 sh -c \
	'[ -z "${TESSERA_ROOT_FD-}" ] || echo $TESSERA_RANK $TESSERA_ROOT_FD'
try tessera run -n 4 --nodes 2 sh -c 'exit $((TESSERA_RANK == 3 ? 7 : 0))'
[ "$code" -eq 7 ]
verdict $? "the exit code of a rank that fails" "exit code $code, wanted 7"

# what carries messages between nodes is a plug-in, which a build without UCX lacks
if [ -e "$BUILD/plugins/libtessera-net-ucx.so" ]; then
	prints "a world on several nodes" 'rank 2 of 3' tessera run -n 3 --nodes 2 "$hello"
	seen "each of its ranks" 'rank [0-2] of 3' 3
	prints "a late and slow network" 'rank 2 of 3' \
		tessera run -n 3 --nodes 2 --net-delay 2ms,1ms --net-rate 10M "$hello"
	try env TESSERA_LOG=info tessera run -n 2 --nodes 2 --net-delay 2ms,1ms --net-rate 10M \
		"$hello"
	grep -q 'messages are 2 ms late, 1 ms more or less; a rank sends 1.*e+07 bytes a second' \
		"$TAP_FILES/err"
	verdict $? "the log says how late it is" "$(cat "$TAP_FILES/err")"
	rm -f "$TAP_FILES/times"
	for delay in 20ms 0ms; do
		tessera perf signal -n 2 --nodes 2 --net-delay $delay -N 1 -m 3 -w 0 |
			awk '$3 == "u64" {print $4}' >>"$TAP_FILES/times"
	done
	awk 'NR == 1 {late = $1} NR == 2 {exit !(late > 20000 && $1 < late)}' "$TAP_FILES/times"
	verdict $? "a signal takes the delay" "$(cat "$TAP_FILES/times") us, with and without 20 ms"
	for operation in signal 'atomic --op all'; do
		# shellcheck disable=SC2086 # words
		prints "perf $operation between nodes" '^# wrong elements: 0 \(ok\)$' \
			tessera perf $operation -n 2 --nodes 2 -N 3 -m 50 -w 0
	done
	# wherever it is said that ranks are threads, and that there are nodes
	for nodes in 'tessera run --nodes 2 -p thread' \
		'env TESSERA_PLACEMENT=thread tessera run --nodes 2' \
		'env TESSERA_NODES=2 tessera run -p thread'; do
		# shellcheck disable=SC2086 # words
		try env TESSERA_LOG=info $nodes -n 3 "$hello"
		[ "$code" -eq 0 ] &&
			grep -q ' 2 nodes in one process, connected by ' "$TAP_FILES/err"
		verdict $? "ranks as threads on nodes: $nodes" "$(cat "$TAP_FILES/err")"
	done
	# a limit below that of ranks as threads, and above that of processes
	refuses "ranks as threads that lack descriptors" 1 'about 1056 descriptors in this one' \
		env TESSERA_NODES=2 sh -c "ulimit -n 200; exec tessera run -n 32 -p thread $hello"
	for files in 20 51; do
		refuses "ranks as processes that may have $files descriptors" 1 \
			"about 52 descriptors in each process, which may have $files" \
			sh -c "ulimit -n $files; exec tessera run -n 4 --nodes 2 $hello"
	done
	prints "52 are enough" 'rank 3 of 4' \
		sh -c "ulimit -n 52; exec tessera run -n 4 --nodes 2 $hello"
	try sh -c "ulimit -n 12; exec tessera run -n 8 --nodes 8 $hello"
	grep -q 'cannot let all nodes in: .* no room for more open files' "$TAP_FILES/err" &&
		[ "$(grep -c 'it does not answer' "$TAP_FILES/err")" -eq 0 ]
	verdict $? "rank 0's node says that it lacks some" "$(cat "$TAP_FILES/err")"
	prints "ranks as processes that have them" 'rank 31 of 32' \
		sh -c "ulimit -n 200; exec tessera run -n 32 --nodes 2 $hello"
	litmus=$(dirname "$0")/../../litmus/SB.rlx.diffGPU-ss.litmus
	# a busy machine may run one rank after the other for as long as a try takes
	for _ in 1 2 3 4 5 6 7 8; do
		tessera litmus --on cpuemu --nodes 2 --net-delay 60us,60us -v --runs 10000 \
			"$litmus" >"$TAP_FILES/weak" 2>&1
		grep -q '^Observation SB.rlx.diffGPU-ss Sometimes ' "$TAP_FILES/weak" && break
	done
	grep -q '^Observation SB.rlx.diffGPU-ss Sometimes ' "$TAP_FILES/weak"
	verdict $? "a weak outcome between nodes" "$(cat "$TAP_FILES/weak")"
fi
for late in '--net-delay 2s' '--net-delay 1ms,2ms' '--net-delay soon' '--net-rate 12' \
	'--net-rate none'; do
	# shellcheck disable=SC2086 # words
	refuses "a network that is not: $late" 2 "${late%% *}" \
		tessera run -n 2 --nodes 2 $late "$hello"
done
refuses "a late network on one node" 2 'say with --nodes' \
	tessera run -n 2 --net-delay 1ms "$hello"
try env TESSERA_NET_PLUGIN=/nowhere.so tessera run -n 3 --nodes 2 "$hello"
[ "$code" -eq 1 ] && grep -q '/nowhere.so' "$TAP_FILES/err"
verdict $? "a world on several nodes, without what carries its messages" "exit code $code"
for rank in 0 1 2 3; do
	# each node, and the launcher in place of one that never came, may say it once
	try tessera run -n 4 --nodes 2 sh -c "[ \$TESSERA_RANK != $rank ] || exit 5; exec $hello"
	[ "$code" -eq 5 ] && [ ! -s "$TAP_FILES/out" ] && [ "$(wc -l <"$TAP_FILES/err")" -le 2 ] &&
		grep -q "rank $rank of 4 ended with exit code 5 before" "$TAP_FILES/err"
	verdict $? "rank $rank ends before its world has met" "exit code $code, wanted 5"
done
refuses "more nodes than ranks" 2 'every node has at least one rank' \
	tessera run -n 2 --nodes 3 "$hello"
refuses "no node" 2 '0' tessera run -n 2 --nodes 0 "$hello"
refuses "network namespaces of threads" 1 "use the placement 'process'" \
	tessera run -n 2 --nodes 2 --node-network namespaces --placement thread "$hello"
finish
