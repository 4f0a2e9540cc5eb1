"""Secrets that their name gives away: `password=…`, `"apiKey": "…"`, `--token …`, `Authorization: …`.

A scanner finds the words that secrets' names are made of; the whole name around the word is
classified as a key of JSON would be; what follows it tells whether and how a value is assigned.

Invariants
- Every look at a value is bounded, or ends where the search goes on: the whole is linear.
- A value that is plainly none stays: a reference, a call, a type, a word of prose, a placeholder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction import vocabulary
from agentfence.core.redaction.checks import has_digit, looks_chosen
from agentfence.core.redaction.names import HEADERS, RANDOM, Proof, SecretName
from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import Span
from agentfence.core.redaction.values import (
    WITH_BLANKS,
    Reading,
    is_honest,
    read_header,
    read_literal,
    read_quoted,
    read_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentfence.core.redaction.work import Work

FOREIGN = "|".join(sorted({*vocabulary.STEMS.split()}, key=len, reverse=True)).encode()
"""Words of other languages, as an expression for RE2."""
_CERTAIN = (
    rb"(?:basic|http|proxy)_?auth|userpwd|(?:github|gitlab|gh|azure|devops)[_-]?pat|"
    rb"pass(?:[ -](?:phrase|code))?|pwd|pswd|secret|token|cred|cookie|jwt|psk|bearer|mnemonic|community"
    rb"|verifier|assertion|authori[sz]ation|stringdata"
    rb"|(?:api|access|private|secret|encryption|decryption|signing|master|account|shared|auth|session|service|license"
    rb"|deploy|ssh|ssl|tls|storage|subscription|functions|app|application|client|consumer|wpa|wep|wifi|hmac|aes"
    rb"|integration|radius|tacacs|role|recovery)[ _.-]?key"
    rb"|sess(?:ion)?[ _.-]?id|conn(?:ection)?[ _-]?str|card[ _-]?number"
    rb"|(?:seed|recovery)[ _-]?(?:phrase|words)|scratch[ _-]?code"
    rb"|(?:otp|mfa|fa)[ _-]?seed|(?:setup|authenticator)[ _-]?key"
    rb"|key[ _-]?material|auth_?ident|request[_-]?state|saml[_-]?response"
    rb"|(?:pin|mfa|fa|factor|verification|security|recovery|backup|auth|access|time|unlock|pairing|reset|login|sms)"
    rb"[ _-]?(?:code|answer|pin)"
    rb"|(?:\b|_)(?:pw|pin|otp|totp|mfa|cvv|cvc|csc|ssn)|(?-i:[a-z](?:Pw|Pin|Otp|Mfa|Cvv|Cvc|Ssn))"
    rb"|(?:root|bind|admin|user|db)pw|" + FOREIGN
)
"""What names hold that announce a secret."""
_DOUBTFUL = (
    rb"(?:\b|_|(?-i:[a-z]))(?:keys?|auth|authentication|signature|sig|session|sid|ticket|hapikey|appid|dpop)"
)
"""The same for names with honest uses, whose value must look random."""
_SPOKEN = (
    rb"passw|pass[ _-]?phrase|pass[ _-]?code|[a-z]_?pass\b|pwd|psk|secret|token|cred(?:s\b|ential)"
    rb"|(?:api|access|private|encryption|signing|master|ssh|hmac|storage|account|license|deploy|app|shared"
    rb"|subscription)[ _-]?key|session[ _-]?id|connection[ _-]?string"
    rb"|(?:verification|security|access|recovery|login|reset|unlock|pairing|sms)[ _-]?code"
    rb"|\b(?:(?:pin|otp|mfa|cvv)(?: code)?|ssn|(?:root|bind)?pw)|" + FOREIGN
)
"""Names after which a value may stand without any sign."""
_NAME_BYTES = bytes(byte for byte in range(256) if byte >= 128 or chr(byte).isalnum() or chr(byte) in "_.-")
_NAME_REST = rb"[A-Za-z0-9_.\x80-\xff-]*"
NAMED = rb"(?i:" + _CERTAIN + rb")" + _NAME_REST
"""A secret's name, or part of one, as an expression for RE2."""


def named_once(forms: Iterable[bytes]) -> bytes:
    """Give one expression for all forms, with one name for those that begin with it: it is half of each."""
    forms = tuple(forms)
    behind = (form.removeprefix(NAMED) for form in forms if form.startswith(NAMED))
    others = (form for form in forms if not form.startswith(NAMED))
    return b"|".join((NAMED + rb"(?:" + b"|".join(behind) + rb")", *others))


