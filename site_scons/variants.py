"""
The units of a workload's kernels, one for each dtype and tile.
kernels/*/variants.list names them, and the build writes them below
build/generated/. Checks read the same lists.
"""
import glob
import os
import re
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = "build/generated"
STRIP_ROWS = 32  # divide every tile's rows
LINE = re.compile(
    r"(?P<dtypes>\w+(,\w+)*) +(?P<attends>attend +)?(?P<tile>\d+x\d+x\d+)"
    r" +(?P<patterns>\w+\.h)( +(?P<few>few))?"
)

# unit: its path from the top, without the suffix; patterns: the header of its kernels; few: a build
# with tiles=few has it for GPUs; attends: the tile is an attention's, of queries x keys x columns.
Variant = namedtuple("Variant", "unit dtype tile patterns few attends")


def listed():
    """Every variant of every workload, in the lists' order."""
    return [
        variant
        for path in sorted(glob.glob(os.path.join(ROOT, "kernels", "*", "variants.list")))
        for variant in _read(path)
    ]


def _read(path):
    folder = os.path.relpath(os.path.dirname(path), ROOT)
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#")[0].strip()
            if not words:
                continue
            match = LINE.fullmatch(words)
            if not match:
                raise SystemExit(
                    f"{os.path.relpath(path, ROOT)}:{number}: not `dtype,... [attend] MxNxK"
                    " patterns.h [few]`"
                )
            for dtype in match["dtypes"].split(","):
                unit = f"{folder}/variants/{dtype}_{match['tile']}"
                yield Variant(
                    unit, dtype, match["tile"], f"{folder}/{match['patterns']}", bool(match["few"]),
                    bool(match["attends"])
                )


def source(variant):
    """Where the build writes the unit."""
    return f"{GENERATED}/{variant.unit}.c"


def text(variant):
    m, n, k = variant.tile.split("x")
    tiles = (
        f"TSR_TILE(tile, {variant.dtype}, {m}, {n}, {k});\n"
        "/* rows of a tile, for kernels that hold no sums of a main loop */\n"
        f"TSR_TILE(strip, {variant.dtype}, {min(int(m), STRIP_ROWS)}, {n}, {k});\n\n"
    )
    if variant.attends:
        tiles = f"TSR_ATTEND_TILE(tile, {variant.dtype}, {m}, {n}, {k});\n\n"
    return (
        f"/* Made by the build from {os.path.dirname(os.path.dirname(variant.unit))}/variants.list."
        " */\n"
        f"#define TSR_VARIANT {variant.dtype}_{variant.tile}\n"
        '#include "tessera/dev.h"\n\n'
        f"{tiles}"
        f'#include "{variant.patterns}"\n'
    )


def write(target, source, env):
    with open(target[0].path, "w", encoding="ascii") as file:
        file.write(source[0].read())


_made = {}


def made(env):
    """{variant: the unit that the build writes}, one for all builds."""
    for variant in listed():
        if variant not in _made:
            _made[variant] = env.Command(
                "#" + source(variant), env.Value(text(variant)),
                env.Action(write, "  make    $TARGET")
            )[0]
    return _made
