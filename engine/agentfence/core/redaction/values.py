"""How the value of a secret's name is read in text: how far it reaches, and whether it is one at all.

Invariant: what is read is bounded, or everything up to the end that is given is dealt with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.checks import has_digit, looks_chosen, looks_issued_or_hex, looks_random
from agentfence.core.redaction.names import DESCRIPTIVE, Proof

if TYPE_CHECKING:
    from collections.abc import Iterator


class Reading(NamedTuple):
    """What a value holds."""

    secrets: tuple[tuple[int, int], ...]
    """Where its secrets start and end."""
    end: int
    """Where to look on."""
    cost: int = 0
    """What reading it took that counts."""


_WORDS = rb"|".join(
    b"""
    a an the is are was it its this that these those your my our their his her and or not no none null nil
    true false undefined void empty required optional needed missing invalid incorrect wrong expired valid
    set unset unknown str string text int integer number float bool boolean bytes byte char varchar any
    object array list dict map type secretstr if else return for while await async new function func fn
    lambda self yield import from def class const let var raise throw print pass break continue must should
    shall can could may will would to in on of at by with as be has have had when where which who how what
    please click enter use see visit check reset choose select press go contact forgot show hide copy paste
    field value values param parameter flag option argument header here below above following before after
    only same too short long weak strong expected got hashed encrypted stored enabled disabled deprecated
    hidden masked redacted removed omitted inherit include same-origin omit read write pw pwd
    tok len public private protected
    """.split()
)
"""Words of prose, types and keywords: where one stands as a value, none is given."""
_MOST_BACKSLASHES = 64
_END = (
    rb"""(?=[\s)}\]|&>\\]|["'`](?![A-Za-z0-9])|[,;](?!\w(?![A-Za-z0-9_.-]{0,40}[:=]))"""
    rb"""|[.:?!](?:[\s"'`,;)]|\Z)|\Z)"""
)
"""The end of a word, and not only of the part of a password up to a sign."""
_CODE = (
    rb"[A-Za-z_$](?:[A-Za-z_$.]{1,120}+|\?\.|::|(?<=_)[0-9]{1,2}(?=\.)|64|256|512|(?<=[mM][dD])5|(?<=[sS][hH][aA])[123]){0,8}+"
    rb"[(\[](?:[^\n]{0,200}?[)\]]|\s*(?:\n|\Z))"
)
_PLACEHOLDER = (
    rb"(?:[A-Za-z]{2,6}[_-]){0,2}(?:[*xX.]{3,80}|\xe2\x80\xa6|(?i:your)[_-][A-Za-z_-]{2,40})"
    rb"|(?i:your(?:password|passphrase|token|secret|(?:api)?key)|n/a|tbd|todo|fixme|placeholder|(?:change|replace)[_-]me)"
    rb"|(?:\xe2\x80\xa2|\xe2\x97\x8f){3,80}|\([A-Za-z ]{3,40}\)"
)
"""What stands for a value, quoted or not: `sk-...`, `xxxx`, `your_token`, bullets, `(not set)`."""
_FILLED_IN = (
    rb"\$?\{[^\"'{}\n]{0,60}\}|\{\{[^\"'\n]{0,60}\}\}|<[^\"'<>\n]{0,60}>|%(?:\([a-z_]{1,40}\))?[sdr]"
    rb"|[A-Za-z0-9]|"
    + _PLACEHOLDER
    + rb"|[~^<>=v ]{0,3}[0-9]{1,4}(?:\.[0-9]{1,5}){2}(?:-[a-z]{1,8}[.0-9]{0,6})?"
    rb"|(?i:true|false|none|null|basic|bearer|token|inherit|include|same-origin|omit) ?"
)
_HONEST = late_regex(
    rb"|".join(
        (
            # Looking ahead spares most values a comparison with each of the words.
            rb"(?=[A-Za-z]{1,9}+" + _END + rb")(?i:" + _WORDS + rb")" + _END,
            rb"(?<==)`[a-z][a-z0-9_.-]{1,20} [^`\n]{1,200}`",  # what a command writes
            rb"\$[{(]|\{\{|<%|#\{|%\(|\$_[A-Z]+\[|\{[A-Za-z_.]{1,60}[({}\[!]",  # a template fills it in
            rb"(?:\$[A-Z_][A-Z0-9_]*+|%[A-Z_]+%|:[A-Za-z_]{1,40}|0x[0-9A-Fa-f]{1,8})" + _END,
            rb"\[?(?:String|ID|Int|Float|Boolean)!?\]?!?(?=[\s,)=])",  # a type of GraphQL
            rb"\$[a-z][A-Za-z0-9_]{0,60}(?=[,)])",  # one of its variables
            rb"(?:config|cfg|conf|settings|self|this|env|options|opts|props|state|ctx|context|args|params|request|req"
            rb"|data|form|body|creds|credentials|secrets|vars?|local|module|values|Values)"
            rb"(?:\.[A-Za-z_][A-Za-z0-9_]{0,60}+){1,6}+" + _END,
            rb"(?:\$[0-9]{1,2}|\?)" + _END,  # a parameter of SQL
            rb"<[A-Za-z][A-Za-z0-9_ .-]{0,40}>",  # to be filled in
            rb"\([A-Z][A-Za-z]{2,20}-[A-Z]",  # a call of PowerShell
            rb"!(?:secret|Ref|Sub|GetAtt|vault|env|ENV) ",  # tags of YAML
            rb"(?:https?|op|env|file|vault|secretref|ssm)://|arn:[a-z]",  # where it is kept
            rb"[A-Za-z_$]{1,60}+(?:(?:\.|->|::)[A-Za-z_]{1,60}+){1,6}+" + _END,  # config.password
            _CODE,  # getKey(), config["password"]
            rb"(?:" + _PLACEHOLDER + rb"|\xe2\x80\xa6|%[sdrv])" + _END,
            rb"[0-9]{1,3}(?:-[0-9]{1,3}|\+)? (?i:char|digit|letter|word|attempt|tries|byte|bit|day|hour)",
            rb"(?![bruf][\"'])[A-Za-z0-9]" + _END,  # too short for one
            rb"\((?:[A-Za-z_$]{1,40}\??: ?[A-Za-z]|[A-Za-z_$, ]{0,80}\) ?=>)",  # a function
            rb"/[\^\\(\[]|\(?(?:\.[*+]|\[\^)",  # a regular expression
            rb"(?<= = )[A-Za-z_$]{1,60} (?:\|\||\?\?|\?) ",  # one variable or another
            rb"(?<= = )[A-Za-z_$]{1,60} [&|^%*/+] [A-Za-z0-9_(]",  # an expression
            rb"(?<=\] = )[A-Za-z_]{1,60}" + _END,  # names[token] = name
            rb"0x\{",  # a number that is put in
            rb"&(?:'[a-z]{1,9} )?(?:mut )?(?:str|String)" + _END,  # a type of Rust
            rb"!{1,2}\(?[A-Za-z_]{1,40}[.(]",  # a condition
            rb"(?:line|column|position|offset) [0-9]",  # where an error is
            rb"[A-Z][A-Za-z]{1,30}<[A-Za-z&'_:, <>\[\]]{1,60}>" + _END,  # a type: Option<String>
            rb"[\"'`][ \t]*+[}\]),;]++[ \t]*+(?:\r?\n|\Z)",  # the end of a text, and of what holds it
            rb"[bfru]?[\"'`][\"']?(?:" + _FILLED_IN + rb")\f*[\"'`]",
            rb"[bfru]?[\"'`][^\"'`A-Za-z0-9\x80-\xff\n]{0,40}[\"'`](?![\"'`])",  # nothing in it
        )
    )
)
_QUOTED = late_regex(
    rb"""[bBrRfFuUNn@]{0,2}(?:\"{3}(?P<text>.*?)(?:\"{3}|\Z)|'{3}(?P<lines>.+?)(?:'{3}|\Z)|"(?P<double>(?:[^"\\]|\\.|"")*+)"?"""
    rb"""|'(?P<single>(?:[^'\\\n]|\\.|''|'\\'')*+)'?|`(?P<back>(?:[^`\\]|\\.)*+)`?)""",
    re.DOTALL,
)
_BARE = late_regex(
    rb"""(?:[^\s"'`<>&;,\\]
      | (?<=[A-Za-z0-9])["'`](?=[A-Za-z0-9])
      | &(?!&|amp;|\s|\Z|[A-Za-z0-9_.%\[\]-]{1,40}=)          # the next parameter
      | ;(?!\s|\Z|[A-Za-z0-9_.\ -]{1,40}=)                    # the next part of a connection string
      | ,(?!\s|\Z|["']|[A-Za-z0-9_.-]{1,40}[:=])              # the next entry
      | \\(?![nrtu"'`\\/])
    )++""",
    re.VERBOSE,
)
_LITERAL = late_regex(
    rb"""\[\[(?!["'\s{\[])([^\]\n]{1,400})\]\]|(?:qq?|%[qQ]|~[sS])(?:\(([^()\n]{1,400})\)|\{([^{}\n]{1,400})\}"""
    rb"""|\[([^\[\]\n]{1,400})\])|\{([^{}\s"'`:]{1,200};[^{}\s"'`:]{1,200})\}"""
)
_GROUPS = late_regex(rb"((?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4}\b|(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4}\b)")
"""Groups of four, as people are shown what they must type: the seed of codes, the password of an app."""
_OPENED = late_regex(rb"""\(\s*+(?=[bruf]?["'])""")
_JOINT = late_regex(
    rb"""(?:[ \t]*+(?:\+|\.{1,2}|&)[ \t]*+|[ \t]*+[+.&\\][ \t]*+\r?\n[ \t]*+"""
    rb"""|\r?\n[ \t]++[+.&][ \t]++|[ \t]++)(?=["'])"""
)
"""What stands between two quoted texts that are one; in parentheses:"""
_JOINT_INSIDE = late_regex(rb"""\s*+(?:[+.&]\s*+)?(?=[bruf]?["'])""")
LISTED = {f"{kind}-{codes}" for kind in ("recovery", "backup", "scratch") for codes in ("code", "codes")}
"""Labels of secrets of which several stand in a row."""
_CODE_ITEM = late_regex(
    rb"""[\s,;|"'`\[\]\f*+-]*+(?:\d{1,2}[.)]\s)?[\s"'`*\f]*+"""
    rb"""((?=[A-Za-z]{0,12}-?[A-Za-z]{0,12}[0-9]|[A-Za-z]{4}-[A-Za-z]{4}\b|[A-Za-z]{5}-[A-Za-z]{5}\b)"""
    rb"""[A-Za-z0-9]{4,12}(?:[ -][A-Za-z0-9]{4,6}(?![A-Za-z0-9])){0,4})(?![\w.:=/@])"""
)
"""One code, a digit in its beginning."""
WITH_BLANKS = {
    "passphrase",
    "pass-phrase",
    "mnemonic",
    "seed-phrase",
    "seed-words",
    "recovery-phrase",
    "connection-string",
}
"""Labels of secrets that reach to the end of a line."""
_LINE = late_regex(rb"""[^\r\n"'`<>]++""")
_INDENTED = late_regex(rb"[|>][-+0-9]{0,2}[ \t]*+\r?\n((?:[ \t]++[^\n]*+(?:\n|\Z))++)")
_DIGITS = late_regex(rb"""["'`]?(\d[\d -]{1,21}\d)(?![\w.])""")
_SHORT = late_regex(rb"""(?:[bru]?["'`])?([A-Za-z0-9+/=_~%-]{12,200})(?![\w.(\[])""")
_WORDLIKE = late_regex(rb"""["'`]?([^\s"'`&;,<>]{5,200})(?![\x80-\xbf])""")
_PROOFS = {
    Proof.DIGITS: (_DIGITS, has_digit),
    Proof.CHOSEN: (_WORDLIKE, looks_chosen),
    Proof.RANDOM: (_SHORT, looks_random),
    Proof.ISSUED: (_SHORT, looks_issued_or_hex),
}
_COOKIE = late_regex(rb"""["']?[^\s"'=;,(){}\[\]]{1,80}=[^\s=]|[\[{]""")
_SCHEME = late_regex(
    rb"""(?i:bearer|basic|token|apikey|negotiate|dpop)[ \t]++(?:[A-Za-z_]{1,20}=[\\\f]*["'])?([^\s"'`,;]++)"""
)
_QUOTED_SCHEME = late_regex(rb"""[bfru$@]{0,2}\f*+["'`]""" + _SCHEME.pattern)
_OTHER_SCHEME = late_regex(
    rb"""[A-Za-z][A-Za-z0-9_-]{1,30}+[ \t]++([A-Za-z0-9._~+/=:-]{8,}+)"""
    rb"""([ \t]*+(?=["'`\r\n]|\Z))?"""
)
"""One that only a vendor knows: `GenieKey …`."""
_PARAMETERS = late_regex(rb"(?i:digest|aws4-hmac-sha256|oauth|signature|hawk|ntlm)[ \t]")
_ALPHANUMERIC = late_regex(rb"[A-Za-z0-9\x80-\xff]")
_TOKEN = late_regex(
    rb""""(?:[^"\\]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|[{\[]|[}\]]|[^\s,:;={}\[\]"']++""", re.DOTALL
)
_MOST_TOKENS = 5_000
"""Of an object or a list under a secret's name: behind them all is taken for a secret."""
_ASSIGNED = late_regex(rb"\s*+[:=]")


