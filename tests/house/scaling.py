#!/usr/bin/env python3
"""
bench/draw-scaling, on made-up results: what it draws and prints, and what it
refuses in one sentence.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATTERNS = ("bulk-synchronous", "fused-sequential")
failures = 0


def result(count, shape, **more):
    """Patterns that take 8 and 6 ms on one rank, and scale perfectly and not quite; the library
    stands still at 7."""
    m, n, k = map(int, shape.split("x"))
    medians = {PATTERNS[0]: 8e6 / count, PATTERNS[1]: 6e6 / count**0.8}
    # What users would run as a whole has a name of its own, but in files that are older than that.
    whole = {"whole": "product_and_sum"} if count > 1 else {}
    steps = {
        "product": {"median_ns": 1000},
        whole.get("whole", "product_all_gather"): {"median_ns": 7000000}
    }
    made = {
        "workload": "a-workload", "backend": "made-up", "device": "a device", "dtype": "bf16",
        "ranks": count, "shape": {"m": m, "n": n, "k": k},
        "baseline": {"name": "cuBLAS 13.1.0 + NCCL 2.28.3", "steps": steps, **whole},
        "patterns": [
            {"pattern": name, "median_ns": ns, "verdict": None} for name, ns in medians.items()
        ],
    }
    return {**made, **more}


def write(folder, name, *results):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(
            {"runs": [{"shape": "", "code": 0, "said": "", "result": each} for each in results]},
            file
        )
    return path


def run(*arguments, **environment):
    command = [os.path.join(ROOT, "bench", "draw-scaling"), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **environment}
    )


def verdict(good, name, done=None):
    global failures  # pylint: disable=global-statement
    failures += not good
    print(f"{'ok' if good else 'not ok'} - {name}")
    if not good and done:
        print("".join(f"# {line}\n" for line in (done.stdout + done.stderr).splitlines()), end="")


def refuses(name, pattern, *arguments, **environment):
    done = run(*arguments, **environment)
    lines = done.stderr.splitlines()
    verdict(
        done.returncode == 2 and len(lines) == 1 and bool(re.search(pattern, lines[0])), name, done
    )


def curves(files):
    """What gnuplot is given: the ideal line, and a curve, as times and as speed-ups."""
    loader = importlib.machinery.SourceFileLoader(
        "draw_scaling", os.path.join(ROOT, "bench", "draw-scaling")
    )
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    for speedup, ideal, curve in (
        (False, "6 3 1.5 0.75", "8 4 2 1"), (True, "1 2 4 8", "0.75 1.5 3 6")
    ):
        text = module.script(module.gather(files), argparse.Namespace(speedup=speedup))
        blocks = dict(re.findall(r"^\$p0_(\w+) << EOD\n(.*?)\nEOD", text, re.MULTILINE | re.DOTALL))
        found = {
            key: " ".join(line.split()[1] for line in block.splitlines())
            for key, block in blocks.items()
        }
        verdict(
            found.get("ideal") == ideal and found.get("0") == curve,
            f"{'speed-ups' if speedup else 'times'} and the ideal: {found}"
        )


def draws(folder, files):
    """Two shapes on 1, 2, 4 and 8: a table whose numbers are known, and a picture with a curve a
    row."""
    picture = os.path.join(folder, "scaling.svg")
    done = run("--table", *files)
    rows = [line for line in done.stdout.splitlines() if line.startswith("| 64x32x16 ")]
    verdict(done.returncode == 0 and len(rows) == 3, "a row a pattern, and the libraries'", done)
    verdict(
        "| bulk-synchronous | 8.000 (0.75) | 4.000 (1.50) | 2.000 (3.00) | 1.000 (6.00) |"
        in rows[0],
        "times and speed-ups", done
    )
    verdict(
        "| cuBLAS + NCCL | 7.000 (0.86) |" in rows[2], "the libraries, without their versions", done
    )
    if not shutil.which("gnuplot"):
        print("ok - the picture # skip there is no gnuplot here: ci/install-deps installs it")
        return
    for name, option in {"times": [], "speed-ups": ["--speedup"]}.items():
        done = run(*option, "--out", picture, *files)
        with open(picture, encoding="utf-8") as file:
            text = file.read()
        titles = ["64 x 32 x 16", "8192 x 4608 x 36864", "ideal", "cuBLAS + NCCL", *PATTERNS]
        missing = [title for title in titles if f">{title}<" not in text]
        verdict(
            done.returncode == 0 and not missing and "made-up" in text,
            f"a picture of {name}; not in it: {missing}", done
        )
        markers = len(re.findall(r"<use xlink:href='#gpPt\d+' transform='translate", text))
        verdict(
            markers >= 2 * 3 * 4,
            f"a picture of {name}: a point a number of ranks, found {markers}", done
        )
        os.remove(picture)


def main():
    with tempfile.TemporaryDirectory() as folder:
        shapes = ("64x32x16", "8192x4608x36864")
        files = [
            write(folder, f"{ranks}.json", *(result(ranks, shape) for shape in shapes))
            for ranks in (1, 2, 4, 8)
        ]
        curves(files)
        draws(folder, files)
        failed = write(folder, "failed.json", None, result(2, "64x32x16"))
        done = run("--table", files[0], failed)
        verdict(
            done.returncode == 0 and "8192x" not in done.stdout, "a run that failed is no point",
            done
        )
        bad = result(2, "64x32x16")
        bad["patterns"][0]["verdict"] = {"ok": 0}
        done = run("--table", files[0], write(folder, "wrong.json", bad))
        verdict(
            "bulk-synchronous | 8.000 (0.75) | - |" in done.stdout
            and "left out: 64x32x16 on 2" in done.stdout,
            "nor is a wrong one", done
        )

        out = ["--out", os.path.join(folder, "x.svg")]
        refuses("one number of ranks", "two numbers of ranks", *out, files[0])
        refuses(
            "the same twice", "give one of them", *out, files[0], files[1],
            write(folder, "again.json", result(2, shapes[0]))
        )
        refuses(
            "two devices", "cannot stand in one curve", *out, files[0],
            write(folder, "b.json", result(2, shapes[0], device="another"))
        )
        refuses(
            "a file that is not there", "cannot read .*No such file", *out, files[0],
            os.path.join(folder, "absent.json")
        )
        broken = os.path.join(folder, "broken.json")
        for name, text, pattern in (
            ("no JSON", "{", "is no JSON"), ("a list", "[]", "no list of runs"),
            ("other JSON", '{"rows": []}', "no list of runs")
        ):
            with open(broken, "w", encoding="utf-8") as file:
                file.write(text)
            refuses(name, pattern, *out, files[0], broken)
        refuses(
            "a run without its ranks", "has not written", *out, files[0],
            write(folder, "c.json", result(2, shapes[0], ranks=None))
        )
        refuses(
            "no ranks", "on 0 ranks", *out, files[0],
            write(folder, "d.json", result(1, shapes[0], ranks=0))
        )
        odd = result(2, shapes[0])
        odd["patterns"][0]["pattern"] = "a'; system 'x"
        refuses(
            "a name that is a command", "has not written", *out, files[0],
            write(folder, "e.json", odd)
        )
        zero = result(2, shapes[0])
        zero["patterns"][0]["median_ns"] = 0
        refuses("no time", "has not written", *out, files[0], write(folder, "f.json", zero))
        tools = os.path.join(folder, "tools")
        os.mkdir(tools)
        os.symlink(sys.executable, os.path.join(tools, "python3"))
        os.symlink(shutil.which("env"), os.path.join(tools, "env"))
        done = run(*out, *files, PATH=tools)
        verdict(
            done.returncode == 2
            and "there is no gnuplot here" in done.stderr
            and "| 64x32x16 |" in done.stdout,
            "without gnuplot there is the table, and why no picture", done
        )
        if shutil.which("gnuplot"):
            done = run("--out", "/no-such-folder/x.svg", *files)
            verdict(
                done.returncode == 2 and "cannot write /no-such-folder/x.svg" in done.stderr,
                "a picture that cannot be written", done
            )
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
