"""What holds for every page: links lead somewhere, a line is a sentence, a promise names its test."""

from __future__ import annotations

import re

import pytest
from docs.pages import PAGES, ROOT, anchors, name_of, prose, read, section, tables

PAGE_NAMES = [name_of(page) for page in PAGES]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SENTENCE_END = re.compile(r"[^.\s][.!?] [A-Z`*]")
MARKER = re.compile(r"^\s*(?:\d+\.|-) +")


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_relative_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    broken = []
    for target in LINK.findall(prose(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked.read_text())):
            broken.append(target)

    assert broken == []


@pytest.mark.parametrize("name", [name for name in PAGE_NAMES if not name.startswith("tests/")])
def test_a_line_holds_one_sentence(name: str) -> None:
    lines = [MARKER.sub("", re.sub(r"`[^`]*`", "code", line)) for line in prose(read(name)).splitlines()]
    long = [line for line in lines if line[:1] not in {"|", "#"} and SENTENCE_END.search(line)]

    assert long == []


def test_every_page_is_reached_from_the_index_or_the_front_page() -> None:
    linked = {
        (start.parent / target.partition("#")[0]).resolve()
        for start in (ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "adr" / "README.md")
        for target in LINK.findall(start.read_text())
    }

    assert [name for name in PAGE_NAMES if name.startswith("docs/") and ROOT / name not in linked] == []


def test_the_front_page_is_short() -> None:
    lines = read("README.md").splitlines()

    assert lines.index("## Map") < 50


PROMISES = [
    *(row[-1] for row in tables(section(read("docs/threat-model.md"), "Promised"))[0]),
    *(row[-1] for row in tables(section(read("SECURITY.md"), "What counts"))[0]),
    *(section(read("docs/modes.md"), mode) for mode in ("Enforce", "Observe", "Check", "Dry run")),
]
_TEST = re.compile(r"\[`(test_\w+)`\]\(([^)]+)\)")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise[-60:])
def test_promise_names_what_holds_it(promise: str) -> None:
    assert _TEST.search(promise)


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_tests_that_a_page_names_exist(name: str) -> None:
    for test, link in _TEST.findall(read(name)):
        file = (ROOT / name).parent / link
        assert re.search(rf"^\s*(?:async )?def {test}\(", file.read_text(), re.MULTILINE), test


def test_modules_that_the_architecture_names_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", read("docs/architecture.md")))
    files = [
        f"/{file.relative_to(ROOT).as_posix()}"
        for folder in ("engine", "tests")
        for file in ROOT.glob(f"{folder}/**/*.py")
    ]

    assert {
        name for name in named if "KIND" not in name and not any(f.endswith(f"/{name}") for f in files)
    } == set()
