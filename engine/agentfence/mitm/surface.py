"""The fence on HTTP: sorts each request, has the gate judge it, and carries out what the gate says."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from mitmproxy import ctx

from agentfence.core.agents import Agents
from agentfence.core.effects import Answer, Ask, Drop, Forward, Withdraw
from agentfence.core.event_stream import message_event
from agentfence.core.http.detection import prefix_shows_message, shows_jsonrpc
from agentfence.core.http.message import single
from agentfence.core.http.peers import Peers
from agentfence.core.http.request_rules import check_body
from agentfence.core.http.traffic import Free, Held, Refused, Watched, unlisted_refusal
from agentfence.core.session import Conversation, Transport
from agentfence.core.values import replace
from agentfence.mitm.answers import AnswerSide
from agentfence.mitm.asked_calls import AskedCalls
from agentfence.mitm.dispatch import RememberingAddons
from agentfence.mitm.exchange import Exchange, Stage
from agentfence.mitm.heads import RequestHeads
from agentfence.mitm.injecting import inject
from agentfence.mitm.intercepting import ask_about, is_killed
from agentfence.mitm.layers import Growth
from agentfence.mitm.received import MAX_HEAD, MOST_FIELDS
from agentfence.mitm.requests import (
    NOT_JUDGED,
    end_connection,
    first_value,
    headers_of,
    is_reverse,
    json_response,
    name_server,
    origin_of,
    reads_events,
    response_to,
    sender_of,
    snapshot_of,
    with_fields,
)
from agentfence.mitm.transports import close_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http
    from mitmproxy.proxy.commands import StartHook
    from mitmproxy.tls import ClientHelloData

    from agentfence.approval.interface import Approver
    from agentfence.core.agents import Agent
    from agentfence.core.effects import Effects
    from agentfence.core.http.message import HttpRequest
    from agentfence.core.http.traffic import Sorted, Sorter
    from agentfence.core.policy.model import Policy
    from agentfence.fence import Fence
    from agentfence.mitm.asked_calls import Place
    from agentfence.mitm.heads import RequestHead
    from agentfence.mitm.view.display import Display

    type MakeSorter = Callable[[Policy, Sorter | None], Sorter]


_BY_HEAD = ("blocklist", "maplocal", "mapremote")
"""The addons of the options `block_list`, `map_local` and `map_remote`."""
_MOST_ON_SOCKET = 200
_MUCH_ON_SOCKET = 1_048_576
"""Messages of a WebSocket, and their bytes, that are kept to be looked at."""
_OTHER_PROTOCOLS = frozenset({b"upgrade", b"http2-settings"})


class Surface(AnswerSide):
    """Everything that the hooks and the layers ask: this half reads what agents send."""

    def __init__(self, fence: Fence, make_sorter: MakeSorter, approver: Approver, display: Display) -> None:
        """Take the opened fence, what makes a sorter by a policy, who is asked, and what is shown."""
        super().__init__(fence, make_sorter(fence.policy, None), display)
        self._make_sorter = make_sorter
        self.approver = approver
        self._agents = Agents()
        self._heads = RequestHeads()
        self._asked = AskedCalls()
        self._peers = Peers()

    def prepare(self, policy: Policy) -> Callable[[], None]:
        """Give what is to be done once another policy is in force: sort by it, and forget nothing."""
        sorter = self._make_sorter(policy, self._sorter)
        names = self._peers.renamed(sorter)

        def adopt() -> None:
            self._sorter = sorter
            self._peers.rename(names)
            self._agents.rename_servers(names)
            self.exchanges.rename_servers(names)

        return adopt

    # sorting

    def arm(self, flow: http.HTTPFlow) -> None:
        """Sort a request by its head, and leave a refusal on it where it may hold a message."""
        try:
            flow.response = self._open(flow, flow.response).armed
        except Exception as error:  # noqa: BLE001 - what cannot be sorted keeps the refusal that it has
            self.fence.report_failure(error)

    def disarm(self, flow: http.HTTPFlow) -> None:
        """Take a refusal away for as long as other addons look at the request; `rearm` is sure to follow."""
        exchange = self.exchanges.find(flow)
        if exchange is not None and flow.response is exchange.armed and exchange.stage is Stage.HEADERS:
            flow.response = None

    def rearm(self, flow: http.HTTPFlow) -> None:
        """Put the refusal of a request back that was not judged yet, and that nobody has answered."""
        if flow.response is None:
            _rearm(flow, self.exchanges.find(flow))

    def free(self, flow: http.HTTPFlow) -> None:
        """Have a body streamed that is no business of the fence, and that no other addon has answered.

        A request is sorted anew here, as other addons had their say about its head; one without a body is
        sent later, after more of that, and sorted again then.
        """
        exchange = self.exchanges.find(flow)
        _rearm(flow, exchange)
        if exchange is None or exchange.armed is not None or flow.response is not None:
            return
        if exchange.head.request.announces_body:
            _ask_by_head(flow)
            if flow.response is not None or is_killed(flow):
                return
        self._sort_whole(flow, exchange)
        if isinstance(exchange.sorted, Free):
            flow.request.stream = True
        else:
            flow.response = exchange.armed = json_response(503, NOT_JUDGED)

    def begin_stream(self, flow: http.HTTPFlow) -> bool:
        """Make ready what goes to the server before its body is there; False where that must be judged."""
        exchange = self._open(flow)
        if exchange.armed is not None:
            return False
        exchange.stage = Stage.PASSED
        self._send_on(flow, exchange)
        return True

    def _send_on(self, flow: http.HTTPFlow, exchange: Exchange) -> None:
        """Make ready what goes to the server."""
        named = first_value(flow.request.headers.fields, b"host") or b""
        exchange.named_host = named.decode("latin-1")
        if is_reverse(flow):
            name_server(flow.request)
        if exchange.stage is Stage.PASSED:
            self._end_behind(flow.request, exchange)
            self._ask_for_plain_events(flow.request)
        if self.display.has_view:  # where it can be edited until it is sent, also while its server is called
            exchange.sent = snapshot_of(flow.request)

    def _end_behind(self, request: http.Request, exchange: Exchange) -> None:
        """Have no request read behind one whose body was not judged, where the server may be a judged one."""
        body, host, sorter = request.raw_content, request.host, self._sorter
        if body != b"" and (
            sorter.is_of_server(host) or (not _begins_as_json(body) and sorter.is_judged(host))
        ):
            end_connection(request)
            exchange.ends_connection = True

    def _ask_for_plain_events(self, request: http.Request) -> None:
        """Have an event stream that may turn out to be MCP's come so that it can be read then."""
        if request.method == "GET" and reads_events(request) and self._sorter.is_judged(request.host):
            plain = {b"accept-encoding": b"identity"}
            request.headers.fields = with_fields(request.headers.fields, plain)

    def change_since(self, flow: http.HTTPFlow) -> str | None:
        """Say what somebody did in a view to a request since it was judged."""
        exchange = self.exchanges.find(flow) if self.display.has_view else None
        if exchange is None or exchange.sent is None:
            return None
        if is_killed(flow):
            flow.error, flow.live = None, True  # the answer is ours to give
            exchange.unsent = "a person ended it before it was sent"
        elif snapshot_of(flow.request) != exchange.sent:
            exchange.unsent = "it was edited after it was judged, and not sent"
        return exchange.unsent

    def _open(self, flow: http.HTTPFlow, refusal: http.Response | None = None) -> Exchange:
        """Give a new exchange armed with `refusal`; the one that was made for this request before, if it was.

        `refusal`: the one of `NOT_JUDGED` that the request carries by now, as making one is dear.
        """
        exchange = self.exchanges.find(flow)
        if exchange is not None and exchange.stage is Stage.HEADERS:
            return exchange
        head = self._heads.read(flow, self._sorter)
        armed = None if isinstance(head.sorted, Free) else refusal or json_response(503, NOT_JUDGED)
        conversation = self._conversation(flow, head.sorted, sender_of(flow))
        exchange = Exchange(head, armed, conversation, self.display.note_for(flow))
        self.exchanges.open(flow, exchange)
        return exchange

    def _sort_whole(self, flow: http.HTTPFlow, exchange: Exchange) -> HttpRequest:
        """Sort a request as it would go out; give it."""
        exchange.head = self._heads.read(flow, self._sorter)
        return exchange.head.request

    def _conversation(self, flow: http.HTTPFlow, where: Sorted, agent: Agent) -> Conversation:
        server = where.server if isinstance(where, Held | Watched) else None
        session = self._agents.session_of(agent)
        conversation = Conversation(session, Transport.HTTP, server)
        conversation.origin = origin_of(flow.request)
        conversation.asks_about = partial(self._asked.is_about, _place(flow, agent))
        conversation.carries_other_answers = flow.request.method == "GET"
        conversation.resumes = conversation.carries_other_answers and "last-event-id" in flow.request.headers
        return conversation

    def _join(self, flow: http.HTTPFlow, exchange: Exchange, request: HttpRequest, agent: Agent) -> None:
        """Make an exchange one of its MCP session, where it has one: it is asked which by its final head."""
        conversation = exchange.conversation
        exchange.stream = self.streams.of_post(flow, agent.client)
        if exchange.stream is not None:
            exchange.stream.carry(conversation)
            return
        session_id = single(request.headers, "mcp-session-id")
        if session_id is not None:
            key, time = self._key(flow, session_id), self.fence.circumstances().time
            session = self.sessions.find(key, agent.owner, time)
            if session is not None:
                conversation.join(session, session.calls_of_exchange())

    # judging a request

    async def judge(self, flow: http.HTTPFlow) -> None:
        """Set the flow's response: none lets the request go on, anything else is the answer."""
        exchange = self.exchanges.find(flow)
        _rearm(flow, exchange)
        if exchange is None:  # it was never sorted, so there is nothing to judge it by
            flow.response = flow.response or json_response(503, NOT_JUDGED)
            return
        if flow.response is not None and flow.response is not exchange.armed:
            exchange.stage = Stage.PASSED  # another addon's own answer
            return
        if exchange.stage is Stage.PASSED:
            return  # it was streamed
        if is_killed(flow):
            return  # another addon ends it, as the host's `block_list` can
        try:
            flow.response = await self._verdict(flow, exchange)
        except Exception as error:  # noqa: BLE001 - the surface's one guard: when in doubt, deny
            self.fence.report_failure(error)
            body = flow.request.raw_content or b""
            failure = self.fence.gate.internal_failure(
                body, exchange.conversation, self.fence.circumstances()
            )
            flow.response = await self._carry_out(failure, flow, exchange)
        if flow.response is not None:
            exchange.stage = Stage.ANSWERED
        else:
            self._send_on(flow, exchange)

    async def _verdict(self, flow: http.HTTPFlow, exchange: Exchange) -> http.Response | None:
        if self.fence.gate.engine.taint is not None:
            await self.catch_up(self._agents.session_of(sender_of(flow)).taint)
        while flow.intercepted:  # the UI's own filter holds it: judge what the person lets through
            await asyncio.sleep(0.1)
        body, agent = flow.request.raw_content, sender_of(flow)
        if body is None:
            raise ValueError("the body was streamed before it could be judged")
        # Anew, as other addons had their say after the head was sorted, also about who the agent is.
        request = self._sort_whole(flow, exchange)
        where = exchange.sorted
        exchange.conversation = conversation = self._conversation(flow, where, agent)
        if not _may_hold_message(where, body, request):
            exchange.stage = Stage.PASSED
            return None
        self._join(flow, exchange, request, agent)
        self._peers.meet(conversation, request)
        exchange.stage = Stage.JUDGED
        self.display.notes.begin(flow)
        refused = self._refused_unread(exchange.head, body, conversation)
        if refused is not None:
            return await self._carry_out(refused, flow, exchange)
        _prepare(flow.request)
        if not body and request.method != "POST":
            return None
        if not conversation.is_joined:
            for call_id in self._asked.cancelled_by(body, _place(flow, agent)):
                self.approver.withdraw(call_id)
        began, circumstances = time.perf_counter_ns(), self.fence.circumstances()
        effects = self.fence.gate.client_message(body, conversation, circumstances, request.headers)
        return await self._carry_out(effects, flow, exchange, began)

    def _refused_unread(self, head: RequestHead, body: bytes, conversation: Conversation) -> Effects | None:
        """Give the refusal of a request for what it is, whatever its body says; None to judge that."""
        gate, request, circumstances = self.fence.gate, head.request, self.fence.circumstances()
        if isinstance(head.sorted, Watched) and self.blocks(head.sorted):
            refusal = unlisted_refusal()
            return gate.refuse_unlisted(body, refusal, conversation, circumstances, request.headers)
        refused = head.refusal or check_body(request, body)
        return None if refused is None else gate.refuse_exchange(refused, conversation, circumstances)

    async def _carry_out(
        self, effects: Effects, flow: http.HTTPFlow, exchange: Exchange, began: int | None = None
    ) -> http.Response | None:
        for effect in self.fence.record(effects, began, exchange.note):
            match effect:
                case Forward():
                    return None
                case Answer() as answer:
                    return await self._response_to(answer, exchange)
                case Drop():
                    return response_to(effect)
                case Withdraw(call_id=call_id):
                    self.approver.withdraw(call_id)
                case Ask() as ask:
                    return await self._ask(ask, flow, exchange)
        raise AssertionError("effects must end with what becomes of the message")

    async def _ask(self, ask: Ask, flow: http.HTTPFlow, exchange: Exchange) -> http.Response | None:
        """Ask a person; what they approve is what they saw, so an edited request is judged anew."""
        seen = snapshot_of(flow.request)
        self.display.asked(flow, ask.question)
        with self._asked.waiting(ask, _place(flow, sender_of(flow))):
            approval = await ask_about(flow, ask.question, self.approver)
        is_edited = approval.is_approved and snapshot_of(flow.request) != seen
        if is_edited:
            approval = replace(approval, outcome="edited")
        resolved = self.fence.gate.resolve(ask.pending, approval, self.fence.circumstances())
        if is_edited:
            self.fence.record(resolved, note=exchange.note)  # what is answered, the new verdict says
            return await self._verdict(flow, exchange)
        return await self._carry_out(resolved, flow, exchange)

    async def _response_to(self, answer: Answer, exchange: Exchange) -> http.Response:
        """Give the response that carries a refusal; under MCP 2024-11-05 the stream carries it."""
        stream = None if exchange.stream is None else exchange.stream.flow
        if stream is not None and answer.status == HTTPStatus.OK:  # noqa: SIM102 - it sends
            if await inject(stream, message_event(answer.body)):
                return response_to(Drop())
        return response_to(answer)

    # what the layers ask: see `layers.Limits`

    @property
    def max_body(self) -> int:
        """The largest body that is judged, in bytes."""
        return self.fence.settings.gate.max_body

    def call_hooks(self, hook: StartHook) -> bool:
        """Call what the addons have for a hook; False where the host is to start it, or to go on with it."""
        addons = ctx.master.addons
        return isinstance(addons, RememberingAddons) and addons.begin(hook)

    def growth(self, flow: http.HTTPFlow, beginning: bytes | None) -> Growth:
        """Say what becomes of a body over `max_body`; `beginning` is None before any of it came."""
        exchange = self._open(flow)
        if beginning is not None:
            self.disarm(flow)
            if flow.response is None:
                _ask_by_head(flow)
            self.rearm(flow)
        if is_killed(flow) or (flow.response is not None and flow.response is not exchange.armed):
            return Growth.REFUSE  # another addon has answered, and nobody reads the rest
        self._sort_whole(flow, exchange)
        where = exchange.sorted
        if isinstance(where, Free) and exchange.armed is None:
            return Growth.KEEP  # streamed from its head on
        if not isinstance(where, Watched | Free):
            return Growth.REFUSE
        if beginning is None:
            return Growth.KEEP
        is_message = isinstance(where, Watched) and prefix_shows_message(
            beginning, headers_of(flow.request.headers)
        )
        if is_message:
            return Growth.REFUSE
        flow.response = exchange.armed = None
        return Growth.STREAM

    def oversize_answer(self, flow: http.HTTPFlow, *, is_head: bool) -> http.Response:
        """Give the answer to a body, or a head, that is refused unread."""
        exchange = self._open(flow)
        if flow.response is not None and flow.response is not exchange.armed:
            exchange.stage = Stage.PASSED  # another addon's own answer
            flow.response.headers["connection"] = "close"
            return flow.response
        if (
            isinstance(exchange.sorted, Refused) and not is_head
        ):  # what would allow it may be in the rest of it
            return self._answer_unread(exchange.sorted, exchange)
        limit = f"{MAX_HEAD} bytes or {MOST_FIELDS} fields of a head" if is_head else None
        headers = headers_of(flow.request.headers)
        refused = self.fence.gate.refuse_oversize(
            exchange.conversation, self.fence.circumstances(), headers, limit_of_head=limit
        )
        return self._recorded(refused, exchange)

    def answer_to_head(self, flow: http.HTTPFlow) -> http.Response | None:
        """Give the answer to a request that is refused whatever its body holds, as one for another host."""
        exchange = self.exchanges.find(flow)
        if (
            exchange is None
            or not isinstance(exchange.sorted, Refused)
            or flow.response is not exchange.armed
        ):
            return None
        return self._answer_unread(exchange.sorted, exchange)

    def _answer_unread(self, refused: Refused, exchange: Exchange) -> http.Response:
        effects = self.fence.gate.refuse_exchange(
            refused.refusal, exchange.conversation, self.fence.circumstances()
        )
        return self._recorded(effects, exchange)

    def _recorded(self, effects: Effects, exchange: Exchange) -> http.Response:
        exchange.stage = Stage.ANSWERED
        left = self.fence.record(effects, note=exchange.note)
        answer = next(effect for effect in left if isinstance(effect, Answer))
        return json_response(answer.status, answer.body, close=True, headers=answer.headers)

    # connections that are no messages

    def tunnel(self, data: ClientHelloData) -> None:
        """Pass TLS on undecrypted where CONNECT and SNI both name a host that the policy tunnels."""
        address = data.context.server.address
        host = None if address is None else address[0]
        if host is None or not self._sorter.may_tunnel(host, data.context.client.sni):
            return
        self.fence.log_tunnel(host)
        data.ignore_connection = True

    def read_socket(self, flow: http.HTTPFlow) -> None:
        """Drop an MCP message on a WebSocket, and end the socket."""
        messages = [] if flow.websocket is None else flow.websocket.messages
        if not messages:
            return
        if len(messages) > _MOST_ON_SOCKET or sum(len(kept.content) for kept in messages) > _MUCH_ON_SOCKET:
            del messages[:-1]  # the host keeps all of them
        if is_killed(flow):
            messages[-1].drop()
        elif shows_jsonrpc(messages[-1].content, (), mcp_only=True):
            messages[-1].drop()
            self.fence.report("an MCP message on a WebSocket was dropped, and the socket closed")
            flow.kill()  # for whoever looks at it
            close_server(flow)

    def close(self) -> None:
        """End the run."""
        self.approver.close()
        self.fence.close()


