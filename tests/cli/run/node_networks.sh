#!/bin/sh
# tessera run --node-network: emulated nodes with networks of their own, of which nothing remains.
. "$(dirname "$0")/../tap"
hello=$BUILD/examples/hello
export TESSERA_HEAP_SIZE=16M

refuses "a network that there is not" 2 'loopback, namespaces or auto' \
	tessera run -n 2 --nodes 2 --node-network wires "$hello"
refuses "a network that there is not, as the environment says" 1 "must be 'loopback'" \
	env TESSERA_NODE_NETWORK=wires tessera run -n 2 --nodes 2 "$hello"

# Without the privilege, also for root.
plain='setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin'
[ "$(id -u)" -eq 0 ] || plain=
if [ -z "$plain" ] || $plain true 2>/dev/null; then
	refuses "namespaces that are not permitted" 1 'cannot make network namespaces for 2 nodes' \
		$plain tessera run -n 2 --nodes 2 --node-network namespaces "$hello"
	prints "auto does without them" '^127.0.0.1:[0-9]+ loopback$' \
		$plain tessera run -n 2 --nodes 2 --node-network auto sh -c \
		'echo $TESSERA_ROOT $TESSERA_NODE_NETWORK'
else
	skip "namespaces that are not permitted" "setpriv cannot give privileges up"
fi

if ! unshare --net --mount true 2>/dev/null; then
	skip "nodes in network namespaces" "none is permitted (unshare --net), or a chroot"
	finish
fi

# In a chroot, whose / is no mount point, no process can have a /sys of its own. Its /sys is that of
# the machine, or none.
cat >"$TAP_FILES/enter" <<'END'
set -e
mount -t tmpfs none "$1"
new=$1/root
mkdir -p "$new/build" "$new/tmp" "$new/sys"
for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$new/$folder"; done
for folder in usr etc proc dev $3; do
	mkdir -p "$new/$folder" && mount --rbind "/$folder" "$new/$folder"
done
mount --bind "$2" "$new/build"
printf '#!/bin/sh\necho $TESSERA_ROOT $TESSERA_NODE_NETWORK\n' >"$new/tmp/where"
chmod +x "$new/tmp/where"
shift 3
exec chroot "$new" "$@"
END
mkdir "$TAP_FILES/chroot"
# in_chroot FOLDER OPTION...: words that run the command there
in_chroot() {
	folders=$1
	shift
	echo unshare --mount sh "$TAP_FILES/enter" "$TAP_FILES/chroot" "$(cd "$BUILD" && pwd)" \
		"'$folders'" /build/tessera run -n 2 --nodes 2 "$@"
}
if sh -c "$(in_chroot '' true)" >/dev/null 2>&1; then
	prints "in a chroot auto takes the loopback" '^127.0.0.1:[0-9]+ loopback$' \
		sh -c "$(in_chroot sys --node-network auto /tmp/where)"
	refuses "and namespaces are refused" 1 \
		'cannot make network namespaces for 2 nodes: .*in a chroot.*: Invalid argument; run' \
		sh -c "$(in_chroot sys --node-network namespaces true)"
	if [ -e "$BUILD/plugins/libtessera-net-ucx.so" ]; then
		prints "a world in a chroot" '^rank 0 of 2 received' \
			sh -c "$(in_chroot sys --node-network auto /build/examples/hello)"
		# one rank says it, or both
	try sh -c "$(in_chroot '' /build/examples/hello)"
	[ "$code" -eq 1 ] && grep -qE 'node [01]: .* mount sysfs at /sys' "$TAP_FILES/err" &&
		! grep -qvE 'node [01]: .* mount sysfs at /sys' "$TAP_FILES/err"
	verdict $? "without a /sys it says so" "exit code $code"
	fi
else
	skip "nodes in a chroot" "this machine permits none"
fi

