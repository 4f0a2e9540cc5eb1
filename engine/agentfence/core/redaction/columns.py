"""Secrets that the head of a column gives away: rows of SQL's `INSERT`, of CSV, of a table in text.

Not here: a single row without its head.

Invariants
- Each row is read once, and the whole is linear.
- A value that is a reference, a placeholder or a plain word of a table stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.assignments import NAMED, named_once
from agentfence.core.redaction.checks import has_digit, looks_chosen, looks_issued_or_hex, looks_random
from agentfence.core.redaction.names import Proof, SecretName
from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import Span
from agentfence.core.redaction.values import is_honest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentfence.core.redaction.work import Work


def _forms(blank: bytes, line_end: bytes) -> tuple[bytes, ...]:
    """Give how a head of columns with a secret's name and the beginning of its rows look, for RE2."""
    return (
        NAMED + rb"[^()'=;]*\)" + blank + rb"*(?i:values|value|select|output)(?:\(|" + blank + rb")",  # SQL
        NAMED + rb"""[\f"'\\]*[,;\t][A-Za-z0-9_.,;\t\f"'-]*""" + line_end + rb"[^\n,;\t]*[,;\t]",  # CSV
        rb"""[,;\t][\f"'\\]*[A-Za-z0-9_.-]*""" + NAMED + rb"""[\f"']*""" + line_end + rb"[^\n,;\t]*[,;\t]",
        NAMED + rb"[^\n|]*\|[^\n]*" + line_end + rb"[\f\t >]*\|?[ :]*---?-*[ :]*\|",  # Markdown
        NAMED + rb"[^\n]*" + line_end + rb"[\f\t >]*\+?---*\+",  # what the shells of databases print
        NAMED
        + rb"[^\n|]*\|[^\n|]*(?:\|[^\n|]*)*"
        + line_end
        + rb"[\f\t ]*\|[^\n]*\|",  # a table without a line
    )


FORMS = _forms(rb"\s", rb"\f?\r?\f?\n")
"""A head of columns and how its rows begin, as expressions for RE2."""
QUOTED_FORMS = _forms(rb"(?:\s|\\+[nrt])", rb"(?:\\+r)?\\+n")
"""The same within nested JSON."""

_COST = 40
_COST_OF_A_ROW = 8
_KEYWORD = late_regex(rb"\)[\s\f]*+((?i:values|value|select|output))(?=[\s(\f])")
"""What stands between the columns of SQL and their values."""
_RULE = late_regex(rb"\n[\f\t >]*[|+]?[ :]*--")
_LONGEST_HEAD = 4096
_SHORTEST_RANDOM = 12
_SHORTEST_WORD = 5
"""Of letters alone: `yes` is none."""
_SQL_TOKEN = late_regex(
    rb"""(?P<quoted>[NnEe]?'(?:[^'\\]|\\.|'')*+'?|"(?:[^"\\]|\\.)*+"?)|(?P<open>\()|(?P<close>\))|(?P<comma>,)"""
    rb"""|(?P<end>;)|(?P<word>[^\s'"(),;]++)""",
    re.DOTALL,
)
_HEAD_FIELD = late_regex(rb"""[A-Za-z_\x80-\xff][A-Za-z0-9_.\x80-\xff-]{0,60}""")
_INSIDE = late_regex(rb"""\A[^\n]*[ :=(](?=[\f"'])""")
"""What stands before the head in its line, where the table is a text of JSON or code."""
_QUOTED_FIELDS = {
    mark: late_regex(rb"""((?:[^"%b]|"[^"]*+"?)*+)(?:%b|\Z)""" % (mark, re.escape(mark)))
    for mark in (b",", b";", b"\t", b"|")
}
_STRING_KINDS = frozenset({b"N", b"n", b"E", b"e"})
"""What SQL writes before a string."""
_QUOTES = b"\"'`[]\f \r"


