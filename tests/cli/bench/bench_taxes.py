#!/usr/bin/env python3
"""
--taxes and --taxes-picture: table, JSON and drawing say the same, and the counts
are those of the patterns. Times of the emulator mean nothing, so only relations
between them are checked.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

RANKS, SIDE = 3, 96
PARTS = ("launch", "idle", "between", "compute", "send", "overlap")
ELEMENTS = SIDE * SIDE // RANKS  # of a rank's part of C or A
BF16, F32 = 2, 4

# of each pattern: launches, meetings, bytes of intermediates on a rank
WANTED = {
    "gemm-all-scatter": {
        "bulk-synchronous": (2, 2, BF16 * ELEMENTS),
        "fused-sequential": (1, 2, 0),
        "banded": (3, 2, BF16 * ELEMENTS * (RANKS - 1)),
    },
    "all-gather-gemm": {
        "bulk-synchronous": (2, 2, 2 * BF16 * ELEMENTS * (RANKS - 1)),
        "pull": (1, 2, 0),
        "copy-engines": (5, 1, 2 * BF16 * ELEMENTS * (RANKS - 1)),
        "push": (1, 1, 2 * BF16 * ELEMENTS * (RANKS - 1)),
        "marked": (1, 0, 4 * BF16 * ELEMENTS * (RANKS - 1)),
    },
    "gemm-reduce-scatter": {
        "bulk-synchronous": (2, 2, 2 * F32 * ELEMENTS * RANKS),
        "own-chunk-last": (1, 2, 2 * F32 * ELEMENTS * (RANKS - 1)),
        "store-add": (2, 2, 2 * F32 * ELEMENTS),
    },
    "gemm-all-reduce": {
        "bulk-synchronous": (2, 2, 2 * F32 * ELEMENTS * RANKS),
        "communicators": (1, 2, 2 * F32 * ELEMENTS * RANKS),
    },
}


def bench(name, *arguments, ranks=RANKS):
    words = f"bench {name} -n {ranks} --iterations 2 -w 0 --no-tuned"
    command = ["tessera", *words.split()]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=600,
        stdin=subprocess.DEVNULL, check=False
    )


def measured(folder, name, *arguments, ranks=RANKS):
    """The table, and of each pattern its row in JSON."""
    path = os.path.join(folder, "t.json")
    done = bench(name, *arguments, "--taxes", "--json", path, ranks=ranks)
    verdict(done.returncode == 0, f"{name}, {ranks} ranks: taxes are measured", done.stderr)
    with open(path, encoding="utf-8") as file:
        rows = {row["pattern"]: row for row in json.load(file)["patterns"]}
    return done.stdout.partition("taxes of a run, ")[2], rows


def adds_up(taxes):
    parts = [taxes[f"{part}_share"] for part in PARTS]
    return (
        all(part is not None and part >= 0 for part in parts)
        and abs(sum(parts) - 2 * taxes["overlap_share"] - taxes["sum_share"]) < 1e-6
        and taxes["overlap_share"] <= min(taxes["compute_share"], taxes["send_share"]) + 1e-9
    )


def verdict_of(taxes):
    """What the end of a row must say."""
    left = 1 - taxes["sum_share"]
    if abs(left) <= 0.05:
        return f"parts agree with the whole, {-100 * left:+.1f}%"
    return f"parts are {100 * abs(left):.1f}% of the whole {'short' if left > 0 else 'too long'}"


def recorded(taxes):
    """By how much recording made the run longer."""
    return f"{100 * (taxes['recorded_share'] - 1):+.1f}%"


def check_counts(folder, name, wanted):
    bands = ["--bands", "2"] if name == "gemm-all-scatter" else []
    table, rows = measured(
        folder, name, "--shape", f"{SIDE}x{SIDE}x{SIDE}", "--tile", "16x16x16", *bands,
        "--pattern", ",".join(wanted)
    )
    taxes = {pattern: row["taxes"] for pattern, row in rows.items()}
    found = {
        pattern: (row["launches"], row["meetings"], row["between_bytes"])
        for pattern, row in taxes.items()
    }
    verdict(found == wanted, f"{name}: launches, meetings and intermediates", str(found))
    verdict(
        all(
            row["taxes"]["launches"] == row["traffic"]["launches"]
            for pattern, row in rows.items()
            if pattern not in ("banded", "copy-engines")  # whose copies are launches too
        ), f"{name}: as many launches as the record has"
    )
    verdict(all(adds_up(row) for row in taxes.values()), f"{name}: the parts add up", str(taxes))
    verdict(
        all((row["idle_share"] > 0) == (row["meetings"] > 0) for row in taxes.values()),
        f"{name}: ranks idle where they meet, and only there", str(taxes)
    )
    verdict(
        all((row["between_share"] > 0) == (row["between_bytes"] > 0) for row in taxes.values()),
        f"{name}: intermediates take time, where there are any", str(taxes)
    )
    verdict(
        all(row[f"{part}_ns"] is None for row in taxes.values() for part in PARTS)
        and table.startswith("in percent of its time\n"),
        f"{name}: the emulator says shares, and no times", table
    )
    lines = {line.split()[0]: line for line in table.splitlines()[2:]}
    verdict(
        all(
            lines[pattern].endswith(f"{verdict_of(row)}; recorded {recorded(row)}")
            for pattern, row in taxes.items()
        ), f"{name}: each row ends with what parts, record and whole differ by", table
    )


def check_unknown(folder):
    table, rows = measured(folder, "collectives", "--bytes", "4096")
    taxes = rows["one-call"]["taxes"]
    row = re.compile(r"^one-call +1 +[\d.]+% +\? +\? .* parts not known; recorded ", re.MULTILINE)
    verdict(
        taxes["meetings"] is None and taxes["idle_share"] is None and taxes["sum_share"] is None
        and row.search(table), "meetings that the record does not have are not known", table
    )
    verdict(taxes["compute_share"] == 0, "what computes nothing has no computation", str(taxes))


def check_collective(folder):
    _, rows = measured(folder, "collectives", "--operation", "broadcast", "--bytes", "4096")
    taxes = rows["one-call"]["taxes"]
    verdict(
        taxes["meetings"] == 2 and taxes["idle_share"] > 0 and adds_up(taxes),
        "the blocks of a collective meet as it begins and as it ends", str(taxes)
    )


def check_alone(folder):
    table, rows = measured(
        folder, "gemm-all-scatter", "--shape", "32x32x32", "--pattern", "bulk-synchronous", ranks=1
    )
    taxes = rows["bulk-synchronous"]["taxes"]
    verdict(
        (taxes["meetings"], taxes["idle_share"], taxes["send_share"], taxes["between_bytes"])
        == (0, 0, 0, 0) and adds_up(taxes), "one rank meets nobody and sends nothing", table
    )


def check_baseline(folder):
    """What the baseline has measured is not measured again."""
    table, rows = measured(
        folder, "gemm-all-scatter", "--shape", "96x96x96", "--pattern", "bulk-synchronous",
        "--baseline"
    )
    with open(os.path.join(folder, "t.json"), encoding="utf-8") as file:
        baseline = json.load(file)["baseline"]
    row = rows["bulk-synchronous"]
    taxes, whole = row["taxes"], row["median_ns"]
    computed = baseline["own_product"]["median_ns"] / whole
    sent = taxes["send_bytes"] / baseline["store_each_to_each_gbps"] / whole
    verdict(
        abs(taxes["compute_share"] / computed - 1) < 1e-6
        and abs(taxes["send_share"] / sent - 1) < 1e-6,
        "compute and send are those of the baseline", table
    )


def check_picture(folder):
    path = os.path.join(folder, "p.svg")
    _, rows = measured(
        folder, "gemm-all-scatter", "--shape", "64x64x64", "--taxes-picture", path, "--pattern",
        "bulk-synchronous,fused-sequential"
    )
    root = xml.etree.ElementTree.parse(path).getroot()
    elements = {"rect": [], "line": [], "text": []}
    for element in root.iter():
        elements.setdefault(element.tag.rpartition("}")[2], []).append(element)
    texts = [element.text for element in elements["text"]]
    verdict(
        texts[0] == "GEMM + all-scatter, 64x64x64 bf16, 3 ranks on cpuemu: taxes of a run"
        and all(pattern in texts for pattern in rows), "the picture has a heading, and names",
        str(texts)
    )
    bars = [element for element in elements["rect"] if len(element)]
    ends = [float(element.get("x2")) for element in elements["line"]]
    left = float(bars[0].get("x"))
    verdict(len(bars) == 6 * len(rows) and len(ends) == len(rows), "six parts a bar, and its end")
    for number, (pattern, row) in enumerate(rows.items()):
        long = sum(float(bar.get("width")) for bar in bars[6 * number:6 * number + 6])
        share = long / (ends[number] - left)
        verdict(
            abs(share - row["taxes"]["sum_share"]) < 0.001, f"{pattern}: the bar is as long as its"
            " parts", f"{share}: {row['taxes']}"
        )


def check_refusals(folder):
    option = "--taxes-picture"
    few = ("--shape", "16x16x16", "--pattern", "fused-sequential")
    done = bench("gemm-all-scatter", *few, option, os.path.join(folder, "none", "file"))
    verdict(
        done.returncode == 2 and option in done.stderr and done.stderr.count("\n") == 1,
        "a folder that does not exist is refused before anything runs",
        f"{done.returncode}: {done.stderr}"
    )
    done = bench("gemm-all-scatter", *few, option, "/dev/full")
    verdict(
        done.returncode == 1 and "/dev/full" in done.stderr, "a full disk is said to be",
        f"{done.returncode}: {done.stderr}"
    )


def check_fastest():
    """What is measured alone leaves the run in another pattern."""
    for option in ("--taxes", "--baseline"):
        done = bench(
            "gemm-all-reduce", "--shape", "32x32x32", "--pattern", "fastest", option
        )
        verdict(
            re.search("^own-chunk-last ", done.stdout, re.MULTILINE)
            and not re.search("^bulk-synchronous ", done.stdout, re.MULTILINE),
            f"{option}: the fastest pattern is still the fastest", done.stdout + done.stderr
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, wanted in WANTED.items():
            check_counts(folder, name, wanted)
        check_unknown(folder)
        check_collective(folder)
        check_alone(folder)
        check_baseline(folder)
        check_picture(folder)
        check_refusals(folder)
    check_fastest()
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
