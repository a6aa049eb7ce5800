#!/bin/sh
# Backends as plug-ins: an installed libtessera.so finds them beside itself,
# wherever that was moved, and says why one was not taken.
. "$(dirname "$0")/../cli/tap"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$BUILD/libtessera.so" ] || {
	skip "plug-ins" "this variant has no shared library" && finish
}
build=$(cd "$BUILD" && pwd)
made=$(ls "$build/plugins" 2>/dev/null | sed -n 's/^libtessera-\(.*\)\.so$/\1/p' | tr '\n' ' ')
prints "it is installed" '^installed [0-9]+ files' \
	"$root/install/install" --build "$build" --prefix /opt/tessera --destdir "$TAP_FILES/first"
[ "$(ls "$TAP_FILES/first/opt/tessera/lib/tessera/plugins" 2>/dev/null)" = \
	"$(for name in $made; do echo "libtessera-$name.so"; done)" ]
verdict $? "with the plug-ins of the build, in a folder of their own" "wanted: $made"
mv "$TAP_FILES/first/opt/tessera" "$TAP_FILES/moved"
there=$TAP_FILES/moved folder=$TAP_FILES/moved/lib/tessera/plugins
version=$("$there/bin/tessera" --version | sed 's/^tessera //')

cat >"$TAP_FILES/list.c" <<'END'
#include <stdio.h>
#include "tessera/tessera.h"
int main(void)
{
	tsr_backend_info_t info = {.size = sizeof info};
	for (int i = 0; tsr_backend_at(i, &info) == TSR_OK; i++)
		printf("%s: %d %s\n", info.name, info.devices, info.reason);
	return 0;
}
END
try gcc -std=c11 -I"$there/include" -I"$there/include/tessera/ports" "$TAP_FILES/list.c" \
	-o "$TAP_FILES/list" -L"$there/lib" -ltessera -Wl,-rpath,"$there/lib"
verdict "$code" "a program that asks for backends" "exit code $code"
# backends of the build: loaded, whatever this machine lacks
for name in $(printf '%s\n' $made | grep -v '^net-'); do
	try "$TAP_FILES/list"
	seen "the plug-in $name is loaded" \
		"^$name: ([1-9]|0 .*(driver|runtime|VISIBLE|GPU|platform))" 1
done

if [ -e "$folder/libtessera-net-ucx.so" ]; then
	prints "the installed command finds what carries messages between nodes" \
		'^  UCX [0-9]' "$there/bin/tessera" info network
fi

# plugin FLAG...: makes one in the place of cuda's.
plugin() {
	mkdir -p "$folder" && gcc -std=c11 -shared -fPIC -I"$root" -I"$root/include" \
		-I"$root/backends" -DPLUGIN_VERSION="\"$version\"" "$@" \
		"$root/tests/fakes/plugin.c" -o "$folder/libtessera-cuda.so"
}
# says NAME TEXT: what the program, and the command, say of cuda.
says() {
	prints "$1" "^cuda: $2" "$TAP_FILES/list"
	prints "and tessera info says so" "^  plug-in cuda +(no device: )?${2#0 }" \
		"$there/bin/tessera" info plugins
	seen "of each" '^  plug-in ' 2
}

rm -rf "$folder"
says "there is none" "0 the backend 'cuda' is a plug-in, and there is no $folder/libtessera-cuda.so"
prints "the emulator is taken" '^cpuemu: 1 $' "$TAP_FILES/list"
plugin && says "one that has devices" '7 *'
plugin -DWRONG_ABI && says "one of another contract" \
	"0 the plug-in $folder/libtessera-cuda.so is of another version \(unknown, contract 1\)"
plugin -DWRONG_VERSION && says "one of another version" \
	"0 the plug-in $folder/libtessera-cuda.so is of another version \(0.0.9, contract"
plugin -DWRONG_NAME && says "another's" \
	"0 the plug-in $folder/libtessera-cuda.so holds the backend 'hip'"
plugin -Dtsr_backend_plugin=something_else && says "a library that is none" \
	"0 $folder/libtessera-cuda.so is no plug-in of Tessera"
echo 'no library' >"$folder/libtessera-cuda.so"
says "a file that is none" \
	"0 the plug-in of the backend 'cuda' cannot be loaded: .*(invalid ELF|too short)"

# a world on a backend that is not there ends with its sentence
cat >"$TAP_FILES/world.c" <<'END'
#include "tessera/tessera.h"
TSR_MAIN(world, argc, argv)
{
	(void)argc, (void)argv;
	return tsr_barrier(world) == TSR_OK ? 0 : 1;
}
END
try gcc -std=c11 -I"$there/include" -I"$there/include/tessera/ports" "$TAP_FILES/world.c" \
	-o "$TAP_FILES/world" -L"$there/lib" -ltessera -Wl,-rpath,"$there/lib"
rm -rf "$folder"
refuses "a world on a plug-in that is missing" 1 "there is no $folder/libtessera-cuda.so" \
	env TESSERA_BACKEND=cuda "$TAP_FILES/world"
prints "and without one it runs on the emulator" '' "$TAP_FILES/world"
finish
