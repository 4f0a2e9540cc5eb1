"""The disk that the relay shares with its server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentfence import disk
from agentfence.disk import resolve_links

if TYPE_CHECKING:
    from pathlib import Path


def test_links_are_followed_to_their_end(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "one").symlink_to(tmp_path / "real")
    (tmp_path / "two").symlink_to("one")

    assert resolve_links(str(tmp_path / "two" / "new.txt")) == str(tmp_path / "real" / "new.txt")


def test_parents_are_taken_after_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "elsewhere" / "deep")

    assert resolve_links(str(tmp_path / "a" / "link" / ".." / "x")) == str(tmp_path / "elsewhere" / "x")


def test_links_in_a_circle_cannot_be_followed(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")

    with pytest.raises(OSError, match="cannot be followed"):
        resolve_links(str(tmp_path / "one"))


def test_a_circle_in_the_middle_cannot_be_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    with pytest.raises(OSError):
        resolve_links(str(tmp_path / "loop" / "x"))


def test_what_lies_in_a_folder_that_is_closed_cannot_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "link").symlink_to("/")
    look = os.lstat

    def look_unless_closed(path: str) -> os.stat_result:
        if str(path).startswith(f"{tmp_path}/closed/"):
            raise PermissionError(path)
        return look(path)

    monkeypatch.setattr(os, "lstat", look_unless_closed)

    assert resolve_links(str(tmp_path / "closed")) == str(tmp_path / "closed")
    for inside in ("link", "link/x", "new"):
        with pytest.raises(PermissionError):
            resolve_links(str(tmp_path / "closed" / inside))


def test_a_circle_of_ever_longer_ways_cannot_be_followed(tmp_path: Path) -> None:
    (tmp_path / "more").symlink_to("more/more")

    with pytest.raises(OSError, match="cannot be followed"):
        resolve_links(str(tmp_path / "more" / "x"))


def test_many_links_in_a_row_are_followed(tmp_path: Path) -> None:
    (tmp_path / "link0").mkdir()
    for number in range(40):
        (tmp_path / f"link{number + 1}").symlink_to(f"link{number}")

    assert resolve_links(str(tmp_path / "link40" / "x")) == str(tmp_path / "link0" / "x")


@pytest.mark.parametrize("place", ["shut/link", "shut/link/x", "shut/link/../../open/x", "way/x"])
def test_a_link_where_nobody_may_look_is_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "shut" / "link").symlink_to("/etc")
    (tmp_path / "way").symlink_to("shut/link")
    look = os.lstat

    def look_outside(path: str) -> os.stat_result:
        if "/shut/" in path:
            raise PermissionError(path)
        return look(path)

    monkeypatch.setattr(os, "lstat", look_outside)

    with pytest.raises(PermissionError):
        resolve_links(f"{tmp_path}/{place}")


@pytest.mark.skipif(not os.path.islink("/proc/self"), reason="the system has no such link")
@pytest.mark.parametrize("place", ["", "/x", "/../x"])
def test_a_link_that_leads_each_process_elsewhere_cannot_be_followed(tmp_path: Path, place: str) -> None:
    (tmp_path / "link").symlink_to("/proc/self/cwd")

    with pytest.raises(OSError, match="another place"):
        resolve_links(f"{tmp_path}/link{place}")


# --- the quick look, where nothing on the way is a link ---

PLACES = st.lists(
    st.sampled_from(
        ["folder", "file", "link", "dangling", "circle", "new", "..", ".", "", "\0", "\udfff", "a\ud800"]
    ),
    max_size=6,
).map("/".join)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders in folders, with each kind of link in each."""
    root = tmp_path_factory.mktemp("tree").resolve()
    for folder in (root, root / "folder", root / "folder" / "folder"):
        folder.mkdir(exist_ok=True)
        (folder / "file").touch()
        (folder / "dangling").symlink_to("nowhere")
        (folder / "circle").symlink_to("circle")
        (folder / "link").symlink_to(root / "folder" / "folder")
    return root


def resolved(path: str) -> str | None:
    try:
        return resolve_links(path)
    except (OSError, ValueError):
        return None


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLACES)
@example("new/../link/file")
@example("file/new")
@example("new\0")
def test_the_quick_look_sees_what_the_long_one_does(
    tree: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    path = f"{tree}/{place}"
    quick = resolved(path)
    with monkeypatch.context() as patched:
        patched.setattr(disk, "_has_no_links", lambda _: False)
        assert resolved(path) == quick


def test_the_quick_look_is_taken(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os.path, "realpath")

    assert resolve_links(f"{tree}/folder/file") == f"{tree}/folder/file"
    assert resolve_links(f"{tree}/folder/new/new") == f"{tree}/folder/new/new"