_TYPED = rb" (?:[Aa]s )?\*?(?i:string|securestring|n?(?:var)?char|text)(?:\([0-9A-Za-z]{1,4}\))?"
"""The type that some languages write behind a name, before the sign."""
_SIGN = (
    rb"""(?:\[[1-9]?[0-9]*\]|""" + _TYPED + rb""")?[\f"'`\]]{0,9}\s*[?!+]?(?:[:=]|<-|\xef\xbc[\x9a\x9d])"""
)
_SETTING = (
    rb"(?:(?i:set|with|use)[A-Za-z_]{0,16}(?i:"
    + _CERTAIN
    + rb")[A-Za-z0-9_]*|\.(?i:secret|token|api_?key)|\b(?i:passw(?:or)?d|pwd))"
)
"""The name of a method that sets a secret."""
_ATTRIBUTES = rb"""(?:\s[A-Za-z_:.-]+=\f*(?:"[^"<>]*"|'[^'<>]*'))*\s*>"""
"""The rest of an XML tag."""
_ATTRIBUTE = rb"""["']\s+(?:[A-Za-z-]{1,20}=["'][^"'<>]{0,80}["']\s+){0,4}(?:value|content)="""
"""What stands in HTML and XML between a name that is an attribute and its value."""

_MARKUP = rb"</?(?:b|i|em|strong|code|kbd|tt|pre|t[dhr]|d[dt]|p|br|span|div|li|value|name|string|data)\b"
"""What may stand between a name and its value in HTML and XML."""
_FILLED = (
    rb"""(?:["'\])\f\\]{1,8}\.(?:fill|type|send_?[kK]eys|set_?[vV]alue|pressSequentially|value\s*=)\s*\(?"""
    rb"""|["']\f?,?\s+with:?\s+)"""
)
"""What types into the field that a script has found by its name."""
_PART = rb"""(?:\f*"(?:;[^\n]*)?\f?\r?|\f?\r|;[^\n]*)\f?\n(?:[A-Za-z-]+:[^\n]*\n)*\f?\r?\f?\n"""
"""What stands between the name of a form's field and its value in a body of many parts."""
_FORMS = (
    NAMED
    + rb"(?:"
    + _SIGN
    + rb"""|["'`\f]{0,9}\s*[,;]?[\s"']*[Vv]alue[\f"']*\s*[:=]|</key>|["'](?:\s[^<>]*)?>|"""
    + _ATTRIBUTES
    + rb"|"
    + _ATTRIBUTE
    + rb")",
    rb"(?i:"
    + _DOUBTFUL
    + rb")"
    + _NAME_REST
    + rb"(?:"
    + _SIGN
    + rb"""[\s>"'`\[]*(?:[bru]["']|\{[\s"']*[A-Za-z0-9_-]{1,20}["'\s]*:[\s"']*)?|>)[A-Za-z0-9+/=_~%-]{12}""",
    rb"-[A-Za-z0-9_-]*(?i:"
    + _DOUBTFUL
    + rb")"
    + _NAME_REST
    + rb"""["'\f]*,?\s+["']?[A-Za-z0-9+/=_~%-]{12}""",
    rb"(?i:"
    + _SPOKEN
    + rb")"
    + _NAME_REST
    + rb"""(?:\s+(?:is|was|ist|lautet|est|es)[\s:]|(?:[ \t|]+|\r?\n)["'`]?[^\s"'`=:,]*[0-9]"""
    + rb"""|[ \t]+["']|[ \t]+(?:[a-z]{4}-){3}"""
    + rb"""|\s+(?:is\s+generated\s+|generated\s+|set\s+)?for\s+[^\s:]+:\s"""
    + rb"""|\s+(?:(?:has\sbeen|changed|set|reset|updated|rotated)\s+)*(?:to|from)\s"""
    + rb"""|[ \t]*[-=]>[ \t]|[ \t]+\xe2\x86\x92[ \t]|[ \t]+(?:-|\xe2\x80[\x93\x94])[ \t]"""
    + rb"""|:?\*{1,2}:?[ \t]|'s[ \t]"""
    + rb"""|\s+(?i:(?:not\s+)?i?like|<>|(?:not\s+)?in\s*\()\s*[Nn]?')""",
    rb"-[A-Za-z0-9_-]*" + NAMED + rb"""["'\f]*,?\s+["']?[^\s"'-]""",
    NAMED + rb"""\]?\\*["'],\s*\\*["']""",
    NAMED
    + rb"""[A-Za-z ?:]*[\f\\]*"\s*,\s*[\f\\]*"(?:text|keys|content|answer|response|input)[\f\\]*"\s*:""",
    NAMED + rb"""\\*["']\s*\]""",  # the last name of a list: what JSON has beside it tells the rest
    NAMED + _FILLED,
    NAMED + _PART,
    NAMED + rb"""[({][\f\\]?["']""",
    NAMED + rb":?(?:\s*" + _MARKUP + rb"[^<>]*>:?\s*)+[^<>\s]*[0-9]",
    _SETTING + rb"""\(\f?["'`]""",
)
ASSIGNED = named_once(_FORMS)
"""A secret's name, or part of one, and what assigns a value to it, as an expression for RE2."""
_QUOTED_FORMS = (
    _SETTING + rb"""\(\\+["']""",
    NAMED + rb"""["'\]]{0,2}\s*[:=({]{0,3}\s*\\+["'/nrt]""",
    rb"(?i:" + _DOUBTFUL + rb")" + _NAME_REST + rb"""\\+"\s*:\s*\\+"[A-Za-z0-9+/=_~%-]{12}""",
)
QUOTED = named_once(_QUOTED_FORMS)
"""The same within nested JSON, as an expression for RE2."""
ESCAPED = NAMED + rb"""(?:["'\]]{0,2}\s*[:=]?\s*\\+u|&(?:quot|apos|gt);)"""
"""The same with other escapes between."""
SUSPICIOUS_FORMS = (*_FORMS, *_QUOTED_FORMS, ESCAPED)
"""All of these."""

