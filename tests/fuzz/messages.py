"""Messages and what an attacker does to them; shared by the property tests, the fuzzer and the real servers.

Every mutation keeps the name of a denied tool somewhere in the bytes, in a way that some reader
somewhere might find.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from typing import Any

DENIED = "delete_file"
ALLOWED = "read_file"


def call(tool: str, id_: Any = 1) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"path": "a"}},
    }


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


ALLOWED_TEXT = _dumps(call(ALLOWED))
DENIED_TEXT = _dumps(call(DENIED, 2))


def _after_key(text: str, key: str, inserted: str) -> str:
    return text.replace(f'"{key}":', f'"{key}":{inserted},"{key}":', 1)


def duplicate_name(_: random.Random) -> bytes:
    return _after_key(ALLOWED_TEXT, "name", f'"{DENIED}"').encode()


def duplicate_name_last(_: random.Random) -> bytes:
    return ALLOWED_TEXT.replace(f'"name":"{ALLOWED}"', f'"name":"{ALLOWED}","name":"{DENIED}"').encode()


def duplicate_params(_: random.Random) -> bytes:
    params = _dumps(call(DENIED)["params"])
    return (ALLOWED_TEXT[:-1] + f',"params":{params}}}').encode()


def escaped_key(chance: random.Random) -> bytes:
    key = "".join(f"\\u{ord(c):04x}" if chance.random() < 0.5 else c for c in "name")
    return ALLOWED_TEXT.replace(f'"name":"{ALLOWED}"', f'"name":"{ALLOWED}","{key}":"{DENIED}"').encode()


def folded_key(chance: random.Random) -> bytes:
    key = chance.choice(
        ["Name", "NAME", "n\u0061me ", "name\\u0000", "\uff4eame", "na\u00adme", "params", "Params"]
    )
    value = _dumps(call(DENIED)["params"]) if key.lower() == "params" else f'"{DENIED}"'
    return ALLOWED_TEXT.replace('"params":{', f'"{key}":{value},"params":{{', 1).encode()


def escaped_value(chance: random.Random) -> bytes:
    name = "".join(f"\\u{ord(c):04x}" if chance.random() < 0.5 else c for c in DENIED)
    return ALLOWED_TEXT.replace(ALLOWED, name).encode()


def other_kind(chance: random.Random) -> bytes:
    return (
        DENIED_TEXT[:-1]
        + chance.choice([',"result":{}}', ',"error":{"code":1,"message":""}}', ',"result":null}'])
    ).encode()


def hidden_line(chance: random.Random) -> bytes:
    end = chance.choice(["\r", "\n", "\r\n", "\u2028", "\u0085", "\x0b", "\x0c", "\x1e"])
    return f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{end}{DENIED_TEXT}{end}}}}}'.encode()


def two_values(chance: random.Random) -> bytes:
    return (ALLOWED_TEXT + chance.choice([" ", "\n", "\r", ",", "", "\x00", "\x1e"]) + DENIED_TEXT).encode()


def batch(chance: random.Random) -> bytes:
    members = [
        call(ALLOWED, 1),
        call(DENIED, 2),
        {"jsonrpc": "2.0", "method": "notifications/x"},
        1,
        None,
        [call(DENIED, 3)],
    ]
    chance.shuffle(members)
    return _dumps(members[: chance.randint(1, 6)]).encode()


def encoding(chance: random.Random) -> bytes:
    return DENIED_TEXT.encode(chance.choice(["utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig", "cp037"]))


def overlong(_: random.Random) -> bytes:
    return DENIED_TEXT.encode().replace(b"delete", b"\xc1\xa4elete", 1)


def compressed(_: random.Random) -> bytes:
    return gzip.compress(DENIED_TEXT.encode())


def odd_id(chance: random.Random) -> bytes:
    id_ = chance.choice(
        ["null", "1.0", "1e2", "true", "{}", "[1]", '""', "9007199254740993", "-0", '"\\ud800"']
    )
    return DENIED_TEXT.replace('"id":2', f'"id":{id_}').encode()


def odd_method(chance: random.Random) -> bytes:
    method = chance.choice(
        [
            "Tools/Call",
            "tools/call ",
            "tools\\/call",
            "tools/call\\n",
            "tools/\\u0063all",
            " tools/call",
            "tools.call",
        ]
    )
    return DENIED_TEXT.replace("tools/call", method).encode()


def odd_number(chance: random.Random) -> bytes:
    number = chance.choice(["NaN", "Infinity", "1e999", "0" * 300 + "1", "9" * 5000, "-", "01", "0x1"])
    return DENIED_TEXT.replace('"a"', number).encode()


def deep(chance: random.Random) -> bytes:
    depth = chance.choice([10, 127, 128, 129, 5000])
    return ALLOWED_TEXT.replace('"a"', "[" * depth + f'"{DENIED}"' + "]" * depth).encode()


def bytes_changed(chance: random.Random) -> bytes:
    octets = bytearray(chance.choice([ALLOWED_TEXT, DENIED_TEXT]).encode())
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(octets))
        match chance.randrange(3):
            case 0:
                octets[place] = chance.randrange(256)
            case 1:
                octets[place:place] = bytes([chance.randrange(256)])
            case _:
                del octets[place]
    return bytes(octets)


def plain(chance: random.Random) -> bytes:
    return chance.choice([ALLOWED_TEXT, DENIED_TEXT]).encode()


def blanks(chance: random.Random) -> bytes:
    blank = chance.choice([" ", "\t", "\r", "\n", "\r\n", "\u00a0", "\ufeff"])
    return (blank * chance.randint(1, 3) + DENIED_TEXT.replace(":", ":" + blank) + blank).encode()


Mutation = Callable[[random.Random], bytes]
MUTATIONS: tuple[Mutation, ...] = (
    batch,
    blanks,
    bytes_changed,
    compressed,
    deep,
    duplicate_name,
    duplicate_name_last,
    duplicate_params,
    encoding,
    escaped_key,
    escaped_value,
    folded_key,
    hidden_line,
    odd_id,
    odd_method,
    odd_number,
    other_kind,
    overlong,
    plain,
    two_values,
)


def message(seed: int) -> bytes:
    """The message of a seed: the same for the same seed."""
    chance = random.Random(seed)
    return MUTATIONS[seed % len(MUTATIONS)](chance)
