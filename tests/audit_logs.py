"""Logs in files, for the tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from event_schema import validate_event

from agentfence.audit.file_log import PLAIN, FileLog, Upkeep
from agentfence.audit.verifying import verify_log
from agentfence.core.record import Chain

if TYPE_CHECKING:
    from pathlib import Path

    from agentfence.core.audit.reports import Status


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def open_log(path: Path, run: str = "run", upkeep: Upkeep = PLAIN, clock: Clock | None = None) -> FileLog:
    return FileLog(path, Chain(run), clock or Clock(), upkeep)


def event(number: int, size: int = 10) -> dict[str, Any]:
    return {"kind": "judged", "timestamp": "2023-11-14T22:13:20.000000Z", "n": number, "text": "x" * size}


def events_in(path: Path) -> list[dict[str, Any]]:
    """The events of a file; those about the log itself must fit the schema."""
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    for entry in events:
        if entry["kind"].startswith(("log_", "segments_")):
            validate_event(entry)
    return events


def numbers_in(path: Path) -> list[int]:
    return [event["n"] for event in events_in(path) if "n" in event]


def kinds_in(path: Path) -> list[str]:
    return [event["kind"] for event in events_in(path)]


def status_of(path: Path) -> Status:
    return verify_log(path).status