_NAME = late_regex(rb"[A-Za-z0-9_.\x80-\xff-]+")
_SPACED_NAME = late_regex(
    rb"[A-Za-z0-9_.\x80-\xff-]+"
    rb"(?: (?i:keys?|ids?|codes?|string|phrase|words|number|answer|pin|seed)\b[A-Za-z0-9_.-]*)?"
)
_FORM = late_regex(
    rb"""
      (?P<tagged>(?!</key>):?(?:\s*+"""
    + _MARKUP
    + rb"""[^<>]{0,80}+>:?\s*+){1,4}+(?=[^<>\s]))
    | (?P<sign>(?:\[(?:[1-9][0-9]+)?\]|"""
    + _TYPED.replace(b" ", b"[ ]")
    + rb"""(?=[ ]?=))?[\f"'`\]]{0,9}[ \t\f]*+[?!+]?
        (?:=>|:=|<-(?=[ ]?["'])|=(?!=)|::(?=[ \t])|:(?!:|//|\?|\*{1,2}\s))[ \t\f]*+)
    | (?P<part>"""
    + _PART.replace(b"[^\\n]*", b"[^\\n]{0,200}+").replace(b")*", b"){0,4}")
    + rb""")
    | (?P<compare>[\f"'`\]]{0,9}[ \t]*+(?:[=!]==?|<>|(?i:(?:not\s++)?i?like\b|(?:not\s++)?in\s*+\())[ \t\f]*+
        (?=[bBrRfFuUNn]{0,2}["'`]))
    | (?P<pair>["'`\f]{0,9}\s*+[,;]?[\s"']*+[Vv]alue[\f"']*+\s*+[:=][ \t\f]*+)   # name: PASSWORD, value: x
    | (?P<attribute>"""
    + _ATTRIBUTE
    + rb""")
    | (?P<argument>\]?\f*+["'`],\s*+(?=\f*["'`]))
    | (?P<filled>"""
    + _FILLED
    + rb"""(?=\f*["'`]))
    | (?P<brace>\{(?=["']))
    | (?P<call>\((?=\f*["'`]))
    | (?P<content>["'](?:\s[^<>\n]{0,80})?>(?:\s*+<[Vv]alue>)?)
    | (?P<element></key>\s*+<(?:string|data)>
        |(?P<attributes>(?:\s[A-Za-z_:.-]{1,40}+=\f*(?:"[^"<>]{0,200}+"|'[^'<>]{0,200}+')){1,9}+)?\s*+>)
    | (?P<changed>\s++from\s++)
    | (?P<told>\s++(?:(?:(?:is|was|has[ ]been)\s++(?:now\s++)?)?
        (?:changed|set|reset|updated|rotated)\s++)?to:?\s++)
    | (?P<prose>\s++(?:is\s++generated\s++|generated\s++|set\s++)?for\s++[^\s:]{1,60}+:\s++
        |\s++(?:is|was|ist|lautet|est|es):?\s++
        |:?\*{1,2}:?[ \t]++|[ \t]*+[-=]>[ \t]++|[ \t]++(?:-|\xe2(?:\x80[\x93\x94]|\x86\x92))[ \t]++|'s[ \t]++)
    | (?P<below>\r?\n)
    | (?P<blank>[ \t|]++)
    """,
    re.VERBOSE,
)
_OPTION = late_regex(rb"""["'\f]*+,?\s++(?!-|[:=][ \t])""")
"""What stands between an option and its value."""
_TYPE = late_regex(
    rb"""&?(?:'[a-z]{1,10} )?[A-Za-z_][A-Za-z_.]{2,30}(?:\[[^\]\n]{0,40}\]|<[^<>\n]{0,40}>)?"""
    rb"""[?!]?(?: ?\| ?[A-Za-z]{1,20})?[ \t]*+=[ \t]*+(?=[bfru]{0,2}["'`])"""
)
"""What stands between a variable and its value: `password: str = "…"`."""
_NEXT_LINE = late_regex(rb"""\r?\n[ \t\f]*+(?=["'{\[])""")
_TAG = late_regex(rb"(?:!![a-z]{1,20}|&[A-Za-z0-9_-]{1,40})[ \t]++(?!&)")
"""What YAML writes before a value: its type, or a name for it."""
_DIGESTED = late_regex(
    rb"""(?i:[A-Za-z0-9_.:]{0,40}?(?:md5|sha_?[0-9]{1,3}|crypt|hash|hmac)[A-Za-z0-9_]{0,20}|(?:old_)?password"""
    rb"""|secretstr|(?:new\s)?(?:[a-z_]{1,20}(?:::|\.)){0,3}(?:from|some|string|secretstring|b64decode|atob|bytes|bytearray))"""
    rb"""\s*+\(\s*+(?:[Nn]?["'](?i:sha|md)[^"'\n]{0,10}["']\s*+,\s*+)?(?=[bruNn]?["'])"""
)
"""What makes a digest of the password that it is given, or wraps it: `MD5('…')`, `String::from("…")`."""
_LINE_BELOW = late_regex(rb"""\r?\n[ \t]*+([^\s"'`<>:=]{6,200})[ \t]*+(?=\r?\n|\Z)""")
"""A word alone in the line below `Password:`."""
_NOT_ASSIGNED = late_regex(rb"(?:(?i:unexpected )|:[a-z]{3,10} (?:[A-Za-z]{1,20} )?|(?<!/):|://)\Z")
"""What stands before a name that a colon follows, but no value: `:param password:`, the parts of a URN, the
user of a URL."""
_SPOKEN_VALUE = late_regex(rb"""["'`]?([^\s"'`<>,;]{6,200})(?![\x80-\xbf])""")  # no half characters
_QUOTED_WORD = late_regex(rb"""\f*(["'`])([^\s"'`]{6,200})\f*\1""")
_GROUPS = late_regex(rb"(?:[a-z]{4}-){3,7}[a-z]{4}\b")
"""Letters in groups, as the passwords of apps are shown."""
_ESCAPE = late_regex(rb"\\u[0-9A-Fa-f]{4}")
_CONTENT = late_regex(rb"(?:<!\[CDATA\[)?([^<>]{1,8192}?)(?:\]\]>)?</")
_ARGUMENT = late_regex(rb"""[bru]?\f*+["'`]([^\s"'`<>]{6,400})\f*+["'`]""")
_SETTER = late_regex(
    rb"(?:[A-Za-z0-9]*[._-])*(?i:set|with|use)[A-Z_]|[A-Za-z0-9_.]*\.(?i:secret|token|api_?key)\Z"
    rb"|(?:[A-Za-z0-9_.]*\.)?(?i:passw(?:or)?d|pwd)\Z"
)
_EQUALS = late_regex(rb"\.(?:[eE]quals(?:IgnoreCase)?|eql|compareTo)\Z")
_QUOTED_NAME = late_regex(rb"""["'`]([a-z]{1,20}[_-][a-z_-]{2,40})["'`]""")
_LAST_PART = late_regex(rb"(?:[a-z]+|[A-Z][a-z]+)\Z")
_FIRST_ARGUMENT = late_regex(rb"""\(\s*\f*["'`][^"'`\n\f]{0,30}\Z""")
_TAGGED = late_regex(rb"""([^\s"'`<>,;]{6,200})[ \t]*(?=<|\r?\n|\Z)""")
_DEFINING = late_regex(
    rb"""(?i:\bdefine|set_?env|put_?env|set_?property|set_?item|set_?var|set_environment_variable|\.(?:put|append)|\bheader|header\.(?:add|set)|request_?header|with_?header|\bfetch"""
    rb"""|\bgetenv|\benv|environ\.(?:get|setdefault)|get_?property|get_?or_?default)\(\s*\f*["'][^"'\n\f]{0,30}\Z"""
)
"""Calls that give a name its value, or one that counts when it has none."""
_DEFAULT_WORD = late_regex(rb"""\f*["'`](?i:secret|password|token|default)\f*["'`]""")
_BOUND = late_regex(rb"(?:\((?:def[a-z]*|set[qf!]|let\*?)\s|[\s{(]:)[A-Za-z0-9*_-]{0,20}\Z")
"""How Lisps bind a name to the value behind it."""
_FIELD = late_regex(rb"""(?i:form-data;[^\n]*name=)\f?"?[^"\n]{0,40}\Z""")
_PART_BODY = late_regex(rb"(?s:(.{1,8192}?))(?=\f?\r?\f?\n--|\Z)")
_CHANGING = late_regex(rb"(?i:\b(?:set|change|reset|update|rotate|make)\b[^.\n]*)\Z")
_CHANGED_TO = late_regex(rb"""["'`]?\s++to\s++(?:["'`])?([^\s"'`<>,;]{6,200})(?![\x80-\xbf])""")
_MOUNTED = late_regex(rb"(?:id|type|src|source|target|env)=")
"""How an option names a secret that is kept elsewhere: `--secret id=db,src=f`."""
_JOKE = late_regex(rb"my|(?i:.*(?:super|secret|top))")
_LEXEME = late_regex(rb"""[bru]?(["'`])[a-z]{1,12}\1""")
"""A word that a parser finds: `token == "def"`."""
_KEYWORD = late_regex(rb"[a-z_]{1,30}=")
_TYPE_OF_NODE = late_regex(rb"""[\s"'{,]type[\f"']{1,4}\s*:[\s\f"']*\Z""")
_NAMING = late_regex(rb"""(?:[Nn]ame|[Kk]ey|[Ii]d)=\Z""")
_LAST_WORD = late_regex(
    rb"(?i:pass[a-z]*|pwd|pw|secrets?|tokens?|creds?|credentials?|keys?|codes?|pins?|otps?|cvv|ssn|number)"
    rb"[0-9]*(?:[._-][A-Za-z]{2,12})?\Z"
)
_HANDLED = late_regex(rb"(?i:\b(?:get|describe|delete|edit|patch|annotate|label|create|inspect|list)\s+)\Z")
"""What stands before a secret that is named and not told: `kubectl get secret db-1`."""
_FALLBACK = late_regex(
    rb"""[A-Za-z_$][A-Za-z0-9_$.?()\[\]"' ]{0,120}?(?:\|\||\?\?|\?:|\bor\b)\s*+(?=["'`])"""
)
"""A reference before the value that counts without it: `process.env.KEY || "…"`."""
_WIDE_COLON = "：".encode()
_WIDE_EQUALS = "＝".encode()
_REDACTED = late_regex(rb"""["'`\f]{0,9}\x01++(?=[\s"'`,;)}\]&\f]|\Z)""")
"""What was found before, and blanked."""
_QUOTES = (b'"', b"'", b"`")
_QUOTE = late_regex(rb"""["'`]""")
_AFTER_TYPE = late_regex(rb"[),\]]| [|=] ")
_AFTER_TEXT = late_regex(rb"[ \t)\]},;+.]|\r?\n|\Z")
_LONGEST_HEAD_OF_LINE = 4096
_LONGEST_PREFIX = 64
_COST = 8
_COST_OF_A_VALUE = 12
_LONGEST_LEAD = 40
_SHORTEST_CONTENT = 5
_NO_LETTERS = late_regex(rb"[^a-z]+")


