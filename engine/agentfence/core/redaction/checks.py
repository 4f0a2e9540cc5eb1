"""Second looks at what a pattern found: a card number, a credential, a random string or not."""

from __future__ import annotations

import binascii
import re

from agentfence.core.late_regex import late_regex

_ISSUERS = late_regex(
    rb"4\d{12}(?:\d{3})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    rb"|4\d{18}|220[0-4]\d{12}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}|(?:50[1-9]\d|56[0-9]\d|67[0-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}"
)
_GROUPED = late_regex(rb"\d+|\d{4}(\D+)\d{4}\1\d{4}\1\d{4}|\d{4}(\D+)\d{6}\2\d{4,5}")
_DIGIT = late_regex(rb"\d")
_CASES = (late_regex(rb"[a-z]"), late_regex(rb"[A-Z]"), _DIGIT)
_TURN = late_regex(rb"[A-Za-z](?=[^A-Za-z0-9]{0,2}\d)|\d(?=[^A-Za-z0-9]{0,2}[A-Za-z])")
_LETTER = late_regex(rb"[A-Za-z\x80-\xff]")
_WORDLIKE = late_regex(rb"[A-Za-z0-9\x80-\xff]")
_TECHNICAL = late_regex(
    rb"(?i)(?:sha|base|utf|md|rs|hs|es|ps|aes|rsa|ed|argon|oauth|ipv|v|x|http|socks|python|gpt)[-_]?\d.*"
    rb"|0x[0-9a-f]{1,40}"
)
_PUBLISHABLE = late_regex(rb"(?i)(?:[a-z0-9-]+_)*[nrt]?(?:pk|pub|public|publishable)[_-]")
"""An escaped line end may be glued to it: `\\npk_live_…`."""
_HEX = late_regex(rb"[0-9a-fA-F]{32,}")
_REFERENCE = late_regex(
    rb"\$\{[A-Za-z_][A-Za-z0-9_.]*\}|\$[A-Z_][A-Z0-9_]*|\$[a-z_]*(?:pass|pwd|token|secret|key)[a-z_]*|\$\([^()]*\)"
    rb"|\{\{[^{}]*\}\}|\{[A-Za-z_][A-Za-z_.]*\}|%[sdv]|%[A-Z_]+%|[*xX.]{3,}|PASS|PASSWORD|PWD|SECRET|TOKEN"
)
_VARIABLE = late_regex(
    rb"[-\\].*|\$[A-Za-z_]*|\$[A-Z0-9_@*#]+|\$[{(\[].*|%[A-Za-z_]+%|%[sd(].*|<[^<>]*>?|\{\{.*|\{[A-Za-z_.]*\}?|\*+",
    re.DOTALL,
)
_SECRET_WORD = late_regex(rb"(?i)securestring|passw|secret|token|api[_-]?key")
_UNFILLED = late_regex(rb"(?:[A-Za-z]{1,8}[0-9]{0,2}[_-]){0,3}(?:x{6,}|X{6,}|\*{6,})")
_MANY_TURNS = 4
_USER = late_regex(rb"""(?:\A|[\s"'`=(,\[{>|/;\f])([A-Za-z0-9._%+-]{1,40}):\Z""")
_LABELS_WITH_PORT = frozenset(b"sip sips xmpp jid http https tcp udp image digest".split())
_LABELS = _LABELS_WITH_PORT | frozenset(
    b"""
    mailto email e-mail mail from to cc bcc sender recipient recipients reply-to replyto user users username
    login
    owner author committer contact acct account id message-id messageid msgid name by key git ssh svn npm uid
    read write subscribe notify maintainer assignee reviewer support attendee organizer invitee member actor
    principal subject upn
    """.split()
)
"""What stands before an address of mail, and is no user."""


def is_card(digits: bytes) -> bool:
    """Whether this is a card number: grouped as cards are, of a known issuer, with the right check digit."""
    if not _GROUPED.fullmatch(digits):
        return False
    plain = re.sub(rb"\D", b"", digits)
    return _ISSUERS.fullmatch(plain) is not None and _luhn(plain)


def _luhn(digits: bytes) -> bool:
    doubled = (sum(divmod(2 * (digit - 48), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(digit - 48 for digit in digits[::-2])) % 10 == 0


def is_given(password: bytes) -> bool:
    """Whether what stands for a password on a command line is one: no variable, template or bracket."""
    return _VARIABLE.fullmatch(password.rstrip(b"\\")) is None and _WORDLIKE.search(password) is not None


def is_given_in_place(value: bytes) -> bool:
    """Whether the same is no name of a file to be read: `key=@file`."""
    return is_given(value) and not value.startswith(b"@")


def is_no_reference(password: bytes) -> bool:
    """Whether what stands for a password in a URL is one: no variable, and nothing to be filled in."""
    return _REFERENCE.fullmatch(password) is None


def has_digit(text: bytes) -> bool:
    """Whether a digit is in it, as in nearly every generated token and in few words."""
    return _DIGIT.search(text) is not None


def looks_random(text: bytes) -> bool:
    """Whether letters of both cases and digits alternate as in no word, number, UUID or hash."""
    return is_mixed(text) and alternates(text)


def looks_issued_or_hex(text: bytes) -> bool:
    """Whether this is random as above, or a run of hex digits as long as the ids of sessions are."""
    return looks_random(text) or _HEX.fullmatch(text) is not None


def is_mixed(text: bytes) -> bool:
    """Whether letters of both cases and a digit are in it."""
    return all(case.search(text) for case in _CASES)


def alternates(text: bytes) -> bool:
    """Whether letters and digits take turns as in generated text."""
    return len(_TURN.findall(text)) >= _MANY_TURNS


def is_not_publishable(text: bytes) -> bool:
    """Whether this is no key that is made to be shown, as `pk_live_…` in every shop's page."""
    return _PUBLISHABLE.match(text) is None


def looks_issued(text: bytes) -> bool:
    """Whether this is a token that some service made, and not one to be shown."""
    return looks_random(text) and is_not_publishable(text)


def is_filled_in(token: bytes) -> bool:
    """Whether this is more than the look of a token: `ghp_xxxxxxxx` is none."""
    return _UNFILLED.fullmatch(token) is None


def looks_chosen(text: bytes) -> bool:
    """Whether this may be a password in a sentence: letters and digits, and no technical term."""
    return has_digit(text) and _LETTER.search(text) is not None and not _TECHNICAL.fullmatch(text)


def ends_with_user(before: bytes) -> bool:
    """Whether this ends with a user and a colon, as `bob:` before a password."""
    user = _USER.search(before)
    return user is not None and user[1].lower() not in _LABELS_WITH_PORT


def ends_with_user_of_mail(before: bytes) -> bool:
    """Do the same where an address of mail may follow, as behind many a label: `cc:bob1@h.example`."""
    user = _USER.search(before)
    return user is not None and user[1].lower() not in _LABELS


def names_secret(before: bytes) -> bool:
    """Whether a word for a secret is in what stands before a value."""
    return _SECRET_WORD.search(before) is not None


def is_basic_credential(text: bytes) -> bool:
    """Whether this is base64 of `user:password`."""
    plain = decode_base64(text)
    return b":" in plain and plain.isascii() and plain.decode().isprintable()


def decode_base64(text: bytes) -> bytes:
    """Give the bytes that standard or URL-safe base64 stands for; a ragged end is dropped."""
    digits = text.translate(_STANDARD, b"=\r\n")
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


_STANDARD = bytes.maketrans(b"-_", b"+/")
