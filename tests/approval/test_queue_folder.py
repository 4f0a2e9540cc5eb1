"""Sockets lie where only their user gets in, and are found wherever a fence may have put them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from agentfence.approval import queue_folder
from agentfence.approval.queue_folder import (
    address_of,
    candidates,
    find_sockets,
    is_private,
    make_folder,
    peer_of,
)


@pytest.fixture(autouse=True)
def _no_runtime_folder_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_runtime_folder_comes_first_and_the_state_folder_last(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    folders = [Path(folder) for folder in candidates(environment)]

    assert folders[0] == tmp_path / "agentfence"
    assert folders[-2:] == [
        tmp_path / "state" / "agentfence" / "approvals",
        tmp_path / "home" / ".local" / "state" / "agentfence" / "approvals",
    ]
    assert make_folder(environment) == str(folders[0])


@pytest.mark.parametrize("value", ["", "relative/path", "/nowhere/at/all", "/proc"])
def test_runtime_folder_that_is_none_of_ours(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    assert not any(
        str(folder).startswith(f"{value}/agentfence") for folder in candidates({"XDG_RUNTIME_DIR": value})
    )


def test_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    folder = make_folder({"XDG_RUNTIME_DIR": str(tmp_path)})

    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert make_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) == folder


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o710, 0o701])
def test_folder_that_is_open_to_others_is_passed_over(mode: int, tmp_path: Path) -> None:
    open_one = tmp_path / "agentfence"
    open_one.mkdir()
    open_one.chmod(mode)

    assert not is_private(open_one)
    assert make_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) != str(open_one)


def test_link_to_a_folder_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    link = tmp_path / "agentfence"
    link.symlink_to(tmp_path / "elsewhere")

    assert not is_private(link)
    assert make_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) != str(link)


def test_folder_of_somebody_else_is_not_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder({"XDG_RUNTIME_DIR": str(tmp_path)})
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    assert not is_private(folder)


def test_no_folder_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(queue_folder, "candidates", lambda _: [str(tmp_path / "file" / "agentfence")])

    with pytest.raises(OSError):
        make_folder({})


def bind(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    with address_of(path) as address:
        listener.bind(address)
    listener.listen()
    return listener


def test_sockets_are_found_in_every_folder(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    folders = [
        Path(make_folder(environment)),
        tmp_path / "home" / ".local" / "state" / "agentfence" / "approvals",
    ]
    folders[1].mkdir(parents=True)
    folders[1].chmod(0o700)
    with bind(folders[0] / "a.sock"), bind(folders[1] / "b.sock"), bind(folders[0] / "c.new"):
        (folders[0] / "d.sock").touch()

        found = find_sockets(environment)

    assert {path.name for path in found if path.is_relative_to(tmp_path)} == {"a.sock", "b.sock"}


def test_path_that_is_too_long_for_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    with bind(folder / "a.sock"), socket.socket(socket.AF_UNIX) as client:
        with address_of(folder / "a.sock") as address:
            client.connect(address)

        assert (folder / "a.sock").is_socket()


def test_peer_is_this_user() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_of(one) == (os.getuid(), os.getpid())


def test_peer_on_a_system_that_tells_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Connection:
        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            assert (level, option) == (0, 1)
            return (0).to_bytes(4, "little") + (501).to_bytes(4, "little") + bytes(size - 8)

    monkeypatch.setattr(queue_folder.sys, "platform", "darwin")

    assert peer_of(Connection()) == (501, None)  # type: ignore[arg-type]
