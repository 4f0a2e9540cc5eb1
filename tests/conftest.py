"""For all tests."""

from __future__ import annotations

import os
import signal
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest
from event_schema import validate_event, validate_log
from hypothesis import HealthCheck, settings

from agentfence.core.events import Events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# No test depends on how busy the machine is. CI says the same of the same commit; elsewhere each run tries
# other examples.
settings.register_profile(
    "agentfence",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("agentfence")

# A shell starts background jobs with these ignored, and what a test starts would inherit that.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case by its argument where its octets say nothing: packed ones differ from second to second."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


def _fits_the_schema(make: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(make)
    def made(*arguments: Any, **named: Any) -> Any:
        event = make(*arguments, **named)
        validate_event(event)
        return event

    return made


# Every event about a message that is made in this process, whatever becomes of it; and below every one that any
# process of a test has written.
for _name in ("judged", "refused", "answered", "unanswered", "unread", "noted"):
    setattr(Events, _name, _fits_the_schema(getattr(Events, _name)))


@pytest.fixture(autouse=True)
def _events_of_written_logs_fit_the_schema(request: pytest.FixtureRequest) -> Iterator[None]:
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    for log in folder.rglob("*.jsonl*") if folder is not None else ():
        if log.is_file():
            validate_log(log)
