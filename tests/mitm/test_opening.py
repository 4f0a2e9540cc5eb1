"""The fence says things where its host does, and as much as the host does."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import pytest
from mitmproxy import options
from mitmproxy.tools.web.master import WebMaster

from agentfence.mitm.launcher import SmallMaster
from agentfence.mitm.opening import _approver, _reporter
from agentfence.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentfence.settings import Settings

DENIED = {
    "decision": "deny",
    "tool": "delete_file",
    "rule": "r",
    "reason": "why",
    "reason_code": "rule_match",
}
SPOKEN = "deny   delete_file                       r                     why"


@pytest.fixture
async def options_of_host() -> AsyncIterator[options.Options]:
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    yield options.Options()
    logging.getLogger().setLevel(level)


def settings(**given: str) -> Settings:
    return read_settings(given, {})


def close(host: SmallMaster | WebMaster) -> None:
    host._legacy_log_events.uninstall()
    if host._termlog_addon is not None:
        host._termlog_addon.uninstall()


async def test_mitmdump_prints_past_the_hosts_log(
    options_of_host: options.Options, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    host = SmallMaster(options_of_host, with_termlog=True)
    _reporter(settings()).decided(DENIED)
    close(host)

    assert re.fullmatch(r"\[\d\d:\d\d:\d\d\.\d{3}\] " + SPOKEN + "\n", capsys.readouterr().out)
    assert caplog.messages == []


@pytest.mark.parametrize("verbosity", ["error", "warn"])
async def test_host_that_is_quiet_keeps_the_fence_quiet(
    verbosity: str,
    options_of_host: options.Options,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = SmallMaster(options_of_host, with_termlog=True)
    options_of_host.update(termlog_verbosity=verbosity)
    reporter = _reporter(settings())
    reporter.start("here we are")
    reporter.decided(DENIED)
    reporter.problem("the log is full")
    close(host)

    assert "delete_file" not in capsys.readouterr().out
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "agentfence: the log is full")
    ]


async def test_live_view_shows_decisions_in_its_log(
    options_of_host: options.Options, caplog: pytest.LogCaptureFixture
) -> None:
    host = WebMaster(options_of_host, with_termlog=False)
    with caplog.at_level(logging.INFO):
        _reporter(settings()).decided(DENIED)
    close(host)

    assert caplog.messages == [SPOKEN]


async def test_agent_has_stdout_to_itself(
    options_of_host: options.Options, capfd: pytest.CaptureFixture[str]
) -> None:
    host = SmallMaster(options_of_host, with_termlog=False)
    _reporter(settings()).decided(DENIED)
    close(host)

    assert capfd.readouterr() == ("", SPOKEN + "\n")


async def test_json_goes_to_stderr(
    options_of_host: options.Options, capfd: pytest.CaptureFixture[str]
) -> None:
    host = SmallMaster(options_of_host, with_termlog=True)
    _reporter(settings(log_format="json")).decided(DENIED)
    close(host)
    said = capfd.readouterr()

    assert (said.out, '"decision": "deny"' in said.err) == ("", True)


async def test_live_view_holds_what_is_asked(options_of_host: options.Options) -> None:
    host = WebMaster(options_of_host, with_termlog=False)
    approver = _approver(settings())
    close(host)

    assert approver.name == "intercept"
