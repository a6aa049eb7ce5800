#!/usr/bin/env python3
"""
The verdict on a litmus test hangs on nothing but its meaning: every test of the
oracle with its threads permuted, its columns shuffled, its locations,
registers, labels and name renamed, and its answers stripped is judged as
before.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from tap import exit_code, verdict  # noqa: E402

ORACLE = "model/memory/oracle/litmus.jsonl"
SEED = 20261121
KEYWORDS = ("r", "w", "rmw", "f", "mov", "b", "add", "eq")


class Renaming:
    """A random renaming of one test, which can be applied to its text and undone on its final
    states."""

    def __init__(self, text, draw):
        self.lines = text.splitlines()
        table = next(i for i, line in enumerate(self.lines) if re.match(r"\s*P0\b", line))
        scopes = next(i for i, line in enumerate(self.lines) if line.startswith("scopes:"))
        self.rows = [line.rstrip(" ;").split("|") for line in self.lines[table + 1 : scopes]]
        self.tail = self.lines[scopes:]
        threads = len(self.lines[table].split("|"))
        self.thread = draw.sample(range(threads), threads)  # old number -> new
        # the order in which the old columns stand
        self.columns = draw.sample(range(threads), threads)
        registers = {int(number) for number in re.findall(r"\br(\d+)\b", text)}
        numbers = draw.sample(range(1000), len(registers))
        self.register = {f"r{old}": f"r{new}" for old, new in zip(sorted(registers), numbers)}
        body = "\n".join("|".join(row) for row in self.rows)
        body = re.sub(r"\[[^\]]*\]", "", body)  # orders and scopes
        words = set(re.findall(r"\b[A-Za-z_]\w*\b", body)) - set(KEYWORDS) - set(self.register)
        names = [
            f"{draw.choice('abstuvXYZ_')}{n}{draw.choice(['', '_', 'q'])}"
            for n in range(len(words))
        ]
        self.name = dict(zip(sorted(words), names))

    def words(self, text):
        """Renames registers, locations and labels, but not what stands in [order,scope]."""
        parts = re.split(r"(\[[a-z,]*\])", text)
        swap = lambda match: self.register.get(match[0]) or self.name.get(match[0], match[0])
        return "".join(
            part if part.startswith("[") else re.sub(r"\b[A-Za-z_]\w*\b", swap, part)
            for part in parts
        )

    def threads(self, text, pattern):
        return re.sub(
            pattern, lambda match: match[1] + str(self.thread[int(match[2])]) + match[3], text
        )

    def text(self):
        lines = [
            "LISA renamed", "{ }", " | ".join(f"P{self.thread[c]}" for c in self.columns) + " ;"
        ]
        lines += [
            " | ".join(self.words(row[c].strip()) for c in self.columns) + " ;" for row in self.rows
        ]
        for line in self.tail:
            if line.startswith("scopes:"):
                lines.append(self.threads(line, r"(wi )(\d+)(\))"))
                continue
            inner = (
                line[line.index("[") + 1 : line.rindex("]")]
                if line.startswith("locations")
                else line[len("exists") :]
            )
            inner = self.threads(self.words(inner), r"(\b)(\d+)(:)")
            lines.append(
                f"locations [{inner}]" if line.startswith("locations") else "exists" + inner
            )
        return "\n".join(lines) + "\n"

    def state(self, state):
        """A final state of the test, as the renamed test must have it."""
        return frozenset(
            self.threads(self.words_of_state(pair.strip()), r"(^)(\d+)(:)")
            for pair in state.split(";")
            if pair.strip()
        )

    def words_of_state(self, pair):
        return re.sub(
            r"\b[A-Za-z_]\w*\b", lambda match: self.register.get(match[0]) or self.name[match[0]],
            pair
        )


def judge(folder, tests):
    """What the command finds of tests without answers, in their order."""
    source, report = os.path.join(folder, "variants.jsonl"), os.path.join(folder, "report.json")
    with open(source, "w", encoding="ascii") as file:
        file.writelines(json.dumps({"name": "renamed", "litmus": text}) + "\n" for text in tests)
    command = ["tessera", "litmus", source, "--on", "axioms", "--json", report]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120,
        check=False
    )
    verdict(done.returncode == 0 and not done.stderr, "the variants are read", done.stderr[:500])
    with open(report, encoding="ascii") as file:
        return json.load(file)["tests"]


def differences(tests, renamings, found):
    """What was found against the oracle's answers, renamed; of a racy test the races alone, for the
    states are no promise."""
    for test, renaming, result in zip(tests, renamings, found):
        states = {
            frozenset(pair.strip() for pair in state.split(";") if pair.strip())
            for state in result["outcomes"]
        }
        if result["races"] != sorted(test["races"]):
            yield f"{test['name']}: races {result['races']}, not {test['races']}\n{renaming.text()}"
        elif not test["races"] and states != {renaming.state(state) for state in test["outcomes"]}:
            yield f"{test['name']}: states {sorted(map(sorted, states))}\n{renaming.text()}"


def main():
    draw = random.Random(SEED)
    with open(ORACLE, encoding="ascii") as file:
        tests = [json.loads(line) for line in file]
    renamings = [Renaming(test["litmus"], draw) for test in tests]
    changed = sum(renaming.text() != test["litmus"] for test, renaming in zip(tests, renamings))
    with tempfile.TemporaryDirectory() as folder:
        found = judge(folder, [renaming.text() for renaming in renamings])
    wrong = list(differences(tests, renamings, found))
    verdict(
        changed == len(found) == len(tests) > 0, "every test has a variant",
        f"{changed} of {len(tests)} changed, {len(found)} judged"
    )
    verdict(not wrong, "and is judged as before", "\n".join([f"{len(wrong)} differ"] + wrong[:3]))
    return exit_code()


sys.exit(main())
