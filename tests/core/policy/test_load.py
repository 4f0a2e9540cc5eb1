"""The whole way from texts to a policy: any text, and any document that looks like one."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from policies_in_memory import load_text, load_texts, problems_in
from policy_documents import documents

from agentfence.core.policy.language import LANGUAGE


@given(st.text())
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_policy_or_a_policy_error(text):
    assert all(problem.message for problem in problems_in(lambda: load_text(text)))


@given(documents(LANGUAGE, oddness=0))
@settings(max_examples=150, deadline=None)
def test_any_document_like_a_policy_is_a_policy_or_a_policy_error(document):
    document = {**document, "version": 1}
    document.pop("imports", None)
    text, other = json.dumps(document), json.dumps(document, sort_keys=True, indent=1)
    if not problems_in(lambda: load_text(text)):
        assert load_text(text).digest == load_text(other).digest


def test_loaded_policy_keeps_its_document_and_doubts():
    loaded = load_texts({"root.yaml": 'version: "1"\ntools: {x-a: allow, b: allow}'})

    assert loaded.document.file.name == "root.yaml"
    assert str(loaded.document.table.table("tools").entries["b"].key.place) == "root.yaml:2:21"
    assert [doubt.code for doubt in loaded.problems] == ["ignored_name"]
