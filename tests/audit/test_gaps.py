"""What a log lost is counted, and said as soon as it can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentfence.audit.gaps import GapLog
from agentfence.core.errors import AuditError

if TYPE_CHECKING:
    from agentfence.core.effects import Event


class Faulty:
    """A log in memory that can be broken."""

    description = "memory"

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.is_broken = False
        self.is_closed = False

    def append(self, event: Event) -> None:
        if self.is_broken:
            raise AuditError("the disk is full")
        self.events.append(dict(event))

    def close(self) -> None:
        self.is_closed = True


def make(*, is_strict: bool) -> tuple[GapLog, Faulty, list[str]]:
    faulty, said = Faulty(), list[str]()
    return GapLog(faulty, lambda: 1_700_000_000.0, said.append, is_strict=is_strict), faulty, said


def test_strict_log_refuses_each_event_and_then_says_how_many() -> None:
    log, faulty, _ = make(is_strict=True)
    log.append({"n": 1})
    faulty.is_broken = True
    for number in (2, 3):
        with pytest.raises(AuditError, match="full"):
            log.append({"n": number})
    faulty.is_broken = False
    log.append({"n": 4})
    log.append({"n": 5})

    assert faulty.events == [
        {"n": 1},
        {
            "kind": "audit_gap",
            "timestamp": "2023-11-14T22:13:20.000000Z",
            "lost": 2,
            "since": "2023-11-14T22:13:20.000000Z",
            "messages": "refused",
            "reason": "the disk is full",
        },
        {"n": 4},
        {"n": 5},
    ]


def test_lenient_log_lets_messages_go_and_then_says_how_many() -> None:
    log, faulty, said = make(is_strict=False)
    faulty.is_broken = True
    log.append({"n": 1})
    log.append({"n": 2})
    faulty.is_broken = False
    log.append({"n": 3})

    assert [(event.get("lost"), event.get("messages")) for event in faulty.events] == [
        (2, "sent on"),
        (None, None),
    ]
    assert said == ["the disk is full; messages go on without a record, as the policy says"]


@pytest.mark.parametrize("is_strict", [True, False])
def test_gap_at_the_end_is_said_at_the_end(is_strict: bool) -> None:
    log, faulty, said = make(is_strict=is_strict)
    faulty.is_broken = True
    if is_strict:
        with pytest.raises(AuditError):
            log.append({})
    else:
        log.append({})
    log.close()
    assert said[-1] == "1 event is in no audit log"
    assert faulty.is_closed

    faulty.is_broken = False
    log.close()
    assert faulty.events[0]["lost"] == 1


def test_each_gap_says_what_became_of_its_own_messages() -> None:
    """The policy was changed in between."""
    log, faulty, said = make(is_strict=False)
    faulty.is_broken = True
    log.append({"n": 1})
    log.is_strict = True
    for number in (2, 3):
        with pytest.raises(AuditError):
            log.append({"n": number})
    log.close()
    assert said[-1] == "3 events are in no audit log"

    faulty.is_broken = False
    log.append({"n": 4})
    assert [(event.get("lost"), event.get("messages")) for event in faulty.events] == [
        (1, "sent on"),
        (2, "refused"),
        (None, None),
    ]


def test_answers_that_go_on_all_the_same_are_in_a_gap_of_their_own() -> None:
    log, faulty, said = make(is_strict=True)
    faulty.is_broken = True
    for kind in ("judged", "answered", "judged", "noted"):
        with pytest.raises(AuditError):
            log.append({"kind": kind})
    faulty.is_broken = False
    log.append({"kind": "judged"})

    assert [(event.get("lost"), event.get("messages")) for event in faulty.events] == [
        (2, "refused"),
        (2, "sent on"),
        (None, None),
    ]
    assert said == []