# Where a rank is: the namespace, its interfaces, its address.
# shellcheck disable=SC2016 # the ranks' shells expand it
where='echo "$TESSERA_NODE $(readlink /proc/self/ns/net) $(ls /sys/class/net | tr "\n" ,)"'
lands() { # $1: ranks, $2: nodes
	try tessera run -n "$1" --nodes "$2" --node-network namespaces sh -c "$where"
	networks=$(cut -d' ' -f2 "$TAP_FILES/out" | sort -u)
	[ "$code" -eq 0 ] && [ "$(sort -u "$TAP_FILES/out" | wc -l)" -eq "$2" ] &&
		[ "$(echo "$networks" | wc -l)" -eq "$2" ] &&
		! echo "$networks" | grep -qF "$(readlink /proc/self/ns/net)" &&
		[ "$(grep -c ' lo,tsr0,$' "$TAP_FILES/out")" -eq "$1" ]
	verdict $? "$1 ranks in $2 networks" "exit code $code: $(cat "$TAP_FILES/out")"
}
# Nobody is in any of $networks any more; the kernel takes a moment.
deserted() {
	end=$(($(date +%s) + 10)) left=x
	while [ -n "$left" ] && [ "$(date +%s)" -lt $end ]; do
		left=
		for network in $networks; do
			found=$(find /proc/[0-9]*/ns/net -maxdepth 0 -lname "$network" 2>/dev/null)
			left=$left$found
		done
		[ -z "$left" ] || sleep 0.05
	done
	[ -n "$networks" ] && [ -z "$left" ] && ! ls /sys/class/net | grep -q '^tsr'
	verdict $? "$1: nothing is left" "$left"
}
for places in '2 2' '3 2' '5 3' '8 4'; do
	# shellcheck disable=SC2086 # two words
	lands $places
	deserted "of $places"
done
prints "auto takes them" '^10.0.0.1:[0-9]+ namespaces$' \
	tessera run -n 2 --nodes 2 --node-network auto sh -c \
	'echo $TESSERA_ROOT $TESSERA_NODE_NETWORK'
prints "one node has no network of its own" '^none$' \
	tessera run -n 2 --node-network namespaces sh -c 'echo ${TESSERA_NODE_NETWORK-none}'

if [ -e "$BUILD/plugins/libtessera-net-ucx.so" ]; then
	for ranks in 2 3 5 8; do
		try env TESSERA_LOG=info tessera run -n $ranks --nodes 2 \
			--node-network namespaces "$hello"
		verdict $code "$ranks ranks on 2 nodes"
		seen "$ranks ranks on 2 nodes: each once" "^rank [0-9] of $ranks received" $ranks
		grep -q 'info: 2 nodes in network namespaces, .* over tsr0' "$TAP_FILES/err"
		verdict $? "$ranks ranks on 2 nodes: the log says how" "$(cat "$TAP_FILES/err")"
	done
fi
# The launcher tells those who wait, in their networks.
for rank in 0 1 2 3; do
	try tessera run -n 4 --nodes 2 --node-network namespaces \
		sh -c "[ \$TESSERA_RANK != $rank ] || exit 5; exec $hello"
	[ "$code" -eq 5 ] && [ ! -s "$TAP_FILES/out" ] &&
		grep -q "rank $rank of 4 ended with exit code 5 before" "$TAP_FILES/err"
	verdict $? "rank $rank ends before its world has met" "exit code $code, wanted 5"
done

# A launcher that is killed leaves nothing either.
tessera run -n 3 --nodes 2 --node-network namespaces sh -c \
	'readlink /proc/self/ns/net; exec sleep 1000' >"$TAP_FILES/out" 2>&1 &
launcher=$!
end=$(($(date +%s) + 20))
while [ "$(wc -l <"$TAP_FILES/out")" -lt 3 ] && [ "$(date +%s)" -lt $end ]; do sleep 0.05; done
networks=$(sort -u "$TAP_FILES/out")
kill -KILL $launcher
wait $launcher 2>/dev/null
[ "$(echo "$networks" | wc -l)" -eq 2 ]
verdict $? "a launcher that is killed: its nodes were there" "$networks"
deserted "a launcher that is killed"
finish
