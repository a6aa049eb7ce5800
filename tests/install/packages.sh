#!/bin/sh
# The Debian packages of this build: made, installed into a folder of their own,
# where dpkg checks what they depend on, used in a chroot that has them and the
# system's compilers and nothing of the clone, and purged without a trace.
. "$(dirname "$0")/../cli/tap"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$BUILD/libtessera.so" ] || {
	skip "Debian packages" "this variant has no shared library" && finish
}
command -v dh >/dev/null || { skip "Debian packages" "no debhelper"; finish; }
build=$(cd "$BUILD" && pwd)
[ -e "$build/plugins/libtessera-net-ucx.so" ] || {
	skip "Debian packages" "this build has no plug-in that uses UCX (libucx-dev)" && finish
}
packages='libtessera0.1 libtessera-kernels0.1 libtessera-dev tessera-tools tessera-net-ucx' profile=
[ ! -e "$build/plugins/libtessera-cuda.so" ] || {
	packages="$packages tessera-backend-cuda" profile=pkg.tessera.cuda
}

mkdir "$TAP_FILES/source" && cd "$root" || exit 1
ci/list-files '*' | tar -cf - -T - | tar -xf - -C "$TAP_FILES/source"
cd "$TAP_FILES/source" || exit 1
version=$("$build/tessera" --version | sed 's/^tessera //')
[ "$(dpkg-parsechangelog -S Version)" = "$version" ]
verdict $? "debian/changelog has the library's version" "$(dpkg-parsechangelog -S Version)"

: >"$TAP_FILES/out" 2>"$TAP_FILES/err"
try env TESSERA_BUILD="$build" DEB_BUILD_OPTIONS=noautodbgsym DEB_BUILD_PROFILES="$profile" \
	DPKG_DEB_COMPRESSOR_TYPE=none \
	dpkg-buildpackage --no-sign --build=binary
verdict "$code" "dpkg-buildpackage makes them" "exit code $code"
cd "$TAP_FILES" && rm -r source
for package in $packages; do
	[ -s "${package}_${version}_$(dpkg --print-architecture).deb" ]
	verdict $? "$package" "$(ls)"
done
programs=$(dpkg-deb -c libtessera-dev_*.deb | grep '^-..x')
[ -z "$programs" ]
verdict $? "the package of headers holds no program, which would need libraries" "$programs"
! dpkg-deb -f libtessera0.1_*.deb Depends | grep -q 'libtessera'
verdict $? "the library depends on none of the others"

# A database of its own, with what the system has installed, so that dependencies are looked at.
base=$TAP_FILES/base
mkdir -p "$base/var/lib/dpkg/info" "$base/var/lib/dpkg/updates" "$base/usr"
cp /var/lib/dpkg/status /var/lib/dpkg/arch "$base/var/lib/dpkg/" 2>/dev/null
: >"$base/usr/kept"
find "$base/usr" | sort >before
on_base() {
	try env PATH="$PATH:/usr/sbin:/sbin" \
		fakeroot dpkg --root="$base" --force-script-chrootless --log=/dev/null "$@"
}
on_base --install ./*.deb
verdict "$code" "dpkg installs them" "exit code $code"
try sh -c "find '$base/usr' -type f | xargs grep -lF -e '$root' -e '$TAP_FILES'"
[ ! -s "$TAP_FILES/out" ]
verdict $? "no file names the clone"

# The chroot: the packages' /usr over the system's, and a project.
cp -r "$root/tests/install/project" "$TAP_FILES/project"
cp "$build/examples/hello" "$TAP_FILES/project"
cat >enter <<'END'
set -e
new=$1/new
mkdir -p "$new" && mount -t tmpfs none "$new"
for folder in usr proc dev sys etc tmp; do mkdir "$new/$folder"; done
mount -t overlay overlay -o "lowerdir=$1/base/usr:/usr" "$new/usr"
for folder in proc dev sys etc; do mount --rbind "/$folder" "$new/$folder"; done
for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$new/$folder"; done
mkdir -p "$new/opt" && cp -r "$1/project" "$new/opt/project"
shift
exec chroot "$new" env -i HOME=/opt PATH=/usr/bin:/bin LANG=C.UTF-8 TESSERA_BACKEND=cpuemu "$@"
END
inside() {
	try unshare --mount $as_root sh enter "$TAP_FILES" sh -ec "cd /opt/project; $1"
}
as_root=
[ "$(id -u)" -eq 0 ] || as_root=--map-root-user
inside true
if [ "$code" -eq 0 ]; then
	inside "test ! -e '$root' && test -e /usr/bin/tessera"
	verdict "$code" "there is a chroot without the clone"
	for how in 'make squares' 'cmake -B made && cmake --build made && mv made/squares .' \
		'meson setup made && meson compile -C made && mv made/squares .' \
		'tessera cc src/main.c src/kernels.c -o squares'; do
		program=${how%% *}
		command -v "$program" >/dev/null || [ "$program" = tessera ] || {
			skip "by $program in the chroot" "no $program" && continue
		}
		inside "{ $how; } >&2; tessera run -n 4 ./squares"
		seen "right results by $program in the chroot" '^rank [0-3]: 30$' 4
	done
	inside 'tessera cc src/*.c -o squares >&2; tessera run -n 4 --nodes 2 ./squares'
	seen "and over two nodes" '^rank [0-3]: 30$' 4
	inside 'tessera sim gemm-all-scatter --machine h200x8 --shape 512x512x512'
	seen "tessera sim" 'bulk-synchronous'
	product=/usr/share/doc/libtessera-dev/examples/product.c
	inside "tessera cc --dynamic $product -ltessera-kernels -o product >&2
		tessera run -n 2 ./product"
	seen "a product of the library" ' 0 wrong: ok$'
	inside 'tessera check -n 2 --seeds 5 "$(tessera cc src/*.c -o s >&2; echo ./s)"'
	verdict "$code" "tessera check explores there" "exit code $code"

	on_base --purge $(printf '%s\n' $packages | grep -vx tessera-tools)
	inside 'tessera sim gemm-all-scatter --machine h200x8 --shape 512x512x512'
	seen "tessera-tools alone has tessera sim" 'bulk-synchronous'
	inside 'tessera cc src/*.c -o again'
	grep -q '^tessera cc: .* install .* (libtessera-dev on Debian)' "$TAP_FILES/err"
	verdict $? "and tessera cc says which package it needs" "exit code $code"
	inside 'tessera run -n 4 --nodes 2 ./hello'
	grep -q 'package tessera-net-ucx' "$TAP_FILES/err"
	verdict $? "and so do worlds over nodes" "exit code $code"
else
	skip "a chroot" "$(tail -1 "$TAP_FILES/err")"
fi

on_base --purge $packages
verdict "$code" "dpkg purges them" "exit code $code"
find "$base/usr" | sort >after
try diff before after
verdict "$code" "and nothing is left"
finish
