"""Reads tests/cases/redaction: values with secrets, and honest ones.

No line holds a credential: `<alnum:36>` stands for 36 letters and digits, always the same ones, and
`{"encode": "base64", "text": …}` for the encoded text, which then is a secret itself. A list with
such a part is one string.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "cases" / "redaction"
_MIXED = "Q9zM2xW7qX1wK6kL4mP8vV3tT0pR5rN9nB2bC7hH1cD6dF4fS8sJ3jG0gZ5yY9aA2z"
_ALPHABETS = {
    "alnum": _MIXED,
    "word": _MIXED[:40] + "_" + _MIXED[40:] + "-",
    "base": _MIXED[:25] + "/" + _MIXED[25:] + "+",
    "upper": "Q7K2X5M3V4Z6T2P7W2N5B3R4H6D2J7G2F5C3Y4S6L2A7",
    "hex": "7f3a9c05e1b8d246",
    "hexup": "7F3A9C05E1B8D246",
    "digits": "7159302846",
}
_PLACEHOLDER = re.compile(r"<(alnum|word|base|upper|hex|hexup|digits):([0-9]+)>|<uuid>")


@dataclass(frozen=True)
class Case:
    id: str
    why: str
    value: Any
    secrets: tuple[str, ...]
    keeps: tuple[str, ...]


def read_cases(name: str) -> list[Case]:
    """Give the cases of `name`.jsonl."""
    lines = (_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_case(json.loads(line)) for line in lines if line]


def _case(row: dict[str, Any]) -> Case:
    encoded: list[str] = []
    value = _expanded(row["value"], encoded)
    secrets = (*map(_filled, row.get("secrets", ())), *encoded)
    return Case(row["id"], row["why"], value, secrets, tuple(map(_filled, row.get("keeps", ()))))


def _filled(text: str) -> str:
    return _PLACEHOLDER.sub(lambda found: _sample(found[1], int(found[2])) if found[1] else _UUID, text)


_UUID = "3f2b8c1e-7d4a-4e6b-9a1f-0c2d3e4f5a6b"


def _sample(alphabet: str, length: int) -> str:
    letters = _ALPHABETS[alphabet]
    return (letters * (length // len(letters) + 1))[:length]


def _expanded(value: Any, encoded: list[str]) -> Any:
    match value:
        case str():
            return _filled(value)
        case {"encode": str(encoding), "text": text}:
            inner: list[str] = []
            encoded.append(_encoded(encoding, _expanded(text, inner)))
            return encoded[-1]
        case list() if any(isinstance(part, dict) and "encode" in part for part in value):
            return "".join(_expanded(part, encoded) for part in value)
        case list():
            return [_expanded(item, encoded) for item in value]
        case dict():
            return {_filled(key): _expanded(member, encoded) for key, member in value.items()}
        case _:
            return value


def _encoded(encoding: str, text: str) -> str:
    match encoding:
        case "base64":
            return base64.b64encode(text.encode()).decode()
        case "base64url":
            return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        case "base64percent":
            return base64.b64encode(text.encode()).decode().replace("=", "%3D")
        case "base64utf16":
            return base64.b64encode(text.encode("utf-16-le")).decode()
        case "hex":
            return text.encode().hex()
        case _:
            raise ValueError(encoding)
