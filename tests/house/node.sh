#!/bin/sh
# ci/node itself, on the emulator: the files that it leaves on 8, 4, 2 and 1,
# and that what fails or is not there is counted as that.
. "$(dirname "$0")/../cli/tap"
packed=$TAP_FILES/packed
out=$TAP_FILES/results
mkdir "$packed"
real=$(realpath "$BUILD/tessera")

# program NAME: makes a script of what stands on stdin.
program() {
	{ echo '#!/bin/sh'; cat; } >"$packed/$1"
	chmod +x "$packed/$1"
}

# The command, whose cases for GPUs would take the emulator long.
program tessera <<E2
[ "\$1 \$2" = "bench --list" ] && { "$real" bench --list | sed '/^  large cases:/,/^\$/d'; exit; }
exec "$real" "\$@"
E2

# node OPTION...: all of it, with the same programs for tests and commands.
node() {
	try ci/node --emulate \
		--commit abc123 --out "$out" --tests "$packed" --commands "$packed" "$@"
}

# ends NAME CODE TOTALS PATTERN: exit code, last line, and a line that matches.
ends() {
	[ "$code" -eq "$2" ] &&
		[ "$(tail -n 1 "$TAP_FILES/out")" = "$3" ] && grep -qE -- "$4" "$TAP_FILES/out"
	verdict $? "$1" "exit code $code; wanted $2, /$4/ and: $3"
}

program on_gpus <<'E2'
for option; do
	case $option in
	--list) echo one/a; exit ;;
	--tap=*) report=${option#--tap=} ;;
	esac
done
echo "ok - one::a" >"$report"
E2
echo : | program dot
curves=1
command -v gnuplot >/dev/null || curves=0
workloads=$("$real" bench --list | grep -c '^    --shape MxNxK')
each() { for _ in $(seq "$workloads"); do printf %s "$1"; done; }
node
ends "everything on the emulator" 0 \
	"$((13 + (4 + curves) * workloads)) passed, 0 failed, $(((1 - curves) * workloads)) skipped" \
	'^perf all-gather +8 passed'
seen "the most GPUs first" '^== (bench [a-z-]+|perf put), [1248] GPUs$' $((3 + 4 * workloads))
[ "$(grep '^== bench' "$TAP_FILES/out" | tr -dc '1248')" = \
	"$(each 8)$(each 4)$(each 2)$(each 1)" ]
verdict $? "bench: 8, 4, 2, 1, all workloads each"
python3 - "$out" "$curves" "$workloads" <<'CHECK' 2>"$TAP_FILES/err"
import glob, json, sys
out, curves, workloads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for ranks in (1, 2, 4, 8):
    reports = [json.load(open(path)) for path in glob.glob(f"{out}/*-cpuemu-{ranks}-f32-*.json")]
    names = {report["runs"][0]["result"]["workload"] for report in reports}
    assert len(names) == len(reports) == workloads
    for report in reports:
        assert report["commit"] == "abc123" and [run["code"] for run in report["runs"]] == [0, 0]
        for run in report["runs"]:
            assert (
                run["result"]["ranks"] == ranks
                and len(run["result"]["patterns"]) >= 2
                and run["result"]["baseline"]
            )
            assert all(pattern["verdict"]["ok"] for pattern in run["result"]["patterns"])
    for operation in ("put", "signal", "barrier", "all-gather") if ranks > 1 else ():
        (report,) = (
            json.load(open(path))
            for path in glob.glob(f"{out}/perf-{operation}-cpuemu-{ranks}-*.json")
        )
        assert (
            report["code"] == 0
            and report["commit"] == "abc123"
            and report["command"][-1] != "rows.json"
        )
        assert report["result"]["ranks"] == ranks and all(
            row["wrong"] == 0 for row in report["result"]["rows"]
        )
assert (
    len(glob.glob(f"{out}/scaling-*.svg")) == 2 * curves * workloads
    and len(glob.glob(f"{out}/tests-cpuemu-*.txt")) == 1
)
assert not glob.glob(f"{out}/perf-*-1-*")
CHECK
verdict $? "a file for each, with every rank's rows right" "$(cat "$TAP_FILES/err")"

rm -rf "$out"
node --only perf --gpus 2 --seconds 0
ends "no time" 1 "0 passed, 0 failed, 0 skipped" '^4 not run: there was no time left$'
node --only bench,scaling --gpus 2
ends "one number of GPUs makes no curve" 0 \
	"$workloads passed, 0 failed, $workloads skipped" 'a curve takes two numbers'

program tessera <<E2
[ "\$1 \$2" = "bench --list" ] && { "$real" bench --list | sed '/^  large cases:/,/^\$/d'; exit; }
[ "\$1 \$2" = "perf put" ] && echo "it broke here" && exit 3
exec "$real" "\$@"
E2
node --only perf --gpus 8
ends "a measurement that fails" 1 "3 passed, 1 failed, 0 skipped" '^  \| it broke here$'
seen "its file says so" '^perf put +8 failed .* exit code 3$'
program on_gpus <<'E2'
for option; do
	case $option in
	--list) echo one/a; exit ;;
	--tap=*) report=${option#--tap=} ;;
	esac
done
echo "not ok - one::a" >"$report"
exit 1
E2
node --only tests
ends "a test that fails" 1 "0 passed, 1 failed, 0 skipped" 'failed one::a'
program tessera <<'E2'
echo '  cpuemu   no device: it is asleep'
E2
node
[ "$code" -eq 77 ] && [ "$(cat "$TAP_FILES/out")" = "skipped: it is asleep" ]
verdict $? "no device" "exit code $code; wanted 77 and the reason"
try ci/node --emulate --commands "$TAP_FILES/absent"
[ "$code" -eq 77 ] && grep -q 'scons variant=release gpu makes it' "$TAP_FILES/out"
verdict $? "nothing packed" "exit code $code; wanted 77 and the reason"
try ci/node --only tests,all
[ "$code" -eq 2 ] && grep -q 'there are tests, perf, bench and scaling' "$TAP_FILES/err"
verdict $? "a part that there is not is refused" "exit code $code"
try ci/node --gpus 3
[ "$code" -eq 2 ] && grep -q 'a list of 1, 2, 4 and 8' "$TAP_FILES/err"
verdict $? "three GPUs are refused" "exit code $code"
finish
