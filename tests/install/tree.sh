#!/bin/sh
# What an installation is made of: no path of the clone, only what is public is
# shown, pages and completions that work; and that it is taken away whole.
. "$(dirname "$0")/../cli/tap"
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$BUILD/libtessera.so" ] || {
	skip "an installation" "this variant has no shared library" && finish
}
build=$(cd "$BUILD" && pwd)
there=$TAP_FILES/to/usr
installs="$root/install/install --build $build --prefix /usr --destdir $TAP_FILES/to"

prints "it is installed" '^installed [0-9]{3} files' $installs
[ "$code" -eq 0 ] || finish
try grep -rlF -e "$root" -e "$TAP_FILES" "$there"
[ "$code" -eq 1 ] && [ ! -s "$TAP_FILES/out" ] && [ ! -s "$TAP_FILES/err" ]
verdict $? "no file names the clone or the place" "exit code $code"
try find "$there" -xtype l
seen "no link leads nowhere" . 0
try find "$there" -type l -lname '/*'
seen "no link is absolute" . 0

version=$("$there/bin/tessera" --version | sed 's/^tessera //')
try nm -D --defined-only "$there/lib/libtessera.so"
shown=$(awk '$3 !~ /^tsr_/' "$TAP_FILES/out")
[ "$code" -eq 0 ] && [ -z "$shown" ] && grep -q ' T tsr_launch' "$TAP_FILES/out"
verdict $? "the library shows calls of the API alone" "$shown"
try readelf -d "$there/lib/libtessera.so.$version"
seen "it has a soname" "SONAME.*\[libtessera\.so\.${version%.*}\]" 1
[ "$(readlink "$there/lib/libtessera.so.${version%.*}")" = "libtessera.so.$version" ]
verdict $? "which is there" "$(ls "$there/lib")"
seen "and asks for no folder" 'R(UN)?PATH' 0
try env PKG_CONFIG_PATH="$there/lib/pkgconfig" pkg-config --modversion tessera
seen "pkg-config knows the version" "^$version\$" 1

# Headers need no others than those that are installed; but for mpi.h, which needs MPI's.
for header in $(cd "$there/include" && ls tessera/*.h); do
	case $header in */args.h | */mpi.h) ;; *) printf '#include "%s"\n' "$header" ;; esac
done >"$TAP_FILES/all.c"
for language in c c++; do
	try gcc -x $language -fsyntax-only -I"$there/include" -I"$there/include/tessera/ports" \
		"$TAP_FILES/all.c"
	verdict "$code" "the headers are complete for $language" "exit code $code"
done