def is_honest(text: bytes, position: int) -> bool:
    """Whether what starts there is plainly no secret."""
    return _HONEST.match(text, position) is not None


def read_value(text: bytes, position: int, label: str, proof: Proof) -> Reading:
    """Give the secrets of the value that starts at `position`."""
    if proof is not Proof.NONE:
        return _read_doubtful(text, position, proof)
    if label in LISTED:
        return _read_codes(text, position)
    literal = read_literal(text, position) or _GROUPS.match(text, position)
    if literal:
        return Reading((literal.span(literal.lastindex or 0),), literal.end())
    quoted = _read_joined(text, position)
    if quoted:
        return quoted
    if text[position : position + 1] in {b"{", b"["}:
        return read_block(text, position)
    indented = _INDENTED.match(text, position)
    if indented:
        return Reading((indented.span(1),), indented.end())
    return _one((_LINE if label in WITH_BLANKS else _BARE).match(text, position), text, position)


def read_literal(text: bytes, position: int) -> re.Match[bytes] | None:
    """Give a text that is quoted as only some languages do: `[[…]]`, `q(…)`, `{…}` in ODBC."""
    return _LITERAL.match(text, position)


def _read_joined(text: bytes, position: int) -> Reading | None:
    """Give the contents of quoted texts that stand for one: `"…" + "…"`, `("…" "…")`."""
    opened = _OPENED.match(text, position)
    if opened and is_honest(text, opened.end()):
        return Reading((), opened.end())
    reading = read_quoted(text, opened.end() if opened else position)
    while (
        reading
        and reading.secrets
        and (joint := (_JOINT_INSIDE if opened else _JOINT).match(text, reading.end))
    ):
        following = read_quoted(text, joint.end())
        if following is None:
            break
        reading = Reading((*reading.secrets, *following.secrets), following.end)
    return reading


