#!/bin/sh
# What ci/demo builds, in a tree where nothing is built: all that the command
# starts. What it fetches on a minimal Debian, which has the packages of priority
# "required" and apt: at most 120 MB, lists of packages included.
. "$(dirname "$0")/../cli/tap"
MOST_MB=120
LISTS_MB=16 # apt-get update, on Debian 12
cd "$(dirname "$0")/../.." || exit 1

mkdir "$TAP_FILES/tree"
ci/list-files '*' | tar -cf - -T - | tar -xf - -C "$TAP_FILES/tree"
builds=$(sed -n 's/^scons -Q -j"$(nproc)" //p' ci/demo)
prints "ci/demo builds the command" '^  link +build/gcc-release/tessera$' \
	sh -c "cd '$TAP_FILES/tree' && scons -Q -n $builds"
started=$(grep -rhoE 'tool_path_beside\("[^"]+"' tools model | cut -d '"' -f 2 | sort -u)
[ -n "$started" ]
verdict $? "the command starts other programs"
for program in $started; do
	seen "ci/demo builds $program, which the command starts" \
		"^  link +build/gcc-release/$program\$" 1
done
seen "and the archive that tessera cc links" '^  archive build/gcc-release/libtessera\.a$' 1
if echo '#include <ucp/api/ucp.h>' | gcc -E -o /dev/null -x c - 2>/dev/null; then
	seen "and what tessera run --nodes loads" \
		'^  link +build/gcc-release/plugins/libtessera-net-ucx\.so$' 1
fi
rm -r "$TAP_FILES/tree"

command -v apt-get >/dev/null || { skip "what ci/demo fetches" "no apt"; finish; }

# sizes PACKAGE...: name and size in bytes of all that apt would fetch for them, on a machine that
# has nothing.
sizes() {
	apt-get -qq --no-install-recommends --print-uris -o Dir::State::status="$TAP_FILES/none" \
		-o Dir::Cache="$TAP_FILES" install "$@" | awk '{ print $2, $3 }' | sort
}

# fetched PACKAGE...: the MB that are more than those of a minimal Debian.
fetched() {
	sizes $minimal "$@" >"$TAP_FILES/all" || return
	comm -13 "$TAP_FILES/minimal" "$TAP_FILES/all" |
		awk '{ bytes += $2 } END { print int(bytes / 1e6) }'
}

: >"$TAP_FILES/none" >"$TAP_FILES/out" 2>"$TAP_FILES/err"
minimal="apt ca-certificates $(apt-cache dumpavail |
	awk -v RS= '/\nPriority: required/ || /\nEssential: yes/ { print $2 }' | sort -u)"
sizes $minimal >"$TAP_FILES/minimal" 2>"$TAP_FILES/err"
[ -s "$TAP_FILES/minimal" ] || {
	skip "what ci/demo fetches" "apt has no lists of packages here: apt-get update" && finish
}

demo=$(fetched $(ci/install-deps --build --list))
echo "# ci/demo fetches $demo MB of packages"
[ "$demo" -gt 0 ] && [ $((demo + LISTS_MB)) -le "$MOST_MB" ]
verdict $? "ci/demo fetches at most $MOST_MB MB" "$demo MB of packages, $LISTS_MB MB of lists"
grep -q '^ci/install-deps --build$' ci/demo
verdict $? "and it asks for no more"
refuses "an unknown option" 2 "unknown option '--demo'" ci/install-deps --demo
finish
