#!/bin/sh
# Worlds of an ordinary user, whom the kernel allows fewer descriptors under way
# than root: many ranks, and few open files.
. "$(dirname "$0")/../tap"

# The user may not see this build: the programs go where everybody does.
mkdir "$TAP_FILES/bin" && cp "$BUILD/tessera" "$BUILD/examples/hello" "$TAP_FILES/bin" &&
	chmod -R a+rX "$TAP_FILES" || exit 1
PATH=$TAP_FILES/bin:$PATH
as_user=
if [ "$(id -u)" -eq 0 ]; then
	as_user='setpriv --reuid 65534 --regid 65534 --clear-groups'
	$as_user hello >/dev/null 2>&1 || {
		skip "worlds of an ordinary user" "this machine lets root become no other user"
		finish
	}
fi
export TESSERA_HEAP_SIZE=64K

# limited FILES COMMAND...: as the ordinary user, with so many open files for each process
cat >"$TAP_FILES/bin/limited" <<END
#!/bin/sh
ulimit -n "\$1" && shift && exec $as_user "\$@"
END
chmod 755 "$TAP_FILES/bin/limited"

# meets RANKS FILES
meets() {
	prints "$1 ranks with $2 open files" "^rank $(($1 - 1)) of $1 received" limited "$2" \
		tessera run -n "$1" hello
	seen "$1 ranks with $2 open files: each once" "^rank [0-9]+ of $1 received" "$1"
}

meets 33 1024
meets 34 1024
meets 64 1024
meets 64 256

# Two jobs share what one user may have under way.
limited 1024 tessera run -n 64 hello >"$TAP_FILES/other" 2>&1 </dev/null &
other=$!
meets 64 1024
wait $other
[ "$(grep -c 'of 64 received' "$TAP_FILES/other")" -eq 64 ]
verdict $? "64 ranks more at the same time" "$(head -3 "$TAP_FILES/other")"

# Where open files are too few, one sentence says so, long before the deadline.
for files in 20 40 72; do
	TESSERA_DEADLINE=100s try limited $files tessera run -n 64 hello
	[ "$code" -ne 0 ] && [ "$code" -lt 128 ] &&
		[ "$(grep -c 'raise its limit (ulimit -n)' "$TAP_FILES/err")" -eq 1 ] &&
		! grep -q 'never arrived' "$TAP_FILES/err"
	verdict $? "64 ranks with $files open files are told the limit" "exit code $code"
done
finish
