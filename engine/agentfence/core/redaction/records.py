"""Structured values: what of a JSON value is text to look through, and what its key gives away.

A `Record` reads a value once, to gather its texts, and writes it once, with what became of them.

Invariants
- Nothing that is read is changed; the shape, booleans, nulls and all numbers but secret ones stay.
- A value nested deeper than any honest one is replaced, not walked.
"""

from __future__ import annotations

from itertools import pairwise, repeat, starmap, zip_longest
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.checks import looks_chosen, looks_issued_or_hex, looks_random
from agentfence.core.redaction.names import DESCRIPTIVE, Proof, SecretName
from agentfence.core.redaction.parameters import named_lists
from agentfence.core.redaction.spans import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentfence.core.constraints.interface import Json
    from agentfence.core.redaction.rewriting import Rewriting
    from agentfence.core.redaction.spans import Markers
    from agentfence.core.redaction.work import Work

_DEEPEST = 200
_MOST_NAMES = 10_000
"""Different keys in one value: looking at one costs some ten microseconds, and no honest call has so many."""
_SHORT = 32
_SHORT_NAME = 10
"""What looking at a name is worth; at a longer one as much as it has characters."""
_COST_OF_A_CONTAINER = 3
"""To read it and to write it."""
_COST_OF_A_SECRET = 4
_MEMBERS_A_MICROSECOND = 4
_TOO_DEEP = "[REDACTED:too-deep]"
_LONGEST_COMMAND_LINE = 256
_SMALLEST_CARD = 10**12
_LARGEST_NUMBER = 10**300
_NAMES = frozenset({"name", "key", "Name", "Key", "header", "variable", "field", "label", "Label"})
_NAME_MEMBERS = (
    *("name", "key", "Name", "Key", "header", "variable", "field", "label", "Label", "id", "k"),
    *("property", "setting", "parameter", "param", "attribute", "option", "ParameterKey", "path"),
)
"""Where a name may stand: before a value any of these, before a text, as in a file, only the ones above."""
_VALUE_MEMBERS = frozenset(
    ("value", "Value", "val", "v", "values", "ParameterValue", "new_value", "newValue", "default")
)
_TYPES = frozenset({"password", "secret", "securestring"})
"""What the `type` of a member that holds a secret may be."""
_QUESTIONS = ("question", "prompt")
_ANSWERS = frozenset({"answer", "response", "input"})
_FIELD_MEMBERS = ("selector", "element", "locator", "xpath", "target")
"""What tools for browsers and screens call the field that they type into."""
_TYPED_MEMBERS = frozenset({"value", "text", "keys"})
_TOLD_MEMBERS = frozenset({"text", "content"})
"""Where a value may stand beside a name, and a sentence about it too: it must look like a secret."""
_TELLING_MEMBERS = frozenset({"kty", "stringData"}) | _VALUE_MEMBERS | _TYPED_MEMBERS | _ANSWERS
_MANIFEST_MEMBERS = frozenset({"data", "stringData"})
"""Where a Secret of Kubernetes holds its values."""
_PROGRAMS = frozenset(
    (
        "setx",
        "vault",
        "cargo",
        "npm",
        "pnpm",
        "poetry",
        "ngrok",
        "nmcli",
        "wg",
        "net",
        "mc",
        "doctl",
        "xfreerdp",
        "rabbitmqctl",
        "redis-cli",
        "wpa_passphrase",
        "snyk",
        "dotnet",
        "db2",
    )
)
"""Programs that take a secret without an option."""
_PROGRAM_MEMBERS = ("command", "cmd", "program", "executable")
_PROGRAM = late_regex(r"[A-Za-z0-9_./\\:-]{1,200}")
_ARGUMENT_MEMBERS = frozenset({"args", "arguments", "argv"})
"""Where tools take a command and its words apart: `{"command": "mysql", "args": ["-p…"]}`."""
_FIELD_WORDS = late_regex(r"(?i)\b(?:form|text|input|entry)?[ _-]?(?:field|box|input|textbox)s?\b")
_JWK_MEMBERS = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
_PRIVATE_KEY = SecretName("private-key")
_SECRET = SecretName("secret")
_DIGITS = late_regex(r"\d[\d -]{1,21}\d")
_NAME = late_regex(r"[^\W\d_][\w-]*[:=]?")
_FIELDS = frozenset({"authorization", "cookie"})
"""Header fields without a hyphen."""
_SHORTEST_RANDOM = 12
_PAIR = 2
_MOST_WORDS = 32
_HONEST_PLURALS = frozenset({"keys", "pins"})
"""Doubtful names of which lists hold the names of objects, or their numbers."""
_NO_SECRETS = repeat(None)


