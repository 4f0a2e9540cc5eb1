"""YAML text into a tree of JSON values with places.

YAML has many ways to mean something other than it shows, so what is read here is a small part of it:

- values are JSON's: `no`, `0777`, `12:30` and `2027-12-31` are text, only `true` and `false` are
  truth values, only JSON's numbers are numbers; nothing, `~` and `null` are null;
- keys are text, and no key stands twice in one mapping;
- anchors, aliases and `<<` are fine, as far as what they expand to stays small;
- tags, a second document, and anything too deep or too large are refused.

PyYAML's events are used, never its constructors: no object is ever made from a tag.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NoReturn

import yaml
from yaml.reader import Reader

from agentfence.core.errors import PolicyError
from agentfence.core.policy.nodes import (
    MAX_BYTES,
    Entry,
    Items,
    Node,
    Position,
    Scalar,
    Source,
    Table,
    in_order,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.errors import Problem

MAX_DEPTH = 64
MAX_ALIASED_NODES = 10_000
_LONGEST_NUMBER = 256

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_TWO_READINGS = re.compile("[\x85\u2028\u2029\ufeff]")  # line ends in YAML 1.1 (or nothing), text in 1.2
_KEYWORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_TAGS_OF_YAML = "tag:yaml.org,2002:"
_EVENTS = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_QUOTE_IT = "a text that begins with one of * & ! % @ ` needs quotes"


def read_document(name: str, content: bytes) -> Node:
    """Give the tree of one YAML file; an empty file is an empty mapping.

    Raises `PolicyError` when it is not one document of the YAML that is read here.
    """
    source = _decode(name, content)
    return _Composer(source).document()


def _decode(name: str, content: bytes) -> Source:
    if len(content) > MAX_BYTES:
        _refuse(Source(name), 0, "file_too_large", f"expected at most {MAX_BYTES} bytes, got more")
    try:
        source = Source(name, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        readable = Source(name, content[: error.start].decode("utf-8-sig", "replace"))
        message = f"expected UTF-8 text, got the byte 0x{content[error.start]:02x}"
        _refuse(readable, len(readable.text), "not_utf8", message, "save the file as UTF-8")
    unprintable = Reader.NON_PRINTABLE.search(source.text) or _TWO_READINGS.search(source.text)
    if unprintable:
        shown = f"U+{ord(unprintable[0]):04X}"
        _refuse(source, unprintable.start(), "yaml_syntax", f"the character {shown} may not stand in YAML")
    return source


def _refuse(source: Source, index: int, code: str, message: str, advice: str | None = None) -> NoReturn:
    raise PolicyError([source.position_at(index).problem(code, message, (), advice)])


class _Composer:
    """Builds the tree from events; collects what is wrong but readable, stops where reading ends."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._anchors: dict[str, Node | None] = {}
        self._aliased = 0
        self._problems: list[Problem] = []
        self._events = _events(source)

    def document(self) -> Node:
        node: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if node is not None:
                    self._stop(self._span(event), "second_document", "expected one YAML document, got two")
                node = self._node(next(self._events), 1)
        if self._problems:
            raise PolicyError(in_order(self._problems))
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return Table({}, Position(self._source, 1, 1))
        return node

    def _node(self, event: yaml.Event, depth: int) -> Node:
        position = self._span(event)
        if isinstance(event, yaml.AliasEvent):
            return self._aliased_node(event.anchor or "", position, depth)
        if depth > MAX_DEPTH:
            self._stop(position, "too_deep", f"expected at most {MAX_DEPTH} levels")
        if not isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            raise TypeError(event)
        if event.tag is not None:
            self._note(
                position,
                "tag",
                f"tags such as `{event.tag.replace(_TAGS_OF_YAML, '!!')}` are not read here",
                "leave it out, or quote the text",
            )
        if event.anchor is None:
            return self._content(event, position, depth)
        self._anchors[event.anchor] = None  # open: an alias inside it would be a circle
        node = self._anchors[event.anchor] = self._content(event, position, depth)
        return node

    def _content(self, event: yaml.Event, position: Position, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, position)
        if isinstance(event, yaml.SequenceStartEvent):
            return Items(tuple(self._items(depth)), position)
        return self._table(position, depth)

    def _items(self, depth: int) -> Iterator[Node]:
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield self._node(event, depth + 1)

    def _table(self, position: Position, depth: int) -> Table:
        entries: dict[str, Entry] = {}
        merged: list[Table] = []
        merge_at: Position | None = None
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if not isinstance(key, Scalar):
                self._note(key.position, "complex_key", "expected a text as key, got a list or a mapping")
            elif key.text == "<<" and not key.is_quoted:
                self._refuse_twice("<<", merge_at, key.position)
                merge_at = key.position
                merged += self._merged(value)
            else:
                present = entries.get(key.text)
                self._refuse_twice(key.text, present.key if present else None, key.position)
                entries[key.text] = Entry(key.position, value)
        for table in merged:  # YAML 1.1 merge key: written keys win, then the first of the merged
            for text, entry in table.entries.items():
                entries.setdefault(text, entry)
        return Table(entries, position)

    def _refuse_twice(self, key: str, first: Position | None, again: Position) -> None:
        if first is not None:
            advice = f"it stands first in line {first.line}"
            self._note(again, "duplicate_key", f"key `{key}` stands twice", advice)

    def _merged(self, value: Node) -> list[Table]:
        candidates = value.items if isinstance(value, Items) else (value,)
        tables = [candidate for candidate in candidates if isinstance(candidate, Table)]
        if len(tables) != len(candidates):
            self._note(value.position, "wrong_merge", "expected a mapping or a list of mappings after `<<`")
        return tables

    def _scalar(self, event: yaml.ScalarEvent, position: Position) -> Scalar:
        text = event.value
        if event.style:
            return Scalar(text, position, text, is_quoted=True)
        if text in _KEYWORDS:
            return Scalar(_KEYWORDS[text], position, text)
        number = _JSON_NUMBER.match(text)
        if number is None:
            return Scalar(text, position, text)
        value = self._number(text, is_whole=number.lastindex is None, position=position)
        return Scalar(value, position, text)

    def _number(self, text: str, *, is_whole: bool, position: Position) -> int | float:
        if len(text) <= _LONGEST_NUMBER:
            value = int(text) if is_whole else float(text)
            if is_whole or math.isfinite(value):
                return value
        self._note(position, "number_too_large", "the number is too large", "write it as a text, in quotes")
        return 0

    def _aliased_node(self, anchor: str, position: Position, depth: int) -> Node:
        node = self._anchors.get(anchor)
        if node is None:
            what = "stands inside its own anchor" if anchor in self._anchors else "names no anchor before it"
            self._note(position, "unknown_alias", f"the alias `*{anchor}` {what}", _QUOTE_IT)
            return Scalar("", position, "", is_quoted=True)
        self._count(node, position, depth)
        return node

    def _count(self, node: Node, position: Position, depth: int) -> None:
        """Count every node that an alias brings in, so that a few lines cannot grow without bound."""
        self._aliased += 1
        if self._aliased > MAX_ALIASED_NODES:
            self._stop(position, "too_many_aliases", f"aliases repeat more than {MAX_ALIASED_NODES} values")
        if depth > MAX_DEPTH:
            self._stop(position, "too_deep", f"expected at most {MAX_DEPTH} levels")
        children = node.items if isinstance(node, Items) else ()
        if isinstance(node, Table):
            children = tuple(entry.value for entry in node.entries.values())
        for child in children:
            self._count(child, position, depth + 1)

    def _span(self, event: yaml.Event) -> Position:
        start, end = event.start_mark, event.end_mark
        if start is None or end is None:  # only events made by hand have no marks
            return Position(self._source, 1, 1)
        width = end.column - start.column if end.line == start.line else 0
        is_collection = isinstance(event, yaml.CollectionStartEvent)
        return Position(self._source, start.line + 1, start.column + 1, 1 if is_collection else width)

    def _note(self, position: Position, code: str, message: str, advice: str | None = None) -> None:
        self._problems.append(position.problem(code, message, (), advice))

    def _stop(self, position: Position, code: str, message: str) -> NoReturn:
        raise PolicyError(in_order([*self._problems, position.problem(code, message)]))


