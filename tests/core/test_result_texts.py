"""Which texts of a result are read, whatever shape it has."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from talking import Talk

from agentfence.core.effects import Forward
from agentfence.core.result_texts import texts_of_value

KEYS = st.sampled_from(["type", "text", "data", "tools", "name", "inputSchema", "properties", "content"])
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["image", "text", "a"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)
)


def test_octets_of_a_picture_are_no_text() -> None:
    texts, keys = texts_of_value({"type": "image", "data": "iVBORw0", "alt": "a cat"})

    assert (sorted(texts), sorted(keys)) == (["a cat", "image"], ["alt", "data", "type"])


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
