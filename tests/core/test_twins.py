from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core import twins
from agentfence.core.twins import fold_key, twin_in_message

CASES = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "wire" / "reader_twins.yaml").read_text("utf-8")
)
TABLES = [twins._METHODS, twins._MESSAGE, twins._META, twins._CUSTOM_PARAMS, twins._PARAMS, twins._RESULT]
NAMES = sorted({name for table in [*TABLES, *twins._NESTED.values()] for name in table.exact})


def call(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize("key", [case["key"] for case in CASES["twins"]], ids=ascii)
def test_twin_is_found_alone_and_beside_the_key(key: str) -> None:
    assert fold_key(key) == "name"
    assert "could be read as `name`" in (twin_in_message(call(**{key: "x"})) or "")
    assert "could be read as `name`" in (twin_in_message(call(**{key: "x", "name": "y"})) or "")


@pytest.mark.parametrize("key", [case["key"] for case in CASES["others"]], ids=ascii)
def test_other_key_passes(key: str) -> None:
    assert fold_key(key) != "name"
    assert twin_in_message(call(**{key: "x", "name": "y"})) is None


@pytest.mark.parametrize("name", NAMES)
def test_name_itself_passes_and_its_upper_case_folds_to_it(name: str) -> None:
    assert fold_key(name) == fold_key(name.upper()) == fold_key(name + "\0tail")
    for table in [*TABLES, *twins._NESTED.values()]:
        if name in table.exact:
            assert table.twin({name: 1}) is None
            assert table.twin_of(name.upper()) is not None


@pytest.mark.parametrize("table", [*TABLES, *twins._NESTED.values()])
def test_no_two_names_of_a_table_are_twins(table: twins._Names) -> None:
    assert len(table.exact) == len(table.folded)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ({"ID": 1}, "id"),
        ({"method": "Ping"}, "ping"),
        ({"method": "Ping", "params": {"Name": 1}}, "ping"),
        ({"method": "ping", "params": {"_meta": {"ProgressToken": 1}}}, "progressToken"),
        ({"method": "custom", "params": {"_meta": {"ProgressToken": 1}}}, "progressToken"),
        ({"method": "custom", "params": {"Name": 1, "_meta": {"ProgressToken": 1}}}, "name"),
        ({"method": "completion/complete", "params": {"ref": {"URI": 1}}}, "uri"),
        (
            {"method": "custom", "params": {"ref": {"URI": 1}, "task_id": 1, "_meta": {"progress_token": 1}}},
            None,
        ),
        ({"method": "ping", "params": {"arguments": {"Name": 1}}}, None),
        ({"result": {"Tools": 1}}, "tools"),
        ({"result": {"tools": [{"Name": 1}], "content": [], "isError": True, "is_error": True}}, None),
        ({"result": ["tools"], "error": {"Code": 1}}, None),
    ],
)
def test_each_level_has_its_own_names(message: dict[str, Any], name: str | None) -> None:
    twin = twin_in_message(message)

    assert (name is None) is (twin is None)
    assert twin is None or twin.endswith(f"could be read as `{name}`")


@given(st.sampled_from(NAMES), st.data())
@settings(max_examples=200)
def test_letters_that_become_ascii_by_folding_are_seen_through(name: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(name) - 1))
    alike = [
        chr(code)
        for code in (*range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D7FF), 0x17F, 0x212A, 0x130, 0x131)
        if _plain(chr(code)) == name[position].lower()
    ]
    other = data.draw(st.sampled_from([*alike, name[position].upper()]))

    assert fold_key(name) == fold_key(name[:position] + other + name[position + 1 :])


@given(st.text(max_size=80))
@settings(max_examples=200)
def test_folding_is_stable(key: str) -> None:
    folded = fold_key(key)

    assert folded == fold_key(folded)
    assert folded == fold_key(key + "\0" + key)


def test_only_the_beginning_of_a_long_key_is_folded() -> None:
    assert fold_key("name" + "\u200b" * 1000 + "x") == "name"
    assert len(fold_key("\u0301\u0323" * 100_000)) <= 64


def test_twin_is_shown_without_what_cannot_be_seen() -> None:
    twin = twin_in_message(call(**{"na\u200bme\0" + "x" * 500: 1})) or ""

    assert twin.startswith("`na\\u{200b}me\\u{0}xxx")
    assert len(twin) < 130


@pytest.mark.parametrize("level", ["_meta", "ref", "notifications", "arguments"])
def test_members_that_are_no_objects_have_no_keys(level: str) -> None:
    assert twin_in_message(call(**{level: ["Name"]})) is None
    assert twin_in_message({"params": "Name", "method": "tools/call"}) is None
    assert twin_in_message({"params": {"Name": 1}, "method": ["tools/call"]}) is None


def _plain(character: str) -> str:
    if character in "\u0130\u0131":
        return "i"
    return unicodedata.normalize("NFKC", character).casefold()
