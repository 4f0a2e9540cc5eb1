"""Messages for benchmarks, and the gate that judges them as a surface would, without a disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from figures import load_text

from agentfence.core.answers import server_message
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Forward, Record
from agentfence.core.engine import Engine
from agentfence.core.gate import Gate
from agentfence.core.gate_settings import GateSettings, OnBatch
from agentfence.core.record import Chain
from agentfence.core.redaction import build_redactor
from agentfence.core.session import Conversation, Session, Transport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.effects import Effects

POLICY = {
    "version": "1",
    "tools": {
        "write_file": {
            "decision": "allow",
            "constraints": {
                "paths": {"fields": ["path"], "roots": ["/work"], "deny": ["**/.env", "secrets/**"]}
            },
        },
        "read_many": {
            "decision": "allow",
            "constraints": {"paths": {"fields": ["content"], "roots": ["/work"], "deny": ["**/.env"]}},
        },
        "fetch_many": {
            "decision": "allow",
            "constraints": {"urls": {"fields": ["content"], "hosts": ["*.example.com"]}},
        },
        "run_many": {
            "decision": "allow",
            "constraints": {"command": {"fields": ["content[*]"], "allow": ["ls **"]}},
        },
    },
}
_PROSE = "The quick brown fox jumps over the lazy dog, and nobody minds at all. "
_CODE = 'def read(path: str) -> bytes:\n    with open(path, "rb") as file:\n        return file.read()\n\n'


def policy_text(*, logs_arguments: bool) -> str:
    """The policy of these benchmarks: one rule with a constraint, redaction on."""
    return json.dumps({**POLICY, "audit": {"include_redacted_arguments": logs_arguments}})


def text_of(size: int) -> str:
    """Prose and code in turn, as people write them: `size` characters."""
    both = _PROSE * 3 + _CODE
    return (both * (size // len(both) + 1))[:size]


def call(id_: int, text: str) -> dict[str, object]:
    """A request that writes `text` to a file."""
    params = {"name": "write_file", "arguments": {"path": "/work/src/a.py", "content": text}}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def sized_call(id_: int, size: int) -> bytes:
    """The bytes of one request, `size` long, or as short as a call can be."""
    text = text_of(max(0, size - len(_written(id_, ""))))
    while text and len(body := _written(id_, text)) > size:  # escapes are longer than what they stand for
        text = text[: len(text) - max(1, (len(body) - size) // 2)]
    return _written(id_, text)


def _written(id_: int, text: str) -> bytes:
    return json.dumps(call(id_, text), separators=(",", ":")).encode()


class Bench:
    """A gate with one conversation and the chain of its log."""

    def __init__(self, *, logs_arguments: bool) -> None:
        redactor = build_redactor(builtin=True, patterns=())
        engine = Engine(load_text(policy_text(logs_arguments=logs_arguments)))
        self.gate = Gate(engine, GateSettings(on_batch=OnBatch.EVALUATE), redactor)
        self.conversation = Conversation(Session("stdio:1", is_identified=True), Transport.STDIO, None)
        self.chain = Chain("session-1")

    def judge(self, body: bytes) -> bool:
        """Bytes in, effects out and the event's line made; whether the message goes on."""
        return self._carry_out(self.gate.client_message(body, self.conversation, _circumstances()))

    def answer(self, body: bytes) -> bool:
        """The same for what the server sends."""
        return self._carry_out(server_message(self.gate, body, self.conversation, _circumstances()))

    def _carry_out(self, effects: Effects) -> bool:
        for effect in effects:
            if isinstance(effect, Record):
                _, self.chain = self.chain.seal(effect.event)
        return isinstance(effects[-1], Forward)

    def forget(self, ids: Iterable[int]) -> None:
        """End the calls that wait, so that the same ids may come again."""
        for id_ in ids:
            self.conversation.from_client.end(id_)


def _circumstances() -> Circumstances:
    return Circumstances(1_700_000_000.0, None, Effort())
