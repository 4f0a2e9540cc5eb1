"""What servers are known by once a changed policy is in force."""

from __future__ import annotations

import pytest

from agentfence.core.http import peers
from agentfence.core.http.message import HttpRequest
from agentfence.core.http.peers import Peers
from agentfence.core.http.traffic import Sorter
from agentfence.core.policy.model import Server, Unlisted
from agentfence.core.session import Conversation, Session, Transport

ORIGIN = "https://h:443"


def sorter(servers, unlisted=Unlisted.INSPECT, **more):
    return Sorter([Server(name, url) for name, url in servers.items()], unlisted=unlisted, **more)


def meet(known, server, target="/mcp", host="h"):
    conversation = Conversation(Session("agent", is_identified=True), Transport.HTTP, server)
    conversation.origin = f"https://{host}:443"
    headers = (("Host", host), ("Content-Type", "application/json"), ("Mcp-Session-Id", "a"))
    known.meet(conversation, HttpRequest("POST", "https", host, 443, target, headers, has_body=True))


CHANGES = [
    ("a", {"a": "https://h/mcp"}, {}),
    ("a", {"b": "https://h/mcp"}, {"a": "b"}),
    ("a", {"b": "https://h/**", "a": "https://other/mcp"}, {"a": "b"}),
    ("a", {}, {"a": ORIGIN}),
    ("a", {"b": "https://other/mcp"}, {"a": ORIGIN}),
    (None, {"b": "https://h/mcp"}, {ORIGIN: "b"}),
    (None, {}, {}),
]


@pytest.mark.parametrize(("before", "servers", "renamed"), CHANGES)
@pytest.mark.parametrize("unlisted", Unlisted)
def test_a_server_is_known_by_what_the_new_policy_says(before, servers, renamed, unlisted):
    known = Peers()
    meet(known, before)

    assert known.renamed(sorter(servers, unlisted)) == renamed


def test_in_front_of_one_server_its_name_may_change_too():
    known = Peers()
    meet(known, None)

    assert known.renamed(sorter({"b": "https://h/mcp"}, reverse=True, allowed_hosts=["h"])) == {ORIGIN: "b"}


def test_names_change_again_and_again():
    known = Peers()
    meet(known, "a", "/one")
    meet(known, "b", "/two")
    swapped = known.renamed(sorter({"b": "https://h/one", "a": "https://h/two"}))
    known.rename(swapped)

    assert swapped == {"a": "b", "b": "a"}
    assert known.renamed(sorter({"c": "https://h/one", "a": "https://h/two"})) == {"b": "c"}


def test_few_places_are_kept_and_none_that_is_long(monkeypatch):
    monkeypatch.setattr(peers, "_MOST", 2)
    known = Peers()
    meet(known, "long", "/" + "x" * 5_000)
    for name in "abc":
        meet(known, name, f"/{name}")

    assert known.renamed(sorter({})) == {"b": ORIGIN, "c": ORIGIN}
