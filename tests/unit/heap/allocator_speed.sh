#!/bin/sh
# A call of the allocator costs at most twice as much among 100,000 live blocks
# as among 1,000. Counted in instructions, which are the same on every machine,
# whatever else it does.
. "$(dirname "$0")/../../cli/tap"
name="a call among 100,000 live blocks takes at most twice the instructions of one among 1,000"

# What a change among $1 live blocks takes.
instructions() {
	try valgrind --tool=callgrind \
		--callgrind-out-file=/dev/null --collect-atstart=no --toggle-collect=change \
		"$BUILD/tests/speed/allocator" "$1"
	[ "$code" -eq 0 ] && sed -n 's/.*Collected : //p' "$TAP_FILES/err"
}

case ${BUILD-} in
*asan* | *tsan*) skip "$name" "valgrind does not run under sanitizers" ;;
*)
	if command -v valgrind >/dev/null; then
		few=$(instructions 1000) many=$(instructions 100000)
		[ "${few:-0}" -gt 1000000 ] &&
			[ "${many:-0}" -gt 1000000 ] && [ "$many" -le $((2 * few)) ]
		verdict $? "$name" "$few, and $many"
		echo "# $few, and $many: $((100 * ${many:-0} / ${few:-1})) %"
	else
		skip "$name" "no valgrind (ci/install-deps installs it)"
	fi
	;;
esac
finish
