"""What is kept and noted of what servers return, before the agent gets it.

Texts are remembered for taint; lists of tools show schemas, definitions that changed, texts that
people cannot see, and one name on two servers.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from agentfence.core import tool_lists
from agentfence.core.decision import quoted
from agentfence.core.effects import Record
from agentfence.core.events import tool_of
from agentfence.core.jsonrpc import Notification, Request
from agentfence.core.known_tools import (
    KnownTool,
    digest_of,
    listed_tools,
    read_tool,
    schema_of,
)
from agentfence.core.pins import PIN_TEXTS, PinState
from agentfence.core.policy.model import Pins
from agentfence.core.tool_schemas import OwnSchema
from agentfence.core.tool_texts import ToolTexts
from agentfence.core.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentfence.core.calls_in_flight import CallInFlight
    from agentfence.core.constraints.interface import Json
    from agentfence.core.gate import Gate
    from agentfence.core.jsonrpc import Response
    from agentfence.core.pending import Judged
    from agentfence.core.session import Conversation

_LONGEST_SOURCE = 256
_WITHOUT_FOREIGN_TEXT = frozenset(
    {
        *("initialize", "ping", "server/discover", "logging/setLevel", "subscriptions/listen"),
        *("tools/list", "prompts/list", "resources/list", "resources/templates/list"),
        *("resources/subscribe", "resources/unsubscribe"),
    }
)
"""Requests whose results describe the server: what agents call tools by would all be foreign."""
_PIN_CODES = frozenset(code for code, _ in PIN_TEXTS.values())
_UNUSABLE = "schema_unusable", "has a schema that calls cannot be held to"
_MOST_NOTES = 500
"""On one list; others are told with the next."""
_TASK_STATE = "notifications/tasks"


def source_of(request: Request, conversation: Conversation) -> str:
    """Give whose answer a request brings: a tool, for a message about a task that of the task."""
    tool = tool_of(request)
    if tool is None and request.method.startswith("tasks/"):
        tool = _tool_of_task((request.params or {}).get("taskId"), conversation)
    return (tool or request.method)[:_LONGEST_SOURCE]


def observe_answer(
    gate: Gate, conversation: Conversation, call: CallInFlight, response: Response, time: float
) -> tuple[Record, ...]:
    """Keep what an answer brings, and give what the log must know of it."""
    if tool_lists.is_list(call.method, response):
        notes = tuple(_observe_tools(gate, conversation, call.call_id, response.result, time))
        if call.method or tool_lists.is_nothing_else(response.result):
            return notes
        return (*notes, *_remember(gate, conversation, "", response.result, call.call_id, time))
    if call.method in _WITHOUT_FOREIGN_TEXT and not response.is_error:
        return ()
    value: Json = dict(response.error or {}) if response.is_error else response.result
    return _remember(gate, conversation, call.source or call.method, value, call.call_id, time)


def observe_message(
    gate: Gate, conversation: Conversation, message: Request | Notification, time: float
) -> tuple[Record, ...]:
    """Keep what a server tells the agent unasked: a prompt, a question, a log line, the result of a task."""
    if gate.engine.taint is None or not message.params:
        return ()
    # The tasks extension of MCP 2026-07-28 has results in notifications.
    task_id = message.params.get("taskId") if message.method == _TASK_STATE else None
    source = _tool_of_task(task_id, conversation) or message.method[:_LONGEST_SOURCE]
    return _remember(gate, conversation, source, dict(message.params), gate.next_call_id(), time)


def observe_error(
    gate: Gate, conversation: Conversation, error: Json, time: float, call: CallInFlight | None = None
) -> tuple[Record, ...]:
    """Keep the text of an error that is passed on without having been judged."""
    source, call_id = ("", gate.next_call_id()) if call is None else (call.source, call.call_id)
    return _remember(gate, conversation, source, error, call_id, time)


def _tool_of_task(task_id: Json, conversation: Conversation) -> str | None:
    if not isinstance(task_id, str):
        return None
    task = conversation.tasks(from_server=False).find(conversation.peer, task_id)
    return None if task is None else task.source


def _remember(
    gate: Gate, conversation: Conversation, source: str, value: Json, call_id: str, time: float
) -> tuple[Record, ...]:
    """Keep texts for taint; without a `source` nobody knows what brought them, so that any may have."""
    rules, session, server = gate.engine.taint, conversation.session, conversation.server
    if rules is None or (source and not rules.is_source(server, source)):
        return ()
    source = source or "unknown"
    shown = source if server is None else f"{server}/{source}"
    has_forgotten = rules.remember(session.taint, shown, value)
    if not has_forgotten or not session.noted.is_new("taint_forgotten"):
        return ()
    text = "more came back than is remembered for taint, and the oldest is forgotten from now on"
    return (Record(gate.events.noted(conversation, time, call_id, "taint_forgotten", text)),)


def _observe_tools(
    gate: Gate, conversation: Conversation, call_id: str, result: Json, time: float
) -> Iterator[Record]:
    """Keep what a list says of each tool, and tell what is odd about it."""
    known_before, seen = conversation.session.tools, dict[str, str]()
    texts, noted = ToolTexts(), 0
    for name, descriptor in listed_tools(result):
        before = known_before.find(conversation.peer, name)
        schema, notes = schema_of(descriptor), list[tuple[str, str]]()
        tool = read_tool(descriptor, schema)
        if (twin := seen.get(name, tool.digest)) != tool.digest:
            # Only one of two can be called, and nobody knows which: it is neither of them.
            tool = KnownTool(digest_of([twin, tool.digest]))
        else:
            tool = _with_schema(tool, schema, before)
            if tool.arguments is None and gate.engine.policy.validate_arguments:
                notes.append(_UNUSABLE)
        seen[name] = tool.digest
        known_before.learn(conversation.peer, name, tool)
        notes += _oddities(gate, conversation, name, tool, before)
        notes += texts.oddities(descriptor)
        told = _noted(gate, conversation, call_id, (name, tool), notes, time)
        for record in islice(told, _MOST_NOTES - noted):
            noted += 1
            yield record


def _with_schema(tool: KnownTool, schema: str, before: KnownTool | None) -> KnownTool:
    """Give a tool with what calls of it can be held to, as a changed policy may want that later."""
    if before is not None and before.digest == tool.digest:
        return before
    if not schema:
        return tool
    return replace(tool, arguments=OwnSchema(schema))


def observe_call(gate: Gate, conversation: Conversation, member: Judged, time: float) -> Iterator[Record]:
    """Tell of a tool's schema that turned out to hold nothing when a call came."""
    name = tool_of(member.message) if isinstance(member.message, Request | Notification) else None
    tool = None if name is None else conversation.session.tools.find(conversation.peer, name)
    if tool is not None and tool.arguments is not None and tool.arguments.is_unusable:
        yield from _noted(gate, conversation, member.call_id, (name or "", tool), [_UNUSABLE], time)


