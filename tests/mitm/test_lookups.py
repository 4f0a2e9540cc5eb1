"""What mitmproxy looks up again and again, against its own functions."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mitmproxy import hooks, http, options, optmanager, version
from mitmproxy.proxy.layers.http._hooks import HttpRequestHook
from mitmproxy.test import tflow
from mitmproxy.utils import asyncio_utils

from agentfence.mitm import lookups

NAMES = st.sampled_from(["host", "Host", "X-A", "x-a", "é", "\udcff", "", b"host", b"X-A"])
FIELDS = st.lists(
    st.tuples(
        st.sampled_from([b"host", b"HOST", b"x-a", b"X-A", b"", b"\xff", "É".encode()]),
        st.sampled_from([b"", b"1", b"a, b", b"\xff"]),
    ),
    max_size=4,
).map(tuple)


@given(FIELDS, NAMES, st.sampled_from([None, "", "none"]))
@example(((b"host", b"1"), (b"Host", b"2")), "HOST", None)
def test_a_header_is_what_the_host_says(fields, name, default):
    headers = http.Headers(fields)

    assert lookups.header(headers, name, default) == lookups._host_header(headers, name, default)


@pytest.mark.parametrize("name", [None, 1, ("host",)])
def test_what_is_no_name_is_refused_as_by_the_host(name):
    headers = http.Headers([(b"host", b"1")])
    with pytest.raises((TypeError, AttributeError)) as expected:
        lookups._host_header(headers, name, None)

    with pytest.raises(expected.type):
        lookups.header(headers, name)


def test_every_option_has_the_value_that_the_host_gives():
    opts = options.Options()
    opts.update(mode=["reverse:http://127.0.0.1:1"], listen_port=1, http2=False)

    for option in opts._options.values():
        assert lookups.option_value(option) == lookups._host_value(option), option.name


def test_a_list_is_given_as_a_copy():
    option = options.Options()._options["mode"]

    lookups.option_value(option).append("socks5")

    assert lookups.option_value(option) == ["regular"]


def test_hooks_are_about_what_their_fields_say():
    flow = tflow.tflow()

    assert lookups.hook_arguments(HttpRequestHook(flow)) == [flow]
    assert lookups.hook_arguments(hooks.ConfigureHook({"mode"})) == [{"mode"}]
    assert lookups.hook_arguments(hooks.DoneHook()) == []


async def test_a_task_is_labelled_as_by_the_host():
    task = asyncio.create_task(asyncio.sleep(0))

    lookups.label_task(task, name="named", client=("127.0.0.1", 1))

    assert asyncio_utils.task_repr(task) == "127.0.0.1:1: named (age: 0s)"
    await task


@pytest.fixture
def host(monkeypatch):
    """The host's own lookups, put back afterwards."""
    monkeypatch.setattr(hooks.Hook, "args", own := hooks.Hook.args)
    monkeypatch.setattr(optmanager._Option, "current", lookups._host_value)
    monkeypatch.setattr(http.Headers, "get", lookups._host_header)
    monkeypatch.setattr(asyncio_utils, "set_task_debug_info", asyncio_utils.set_task_debug_info)
    return own


def test_the_host_looks_that_way(host):
    lookups.spare_lookups()
    lookups.spare_lookups()

    assert http.Headers([(b"a", b"1")]).get("A") == "1"
    assert http.Headers.get is lookups.header
    assert hooks.Hook.args is lookups.hook_arguments
    assert optmanager._Option.current is lookups.option_value
    assert asyncio_utils.set_task_debug_info is lookups.label_task


def test_another_version_of_the_host_is_left_as_it_is(host, monkeypatch):
    monkeypatch.setattr(version, "VERSION", "12.4.0")

    lookups.spare_lookups()

    assert http.Headers.get is lookups._host_header
    assert optmanager._Option.current is lookups._host_value
