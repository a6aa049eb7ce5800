#!/usr/bin/env python3
"""
The reference for a browser (docs/reference/make): every call of the public
headers is in its index and leads to a page that shows it, every link of every
page resolves, and the search finds what it should.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import tap  # noqa: E402

ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
QUERY = """
const {{ search }} = new Function(require("fs").readFileSync("search.js", "utf8") +
	"; return {{ search }};")();
const entries = new Function(require("fs").readFileSync("entries.js", "utf8") +
	"; return entries;")();
console.log(JSON.stringify(search(entries, {query}).map((entry) => entry.names[0])));
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def make(folder):
    """The manual and the reference, in `folder`/man and `folder`/reference."""
    manual, reference = os.path.join(folder, "man"), os.path.join(folder, "reference")
    subprocess.run([os.path.join(ROOT, "man", "generate"), manual], check=True)
    subprocess.run(
        [os.path.join(ROOT, "docs", "reference", "make"), manual, reference], check=True
    )
    return manual, reference


def declared():
    """The functions of the public headers, by a look at their text alone."""
    found = set()
    for path in glob.glob(os.path.join(ROOT, "include", "tessera", "**", "*.h"), recursive=True):
        for start in re.finditer(r"^(?:TSR_API|TSR_DEV\w*) ", read(path), re.MULTILINE):
            text = read(path)[start.end():].split(";")[0]
            name = re.search(r"\b(tsr_\w+)\(", text)
            found |= {name.group(1)} if name else set()
    return found


def broken_links(reference):
    """Each link that leads to no file, or to no place in it."""
    texts = {os.path.basename(path): read(path) for path in glob.glob(reference + "/*.html")}
    for name, text in texts.items():
        for link in re.findall(r'(?:href|src)="([^"]*)"', text):
            target, _, place = link.partition("#")
            if re.match(r"https?:", link):
                continue
            there = os.path.exists(os.path.join(reference, target or name))
            if not there or place and f'id="{place}"' not in texts[target or name]:
                yield f"{name}: {link}"


def entries_of(reference):
    text = read(os.path.join(reference, "entries.js"))
    return json.loads(re.fullmatch(r"const entries = (.*);\n", text, re.DOTALL).group(1))


def missing_calls(reference, names):
    """The names that the index, the search's entries or the page do not have."""
    index = read(os.path.join(reference, "index.html"))
    files = {name: each["file"] for each in entries_of(reference) for name in each["names"]}
    for name in sorted(names):
        page = os.path.join(reference, files.get(name, "none"))
        if not re.search(rf"[>\s]{name}[,<]", index):
            yield f"{name} is not in index.html"
        shown = rf'class="(?:Fn|Nm|Dv)"[^>]*>{name}<'
        if not os.path.exists(page) or not re.search(shown, read(page)):
            yield f"{name} has no page"


def found(reference, query):
    result = subprocess.run(
        ["node", "-e", QUERY.format(query=json.dumps(query))], cwd=reference, capture_output=True,
        text=True, check=True
    )
    return json.loads(result.stdout)


def check_search(reference):
    if not shutil.which("node"):
        tap.verdict(True, "the search finds calls # skip no node")
        return
    tap.verdict(found(reference, "put")[0] == "tsr_put", "the search finds put, first of all")
    tap.verdict(
        "tsr_put_2d" in found(reference, "TSR_get_2D"),
        "the search finds a call by the others of its page"
    )
    tap.verdict("tsr_wait" in found(reference, "flag  acquire"), "the search looks into texts")
    nothing = found(reference, "sheep") + found(reference, " ")
    tap.verdict(not nothing, "the search finds no more", nothing)


def check_planted(folder, reference):
    """What is wrong is told."""
    copy = os.path.join(folder, "planted")
    shutil.copytree(reference, copy)
    os.remove(os.path.join(copy, "tsr_put.3.html"))
    with open(os.path.join(copy, "tsr_get.3.html"), "a", encoding="utf-8") as file:
        file.write('<a href="#sheep">')
    broken = list(broken_links(copy))
    tap.verdict(
        "tsr_get.3.html: #sheep" in broken and "index.html: tsr_put.3.html" in broken,
        "planted: links that lead nowhere are told", broken
    )
    missing = list(missing_calls(copy, {"tsr_put", "tsr_sheep"}))
    tap.verdict(
        missing == [
            "tsr_put has no page", "tsr_sheep is not in index.html", "tsr_sheep has no page"
        ], "planted: calls that are not there are told", missing
    )


def main():
    if not shutil.which("mandoc"):
        tap.verdict(True, "the reference is made # skip no mandoc")
        return tap.exit_code()
    with tempfile.TemporaryDirectory() as folder:
        manual, reference = make(folder)
        names = declared()
        tap.verdict(len(names) > 150, "the headers declare calls", f"{len(names)} only")
        pages = {os.path.basename(path)[:-2] for path in glob.glob(manual + "/man[13]/*.[13]")}
        # what has no page of the manual is for ci/checks/man to say
        missing = list(missing_calls(reference, (names & pages) | {"tsr_atomic_add", "TSR_TILE"}))
        tap.verdict(not missing, "each call has its page and is in the index", "\n".join(missing))
        unknown = pages - {name for each in entries_of(reference) for name in each["names"]}
        tap.verdict(not unknown, "each page of the manual can be searched", unknown)
        broken = list(broken_links(reference))
        tap.verdict(not broken, "each link leads somewhere", "\n".join(broken[:20]))
        check_search(reference)
        check_planted(folder, reference)
    return tap.exit_code()


sys.exit(main())
