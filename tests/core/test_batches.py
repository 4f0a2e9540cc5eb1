from __future__ import annotations

import json
from typing import Any

import pytest
from talking import MIXED, Talk, call, notification, request, result

from agentfence.core.batches import judge_batch, refuse_batch
from agentfence.core.envelope import Batch, read_envelope
from agentfence.core.gate_settings import GateSettings, OnBatch
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import revision_named


def batch_of(members: list[Any], max_batch: int = 3) -> Batch:
    envelope = read_envelope(json.dumps(members).encode(), max_body=10_000, max_batch=max_batch)
    assert isinstance(envelope, Batch)
    return envelope


PING = request("ping", 1)
TOO_MANY = "the batch has 4 members, over the limit of 3 (max_batch)"


@pytest.mark.parametrize(
    ("members", "revision", "refused"),
    [
        ([PING], "2024-11-05", None),
        ([PING], "2025-03-26", None),
        ([PING, {**PING, "id": 2}, notification("x")], "2025-03-26", None),
        ([1], "2025-03-26", None),
        ([], "2025-03-26", (200, "the batch is empty")),
        ([PING, PING], "2025-03-26", (200, "the batch holds one id more than once")),
        ([1, 2, 3, 4], "2025-03-26", (400, TOO_MANY)),
        ([1, 2, 3, 4], "2025-06-18", (400, TOO_MANY)),
        ([PING], "2025-06-18", (200, "MCP 2025-06-18 has no JSON-RPC batches: send one request per body")),
        ([], "2025-11-25", (200, "MCP 2025-11-25 has no JSON-RPC batches: send one request per body")),
        ([PING], "2026-07-28", (200, "MCP 2026-07-28 has no JSON-RPC batches: send one request per body")),
    ],
)
def test_array_is_refused_as_a_whole_where_the_revision_says_so(
    members: list[Any], revision: str, refused: tuple[int, str] | None
) -> None:
    settings = GateSettings(on_batch=OnBatch.EVALUATE, max_batch=3)
    refusal = refuse_batch(batch_of(members), revision_named(revision), settings)

    assert (None if refusal is None else (refusal.status, refusal.text)) == refused
    assert refusal is None or (refusal.code, refusal.reason_code) == (-32600, "batch_rejected")


@pytest.mark.parametrize("members", [[PING], [], [1, 2, 3, 4]])
@pytest.mark.parametrize(
    ("revision", "code", "hint"),
    [("2025-03-26", -32004, True), ("2025-06-18", -32004, False), ("2026-07-28", -32600, False)],
)
def test_every_array_is_refused_when_nobody_says_otherwise(
    members: list[Any], revision: str, code: int, hint: bool
) -> None:
    refusal = refuse_batch(batch_of(members), revision_named(revision), GateSettings(max_batch=3))

    assert refusal is not None
    assert (refusal.code, refusal.status) == (code, 200)
    assert refusal.text.endswith(
        ": send one request per body" + ", or set on_batch to evaluate" * hint,
    )


def test_members_are_judged_in_order() -> None:
    talk = Talk(MIXED)
    talk.server(request("roots/list", 9))
    members = [
        call("read", 1),
        call("rm", "2"),
        notification("ping"),
        result(9),
        result(8),
        request("initialize", 3),
        notification("initialize"),
        7,
    ]
    judged = judge_batch(talk.gate, batch_of(members, 8), talk.conversation, talk.circumstances)

    assert [(m.decision.verdict, m.id, m.violation.code if m.violation else None) for m in judged] == [
        (Verdict.ALLOW, 1, None),
        (Verdict.DENY, "2", None),
        (Verdict.ALLOW, None, None),
        (Verdict.ALLOW, None, None),
        (Verdict.DENY, None, -32600),
        (Verdict.DENY, 3, -32600),
        (Verdict.DENY, None, -32600),
        (Verdict.DENY, None, -32600),
    ]
    assert judged[-2].message is None
    assert [member.decision.reason for member in judged[-3:]] == [
        "initialize cannot be part of a batch",
        "initialize cannot be part of a batch",
        "a message must be an object",
    ]
    assert len({m.call_id for m in judged}) == len(judged)