def _noted(
    gate: Gate,
    conversation: Conversation,
    call_id: str,
    named: tuple[str, KnownTool],
    notes: Iterable[tuple[str, str]],
    time: float,
) -> Iterator[Record]:
    """Give the events of what is odd about a tool, once for each definition."""
    name, tool = named
    for code, text in notes:
        what = "pin" if code in _PIN_CODES else code
        if conversation.session.noted.is_new(what, conversation.peer, name, tool.digest):
            told = f"tool {quoted(name)} {text}"
            yield Record(
                gate.events.noted(conversation, time, call_id, code, told, tool=name, digest=tool.digest)
            )


def _oddities(
    gate: Gate,
    conversation: Conversation,
    name: str,
    tool: KnownTool,
    before: KnownTool | None,
) -> Iterator[tuple[str, str]]:
    if gate.engine.policy.pins is not Pins.OFF:
        state = gate.engine.lock.state(conversation.peer, name, tool.digest)
        if state is PinState.UNKNOWN and before is not None and before.digest != tool.digest:
            state = PinState.CHANGED
        if state is not PinState.HOLDS:
            yield PIN_TEXTS[state]
    others = conversation.session.tools.other_peers_with(conversation.peer, name)
    if others:
        shown = ", ".join(quoted(other) for other in others[:3])
        yield "tool_name_shared", f"has the name of a tool of {shown}"