class Assignments:
    """Finds the values of names that announce a secret."""

    __slots__ = ("_classify", "_scanner")

    def __init__(self, classify: Callable[[str], SecretName | None]) -> None:
        """Take what tells of a name whether it announces a secret."""
        self._classify = classify
        self._scanner = byte_scanner(ASSIGNED)

    def find(self, text: bytes, work: Work) -> Iterator[Span]:
        """Give the secrets in `text`."""
        position = 0
        text = text.replace(_WIDE_COLON, b":  ").replace(_WIDE_EQUALS, b"=  ")
        for _ in work.looks(_COST):
            found = self._scanner.search_near(text, position)
            if found is None:
                return
            hit = found[0]
            before = text[max(position, hit - _LONGEST_PREFIX) : hit]
            start = hit - len(before) + len(before.rstrip(_NAME_BYTES))
            name = (_NAME if text[start : start + 1] == b"-" else _SPACED_NAME).match(text, start)
            position = max(name.end() if name else 0, hit + 1)
            secret = self._classify(text[start:position].decode(errors="replace"))
            reading = self._read(text, start, position, secret) if secret else None
            if secret and reading:
                work.spend(_COST_OF_A_VALUE)
                for first, last in reading.secrets:
                    yield Span(first, last, secret.label, by_name=True)
                position = max(position, reading.end)
                work.spend(reading.cost)
        yield Span.unread(position)

    def _read(self, text: bytes, start: int, end: int, secret: SecretName) -> Reading | None:
        """Give the value of the name that stands at `start` to `end`."""
        option = _OPTION.match(text, end) if text[start : start + 1] == b"-" else None
        if option and b"," in option[0] and _KEYWORD.match(text, option.end()):
            return None  # add_argument("--password", help="…")
        if option and secret.label == "secret" and _MOUNTED.match(text, option.end()):
            return None
        if option:  # a passphrase of many words is quoted there
            one_word = SecretName("password", secret.proof) if secret.label == "passphrase" else secret
            return self._read_assigned(text, start, end, option.end(), one_word)
        form = _FORM.match(text, end)
        if form is None:
            return None
        match form.lastgroup:
            case "tagged" if secret.proof is not Proof.NONE or text[start - 1 : start] == b"<":
                return None
            case "tagged":
                tagged = _TAGGED.match(text, form.end())
                return (
                    Reading((tagged.span(1),), tagged.end()) if tagged and looks_chosen(tagged[1]) else None
                )
            case "element":
                return _read_element(text, start, form, secret)
            case "part":
                return _read_part(text, start, form.end())
            case "content" | "argument" | "call" | "attribute" | "filled":
                return _read_markup(text, start, end, form)
            case "blank" if _BOUND.search(text, max(0, start - _LONGEST_LEAD), start):
                return self._read_assigned(text, start, end, form.end(), secret)
            case "blank" if not _LAST_WORD.search(text, start, end) or _is_handled(text, start, secret):
                return None
            case "told" if form[0].split() in ([b"to"], [b"to:"]) and not _is_changed(text, start):
                return None
            case "changed":
                return _read_changed(text, start, form.end(), secret)
            case "below" if secret.label != "password" or not _is_first(text, start):
                return None
            case "below":
                below = _LINE_BELOW.match(text, end)
                return Reading((below.span(1),), below.end()) if below and looks_chosen(below[1]) else None
            case "prose" | "blank" | "told":
                return _read_spoken(text, form.end(), secret, is_said=form.lastgroup != "blank")
            case "sign" if b":" in form[0]:
                position = _after_colon(text, start, form)
                return None if position is None else self._read_assigned(text, start, end, position, secret)
            case "compare" if secret.label == "token" and _LEXEME.match(text, form.end()):
                return None
            case "pair" if secret.label == "token" and _TYPE_OF_NODE.search(text, max(0, start - 20), start):
                return None
            case _:
                return self._read_assigned(text, start, end, form.end(), secret)

    def _read_assigned(
        self, text: bytes, start: int, end: int, position: int, secret: SecretName
    ) -> Reading | None:
        if _REDACTED.match(text, position) and secret.label not in WITH_BLANKS:
            return None
        digested = _DIGESTED.match(text, position)
        if digested and secret.proof is Proof.NONE and not is_honest(text, digested.end()):
            return read_quoted(text, digested.end())
        if read_literal(text, position) and secret.proof is Proof.NONE:
            return read_value(text, position, secret.label, secret.proof)
        if is_honest(text, position) or self._is_reference(text, start, end, position):
            fallback = _FALLBACK.match(text, position)
            return _read_default(text, fallback.end()) if fallback else None
        if _is_prompt(text, start, end, position):
            return None
        if secret.label in HEADERS:
            before = text[start - 1 : start]
            quote = before if before in {b'"', b"'", b"`"} else b""
            return read_header(text, position, quote, secret.label)
        return read_value(text, position, secret.label, secret.proof)

    def _is_reference(self, text: bytes, start: int, end: int, position: int) -> bool:
        """Whether the value is a variable of that name: `self.password = password`, `token=ACCESS_TOKEN`."""
        name = text[start:end]
        quoted = _QUOTED_NAME.match(text, position)
        if quoted:
            return _letters(name).endswith(_letters(quoted[1]))
        found = _NAME.match(text, position)
        if found is None or not found[0].replace(b"_", b"").isalpha():
            return False
        if name.startswith((b"self.", b"this.")) or _is_member(name, found[0]):
            return True
        if (
            found[0][:1].isupper()
            and found[0].lower().startswith(name)
            and _AFTER_TYPE.match(text, found.end())
        ):
            return True  # secret: SecretName | None
        value = _letters(found[0])
        is_compound = b"_" in found[0] or _is_compound(name, found[0])
        is_alike = _letters(name).endswith(value) or (is_compound and value.endswith(_letters(name)))
        return is_alike and self._classify(found[0].decode(errors="replace")) is not None


