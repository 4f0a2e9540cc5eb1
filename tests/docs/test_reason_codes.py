"""docs/reason-codes.md has every reason code that the code can produce, and no other."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import yaml
from docs.pages import ROOT, headings, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CORE = ROOT / "engine" / "agentfence" / "core"
CASES = ROOT / "tests" / "cases"
WITHOUT_CODES = ("audit", "policy", "redaction", "oauth.py", "json_writing.py")
"""Parts of the core that decide no call: their words are the log's, the policy language's, or OAuth's."""
WORD = re.compile(r"[a-z]+(?:_[a-z]+)+")
DOCUMENTED = {heading.strip("`") for heading in headings(read("docs/reason-codes.md")) if heading[0] == "`"}


def words_of(module: Path) -> Iterator[str]:
    """The texts of several words in a module that a decision could carry."""
    tree = ast.parse(module.read_text())
    names = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(
            isinstance(target, ast.Name) and target.id in {"__all__", "__slots__"} for target in node.targets
        )
        for part in ast.walk(node.value)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in names:
            yield from WORD.findall(node.value) if WORD.fullmatch(node.value) else ()


def words_of_the_core() -> dict[str, str]:
    """Each word with a module that has it."""
    modules = [file for file in sorted(CORE.rglob("*.py")) if not set(WITHOUT_CODES) & set(file.parts)]
    return {word: module.relative_to(CORE).as_posix() for module in modules for word in words_of(module)}


def codes_of_the_cases() -> set[str]:
    """The codes that the table of decisions expects, and those of one word among them."""
    contents: list[dict[str, Any]] = [
        yaml.safe_load(file.read_text()) for file in (CASES / "decisions").glob("*.yaml")
    ]
    cases = [case for content in contents for case in content["cases"]]
    expected = {case["code"] for case in cases if "code" in case}
    return expected | {event[2] for case in cases for event in case.get("events", ())}


def test_every_code_of_the_core_is_documented() -> None:
    """A new word of the core is a reason code with a heading, a word of the policy language or of the log."""
    known = set(WORD.findall((CORE / "policy" / "language.py").read_text()))
    known |= set(WORD.findall(read("docs/audit.md")))

    unknown = {word: module for word, module in words_of_the_core().items() if word not in known | DOCUMENTED}

    assert unknown == {}, "give each a heading in docs/reason-codes.md, or describe it in docs/audit.md"


def test_every_code_of_the_cases_is_documented() -> None:
    assert codes_of_the_cases() - DOCUMENTED == set()


def test_every_documented_code_exists() -> None:
    """Also those that are put together: then a case expects them."""
    cases = "\n".join(file.read_text() for file in CASES.rglob("*.yaml"))
    expected = set(re.findall(r"\b(?:code|expect): ([a-z_]+)", cases)) | codes_of_the_cases()
    source = "\n".join(file.read_text() for file in CORE.rglob("*.py"))

    assert {code for code in DOCUMENTED if code not in expected and f'"{code}"' not in source} == set()


def test_every_code_says_what_to_do() -> None:
    page = read("docs/reason-codes.md")
    entries = re.split(r"^### ", page, flags=re.MULTILINE)[1:]

    assert [entry.split("\n")[0] for entry in entries if "\n*To do:* " not in entry] == []
    assert len(entries) == len(DOCUMENTED)