def _events(source: Source) -> Iterator[yaml.Event]:
    """Give the events of the text; raises `PolicyError` where it is not YAML."""
    try:
        yield from yaml.parse(source.text, Loader=_EVENTS)
    except yaml.MarkedYAMLError as error:
        position = _place_of(error, source)
        message = "not readable as YAML: " + ": ".join(filter(None, (error.context, error.problem)))
        advice = _syntax_advice(error, position)
        raise PolicyError([position.problem("yaml_syntax", message, (), advice)]) from error
    except yaml.YAMLError as error:
        raise PolicyError([Position(source, 1, 1).problem("yaml_syntax", "not readable as YAML")]) from error


def _place_of(error: yaml.MarkedYAMLError, source: Source) -> Position:
    """Give where reading stopped, or where what is not finished began when that is the end of the file."""
    mark = error.problem_mark or error.context_mark
    if mark and error.context_mark and not source.line(mark.line + 1):
        mark = error.context_mark
    return Position(source, mark.line + 1, mark.column + 1) if mark else Position(source, 1, 1)


def _syntax_advice(error: yaml.MarkedYAMLError, position: Position) -> str | None:
    around = position.source.line(position.line)[max(position.column - 2, 0) : position.column]
    if around.endswith("\t"):
        return "indent with blanks, not with tabs"
    if "mapping values are not allowed" in (error.problem or ""):
        return "look at how the lines are indented; a text that holds `: ` needs quotes"
    if re.search(r"[*&!%@`]", around):
        return _QUOTE_IT
    begun = error.context_mark
    return f"what is not closed begins in line {begun.line + 1}" if _is_open(error) and begun else None


def _is_open(error: yaml.MarkedYAMLError) -> bool:
    return (error.context or "").endswith(("a flow mapping", "a flow sequence", "a quoted scalar"))
