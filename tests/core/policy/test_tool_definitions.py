"""What servers say of their tools, in each form that it is kept in."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.policy.tool_definitions import ToolDefinition, read_tool_definitions

TOOL = {"name": "t", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}


@pytest.mark.parametrize(
    "content", [[TOOL], {"tools": [TOOL]}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}}]
)
def test_list_result_and_whole_answer_are_read_alike(content):
    assert read_tool_definitions(json.dumps(content).encode(), "s") == (
        ToolDefinition("s", "t", {"path": {"type": "string"}}),
    )


@pytest.mark.parametrize(
    "tool", [{"name": "t"}, {"name": "t", "inputSchema": []}, {"name": "t", "inputSchema": {"properties": 1}}]
)
def test_tool_without_a_schema_has_no_arguments(tool):
    assert read_tool_definitions(json.dumps([tool]).encode(), None)[0].properties == {}


@pytest.mark.parametrize("content", [b"{}", b"1", b'{"tools": {}}', b"[1]", b'[{"name": 1}]', b"[{}]"])
def test_anything_else_is_refused(content):
    with pytest.raises(ValueError, match="expected"):
        read_tool_definitions(content, None)


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.text() | st.integers(0, 9),
        lambda x: (
            st.lists(x)
            | st.dictionaries(st.sampled_from(["tools", "result", "name", "inputSchema", "properties"]), x)
        ),
    )
)
def test_any_json_gives_tools_or_a_value_error(content):
    with suppress(ValueError):
        tools = read_tool_definitions(json.dumps(content).encode(), None)
        assert all(isinstance(tool.name, str) for tool in tools)
