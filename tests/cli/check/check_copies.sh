#!/bin/sh
# tessera check on copies that the host puts on streams: right programs raise
# nothing, and wrong ones what they should, by name.
. "$(dirname "$0")/../tap"

needs_forks schedules

copied="$BUILD/tests/planted/races/copied"
contract="$BUILD/tests/contract/streams"
report="$TAP_FILES/report.json"
seeds=1000
case $BUILD in
*-asan) seeds=100 ;; # a process for each schedule takes ten times as long there
esac

for memory in view cache; do
	for kind in none events held; do
		prints "$kind, $memory" '^no finding$' tessera check \
			-n 2 --seeds $seeds --weak $memory --no-slowdown "$copied" $kind
	done
	prints "with room for one block, $memory" '^no finding$' \
		tessera check -n 2 \
		--seeds $seeds --weak $memory --resident-blocks 1 --no-slowdown "$copied" held
	for test in test_stream_put/every_shape_to_every_rank \
		test_stream_put_order/between_kernels_of_its_stream \
		test_stream_put_order/between_events_of_other_streams \
		test_stream_put_order/many_on_several_streams; do
		prints "the contract: ${test#*/}, $memory" '^no finding$' \
			tessera check -n 3 --seeds 5 --weak $memory "$contract/${test%/*}.checked" \
			--filter "stream_put/${test#*/}"
	done
	prints "the contract: a device that is full, $memory" '^no finding$' \
		tessera check -n 3 \
		--seeds 100 --weak $memory "$contract/test_stream_put_order.checked" \
		--filter stream_put/while_waiting_blocks_fill_the_device
done
for kind in none events; do
	prints "all schedules of $kind" '; these are all there are$' \
		tessera check -n 2 --strategy exhaustive --no-slowdown "$copied" $kind
	seen "are right" '^no finding$'
done

# found KIND CLASSES CALL TEXT CHANGE: in both memories every finding has a copy as one of its
# accesses; of each of these classes one has the call at a line that holds the text as the other,
# and of one the advice matches.
found() {
	kind=$1 classes=$2 call=$3 text=$4 change=$5
	for memory in view cache; do
		try tessera check -n 2 --seeds 100 --weak $memory --json "$report" "$copied" "$kind"
		[ "$code" -eq 1 ] &&
			python3 - "$report" "$classes" "$call" "$text" "$change" <<'CHECK'
import json
import re
import sys
report, classes, call, text, change = sys.argv[1:]
lines = open("tests/planted/races/copied.c", encoding="utf-8").read().splitlines()
found = [
    each
    for each in json.load(open(report, encoding="utf-8"))["findings"]
    if each["class"] != "program-failure"
]
def is_it(each):
    line = {access["call"]: access for access in each["access"][:2]}.get(call, {}).get("line")
    return text in lines[line - 1] if line else not text
told = [each for each in found if is_it(each)]
right = all(
    "tsr_stream_put_2d" in [access["call"] for access in each["access"][:2]] for each in found
)
right &= set(classes.split(",")) <= {each["class"] for each in told} and any(
    re.search(change, each["change"]) for each in told
)
sys.exit(not right)
CHECK
		verdict $? "$kind, $memory" "exit code $code; not $classes of the copy and $call"
	done
}

at=' at tests/planted/races/copied.c:[0-9]+'
events="tsr_event_record behind .* and let the stream of .* tsr_stream_wait_event"
found overwrite data-race,reuse tsr_put_2d 'a->sent, a->fresh' "$events"
# launched first and made last: the read came too early, and no buffer was used again
found early data-race tsr_put_2d 'a->sent, a->fresh' "$events"
found signal data-race tsr_put_2d 'a->got, a->inbox' "$events"
found retired data-race,reuse \
	tsr_put_2d 'a->got, a->inbox' "gives before tsr_stream_put_2d$at: tsr_wait"
found host data-race \
	tsr_memcpy_from_heap 'tsr_memcpy_from_heap(world' 'call tsr_stream_sync on the stream'
found word data-race tsr_wait 'a->flags->go, 1, TSR_ANY_RANK' \
	"raise what tsr_wait$at waits for by tsr_signal"
found slack out-of-bounds tsr_stream_put_2d \
	'tsr_stream_put_2d(' "give tsr_stream_put_2d$at a view of the allocation's own rows"

# A wait for a word that a copy brings is a race, and neither a deadlock nor a lack of room.
for memory in view cache off; do
	try tessera check -n 2 \
		--seeds 200 --weak $memory --resident-blocks 1 --json "$report" "$copied" word
	python3 - "$report" <<'CHECK'
import json
import sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(
    [(each["class"], each["schedules"]) for each in report["findings"]] != [("data-race", 200)]
)
CHECK
	verdict $? "a word that is waited for, with room for one block, $memory" "exit code $code"
done
finish