def _read_codes(text: bytes, position: int) -> Reading:
    """Give each of a list of recovery codes, in the same line or in those below."""
    codes = [*_each(_CODE_ITEM, text, position)]
    return Reading(tuple(code.span(1) for code in codes), codes[-1].end() if codes else position)


def _each(expression: re.Pattern[bytes], text: bytes, position: int) -> Iterator[re.Match[bytes]]:
    """Give the matches that follow one another, from `position` on."""
    while match := expression.match(text, position):
        yield match
        position = match.end()


def read_quoted(text: bytes, position: int) -> Reading | None:
    """Give the content of a quoted value, one that never ends included; None when it is not quoted."""
    quoted = _QUOTED.match(text, position)
    if quoted is None or quoted.lastgroup is None:
        return None
    start, end = quoted.span(quoted.lastgroup)
    if quoted.lastgroup == "double" and b"\f" in text[position - 1 : end]:
        end = _end_of_nested(text, start)
    return Reading(((start, end),) if end > start else (), max(end, quoted.end()))


def _end_of_nested(text: bytes, start: int) -> int:
    """Give where a string of nested JSON ends: at a quote with no more blanks before it than its first."""
    blanks = _blanks_before(text, start - 1)
    end = text.find(b'"', start)
    while end >= 0 and _blanks_before(text, end) > blanks:
        end = text.find(b'"', end + 1)
    return len(text) if end < 0 else end


