"""Which texts of a result are read, whatever shape it has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import Talk

from agentfence.core.effects import Forward
from agentfence.core.result_texts import texts_of_answer, texts_of_value

KEYS = st.sampled_from(["type", "text", "data", "tools", "name", "inputSchema", "properties", "content"])
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["image", "text", "a"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)
)


PICTURE = {"type": "image", "data": "iVBORw0", "alt": "a cat"}


@pytest.mark.parametrize(
    "answer",
    [
        {"content": [PICTURE]},
        {"messages": [{"role": "user", "content": PICTURE}]},
        {"content": [{"type": "tool_result", "content": [PICTURE]}]},
        {"task": {"result": {"content": [{**PICTURE, "type": "audio"}]}}},
    ],
)
def test_octets_of_a_picture_are_no_text(answer: Any) -> None:
    texts, keys = texts_of_answer(answer)

    assert "iVBORw0" not in texts
    assert "a cat" in texts
    assert {"alt", "data", "type"} <= set(keys)


@pytest.mark.parametrize(
    "answer",
    [
        PICTURE,
        [PICTURE],
        {"structuredContent": PICTURE},
        {"structuredContent": {"content": [PICTURE]}},
        {"data": {"type": "image", "data": {"text": "iVBORw0"}}},
        {"content": [{"type": "resource", "resource": PICTURE}]},
        {"content": [{**PICTURE, "type": "text"}]},
    ],
)
def test_what_is_called_a_picture_elsewhere_is_text(answer: Any) -> None:
    """Models get structured results as JSON, with all that is in them."""
    assert "iVBORw0" in texts_of_answer(answer)[0]


def test_definitions_of_tools_hold_no_pictures() -> None:
    assert "iVBORw0" in texts_of_value({"inputSchema": {"properties": {"content": PICTURE}}})[0]


def test_member_named_type_may_be_anything() -> None:
    texts, _ = texts_of_value({"type": {"type": "string", "description": "the kind"}, "data": "kept"})

    assert set(texts) == {"string", "the kind", "kept"}


@settings(max_examples=150, deadline=None)
@given(result=VALUES, method=st.sampled_from(["tools/list", "tools/call", "resources/read", "prompts/get"]))
def test_result_of_any_shape_goes_on(result: object, method: str) -> None:
    talk = Talk(
        'version: "1"\ndefaults: {decision: allow}\nvalidate_arguments: true\npins: observe\ntaint: {enabled: true}\n'
    )
    talk.agent({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "t", "uri": "a:b"}})

    effects = talk.server({"jsonrpc": "2.0", "id": 1, "result": result})

    assert isinstance(effects[-1], Forward)
