"""Which names announce a secret: keys of JSON, variables, flags, headers, query parameters.

A name is split into words (`radiusSharedSecret`, `DB_PASSWORD` and `X-Api-Key` alike). The tables of
`vocabulary.py` say which words, one to three in a row, mean a secret, and which words around them say that
the value is only *about* one: `max_tokens`, `password_policy`, `token_url`.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction import vocabulary
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


class Proof(Enum):
    """What a value must look like before its name condemns it."""

    NONE = "none"
    """The name is enough."""
    CHOSEN = "chosen"
    """Letters and digits, as in a password."""
    DIGITS = "digits"
    """A short run of digits, as a PIN."""
    RANDOM = "random"
    """A random-looking string: the name has honest uses too, as `key`."""
    ISSUED = "issued"
    """The same, or a long run of hex digits: the name has honest uses too, but not for digests."""


RANDOM = frozenset({Proof.RANDOM, Proof.ISSUED})
"""Of names that tell least."""


@frozen
class SecretName:
    """What a name says of its value."""

    label: str
    """The NAME in `[REDACTED:NAME]`."""
    proof: Proof = Proof.NONE


_WORD = late_regex(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_ABOUT = frozenset(vocabulary.ABOUT.split())
_UNITS = frozenset(vocabulary.UNITS.split())
_KEY_KINDS = frozenset(vocabulary.KEY_KINDS.split())
_MEASURES = frozenset({"max", "min", "num", "total"})
"""Units wherever they stand before: `max_new_tokens`."""
DESCRIPTIVE = frozenset(vocabulary.DESCRIPTIVE.split())
"""Members of an object under a secret's name that only describe it."""

_SQUASHED_NAMES = tuple(vocabulary.SQUASHED.split())
_SQUASHED_ENDS = (*_SQUASHED_NAMES, "pass", "pw")
_SQUASHED = late_regex(
    rf"(.*?)({'|'.join(_SQUASHED_NAMES)}|(?<=db)pass|(?<=user)pass|(?<=smtp)pass|(?<=ftp)pass|(?<=ssh)pass"
    r"|(?<=root)pw|(?<=bind)pw|(?<=admin)pw|(?<=user)pw|(?<=db)pw|(?<=become)pass|(?<=store)pass|(?<=key)pass)",
    re.DOTALL,
)
"""Names written without any sign of their words, as `dbpassword`."""
_INVISIBLE = late_regex("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_LATIN = late_regex("[A-Za-z]")
_ALIKE = str.maketrans("аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХІЈЅοανρικυɑɡı", "aeopcyxijsdhlqwABEKMHOPCTXIJSoavpikuagi")
"""Letters of Cyrillic and Greek that pass for Latin ones in `pаssword`."""
HEADERS = frozenset({"authorization", "cookie", "cookies"})
"""Labels of names whose value has a form of its own, unless they say more: `cookie_secret`."""
_LONGEST_PHRASE = 3
_LONGEST_PART = 128


@cache
def _phrases() -> Mapping[tuple[str, ...], SecretName]:
    """Give the words that mean a secret in a row; made when a name is first asked about."""
    sorts = (
        (vocabulary.CERTAIN, Proof.NONE),
        (vocabulary.CHOSEN, Proof.CHOSEN),
        (vocabulary.DIGITS, Proof.DIGITS),
        (vocabulary.RANDOM, Proof.RANDOM),
        (vocabulary.ISSUED, Proof.ISSUED),
    )
    phrases = {
        tuple(phrase.split("/")): SecretName(phrase.replace("/", "-"), proof)
        for written, proof in sorts
        for phrase in written.split()
    }
    phrases |= {tuple(_WORD.findall(word)): SecretName("password") for word in vocabulary.PASSWORDS.split()}
    phrases |= {(word,): SecretName("password", Proof.CHOSEN) for word in vocabulary.AMBIGUOUS.split()}
    return phrases | {(owner, "pass"): SecretName("password") for owner in vocabulary.OWNERS.split()}


@cache
def _first_words() -> frozenset[str]:
    return frozenset(phrase[0] for phrase in _phrases())


def classify(name: str) -> SecretName | None:
    """Give what the name says of its value; None when it announces no secret."""
    if len(name) > 2 * _LONGEST_PART:
        name = f"{name[:_LONGEST_PART]} {name[-_LONGEST_PART:]}"
    if not name.isascii():
        name = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
        if _LATIN.search(name):
            name = as_latin(name)
    words = [word.lower() for word in _WORD.findall(name)]
    found = _phrase(words)
    if found is None or found.proof in RANDOM:
        return _squashed(words) or found
    return found


def as_latin(text: str) -> str:
    """Give a text with Latin letters for those that are styled or only look like them."""
    return unicodedata.normalize("NFKC", text).translate(_ALIKE)


def _phrase(words: list[str]) -> SecretName | None:
    """Give the most certain of all secrets that the words name."""
    if _first_words().isdisjoint(words):
        return None
    best = None
    for start in (at for at, word in enumerate(words) if word in _first_words()):
        for end in range(start + 1, min(start + _LONGEST_PHRASE, len(words)) + 1):
            found = _phrases().get(tuple(words[start:end]))
            if found is None or _is_about(words, end) or _is_qualified(words, start):
                continue
            if found.proof is Proof.NONE and found.label not in HEADERS:
                return found
            if best is not None and best.label in HEADERS:
                continue
            best = found if best is None or found.label in HEADERS or best.proof in RANDOM else best
    return best


def _is_about(words: list[str], end: int) -> bool:
    return end < len(words) and (words[end] in _ABOUT or words[-1] in _ABOUT)


def _is_qualified(words: list[str], start: int) -> bool:
    if start == 0:
        return False
    if words[start] in {"key", "keys"}:
        return words[start - 1] in _KEY_KINDS
    if words[start] not in {"token", "tokens"}:
        return False
    return words[start - 1] in _UNITS or not _MEASURES.isdisjoint(words[:start])


def _squashed(words: list[str]) -> SecretName | None:
    for index, word in enumerate(words):
        found = _SQUASHED.fullmatch(word) if word.endswith(_SQUASHED_ENDS) else None
        if found is None or (word,) in _phrases() or _is_about(words, index + 1):
            continue
        if not (
            found[2].startswith("token") and (found[1] in _UNITS or _is_qualified([found[1], "token"], 1))
        ):
            return SecretName(found[2])
    if len(words) == 1:
        return None
    whole = "".join(words)
    if _is_scattered(words) and (found := _SQUASHED.fullmatch(whole)):
        return SecretName(found[2])
    return next((SecretName(ending) for ending in ("apikey", "apikeys") if whole.endswith(ending)), None)


def _is_scattered(words: list[str]) -> bool:
    """Whether capitals stand anywhere, as in `PaSsWoRd`, so that the words are none."""
    return len(words) > 2 and all(len(word) <= 2 for word in words)
