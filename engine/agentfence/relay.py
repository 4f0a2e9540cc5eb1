"""The relay: a policy firewall around a server that talks MCP on its stdin and stdout.

One loop, one thread: it reads what is there, has the gate judge each line, and writes whole lines
through one queue a side. So an answer made here never lands inside the server's output, and a full
pipe stops only the reading that would make it fuller.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from agentfence.approval.progress import ProgressNotices
from agentfence.core.answers import refuse_answer, server_gone, server_message
from agentfence.core.effects import Answer, Approval, Ask, Forward, Withdraw
from agentfence.core.failing import fail_asked
from agentfence.core.lines import LineSplitter, Overlong
from agentfence.core.taint_memory import AT_ONCE
from agentfence.outlet import Outlet
from agentfence.run_controls import LOOK_EVERY, RunControls

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable

    from agentfence.approval.interface import Approver
    from agentfence.core.effects import Effect, Effects, Question
    from agentfence.core.lines import Line
    from agentfence.core.pending import Pending
    from agentfence.core.policy.model import Policy
    from agentfence.core.session import Conversation
    from agentfence.fence import Fence
    from agentfence.relay_start import NameServer

_READ_SIZE: Final = 1_048_576
_LARGE: Final = 131_072
"""Bytes of a line from which on its memory comes from the system by itself."""
_FULL: Final = 1_048_576
"""Bytes waiting for one side from which on nothing is read that would add to them."""
_MOST_ASKED: Final = 67_108_864
"""Bytes of the messages that people are asked about at a time, if that is more than one."""
_LINES_AT_ONCE: Final = 256
"""Of what was read at once; then signals, the other side and people have their turn."""
_AT_ONCE: Final = 0.000_1
"""Seconds: what comes within them is worth looking for, as to sleep and to be woken takes as long."""
_give_way: Final = getattr(os, "sched_yield", lambda: None)
"""Lets who waits for this core have it."""
_EOF_GRACE: Final = 5.0
"""Seconds from the end of the agent's input until a server that goes on is told to end."""
_EOF_GRACE_IN_FLIGHT: Final = 60.0
"""The same while answers are still awaited."""
_SIGNAL_GRACE: Final = 0.5
"""Seconds from a signal until the server is told to end; clients kill the relay after 2."""
_TERMINATE_GRACE: Final = 1.0
"""Seconds from SIGTERM to SIGKILL."""
_LAST_WORDS_GRACE: Final = 2.0
"""Seconds from a signal for an agent to take what a server wrote before it ended."""
_LAST_WORDS_WORK: Final = 2.0
"""Seconds of work to judge that."""