def _letters(name: bytes) -> bytes:
    return _NO_LETTERS.sub(b"", name.lower())


def _is_member(name: bytes, value: bytes) -> bool:
    """Whether a variable is named as what it is assigned to, or its last word: `creds.email = email`."""
    before, dot, member = name.rpartition(b".")
    if dot and before and value.startswith(member) and value[len(member) : len(member) + 1].isupper():
        return True
    last = _LAST_PART.search(name)
    return last is not None and last.start() > 0 and last[0].lower() == value.lower() and value.islower()


def _is_compound(name: bytes, value: bytes) -> bool:
    """Whether a variable ends with the name, as `hashedPassword` with `password`, and is no joke of one."""
    start = len(value) - len(name)
    return value[:1].islower() and value[start : start + 1].isupper() and not _JOKE.match(value, 0, start)


def _is_prompt(text: bytes, start: int, end: int, position: int) -> bool:
    """Whether a quoted text ends with the name and a sign, as `"Enter password: "` does, and no value."""
    quote = text[position : position + 1]
    if quote not in _QUOTES or _QUOTE.search(text, end, position):
        return False
    if text[start - 1 : start] == quote:
        return True
    line = text[max(text.rfind(b"\n", 0, start) + 1, start - _LONGEST_HEAD_OF_LINE) : start]
    mark = b"\f" + quote if text[position - 1 : position] == b"\f" else quote  # of nested JSON its own quotes
    return line.count(mark) % 2 == 1 and _AFTER_TEXT.match(text, position + 1) is not None