def _blanks_before(text: bytes, position: int) -> int:
    """Give how many form feeds stand there: each is a backslash of the text as it was."""
    before = text[max(0, position - _MOST_BACKSLASHES) : position]
    return len(before) - len(before.rstrip(b"\f"))


def read_header(text: bytes, position: int, quote: bytes, label: str) -> Reading:
    """Give the secret of an `Authorization` or `Cookie` field; `quote` is what it stands in, if anything."""
    scheme = _SCHEME.match(text, position) or _QUOTED_SCHEME.match(text, position)
    if scheme:
        return Reading(() if is_honest(text, scheme.start(1)) else (scheme.span(1),), scheme.end())
    other = None if label.startswith("cookie") else _OTHER_SCHEME.match(text, position)
    if other and (looks_chosen(other[1]) or other[2] is not None) and not _PARAMETERS.match(text, position):
        return Reading((other.span(1),), other.end())
    if label.startswith("cookie") and not _COOKIE.match(text, position):
        return _read_doubtful(text, position, Proof.RANDOM)
    is_open = text[position : position + 1] not in {b'"', b"'", b"{", b"["}
    if is_open and (label.startswith("cookie") or _PARAMETERS.match(text, position)):
        stops = [stop for stop in (text.find(mark, position) for mark in (quote, b"\n") if mark) if stop >= 0]
        end = min(stops, default=len(text))
        return Reading(((position, end),), end)
    return read_value(text, position, label, Proof.NONE)


