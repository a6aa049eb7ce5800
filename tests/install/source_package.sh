#!/bin/sh
# The Debian source package, as a distribution builds it: from its own tarball,
# in a folder of its own, with what Debian's policy asks for. Minutes: the whole
# library is compiled.
. "$(dirname "$0")/../cli/tap"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v dh >/dev/null || { skip "the Debian source package" "no debhelper"; finish; }

mkdir "$TAP_FILES/tree" && cd "$root" || exit 1
ci/list-files '*' | tar -cf - -T - | tar -xf - -C "$TAP_FILES/tree"
cd "$TAP_FILES" || exit 1
mkdir tree/build && : >tree/build/left
try dpkg-source --build tree
verdict "$code" "dpkg-source packs the tree" "exit code $code"
try dpkg-source --extract ./*.dsc unpacked
verdict "$code" "and unpacks it" "exit code $code"
[ ! -e unpacked/build ] && [ -e unpacked/SConstruct ]
verdict $? "without what was built" "$(ls unpacked)"
cd unpacked || exit 1
try env DEB_BUILD_OPTIONS="parallel=$(nproc)" dpkg-buildpackage --no-sign
verdict "$code" "dpkg-buildpackage builds it" "exit code $code"
cd ..
[ "$(ls ./*_amd64.deb ./*_arm64.deb 2>/dev/null | grep -vc dbgsym)" -eq 5 ]
verdict $? "into five packages" "$(ls)"
if command -v lintian >/dev/null; then
	try lintian --allow-root --fail-on error,warning ./*.changes
	verdict "$code" "lintian has no error and no warning" "exit code $code"
else
	skip "lintian" "no lintian"
fi
finish
