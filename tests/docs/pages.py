"""The project's pages, as tests read them: headings, tables, examples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("tests/**/*.md"),
        *ROOT.glob("policies/**/*.md"),
    ]
)
_FENCE = re.compile(r"^(`{3,})([^`\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """A block of code in a page; `info` is what stands behind the opening fence."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def name(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(name: str) -> str:
    return (ROOT / name).read_text()


def examples(info: str, *pages: Path) -> list[Example]:
    """The blocks whose opening fence says exactly `info`, of some pages or of all."""
    return [example for page in pages or PAGES for example in _blocks(page) if example.info == info]


def _blocks(page: Path) -> Iterator[Example]:
    text = page.read_text()
    for found in _FENCE.finditer(text):
        yield Example(page, text.count("\n", 0, found.start()) + 1, found[2].strip(), found[3])


def prose(text: str) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", text)


def headings(text: str) -> list[str]:
    """All headings, without their signs."""
    return re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)


def anchors(text: str) -> set[str]:
    """What a link to a heading of this page may end in, as the common hosts make it."""
    return {
        re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        for heading in headings(text)
    }


def section(text: str, heading: str) -> str:
    """What stands under a heading, down to the next one of its level or above."""
    found = re.search(rf"^(#+) {re.escape(heading)}$\n(.*)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading `{heading}`"
    return re.split(rf"^#{{1,{len(found[1])}}} ", found[2], maxsplit=1, flags=re.MULTILINE)[0]


def tables(text: str) -> list[list[list[str]]]:
    """All tables, as rows of cells, without their heads."""
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", prose(text), re.MULTILINE)
    return [[_cells(line) for line in block.splitlines()[2:]] for block in blocks]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def code(cell: str) -> str:
    """The one piece of code in a cell."""
    (found,) = re.findall(r"`([^`]+)`", cell)
    return found
