"""The way back on HTTP: what servers answer, read whole or while it streams."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING

from mitmproxy.utils.asyncio_utils import create_task

from agentfence.core.answers import post_failed, refuse_answer, server_gone, server_message, unread_answer
from agentfence.core.effects import Approval, Ask, Forward
from agentfence.core.errors import ProtocolViolation
from agentfence.core.event_stream import (
    MOST_LINES,
    Overlong,
    ServerEvent,
    harmless_event,
    message_event,
)
from agentfence.core.http.answer_rules import (
    PAST_THE_FENCE,
    AnswerKind,
    classify_answer,
    decode_answer,
    known_codings,
    may_be_message,
    passes_unawaited,
    passes_unread,
    without_line_ends,
)
from agentfence.core.http.endpoints import DEFAULT_PORTS
from agentfence.core.http.hosts import Origin, parse_authority
from agentfence.core.http.message import single
from agentfence.core.http.redirects import is_for_an_agent, target_of_redirect
from agentfence.core.http.sse_endpoints import LONGEST, announced_target
from agentfence.core.http.sse_endpoints import NAME as ENDPOINT
from agentfence.core.http.traffic import Free, Refused, Watched, unlisted_refusal
from agentfence.core.http_sessions import HttpSessions, SessionKey
from agentfence.core.jsonrpc import error_answer, parse_json
from agentfence.core.policy.model import Unlisted
from agentfence.core.taint_memory import AT_ONCE
from agentfence.core.values import replace
from agentfence.mitm.exchange import Exchange, Exchanges, Stage
from agentfence.mitm.heads import AnswerHeads
from agentfence.mitm.injecting import inject
from agentfence.mitm.requests import (
    NOT_JUDGED,
    accepted,
    first_value,
    headers_of,
    is_reverse,
    json_response,
    origin_of,
    request_of,
    sender_of,
    with_fields,
)
from agentfence.mitm.sse_streams import SseStream, SseStreams
from agentfence.mitm.streams import EncodedTap, EndpointTap, EventRelay, MetadataTap
from agentfence.mitm.transports import close_server

if TYPE_CHECKING:
    from mitmproxy import http

    from agentfence.core.effects import Effect
    from agentfence.core.http.message import HttpRequest
    from agentfence.core.http.traffic import Sorter
    from agentfence.core.taint_memory import TaintMemory
    from agentfence.fence import Fence
    from agentfence.mitm.heads import AnswerHead
    from agentfence.mitm.streams import Piecewise
    from agentfence.mitm.view.display import Display

_SESSION_ENDED = frozenset({*range(200, 300), HTTPStatus.NOT_FOUND})
"""What a server answers to a `DELETE` that it has carried out; others go on with the session."""
_OTHER_FRAMES = frozenset({b"content-encoding", b"transfer-encoding"})
"""What says how a body is sent that is written anew: of two lengths some clients take the wrong one."""
_OTHER_PROTOCOL = b'{"error":"the server switched to a protocol that is not read here"}'


class AnswerSide:
    """The half of the surface that reads what servers send."""

    def __init__(self, fence: Fence, sorter: Sorter, display: Display) -> None:
        """Take the opened fence, what tells MCP traffic from the rest, and what is shown of both."""
        self.fence = fence
        self.display = display
        self.exchanges = Exchanges()
        self.sessions = HttpSessions()
        self.streams = SseStreams()
        self._answer_heads = AnswerHeads()
        self._sorter = sorter

    def answer_head(self, flow: http.HTTPFlow) -> None:
        """Decide by an answer's head whether it is streamed, read whole, or refused."""
        exchange, response = self.exchanges.find(flow), flow.response
        if response is None:
            return
        if exchange is not None and exchange.stage is Stage.ANSWERED:
            _let_page_read(flow, exchange, response)
            return
        try:
            self._sort_answer(flow, exchange, response)
        except Exception as error:  # noqa: BLE001 - the guard of a head: what follows it would not be judged
            self.fence.report_failure(error)
            if exchange is not None and exchange.stage is Stage.JUDGED:
                exchange.instead = json_response(502, NOT_JUDGED)  # before anything else can go wrong
                exchange.instead = self._refused(exchange, "AgentFence failed on it")

    def _sort_answer(self, flow: http.HTTPFlow, exchange: Exchange | None, response: http.Response) -> None:
        head = self._answer_heads.read(response)
        leads_away = is_reverse(flow) and not self._keep_on_this_side(flow, response, head.location)
        if exchange is None or exchange.stage is not Stage.JUDGED:
            self._pass(flow, exchange, response)
            return
        if head.harmless is not None:
            response.headers.fields = head.harmless
            head = self._answer_heads.read(response)
        if not response.reason.isprintable():
            response.reason = without_line_ends(response.reason)
        if flow.request.method == "DELETE" and response.status_code in _SESSION_ENDED:
            self._forget(flow)
        problem = head.problem
        if leads_away and is_for_an_agent(flow.request.method, headers_of(flow.request.headers)):
            problem = "it sends the client past the fence"
        if problem is not None:
            exchange.instead = self._refused(exchange, problem)
            return
        if head.leads_past:
            for name in PAST_THE_FENCE:
                response.headers.pop(name, None)
        if exchange.is_post_for_stream and response.status_code >= HTTPStatus.BAD_REQUEST:
            self._end_posted(flow, exchange, "the server refused the message")
        match head.kind:
            case AnswerKind.EVENT_STREAM if exchange.is_post_for_stream:
                exchange.instead, exchange.stage = accepted(), Stage.ANSWERED
            case AnswerKind.EVENT_STREAM:
                self._learn(flow, exchange, response)
                self._stream_events(flow, exchange, response, head)
            case AnswerKind.JSON:
                response.stream = False  # whoever asked for it: it is judged whole
            case AnswerKind.OTHER:
                response.stream = True
                self._record_unread(exchange, response, None)
            case AnswerKind.EMPTY:
                self._record_unread(exchange, response, 0)

    def _keep_on_this_side(self, flow: http.HTTPFlow, response: http.Response, location: str | None) -> bool:
        """Have a redirect lead through the fence again; False when it leads to another server."""
        if location is None:
            return True
        target = target_of_redirect(location, self._origins(flow), flow.request.path)
        if target is not None:
            response.headers["location"] = target
        return target is not None

    def answer(self, flow: http.HTTPFlow) -> None:
        """Judge an answer that was read whole, and keep what it settles."""
        exchange, response = self.exchanges.find(flow), flow.response
        if exchange is None or response is None or response.stream or not response.raw_content:
            return
        if exchange.stage is not Stage.JUDGED:
            return
        try:
            self._judge_whole(flow, exchange, response, response.raw_content)
        except Exception as error:  # noqa: BLE001 - the guard of the way back: what was not read is not passed on
            self.fence.report_failure(error)
            flow.response = json_response(502, NOT_JUDGED)  # before anything else can go wrong
            flow.response = self._refused(exchange, "AgentFence failed on it")

    def _pass(self, flow: http.HTTPFlow, exchange: Exchange | None, response: http.Response) -> None:
        """Stream what is no business of the fence; a 101 only as the WebSocket that was asked for."""
        if exchange is not None and exchange.ends_connection:
            response.headers["connection"] = "close"
        if exchange is None:
            response.stream = True
        elif response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            if response.headers.get("upgrade", "").lower() != "websocket":
                exchange.instead = json_response(502, _OTHER_PROTOCOL)
        elif isinstance(exchange.sorted, Free) and exchange.sorted.is_metadata:
            response.stream = MetadataTap(lambda body: self._learn_metadata(flow, body))
        elif _may_announce(flow, response) and self._sorter.is_judged(flow.request.host):
            response.stream = self._tap(flow, exchange, response)
        else:
            response.stream = True

    def _tap(self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> Piecewise:
        """Give what passes a stream on that may turn out to be MCP's."""

        def end(problem: str) -> Piecewise:
            circumstances, gate = self.fence.circumstances(), self.fence.gate
            refused = refuse_answer(gate, b"", exchange.conversation, circumstances, problem)
            self.fence.record(refused, note=exchange.note)
            exchange.stage = Stage.ANSWERED
            close_server(flow)
            return _nothing

        codings = known_codings(headers_of(response.headers))
        if codings:
            return EncodedTap(codings, end)
        return EndpointTap(lambda said: self._take_over(flow, exchange, said), end)

    def _learn_metadata(self, flow: http.HTTPFlow, body: bytes) -> None:
        """Keep which endpoints OAuth metadata names, so that their traffic passes."""
        with suppress(ProtocolViolation):
            request = flow.request
            self._sorter.learn_oauth(parse_json(body), Origin(request.scheme, request.host, request.port))

    def _judge_whole(
        self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response, body: bytes
    ) -> None:
        head = self._answer_heads.read(response)
        headers = head.headers
        if head.kind is not AnswerKind.JSON:
            return
        if passes_unread(response.status_code, body, headers):
            self._record_unread(exchange, response, len(body), body.decode("utf-8", "replace"))
            return
        if exchange.is_post_for_stream:
            # Answers travel on the stream, and no client reads one here; some servers send it twice.
            if not passes_unawaited(body, headers):
                flow.response = accepted()
            return
        try:
            decoded = decode_answer(body, headers, self.fence.settings.gate.max_answer)
        except ProtocolViolation as violation:
            flow.response = self._refused(exchange, str(violation))
            return
        _declare_as_judged(response, head)
        is_awaited = len(exchange.conversation.from_client) > 0
        if is_awaited or not passes_unawaited(decoded, headers):
            judged = self._judge(decoded, exchange)
            self._learn(flow, exchange, response)
        else:  # what says that a notification was taken, or that a server is well
            judged = decoded
        if judged is None:
            flow.response = self._refused(exchange, "it is no message that an agent waits for")
        elif judged is not body:
            length = {b"content-length": b"%d" % len(judged)}
            response.headers.fields = with_fields(response.headers.fields, length, without=_OTHER_FRAMES)
            response.raw_content = judged

    def _record_unread(
        self, exchange: Exchange, response: http.Response, size: int | None, text: str = ""
    ) -> None:
        """Write that an answer passes which holds no message; an error of HTTP ends its call."""
        if exchange.is_post_for_stream:
            return
        circumstances, status = self.fence.circumstances(), response.status_code
        effects = unread_answer(self.fence.gate, exchange.conversation, circumstances, status, size, text)
        self.fence.record(effects, note=exchange.note)

    def _judge(self, body: bytes, exchange: Exchange) -> bytes | None:
        """Give what goes to the client for one message of the server; None: nothing does."""
        began = time.perf_counter_ns()
        effects = server_message(self.fence.gate, body, exchange.conversation, self.fence.circumstances())
        recorded = self.fence.record(effects, began, exchange.note)
        memory = exchange.conversation.session.taint
        if memory.is_behind:
            create_task(self.catch_up(memory), name="what came back is remembered", keep_ref=True)
        return self._forwarded(recorded, exchange)

    async def catch_up(self, memory: TaintMemory) -> None:
        """Have all that came back to an agent remembered, while others have their turns."""
        try:
            while memory.is_behind:
                memory.catch_up(AT_ONCE)
                await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001 - the agent's calls are held to be derived from then on
            self.fence.report_failure(error)

    def _forwarded(self, effects: list[Effect], exchange: Exchange) -> bytes | None:
        bodies: list[bytes] = []
        for effect in effects:
            match effect:
                case Forward(body=body):
                    bodies.append(body)
                case Ask(pending=pending):
                    # A stream callable of the host cannot wait for a person.
                    nobody = Approval("no_approver", "deny", advice="requests of servers cannot wait on HTTP")
                    resolved = self.fence.gate.resolve(pending, nobody, self.fence.circumstances())
                    return self._forwarded(self.fence.record(resolved, note=exchange.note), exchange)
                case _:
                    pass
        if len(bodies) > 1:
            return b"[" + b",".join(bodies) + b"]"
        return bodies[0] if bodies else None

    def _stream_events(
        self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response, head: AnswerHead
    ) -> None:
        """Have each event judged as it comes; the stream may stay open for hours."""
        _make_endless(flow.request, response)
        _declare_as_judged(response, head)
        response.stream = self._relay(flow, exchange, response)

    def _relay(self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> Piecewise:
        circumstances, gate = self.fence.circumstances, self.fence.gate

        def judge(event: ServerEvent | Overlong) -> bytes:
            resuming = b""
            if isinstance(event, Overlong):
                if not event.ends:
                    return b""  # a comment
                limit = f"{gate.settings.max_answer} bytes (max_answer) or {MOST_LINES} lines"
                problem = f"the event is over the limit of {limit}"
                ended = refuse_answer(gate, event.ends, exchange.conversation, circumstances(), problem)
                body = self._forwarded(self.fence.record(ended, note=exchange.note), exchange)
            elif event.data is None or not may_be_message(event.name, event.data):
                is_endpoint = event.name == ENDPOINT and event.data is not None
                return harmless_event(self._announce(flow, exchange, event) if is_endpoint else event.raw)
            else:
                body = self._judge(event.data, exchange)
                self._learn(flow, exchange, response)
                if body is event.data:
                    return harmless_event(event.raw)
                resuming = harmless_event(event.resuming)
            return b"" if body is None else message_event(body, resuming)

        def end_with(error: Exception) -> bytes:
            self.fence.report_failure(error)
            close_server(flow)
            return self.broken_off(flow, "AgentFence failed on an event of the stream") or b""

        def break_off() -> bytes:
            return self.broken_off(flow, "its last event is not whole") or b""

        relay = EventRelay(judge, end_with, break_off, gate.settings.max_answer)
        return self.display.watch(flow, relay)

    # MCP 2024-11-05: a stream that says where its messages are posted

    def _take_over(self, flow: http.HTTPFlow, exchange: Exchange, announced: bytes) -> Piecewise | None:
        """Give what reads the rest of a stream that announced an endpoint; None: it is not MCP's."""
        try:
            target = self._announced_target(flow, announced)
            where = Free() if target is None else self._sorter.sort(_post_to(flow, target))
            if target is None or isinstance(where, Free) or flow.response is None:
                return None
            if isinstance(where, Refused) or (isinstance(where, Watched) and self.blocks(where)):
                self._block(flow, exchange, target)
                return _nothing
            exchange.conversation.server = where.server
            exchange.stage = Stage.JUDGED
            self._learn_endpoint(flow, exchange, announced)
            return self._relay(flow, exchange, flow.response)
        except Exception as error:  # noqa: BLE001 - the guard of a stream: close it, pass nothing unread
            self.fence.report_failure(error)
            close_server(flow)
            return _nothing

    def _block(self, flow: http.HTTPFlow, exchange: Exchange, target: str) -> None:
        """End a stream that the policy does not let an agent read, and what would be posted for it."""
        refused = self.fence.gate.refuse_exchange(
            unlisted_refusal(), exchange.conversation, self.fence.circumstances()
        )
        self.fence.record(refused, note=exchange.note)
        self._sorter.learn_endpoint(flow.request.host, flow.request.port, target)
        exchange.stage = Stage.ANSWERED
        close_server(flow)

    def blocks(self, where: Watched) -> bool:
        """Whether the policy refuses MCP to this host."""
        return not where.is_listed and self.fence.policy.unlisted is Unlisted.BLOCK

    def _announce(self, flow: http.HTTPFlow, exchange: Exchange, event: ServerEvent) -> bytes:
        """Learn an endpoint, and give the event that tells the agent of it.

        In reverse mode a server may name itself by an address that the agent does not know, and would
        refuse as another origin's: then it is told the path alone.
        """
        announced = event.data or b""
        if len(announced) > LONGEST:  # it is not learned, so nobody is to post there
            return b""
        self._learn_endpoint(flow, exchange, announced)
        target = self._announced_target(flow, announced)
        if target is None or not is_reverse(flow) or b"//" not in announced:
            return event.raw
        return b"event: endpoint\ndata: %s\n\n" % target.encode()

    def _learn_endpoint(self, flow: http.HTTPFlow, exchange: Exchange, announced: bytes) -> None:
        """Have what is posted to an announced endpoint be held, and belong to this stream."""
        target = self._announced_target(flow, announced)
        if target is None or flow.request.method != "GET":
            return
        self._sorter.learn_endpoint(flow.request.host, flow.request.port, target)
        if exchange.stream is None:
            exchange.stream = SseStream(flow)
            exchange.stream.carry(exchange.conversation)
        if flow.response is not None and "content-length" not in flow.response.headers:
            self.streams.announce(exchange.stream, flow, sender_of(flow).client, target)

    def _announced_target(self, flow: http.HTTPFlow, announced: bytes) -> str | None:
        targets = (announced_target(origin, flow.request.path, announced) for origin in self._origins(flow))
        return next((target for target in targets if target is not None), None)

    def _origins(self, flow: http.HTTPFlow) -> list[Origin]:
        """Give what the server of a flow may call itself."""
        request, exchange = flow.request, self.exchanges.find(flow)
        origins = [Origin(request.scheme, request.host, request.port)]
        named = parse_authority(exchange.named_host) if exchange is not None and is_reverse(flow) else None
        if named is not None:  # the agent takes the proxy for the server, and so may the server
            scheme = "https" if flow.client_conn.tls else "http"
            origins.append(Origin(scheme, named[0], named[1] or DEFAULT_PORTS[scheme]))
        return origins

    def _end_posted(self, flow: http.HTTPFlow, exchange: Exchange, text: str) -> None:
        """Answer on the stream what the server did not take, as nobody else will."""
        stream = None if exchange.stream is None else exchange.stream.flow
        body = flow.request.raw_content or b""
        circumstances, gate = self.fence.circumstances(), self.fence.gate
        failed = post_failed(gate, body, exchange.conversation, circumstances, text)
        effects = self.fence.record(failed, note=exchange.note)
        bodies = [effect.body for effect in effects if isinstance(effect, Forward)]
        if stream is not None and bodies:
            events = b"".join(map(message_event, bodies))
            create_task(inject(stream, events), name="answer on the stream", keep_ref=True)

    def ended(self, flow: http.HTTPFlow) -> None:
        """Note that an exchange is over; what it leaves unanswered may be answered elsewhere."""
        exchange = self.exchanges.find(flow)
        if exchange is None or exchange.is_post_for_stream:
            return
        if exchange.stream is None:
            exchange.conversation.leave()
        else:
            self.streams.close(exchange.stream)

    def _refused(self, exchange: Exchange, problem: str) -> http.Response:
        """Give the answer in place of one that is not passed on."""
        if exchange.is_post_for_stream:  # it was a receipt alone
            exchange.stage = Stage.ANSWERED
            return accepted()
        conversation, circumstances = exchange.conversation, self.fence.circumstances()
        effects = refuse_answer(self.fence.gate, b"", conversation, circumstances, problem)
        body = self._forwarded(self.fence.record(effects, note=exchange.note), exchange)
        exchange.stage = Stage.ANSWERED
        if body is None and not conversation.carries_other_answers:
            return accepted()  # nobody waits for more, and an error would end sessions of some clients
        if body is None:
            return json_response(
                502, error_answer(None, -32003, f"the server's answer was not passed on: {problem}")
            )
        return json_response(200, body)

    def _learn(self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> None:
        """Keep the revision that this origin's own `initialize` result settled for its session."""
        settled = exchange.conversation.negotiated
        session_id = None if settled is None else self._answer_heads.read(response).session_id
        if settled is not None and session_id is not None:
            key, asked = self._key(flow, session_id), exchange.conversation.from_server
            owner, time = sender_of(flow).owner, self.fence.circumstances().time
            self.sessions.begin(key, settled, asked, owner, time)

    def _key(self, flow: http.HTTPFlow, session_id: str) -> SessionKey:
        request = flow.request
        credential = sha256(
            request.headers.get("authorization", "").encode("utf-8", "surrogateescape")
        ).hexdigest()
        return SessionKey(origin_of(request), credential, session_id)

    def _forget(self, flow: http.HTTPFlow) -> None:
        """Drop what was settled for a session that has ended."""
        session_id = single(headers_of(flow.request.headers), "mcp-session-id")
        if session_id is not None:
            self.sessions.forget(self._key(flow, session_id))

    # what the layers ask: see `layers.Limits`

    def unreachable_answer(self, flow: http.HTTPFlow, problem: str) -> http.Response | None:
        """Give the answer to a call whose server is not there; None: the host's own will do."""
        exchange = self.exchanges.find(flow)
        if exchange is None or exchange.stage is not Stage.JUDGED:
            return None
        text = exchange.unsent or "the server cannot be reached"
        self.fence.report(text if exchange.unsent else f"{text}: {problem}")
        if exchange.is_post_for_stream:
            exchange.stage = Stage.ANSWERED
            self._end_posted(flow, exchange, text)
            return accepted()
        body = self._forwarded(self._server_gone(exchange, text), exchange)
        exchange.stage = Stage.ANSWERED
        return None if body is None else json_response(200, body)

    def unreadable_answer(self, flow: http.HTTPFlow, problem: str) -> http.Response | None:
        """Give the answer to a call whose server's answer is not read on; None: the host's own will do."""
        exchange = self.exchanges.find(flow)
        if exchange is None or exchange.stage is not Stage.JUDGED:
            return None
        return self._refused(exchange, problem)

    def broken_off(self, flow: http.HTTPFlow, problem: str) -> bytes | None:
        """Give the last bytes of an event stream whose server went away; None: it breaks off."""
        exchange = self.exchanges.find(flow)
        if exchange is not None and exchange.stage is Stage.ANSWERED:
            return b""
        if exchange is None or exchange.stage is not Stage.JUDGED or exchange.is_post_for_stream:
            return None
        if (
            flow.response is None
            or self._answer_heads.read(flow.response).kind is not AnswerKind.EVENT_STREAM
        ):
            return None  # a page or a file: nothing can be said in it, and it may have a length
        self.fence.report(f"the server broke off its answer: {problem}")
        effects = self._server_gone(exchange, "the server broke off its answer")
        bodies = [effect.body for effect in effects if isinstance(effect, Forward)]
        return b"".join(map(message_event, bodies)) or None

    def answer_instead(self, flow: http.HTTPFlow) -> http.Response | None:
        """Give the answer in place of one that is refused for its head; None: the server's goes on."""
        exchange = self.exchanges.find(flow)
        return None if exchange is None else exchange.instead

    def _server_gone(self, exchange: Exchange, text: str) -> list[Effect]:
        circumstances = self.fence.circumstances()
        effects = server_gone(self.fence.gate, exchange.conversation, circumstances, text)
        return self.fence.record(effects, note=exchange.note)

    def answer_too_large(self, flow: http.HTTPFlow, size: int) -> http.Response | None:
        """Give the answer in place of one of `size` bytes so far; None while it may grow."""
        limit = self.fence.settings.gate.max_answer
        exchange, response = self.exchanges.find(flow), flow.response
        if size <= limit or response is None or exchange is None or exchange.stage is not Stage.JUDGED:
            return None
        if classify_answer(response.status_code, headers_of(response.headers)) is not AnswerKind.JSON:
            return None
        return self._refused(exchange, f"it is over the limit of {limit} bytes (max_answer)")


def _let_page_read(flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> None:
    """Have an agent in a browser read an answer that was made here, of which its server could not say so.

    In reverse mode alone, where the origin was found to be this machine's or allowed.
    """
    origin = first_value(flow.request.headers.fields, b"origin")
    if origin is not None and is_reverse(flow) and not isinstance(exchange.sorted, Refused):
        allowed = {b"access-control-allow-origin": origin, b"vary": b"Origin"}
        response.headers.fields = with_fields(response.headers.fields, allowed)


def _declare_as_judged(response: http.Response, head: AnswerHead) -> None:
    if head.judged_type is not None:
        response.headers["content-type"] = head.judged_type


def _post_to(flow: http.HTTPFlow, target: str) -> HttpRequest:
    """Give the request by which an agent posts a message to the origin of `flow`."""
    request = request_of(flow)
    headers = (*request.headers, ("Content-Type", "application/json"))
    return replace(request, method="POST", target=target, headers=headers)


def _may_announce(flow: http.HTTPFlow, response: http.Response) -> bool:
    """Whether a stream that is no business of the fence so far may turn out to be MCP's."""
    headers = headers_of(response.headers)
    is_stream = classify_answer(response.status_code, headers) is AnswerKind.EVENT_STREAM
    return flow.request.method == "GET" and is_stream


def _make_endless(request: http.Request, response: http.Response) -> None:
    """Take away a length that the stream may not have when events are left out.

    A client of HTTP/1.0 knows no chunks: its stream ends with the connection.
    """
    response.headers.pop("content-length", None)
    if request.is_http11 and response.is_http11 and "transfer-encoding" not in response.headers:
        response.headers["transfer-encoding"] = "chunked"


def _nothing(_: bytes) -> tuple[bytes, ...]:
    return ()
