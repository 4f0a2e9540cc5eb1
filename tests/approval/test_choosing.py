"""Each surface gets the approver that was asked for, else the one that suits it; one that cannot ask is said."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from approval.questions import QUESTION, Asker

from agentfence.approval import choosing, terminal
from agentfence.approval.choosing import http_approver, relay_approver, why_nobody_is_asked
from agentfence.approval.deny import DenyApprover
from agentfence.core.errors import UsageError
from agentfence.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from agentfence.approval.interface import Approver
    from agentfence.settings import Settings


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


def settings(approver: str | None = None) -> Settings:
    return read_settings({"approver": approver}, {})


class Intercept(DenyApprover):
    name = "intercept"

    def __init__(self, timeout: float) -> None:
        super().__init__("")
        assert timeout == 50


def name_of(approver: Approver) -> str:
    with closing(approver):
        return approver.name


@pytest.mark.parametrize(("given", "name"), [(None, "queue"), ("queue", "queue"), ("deny", "deny")])
def test_relay(given: str | None, name: str, environment: dict[str, str]) -> None:
    assert name_of(relay_approver(settings(given), environment)) == name


@pytest.mark.parametrize(
    ("given", "has_view", "has_terminal", "name"),
    [
        (None, True, True, "intercept"),
        (None, True, False, "intercept"),
        (None, False, False, "queue"),
        ("intercept", True, False, "intercept"),
        ("queue", True, True, "queue"),
        ("deny", True, True, "deny"),
    ],
)
def test_http(
    given: str | None, has_view: bool, has_terminal: bool, name: str, environment: dict[str, str]
) -> None:
    approver = http_approver(
        settings(given),
        environment,
        intercept=Intercept if has_view else None,
        has_free_terminal=has_terminal,
    )

    assert name_of(approver) == name


def test_terminal_is_asked_where_there_is_one(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, device = os.openpty()
    monkeypatch.setattr(terminal.Terminal.__init__, "__defaults__", (os.ttyname(device),))

    assert name_of(relay_approver(settings("tty"), environment)) == "tty"
    approver = http_approver(settings(), environment, intercept=None, has_free_terminal=True)
    assert name_of(approver) == "tty"


def test_view_that_is_not_there(environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="mitmweb"):
        relay_approver(settings("intercept"), environment)
    with pytest.raises(UsageError, match="mitmweb"):
        http_approver(settings("intercept"), environment, intercept=None, has_free_terminal=True)


def test_terminal_that_is_not_there(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal.Terminal.__init__, "__defaults__", ("/nowhere/tty",))

    with pytest.raises(UsageError, match="no terminal"):
        relay_approver(settings("tty"), environment)


def test_folder_that_cannot_be_made_denies_and_says_so(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("agentfence.approval.queue_folder.make_folder", fail)
    approver, asker = relay_approver(settings(), environment), Asker()
    assert "no room" in (why_nobody_is_asked(approver, settings()) or "")
    approver.ask(QUESTION, asker.answered(QUESTION))

    approval = asker.next()[1]
    assert approval.outcome == "no_approver"
    assert "no room" in (approval.advice or "")


def test_deny_says_how_to_be_asked() -> None:
    approver, asker = relay_approver(settings("deny"), {}), Asker()
    approver.ask(QUESTION, asker.answered(QUESTION))

    assert asker.next()[1].advice == choosing._CHOSEN
    assert why_nobody_is_asked(approver, settings("deny")) is None


def test_queue_needs_unix(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing.sys, "platform", "win32")
    approver, asker = relay_approver(settings(), environment), Asker()
    approver.ask(QUESTION, asker.answered(QUESTION))

    assert "needs a Unix system" in (asker.next()[1].advice or "")


def test_process_without_a_terminal_has_none() -> None:
    program = "import sys\nfrom agentfence.approval.choosing import has_terminal\nsys.exit(has_terminal())"

    subprocess.run([sys.executable, "-c", program], start_new_session=True, check=True, timeout=60)
