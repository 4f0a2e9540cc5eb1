"""A policy is loaded again when what it was made of has changed, and has settled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentfence.core.errors import PolicyError
from agentfence.policy_files import FoundPolicy
from agentfence.policy_source import PolicySource

if TYPE_CHECKING:
    from pathlib import Path

ROOT = 'version: "1"\nimports: [team/tools.yaml]\ndefaults: {decision: deny}\n'
TOOLS = 'version: "1"\ntools: {read: allow}\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "team").mkdir()
    (tmp_path / "team/tools.yaml").write_text(TOOLS)
    (tmp_path / "policy.yaml").write_text(ROOT)
    return tmp_path / "policy.yaml"


def source_of(root: Path) -> PolicySource:
    source = PolicySource(FoundPolicy(str(root), "as given"), None, {}, follow_links_default=True)
    source.load()
    return source


def looks(source: PolicySource, times: int = 3) -> list[bool]:
    return [source.has_changed() for _ in range(times)]


def test_files_that_stay_are_no_change(root: Path) -> None:
    assert looks(source_of(root)) == [False] * 3


@pytest.mark.parametrize("name", ["policy.yaml", "team/tools.yaml"])
def test_change_of_any_file_is_seen_once_it_has_settled(root: Path, name: str) -> None:
    source = source_of(root)
    looks(source)
    with (root.parent / name).open("a") as file:
        file.write("x-note: more\n")

    assert looks(source, 2) == [False, True]
    source.load()
    assert looks(source) == [False] * 3


def test_file_that_is_being_written_is_left_alone(root: Path) -> None:
    source = source_of(root)
    for _ in range(3):
        with root.open("a") as file:
            file.write("# more\n")
        assert not source.has_changed()
    assert source.has_changed()


def test_file_that_is_replaced_by_one_like_it_is_a_change(root: Path) -> None:
    source = source_of(root)
    status = root.stat()
    other = root.with_name("other")
    other.write_text(ROOT)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(root)

    assert looks(source, 2) == [False, True]


def test_link_that_leads_elsewhere_is_a_change(root: Path) -> None:
    link = root.with_name("link.yaml")
    link.symlink_to(root)
    source = source_of(link)
    other = root.with_name("other.yaml")
    other.write_text(ROOT + "x-note: more\n")
    link.unlink()
    link.symlink_to(other)

    assert looks(source, 2) == [False, True]


def test_bad_policy_is_read_once_and_again_when_what_it_misses_comes(root: Path) -> None:
    source = source_of(root)
    missing = root.with_name("missing.yaml")
    root.write_text(ROOT.replace("team/tools", "missing"))
    assert looks(source, 2) == [False, True]
    with pytest.raises(PolicyError, match=r"policy\.yaml:2:"):
        source.load()
    assert looks(source) == [False] * 3

    missing.write_text(TOOLS)
    assert looks(source, 2) == [False, True]


@pytest.mark.parametrize(("pins", "changes"), [("require", True), ("off", False)])
def test_lock_file_belongs_to_a_policy_that_pins(root: Path, pins: str, changes: bool) -> None:
    root.write_text(f"{ROOT}pins: {pins}\n")
    source = source_of(root)
    (root.parent / "agentfence.lock").write_text('{"version": 1, "servers": {}}')

    assert looks(source, 2)[-1] is changes


def test_packaged_policy_never_changes() -> None:
    found = FoundPolicy("agentfence:default", "built in")
    source = PolicySource(found, None, {}, follow_links_default=True)
    source.load()

    assert looks(source) == [False] * 3


@pytest.mark.parametrize("name", ["policy.yaml", "team/tools.yaml"])
@pytest.mark.parametrize(
    "text", ["", "\n", "# tools:\n#   read: allow\n", "\ufeff# x", "---\n...\n", "~", "{}"]
)
def test_file_that_lost_its_text_takes_nothing_back(root: Path, name: str, text: str) -> None:
    root.write_text(ROOT.replace('version: "1"\n', ""))  # where the Go AgentFence takes an empty file
    (root.parent / "team/tools.yaml").write_text("tools: {read: {decision: deny}}\n")
    source = source_of(root)
    (root.parent / name).write_text(text)

    with pytest.raises(PolicyError, match="a file that says nothing"):
        source.load()


def test_empty_file_may_be_started_with(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("")

    source_of(tmp_path / "policy.yaml")


def test_pipe_in_the_place_of_a_policy_is_not_waited_for(root: Path) -> None:
    source = source_of(root)
    root.unlink()
    os.mkfifo(root)

    with pytest.raises(PolicyError, match="a pipe is read only once"):
        source.load()


def test_policy_that_is_gone_is_said_to_be(root: Path) -> None:
    source = source_of(root)
    root.unlink()

    with pytest.raises(PolicyError, match="no such file"):
        source.load()
