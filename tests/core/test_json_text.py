from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.core import json_text
from agentfence.core.errors import ProtocolViolation
from agentfence.core.json_text import harmless_line, parse_json

WIRE = Path(__file__).parent.parent / "cases" / "wire"
TEXTS = yaml.safe_load((WIRE / "reader_text.yaml").read_text("utf-8"))
LINES = yaml.safe_load((WIRE / "reader_lines.yaml").read_text("utf-8"))
PIECES = [
    *(b'{ } [ ] : , " \\ 1 - . e E+ 0 "a" "\\u0061" "A" true null NaN 1e999 12345 \\" \\\\'.split()),
    *(b'"\\ud83d" "\\ud83d\\ude00" "\\udc00" \xc3\xa9 \xff \xe2\x80\xa8 "a":1 ,"a":2 [[ ]] {"a":'.split()),
    *(b" ", b"\r", b"\n", b"\t", b"\x00", b"\x1e", b"\xef\xbb\xbf"),
]

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)
texts = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


def bytes_of(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "build" in case:
        build = case["build"]
        return (build["before"] + build["repeat"] * build["count"] + build["after"]).encode()
    return case["text"].encode()


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case["id"])
def test_text_is_read_or_refused_with_its_reason(case: dict[str, Any]) -> None:
    text = bytes_of(case)

    if case.get("value"):
        assert spelled(json.loads(text)) == spelled(parse_json(text))
        return
    with pytest.raises(ProtocolViolation) as caught:
        parse_json(text)

    assert caught.value.code == -32700
    assert case["problem"] in str(caught.value)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def test_a_quarter_of_the_texts_is_honest() -> None:
    honest = [case for case in TEXTS if case.get("value")]

    assert len(honest) * 4 >= len(TEXTS)


def test_refusal_names_the_place() -> None:
    with pytest.raises(ProtocolViolation, match=r'duplicate key "a" at line 2 column \d+$'):
        parse_json(b'{"a":1,\n"a":2}')


def test_refusal_shows_a_part_of_a_key_and_nothing_invisible() -> None:
    key = b"\\u001b[31m" + b"k" * 1000

    with pytest.raises(ProtocolViolation) as caught:
        parse_json(b'{"%b":1,"%b":2}' % (key, key))

    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 200


@given(values, st.booleans(), st.sampled_from([None, 1]))
@settings(max_examples=200)
def test_encoder_of_python_is_understood(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()

    assert spelled(value) == spelled(parse_json(text))


@given(st.from_regex(rb"\A-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?\Z"))
@settings(max_examples=200)
def test_number_has_the_value_that_python_reads(number: bytes) -> None:
    expected = outcome_by_the_book(number)

    assert expected == outcome(number)


@given(st.binary(max_size=60) | texts)
@settings(max_examples=200)
@example(b'{"a":"\\\\"},"a":1}')
@example(b'"\\ud83d\\\\\\ude00"')
def test_any_bytes_are_read_as_by_the_book_or_refused(text: bytes) -> None:
    assert outcome_by_the_book(text) == outcome(text)


@given(texts | values.map(lambda value: json.dumps(value).encode()), st.integers(1, 6))
@settings(max_examples=200)
@example(b"[[],[]]", 3)
@example(b'["","",""]', 3)
@example(b'[{"a":[ ]}]', 2)
@example(b"[1,22,333]", 3)
@example(b"[false,1e400]", 5)
@example(b'[null,false,"\\u00e9 \\"fe\\\\",1e5]', 5)
def test_limits_hold_to_the_last_value(text: bytes, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MAX_DEPTH", "MAX_VALUES", "MAX_NUMBER_LENGTH"):
            patch.setattr(json_text, name, limit)
        patch.setattr(json_text, "_FEW_STRINGS", limit - 3)

        assert outcome_by_the_book(text) == outcome(text)


@given(values, st.data())
@settings(max_examples=100)
def test_cut_text_is_no_other_text(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value).encode()
    cut = text[: data.draw(st.integers(0, len(text)))]

    assert outcome_by_the_book(cut) == outcome(cut)


@pytest.mark.parametrize("case", LINES, ids=lambda case: case["id"])
def test_line_is_made_harmless(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
    harmless = harmless_line(raw)

    assert case["expected"].encode() == harmless
    assert json.loads(raw) == json.loads(harmless)
    assert (harmless is raw) is case.get("untouched", False)


@given(values, st.sampled_from([None, 1]))
@settings(max_examples=100)
@example({"\u2028": "\u2029\x85"}, 1)
def test_harmless_line_is_one_line_to_everybody_and_means_the_same(value: Any, indent: int | None) -> None:
    raw = json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8").replace(b"\n", b"\r\n")
    line = harmless_line(raw)

    assert spelled(value) == spelled(json.loads(line))
    assert len(line.decode().splitlines()) == 1
    assert line is harmless_line(line)


def outcome(text: bytes) -> str | None:
    try:
        return spelled(parse_json(text))
    except ProtocolViolation:
        return None


def outcome_by_the_book(text: bytes) -> str | None:
    """Give what the slow way gives: Python's reader with every rule as a hook."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_without_duplicates,
        parse_int=lambda token: int(_short(token)),
        parse_float=lambda token: _finite(float(_short(token))),
        parse_constant=_refuse,
    )
    try:
        value = decoder.decode(text.decode())
        _measure(value)
    except ValueError:
        return None
    return spelled(value)


def spelled(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _refuse(token: str) -> None:
    raise ValueError(token)


def _short(token: str) -> str:
    if len(token) > json_text.MAX_NUMBER_LENGTH:
        raise ValueError(token)
    return token


def _finite(number: float) -> float:
    if number in (float("inf"), float("-inf")):
        raise ValueError(number)
    return number


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError(pairs)
    return dict(pairs)


def _measure(value: Any) -> None:
    count, level, depth = 0, [value], 0
    while level:
        count += len(level)
        below: list[Any] = []
        for member in level:
            if isinstance(member, str):
                member.encode("utf-8")
            if isinstance(member, dict):
                "".join(member).encode("utf-8")
                below.extend(member.values())
            if isinstance(member, list):
                below.extend(member)
        depth += any(isinstance(member, list | dict) for member in level)
        level = below
    if count > json_text.MAX_VALUES or depth > json_text.MAX_DEPTH:
        raise ValueError(count)


@pytest.mark.parametrize("before", [*range(0, 130, 7)])
@pytest.mark.parametrize(
    "token", ["1" * 257, f"-{'1' * 254}.5", f"{'1' * 128}.{'1' * 128}", f"0.{'0' * 255}"]
)
def test_a_long_number_is_found_wherever_it_begins(before, token):
    text = f'["{"x" * before}",{token}]'.encode()

    with pytest.raises(ProtocolViolation, match="longer than"):
        parse_json(text)
    parse_json(text.replace(token.encode(), token[:200].encode()))
