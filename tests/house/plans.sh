#!/bin/sh
# ci/test and ci/nightly say what they are, and refuse what they do not know, before they install
# or build anything: both are tried beside an installer that leaves a mark.
. "$(dirname "$0")/../cli/tap"
from=$(dirname "$0")/../../ci
ci=$TAP_FILES/clone/ci
mkdir -p "$ci" && cp -r "$from/plans" "$from/test" "$from/nightly" "$ci" || exit 1
printf '#!/bin/sh\necho installing >>"%s"\nexit 1\n' "$TAP_FILES/mark" >"$ci/install-deps"
chmod +x "$ci/install-deps"

for script in test nightly; do
	prints "ci/$script --help" "^usage: ci/$script \[--help\]$" "$ci/$script" --help
	seen "with its comment" '^(From a fresh clone|All tests, which take hours)' 1
	refuses "ci/$script: an unknown option" 2 \
		"^ci/$script: unknown argument '--hlep'; it takes --help alone$" \
		"$ci/$script" --hlep
	refuses "ci/$script: a word" 2 "'all'; it takes --help alone$" "$ci/$script" all
done
[ ! -e "$TAP_FILES/mark" ]
verdict $? "nothing was installed for that"
try "$ci/test"
[ "$code" -eq 1 ] && [ -e "$TAP_FILES/mark" ]
verdict $? "without arguments it begins" "exit code $code; wanted 1 and the installer to run"
finish
