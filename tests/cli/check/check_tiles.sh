#!/bin/sh
# tessera check on what coops do with shared memory and with tiles: the contract
# tests raise nothing, and a wrong program what it should.
. "$(dirname "$0")/../tap"

needs_forks schedules

summed="$BUILD/tests/planted/races/summed"
merged="$BUILD/tests/planted/races/merged"
placed="$BUILD/tests/planted/races/placed"
saved="$BUILD/tests/planted/races/saved"
pointer="$BUILD/tests/contract/memory/test_pointer.checked"
coop="$BUILD/tests/contract/blocks/test_coop.checked"
each="$BUILD/tests/contract/blocks/test_each.checked"
place="$BUILD/tests/contract/blocks/test_place.checked"
scattered="$BUILD/tests/contract/memory/test_scattered.checked"
state="$BUILD/tests/contract/attend/test_state.checked"
summed_rows="$BUILD/tests/contract/tiles/test_sum_rows.checked"
rows="$BUILD/tests/contract/tiles/test_rows.checked"
adds="$BUILD/tests/contract/tiles/test_adds.checked"
sent="$BUILD/tests/contract/collectives/test_sent.checked"
reduced="$BUILD/tests/contract/collectives/test_reduced.checked"

# finds CLASS CALL WHAT: the last command's report has such a finding, with the call as one of its
# accesses.
finds() {
	[ "$code" -eq 1 ] && grep -q "^finding: $1" "$TAP_FILES/out" &&
		grep -q "$2 at tests/planted/" "$TAP_FILES/out"
	verdict $? "$3" "exit code $code"
}

for memory in view cache; do
	prints "sums that a block meets for, $memory" '^no finding$' \
		tessera check -n 1 --seeds 50 --weak $memory --no-slowdown "$summed" right
	try tessera check -n 1 --seeds 50 --weak $memory --no-slowdown "$summed" beside
	finds data-race 'races with *tsr_coop_scan' \
		"sums of what another worker lays down meanwhile are a race, $memory"
	prints "rows that come from a rank and are waited for, $memory" '^no finding$' \
		tessera check -n 3 --seeds 50 --weak $memory --no-slowdown "$merged" right
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$merged" unmet
	finds coop-race 'tsr_rows_load' \
		"rows that other threads store are loaded without a meeting, $memory"
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$merged" unsignalled
	finds data-race 'tsr_rows_store' "rows of a rank that nobody waits for, $memory"
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$merged" value
	finds coop-race 'tsr_put_value' "a value that one thread puts and another moves, $memory"
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$merged" record
	finds coop-race 'tsr_get_record' "a record that one thread puts and all read, $memory"
	prints "words that are placed, waited for and summed, $memory" '^no finding$' \
		tessera check -n 3 --seeds 50 --weak $memory --no-slowdown "$placed" right
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$placed" unmet
	finds coop-race 'races with *TSR_EACH' \
		"words that a loop lays down go on without a meeting, $memory"
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$placed" same
	finds data-race 'races with *tsr_put_scattered' "two ranks scatter to one word, $memory"
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$placed" early
	finds data-race 'races with *tsr_put_scattered' \
		"scattered words are read before they are waited for, $memory"
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$placed" late
	finds data-race 'access *tsr_sum_rows' "rows are summed that nobody waited for, $memory"
	try tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$placed" unsummed
	finds data-race 'races with *tsr_sum_rows' "a sum is read that nobody waited for, $memory"
	prints "states that are saved and loaded in any order without a meeting, $memory" \
		'^no finding$' \
		tessera check -n 2 --seeds 50 --weak $memory --no-slowdown "$saved" right
	while read -r kind class access other what; do
		try tessera check -n 1 --seeds 20 --weak $memory --no-slowdown "$saved" "$kind"
		[ "$code" -eq 1 ] && grep -q "^finding: $class" "$TAP_FILES/out" &&
			grep -q "access *$access at tests/planted/" "$TAP_FILES/out" &&
			grep -q "races with *$other at tests/planted/" "$TAP_FILES/out"
		verdict $? "$what, $memory" "exit code $code"
	done <<-END
		put coop-race tsr_put tsr_state_save a saved state goes on without a meeting
		shape coop-race tsr_state_load tsr_state_save it is loaded in another shape
		viewed coop-race tsr_state_save tsr_tile_load it is saved where a tile was loaded
		kept coop-race tsr_frag_add tsr_frag_save a fragment that was saved is added
		operand coop-race tsr_store tsr_load a sum is stored where an operand was
		beside data-race tsr_state_.* tsr_state_.* another block saves it meanwhile
	END
	for contract in "$each" "$place" "$scattered" "$state" "$summed_rows"; do
		prints "the contract: $(basename "$contract"), $memory" '^no finding$' \
			tessera check -n 2 --seeds 3 --weak $memory --no-slowdown "$contract"
	done
	for test in values_go_by_themselves records_go_whole; do
		prints "the contract: $test, $memory" '^no finding$' \
			tessera check -n 3 \
			--seeds 10 --weak $memory --no-slowdown "$pointer" --filter "pointer/$test"
	done
	for test in blocks_are_dealt_to_roles shared_values_are_summed_up; do
		prints "the contract: $test, $memory" '^no finding$' \
			tessera check -n 2 \
			--seeds 3 --weak $memory --no-slowdown "$coop" --filter "coop/$test"
	done
	for test in arithmetic_conversion_and_edges infinities_survive two_fragments_become_one; do
		prints "the contract: $test, $memory" '^no finding$' \
			tessera check -n 2 \
			--seeds 2 --weak $memory --no-slowdown "$rows" --filter "rows/$test"
	done
	for test in every_rank_adds_to_every_rank addend_and_sum_are_rounded_to_the_view \
		sums_are_read_behind_signals; do
		prints "the contract: $test, $memory" '^no finding$' \
			tessera check -n 3 \
			--seeds 3 --weak $memory --no-slowdown "$adds" --filter "adds/$test"
	done
	for test in one_tile_of_all_ranks_becomes_one parts_are_reduced_by_their_ranks; do
		prints "the contract: $test, $memory" '^no finding$' \
			tessera check -n 3 \
			--seeds 3 --weak $memory --no-slowdown "$reduced" --filter "reduced/$test"
	done
	prints "the contract: sums_have_the_same_bits_in_every_run, $memory" '^no finding$' \
		tessera check -n 3 --seeds 3 --weak $memory --no-slowdown "$sent"
done
finish
