"""The language and its page: every example loads, every key and every problem is on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from policies_in_memory import load_texts

from agentfence.core.policy.json_schema import policy_schema
from agentfence.core.policy.language import LANGUAGE
from agentfence.core.policy.shapes import Either, Keys, ListOf, Names
from agentfence.core.redaction import build_redactor
from agentfence.core.trials import run_test

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "policy-language.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EVERY_KEY = (ROOT / "tests" / "cases" / "policy" / "every_key.yaml").read_text(encoding="utf-8")
RESERVED = {"when", "results"}
IMPORTED = {
    "agentfence:filesystem": 'version: "1"\ntools: {read_text_file: allow}',
    "agentfence:default": 'version: "1"\ntools: {"*": ask}',
    "team.yaml": 'version: "1"\ntools: {deploy: deny}',
}


def load(example):
    text = example if example.startswith("version:") else f'version: "1"\n{example}'
    return load_texts({"root.yaml": text, **IMPORTED}).policy


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split(":")[0])
def test_every_example_on_the_page_loads(example):
    assert load(example).digest


def test_example_in_full_is_compiled_as_it_is_written():
    policy = load(EXAMPLES[0])

    rules = {rule.name: rule for rule in policy.tools.rules}
    assert {"readers", "github_reads", "github/*", "write_file", "fetch", "run", "deploy"} <= set(rules)
    assert [one.kind for one in rules["deploy"].constraints] == ["schema", "args"]
    assert (rules["deploy"].remember, rules["deploy"].rate.limit) == ("call", 10)
    assert rules["write_file"].otherwise == "ask"
    assert EXAMPLES[0].splitlines()[rules["readers"].place.line - 1].startswith("  readers: {decision: allow")
    assert [server.name for server in policy.servers] == ["files", "github"]
    assert [test.id for test in policy.tests] == ["t1", "t2"]
    assert policy.tools.find("github", "get_me").name == "github_reads"
    assert policy.tools.find("github", "push").name == "github/*"


def every_key(shape):
    match shape:
        case Keys(keys):
            for key, meant in keys.items():
                yield key
                yield from every_key(meant.shape)
        case Either(shapes):
            for one in shapes:
                yield from every_key(one)
        case ListOf(inner) | Names(inner):
            yield from every_key(inner)


def test_every_key_is_on_the_page():
    missing = [key for key in every_key(LANGUAGE) if not re.search(rf"(?<!\w){key}(?!\w)", PAGE)]

    assert missing == []


def keys_of(schema, path=""):
    """Give the path of every key that the JSON Schema has."""
    for alternative in schema.get("anyOf", ()):
        yield from keys_of(alternative, path)
    for key, below in schema.get("properties", {}).items():
        yield f"{path}.{key}"
        yield from keys_of(below, f"{path}.{key}")
    for mark, word in (("[]", "items"), (".*", "additionalProperties")):
        if isinstance(schema.get(word), dict):
            yield from keys_of(schema[word], path + mark)


def keys_in(value, schema, path=""):
    """Give those of them that a document has."""
    for alternative in schema.get("anyOf", ()):
        yield from keys_in(value, alternative, path)
    if isinstance(value, list) and "items" in schema:
        for item in value:
            yield from keys_in(item, schema["items"], f"{path}[]")
    for key, below in value.items() if isinstance(value, dict) else ():
        if key in schema.get("properties", {}):
            yield f"{path}.{key}"
            yield from keys_in(below, schema["properties"][key], f"{path}.{key}")
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from keys_in(below, schema["additionalProperties"], f"{path}.*")


def test_every_key_of_the_schema_is_in_a_policy_that_loads():
    schema = policy_schema()
    known = {key for key in keys_of(schema) if key.rpartition(".")[2] not in RESERVED}
    used = {key for text in (*EXAMPLES, EVERY_KEY) for key in keys_in(yaml.safe_load(text), schema)}

    assert len(known) > 140
    assert known - used == set()


def test_every_key_does_what_its_tests_say():
    policy = load(EVERY_KEY[EVERY_KEY.index("version:") :])
    redactor = build_redactor(builtin=True, patterns=())
    steps = [step for test in policy.tests for step in run_test(policy, redactor, test, 0.0)]

    assert len(steps) > 25
    assert [step for step in steps if not step.is_as_expected] == []


def test_every_top_level_key_has_its_heading():
    headings = {name for line in re.findall(r"^### (.+)$", PAGE, re.MULTILINE) for name in line.split(", ")}

    assert set(LANGUAGE.keys) <= headings


def test_every_problem_is_on_the_page():
    folder = ROOT / "engine" / "agentfence" / "core" / "policy"
    sources = [*folder.glob("*.py"), ROOT / "engine" / "agentfence" / "policy_files.py"]
    code = re.compile(
        r'(?:problem|note|_note|_refuse|_stop|Problem)\((?:[^()"]|\([^()]*\))*"([a-z0-9]+(?:_[a-z0-9]+)+|tag|empty)"'
    )
    codes = {found for source in sources for found in code.findall(source.read_text(encoding="utf-8"))}
    said = {
        found
        for file in (ROOT / "tests" / "bad_policies").glob("*.txt")
        for found in file.read_text(encoding="utf-8").split("\n")[0].split()
    }

    assert len(codes) > 25
    assert {found for found in codes | said if f"`{found}`" not in PAGE} == set()


def test_reader_cases_name_only_problems_on_the_page():
    cases = yaml.safe_load((ROOT / "tests" / "cases" / "policy" / "reader.yaml").read_text())
    codes = {problem.split()[1] for case in cases for problem in case.get("problems", ())}

    assert {code for code in codes if f"`{code}`" not in PAGE} == set()
