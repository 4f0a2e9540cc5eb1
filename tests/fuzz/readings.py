"""How servers were seen to read bytes: each reading that finds a message, as lenient as any of them."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "latin-1")


def calls_seen(octets: bytes, *, reads_lines: bool = True) -> set[str]:
    """The tools that some server would run for these bytes; over HTTP none splits a body into lines."""
    return {
        tool
        for text in _texts(octets)
        for value in _values(text, reads_lines=reads_lines)
        for tool in _tools(value)
    }


def _texts(octets: bytes) -> Iterator[str]:
    plain = [octets]
    for undo in (gzip.decompress, zlib.decompress):
        try:
            plain.append(undo(octets))
        except (OSError, EOFError, zlib.error):
            continue
    for content in plain:
        yield content.decode("utf-8", "replace")
        for encoding in _ENCODINGS:
            try:
                yield content.decode(encoding)
            except ValueError:
                continue


def _values(text: str, *, reads_lines: bool) -> Iterator[Any]:
    pieces = (
        {text}
        if not reads_lines
        else {text, *re.split(r"[\r\n]+", text), *text.splitlines(), *text.split("\x1e"), *text.split("\x00")}
    )
    for piece in pieces:
        for pairs in (dict, _first_wins, _folded):
            decoder = json.JSONDecoder(object_pairs_hook=pairs, strict=False)
            start = re.match(r"[\s\ufeff]*", piece).end()  # type: ignore[union-attr]
            try:
                yield decoder.raw_decode(piece, start)[0]
            except (ValueError, RecursionError):
                continue


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def _folded(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key.partition("\0")[0].strip().casefold(): value for key, value in pairs}


def _tools(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for member in value:
            yield from _tools(member)
    elif (
        isinstance(value, dict)
        and isinstance(value.get("method"), str)
        and value["method"].strip().casefold() == "tools/call"
    ):
        params = value.get("params")
        if isinstance(params, dict) and isinstance(params.get("name"), str):
            yield params["name"]