def _rearm(flow: http.HTTPFlow, exchange: Exchange | None) -> None:
    if exchange is not None and flow.response is None and exchange.stage is Stage.HEADERS:
        flow.response = exchange.armed


def _ask_by_head(flow: http.HTTPFlow) -> None:
    """Have the host's own options decide that need no body: it asks them only behind one that is streamed."""
    for name in _BY_HEAD:
        addon = ctx.master.addons.get(name)
        if addon is not None:
            addon.request(flow)


def _place(flow: http.HTTPFlow, agent: Agent) -> Place:
    """Give where the ids of an agent's requests mean something."""
    return agent.client, flow.request.host, flow.request.port


def _begins_as_json(body: bytes | None) -> bool:
    """Whether a body, where it is there by now, begins as no request does."""
    return body is not None and body.lstrip()[:1] in {b"{", b"["}


def _may_hold_message(where: Sorted, body: bytes, request: HttpRequest) -> bool:
    match where:
        case Free():
            return False
        case Watched(is_listed=is_listed):
            return shows_jsonrpc(body, request.headers, mcp_only=not is_listed)
        case _:
            return True


def _prepare(request: http.Request) -> None:
    """Leave no way round the reading of the answer: no other protocol, no coding; and no body without an end.

    Whoever edited a request may have taken its length away, and the server would read its body as a
    request of its own.
    """
    body, fields = request.raw_content or b"", request.headers.fields
    names = {name.lower() for name, _ in fields}
    values = {b"accept-encoding": b"identity"}
    if b"transfer-encoding" not in names and (body or b"content-length" in names):
        values[b"content-length"] = b"%d" % len(body)
    request.headers.fields = with_fields(fields, values, without=_OTHER_PROTOCOLS)
