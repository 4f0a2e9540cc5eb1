"""The JSON Schema for editors: it is up to date, valid, and never stricter than the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from policy_documents import documents

import agentfence.core.policy
from agentfence.core.policy.json_schema import policy_schema
from agentfence.core.policy.language import LANGUAGE
from agentfence.core.policy.nodes import plain
from agentfence.core.policy.reader import read_document
from agentfence.core.policy.shapes import Either, Keys, ListOf, Names
from agentfence.core.policy.validation import validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.policy.shapes import Key, Shape

ROOT = Path(__file__).parents[3]
SCHEMA = Draft202012Validator(policy_schema())


def test_schema_file_is_what_the_language_says():
    """Run this file as a script to write it anew."""
    written = (Path(agentfence.core.policy.__file__).parent / "schema.json").read_text(encoding="utf-8")

    assert schema_text() == written


def schema_text() -> str:
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"


def test_schema_is_valid_json_schema_2020_12():
    Draft202012Validator.check_schema(policy_schema())


def test_every_key_says_what_it_does():
    undescribed = [key for key, meant in every_key(LANGUAGE) if not meant.description.endswith(".")]

    assert undescribed == []


def every_key(shape: Shape) -> Iterator[tuple[str, Key]]:
    match shape:
        case Keys(keys):
            for key, meant in keys.items():
                yield key, meant
                yield from every_key(meant.shape)
        case Either(shapes):
            for one in shapes:
                yield from every_key(one)
        case ListOf(inner) | Names(inner):
            yield from every_key(inner)


@pytest.mark.parametrize("file", sorted((ROOT / "policies").glob("*.yaml")), ids=lambda file: file.stem)
def test_packaged_policies_fit_the_schema(file):
    assert [*SCHEMA.iter_errors(plain(read_document(file.name, file.read_bytes())))] == []


@given(documents(LANGUAGE))
@settings(max_examples=150, deadline=None)
def test_program_and_schema_accept_the_same_documents(document):
    """In the accepting direction this must never fail: what the program takes, the schema takes."""
    node = read_document("p.yaml", json.dumps(document).encode())
    is_accepted = not validate(node, LANGUAGE).problems
    fits = SCHEMA.is_valid(document)

    assert fits or not is_accepted
    assert is_accepted or not fits or has_only_own_keys_somewhere(document)


def has_only_own_keys_somewhere(value: object) -> bool:
    """Where a mapping must not be empty, the user's own keys do not fill it; a schema cannot say that."""
    if isinstance(value, dict):
        return (bool(value) and all(key.startswith("x-") for key in value)) or any(
            map(has_only_own_keys_somewhere, value.values())
        )
    return isinstance(value, list) and any(map(has_only_own_keys_somewhere, value))


if __name__ == "__main__":
    (Path(agentfence.core.policy.__file__).parent / "schema.json").write_text(schema_text(), encoding="utf-8")
