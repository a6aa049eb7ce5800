"""
A source as calls and statements: a tokenizer that knows comments, strings and
brackets, and nothing of types.
"""
import re
from dataclasses import dataclass, field

OPENING, CLOSING = "([{", ")]}"
CONTROL = ("if", "for", "while", "switch", "TSR_EACH")


@dataclass
class Call:
    """name(arguments) at text[start:end]; `arguments` are (start, end) without the blanks around
    them."""

    name: str
    start: int
    end: int
    arguments: list


@dataclass
class Statement:
    """text[start:end]. `inner` are the statements in it, one after the other where `block`, else a
    control statement's bodies."""

    start: int
    end: int
    block: bool = False
    inner: list = field(default_factory=list)


class Source:
    def __init__(self, text):
        self.text = text
        self.code = _blanked(text)  # as long as the text

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1

    def calls(self, pattern):
        """Every call of a function whose whole name matches, in order."""
        for match in re.finditer(rf"\b({pattern})\s*\(", self.code):
            if self._is_directive(match.start()):
                continue
            end = self._closed(match.end() - 1)
            yield Call(match.group(1), match.start(), end, self._arguments(match.end(), end - 1))

    def of(self, span):
        return self.text[span[0] : span[1]]

    def bodies(self):
        """The functions' bodies, as blocks of statements."""
        position = 0
        while (position := self.code.find("{", position)) >= 0:
            end = self._closed(position)
            if self.code[:position].rstrip().endswith(")"):
                yield self._statement(position)
            position = end

    def siblings(self, start, end):
        """
        Where text[start:end] lies among statements that follow one another: (list, index). A
        control statement around it and it alone, in braces or not, goes with it. None where it is
        in no function.
        """
        for body in self.bodies():
            if body.start <= start and end <= body.end:
                return _find(body, start, end) or (body.inner, 0)
        return None

    def _is_directive(self, position):
        line = self.code[self.code.rfind("\n", 0, position) + 1 : position]
        return line.lstrip().startswith("#")

    def _closed(self, position):
        """Behind the bracket that closes the one at `position`."""
        depth = 0
        for i in range(position, len(self.code)):
            depth += (self.code[i] in OPENING) - (self.code[i] in CLOSING)
            if depth == 0:
                return i + 1
        raise ValueError(f"line {self.line_of(position)}: a bracket is not closed")

    def _arguments(self, begin, end):
        spans, depth, start = [], 0, begin
        for i in range(begin, end + 1):
            if i == end or self.code[i] == "," and depth == 0:
                spans.append(self._trimmed(start, i))
                start = i + 1
            elif self.code[i] in OPENING + CLOSING:
                depth += 1 if self.code[i] in OPENING else -1
        return spans

    def _trimmed(self, start, end):
        while start < end and self.code[start].isspace():
            start += 1
        while end > start and self.code[end - 1].isspace():
            end -= 1
        return start, end

    def _word(self, position):
        match = re.compile(r"\w+").match(self.code, position)
        return match.group(0) if match else ""

    def _skip(self, position):
        while self.code[position].isspace():
            position += 1
        return position

    def _statement(self, position):
        start = self._skip(position)
        word = self._word(start)
        if self.code[start] == "{":
            return self._block(start)
        if word in CONTROL:
            body = self._statement(self._closed(self.code.index("(", start)))
            found = Statement(start, body.end, inner=[body])
            after = self._skip(body.end)
            if word == "if" and self._word(after) == "else":
                found.inner.append(self._statement(after + len("else")))
                found.end = found.inner[-1].end
            return found
        if word == "do":
            body = self._statement(start + len("do"))
            return Statement(start, self._until_semicolon(body.end), inner=[body])
        return Statement(start, self._until_semicolon(start))

    def _block(self, start):
        found, position, end = (
            Statement(start, self._closed(start), block=True), start + 1, self._closed(start) - 1
        )
        while (position := self._skip(position)) < end:
            found.inner.append(self._statement(position))
            position = found.inner[-1].end
        return found

    def _until_semicolon(self, position):
        while self.code[position] != ";":
            position = self._closed(position) if self.code[position] in OPENING else position + 1
        return position + 1


def _find(statement, start, end):
    for index, inner in enumerate(statement.inner):
        if inner.start <= start and end <= inner.end:
            deeper = _find(inner, start, end)
            if deeper:
                return deeper
            return (
                (statement.inner, index) if statement.block and len(statement.inner) > 1 else None
            )
    return None


def _blanked(text):
    """The text with comments and the insides of strings as blanks; lines stay."""
    pattern = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
