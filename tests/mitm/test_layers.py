"""What the fence leans on inside mitmproxy is there, and is what it was written for."""

from __future__ import annotations

import inspect
import re

import mitmproxy.version
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http import HttpLayer, HttpStream, _http1
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Server
from mitmproxy.proxy.layers.websocket import WebsocketLayer

from agentfence.mitm.connections import FenceHttp1Client, FenceHttp1Server
from agentfence.mitm.layers import FenceLayer, FenceStream
from agentfence.mitm.received import Received

STREAM = (
    "_handle_event",
    "check_body_size",
    "check_invalid",
    "check_killed",
    "handle_protocol_error",
    "handle_event",
    "make_server_connection",
    "passthrough",
    "send_response",
    "start_request_stream",
    "state_consume_request_body",
    "state_done",
    "state_errored",
    "state_stream_request_body",
    "state_stream_response_body",
    "state_wait_for_response_headers",
)


def test_the_host_is_the_minor_version_that_this_was_written_for() -> None:
    assert mitmproxy.version.VERSION.startswith("12.3.")


def test_the_host_still_has_what_is_overridden_and_called() -> None:
    assert [name for name in STREAM if not callable(getattr(HttpStream, name, None))] == []
    assert callable(HttpLayer.make_stream)
    assert callable(HttpLayer.register_connection)
    assert all(callable(getattr(Http1Client, name)) for name in ("read_headers", "read_body", "mark_done"))
    assert all(callable(getattr(Http1Server, name)) for name in ("read_headers", "read_body", "wait", "done"))


def test_the_host_asks_its_buffer_for_no_more_than_there_is() -> None:
    source = inspect.getsource(_http1)
    asked = set(re.findall(r"self\.buf\.(\w+)", source))

    assert asked == {"maybe_extract_at_most", "maybe_extract_lines"}
    assert asked <= set(vars(Received))
    assert "self.body_reader(self.buf)" in source
    assert "self.body_reader.read_eof()" in source


def test_a_websocket_of_the_host_still_has_what_is_counted() -> None:
    assert "self.client_ws = " in inspect.getsource(WebsocketLayer.start)
    assert "self.server_ws = " in inspect.getsource(WebsocketLayer.start)
    assert 'src_ws.frame_buf = [b""]' in inspect.getsource(WebsocketLayer.relay_messages)
    assert "_paused_event_queue" in inspect.getsource(Layer.handle_event)


def test_overrides_take_what_the_host_gives() -> None:
    pairs = (
        (FenceStream, HttpStream),
        (FenceLayer, HttpLayer),
        (FenceHttp1Server, Http1Server),
        (FenceHttp1Client, Http1Client),
    )
    for own, host in pairs:
        for name in vars(own):
            if callable(getattr(host, name, None)) and not name.startswith("__"):
                wanted = list(inspect.signature(getattr(host, name)).parameters)
                assert list(inspect.signature(getattr(own, name)).parameters) == wanted, name


def test_the_host_asks_about_each_piece_of_a_body() -> None:
    assert "check_killed(True)" in inspect.getsource(HttpStream.state_wait_for_request_headers)
    assert "check_body_size(True)" in inspect.getsource(HttpStream.state_wait_for_request_headers)
    assert "check_body_size(True)" in inspect.getsource(HttpStream.state_consume_request_body)
    assert "check_body_size(False)" in inspect.getsource(HttpStream.state_consume_response_body)
