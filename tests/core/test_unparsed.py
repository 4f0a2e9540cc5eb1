from __future__ import annotations

import pytest

from agentfence.core.unparsed import is_other_json


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        (b'{"model":"x","messages":[{"role":"user","method":"tools/call"}]}', True),
        (b"{}", True),
        (b'{"id":1,"params":{}}', True),
        (b'{"jsonrpc":"2.0"}', False),
        (b'{"Method":"tools/call"}', False),
        (b'{"m\\u0065thod":"tools/call"}', False),
        (b'{"me\\u0074hod\\u0000":"tools/call"}', False),
        (b'{"RESULT":{}}', False),
        (b'{"error":{}}', False),
        (b'[{"model":"x"}]', False),
        (b'"text"', False),
        (b'{"a":1,"a":2}', False),
        (b'\xef\xbb\xbf{"a":1}', False),
        (b"a=b", False),
        (b"", False),
    ],
)
def test_other_json_is_an_object_that_no_reader_takes_for_a_message(body: bytes, passes: bool) -> None:
    assert is_other_json(body) is passes