def _after_colon(text: bytes, start: int, sign: re.Match[bytes]) -> int | None:
    """Give where the value behind a colon starts; None when it assigns nothing."""
    is_quoted = sign[0][:1] != b":"
    if not is_quoted and _NOT_ASSIGNED.search(text[max(0, start - _LONGEST_LEAD) : start]):
        return None
    below = _LINE_BELOW.match(text, sign.end())
    if below and looks_chosen(below[1]):
        return below.start(1)
    following = (
        _TYPE.match(text, sign.end())
        or _TAG.match(text, sign.end())
        or (_NEXT_LINE.match(text, sign.end()) if is_quoted else None)
    )
    return following.end() if following else sign.end()


def _is_changed(text: bytes, start: int) -> bool:
    """Whether what stands before a name says that it gets a value: `set the password to …`."""
    return _CHANGING.search(text[max(0, start - _LONGEST_LEAD) : start]) is not None


def _is_first(text: bytes, start: int) -> bool:
    """Whether nothing stands before in the line."""
    return start == 0 or text[start - 1 : start] == b"\n"


def _read_changed(text: bytes, start: int, position: int, secret: SecretName) -> Reading | None:
    """Give both secrets of `change password from … to …`."""
    old = _read_spoken(text, position, secret, is_said=True) if _is_changed(text, start) else None
    new = _CHANGED_TO.match(text, old.end) if old else None
    if old is None or new is None:
        return old
    return Reading((*old.secrets, new.span(1)), new.end())


