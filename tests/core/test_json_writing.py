"""Values into JSON."""

from __future__ import annotations

import json
from json import encoder

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core import json_writing
from agentfence.core.json_writing import write_json
from agentfence.core.policy.model import Verdict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_what_is_written_is_what_the_standard_library_writes(value):
    assert write_json(value) == json.dumps(value, separators=(",", ":")).encode()


def test_a_python_without_the_encoder_in_c_writes_the_same(monkeypatch):
    monkeypatch.setattr(encoder, "c_make_encoder", None)
    value = {"a": ["é", None, 1.5], "verdict": Verdict.DENY}

    assert json_writing._make_encode()(value).encode() == write_json(value)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_no_text_is_given_for_a_number_that_json_has_none_for(number):
    with pytest.raises(ValueError):
        write_json([number])
