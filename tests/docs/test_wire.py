"""docs/wire.md and the gate say the same: every row of its tables is run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from docs.pages import ROOT, code, examples, read, section, tables
from talking import (
    DENY,
    Talk,
    answer_events,
    begin_session,
    call,
    cancelled,
    codes,
    exchange,
    forwarded,
    kinds,
    notification,
    request,
    result,
)

from agentfence.core import json_text, jsonrpc
from agentfence.core.answers import refuse_answer, server_gone
from agentfence.core.effects import Answer, Drop, Effects, Forward, Record
from agentfence.core.http.message import HttpRefusal, HttpRequest
from agentfence.core.http.request_rules import check_envelope, check_host_and_origin
from agentfence.core.revisions import META_VERSION, REVISIONS
from agentfence.core.session import Transport
from agentfence.settings import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = read("docs/wire.md")
BATCHES_LISTED, BATCHES_EVALUATED = tables(section(PAGE, "Batches"))
CLASSES, LIMITS = tables(section(PAGE, "Classes"))
NAMES = [revision.name for revision in REVISIONS]
OLD = [name for name in NAMES if name <= "2025-03-26"]
JSON_TYPE = ("Content-Type", "application/json")


def by_first_cell(table: list[list[str]]) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in table}


def says(effects: Effects) -> str:
    """What became of a body, in the page's words."""
    answer = next((effect for effect in effects if isinstance(effect, Answer)), None)
    if any(isinstance(effect, Forward) for effect in effects):
        return "sent on"
    if answer is None:
        assert isinstance(effects[-1], Drop)
        return "nothing"
    said = json.loads(answer.body)
    status = "" if answer.status == 200 else f", HTTP {answer.status}"
    if isinstance(said, list):
        return "array of " + ", ".join(str(entry["error"]["code"]) for entry in said) + status
    assert said["id"] is None
    return f"one {said['error']['code']}, id null{status}"


def talk_under(revision: str, transport: Transport = Transport.STDIO, **options: str) -> Talk:
    talk = Talk(options=options, transport=transport)
    if revision != "2026-07-28":
        talk.settle(revision)
    return talk


def with_meta(message: dict[str, Any], revision: str = "2026-07-28") -> dict[str, Any]:
    meta = {META_VERSION: revision, "io.modelcontextprotocol/clientCapabilities": {}}
    return {**message, "params": {**message.get("params", {}), "_meta": meta}}


def headers_for(revision: str) -> dict[str, str]:
    return {"MCP-Protocol-Version": revision}


# --- classes and limits ---

BODIES = {
    "oversize": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + b"x" * 100 + b'"}}',
    "unparsed, no JSON": b'{"jsonrpc":"2.0"',
    "unparsed, no message": b'{"id":1,"method":"ping"}',
}


@pytest.mark.parametrize("name", BODIES)
def test_class_is_answered_as_the_page_says(name: str) -> None:
    _when, over_http, on_stdio, reason_code = by_first_cell(CLASSES)[name]
    got = []
    for transport, headers in ((Transport.HTTP, {}), (Transport.STDIO, None)):
        effects = Talk(options={"max_body": "120"}, transport=transport).agent(BODIES[name], headers)
        record, answer = effects
        assert isinstance(record, Record)
        assert isinstance(answer, Answer)
        assert record.event["reason_code"] == code(reason_code)
        said = json.loads(answer.body)
        assert said["id"] is None
        status = f"HTTP {answer.status}, " if transport is Transport.HTTP else ""
        got.append(f"{status}{said['error']['code']}, id null")

    assert [over_http, on_stdio] == got


def test_every_class_is_on_the_page() -> None:
    assert {"single", "batch", *BODIES} == {row[0] for row in CLASSES}


def test_limits_are_the_defaults() -> None:
    defaults = {option.name: option.default for option in OPTIONS}

    assert {code(row[1]): row[2] for row in LIMITS} == {
        name: defaults[name] for name in ("max_body", "max_batch", "max_answer")
    }


def test_limits_of_json_are_the_readers() -> None:
    (table,) = tables(section(PAGE, "JSON"))

    assert [int(row[1]) for row in table] == [
        json_text.MAX_DEPTH,
        json_text.MAX_NUMBER_LENGTH,
        json_text.MAX_VALUES,
        jsonrpc.MAX_SAFE_INTEGER,
    ]


# --- revisions and batches ---


def test_revisions_are_those_of_the_code() -> None:
    (table,) = tables(section(PAGE, "Revisions"))
    ours = [
        [
            revision.name,
            "may be judged" if revision.allows_batches else "refused",
            "none" if revision.is_modern else "`initialize`",
            "outside of it" if revision.is_modern else "JSON-RPC's server range",
        ]
        for revision in REVISIONS
    ]

    assert table == ours
    assert [row[0] for row in BATCHES_LISTED] == NAMES


