"""Mirrored headers: the table, and that whatever an honest client mirrors agrees."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.core.http.mirrored_headers import check_mirrored, mirrored_parameters
from agentfence.core.jsonrpc import Notification, Request, Response
from agentfence.core.revisions import META_VERSION, revision_named


class Loader(yaml.SafeLoader):
    """YAML whose dates stay text, as revisions are."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
TABLE = yaml.load((Path(__file__).parents[2] / "cases" / "http" / "mirrored.yaml").read_text("utf-8"), Loader)
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
OUTCOMES = {None: "pass", -32020: "mismatch", -32602: "params"}
NEWEST = revision_named("2026-07-28")


def message_of(case):
    kind, call = case.get("kind", "request"), case.get("call", {})
    params = call.get("params")
    if "meta" in case:
        params = {**(params or {}), "_meta": {META_VERSION: case["meta"], CAPABILITIES: {}}}
    match kind:
        case "request":
            return Request(1, call["method"], params)
        case "notification":
            return Notification(call["method"], params)
        case "response":
            return Response(1, {})
        case "batch":
            return None


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["id"])
def test_headers_must_agree_with_the_body(case):
    headers = tuple(case.get("headers", {}).items())
    declared = {name.lower(): value for name, value in headers}.get("mcp-protocol-version")
    revision = revision_named(case.get("revision", declared))
    refusal = check_mirrored(headers, message_of(case), revision, TABLE["schemas"].get(case.get("schema")))

    assert case["expect"] == OUTCOMES[refusal and refusal.code]
    if refusal is not None:
        assert (refusal.status, refusal.reason_code) == (400, "header_mismatch")


def test_an_annotation_deep_inside_is_not_searched_for_for_ever():
    schema = {"type": "string", "x-mcp-header": "Deep"}
    for _ in range(100):
        schema = {"type": "object", "properties": {"a": schema}}

    assert mirrored_parameters(schema) == {}


@pytest.mark.parametrize("schema", [None, 7, [], {"properties": []}, {"properties": {"a": 1}}])
def test_a_schema_that_is_none_mirrors_nothing(schema):
    assert mirrored_parameters(schema) == {}


def encoded(text):
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="


@settings(max_examples=150)
@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    region=st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=12)),
    count=st.integers(-(2**53) + 1, 2**53 - 1),
    dry=st.booleans(),
)
@example(name="=?base64?x?=", region="=?base64?", count=0, dry=True)
def test_what_an_honest_client_mirrors_passes_and_another_name_does_not(name, region, count, dry):
    arguments = {"region": region, "count": count, "dry": dry}
    headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", encoded(name)),
        ("Mcp-Param-Count", str(count)),
        ("Mcp-Param-Dry", str(dry).lower()),
    ]
    if region is not None:
        headers.append(("Mcp-Param-Region", encoded(region)))
    meta = {META_VERSION: "2026-07-28", CAPABILITIES: {}}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    schema = TABLE["schemas"]["plain"]

    assert check_mirrored(tuple(headers), Request(1, "tools/call", params), NEWEST, schema) is None

    other = Request(1, "tools/call", {**params, "name": name + "x"})
    assert check_mirrored(tuple(headers), other, NEWEST, schema) is not None


names = st.sampled_from(["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "Mcp_Name"])
values = st.one_of(st.sampled_from(["2026-07-28", "tools/call", "a", "=?base64?"]), st.text(max_size=8))


@settings(max_examples=150)
@given(
    headers=st.lists(st.tuples(names, values), max_size=5).map(tuple),
    params=st.one_of(
        st.none(), st.dictionaries(st.sampled_from(["name", "_meta", "arguments"]), st.integers())
    ),
)
def test_any_headers_are_judged(headers, params):
    check_mirrored(headers, Request(1, "tools/call", params), NEWEST, TABLE["schemas"]["plain"])