class Relay:
    """Carries lines between an agent and a child process, through the gate."""

    def __init__(
        self,
        fence: Fence,
        child: subprocess.Popen[bytes],
        conversation: Conversation,
        approver: Approver,
        name_server: NameServer,
    ) -> None:
        """Take the fence, a child with pipes on stdin and stdout, who is asked, and what names the server."""
        stdin, stdout = child.stdin, child.stdout
        if stdin is None or stdout is None:
            raise ValueError("the child must have pipes on stdin and stdout")
        self._fence = fence
        self._gate = fence.gate
        self._child = child
        self._conversation = conversation
        self._taint = conversation.session.taint
        self._approver = approver
        self._name_server = name_server
        self._controls = RunControls(fence, self._prepare, self._hurry)
        self._next_look = time.monotonic() + LOOK_EVERY if self._controls.watches else None
        self._signals: deque[int] = deque()
        self._from_agent, self._to_agent = sys.stdin.fileno(), Outlet(sys.stdout.fileno())
        self._from_server, self._to_server = stdout.fileno(), Outlet(stdin.fileno())
        self._agent_lines = LineSplitter(fence.settings.gate.max_body)
        self._server_lines = LineSplitter(fence.settings.gate.max_answer)
        self._left: dict[bool, tuple[list[Line], int]] = {}
        """Lines that were read and wait for their turn, with the place of the first, by `from_server`."""
        self._agent_ended = self._server_ended = False
        self._server_left = False
        """It ended its output before anybody told it to end."""
        self._asked: dict[str, Pending] = {}
        self._approvals: deque[tuple[str, Approval]] = deque()
        self._progress = ProgressNotices()
        self._deadline: float | None = None
        self._hurried_until: float | None = None
        self._awaits_answers = False
        self._is_terminated = False
        self._expects_large = False
        self._came_at_once = False
        self._read = _Reader().read
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._poll = select.poll()
        self._polled: dict[int, int] = {}
        self._listen_to_signals()

    def run(self) -> int:
        """Carry lines until the child has ended; give its exit status as a shell would."""
        for descriptor in (self._to_agent.descriptor, self._to_server.descriptor):
            os.set_blocking(descriptor, False)
        try:
            while self._child.poll() is None:
                self._turn()
            self._take_last_words()
        finally:
            self._approver.close()
            os.set_blocking(self._to_agent.descriptor, True)
        status = self._child.returncode
        return status if status >= 0 else 128 - status

    # the loop

    def _turn(self) -> None:
        """Wait for something to happen, and do it."""
        self._choose_what_to_watch()
        for descriptor, _ in self._wait():
            if descriptor == self._from_agent:
                self._read_agent()
            elif descriptor == self._from_server:
                self._read_server()
            elif descriptor == self._wake_read:
                os.read(self._wake_read, 4096)
                self._take_approvals()
                self._take_signals()
        if self._left:
            self._take_left()
        for notification, is_for_server in self._progress.take_due(time.monotonic()):
            outlet = self._to_server if is_for_server else self._to_agent
            if outlet.size < _FULL:  # else nobody reads, and each may be as long as its token
                outlet.put(notification)
        self._flush()
        if self._taint.is_behind:
            self._catch_up()
        if self._awaits_answers and not len(self._conversation.from_client):
            self._awaits_answers = False
            self._end_within(_EOF_GRACE)
        if self._next_look is not None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_EVERY
            self._controls.look()
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._press_on()

    def _wait(self) -> list[tuple[int, int]]:
        """Give the descriptors that are ready, once one is or something is due.

        While answers come at once the relay looks for the next one instead of sleeping, which would also
        cost it its place in the processor's caches; the first one that does not come at once ends that.
        """
        began, ready = time.perf_counter(), list[tuple[int, int]]()
        while self._came_at_once and not ready and time.perf_counter() - began < _AT_ONCE:
            _give_way()
            ready = self._poll.poll(0)
        ready = ready or self._poll.poll(self._patience())
        self._came_at_once = time.perf_counter() - began < _AT_ONCE
        return ready

    def _patience(self) -> float | None:
        """Give the milliseconds until something is due; None when nothing is."""
        if self._taint.is_behind or any(self._may_read(from_server=side) for side in self._left):
            return 0
        ends = (self._deadline, self._progress.next_due, self._next_look)
        due = [end for end in ends if end is not None]
        return max(0.0, min(due) - time.monotonic()) * 1000 if due else None

    def _choose_what_to_watch(self) -> None:
        """Watch what can be read without adding to a full queue, and written where bytes wait."""
        wanted = {self._wake_read: select.POLLIN}
        if self._may_read(from_server=True) and True not in self._left:
            wanted[self._from_server] = select.POLLIN
        if self._may_read(from_server=False) and False not in self._left:
            wanted[self._from_agent] = select.POLLIN
        for outlet in (self._to_agent, self._to_server):
            if outlet.size:
                wanted[outlet.descriptor] = select.POLLOUT
        if wanted == self._polled:
            return
        for descriptor in self._polled.keys() - wanted.keys():
            self._poll.unregister(descriptor)
        for descriptor, events in wanted.items():
            self._poll.register(descriptor, events)
        self._polled = wanted

    def _may_read(self, *, from_server: bool) -> bool:
        """Whether one more line of a side may be judged without adding to a full queue."""
        if self._to_agent.size >= _FULL:
            return False
        if from_server:
            return not self._server_ended
        return not self._agent_ended and self._to_server.size < _FULL and not self._taint.is_behind

    def _catch_up(self) -> None:
        """Remember some more of what came back; what the agent sends waits meanwhile, and nothing else."""
        try:
            self._taint.catch_up(AT_ONCE)
        except Exception as error:  # noqa: BLE001 - the agent's calls are held to be derived from then on
            self._fence.report_failure(error)

    def _flush(self) -> None:
        self._to_agent.flush()
        self._to_server.flush()
        if not self._to_agent.is_open:  # what nobody hears of is not done
            self._end_within(_EOF_GRACE)
        if not self._to_server.is_open and self._close_server_input():
            self._end_calls("the server closed its input")
        if self._deadline is not None and not self._to_server.size:
            self._close_server_input()

    # what comes in

    def _read_agent(self) -> None:
        received = self._read(self._from_agent)
        if received:
            self._take(self._agent_lines.feed(received), from_server=False)
        elif received is not None:
            self._take(self._agent_lines.end(), from_server=False)
            self._agent_ended = True
            for call_id in tuple(self._asked):
                self._approver.withdraw(call_id)
            self._awaits_answers = len(self._conversation.from_client) > 0
            self._end_within(_EOF_GRACE_IN_FLIGHT if self._awaits_answers else _EOF_GRACE)

    def _read_server(self) -> None:
        received = self._read(self._from_server)
        if received:
            self._take(self._server_lines.feed(received), from_server=True)
        elif received is not None:
            self._take(self._server_lines.end(), from_server=True)
            self._server_ended = True
            self._server_left = self._deadline is None
            self._end_calls("the server closed its output")
            self._end_within(_EOF_GRACE)

    def _take_left(self) -> None:
        for from_server in tuple(self._left):
            if self._may_read(from_server=from_server):
                self._take(*self._left.pop(from_server), from_server=from_server)

    def _take(self, lines: list[Line], start: int = 0, *, from_server: bool) -> None:
        """Judge lines, and leave those over `_LINES_AT_ONCE` for the next turn."""
        end = start + _LINES_AT_ONCE
        if end < len(lines):
            self._left[from_server] = lines, end
        for line in lines[start:end]:
            if not self._expects_large and not isinstance(line, Overlong) and len(line) > _LARGE:
                self._expect_large()
            if isinstance(line, Overlong) or line.strip(b" \t\r"):
                self._carry_out(self._judge_safely(line, from_server=from_server), from_server=from_server)

    def _expect_large(self) -> None:
        """Be ready for more large messages: most relays see none, and a user's pipes share their room."""
        self._expects_large = True
        _keep_freed_memory()
        outlets = (self._to_agent, self._to_server)
        for pipe in (self._from_agent, self._from_server, *(outlet.descriptor for outlet in outlets)):
            _widen(pipe)

    def _take_approvals(self) -> None:
        while self._approvals:
            call_id, approval = self._approvals.popleft()
            pending = self._asked.pop(call_id, None)
            if pending is None:  # a late answer never counts for another call
                continue
            self._progress.end(call_id)
            self._carry_out(self._resolve_safely(pending, approval), from_server=pending.from_server)

    def _resolve_safely(self, pending: Pending, approval: Approval) -> list[Effect]:
        """Give what is to be done about an answered question; whatever goes wrong is a refusal."""
        try:
            return self._fence.record(self._gate.resolve(pending, approval, self._fence.circumstances()))
        except Exception as error:  # noqa: BLE001 - as for a line: when in doubt, deny
            self._fence.report_failure(error)
            return self._fence.record(fail_asked(self._gate, pending, self._fence.circumstances()))

    def _judge_safely(self, line: Line, *, from_server: bool) -> list[Effect]:
        """Give what is to be done about a line; whatever goes wrong is a refusal."""
        began = time.perf_counter_ns()
        try:
            return self._fence.record(self._judge(line, from_server=from_server), began)
        except Exception as error:  # noqa: BLE001 - the relay's one guard: when in doubt, deny
            self._fence.report_failure(error)
            body = line.ends if isinstance(line, Overlong) else line
            circumstances = self._fence.circumstances()
            if from_server:
                return self._fence.record(
                    refuse_answer(
                        self._gate, body, self._conversation, circumstances, "AgentFence failed on it"
                    )
                )
            return self._fence.record(self._gate.internal_failure(body, self._conversation, circumstances))

    def _judge(self, line: Line, *, from_server: bool) -> Effects:
        gate, conversation, circumstances = self._gate, self._conversation, self._fence.circumstances()
        if not isinstance(line, Overlong):
            judge = partial(server_message, gate) if from_server else gate.client_message
            return judge(line, conversation, circumstances)
        if not from_server:
            return gate.refuse_oversize(conversation, circumstances)
        problem = f"it is over the limit of {gate.settings.max_answer} bytes (max_answer)"
        return refuse_answer(gate, line.ends, conversation, circumstances, problem)

    # what people ask for

    def _take_signals(self) -> None:
        while self._signals:
            if self._signals.popleft() == signal.SIGHUP:
                self._controls.hang_up()
            else:
                self._controls.summarize()

    def _prepare(self, policy: Policy) -> Callable[[], None]:
        """Give what a new policy changes here: the server's name, and whether it may be there at all."""
        name, is_allowed = self._name_server(policy)

        def adopt() -> None:
            self._conversation.rename_server(name)
            if not is_allowed:
                self._fence.report("the policy now blocks this server, which is told to end")
                self._end_within(_SIGNAL_GRACE)

        return adopt

    # what is done about it

    def _carry_out(self, effects: Iterable[Effect], *, from_server: bool) -> None:
        onward, back = self._to_server, self._to_agent
        if from_server:
            onward, back = back, onward
        for effect in effects:
            match effect:
                case Forward(body=body):
                    onward.put(body)
                    if not onward.is_open and onward is self._to_server:
                        self._end_calls("the server closed its input")
                case Answer(body=body):
                    back.put(body)
                case Ask(question=question, pending=pending):
                    self._ask(question, pending)
                case Withdraw(call_id=call_id):
                    self._approver.withdraw(call_id)
                case _:  # a message that is dropped gets no line
                    pass

    def _ask(self, question: Question, pending: Pending) -> None:
        def answered(approval: Approval) -> None:
            self._approvals.append((question.call_id, approval))
            with suppress(BlockingIOError):  # it has been woken often enough
                os.write(self._wake_write, b"\0")

        waiting = sum(len(asked.body) for asked in self._asked.values())
        self._asked[question.call_id] = pending
        if waiting and waiting + len(pending.body) > _MOST_ASKED:
            answered(Approval("queue_full", self._approver.name))
            return
        self._progress.begin(question.call_id, pending, time.monotonic())
        try:
            self._approver.ask(question, answered)
        except Exception as error:  # noqa: BLE001 - who cannot be asked approves of nothing
            self._fence.report_failure(error)
            answered(Approval("io_error", self._approver.name))

    def _end_calls(self, text: str) -> None:
        effects = server_gone(self._gate, self._conversation, self._fence.circumstances(), text)
        self._carry_out(self._fence.record(effects), from_server=True)

    # the end

    def _listen_to_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._hurry())
        for number in (signal.SIGHUP, signal.SIGUSR1):  # for the loop: a message may be half judged now
            signal.signal(number, lambda number, _frame: self._signals.append(number))

    def _hurry(self) -> None:
        """End the child, and the relay soon after, as somebody wants."""
        if self._hurried_until is None:
            self._hurried_until = time.monotonic() + _LAST_WORDS_GRACE
        self._end_within(_SIGNAL_GRACE)

    def _end_within(self, seconds: float) -> None:
        """End the child: close its input once it has all, and after `seconds` tell it to end."""
        deadline = time.monotonic() + seconds
        self._agent_ended = True
        if self._deadline is None or deadline < self._deadline:
            self._deadline = deadline

    def _close_server_input(self) -> bool:
        """Close it, and say whether it was open here until now."""
        stdin = self._child.stdin
        if stdin is None or stdin.closed:
            return False
        if self._polled.pop(stdin.fileno(), None) is not None:
            self._poll.unregister(stdin)  # what is closed would be ready all the time
        self._to_server.drop()
        stdin.close()
        return True

    def _press_on(self) -> None:
        """Terminate a child that has had its time, then kill it."""
        self._close_server_input()
        if self._is_terminated:
            self._child.kill()
            self._deadline = None
        else:
            self._is_terminated = True
            self._child.terminate()
            self._deadline = time.monotonic() + _TERMINATE_GRACE

    def _take_last_words(self) -> None:
        """Pass on what the child still wrote, end the calls that it left, and let the agent take it.

        A process that it left behind may go on writing: that is no more than what was in the pipe.
        """
        os.set_blocking(self._from_server, False)
        left, end = 2 * _READ_SIZE, time.process_time() + _LAST_WORDS_WORK
        while self._to_agent.is_open and time.process_time() < end:
            if self._to_agent.size > _FULL:
                self._drain()
                if self._to_agent.size > _FULL:
                    break
            if True in self._left:
                self._take(*self._left.pop(True), from_server=True)
                continue
            received = None if self._server_ended or left <= 0 else self._read(self._from_server)
            if received is None:
                break
            left -= len(received)
            self._take(
                self._server_lines.feed(received) if received else self._server_lines.end(), from_server=True
            )
            self._server_ended = not received
        ended = _how_it_ended(self._child.returncode)
        self._end_calls(ended)
        if (self._server_left or self._deadline is None) and not self._is_terminated:
            # Nobody told it to, and the client may show no more than that it is gone.
            self._fence.report(ended)
        self._drain()

    def _drain(self) -> None:
        """Have the agent take what waits: in its own time, as from the server itself, but for a hurry."""
        self._to_agent.flush()
        while self._to_agent.size:
            left = None if self._hurried_until is None else self._hurried_until - time.monotonic()
            if left is not None and left <= 0:
                break
            woken, _, _ = select.select([self._wake_read], [self._to_agent.descriptor], [], left)
            if woken:
                os.read(self._wake_read, 4096)
            self._to_agent.flush()


def _how_it_ended(status: int) -> str:
    how = f"with status {status}" if status >= 0 else f"by signal {-status}"
    return f"the server ended {how}"


def _keep_freed_memory() -> None:
    """Have glibc keep up to 32 MB that is free, as handing it back and asking anew costs more than judging.

    It keeps twice the size of the largest block that it got from the system and gave back (mallopt(3)).
    """
    bytearray(16_777_216)


def _widen(pipe: int) -> None:
    """Have a pipe hold more, where the system can: a large message then takes fewer turns of each side."""
    with suppress(AttributeError, OSError):  # it is no pipe, or the user has many wide ones
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _READ_SIZE)


class _Reader:
    """Reads what is there, into memory that stays: each time new, that would cost as much as the reading."""

    def __init__(self) -> None:
        self._buffer = memoryview(bytearray(_READ_SIZE))

    def read(self, descriptor: int) -> bytes | None:
        """Give what is there, empty at the end; None when nothing is there now."""
        try:
            size = os.readv(descriptor, [self._buffer])
        except BlockingIOError:
            return None
        except OSError:
            return b""
        return bytes(self._buffer[:size])
