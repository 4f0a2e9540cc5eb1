from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agentfence.core.revisions import (
    ASSUMED,
    HOUSEKEEPING,
    METHODS,
    MIRRORED_NAME,
    MIRRORED_TASK,
    REVISIONS,
    Kind,
    code_for,
    meta_version,
    revision_named,
)

ROWS = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "wire" / "revisions_codes.yaml").read_text("utf-8")
)
VERSION = "io.modelcontextprotocol/protocolVersion"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: repr(row["named"]))
def test_revision_has_its_rules(row: dict[str, Any]) -> None:
    revision = revision_named(row["named"])

    assert (row["is"], row["batches"], row["modern"]) == (
        revision.name,
        revision.allows_batches,
        revision.is_modern,
    )
    assert row["codes"] == [code_for(kind, revision) for kind in Kind]


def test_revisions_stand_in_order_and_the_assumed_one_is_among_them() -> None:
    assert sorted(revision.name for revision in REVISIONS) == [revision.name for revision in REVISIONS]
    assert ASSUMED in REVISIONS


def test_newest_revision_gets_no_code_that_the_specification_reserves() -> None:
    own = {code_for(kind, REVISIONS[-1]) for kind in Kind} - {-32600}

    assert not [code for code in own if -32768 <= code <= -32000]


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "logging/setLevel",
        "subscriptions/listen",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/tools/list_changed",
    ],
)
def test_housekeeping_passes(method: str) -> None:
    assert method in HOUSEKEEPING
    assert method in METHODS


@pytest.mark.parametrize(
    "method",
    [
        "tools/call",
        "resources/read",
        "resources/subscribe",
        "prompts/get",
        "completion/complete",
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/update",
    ],
)
def test_what_a_policy_decides_is_no_housekeeping(method: str) -> None:
    assert method in METHODS
    assert method not in HOUSEKEEPING


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result", "tasks/get"])
def test_method_that_only_older_revisions_have_is_removed(method: str) -> None:
    removed = [revision.name for revision in REVISIONS if revision.has_removed(method)]

    assert removed == ([] if method == "tasks/get" else ["2026-07-28"])


def test_methods_are_those_of_the_specification() -> None:
    assert len(METHODS) == 36
    assert not [method for method in METHODS if method != method.strip()]


def test_mirrored_headers_repeat_what_the_policy_reads() -> None:
    assert dict(MIRRORED_NAME) == {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
    assert set(MIRRORED_TASK) == {"tasks/get", "tasks/update", "tasks/cancel"}
    assert not HOUSEKEEPING & (MIRRORED_NAME.keys() | MIRRORED_TASK.keys())


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"_meta": {VERSION: "2026-07-28"}}, "2026-07-28"),
        ({"_meta": {VERSION: "draft", "progressToken": 1}, "name": "x"}, "draft"),
        (None, None),
        ({}, None),
        ({"_meta": {}}, None),
        ({"_meta": None}, None),
        ({"_meta": {"progressToken": 1}}, None),
        ({"_meta": [VERSION]}, None),
        ({"_meta": VERSION}, None),
        ({VERSION: "2026-07-28"}, None),
        ({"_meta": {VERSION: None}}, ""),
        ({"_meta": {VERSION: 20260728}}, ""),
        ({"_meta": {VERSION: ["2026-07-28"]}}, ""),
    ],
)
def test_claimed_revision_is_read(params: Any, expected: str | None) -> None:
    assert expected == meta_version(params)


def test_claim_that_is_no_text_gets_the_newest_rules() -> None:
    assert revision_named(meta_version({"_meta": {VERSION: 1}})).is_modern
