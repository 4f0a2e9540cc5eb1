"""What stands between words: blanks, comments, line breaks, and the here-documents behind those.

This is the middle part of `shell_reading`, which says what its results promise.
"""

from __future__ import annotations

import re

from agentfence.core.constraints.shell_words import UnreadableError, Word, WordReader
from agentfence.core.values import frozen

_match_blanks = re.compile(r"(?:[ \t]++|(?:(?<=[ \t\n;|(])|(?<=&&)|\A)\\\n)*+").match
_match_comment = re.compile(r"#[^\n]*").match
_has_closer = re.compile(r"[)'\"`]").search
_match_delimiter = re.compile(
    r"""(\\?)([\w.:-]+)(?=[\s;&|)<>]|\Z)|(['"])([^'"\\$`\n]+)\3(?=[\s;&|)<>]|\Z)"""
).match
_has_expansion = re.compile(r"[$`\\]").search
_BLANKS = frozenset(" \t\\#")


@frozen
class _HereDocument:
    delimiter: str
    is_expanded: bool
    strips_tabs: bool
    inputs: list[Word]
    """Where its text belongs."""


class LineReader(WordReader):
    """A place in a text, and how to go on to the next word.

    Every method of it raises `UnreadableError`.
    """

    __slots__ = ("documents", "inputs")

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.documents: list[_HereDocument] = []
        """Those that begin on the next line."""
        self.inputs: list[Word] = []
        """The here-documents and here-strings of the command at hand."""

    @property
    def awaits_document(self) -> bool:
        """Whether a here-document begins on the next line."""
        return bool(self.documents)

    def awaits_document_for(self, inputs: list[Word]) -> bool:
        """Whether a here-document begins on the next line that belongs to these."""
        return any(document.inputs is inputs for document in self.documents)

    def read_delimiter(self, *, strips_tabs: bool) -> None:
        """Read the word behind `<<`, which ends the here-document."""
        delimiter = _match_delimiter(self.text, self.position)
        if delimiter is None:
            raise UnreadableError("a here-document whose end is not a plain word")
        escape, bare, quote, quoted = delimiter.groups()
        self.documents.append(_HereDocument(bare or quoted, not (escape or quote), strips_tabs, self.inputs))
        self.position = delimiter.end()

    def skip_blanks(self) -> None:
        """Go on to the next word, operator or line break."""
        if self.text[self.position : self.position + 1] not in _BLANKS:
            return
        blanks = _match_blanks(self.text, self.position)
        self.position = blanks.end() if blanks else self.position
        if comment := _match_comment(self.text, self.position):
            if self.depth and _has_closer(comment.group()):
                raise UnreadableError("a comment in a substitution that old shells look for its end in")
            self.position = comment.end()

    def skip_lines(self) -> None:
        """Go on to the next word or operator, on any line."""
        self.skip_blanks()
        while self.text.startswith("\n", self.position):
            self.take_line_break()
            self.skip_blanks()

    def take_line_break(self) -> None:
        """Go on to the next line, and past the here-documents that begin there."""
        self.position += 1
        documents, self.documents = self.documents, []
        for document in documents:
            self._read_document(document)

    def _read_document(self, document: _HereDocument) -> None:
        start = self.position
        is_continued = False
        while self.position < len(self.text):
            line_start = self.position
            line = self._take_line()
            if (line.lstrip("\t") if document.strips_tabs else line) == document.delimiter:
                if is_continued:
                    raise UnreadableError("a continued line before the end of a here-document")
                body = self.text[start:line_start]
                if document.is_expanded:
                    self.nest(body).read_document()
                is_known = not document.is_expanded or not _has_expansion(body)
                document.inputs.append(Word(body, is_known))
                return
            is_continued = document.is_expanded and (len(line) - len(line.rstrip("\\"))) % 2 == 1
        raise UnreadableError("a here-document without its end")

    def _take_line(self) -> str:
        end = self.text.find("\n", self.position)
        line = self.text[self.position : end if end >= 0 else len(self.text)]
        self.position += len(line) + (end >= 0)
        return line