def _read_element(text: bytes, start: int, tag: re.Match[bytes], secret: SecretName) -> Reading | None:
    """Give the content of an XML element; of one with attributes, as components have, what looks like one."""
    if text[start - 1 : start] not in {b"<", b":", b">"} or secret.proof is Proof.RANDOM:
        return None
    position = tag.end()
    if secret.proof is not Proof.NONE:
        return None if tag["attributes"] else read_value(text, position, secret.label, secret.proof)
    content = _CONTENT.match(text, position)
    if content and tag["attributes"] and not _looks_like_one(content[1]):
        return None
    return Reading((content.span(1),), content.end()) if content and not is_honest(text, position) else None


def _read_part(text: bytes, start: int, position: int) -> Reading | None:
    """Give the body of a part of a form, up to the next boundary."""
    if not _FIELD.search(text, max(0, start - _LONGEST_LEAD), start):
        return None
    body = _PART_BODY.match(text, position)
    return Reading((body.span(1),), body.end()) if body else None


def _looks_like_one(content: bytes) -> bool:
    return len(content) >= _SHORTEST_CONTENT and b" " not in content and looks_chosen(content)


def _read_markup(text: bytes, start: int, end: int, form: re.Match[bytes]) -> Reading | None:
    """Give the value that markup or a call puts to a name: one that looks like a secret."""
    before = text[max(0, start - _LONGEST_LEAD) : start]
    match form.lastgroup:
        case "argument" if not _FIRST_ARGUMENT.search(before):
            return None
        case "argument" if _DEFINING.search(before):
            return _read_default(text, form.end())
        case "call" if _EQUALS.search(text, start, end):
            return _read_default(text, form.end())
        case "call" if not _SETTER.match(text, start, end):
            return None
        case "content" if not _NAMING.search(before[:-1]):
            return None
        case "content":
            content = _CONTENT.match(text, form.end())
            is_secret = content and b" " not in content[1] and looks_chosen(content[1])
            return Reading((content.span(1),), content.end()) if content and is_secret else None
        case _:
            return _read_argument(text, form.end())


