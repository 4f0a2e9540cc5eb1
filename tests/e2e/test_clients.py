"""Each real client, through each way in that it supports: an allowed call, a denied one, and one more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from e2e.fence import Launch, relay, script_of, start_proxy
from e2e.network import make_ca, proxied, trusting
from e2e.parts import (
    LIST,
    SDK_LINES,
    Call,
    Outcome,
    SdkLine,
    Step,
    call,
    executed_calls,
    filesystem_server,
    run_client,
    start_http_server,
    stdio_server,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

STEPS: list[Step] = [
    LIST,
    call("write_file", path="a", content="b"),
    call("delete_file", path="a"),
    call("read_file", path="a"),
]
EXECUTED = [Call("write_file", {"path": "a", "content": "b"}), Call("read_file", {"path": "a"})]

every_line = pytest.mark.parametrize("line", SDK_LINES)


def check(outcomes: list[Outcome]) -> None:
    """The denied call was an ordinary MCP error, and the session lived on."""
    listed, written, deleted, read = outcomes

    assert "write_file" in listed.tools
    assert "delete_file" not in listed.tools
    assert (written.text, read.text) == ("wrote a", "b")
    assert deleted.error is not None
    assert deleted.error.code in {-32001, -31001}
    assert "blocked by AgentFence policy" in deleted.error.message
    assert "deleting is never for agents" in deleted.error.message


OTHER_LINE: dict[SdkLine, SdkLine] = {"py1": "ts2", "py2": "ts1", "ts1": "py2", "ts2": "py1"}


# Both ways to launch share all that reads messages, so the second is tried with one line of each language.
WAYS: list[tuple[SdkLine, Launch]] = [
    *((line, "script") for line in SDK_LINES),
    ("py1", "launcher"),
    ("ts2", "launcher"),
]


@pytest.mark.parametrize(("server_line", "launch"), WAYS)
def test_client_is_fenced_in_reverse_mode(server_line: SdkLine, launch: Launch, tmp_path: Path) -> None:
    clients = (server_line, OTHER_LINE[server_line]) if launch == "script" else (server_line,)
    with (
        start_http_server(server_line) as server,
        start_proxy(tmp_path, launch=launch, upstream=server.url.removesuffix("/mcp")) as proxy,
    ):
        for line in clients:
            check(run_client(line, STEPS, http=f"{proxy.origin}/mcp"))

        assert server.calls == EXECUTED * len(clients)
        decided = [event for event in proxy.events if event.get("tool") == "delete_file"]
        assert decided[-1]["decision"] == "deny"


@pytest.mark.parametrize(("line", "launch"), WAYS)
def test_client_is_fenced_behind_a_forward_proxy_with_tls(
    line: SdkLine, launch: Launch, tmp_path: Path
) -> None:
    certificate = make_ca(tmp_path)
    with (
        start_http_server("ts2" if line == "py1" else "py2", certificate=certificate) as server,
        start_proxy(tmp_path, launch=launch, trusts=certificate.authority) as proxy,
    ):
        variables = {**proxied(proxy.origin), **trusting(proxy.authority)}
        check(run_client(line, STEPS, http=server.url, env=variables))

        assert server.calls == EXECUTED


@every_line
def test_client_is_fenced_where_the_server_answers_in_json(line: SdkLine, tmp_path: Path) -> None:
    with (
        start_http_server(line, json_answers=True) as server,
        start_proxy(tmp_path, launch="launcher", upstream=server.url.removesuffix("/mcp")) as proxy,
    ):
        for client in ("ts2", OTHER_LINE[line]):
            check(run_client(client, STEPS, http=f"{proxy.origin}/mcp"))


@every_line
def test_client_is_fenced_by_the_relay(line: SdkLine, tmp_path: Path) -> None:
    record = tmp_path / "calls.jsonl"

    check(run_client(line, STEPS, stdio=script_of(tmp_path, relay(tmp_path, *stdio_server(line, record)))))

    assert executed_calls(record) == EXECUTED


@every_line
def test_client_uses_the_file_system_server_through_the_relay(line: SdkLine, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    policy = 'version: "1"\ndefaults: {decision: deny}\ntools: {"read_*": allow, write_file: allow}\n'
    steps = [
        call("write_file", path=str(file), content="hello"),
        call("create_directory", path=str(tmp_path / "new")),
        call("read_text_file", path=str(file)),
    ]

    command = relay(tmp_path, *filesystem_server(tmp_path), policy=policy)
    written, created, read = run_client(line, steps, stdio=script_of(tmp_path, command))

    assert written.ok
    assert created.error is not None
    assert not (tmp_path / "new").exists()
    assert read.text == "hello"
