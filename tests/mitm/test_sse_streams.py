from __future__ import annotations

import gc

import pytest
from mitmproxy.test import tflow

from agentfence.core.http.message import HttpRequest
from agentfence.core.http.traffic import Free
from agentfence.core.jsonrpc import Request
from agentfence.core.session import Conversation, Session, Transport
from agentfence.mitm.exchange import Exchange, Exchanges
from agentfence.mitm.heads import RequestHead
from agentfence.mitm.sse_streams import _MAX_ENDPOINTS, SseStream, SseStreams

TARGET = "/messages/?session_id=a%2Fb"

BOTH = "application/json, text/event-stream"

HEAD = RequestHead(HttpRequest("GET", "http", "h", 80, "/sse"), Free(), None)


def flow(method: str = "POST", target: str = TARGET, host: str = "h", accept: str = "*/*"):
    made = tflow.tflow()
    made.request.method, made.request.path, made.request.host = method, target, host
    made.request.headers["accept"] = accept
    return made


def opened(streams: SseStreams, *targets: str, client: str = "agent") -> SseStream:
    got = flow("GET", "/sse")
    stream = SseStream(got)
    for target in targets or (TARGET,):
        streams.announce(stream, got, client, target)
    return stream


def test_post_belongs_to_the_stream_that_announced_its_target() -> None:
    streams = SseStreams()
    stream = opened(streams, TARGET, "/moved")

    assert streams.of_post(flow(), "agent") is stream
    assert streams.of_post(flow(target="/messages/?session_id=a/b"), "agent") is stream
    assert streams.of_post(flow(target="/moved"), "agent") is stream
    assert streams.of_post(flow(accept=BOTH), "agent") is stream


@pytest.mark.parametrize(
    ("other", "client"),
    [
        (flow(target="/messages/?session_id=c"), "agent"),
        (flow(host="other"), "agent"),
        (flow("GET"), "agent"),
        (flow(), "another agent"),
    ],
)
def test_other_requests_belong_to_none(other, client: str) -> None:
    streams = SseStreams()
    opened(streams)

    assert streams.of_post(other, client) is None


def test_post_to_the_stream_s_own_address_may_be_one_of_streamable_http() -> None:
    streams = SseStreams()
    stream = opened(streams, "/sse")

    assert streams.of_post(flow(target="/sse"), "agent") is stream
    assert streams.of_post(flow(target="/sse", accept=BOTH), "agent") is None


def test_post_belongs_to_none_while_two_streams_claim_it() -> None:
    streams = SseStreams()
    first, second = opened(streams), opened(streams)
    assert streams.of_post(flow(), "agent") is None

    streams.close(first)
    streams.close(first)
    assert streams.of_post(flow(), "agent") is second
    streams.close(second)
    assert streams.of_post(flow(), "agent") is None
    assert streams._by_endpoint == {}


def test_endpoints_of_a_stream_are_bounded() -> None:
    stream = opened(SseStreams(), *(f"/{number}" for number in range(100)))

    assert len(stream.endpoints) == _MAX_ENDPOINTS


def test_stream_whose_flow_is_gone_is_forgotten_with_it() -> None:
    exchanges, got = Exchanges(), flow("GET", "/sse")
    conversation = Conversation(Session("a", is_identified=False), Transport.HTTP, None)
    stream = SseStream(got)
    exchanges.open(got, Exchange(HEAD, None, conversation, lambda _: None, stream=stream))
    assert stream.flow is got

    del got
    gc.collect()
    assert stream.flow is None
    assert len(exchanges._by_flow) == 0


def test_post_and_stream_share_what_is_in_flight() -> None:
    stream = opened(SseStreams())
    got, posted = (Conversation(Session("a", is_identified=False), Transport.HTTP, None) for _ in range(2))
    stream.carry(got)
    stream.carry(posted)

    assert got.from_client is posted.from_client
    assert got.from_server is posted.from_server
    assert Request(1, "ping").id not in got.from_client