def read_block(text: bytes, position: int) -> Reading:
    """Give the strings and numbers of an object or a list, one that never ends included."""
    secrets: list[tuple[int, int]] = []
    key: bytes | None = None
    depth, number, end = 0, 0, position
    for number, token in enumerate(_TOKEN.finditer(text, position)):
        start, end = token.span()
        if number == _MOST_TOKENS:
            return Reading((*secrets, (start, len(text))), len(text), 2 * number)
        first = text[start : start + 1]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 0:
                break
        elif _ASSIGNED.match(text, end):
            key = token[0].strip(b"\"'\f")
        else:
            content = _content(text, start, end, is_keyed=key is not None)
            if content and (key or b"").decode(errors="replace") not in DESCRIPTIVE:
                secrets.append(content)
            key = None
    return Reading(tuple(secrets), end, 2 * number)


def _content(text: bytes, start: int, end: int, *, is_keyed: bool) -> tuple[int, int] | None:
    if is_honest(text, start):
        return None
    quote = text[start : start + 1]
    if quote in b"\"'":
        end -= text[end - 1 : end] == quote and end > start + 1
        return (start + 1, end) if end > start + 1 else None
    return (start, end) if is_keyed or has_digit(text[start:end]) else None


def _read_doubtful(text: bytes, position: int, proof: Proof) -> Reading:
    expression, holds = _PROOFS[proof]
    match = (_GROUPS.match(text, position) if proof is Proof.CHOSEN else None) or expression.match(
        text, position
    )
    return Reading((match.span(1),), match.end()) if match and holds(match[1]) else Reading((), position)


def _one(match: re.Match[bytes] | None, text: bytes, position: int) -> Reading:
    if match is None:
        return Reading((), position)
    start, end = match.start(), match.start() + len(match[0].rstrip(b")]}. "))
    return Reading(((start, end),) if _ALPHANUMERIC.search(text, start, end) else (), match.end())
