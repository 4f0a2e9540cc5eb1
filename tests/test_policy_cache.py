"""Policies that were read before are taken from beside the package's bytecode, and nothing else is."""

from __future__ import annotations

import shutil
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from agentfence import policy_cache
from agentfence.core.errors import PolicyError
from agentfence.core.policy import reader
from agentfence.policy_cache import read_policy

CONTENT = b'version: "1"\ntools: {read_file: allow}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Python would keep the bytecode."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = Path(cache_from_source(policy_cache.__file__)).parent
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was read as YAML."""
    seen: list[bytes] = []
    read_document = reader.read_document

    def look(name: str, content: bytes):
        seen.append(content)
        return read_document(name, content)

    monkeypatch.setattr(reader, "read_document", look)
    return seen


def shown(node):
    """The tree with its places, and the text of each line that it stands in."""
    return repr(node).replace(repr(node.position.source), ""), node.position.source.text


def kept_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_what_was_read_is_not_read_again(read):
    first, second = read_policy("a.yaml", CONTENT), read_policy("b.yaml", CONTENT)

    assert read == [CONTENT]
    assert shown(first) == shown(second)
    assert (first.position.source.name, second.position.source.name) == ("a.yaml", "b.yaml")


def test_other_bytes_are_read_anew(read):
    for content in (CONTENT, CONTENT + b"\n", b"\xef\xbb\xbf" + CONTENT):
        read_policy("a.yaml", content)

    assert len(read) == 3


@pytest.mark.parametrize("name", policy_cache._READERS)
def test_a_tree_goes_with_the_code_that_made_it(name, read, monkeypatch, tmp_path):
    folder = tmp_path / "core" / "policy"
    folder.mkdir(parents=True)
    for code in policy_cache._READERS:
        shutil.copy(Path(reader.__file__).with_name(code), folder)
    place = policy_cache._place(CONTENT)
    monkeypatch.setattr(policy_cache, "__file__", str(tmp_path / "policy_cache.py"))
    same = policy_cache._place(CONTENT)
    with (folder / name).open("ab") as file:
        file.write(b"#")

    assert place[1] == same[1] != policy_cache._place(CONTENT)[1]


def test_a_tree_goes_with_the_pyyaml_that_made_it(read, monkeypatch, tmp_path):
    read_policy("a.yaml", CONTENT)
    state = policy_cache._state_of_yaml()
    monkeypatch.setattr(policy_cache, "_state_of_yaml", lambda: [*state[1:], (*state[0][:2], 1)])
    read_policy("a.yaml", CONTENT)

    assert len(read) == 2
    assert any(path.endswith("__init__.py") for path, _, _ in state)


def test_a_tree_goes_with_the_interpreter_that_made_it(read, monkeypatch):
    read_policy("a.yaml", CONTENT)
    monkeypatch.setattr(sys, "version", "another")
    read_policy("a.yaml", CONTENT)

    assert len(read) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept[:-1],
        lambda kept: kept + b" ",
        lambda kept: kept.replace(b"allow", b"deny!"),
        lambda kept: bytes([kept[0] ^ 1]) + kept[1:],
        lambda _: b"",
        lambda _: b"\n",
        lambda kept: kept.partition(b"\n")[0],
    ],
)
def test_a_file_that_is_not_whole_is_passed_over(change, folder, read):
    good = read_policy("a.yaml", CONTENT)
    (path,) = kept_in(folder)
    path.write_bytes(change(path.read_bytes()))
    again = read_policy("a.yaml", CONTENT)

    assert len(read) == 2
    assert shown(again) == shown(good)


def test_a_policy_with_a_mistake_is_never_kept(folder):
    for _ in range(2):
        with pytest.raises(PolicyError, match="stands twice"):
            read_policy("a.yaml", b"a: 1\na: 2\n")

    assert kept_in(folder) == []


def test_nothing_is_kept_where_python_keeps_no_bytecode(folder, read, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    read_policy("a.yaml", CONTENT)

    assert kept_in(folder) == []


@pytest.mark.parametrize("gone", ["folder", "code", "tag"])
def test_without_a_place_the_policy_is_read_all_the_same(gone, folder, monkeypatch):
    if gone == "folder":
        folder.rmdir()
    elif gone == "code":
        monkeypatch.setattr(policy_cache, "_READERS", ("not_there.py",))
    else:
        monkeypatch.setattr(sys.implementation, "cache_tag", None)

    assert shown(read_policy("a.yaml", CONTENT))[1] == CONTENT.decode()


def test_no_more_than_a_few_are_kept_and_for_their_owner_alone(folder):
    for number in range(100):
        read_policy("a.yaml", CONTENT + b"#" * number)

    assert 1 < len(kept_in(folder)) <= policy_cache._MOST
    assert {path.stat().st_mode & 0o777 for path in kept_in(folder)} == {0o600}


def test_a_tree_that_is_too_large_is_not_kept(folder, monkeypatch):
    monkeypatch.setattr(policy_cache, "_LARGEST", 300)
    read_policy("a.yaml", CONTENT)

    assert kept_in(folder) == []


def test_a_problem_found_later_shows_its_line():
    for _ in range(2):
        node = read_policy("a.yaml", CONTENT)
        problem = node.entries["tools"].key.problem("code", "message")

        assert (problem.place.line, problem.source_line) == (2, "tools: {read_file: allow}")