ARRAYS: dict[str, list[Any]] = {
    "every member is allowed": [call("read", 1), request("ping", 2)],
    "one of two calls is denied": [call("read", 1), call("unknown", 2)],
    "notifications, all allowed": [notification("notifications/initialized")],
    "notifications, one denied": [notification("notifications/initialized"), notification("vendor/denied")],
    "empty": [],
    "a call, and an entry that is no message": [call("read", 1), 1],
    "a call, and an array": [call("read", 1), [call("read", 2)]],
    "a call, and an id that is no safe integer": [call("read", 1), call("read", 2**53)],
    "a call, and `initialize`": [call("read", 1), request("initialize", 2)],
    "one id twice": [call("read", 1), call("read", 1)],
    "more than `max_batch` members": [request("ping", number) for number in range(5)],
}


def answer_to_array(array: list[Any], revision: str, on_batch: str) -> str:
    options = {"on_batch": on_batch, "max_batch": "4"}
    if revision == "2026-07-28":  # it has no handshake: over HTTP the header says it
        return says(talk_under(revision, Transport.HTTP, **options).agent(array, headers_for(revision)))
    return says(talk_under(revision, **options).agent(array))


@pytest.mark.parametrize("revision", NAMES)
@pytest.mark.parametrize("array", ARRAYS)
def test_array_is_rejected_as_the_page_says(array: str, revision: str) -> None:
    (expected,) = by_first_cell(BATCHES_LISTED)[revision]

    assert expected == answer_to_array(ARRAYS[array], revision, "reject")


@pytest.mark.parametrize("revision", NAMES)
@pytest.mark.parametrize("array", ARRAYS)
def test_array_is_evaluated_as_the_page_says(array: str, revision: str) -> None:
    old, new = by_first_cell(BATCHES_EVALUATED)[array]

    assert (old if revision in OLD else new) == answer_to_array(ARRAYS[array], revision, "evaluate")


def test_every_array_is_on_the_page() -> None:
    assert list(ARRAYS) == [row[0] for row in BATCHES_EVALUATED]


# --- codes ---


def code_and_status(effects: Effects) -> tuple[int, int]:
    answer = next(effect for effect in effects if isinstance(effect, Answer | Forward))
    said = json.loads(answer.body)
    return said["error"]["code"], answer.status if isinstance(answer, Answer) else 200


def answers_of_the_fence(revision: str) -> dict[str, Callable[[], Effects]]:
    """Each refusal of the page, brought about under a revision over HTTP."""

    def given(message: Any, before: tuple[Any, ...] = (), policy: str = DENY, **options: str) -> Effects:
        talk = Talk(policy, options, transport=Transport.HTTP)
        headers = headers_for(revision)
        is_modern = revision == "2026-07-28"
        for sent in (*before, message):
            method = sent.get("method") if isinstance(sent, dict) else None
            mirrored = {"Mcp-Method": str(method)} if is_modern and method else {}
            name = sent["params"].get("name") if method else None
            if is_modern and isinstance(name, str):
                mirrored["Mcp-Name"] = name
            body = with_meta(sent) if is_modern and method else sent
            effects = talk.agent(body, {**headers, **mirrored})
        return effects

    def lost() -> Effects:
        talk = Talk(transport=Transport.HTTP)
        ping = request("ping")
        if revision == "2026-07-28":
            talk.agent(with_meta(ping), {**headers_for(revision), "Mcp-Method": "ping"})
        else:
            talk.agent(ping, headers_for(revision))
        return server_gone(talk.gate, talk.conversation, talk.circumstances, "the server cannot be reached")

    def failed() -> Effects:
        talk = Talk(transport=Transport.HTTP)
        body = request("ping") if revision != "2026-07-28" else with_meta(request("ping"))
        talk.agent(body, {**headers_for(revision), "Mcp-Method": "ping"})
        return refuse_answer(talk.gate, b"", talk.conversation, talk.circumstances, "it failed")

    def mismatch() -> Effects:
        talk = Talk(transport=Transport.HTTP)
        body = request("ping") if revision != "2026-07-28" else with_meta(request("ping"))
        return talk.agent(body, {**headers_for(revision), "Mcp-Method": "tools/list"})

    big = request("ping", 1, a="x" * 200)
    return {
        "blocked by the policy, or by a person": lambda: given(call("read")),
        "the server cannot be reached, or went away": lost,
        "the fence failed, or could not write its log": failed,
        "a batch, with `on_batch: reject`": lambda: given([]),
        "over `max_body`": lambda: given(big, max_body="100"),
        "no strict JSON": lambda: given("{"),
        "no message": lambda: given({"id": 1}),
        "a `tools/call` without a name, or with arguments that are no object": lambda: given(
            request("tools/call", 1, arguments={}) | ({"params": {"name": "", "arguments": {}}})
        ),
        "a request whose id is still in flight": lambda: given(
            request("ping"), (request("ping"),), policy='version: "1"\ndefaults: {decision: allow}\n'
        ),
        "header and body disagree": mismatch,
    }


