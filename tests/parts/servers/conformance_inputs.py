"""The tools of the conformance suite that need the client's input before they can answer.

Since revision 2026-07-28 they return what they need, and the client calls again with it.
What a tool has to remember in between goes out as `requestState`, signed.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

import mcp_types as types
from conformance_tools import Context, Tool, ToolResult, text_result
from mcp.shared.exceptions import MCPError

KEY = secrets.token_bytes(32)


def form(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def prompt(text: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


ROOTS = types.ListRootsRequest()
ASK_NAME = form("What is your name?", "name")
CONFIRM = form("Please confirm", "ok", "boolean")
CAPITAL = prompt("What is the capital of France?", 100)
GREETING = prompt("Generate a greeting", 50)

Round = dict[str, types.InputRequest]

ROUNDS: dict[str, list[Round]] = {
    "test_input_required_result_elicitation": [{"user_name": ASK_NAME}],
    "test_streaming_elicitation": [{"user_name": ASK_NAME}],
    "test_input_required_result_sampling": [{"capital_question": CAPITAL}],
    "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
    "test_input_required_result_request_state": [{"confirm": CONFIRM}],
    "test_input_required_result_tampered_state": [{"confirm": CONFIRM}],
    "test_input_required_result_multiple_inputs": [
        {"user_name": ASK_NAME, "greeting": GREETING, "client_roots": ROOTS}
    ],
    "test_input_required_result_multi_round": [
        {"step1": form("Step 1: What is your name?", "name")},
        {"step2": form("Step 2: What is your favorite color?", "color")},
    ],
}
"""What each tool asks for, round by round."""

STATEFUL = {
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
}


def sign(state: str) -> str:
    return f"{state}.{hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()}"


def rounds_done(tool: str, request_state: str | None) -> int:
    """How many rounds a call has behind it; raises MCPError if the state is not one of ours."""
    if request_state is None:
        return 0
    state = request_state.rpartition(".")[0]
    if not hmac.compare_digest(sign(state).encode(), request_state.encode()) or not state.startswith(
        f"{tool}:"
    ):
        raise MCPError(types.INVALID_PARAMS, "the request state was not made by this server")
    return int(state.rpartition(":")[2])


def is_answered(asked: Round, answers: dict[str, Any]) -> bool:
    """Whether each question got an answer of its kind; answers nobody asked for do not count."""
    return all(_fits(request, answers.get(key)) for key, request in asked.items())


def _fits(request: types.InputRequest, answer: Any) -> bool:
    match request:
        case types.ElicitRequest():
            return isinstance(answer, types.ElicitResult)
        case types.ListRootsRequest():
            return isinstance(answer, types.ListRootsResult)
        case _:
            return isinstance(answer, types.CreateMessageResult | types.CreateMessageResultWithTools)


def tool_in_rounds(name: str, rounds: list[Round]) -> Tool:
    async def tool(_context: Context, params: types.CallToolRequestParams) -> ToolResult:
        done = rounds_done(name, params.request_state)
        if is_answered(rounds[done], dict(params.input_responses or {})):
            done += 1
        if done == len(rounds):
            return text_result(f"{name} got what it asked for")
        state = sign(f"{name}:{done}") if name in STATEFUL else None
        return types.InputRequiredResult(input_requests=rounds[done], request_state=state)

    return tool


async def ask_what_the_client_can(context: Context, params: types.CallToolRequestParams) -> ToolResult:
    capabilities = context.session.client_capabilities or types.ClientCapabilities()
    asked: Round = {}
    if capabilities.elicitation is not None:
        asked["user_name"] = ASK_NAME
    if capabilities.sampling is not None:
        asked["greeting"] = GREETING
    if is_answered(asked, dict(params.input_responses or {})):
        return text_result("the client's capabilities were used")
    return types.InputRequiredResult(input_requests=asked)


INPUT_TOOLS: dict[str, Tool] = {name: tool_in_rounds(name, rounds) for name, rounds in ROUNDS.items()}
INPUT_TOOLS["test_input_required_result_capabilities"] = ask_what_the_client_can
