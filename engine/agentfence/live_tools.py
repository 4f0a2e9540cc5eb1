"""The tools of a live server, asked for as a client asks: `initialize`, then every page of `tools/list`.

A server that knows no `initialize` is asked as MCP 2026-07-28 has it. What it answers is read as
strictly as the fence reads, and bounded in time and size. Not here: servers of 2024-11-05 over SSE.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from agentfence import __version__
from agentfence.core.errors import ProtocolViolation, UsageError
from agentfence.core.event_stream import EventSplitter, ServerEvent
from agentfence.core.jsonrpc import parse_json
from agentfence.core.known_tools import listed_tools
from agentfence.core.pins import pin_of
from agentfence.settings import ENVIRONMENT_PREFIX
from agentfence.starting import describe_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.pins import Pin

PATIENCE = 60.0
"""Seconds in all: servers that are fetched first are slow to start."""
_LEGACY, _MODERN = "2025-11-25", "2026-07-28"
_MOST_PAGES = 1_000
_LARGEST = 67_108_864
_CLIENT = {"name": "agentfence", "version": __version__}
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _CLIENT,
}


class _Link(Protocol):
    def ask(self, message: dict[str, Any]) -> dict[str, Json]:
        """Send a request and give the answer to it."""
        ...

    def tell(self, message: dict[str, Any]) -> None:
        """Send a notification."""
        ...


def tools_of_command(command: Sequence[str]) -> dict[str, Pin]:
    """Start a server that talks on stdin and stdout, and give its tools.

    Raises:
        UsageError: it cannot be run, or does not list its tools.

    """
    with _Child(command) as child:
        return _tools(child)


def tools_of_url(url: str, headers: Mapping[str, str]) -> dict[str, Pin]:
    """Give the tools of a server that listens at a URL.

    Raises:
        UsageError: it cannot be reached, or does not list its tools.

    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--url must begin with http:// or https://, not `{url}`")
    return _tools(_Endpoint(url, headers))


def _tools(link: _Link) -> dict[str, Pin]:
    is_legacy = _shake_hands(link)
    tools: dict[str, Pin] = {}
    params: dict[str, Any] = {} if is_legacy else {"_meta": _META}
    for page in range(_MOST_PAGES):
        answer = link.ask({"jsonrpc": "2.0", "id": page + 1, "method": "tools/list", "params": params})
        result = answer.get("result")
        if not isinstance(result, dict):
            raise UsageError(f"the server does not list its tools: {json.dumps(answer.get('error'))[:500]}")
        for name, definition in listed_tools(result):
            if tools.setdefault(name, pin_of(definition)) != pin_of(definition):
                raise UsageError(f"the server has two tools with the name `{name}`")
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            return tools
        params = {**params, "cursor": cursor}
    raise UsageError(f"the list of tools has no end after {_MOST_PAGES} pages")


def _shake_hands(link: _Link) -> bool:
    """Whether the server knows the handshake of the revisions before 2026-07-28."""
    params = {"protocolVersion": _LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
    answer = link.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    if not isinstance(answer.get("result"), dict):
        return False
    link.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return True


def _read(text: bytes) -> dict[str, Json]:
    try:
        message = parse_json(text)
    except ProtocolViolation as violation:
        raise UsageError(f"the server wrote what is no message: {violation}") from violation
    return message if isinstance(message, dict) else {}


class _Child:
    """A server as a child process."""

    def __init__(self, command: Sequence[str]) -> None:
        environment = {n: text for n, text in os.environ.items() if not n.startswith(ENVIRONMENT_PREFIX)}
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True
            )
        except OSError as error:
            raise UsageError(describe_failure(command[0], error)) from error
        self._timer = threading.Timer(PATIENCE, self._end)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._end()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def ask(self, message: dict[str, Any]) -> dict[str, Json]:
        self.tell(message)
        for line in self._lines():
            answer = _read(line)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer
            if "id" in answer and "method" in answer:  # it would wait for us
                error = {"code": -32601, "message": "this client only lists tools"}
                self.tell({"jsonrpc": "2.0", "id": answer["id"], "error": error})
        raise UsageError("the server ended, or did not list its tools in time")

    def tell(self, message: dict[str, Any]) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # its output says more
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()

    def _lines(self) -> Iterator[bytes]:
        output = self._process.stdout
        while output is not None and (line := output.readline(_LARGEST)):
            if line.strip():
                yield line

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class _Endpoint:
    """A server over Streamable HTTP."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {
            **headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def ask(self, message: dict[str, Any]) -> dict[str, Json]:
        for answer in self._post(message):
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer
        raise UsageError(f"`{self._url}` did not answer `{message['method']}`")

    def tell(self, message: dict[str, Any]) -> None:
        for _ in self._post(message):
            pass

    def _post(self, message: dict[str, Any]) -> Iterator[dict[str, Json]]:
        headers = dict(self._headers)
        if message.get("params", {}).get("_meta"):
            headers.update({"MCP-Protocol-Version": _MODERN, "Mcp-Method": message["method"]})
        request = Request(self._url, json.dumps(message).encode(), headers)  # noqa: S310 - of two schemes
        try:
            with urlopen(request, timeout=PATIENCE) as response:  # noqa: S310 - likewise
                if "Mcp-Session-Id" in response.headers:
                    self._headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
                if message["method"] == "notifications/initialized":
                    return
                yield from self._messages(response)
        except HTTPError as error:
            yield self._refusal(error, message)
        except (URLError, OSError) as error:
            cause = getattr(error, "reason", error)
            reason = getattr(cause, "strerror", None) or cause
            raise UsageError(f"`{self._url}` cannot be reached: {reason}") from error

    def _messages(self, response: Any) -> Iterator[dict[str, Json]]:
        if response.headers.get_content_type() != "text/event-stream":
            yield _read(response.read(_LARGEST))
            return
        splitter = EventSplitter(_LARGEST)
        while piece := response.read1(65_536):
            for event in splitter.feed(piece):
                if isinstance(event, ServerEvent) and event.data:
                    yield _read(event.data)

    def _refusal(self, error: HTTPError, message: dict[str, Any]) -> dict[str, Json]:
        """Give a refusal as an answer, where it is one that has another way to ask."""
        if message["method"] == "initialize" and error.code in {400, 404, 405}:
            return {"id": message["id"], "error": {"code": -32601, "message": str(error)}}
        hint = "; give a credential with --header" if error.code in {401, 403} else ""
        raise UsageError(f"`{self._url}` answered {error.code} {error.reason}{hint}") from error