CODES = by_first_cell(tables(section(PAGE, "Codes"))[0])


@pytest.mark.parametrize("refusal", CODES)
def test_refusal_has_the_codes_of_the_page(refusal: str) -> None:
    until, newest, status = CODES[refusal]

    for revision in REVISIONS:
        expected = (int(newest if revision.is_modern else until), int(status))
        assert expected == code_and_status(answers_of_the_fence(revision.name)[refusal]()), revision.name


def test_every_refusal_is_on_the_page() -> None:
    assert list(answers_of_the_fence("2025-11-25")) == list(CODES)


# --- HTTP requests ---


def http_request(*headers: tuple[str, str], method: str = "POST") -> HttpRequest:
    given = (JSON_TYPE, ("Host", "mcp.example.com"), *headers)
    return HttpRequest(method, "https", "mcp.example.com", 443, "/mcp", given)


def of_header(text: str) -> HttpRefusal | None:
    name, _, value = text.partition(": ")
    kept = [] if name == JSON_TYPE[0] else [JSON_TYPE]
    headers = (("Host", "mcp.example.com"), *kept, (name, value))
    return check_envelope(HttpRequest("POST", "https", "mcp.example.com", 443, "/mcp", headers), b"{}")


def of_reverse(*headers: tuple[str, str]) -> HttpRefusal | None:
    return check_host_and_origin(
        HttpRequest("POST", "http", "127.0.0.1", 8080, "/mcp", (JSON_TYPE, *headers)), (), ()
    )


def of_message(message: Any, *headers: tuple[str, str], settled: str | None = None) -> tuple[int, int, str]:
    talk = Talk(transport=Transport.HTTP)
    if settled:
        talk.settle(settled)
    record, answer = talk.agent(message, dict(headers))
    assert isinstance(record, Record)
    assert isinstance(answer, Answer)
    return answer.status, json.loads(answer.body)["error"]["code"], str(record.event["reason_code"])


MODERN = ("MCP-Protocol-Version", "2026-07-28")
CALL = ("Mcp-Method", "tools/call")
REQUESTS: dict[str, Callable[[], HttpRefusal | tuple[int, int, str] | None]] = {
    "`PUT` with a message": lambda: check_envelope(http_request(method="PUT"), b"{}"),
    "`GET` with a body": lambda: check_envelope(http_request(method="GET"), b"{}"),
    "no `Content-Type`": lambda: check_envelope(
        HttpRequest("POST", "https", "mcp.example.com", 443, "/mcp", (("Host", "mcp.example.com"),)), b"{}"
    ),
    "two `Content-Type` headers": lambda: check_envelope(http_request(JSON_TYPE), b"{}"),
    "two `Mcp-Session-Id` headers": lambda: check_envelope(
        http_request(("Mcp-Session-Id", "a"), ("Mcp-Session-Id", "a")), b"{}"
    ),
    "`Mcp-Method: ping` over a `tools/call`": lambda: of_message(call("read"), ("Mcp-Method", "ping")),
    "`Mcp-Name: read_file` over a call of another tool": lambda: of_message(
        call("read"), ("Mcp-Name", "read_file")
    ),
    "2026-07-28 without `Mcp-Method`": lambda: of_message(
        with_meta(call("read")), MODERN, ("Mcp-Name", "read")
    ),
    "2026-07-28 without `Mcp-Name`": lambda: of_message(with_meta(call("read")), MODERN, CALL),
    "2026-07-28 without the revision in `_meta`": lambda: of_message(
        call("read"), MODERN, CALL, ("Mcp-Name", "read")
    ),
    "another revision than its session settled": lambda: of_message(
        call("read"), ("MCP-Protocol-Version", "2025-06-18"), settled="2025-11-25"
    ),
    "reverse mode, `Host: evil.example`": lambda: of_reverse(("Host", "evil.example")),
    "reverse mode, `Origin: https://evil.example`": lambda: of_reverse(
        ("Host", "127.0.0.1:8080"), ("Origin", "https://evil.example")
    ),
}
REFUSED_REQUESTS = by_first_cell(tables(section(PAGE, "HTTP requests"))[0])


