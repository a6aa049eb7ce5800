"""The table: which tool caught which mutant."""
import collections
from dataclasses import dataclass

BEGIN, END = "<!-- tests/mutants/run: begin -->", "<!-- tests/mutants/run: end -->"


@dataclass
class Row:
    mutant: object
    verdicts: dict
    failure: str
    seconds: float


def markdown(rows, names):
    """The mutants that were written one by one, the generated ones counted by kind."""
    written = [row for row in rows if row.mutant.kind in ("hand", "library")]
    generated = [row for row in rows if row.mutant.kind not in ("hand", "library", "original")]
    parts = []
    if written:
        parts.append(
            _table(["mutant", "bug", "expected"] + names, [_written(row, names) for row in written])
        )
    if generated:
        parts.append(_table(["weakening", "mutants"] + names, list(_counted(generated, names))))
    return "\n".join(parts)


def _written(row, names):
    expected = " or ".join(row.mutant.classes) or "a failing test"
    return [f"`{row.mutant.id}`", row.mutant.iris or "-", expected] + [
        cell(row.verdicts.get(name), row.mutant.kind) for name in names
    ]


def cell(verdict, kind):
    """A verdict in a few words. An original is not caught or missed."""
    if verdict is None:
        return "-"
    if verdict.why == "not a kernel":
        return verdict.why
    state = (
        {"caught": "not silent", "missed": "silent"}.get(verdict.state, verdict.state)
        if kind == "original"
        else verdict.state
    )
    return state + (f": {verdict.why}" if verdict.why else "")


def _counted(rows, names):
    kinds = sorted({row.mutant.kind for row in rows})
    for kind in kinds + (["all"] if len(kinds) > 1 else []):
        of_kind = [row for row in rows if kind in (row.mutant.kind, "all")]
        cells = []
        for name in names:
            count = collections.Counter(
                _state(row, name) for row in of_kind if name in row.verdicts
            )
            cells.append(", ".join(f"{number} {state}" for state, number in sorted(count.items())))
        yield [kind, str(len(of_kind))] + cells


def _state(row, name):
    """Nobody misses a mutant that one tool has shown equivalent, or that is explained."""
    state = row.verdicts[name].state
    all_states = [each.state for each in row.verdicts.values()]
    settled = next((each for each in ("equivalent", "explained") if each in all_states), state)
    return settled if state == "missed" else state


def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return (
        "\n".join(
            lines
            + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        )
        + "\n"
    )


def insert(path, text):
    """Writes the table into a page between its markers, or the page, where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            page = file.read()
    except FileNotFoundError:
        page = f"{BEGIN}\n{END}\n"
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise SystemExit(f"run: {path} has no place for the table: two lines, {BEGIN} and {END}")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}{END}{after}")


def as_json(rows):
    return [
        {
            "id": row.mutant.id,
            "kind": row.mutant.kind,
            "target": row.mutant.target,
            "file": row.mutant.edits[0]["file"] if row.mutant.edits else "",
            "line": row.mutant.line,
            "iris": row.mutant.iris,
            "thread": row.mutant.thread,
            "changed": row.mutant.changed,
            "classes": row.mutant.classes,
            "seconds": round(row.seconds, 3),
            "failure": row.failure,
            "verdicts": {
                name: {"state": verdict.state, "why": verdict.why, "findings": verdict.findings}
                for name, verdict in row.verdicts.items()
            },
        }
        for row in rows
    ]