class Columns:
    """Finds the values of columns whose names announce a secret."""

    __slots__ = ("_classify", "_scanner")

    def __init__(self, classify: Callable[[str], SecretName | None]) -> None:
        """Take what tells of a name whether it announces a secret."""
        self._classify = classify
        self._scanner = byte_scanner(named_once(FORMS))

    def find(self, text: bytes, work: Work) -> Iterator[Span]:
        """Give the secrets in `text`."""
        position = 0
        for _ in work.looks(_COST):
            found = self._scanner.search_near(text, position)
            if found is None:
                return
            start, end = found
            position = end
            for span in self._read(text, start, end, work):
                yield span
                position = max(position, span.end)
            if work.is_done:
                break
        yield Span.unread(position)

    def _read(self, text: bytes, start: int, end: int, work: Work) -> Iterator[Span]:
        keyword = _KEYWORD.search(text, start, end)
        if keyword:
            return self._read_sql(text, start, keyword, work)
        if text[start:end].endswith((b"|", b"+")):
            return self._read_markdown(text, start, end, work)
        return self._read_csv(text, start, work)

    def _secrets(self, names: list[bytes]) -> dict[int, SecretName]:
        named = ((index, self._classify(name.decode(errors="replace"))) for index, name in enumerate(names))
        return {index: secret for index, secret in named if secret}

    def _read_sql(self, text: bytes, start: int, keyword: re.Match[bytes], work: Work) -> Iterator[Span]:
        first = text.rfind(b"(", max(0, start - _LONGEST_HEAD), start) + 1
        last = keyword.start()
        secrets = self._secrets([name.strip(_QUOTES) for name in text[first:last].split(b",")])
        if not secrets or not first:
            return
        column = depth = 0
        is_select = keyword[1].lower() == b"select"
        row_depth = 0 if is_select else 1
        for token in _SQL_TOKEN.finditer(text, keyword.end()):
            if not work.spend(1):
                return
            match token.lastgroup:
                case "open":
                    depth += 1
                    column = 0 if depth == row_depth else column
                case "close":
                    depth -= 1
                case "comma" if depth == row_depth:
                    column += 1
                case "end":
                    return
                case "word" if depth < row_depth or (is_select and token[0].lower() == b"from"):
                    return
                case "quoted" if depth >= row_depth and column in secrets:
                    yield from _of_value(text, *token.span(), secrets[column])
                case "word" if depth == row_depth and column in secrets and has_digit(token[0][:1]):
                    yield from _of_value(text, *token.span(), secrets[column])

    def _read_csv(self, text: bytes, start: int, work: Work) -> Iterator[Span]:
        first, last = _line(text, start)
        head = _INSIDE.sub(b"", text[first:last])
        separator = next((mark for mark in (b"\t", b";", b",") if mark in head), b",")
        names = [name.strip(_QUOTES) for name in head.split(separator)]
        if b" " in head.replace(b'"', b"") or not all(map(_HEAD_FIELD.fullmatch, names)):
            return
        above = _line_above(text, first)
        if above.strip() and above.count(separator) == head.count(separator):
            return  # a row among others
        yield from self._read_rows(text, last, separator, names, work)

    def _read_markdown(self, text: bytes, start: int, end: int, work: Work) -> Iterator[Span]:
        first, last = _line(text, start)
        names = [name.strip(_QUOTES + b"*") for name in text[first:last].split(b"|")]
        if _RULE.match(text, last):
            yield from self._read_rows(text, text.find(b"\n", end), b"|", names, work)
        elif b"|" not in _line_above(text, first):
            yield from self._read_rows(text, last, b"|", names, work)

    def _read_rows(
        self, text: bytes, position: int, separator: bytes, names: list[bytes], work: Work
    ) -> Iterator[Span]:
        """Give the secrets of the lines behind `position`, as long as each has a field for each name."""
        secrets = self._secrets(names)
        while secrets and 0 <= position < len(text) - 1 and work.spend(_COST_OF_A_ROW):
            first, position = position + 1, text.find(b"\n", position + 1)
            fields = _fields(text[first : position if position >= 0 else len(text)], separator)
            if len(fields) != len(names):
                return
            for index, secret in secrets.items():
                start = first + sum(map(len, fields[:index])) + index
                yield from _of_value(text, start, start + len(fields[index]), secret)


def _line(text: bytes, position: int) -> tuple[int, int]:
    """Give where the line with the head starts, if that is near, and where it ends."""
    while text[position : position + 1] in {b"\n", b"\r"}:
        position += 1
    return text.rfind(b"\n", max(0, position - _LONGEST_HEAD), position) + 1, text.find(b"\n", position)


def _line_above(text: bytes, first: int) -> bytes:
    """Give the line above the one that starts there, if that is near."""
    return text[text.rfind(b"\n", max(0, first - _LONGEST_HEAD), max(0, first - 1)) + 1 : first]


def _fields(line: bytes, separator: bytes) -> list[bytes]:
    """Give the fields of a line, which has a separator between each two."""
    if b'"' not in line:
        return line.split(separator)
    fields: list[bytes] = _QUOTED_FIELDS[separator].findall(line)
    return fields if line.endswith(separator) else fields[:-1]


def _of_value(text: bytes, start: int, end: int, secret: SecretName) -> Iterator[Span]:
    """Give the secret of a value, quoted or not."""
    value = text[start:end]
    if value[:1] in _STRING_KINDS and value[1:2] == b"'":
        start, value = start + 1, value[1:]
    start, end = end - len(value.lstrip(_QUOTES)), start + len(value.rstrip(_QUOTES))
    value = text[start:end]
    if value and not is_honest(text, start) and _is_told(value, secret):
        yield Span(start, end, secret.label, by_name=True)


def _is_told(value: bytes, secret: SecretName) -> bool:
    """Whether a value is what the head of its column says: no remark, and no plain word of a table."""
    match secret.proof:
        case Proof.DIGITS:
            return value.isdigit()
        case Proof.RANDOM:
            return len(value) >= _SHORTEST_RANDOM and looks_random(value)
        case Proof.ISSUED:
            return len(value) >= _SHORTEST_RANDOM and looks_issued_or_hex(value)
        case Proof.CHOSEN:
            return looks_chosen(value)
        case Proof.NONE:
            return b" " not in value and (len(value) >= _SHORTEST_WORD or not value.isalpha())
