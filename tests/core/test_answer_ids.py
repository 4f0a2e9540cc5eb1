from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.answer_ids import answered_ids

LONG = b'"' + b"x" * 9_000 + b'"'


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        # readable, and yet no message
        (b'{"jsonrpc":"2.0","id":1,"result":{},"params":{}}', [1]),
        (b'[{"id":1,"result":{}},{"id":"b","error":{}}]', [1, "b"]),
        (b'{"id":1,"method":"x","params":[]}', []),
        (b'[{"id":1,"method":"x"},{"id":2,"result":1}]', [2]),
        (b'{"result":{}}', None),
        (b'{"id":null,"result":{}}', None),
        (b'[{"id":1,"result":{}},{"result":{}}]', None),
        (b"[]", []),
        (b'{"jsonrpc":"2.0","id":1.0,"result":{}}', [1]),
        (b'{"jsonrpc":"2.0","id":1e300,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', None),
        (b'"text"', []),
        # no strict JSON
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', [1]),
        (b'{"id" : "x" , "result":NaN}', ["x"]),
        (b'{"id":1,"jsonrpc":"2.0","result":NaN}', [1]),
        (b'{"result":{"id":7,"x":NaN},"jsonrpc":"2.0","id":1}', [1]),
        (b'{"result":NaN,"id":1,"jsonrpc":"2.0"}\n', [1]),
        (b'{"result":NaN,"id":-1}', [-1]),
        (b'{"jsonrpc":"2.0","result":{"a":NaN,"b":{"id":7}}}', None),
        (b'{"jsonrpc":"2.0","result":{"id":7,"x":NaN}}', None),
        (b'{"jsonrpc":"2.0","result":"\\"id\\":7,NaN', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', []),
        (b'{"method":"x","params":NaN,"jsonrpc":"2.0","id":1}', []),
        (b'{"jsonrpc":"2.0","id":1.5,"result":NaN}', None),
        (b'[{"id":1,"result":NaN}]', None),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{}}', [1]),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"x"}', []),
        (b'{"jsonrpc":"2.0","id":1.0,"result":NaN}', [1]),
        (b'{"result":NaN,"id":1.0}', [1]),
        (b"plain text", []),
        (b"\xff\xfe", []),
        (b"", None),
        # the ends of what was too long
        (b'{"jsonrpc":"2.0","id":1,"result":' + LONG[:4_096], [1]),
        (b'{"result":' + LONG[:4_000] + LONG[-4_000:] + b',"jsonrpc":"2.0","id":"x"}', ["x"]),
        (b'{"result":' + LONG[:4_000] + LONG[-4_000:] + b"}", None),
    ],
)
def test_answer_names_its_call_where_all_readers_look(body: bytes, ids: list[object] | None) -> None:
    assert answered_ids(body) == ids


@given(st.binary(max_size=40) | st.text(alphabet='{}[]",:id1x\\ NaN', max_size=40).map(str.encode))
def test_any_bytes_give_ids_or_nothing(body: bytes) -> None:
    ids = answered_ids(body)

    assert ids is None or all(isinstance(id_, int | str) for id_ in ids)


@given(
    st.integers(-(2**53) + 1, 2**53 - 1) | st.text(alphabet="abc-_.0", max_size=20),
    st.permutations(["jsonrpc", "id", "result"]),
)
def test_id_is_found_in_whatever_order_servers_write(id_: object, order: list[str]) -> None:
    members = {"jsonrpc": "2.0", "id": id_, "result": {"id": "other"}}
    body = json.dumps({key: members[key] for key in order}).replace('"other"', "NaN")

    expected = None if order[1] == "id" and order[0] == "result" and order[2] != "jsonrpc" else [id_]
    assert answered_ids(body.encode()) == expected
