"""The trace of a lookup: held to the lookup itself."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from policies_in_memory import load_text

from agentfence.core.policy.lookup_trace import trace_lookup

POLICY = """
version: "1"
servers: {files: {command: [f]}}
groups: {readers: ["read_*", "files/list_*"], unused: ["**"]}
tools:
  read_me: ask
  readers: allow
  "files/*": ask
  "z*": deny
"""


def trace(server, tool, policy=POLICY):
    return trace_lookup(load_text(policy), server, tool)


def test_exact_name_ends_the_search():
    assert trace(None, "read_me") == (["exact: `read_me` has a rule of its own"], "read_me")


def test_group_is_said_with_its_member():
    assert trace("files", "list_x") == (
        [
            "exact: no rule has the name `files/list_x` or `list_x`",
            "group: `readers` has the member `files/list_*`, which fits `files/list_x`",
        ],
        "readers",
    )


def test_wildcard_comes_last():
    steps, rule = trace("files", "zip")

    assert (steps[-1], rule) == ("wildcard: `files/*` fits `files/zip`", "files/*")
    assert trace(None, "zip")[1] == "z*"


def test_each_level_is_said_when_nothing_applies():
    assert trace(None, "other") == (
        [
            "exact: no rule has the name `other`",
            "group: no group with a rule has a member that fits",
            "wildcard: no pattern fits",
        ],
        None,
    )


def test_forbid_is_said_where_there_is_one():
    steps, _ = trace(None, "x", 'version: "1"\nforbid: [{tools: [y]}]')

    assert steps[0] == "forbid: no entry covers it"


NAMES = ["a", "ab", "b", "s/a", "s/ab", "*", "a*", "?", "s/*", "*/a", "./a", "."]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["1", "0.1"]),
    st.dictionaries(st.sampled_from(["g", "h"]), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)),
    st.sets(st.sampled_from([*NAMES, "g", "h"])),
    st.sampled_from([None, "s"]),
    st.sampled_from(["a", "ab", "b", "abc", "s/a", "./a", "g"]),
)
def test_trace_ends_at_the_rule_that_the_lookup_finds(version, groups, tools, server, tool):
    rules = {name: {"decision": "allow"} for name in tools}
    policy = load_text(json.dumps({"version": version, "groups": groups, "tools": rules}))
    found = policy.tools.find(server, tool)

    assert trace_lookup(policy, server, tool)[1] == (found.name if found else None)