def _read_default(text: bytes, position: int) -> Reading | None:
    is_none = is_honest(text, position) or _DEFAULT_WORD.match(text, position)
    return None if is_none else read_quoted(text, position)


def _read_argument(text: bytes, position: int) -> Reading | None:
    argument = _ARGUMENT.match(text, position)
    if argument is None or not looks_chosen(argument[1]) or is_honest(text, position):
        return None
    return Reading((argument.span(1),), argument.end())


def _is_handled(text: bytes, start: int, secret: SecretName) -> bool:
    is_object = secret.label in {"secret", "secrets"}
    return is_object and _HANDLED.search(text[max(0, start - _LONGEST_LEAD) : start]) is not None


def _read_spoken(text: bytes, position: int, secret: SecretName, *, is_said: bool) -> Reading | None:
    """Give the secret of `password is …`, `PASSWORD '…'`, `password …`: one that no sign marks."""
    if is_honest(text, position) or secret.proof in RANDOM:
        return None
    if secret.proof is Proof.DIGITS:
        return read_value(text, position, secret.label, secret.proof)
    if not is_said and text[position : position + 1] == b"'" and secret.label == "password":
        return read_quoted(text, position)
    quoted = _QUOTED_WORD.match(text, position) if is_said and secret.label == "password" else None
    if quoted:
        return None if is_honest(text, quoted.start(2)) else Reading((quoted.span(2),), quoted.end())
    if not is_said and text[position : position + 1] == b"*":
        return None  # a pointer: `user_pwd *find(…)`
    groups = _GROUPS.match(text, position)
    if groups and b"-" in groups[0]:
        return Reading((groups.span(),), groups.end())
    spoken = _SPOKEN_VALUE.match(text, position)
    said = _ESCAPE.sub(b"", spoken[1]) if spoken else b""
    is_number = said.isdigit() and secret.label == "password"
    if spoken and (is_number or looks_chosen(said) or (secret.label.endswith("code") and has_digit(said))):
        return Reading((spoken.span(1),), spoken.end())
    return None
