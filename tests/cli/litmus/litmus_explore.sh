#!/bin/sh
# The exploring executor as a witness of litmus tests, and what it says of load
# buffering, which it does not show.
. "$(dirname "$0")/../tap"
oracle=model/memory/oracle
suite=tests/litmus
tests=$(ls $suite/*.litmus | wc -l)
test="$TAP_FILES/test.litmus"
operations=$BUILD/tests/litmus/test_operations.checked
blocks=$BUILD/tests/litmus/test_blocks.checked
marked=$BUILD/tests/contract/signals/test_marked.checked
collective=$BUILD/tests/contract/collectives/test_collective.checked
views=$BUILD/tests/contract/collectives/test_views.checked
streams=$BUILD/tests/contract/collectives/test_stream_collectives.checked
one_shot=$BUILD/tests/contract/collectives/test_one_shot.checked
reduced=$BUILD/tests/contract/collectives/test_reduced_gather.checked
buffering=$BUILD/tests/planted/order/load_buffering

needs_forks "the exploring executor"
case $BUILD in
*-asan)
	try tessera litmus $suite/MP.*.litmus --on explore # it warns of swapcontext, each time
	[ "$code" -eq 0 ] && grep -q '^agree \([1-9][0-9]*\) of \1$' "$TAP_FILES/out"
	verdict $? "message passing" "exit code $code"
	skip "all other tests" \
		"a process for each schedule takes six minutes under AddressSanitizer, where half a minute does else"
	finish
	;;
esac

# With every test goes: the states and races of the view machine, none that the axioms forbid, a
# warning where load buffering shows.
prints "the suite" "^agree $tests of $tests\$" tessera litmus $suite --on explore --verbose
seen "all load buffering is warned of" \
	'^load buffering: warned of in ([1-9][0-9]*) of \1 race-free tests that may show it' 1
seen "and of the others only where a dependency, which is not seen, holds a store back" \
	'and in 4 of [1-9][0-9]* that may not$' 1
seen "of which there are no others" '^Warning load-buffering$' 10
for name in LB.data.diffGPU-ss LB.marked.diffGPU-ss LB.marked.WG+SYS-wss \
	LB.marked.unmet.WG+SYS-wss; do
	sed -n "/^Test $name /,/^Observation /p" "$TAP_FILES/out" |
		grep -qx 'Warning load-buffering'
	verdict $? "which is that of $name"
done
seen "the number of schedules" \
	'^[1-9][0-9]+ schedules in all, of which [1-9][0-9]* were left as equal to another$' 1
seen "and that of each test" '^Schedules [1-9][0-9]* \([0-9]+ of them left as equal to another\)$' \
	"$tests"
prints "the hand-shaped oracle" '^agree 477 of 477$' tessera litmus $oracle/core --on explore
seen "its load buffering" \
	'^load buffering: warned of in 6 of 6 race-free tests that may show it, and in 0 of ' 1
head -n 400 $oracle/litmus.jsonl >"$TAP_FILES/oracle.jsonl"
prints "a fifth of the generated oracle" '^agree 400 of 400$' \
	tessera litmus "$TAP_FILES/oracle.jsonl" --on explore
seen "its load buffering" \
	'^load buffering: warned of in ([1-9]) of \1 race-free tests that may show it, and in 0 of ' 1
prints "interleavings show a part of it" "^agree $tests of $tests\$" \
	tessera litmus $suite --on explore --weak off
prints "which is less" '^Observation SB.rlx.diffGPU-ss Never 0 3$' \
	tessera litmus $suite/SB.rlx.diffGPU-ss.litmus --on explore --weak off --verbose

# A witness that can be wrong.
sed '/^Expect/s/=.*/=Never/' $suite/SB.rlx.diffGPU-ss.litmus >"$test"
try tessera litmus "$test" --on explore
[ "$code" -eq 1 ] && grep -qx 'differs SB.rlx.diffGPU-ss: expected Never, but it is Sometimes' \
	"$TAP_FILES/out"
verdict $? "an outcome that is declared forbidden is told on" "exit code $code"
sed '/^Expect/s/=.*/=Never/' $suite/MP.rlx.acq.diffGPU-ss.litmus >"$test"
try tessera litmus "$test" --on explore
[ "$code" -eq 1 ] && grep -qx 'differs MP.rlx.acq.diffGPU-ss: expected Never, but it is racy' \
	"$TAP_FILES/out"
verdict $? "and so is a race" "exit code $code"
refuses "more schedules than asked for" 1 \
	'has more than 2 schedules: allow more of them by --runs' \
	tessera litmus $suite/SB.rlx.diffGPU-ss.litmus --on explore --runs 2
sed 's/,system/,wave/' $suite/CoRR.rlx.diffGPU-ss.litmus >"$test"
try tessera litmus "$test" $suite/SB.sc.diffGPU-ss.litmus --on explore
[ "$code" -eq 1 ] && grep -qE \
	'^not judged by explore: CoRR.rlx.diffGPU-ss: line [0-9]+: the device API has no scope narrower' \
	"$TAP_FILES/out" &&
	grep -qx 'not judged 1' "$TAP_FILES/out" && grep -qx 'agree 1 of 2' "$TAP_FILES/out"
verdict $? "what the device API has not is not judged, and that is no success" "exit code $code"
refuses "interleavings of another witness" 2 'for the exploring executor: --on explore' \
	tessera litmus $suite --on cpuemu --weak off
refuses "a memory that no test judges" 2 'no test says how much of it' \
	tessera litmus $suite --on explore --weak cache
refuses "a memory that there is not" 2 "did you mean 'view'" \
	tessera litmus $suite --on explore --weak wiew

# Operations of the device API: what their kernels count as wrong never happens, and nothing is
# found.
for operation in data_comes_before_its_signal one_signal_covers_what_many_stored \
	epochs_need_no_reset; do
	prints "$operation, by chance" '^no finding$' \
		tessera check -n 3 --seeds 6 "$operations" --filter "operations/$operation"
	prints "$operation, the first schedules of all" '^no finding$' \
		tessera check -n 2 \
		--strategy exhaustive --seeds 12 "$operations" --filter "operations/$operation"
done

# Whole blocks, whose threads put and fetch together; and workers, which a fence of the block
# covers.
for of_blocks in fences_order_what_all_threads_have_put a_fence_of_the_block_covers_its_workers \
	a_block_that_meets_hands_on_what_its_threads_have_got; do
	prints "$of_blocks, by chance" '^no finding$' \
		tessera check -n 2 --seeds 4 "$blocks" --filter "blocks/$of_blocks"
done

try tessera check -n 2 --seeds 1 "$blocks" --filter blocks/one_that_does_not_meet_is_seen_on_a_gpu
[ "$code" -eq 1 ] && [ "$(grep -c '^finding: coop-race' "$TAP_FILES/out")" -eq 2 ] &&
	! grep -q '^finding: [^c]' "$TAP_FILES/out"
verdict $? "a block that does not meet is a coop-race" "exit code $code"

# Their all-gather, too: no race, no reuse, and no warning of what its counts do among themselves.
# The second one's own loads and stores, which nothing orders, are warned of.
prints "all_gather_brings_every_piece, by chance" '^no finding$' \
	tessera check -n 3 --seeds 6 "$collective" --filter collective/all_gather_brings_every_piece
prints "all_gather_is_a_barrier_of_all_blocks, by chance" '^no finding' \
	tessera check -n 3 \
	--seeds 6 "$collective" --filter collective/all_gather_is_a_barrier_of_all_blocks

# And those on views, in both memories.
for memory in "" "--weak cache"; do
	prints "collectives on views, by chance $memory" '^no finding$' \
		tessera check -n 3 --seeds 6 $memory "$views"
done

prints "and those of tensors on streams, by chance" '^no finding$' \
	tessera check -n 3 --seeds 6 "$streams" \
	--filter stream_collectives/bring_what_the_ranks_gave
for collective in all_reduce reduce_scatter all_gather all_to_all; do
	for memory in "" "--weak cache"; do
		prints "$collective in one step is a barrier, by chance $memory" '^no finding$' \
			tessera check -n 3 --seeds 20 $memory "$one_shot" \
			--filter "one_shot/${collective}_is_a_barrier"
	done
done

prints "what sibling blocks have written is gathered in place, by chance" '^no finding$' \
	tessera check -n 3 --seeds 6 "$reduced"

# Words that carry their own flag: no race, and no warning, as a put hangs on what its rank has
# taken.
for messages in messages_of_all_ranks_to_all messages_in_shared_memory; do
	prints "$messages, by chance" '^no finding$' \
		tessera check -n 3 --seeds 6 "$marked" --filter "marked/$messages"
	seen "$messages: no warning" 'load-buffering: ' 0
done

# warned NAME COUNT VARIANT: load buffering is warned of so often, and nothing else is wrong.
warned() {
	prints "$1" '^no finding' tessera check -n 2 --strategy exhaustive "$buffering" "$3"
	seen "$1: warnings" '^warning: load-buffering: ' "$2"
}
warned "loads and stores that nothing keeps in order" 1 relaxed
seen "names both pairs" \
	'^  (load|then store) +tsr_atomic_(load|store) at tests/planted/order/load_buffering.c:[0-9]+: (read|write), relaxed at system' 4
seen "and what would keep them" \
	'^               tests/planted/order/load_buffering.c:[0-9]+ an acquire at system scope$' 1
replay=$(sed -n 's/^  replay *tessera //p' "$TAP_FILES/out")
prints "the warning is replayed" '^warning: load-buffering: ' tessera $replay
warned "an order on one side does not help" 1 one-side
warned "nor do releases that nobody acquires" 1 releases
warned "one edge is enough" 0 edge
warned "and so are fences on both sides" 0 fences
warned "a barrier between load and store" 0 barrier
warned "counters that are only added to" 0 updates
warned "a counter whose value is looked at" 1 adds
warned "and one whose value is not" 1 signals

# Why: what an ADD has read decides whose release its sum carries. Where P0 has seen P1 come, its
# own count comes behind P1's in program order and carries P1's data to P2; by the axioms it need
# not.
cat >"$test" <<'LITMUS'
LISA LB.count
"a count that is taken to carry what came before it"
Expect=racy
Expect_views=Never
{ }
 P0                               | P1                               | P2                  ;
 r[rlx,system] r0 y               | w[na,wi] d 1                     | r[acq,system] r1 x  ;
 w[na,wi] e r0                    | rmw[rel,system] r9 (add r9 10) x | mov r90 (eq r1 0)   ;
 rmw[rel,system] r9 (add r9 1) x  | rmw[rlx,system] r9 (add r9 1) y  | mov r91 (eq r1 10)  ;
                                  |                                  | b[] r90 E1          ;
                                  |                                  | b[] r91 E1          ;
                                  |                                  | r[na,wi] r2 e       ;
                                  |                                  | mov r92 (eq r2 0)   ;
                                  |                                  | b[] r92 E1          ;
                                  |                                  | r[na,wi] r3 d       ;
                                  |                                  | E1:                 ;
scopes: (system (agent (wg (wave (wi 0)))) (agent (wg (wave (wi 1)))) (agent (wg (wave (wi 2)))))
exists (2:r2=1 /\ 2:r3=0)
LITMUS
prints "an ADD whose value nobody sees can race by load buffering" '^Flag datarace$' \
	tessera litmus "$test" --on axioms --verbose
prints "and in program order it does not" '^agree 1 of 1$' tessera litmus "$test" --on views
prints "so that there is a warning" '^Warning load-buffering$' \
	tessera litmus "$test" --on explore --verbose
for program in pair lock one_shot_all_reduce ring_all_gather counter relay row_counts split_put; do
	try tessera check -n 3 --seeds 10 "$BUILD/tests/mutants/$program"
	seen "$program: no warning" '^warning: ' 0
done
for pattern in bulk-synchronous producer-consumer \
	fused-sequential fused-workgroup-specialized fused-wave-specialized banded; do
	try tessera check -n 3 --seeds 5 "$BUILD/tests/mutants/workload" gemm-all-scatter \
		--dtype f32 --tile 16x16x16 --pattern $pattern --shape 33x50x20 --blocks 4 \
		--comm-blocks 2 --bands 3
	seen "$pattern: no warning" '^warning: ' 0
done
for pattern in producer-consumer fused-sequential fused-workgroup-specialized; do
	try tessera check -n 3 --seeds 5 "$BUILD/tests/mutants/workload" gemm-all-scatter \
		--dtype f32 --tile 16x16x16 --pattern $pattern --shape 33x50x36 --blocks 4 \
		--comm-blocks 2 --parts 2
	seen "$pattern in halves: nothing at all" 'no finding' 1
done
finish
