#!/usr/bin/env python3
"""
Which clang the build takes for AMD GPUs, on made-up compilers that know their
version alone: the one that the checks know where it is, else the newest, with
a line that says so; and the one that was asked for.
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "harness"), os.path.join(ROOT, "site_scons")]
import clangs  # noqa: E402
import tap  # noqa: E402


def program(path, prints=""):
    with open(path, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\necho "{prints}"\n')
    os.chmod(path, 0o755)


def found(compilers, asked="", linkers=None):
    """What is found where there are {name: version}, and linkers of these versions; of all that
    there are, where none are named."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATH"] = folder
        for name, version in compilers.items():
            program(f"{folder}/{name}", f"{version}.1.0" if version else "what?")
        for version in compilers.values() if linkers is None else linkers:
            program(f"{folder}/ld.lld-{version}")
        path, note, why = clangs.find(asked)
        return os.path.basename(path), note, why


def main():
    path, taken = os.environ["PATH"], []
    for what, wanted, noted, *arguments in (
        ("the known one beside later ones", "clang-19", False,
         {"clang-22": 22, "clang-20": 20, "clang-19": 19}),
        ("the known one by its plain name", "clang", False, {"clang": 19, "clang-21": 21}),
        ("the newest where the known one is not", "clang-22", True,
         {"clang-20": 20, "clang-22": 22, "clang": 21}),
        ("none that is too old", "clang-20", True, {"clang": 14, "clang-20": 20}),
        ("none without its linker", "clang-21", True,
         {"clang-22": 22, "clang-21": 21}, "", (21,)),
        ("the one that was asked for", "clang-21", True,
         {"clang-19": 19, "clang-21": 21}, "clang-21"),
        ("by another name", "mine", False, {"clang-21": 21, "mine": 19}, "mine"),
    ):  # fmt: skip
        name, note, why = found(*arguments)
        taken.append(note)
        good = name == wanted and bool(note) == noted and not why
        tap.verdict(good, what, f"{name}: {note}{why}")
    tap.verdict("of version 22" in taken[2] and "clang 19" in taken[2], "the line names both")
    for what, sentence, *arguments in (
        ("none at all", "no clang 19 or later with its lld", {}),
        ("an old one", "no clang 19 or later with its lld", {"clang": 14}),
        ("one that was asked for, and is not there", "hip_clang=clang-21 is no clang 19",
         {"clang-19": 19}, "clang-21"),
        ("what was asked for, and is no clang", "hip_clang=mine is no clang 19",
         {"clang-19": 19, "mine": ""}, "mine"),
    ):  # fmt: skip
        name, _, why = found(*arguments)
        tap.verdict(not name and sentence in why, f"refused: {what}", f"{name}: {why}")
    with tempfile.TemporaryDirectory() as folder:
        for line, version in (
            ('\t.ident\t"Debian clang version 19.1.7 (3~deb12u1)"', 19),
            ('\t.ident\t"clang version 22.1.8"', 22),
            ("\t; clang version 21.1.0", None),
        ):
            with open(f"{folder}/a.s", "w", encoding="ascii") as file:
                file.write(f"\ts_endpgm\n{line}\n")
            tap.verdict(clangs.version_in(f"{folder}/a.s") == version, f"made by {version}")
    os.environ["PATH"] = path
    return tap.exit_code()


if __name__ == "__main__":
    sys.exit(main())