@pytest.mark.parametrize("row", REFUSED_REQUESTS)
def test_request_is_refused_as_the_page_says(row: str) -> None:
    answer, reason_code = REFUSED_REQUESTS[row]
    got = REQUESTS[row]() if row in REQUESTS else of_header(code(row))
    if isinstance(got, HttpRefusal):
        got = (got.status, got.code, got.reason_code)

    assert got == (*map(int, answer.split(", ")), code(reason_code))


def test_what_the_page_says_of_other_requests_is_true() -> None:
    """The honest ones: without the headers that may be missing, and other verbs without a body."""
    assert check_envelope(http_request(), b"{}") is None
    assert all(
        check_envelope(http_request(method=verb), b"") is None
        for verb in ("GET", "DELETE", "HEAD", "OPTIONS")
    )
    effects = Talk(transport=Transport.HTTP).agent(call("read"), {})
    assert says(effects) == "sent on"


def test_example_of_data_is_what_a_denied_call_gets() -> None:
    (example,) = examples("json", ROOT / "docs" / "wire.md")
    expected = json.loads(example.text)
    policy = (
        'version: "1"\ndefaults: {decision: deny}\ntools:\n'
        '  read_text_file: {decision: allow, constraints: {paths: {roots: ["/"], deny: ["**/.env"]}}}\n'
    )
    *_, answer = Talk(policy).agent(call("read_text_file", path=".env"))

    assert isinstance(answer, Answer)
    assert json.loads(answer.body)["error"]["data"] == expected


# --- one session over HTTP ---


def left_open() -> Talk:
    """A POST that is over, and whose call is not answered."""
    first = begin_session()
    first.agent(call("read", 1))
    first.conversation.leave()
    return first


def answered() -> Talk:
    first = begin_session()
    first.agent(call("read", 1))
    first.server(result(1))
    return first


def asked() -> Talk:
    first = begin_session()
    first.agent(call("send", 1))
    return first


def passes(talk: Talk, id_: int = 1) -> bool:
    return bool(forwarded(talk.server(result(id_))))


def in_flight() -> bool:
    first = begin_session()
    first.agent(call("read", 1))
    return codes(exchange(first).agent(call("read", 1))) == [(1, -32600)]


def passes_once(talk: Talk) -> bool:
    return passes(talk) and not passes(talk)


def uncorrelated() -> bool:
    effects = exchange(begin_session(), resumes=True).server(result(7))
    return bool(forwarded(effects)) and answer_events(effects)[0]["uncorrelated"]


def withdrawn() -> bool:
    first = begin_session()
    question = first.agent(call("send", 1))
    cancelling = kinds(exchange(first).agent(cancelled(1)))
    return cancelling == ["Record", "Withdraw", "Drop"] and codes(first.say(question, "cancelled")) == [
        (1, -32001)
    ]


OF_A_SESSION: dict[str, Callable[[], bool]] = {
    "a request whose id is in flight in another POST of the session": in_flight,
    "an answer on a GET stream to a call whose POST is over": lambda: passes_once(
        exchange(left_open(), get=True)
    ),
    "an answer on a GET stream to a call that a person is still asked about": lambda: (
        not passes(exchange(asked(), get=True))
    ),
    "an answer on a GET stream that answers no call": lambda: not passes(exchange(begin_session(), get=True)),
    "the same on a stream that resumes another (`Last-Event-ID`), to a call that was answered": lambda: (
        passes(exchange(answered(), resumes=True))
    ),
    "the same, to a call that is not known, as one from before the fence was started": uncorrelated,
    "an agent's answer to a question that the server did not ask": lambda: (
        not forwarded(begin_session().agent(result(7)))
    ),
    "`notifications/cancelled` for a call that a person is asked about": withdrawn,
}


def test_exchanges_of_a_session_are_held_to_each_other_as_the_page_says() -> None:
    (table,) = tables(section(PAGE, "Answers and their calls over HTTP"))

    assert [row[0] for row in table] == list(OF_A_SESSION)
    assert [what for what, holds in OF_A_SESSION.items() if not holds()] == []


def test_server_answers_are_passed_or_refused_as_the_page_says() -> None:
    talk = Talk()
    talk.agent(request("ping", 7))

    assert says(talk.server(result(7))) == "sent on"
    talk.agent(request("ping", 8))
    *_, refused = talk.server(b'{"jsonrpc":"2.0","id":8,"id":9,"result":{}}')
    assert isinstance(refused, Forward)
    said = json.loads(refused.body)
    assert (said["id"], said["error"]["code"]) == (8, -32003)
    assert said["error"]["data"]["agentfence"]["reason_code"] == "answer_refused"
