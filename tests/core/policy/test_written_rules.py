"""The rules that a file writes, by the names that decisions give them."""

from __future__ import annotations

from policies_in_memory import load_texts

from agentfence.core.policy.written_rules import written_rules


def test_rules_come_in_the_order_of_the_file_without_those_of_imports():
    loaded = load_texts(
        {
            "root.yaml": """
version: "1"
imports: [other.yaml]
tools: {b: allow, "a*": deny}
forbid: [{tools: [x]}, {tools: [y]}]
prompts: {"p*": ask}
methods: {sampling/createMessage: ask}
resources: {"https://a.example/**": allow}
""",
            "other.yaml": 'version: "1"\ntools: {c: allow}\nforbid: [{tools: [z]}]',
        }
    )
    rules = written_rules(loaded.document)

    assert [rule.name for rule in rules] == [
        "b",
        "a*",
        "forbid[1]",
        "forbid[2]",
        "prompts.p*",
        "methods.sampling/createMessage",
        "resources.https://a.example/**",
    ]
    assert str(rules[0].position.place) == "root.yaml:4:9"
