"""Sorting: the tables, what metadata teaches, and what may be tunnelled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.http.hosts import Origin
from agentfence.core.http.message import HttpRequest
from agentfence.core.http.traffic import Free, Held, Refused, Sorter, Watched
from agentfence.core.policy.model import Server, Unlisted

TABLE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "http" / "traffic.yaml").read_text("utf-8"))
SERVERS = [Server(name, url) for name, url in TABLE["servers"].items()]
PORTS = {"http": 80, "https": 443}
ALL = {mode: TABLE[mode] for mode in ("cases", "block", "pass", "reverse")}
MODES = {
    "cases": Unlisted.INSPECT,
    "block": Unlisted.BLOCK,
    "pass": Unlisted.PASS,
    "reverse": Unlisted.INSPECT,
}


def sorter(mode="cases", servers=SERVERS):
    return Sorter(
        servers,
        tunnel=TABLE["tunnel"],
        unlisted=MODES[mode],
        reverse=mode == "reverse",
        allowed_hosts=["fence.example:8081"],
    )


def request_of(case):
    method, scheme, host, port, target = re.fullmatch(
        r"(\S+) (\w+)://(\[[^\]]*\]|[^/:]+)(?::(\d+))?(.*)", case["request"]
    ).groups()
    named = case.get("host", f"{host}:{port}" if port else host)
    headers = [] if named is None else [("Host", named)]
    if "type" in case:
        headers.append(("Content-Type", case["type"]))
    headers += [(name, str(value)) for name, value in case.get("headers", {}).items()]
    request = HttpRequest(
        method,
        scheme,
        case.get("to", host.strip("[]")),
        case.get("to_port", int(port or PORTS[scheme])),
        target or "*",
        tuple(headers),
        authority=case.get("authority", ""),
    )
    return request, case.get("sni", host if scheme == "https" else None)


def outcome(sorted_):
    match sorted_:
        case Held(server):
            return f"held {server or '-'}"
        case Watched(None, is_listed=False):
            return "unlisted"
        case Watched(server):
            return f"watched {server or '-'}"
        case Free(is_metadata):
            return "metadata" if is_metadata else "free"
        case Refused(refusal):
            assert 400 <= refusal.status < 500
            return f"refused {refusal.reason_code}"


@pytest.mark.parametrize(
    ("mode", "case"),
    [pytest.param(mode, case, id=case["id"]) for mode, cases in ALL.items() for case in cases],
)
def test_a_request_is_sorted_as_the_table_says(mode, case):
    request, sni = request_of(case)

    assert case["expect"] == outcome(sorter(mode).sort(request, sni))


def test_the_table_names_each_case_once():
    ids = [case["id"] for cases in ALL.values() for case in cases]

    assert len(ids) == len(set(ids))


def post(path, content_type, host="gw.example.net"):
    headers = (("Host", host), ("Content-Type", content_type))
    return HttpRequest("POST", "https", host, 443, path, headers)


FORM = "application/x-www-form-urlencoded"
GATEWAY = Origin("https", "gw.example.net", 443)


@pytest.mark.parametrize(
    ("member", "content_type"),
    [
        ("token_endpoint", FORM),
        ("revocation_endpoint", f"{FORM}; charset=utf-8"),
        ("introspection_endpoint", FORM),
        ("pushed_authorization_request_endpoint", FORM),
        ("device_authorization_endpoint", FORM),
        ("registration_endpoint", "application/json"),
    ],
)
def test_an_endpoint_that_metadata_names_is_only_watched(member, content_type):
    fence = sorter()
    request = post("/files/oauth/x", content_type)
    before = fence.sort(request, "gw.example.net")
    fence.learn_oauth({member: "https://GW.example.net:443/files/oauth/x"}, GATEWAY)

    assert before == Held("files")
    assert fence.sort(request, "gw.example.net") == Watched("files")
    assert fence.sort(post("/files/oauth/x", "text/plain"), "gw.example.net") == Held("files")


def test_keys_that_metadata_names_are_free_to_get():
    fence = sorter()
    request = HttpRequest("GET", "https", "gw.example.net", 443, "/files/keys", (("Host", "gw.example.net"),))
    fence.learn_oauth({"jwks_uri": "https://gw.example.net/files/keys"}, GATEWAY)

    assert fence.sort(request, "gw.example.net") == Free()
    assert fence.sort(post("/files/keys", "application/json"), "gw.example.net") == Held("files")


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        None,
        {"token_endpoint": 7},
        {"token_endpoint": "https://evil.example/files/oauth/x"},
        {"token_endpoint": "http://gw.example.net/files/oauth/x"},
        {"token_endpoint": "https://gw.example.net:8443/files/oauth/x"},
        {"token_endpoint": "https://gw.example.net:port/files/oauth/x"},
        {"token_endpoint": "https://[gw/files/oauth/x"},
        {"token_endpoint": "/files/oauth/x"},
        {"authorization_endpoint": "https://gw.example.net/files/oauth/x"},
    ],
)
def test_metadata_teaches_nothing_that_is_not_its_origins_own(metadata):
    fence = sorter()
    fence.learn_oauth(metadata, GATEWAY)

    assert fence.sort(post("/files/oauth/x", FORM), "gw.example.net") == Held("files")


def test_metadata_cannot_take_an_endpoint_out_of_the_rules():
    fence = sorter()
    fence.learn_oauth({"token_endpoint": "https://gw.example.net/mail/mcp"}, GATEWAY)

    assert fence.sort(post("/mail/mcp", FORM), "gw.example.net") == Held("mail")


def test_metadata_of_one_origin_says_nothing_of_another():
    fence = sorter()
    fence.learn_oauth(
        {"token_endpoint": "https://evil.example/files/x"}, Origin("https", "evil.example", 443)
    )

    assert fence.sort(post("/files/x", FORM), "gw.example.net") == Held("files")


def test_what_metadata_teaches_is_bounded():
    fence = sorter()
    for number in range(1_001):
        fence.learn_oauth({"token_endpoint": f"https://gw.example.net/files/{number}"}, GATEWAY)

    assert fence.sort(post("/files/999", FORM), "gw.example.net") == Watched("files")
    assert fence.sort(post("/files/1000", FORM), "gw.example.net") == Held("files")


@pytest.mark.parametrize(
    ("host", "sni", "expected"),
    [
        ("pinned.example", "pinned.example", True),
        ("PINNED.example.", "pinned.EXAMPLE", True),
        ("pinned.example", None, False),
        ("pinned.example", "other.example", False),
        ("other.example", "pinned.example", False),
        ("a.pinned.example", "a.pinned.example", False),
        ("mcp.example.com", "mcp.example.com", False),  # a server's
        ("127.0.0.1", "localhost", False),  # a server's by another name
        ("a b", "a b", False),
        ("", "", False),
    ],
)
def test_tls_is_tunnelled_only_where_both_names_are_a_host_of_the_list(host, sni, expected):
    assert sorter().may_tunnel(host, sni) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("mcp.example.com", True), ("MCP.example.com.", True), ("api.example.net", False), ("", False)],
)
def test_a_host_is_a_servers_by_any_of_its_spellings(host, expected):
    servers = (Server("files", url="https://mcp.example.com/mcp"),)

    assert Sorter(servers).is_of_server(host) is expected
    assert Sorter(servers, reverse=True).is_of_server(host) is True
    assert Sorter(servers, unlisted=Unlisted.PASS).is_judged(host) is expected
    assert Sorter(servers).is_judged(host) is True


def test_nothing_is_tunnelled_by_default():
    assert Sorter([]).may_tunnel("pinned.example", "pinned.example") is False


def test_without_servers_everything_is_unlisted():
    assert Sorter([]).sort(post("/mcp", "application/json"), "gw.example.net") == Watched(
        None, is_listed=False
    )


def test_any_host_as_a_pattern_holds_every_path_at_every_port():
    fence = Sorter([Server("all", "https://**"), Server("one", "https://a.example/mcp")])

    assert fence.sort(post("/x", "image/png", "b.example"), None) == Held("all")
    assert fence.sort(post("/mcp", "image/png", "a.example"), None) == Held("one")
    assert fence.sort(post("/x", "image/png", "a.example"), None) == Held("all")


@pytest.mark.parametrize(
    "urls", [["https://h.example/**", "https://h.example/mcp", "https://h.example/mcp*"]]
)
def test_the_most_particular_pattern_wins_in_any_order(urls):
    expected = {
        "/mcp": "https://h.example/mcp",
        "/mcpx": "https://h.example/mcp*",
        "/x": "https://h.example/**",
    }
    for order in (urls, urls[::-1]):
        fence = Sorter([Server(url, url) for url in order])
        for path, name in expected.items():
            assert fence.sort(post(path, "application/json", "h.example"), None) == Held(name)


def test_an_escaped_wildcard_in_a_policy_is_a_character():
    fence = Sorter([Server("odd", "https://h.example/a%2A%5Bb/mcp")])

    assert fence.sort(post("/a*[b/mcp", "application/json", "h.example"), None) == Held("odd")
    assert fence.sort(post("/axx[b/mcp", "application/json", "h.example"), None) == Watched("odd")


def test_servers_that_are_commands_take_no_part():
    assert Sorter([Server("child", command=("npx",))]).sort(post("/", "image/png"), None) == Free()


@pytest.mark.parametrize(
    "url", ["ftp://h/mcp", "https://", "https://a b/", "https://*.*.h/", "https://h/mcp?x=1", "h"]
)
def test_a_url_that_the_language_does_not_have_is_refused(url):
    with pytest.raises(ValueError, match="`s` cannot be used"):
        Sorter([Server("s", url)])


names = st.sampled_from(
    ["mcp.example.com", "MCP.example.com.", "cdn.example", "localhost", "127.0.0.1", "", "a b", "\udcff"]
)
targets = st.one_of(
    st.lists(
        st.sampled_from(["/", "mcp", "..", ".", ";x", "%2f", "%2e", "?", "#", "\\", "\0", "é", "%"])
    ).map("".join),
    st.text(max_size=20),
    st.just("/\udcff%ff?\ud800"),
)


@settings(max_examples=200)
@given(
    method=st.sampled_from(["POST", "GET", "post", "PUT"]),
    host=names,
    sni=st.one_of(st.none(), names),
    named=st.lists(names, max_size=2),
    target=targets,
    content_type=st.sampled_from(["application/json", FORM, "", "image/png"]),
)
def test_any_request_is_sorted_and_a_servers_needs_one_name(method, host, sni, named, target, content_type):
    headers = (*(("Host", name) for name in named), ("Content-Type", content_type))
    fence = sorter()
    sorted_ = fence.sort(HttpRequest(method, "https", host, 443, target, headers), sni)

    assert isinstance(sorted_, Held | Watched | Free | Refused)
    if isinstance(sorted_, Held):
        assert {name.lower().rstrip(".") for name in (host, *named, *([sni] if sni else []))} <= {
            "mcp.example.com"
        }


@settings(max_examples=100)
@given(target=targets)
def test_what_is_not_a_literal_endpoint_in_any_reading_is_never_held(target):
    fence = sorter()
    sorted_ = fence.sort(post(target, "application/json", "mcp.example.com"), "mcp.example.com")

    if "mcp" not in target:
        assert sorted_ != Held("github")


@pytest.mark.parametrize(
    ("mode", "url", "before", "after"),
    [
        ("cases", "https://any.example/m", "free", "held -"),
        ("block", "https://any.example/m", "free", "unlisted"),
        ("pass", "https://any.example/m", "free", "free"),
        ("cases", "https://mcp.example.com/messages", "watched github", "held github"),
        ("cases", "https://mcp.example.com:8443/m", "free", "held github"),
    ],
)
def test_endpoint_that_a_stream_announced_is_held_whatever_its_path(
    mode: str, url: str, before: str, after: str
) -> None:
    case = {"request": f"POST {url}?session=1", "type": "application/octet-stream"}
    request, sni = request_of(case)
    sorting = sorter(mode)
    assert outcome(sorting.sort(request, sni)) == before

    sorting.learn_endpoint(request.host.upper(), request.port, "/x/../" + request.target.lstrip("/"))
    assert outcome(sorting.sort(request, sni)) == after
    other, sni = request_of({**case, "request": f"POST {url}/other"})
    assert outcome(sorting.sort(other, sni)) == before
    if mode == "cases":
        got, sni = request_of({"request": f"GET {url}"})
        assert outcome(sorting.sort(got, sni)) == "free"
