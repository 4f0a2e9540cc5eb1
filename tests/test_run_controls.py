"""What a signal, or a changed file, has a run do."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from agentfence import run_controls
from agentfence.run_controls import RunControls
from agentfence.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator


class Fence:
    """Notes what it is told to do."""

    settings = read_settings({"watch_policy": "true"}, {})
    policy_has_changed = False

    def __init__(self) -> None:
        self.done: list[str] = []

    def reload(self, _prepare: Any) -> None:
        self.done.append("reload")

    def summarize(self) -> None:
        self.done.append("summary")


class Run:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, has_terminal: bool) -> None:
        self.has_terminal = has_terminal
        monkeypatch.setattr(run_controls, "has_terminal", lambda: self.has_terminal)
        self.fence: Any = Fence()
        self.controls = RunControls(self.fence, lambda _policy: lambda: None, self.end)

    def end(self) -> None:
        self.fence.done.append("end")


@pytest.fixture
def hangup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize(
    ("before", "after", "is_ignored", "done"),
    [
        (True, True, False, "reload"),
        (True, False, False, "end"),
        (False, False, False, "reload"),
        (True, False, True, "reload"),
    ],
)
def test_hangup_ends_a_run_whose_terminal_is_gone_and_else_loads_the_policy(
    monkeypatch: pytest.MonkeyPatch, before: bool, after: bool, is_ignored: bool, done: str
) -> None:
    if is_ignored:  # as under nohup
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run = Run(monkeypatch, has_terminal=before)
    run.has_terminal = after
    run.controls.hang_up()

    assert run.fence.done == [done]


def test_look_loads_the_policy_when_it_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, has_terminal=False)
    assert run.controls.watches
    run.controls.look()
    run.fence.policy_has_changed = True
    run.controls.look()
    run.controls.summarize()

    assert run.fence.done == ["reload", "summary"]
