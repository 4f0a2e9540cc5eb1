"""Runs an agent beside the proxy: they start and end together."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mitmproxy.log import MitmLogHandler

from agentfence.reporting import StandardError
from agentfence.starting import describe_failure, status_of

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping, Sequence

    from mitmproxy.master import Master

    type MakeEnvironment = Callable[[Master, int], Mapping[str, str]]
    """Gives the agent's environment, once the proxy listens at a port."""

PROXY_FAILED: Final = 125
"""The exit status, as env(1) and nohup(1) have it."""
_GRACE: Final = 5.0
"""Seconds that an agent gets to end without its proxy."""


async def run_agent(host: Master, command: Sequence[str], make_environment: MakeEnvironment) -> int:
    """Run the proxy and, once it listens, the agent; give the agent's exit status as a shell would."""
    ready = _Ready()
    host.addons.add(ready)
    serving = asyncio.create_task(host.run())
    listening = asyncio.create_task(ready.event.wait())
    try:
        await asyncio.wait([serving, listening], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving  # it may say why
            return PROXY_FAILED
        return await _run(command, make_environment(host, _port_of(host)), serving)
    finally:
        listening.cancel()
        host.shutdown()
        await asyncio.wait([serving])


def _port_of(host: Master) -> int:
    proxyserver = host.addons.get("proxyserver")
    if proxyserver is None:
        raise AssertionError("a proxy must be there")
    return int(proxyserver.listen_addrs()[0][1])


async def _run(command: Sequence[str], environment: Mapping[str, str], serving: asyncio.Task[None]) -> int:
    try:
        agent = await asyncio.create_subprocess_exec(*command, env=environment)
    except OSError as error:
        print(f"agentfence: {describe_failure(command[0], error)}", file=sys.stderr)  # noqa: T201 - for people
        return status_of(error)
    _pass_signals_on(agent)
    ending = asyncio.create_task(agent.wait())
    await asyncio.wait([ending, serving], return_when=asyncio.FIRST_COMPLETED)
    if not ending.done():  # without the proxy it has no way out
        await _end(agent, ending)
        return PROXY_FAILED
    status = ending.result()
    return status if status >= 0 else 128 - status


def _pass_signals_on(agent: asyncio.subprocess.Process) -> None:
    """Leave it to the agent what a signal means: the proxy ends with it."""
    loop = asyncio.get_running_loop()

    def pass_on(number: int) -> None:
        with suppress(ProcessLookupError):
            agent.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, pass_on, number)
    # ^C reaches the agent by itself, as it is of the same process group.
    loop.add_signal_handler(signal.SIGINT, lambda: None)


async def _end(agent: asyncio.subprocess.Process, ending: asyncio.Task[int]) -> None:
    with suppress(ProcessLookupError):
        agent.terminate()
        await asyncio.wait([ending], timeout=_GRACE)
        if not ending.done():
            agent.kill()
    await ending


class _Ready:
    """An addon that knows when the proxy and the live view listen."""

    name = "agentfence-ready"

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def running(self) -> None:
        """Note it: this hook is the last step of the start."""
        self.event.set()


class StandardErrorLog(MitmLogHandler):
    """What the fence says, and the host's problems, on stderr: stdout is the agent's."""

    def __init__(self) -> None:
        """Write to this process's stderr."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._write = StandardError()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record that is worth it."""
        if record.name == "agentfence" or record.levelname == "ERROR":
            self._write(record.getMessage())