class Record:
    """One value on its way through the redactor."""

    __slots__ = ("_classify", "_markers", "_names", "_work", "hidden", "is_touched", "texts")

    def __init__(self, classify: Callable[[str], SecretName | None], markers: Markers, work: Work) -> None:
        """Take what tells of a key whether it announces a secret, what was redacted before, and the work."""
        self._classify = classify
        self._markers = markers
        self._work = work
        self.texts: list[str] = []
        """Every text of the value that must be looked through."""
        self.hidden: dict[str, str] = {}
        """What only a key condemns, as text, with the key's label."""
        self._names: set[str] = set()
        self.is_touched = False
        """Whether something must be replaced that is in no text."""

    @property
    def is_unread(self) -> bool:
        """Whether the value has too many keys to be read, so that nothing of it may be shown."""
        return self._work.is_done or len(self._names) > _MOST_NAMES

    def read(self, value: Json, secret: SecretName | None = None, depth: int = 0) -> None:
        """Gather the texts of `value`; `secret` is what its key says of it."""
        if isinstance(value, str):
            if secret and self._is_secret(value, secret):
                self._hide(value, secret)
            else:
                self.texts.append(value)
        elif isinstance(value, (int, float)):
            if not isinstance(value, bool):
                self._read_number(value, secret)
        elif depth >= _DEEPEST:
            self.is_touched = self.is_touched or value is not None
        elif isinstance(value, dict):
            self._read_object(value, secret, depth + 1)
        elif isinstance(value, list):
            self._read_list(value, secret, depth + 1)

    def _read_object(self, value: dict[str, Json], secret: SecretName | None, depth: int) -> None:
        self._take_names(value)
        self._work.spend(_COST_OF_A_CONTAINER + len(value) // _MEMBERS_A_MICROSECOND)
        if self.is_unread:
            return
        self.texts.extend(value)
        rule = self._rule_of_members(value, secret)
        program = _program(value)
        named = self._named_lists(value)
        for key, member in value.items():
            its_secret = rule(key)
            if key in named and isinstance(member, list) and its_secret is None:
                self._read_named(member, named[key], depth)
            elif program and key in _ARGUMENT_MEMBERS and isinstance(member, list):
                self._read_list(member, its_secret, depth, program)
            elif program and key in _ARGUMENT_MEMBERS and isinstance(member, str):
                self.texts += (member, f"{program} {member}")
            elif its_secret is None and isinstance(member, str):
                self.texts.append(member)  # most members are this: no call for them
            else:
                self.read(member, its_secret, depth)

    def _read_list(self, value: list[Json], secret: SecretName | None, depth: int, program: str = "") -> None:
        if not self._work.spend(_COST_OF_A_CONTAINER + len(value) // _MEMBERS_A_MICROSECOND):
            return
        words = command_line([program, *value] if program else value)
        if words:
            self.texts.append(" ".join(words))
        for item, its_secret in zip(value, self._secrets_of_items(value, secret), strict=False):
            if its_secret is None and isinstance(item, str):
                self.texts.append(item)
            else:
                self.read(item, its_secret, depth)

    def _named_lists(self, value: dict[str, Json]) -> dict[str, list[SecretName | None]]:
        """Give the lists whose items have names elsewhere, where a name announces a secret."""
        if not any(isinstance(member, list) for member in value.values()):
            return {}
        found = {key: [*map(self._classify, names)] for key, names in named_lists(value).items()}
        return {key: secrets for key, secrets in found.items() if any(secrets)}

    def _read_named(self, value: list[Json], secrets: list[SecretName | None], depth: int) -> None:
        self._work.spend(_COST_OF_A_CONTAINER + len(value) // _MEMBERS_A_MICROSECOND)
        for item, secret in zip_longest(value, secrets[: len(value)]):
            if isinstance(item, list) and depth < _DEEPEST:
                self._read_named(item, secrets, depth + 1)
            else:
                self.read(item, secret, depth)

    def _write_named(
        self, value: list[Json], rewriting: Rewriting, secrets: list[SecretName | None], depth: int
    ) -> list[Json]:
        return [
            self._write_named(item, rewriting, secrets, depth + 1)
            if isinstance(item, list) and depth < _DEEPEST
            else self.write(item, rewriting, secret, depth + 1)
            for item, secret in zip_longest(value, secrets[: len(value)])
        ]

    def _take_names(self, names: Iterable[str]) -> None:
        if self._names.issuperset(names):
            return
        new = [name for name in names if name not in self._names]
        self._names.update(new)
        self._work.spend(sum(_SHORT_NAME if len(name) <= _SHORT else len(name) for name in new))

    def _read_number(self, value: float, secret: SecretName | None) -> None:
        if secret and self._is_secret(value, secret):
            self._hide(value, secret)
        elif value >= _SMALLEST_CARD:
            self.texts.append(_spelled(value))

    def _is_secret(self, value: str | float, secret: SecretName) -> bool:
        """Whether a value is what its key says it is."""
        text = self._markers.strip(_spelled(value))
        match secret.proof:
            case Proof.CHOSEN:
                return isinstance(value, str) and " " not in text and looks_chosen(encode(text))
            case Proof.DIGITS:
                return _DIGITS.fullmatch(text) is not None
            case Proof.ISSUED:
                return len(text) >= _SHORTEST_RANDOM and looks_issued_or_hex(encode(text))
            case Proof.RANDOM:
                return len(text) >= _SHORTEST_RANDOM and looks_random(encode(text))
            case Proof.NONE:
                return not isinstance(value, str) or bool(text.strip())

    def _hide(self, value: str | float, secret: SecretName) -> None:
        self._work.spend(_COST_OF_A_SECRET)
        self.hidden[_spelled(value)] = secret.label
        self.is_touched = True

    def write(
        self, value: Json, rewriting: Rewriting, secret: SecretName | None = None, depth: int = 0
    ) -> Json:
        """Give the value without its secrets."""
        match value:
            case None | bool():
                return value
            case dict() | list() if depth >= _DEEPEST:
                return _TOO_DEEP
            case dict():
                return self._write_object(value, rewriting, secret, depth)
            case list():
                return self._write_list(value, rewriting, secret, depth)
            case _ if secret and self._is_secret(value, secret):
                return f"[REDACTED:{secret.label}]"
            case str():
                return rewriting.text(value)
            case _ if value >= _SMALLEST_CARD:
                shown = rewriting.text(_spelled(value))
                return value if shown == _spelled(value) else shown
            case _:
                return value

    def _write_object(
        self, value: dict[str, Json], rewriting: Rewriting, secret: SecretName | None, depth: int
    ) -> dict[str, Json]:
        rule = self._rule_of_members(value, secret)
        program = _program(value)
        named = self._named_lists(value)
        written: dict[str, Json] = {}
        alike: dict[str, int] = {}
        for key, member in value.items():
            shown = text = rewriting.text(key)
            while shown in written:  # two keys may look alike once redacted, and neither may vanish
                number = alike[text] = alike.get(text, 0) + 1
                shown = f"{text}'{number if number > 1 else ''}"
            secret = rule(key)
            if shown != key:  # what is left of the key may be a name of its own
                secret = _stricter(secret, rule(shown))
            if key in named and isinstance(member, list) and secret is None:
                written[shown] = self._write_named(member, rewriting, named[key], depth + 1)
            elif program and key in _ARGUMENT_MEMBERS and isinstance(member, list) and depth + 1 < _DEEPEST:
                written[shown] = self._write_list(member, rewriting, secret, depth + 1, program)
            elif program and key in _ARGUMENT_MEMBERS and isinstance(member, str):
                line = rewriting.text(f"{program} {member}")
                is_told = line.startswith(f"{program} ")
                written[shown] = line.removeprefix(f"{program} ") if is_told else rewriting.text(member)
            else:
                written[shown] = self.write(member, rewriting, secret, depth + 1)
            if shown != key and not isinstance(member, (dict, list)):
                written[shown] = self.write(written[shown], rewriting, rule(shown), depth + 1)
        return written

    def _write_list(
        self,
        value: list[Json],
        rewriting: Rewriting,
        secret: SecretName | None,
        depth: int,
        program: str = "",
    ) -> list[Json]:
        words = command_line([program, *value] if program else value)
        items: list[Json] = [*rewriting.command_line(words)] if words else value
        if words and program:
            del items[0]
        secrets = self._secrets_of_items(value, secret)
        return [
            self.write(item, rewriting, its, depth + 1) for item, its in zip(items, secrets, strict=False)
        ]

    def _rule_of_members(
        self, value: dict[str, Json], secret: SecretName | None
    ) -> Callable[[str], SecretName | None]:
        """Give what tells of each key of an object whether its member is a secret."""
        if secret and secret.proof is Proof.NONE:
            return lambda key: None if key in DESCRIPTIVE else secret
        if not members_tell(value):
            return self._classify
        if "kty" in value:
            return lambda key: _PRIVATE_KEY if key in _JWK_MEMBERS else self._classify(key)
        if value.get("kind") == "Secret":
            return lambda key: _SECRET if key in _MANIFEST_MEMBERS else self._classify(key)
        named = None if _VALUE_MEMBERS.isdisjoint(value) else self._named_member(value)
        if named:
            return lambda key: named if key in _VALUE_MEMBERS else self._classify(key)
        told = None
        if not _TOLD_MEMBERS.isdisjoint(value):
            told = _SECRET if _is_typed_secret(value) else self._named_by(value, _NAMES)
        if told:
            chosen = SecretName(told.label, Proof.CHOSEN)
            return lambda key: chosen if key in _TOLD_MEMBERS else self._classify(key)
        asked = None if _ANSWERS.isdisjoint(value) else self._named_by(value, _QUESTIONS)
        if asked:
            answer = SecretName(asked.label, Proof.CHOSEN if asked.proof is Proof.NONE else asked.proof)
            return lambda key: answer if key in _ANSWERS else self._classify(key)
        typed = None if _TYPED_MEMBERS.isdisjoint(value) else self._named_field(value)
        if typed:
            return lambda key: typed if key in _TYPED_MEMBERS else self._classify(key)
        return self._classify

    def _named_member(self, value: dict[str, Json]) -> SecretName | None:
        """Give what `{"name": "DB_PASSWORD", "value": …}` says of its value."""
        return _SECRET if _is_typed_secret(value) else self._named_by(value, _NAME_MEMBERS)

    def _named_by(self, value: dict[str, Json], members: Iterable[str]) -> SecretName | None:
        """Give what the first name that announces a secret says."""
        names = [
            name.rpartition("/")[2] if member == "path" else name
            for member in members
            if isinstance(name := value.get(member), str)
        ]
        self._take_names(names)
        self._work.spend(_COST_OF_A_SECRET)
        return next((found for name in names if (found := self._classify(name))), None)

    def _named_field(self, value: dict[str, Json]) -> SecretName | None:
        """Give what `{"selector": "#password", "text": …}` says of what is typed."""
        names = [value.get(member) for member in _FIELD_MEMBERS]
        if "by" in value and "text" in value:  # Selenium's way to name a field
            names.append(value.get("value"))
        texts = [_FIELD_WORDS.sub(" ", name) for name in names if isinstance(name, str)]
        self._take_names(texts)
        return next((found for text in texts if (found := self._classify(text))), None)

    def _secrets_of_items(self, value: list[Json], secret: SecretName | None) -> Iterable[SecretName | None]:
        if secret and secret.label not in _HONEST_PLURALS:
            return repeat(secret)
        if _PAIR < len(value) <= _MOST_WORDS:
            return [None, *starmap(self._word_behind, pairwise(value))]
        if len(value) != _PAIR:
            return _NO_SECRETS
        match value:
            case [str(name), str(text)] if _is_pair(name, text):
                self._take_names((name,))
                return (None, self._classify(name))
            case _:
                return _NO_SECRETS

    def _word_behind(self, name: Json, value: Json) -> SecretName | None:
        """Give what a word of a list says of the next, as in `["aws", "configure", "set", "api_key", …]`."""
        if not (isinstance(name, str) and isinstance(value, str)) or len(value) < _SHORTEST_RANDOM:
            return None
        if not looks_random(encode(value)) or not _NAME.fullmatch(name):
            return None
        self._take_names((name,))
        secret = self._classify(name)
        return secret and SecretName(secret.label, Proof.RANDOM)


def members_tell(value: dict[str, Json]) -> bool:
    """Whether members of an object may say what another one is."""
    if not _TELLING_MEMBERS.isdisjoint(value):
        return True
    if not _ARGUMENT_MEMBERS.isdisjoint(value) and _program(value):
        return True
    return ("content" in value and not _NAMES.isdisjoint(value)) or value.get("kind") == "Secret"


def _is_typed_secret(value: dict[str, Json]) -> bool:
    """Whether an object says that what it holds is a secret, as fields of forms do."""
    kind = value.get("type") or value.get("Type")
    return isinstance(kind, str) and kind.lower() in _TYPES


def _program(value: dict[str, Json]) -> str:
    """Give the program whose words another member holds; nothing where none does."""
    if _ARGUMENT_MEMBERS.isdisjoint(value):
        return ""
    names = (name for member in _PROGRAM_MEMBERS if isinstance(name := value.get(member), str))
    return next((name for name in names if _PROGRAM.fullmatch(name)), "")


def _stricter(first: SecretName | None, second: SecretName | None) -> SecretName | None:
    """Give what hides more of two sayings of a value."""
    if first is None or (second is not None and second.proof is Proof.NONE):
        return second
    return first


def _spelled(value: str | float) -> str:
    """Give a value as text; a number that no reader lets in as none."""
    return value if isinstance(value, str) else str(value) if abs(value) < _LARGEST_NUMBER else ""


def _is_pair(name: str, text: str) -> bool:
    """Whether a list of two is a header field or the like, not two of a kind."""
    is_field = "-" in name or name.lower() in _FIELDS
    return _NAME.fullmatch(name) is not None and (is_field or looks_chosen(encode(text)))


def command_line(value: list[Json]) -> list[str] | None:
    """Give the list as words of a command, when it looks like one: all strings, and an option among them."""
    if not 1 < len(value) <= _LONGEST_COMMAND_LINE or not isinstance(value[0], str):
        return None
    words = [word for word in value if isinstance(word, str)]
    is_command = value[0] in _PROGRAMS or any(word.startswith("-") for word in words)
    return words if len(words) == len(value) and is_command else None
