"""The page is put into the mitmweb it was written for; elsewhere nothing breaks, and the log says why."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy.tools.web import app

from agentfence.mitm.view.page_install import install_page

if TYPE_CHECKING:
    from collections.abc import Callable


class Application(app.Application):
    """mitmweb's, without what it serves."""

    def __init__(self, **settings: Any) -> None:
        self.settings = {"xsrf_cookies": True, "is_valid_password": bool, **settings}
        self.added: list[Any] = []

    def add_handlers(self, host_pattern: str, host_handlers: Any) -> None:
        self.added += host_handlers


def install(application: Any) -> None:
    install_page(SimpleNamespace(app=application, web_url="http://127.0.0.1:8081/?token=abc"), None)  # type: ignore[arg-type]


def test_page_is_served_by_handlers_that_ask_for_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    application = Application()
    install(application)

    assert [pattern for pattern, _, _ in application.added] == [
        "/agentfence/?",
        "/agentfence/answer",
        r"/agentfence/(page\.css|page\.js)",
    ]
    for _, handler, _ in application.added:
        assert issubclass(handler, app.RequestHandler)
        own = [handler.get, handler.post]
        assert all(hasattr(method, "__wrapped__") for method in own if method.__name__ in {"get", "post"})
    assert caplog.messages == [
        "the approvals page is at http://127.0.0.1:8081/agentfence/"
    ]  # without the token


def drop_authentication(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "RequestHandler", SimpleNamespace(get_current_user=bool))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda _: Application(xsrf_cookies=False), "forged requests"),
        (lambda _: SimpleNamespace(settings={}), "another application"),
        (lambda patch: (drop_authentication(patch), Application())[1], "asks for its token in another way"),
    ],
)
def test_other_mitmweb_has_no_page(
    make: Callable[[pytest.MonkeyPatch], Any],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    application = make(monkeypatch)
    install(application)

    assert getattr(application, "added", []) == []
    assert problem in caplog.text
    assert "resume and kill answer as ever" in caplog.text


def test_program_without_mitmweb_has_none(caplog: pytest.LogCaptureFixture) -> None:
    install_page(SimpleNamespace(), None)  # type: ignore[arg-type]

    assert caplog.messages == []