# Headers and the manual name files by their paths in the sources.
roots='backends|bench|ci|debian|docs|examples|include|install|kernels|man|model|net|python'
roots="$roots|site_scons|src|tests|tools"
try grep -rhoE "(^|[^A-Za-z0-9_./-])($roots)/[A-Za-z0-9_./-]*" "$there/include" "$there/share/man"
seen "headers and the manual name files" 'docs/order-in-a-block\.md'
missing=$(sed -E 's/^[^a-z]*//; s/\.$//' "$TAP_FILES/out" | sort -u | while read -r path; do
	[ -e "$there/share/doc/tessera/$path" ] || [ -e "$there/lib/tessera/$path" ] || echo "$path"
done)
[ -z "$missing" ]
verdict $? "which the installation has" "$missing"
broken=$(cd "$there/share/doc/tessera" &&
	grep -oE '\]\([^()#]+' docs/*.md tests/litmus/*.md | grep -v '://' |
	while IFS= read -r line; do
		page=${line%%:*} link=${line#*](}
		[ -e "${page%/*}/$link" ] || echo "$page: $link"
	done)
[ -z "$broken" ]
verdict $? "links of pages lead to what is installed" "$broken"

if command -v mandoc >/dev/null; then
	prints "the manual has a page for a call" 'tsr_put' \
		man -P cat -M "$there/share/man" tsr_put
	prints "and for a command" 'tessera.run' \
		mandoc -T ascii "$there/share/man/man1/tessera-run.1"
else
	skip "the manual" "no mandoc"
fi

# Completion: bash is asked as its readline would ask it.
# completes WORDS WANTED BEGINNING
export PATH="$there/bin:$PATH"
completes() {
	try bash -c '. "$0"; COMP_WORDS=(tessera "$@"); COMP_CWORD=$#; _tessera
		printf "%s\n" "${COMPREPLY[@]}"' \
		"$there/share/bash-completion/completions/tessera" $1 "$3"
	seen "bash completes: tessera $1 $3" "^$2\$" 1
}
if command -v bash >/dev/null; then
	completes '' run ru
	completes run --placement --pl
	completes bench gemm-all-scatter gemm-all-s
	completes 'bench gemm-all-scatter' --shape --sh
	try bash -c '. "$0"; COMP_WORDS=(tessera run ""); COMP_CWORD=2; _tessera
		echo ${#COMPREPLY[@]}' "$there/share/bash-completion/completions/tessera"
	seen "and leaves files to bash" '^0$' 1
fi
if command -v zsh >/dev/null; then
	try zsh -f -c 'compadd() { shift; print -l -- "$@"; }; _describe() { print -l -- ${(P)2}; }
		words=(tessera run --pl); CURRENT=3
		source "$0"
		words=(tessera ru); CURRENT=2; _tessera' "$there/share/zsh/site-functions/_tessera"
	seen "zsh completes options" '^--placement$' 1
	seen "and commands" '^run:start a program' 1
else
	skip "completion for zsh" "no zsh"
fi

# Products: from the archive, from the shared library, and by pkg-config.
mkdir -p "$TAP_FILES/product" && cd "$TAP_FILES/product" || exit 1
example=$there/share/doc/tessera/examples/product.c
for flag in '' --dynamic; do
	try tessera cc $flag "$example" -ltessera-kernels -o product
	prints "a product is linked ($flag)" ' 0 wrong: ok$' tessera run -n 2 ./product
done
flags=$(PKG_CONFIG_PATH=$there/lib/pkgconfig pkg-config --cflags --libs tessera-kernels)
try gcc -std=gnu11 "$example" -DTSR_UNIT='"product"' $flags -Wl,-rpath,"$there/lib" -o plain
prints "and by pkg-config" ' 0 wrong: ok$' tessera run -n 2 ./plain
cd - >/dev/null || exit 1

prints "it is taken away" '^removed [0-9]{3} files' $installs --remove
[ ! -e "$TAP_FILES/to" ]
verdict $? "whole, with the folders that were made for it" "$(ls -R "$TAP_FILES/to" 2>/dev/null)"
prints "there is nothing to take away" '^removed 0 files' $installs --remove
# Folders that were there stay, empty or not, and those that others use now.
mkdir -p "$there/lib" "$there/share/man" && find "$TAP_FILES/to" | sort >"$TAP_FILES/before"
prints "it is installed over it" '^installed' $installs
prints "twice" '^installed' $installs
: >"$there/bin/other"
prints "it is taken away from between others" '^removed' $installs --remove
find "$TAP_FILES/to" | grep -v -e '/bin$' -e '/bin/other$' | sort >"$TAP_FILES/after"
try diff "$TAP_FILES/before" "$TAP_FILES/after"
[ "$code" -eq 0 ] && [ -e "$there/bin/other" ]
verdict $? "and leaves their folders, and what was there before"
rm -r "$TAP_FILES/to"
prints "libraries may be elsewhere" '^installed' $installs --libdir lib/x86_64-linux-gnu
try env PKG_CONFIG_PATH="$there/lib/x86_64-linux-gnu/pkgconfig" pkg-config --cflags tessera
folder=$(sed 's/.*-I\([^ ]*include\) .*/\1/' "$TAP_FILES/out")
[ -e "$folder/tessera/tessera.h" ]
verdict $? "and find the headers" "$(cat "$TAP_FILES/out")"
mkdir -p "$TAP_FILES/own" && cd "$TAP_FILES/own" &&
	prints "and the command finds them" '' tessera cc "$root/examples/hello.c" -o hello
refuses "a prefix that is no absolute path" 2 'PREFIX=usr is no absolute path' \
	"$root/install/install" --build "$build" --prefix usr
refuses "a build that is not there" 1 'no tessera in /none: build it first' \
	"$root/install/install" --build /none --prefix /usr --destdir "$TAP_FILES/none"
finish
