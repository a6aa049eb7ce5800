"""Pictures by gnuplot: what the programs that draw measurements have in common."""
import shutil
import subprocess

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c510a", "#7f7f7f")


class Unfit(Exception):
    """One sentence on an input that cannot be drawn."""


def draw(text, path):
    """Runs a script of gnuplot, which writes SVG, and keeps the picture at `path`."""
    gnuplot = shutil.which("gnuplot")
    if not gnuplot:
        raise Unfit(
            "there is no gnuplot here: ci/install-deps installs it, or draw the files on another"
            " machine"
        )
    done = subprocess.run(
        [gnuplot], input=text, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode or "</svg>" not in done.stdout:
        raise Unfit(
            "gnuplot has drawn nothing:"
            f" {(done.stderr.strip().splitlines() or ['it said nothing'])[-1].strip()}"
        )
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
    except OSError as error:
        raise Unfit(f"cannot write {path}: {error.strerror}") from error
    print(f"wrote {path}")
