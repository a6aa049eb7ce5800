#!/bin/sh
# tessera run: worlds of several sizes in both placements, exit codes, and what it refuses.
. "$(dirname "$0")/../tap"
hello=$BUILD/examples/hello

for placement in process thread; do
	for ranks in 1 2 3 5 8; do
		prints "$ranks ranks as $placement" "^rank 0 of $ranks received" \
			tessera run -n $ranks --placement $placement "$hello"
		seen "$ranks ranks as $placement: each once" "^rank [0-9] of $ranks received" $ranks
	done
done
for ranks in 1 2 3 5 8; do
	prints "1 MiB of a kernel's locals on $ranks ranks" '' \
		tessera run -n $ranks --placement thread "$BUILD/tests/planted/memory/locals"
done
# A block's shared memory has guards on both sides.
overrun=$BUILD/tests/planted/memory/overrun
for placement in process thread; do
	for kind in next:100 far:1099 before:-1 second:100; do
		refuses "a write beside shared memory as $placement: ${kind%:*}" 1 \
			"block 3, worker [01] of rank 0: .* has written byte ${kind#*:} of" \
			tessera run -n 1 --placement $placement "$overrun" "${kind%:*}"
	done
	prints "and none within it as $placement" '' \
		tessera run -n 2 --placement $placement "$overrun" right
done
# A fragment belongs to the coop that has declared it.
borrowed=$BUILD/tests/planted/memory/borrowed
for kind in load:tsr_load store:tsr_store map:tsr_frag_map zero:tsr_frag_zero; do
	refuses "a worker uses its block's fragment: ${kind%:*}" 1 \
		"worker [01] of rank 0: ${kind#*:} of a fragment of 16 x 16 .* another coop" \
		tessera run -n 1 "$borrowed" "${kind%:*}"
done
prints "and each its own" '' tessera run -n 2 "$borrowed" right
prints "arguments reach the program as they are" '^-n x y$' \
	tessera run -n 1 printf '%s %s\n' -n 'x y'
prints "a word of its own ends the options" '^--help$' tessera run -n 1 -- printf '%s\n' --help
try tessera run -n 2 sh -c 'exit 7'
[ "$code" -eq 7 ]
verdict $? "the exit code of a rank that fails" "exit code $code, wanted 7"

refuses "no number of ranks" 2 'how many ranks' tessera run "$hello"
refuses "no rank" 2 '0' tessera run -n 0 "$hello"
refuses "too many ranks" 2 '257' tessera run -n 257 "$hello"
refuses "ranks that are no number" 2 'eight' tessera run -n eight "$hello"
refuses "no program" 2 'which program' tessera run -n 2
refuses "a program that is not there" 2 'no-such-program' tessera run -n 2 ./no-such-program
refuses "a program that is not on PATH" 2 'no-such-program' tessera run -n 2 no-such-program
refuses "a misspelt option" 2 "did you mean '--placement'" \
	tessera run --placment thread -n 2 "$hello"
refuses "an option with a line break" 2 "unknown option '--ran[?]ks'; did you mean '--ranks'" \
	tessera run "$(printf -- '--ran\nks')" 2 "$hello"
refuses "a number with a line break" 2 "'2[?]3'" tessera run -n "$(printf '2\n3')" "$hello"
refuses "an option without its value" 2 'needs a value' tessera run -n
refuses "an unknown placement" 2 "'fibre'" tessera run -n 2 --placement fibre "$hello"
refuses "a misspelt backend" 2 "did you mean 'cpuemu'" tessera run -n 2 --backend cpuem "$hello"
refuses "a world in each rank of a job" 1 'rank 1 of 3 .*a world of its own' \
	env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 PMIX_NAMESPACE=job \
	tessera run -n 2 "$hello"
finish
