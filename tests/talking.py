"""An agent and a server with the gate between them, in memory."""

from __future__ import annotations

import json
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from policies_in_memory import load_text

from agentfence.core.answers import server_message
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Answer, Approval, Ask, Forward, Record
from agentfence.core.engine import Engine
from agentfence.core.gate import Gate
from agentfence.core.http_sessions import HttpSession
from agentfence.core.redaction import build_redactor
from agentfence.core.session import Conversation, Session, Transport
from agentfence.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.effects import Effect, Effects
    from agentfence.core.policy.model import Policy
    from agentfence.core.redaction.redactor import Redactor

ALLOW = 'version: "1"\ndefaults: {decision: allow}\n'
ASK = 'version: "1"\ndefaults: {decision: ask, methods: ask}\n'
DENY = 'version: "1"\ndefaults: {decision: deny, methods: deny}\n'
MIXED = """
version: "1"
defaults: {decision: deny}
tools:
  read: allow
  send: ask
  call_once: {decision: ask, remember: call}
  call_often: {decision: ask, remember: tool}
  limited: {decision: allow, constraints: {rate: {limit: 1, per: minute}}}
methods: {sampling/createMessage: ask, vendor/denied: deny}
audit: {include_redacted_arguments: true}
"""
NOW = 1_700_000_000.0


def make_gate(policy: str, options: Mapping[str, str] | None = None) -> Gate:
    """A gate as a surface builds it, without a file."""
    loaded, redactor = _read(policy)
    return Gate(Engine(loaded), read_settings(dict(options or {}), {}).gate, redactor)


@cache
def _read(policy: str) -> tuple[Policy, Redactor]:
    loaded = load_text(policy)
    redaction = loaded.redaction
    redactor = build_redactor(
        builtin=redaction.builtin, patterns=redaction.patterns, enabled=redaction.enabled
    )
    return loaded, redactor


class Talk:
    """One conversation; `time` is what the clock says, `links` where links on the disk lead."""

    def __init__(
        self,
        policy: str = MIXED,
        options: Mapping[str, str] | None = None,
        *,
        transport: Transport = Transport.STDIO,
        server: str | None = None,
        is_identified: bool = True,
        links: Mapping[str, str] | None = None,
    ) -> None:
        self.links = links
        self.gate = make_gate(policy, options)
        self.session = Session("agent", is_identified=is_identified)
        self.conversation = Conversation(self.session, transport, server)
        self.time = NOW
        self.over_http: HttpSession | None = None

    def adopt(self, policy: str) -> None:
        """Have another policy in force from now on."""
        loaded, redactor = _read(policy)
        self.gate.adopt(Engine(loaded), redactor)

    @property
    def circumstances(self) -> Circumstances:
        links = self.links
        resolve_links = None if links is None else lambda path: links.get(path, path)
        return Circumstances(self.time, resolve_links, Effort())

    def agent(self, message: Any, headers: Mapping[str, str] | None = None) -> Effects:
        """What is done about what the agent sends."""
        given = None if headers is None else tuple(headers.items())
        return self.gate.client_message(as_bytes(message), self.conversation, self.circumstances, given)

    def server(self, message: Any) -> Effects:
        """What is done about what the server sends."""
        return server_message(self.gate, as_bytes(message), self.conversation, self.circumstances)

    def say(self, effects: Effects, outcome: str = "approved", *, remember: bool = False) -> Effects:
        """What is done when a person answers the one question in `effects`."""
        (ask,) = effects
        assert isinstance(ask, Ask)
        approval = Approval(outcome, "tty", remember=remember)
        return self.gate.resolve(ask.pending, approval, self.circumstances)

    def lose(self, effects: Effects) -> Effects:
        """What is done when the first event in `effects` cannot be written."""
        record = next(effect for effect in effects if isinstance(effect, Record))
        return effects if record.pending is None else self.gate.unrecorded(record.pending)

    def settle(self, revision: str) -> None:
        """Have the handshake settle a revision."""
        self.agent(request("initialize", "handshake", protocolVersion=revision))
        self.server(result("handshake", {"protocolVersion": revision}))


def begin_session(policy: str = MIXED, *, is_known_whole: bool = True) -> Talk:
    """The first POST of an MCP session over HTTP."""
    talk = Talk(policy, transport=Transport.HTTP)
    talk.over_http = HttpSession(is_known_whole=is_known_whole)
    return exchange(talk)


def exchange(talk: Talk, *, get: bool = False, resumes: bool = False) -> Talk:
    """One more exchange of the session that `talk` is one of."""
    other = copy(talk)
    other.conversation = Conversation(talk.session, Transport.HTTP, None)
    assert talk.over_http is not None
    other.conversation.join(talk.over_http, talk.over_http.calls_of_exchange())
    other.conversation.carries_other_answers = get or resumes
    other.conversation.resumes = resumes
    return other


def as_bytes(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    return message.encode() if isinstance(message, str) else json.dumps(message).encode()


def call(tool: str, id_: Any = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", id_, name=tool, arguments=arguments)


def request(method: str, id_: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id_: Any = 1, value: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": {} if value is None else value}


def error(id_: Any = 1, code: int = -32000, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": "failed", **more}}


def cancelled(id_: Any) -> dict[str, Any]:
    return notification("notifications/cancelled", requestId=id_)


def kinds(effects: Effects) -> list[str]:
    """The effects by name, in order, without the events of answers that pass."""
    return [type(effect).__name__ for effect in effects if not _is_answered(effect)]


def _events(effects: Effects) -> list[dict[str, Any]]:
    return [dict(effect.event) for effect in effects if isinstance(effect, Record)]


def _is_answered(effect: Effect) -> bool:
    return isinstance(effect, Record) and effect.event["kind"] == "answered"


def forwarded(effects: Effects) -> list[Any]:
    return [json.loads(effect.body) for effect in effects if isinstance(effect, Forward)]


def answered(effects: Effects) -> list[Any]:
    return [json.loads(effect.body) for effect in effects if isinstance(effect, Answer)]


def events(effects: Effects) -> list[dict[str, Any]]:
    """The events about messages that were judged or refused."""
    return [event for event in _events(effects) if event["kind"] != "answered"]


def answer_events(effects: Effects) -> list[dict[str, Any]]:
    """The events about answers that pass."""
    return [event for event in _events(effects) if event["kind"] == "answered"]


def codes(effects: Effects) -> list[tuple[Any, int]]:
    """The errors in all answers, as id and code."""
    flat: list[Any] = []
    for message in (*answered(effects), *forwarded(effects)):
        flat += message if isinstance(message, list) else [message]
    return [(message["id"], message["error"]["code"]) for message in flat if "error" in message]
