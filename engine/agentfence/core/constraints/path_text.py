r"""What a text means as a path: every place that some server may take it for, or why it is refused.

The fence does not know how a server reads a path: whether it decodes `%2e`, takes `\` for a
separator, expands `~`, strips blanks or splits at commas. So a text gets several readings, and
each has to be harmless; what would turn into another place only in some reading is refused here.

Places are text in one spelling: `/work/x`, `c:/work/x`, `//server/share/x` or, relative, `x/y`;
separators are single slashes, `.` and `..` are gone. Nothing here looks at a disk.
"""

from __future__ import annotations

import re
from enum import Enum
from unicodedata import normalize

from agentfence.core.late_regex import late_regex

LONGEST = 32_767
"""Characters in the longest path that any system takes (Windows; Linux stops at 4,096 bytes)."""
_MOST_STAGES = 4

# A text of this form has one spelling and one reading on any system but Windows.
_PLAIN = late_regex(r"/?(?![- ])(?:[. ]*+[\w@+=()\[\]{}#&^-]++/?+)++(?<!/)")
# Of these, a text of this form is no list, of JSON or by commas, and nothing that any tool expands.
_SINGLE = late_regex(r"/?(?![- ])(?:[. ]*+[\w@+=-]++/?+)++(?<!/)", re.ASCII)

_CONTROL = late_regex("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# NFKC makes `.`, `/`, `\` or `:` of these (held against the Unicode database by a test), and
# Windows' best-fit tables make `/`, `\` and `:` of the first four.
_LOOKALIKE = late_regex(
    "[\u2044\u2215\u2216\u2236\u2024-\u2026\u2100\u2101\u2105\u2106\u2488-\u249b\u2a74\u33c2\u33c7\u33d8"
    "\ufe13\ufe19\ufe30\ufe52\ufe55\ufe68\uff0e\uff0f\uff1a\uff3c\U0001f100]"
)
_URI = late_regex(r"[A-Za-z][A-Za-z0-9+.-]+:")
_EXPANDED_FIRST = late_regex(r"~|`|\$[A-Za-z_{(]|!\w+!|%(?![0-9A-Fa-f]{2}%)[A-Za-z_][^%/\\]*%")
_VARIABLE = late_regex(r"`|\$[A-Za-z_{(]|%[A-Za-z_][^%/\\]*%")
_PARENT = late_regex(r"[/\\]\.\.(?:[/\\]|\Z)")
_ESCAPES = late_regex(r"(?:%[0-9A-Fa-f]{2})+|%[uU][0-9A-Fa-f]{4}")
_OVERLONG = late_regex(rb"[\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]")
_ESCAPED_DANGER = late_regex("[./\\\\%\x00-\x1f\x7f-\x9f]")
_LONE_OCTET = late_regex("[\udc80-\udcff]")
_DRIVE = late_regex(r"[A-Za-z]:")
_SHORT_NAME = late_regex(r"[^.~]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?")
_NEVER_ON_WINDOWS = late_regex(r'[<>"|]')
_DEVICE = late_regex(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:[. ].*)?", re.IGNORECASE)


class Host(Enum):
    """On what system the server runs, as far as the policy tells."""

    POSIX = "posix"
    WINDOWS = "windows"
    UNKNOWN = "unknown"


class Refused(Exception):  # noqa: N818 - an outcome, not a fault: the constraint makes its failure of it
    """A text that is no path for us; the reason completes `argument … ` and never holds the text."""

    def __init__(self, reason: str, code: str = "path_unsafe") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


type Reading = tuple[str, str]
"""One way to take a text: the place, and how it was spelled; `..` behind a link parts the two."""


def read_path(text: str, host: Host, *, is_rewritten: bool = False) -> tuple[Reading, ...]:
    """Give every reading of a text by some server, the likeliest first.

    In a text that was rewritten, dots and blanks at the end of names are what the rewriting left.

    Raises:
        Refused: some server would take the text for something that can not be judged.

    """
    if len(text) > LONGEST:
        raise Refused("is longer than a path can be")
    if host is not Host.WINDOWS and _is_plain(text):
        return ((text, text),)
    readings: list[Reading] = []
    for stage in _decode(text):
        _refuse_danger(stage, host, is_rewritten=is_rewritten)
        readings += ((_simplify_inside(spelling), spelling) for spelling in _separators(stage, host))
    return tuple(dict.fromkeys(readings))


def _is_plain(text: str) -> bool:
    if _PLAIN.fullmatch(text) is None:
        return False
    return text.isascii() or (text[0].isascii() and _LOOKALIKE.search(text) is None)


def is_single(text: str) -> bool:
    """Whether every server on any system but Windows takes the text for one path, spelled as it is.

    Then `read_path` gives the text alone, and there is nothing in it to take apart or to expand. It
    says no to some such texts, and costs a fraction of finding out.
    """
    return len(text) <= LONGEST and _SINGLE.fullmatch(text) is not None


def simplify(text: str) -> str | None:
    """Give the place that a text with slashes spells; None when it climbs above where it starts.

    Above an absolute beginning there is nothing to climb to, as for every system.
    """
    beginning, rest = split_beginning(text)
    names: list[str] = []
    for name in rest.split("/"):
        if name == "..":
            if names:
                names.pop()
            elif not beginning:
                return None
        elif name not in ("", "."):
            names.append(name)
    return beginning + "/".join(names)


def _simplify_inside(spelling: str) -> str:
    place = simplify(spelling)
    if place is None:
        raise Refused("leads out of the folder it starts in")
    return place


def is_absolute(place: str) -> bool:
    """Whether a place says where it is by itself."""
    return place.startswith("/") or place[1:3] == ":/"


def split_beginning(text: str) -> tuple[str, str]:
    """Give where a path begins, in the spelling of places and empty for a relative one, and the rest."""
    if _DRIVE.match(text):
        return f"{text[0].lower()}:/", text[2:]
    if not text.startswith("//"):
        return ("/", text[1:]) if text.startswith("/") else ("", text)
    server, _, rest = text[2:].partition("/")
    share, _, rest = rest.partition("/")
    return f"//{server}/{share}/".lower(), rest


def _separators(text: str, host: Host) -> tuple[str, ...]:
    r"""Give the text with `\` as a separator and, where it may be a character of a name, without."""
    if "\\" not in text:
        return (text,)
    slashed = text.replace("\\", "/")
    return (slashed,) if host is Host.WINDOWS else (slashed, text)


# --- escapes -----------------------------------------------------------------------------------


def _decode(text: str) -> list[str]:
    """Give the text and what each further round of percent-decoding makes of it."""
    stages = [text]
    while "%" in text and (decoded := decode_once(text)) != text:
        if len(stages) == _MOST_STAGES:
            raise Refused("is escaped many times over")
        stages.append(text := decoded)
    return stages


def decode_once(text: str) -> str:
    """Give the text with its percent escapes decoded.

    Raises:
        Refused: an escape stands for something that would change the path.

    """
    return _ESCAPES.sub(lambda escape: _decode_escape(escape[0]), text)


def _decode_escape(escape: str) -> str:
    decoded = chr(int(escape[2:], 16)) if escape[1] in "uU" else _decode_octets(escape)
    if _ESCAPED_DANGER.search(decoded):
        raise Refused("holds an escape that decodes to a dot, a separator, `%` or a control character")
    return decoded


def _decode_octets(escapes: str) -> str:
    octets = bytes.fromhex(escapes.replace("%", ""))
    if _OVERLONG.search(octets):  # lenient decoders make `.` of C0 AE
        raise Refused("holds an escape that is overlong UTF-8")
    decoded = octets.decode("utf-8", "surrogateescape")
    # What is not UTF-8 is Latin-1 to those who decode it at all.
    return _LONE_OCTET.sub(lambda octet: chr(ord(octet[0]) - 0xDC00), decoded)


# --- dangers -----------------------------------------------------------------------------------


def _refuse_danger(text: str, host: Host, *, is_rewritten: bool = False) -> None:
    if _CONTROL.search(text):
        raise Refused("holds a control character")
    if not text.isascii():
        _refuse_lookalikes(text)
    _refuse_start(text)
    _refuse_names(text, host, is_rewritten=is_rewritten)


def _refuse_lookalikes(text: str) -> None:
    if _LOOKALIKE.search(text):
        raise Refused("holds a character that some systems read as a dot, a separator or a colon")
    normal = normalize("NFKC", text)
    if normal != text:
        _decode(normal)  # a fullwidth `%` makes escapes
        _refuse_start(normal)  # and a fullwidth `~` a home folder


def _refuse_start(text: str) -> None:
    if not text or text[0].isspace() or text[-1].isspace():
        raise Refused("is empty, or begins or ends with a blank")
    if text[0] in "'\"`" and text[-1] == text[0]:
        raise Refused("is quoted")
    if text[0] == "-":
        raise Refused("begins with `-`, so that programs take it for an option")
    if _URI.match(text):
        raise Refused("is a URI, not a path")
    if _EXPANDED_FIRST.match(text):
        raise Refused("begins with `~` or a variable")
    if ".." in text and _VARIABLE.search(text):
        raise Refused("holds a variable before `..`")
    if ".." in text and "**" in text and _PARENT.search(text, text.index("**")):
        raise Refused("holds `**`, which may stand for nothing, before `..`")


def _refuse_names(text: str, host: Host, *, is_rewritten: bool) -> None:
    if host is Host.WINDOWS and _NEVER_ON_WINDOWS.search(text):
        raise Refused("holds a character of no name on Windows, where some are wildcards")
    names = text.replace("\\", "/").split("/")
    if _DRIVE.match(text):
        if host is not Host.WINDOWS or len(names[0]) != 2 or len(names) == 1:
            raise Refused("begins with a drive letter")
        names = names[1:]
    elif names[:2] == ["", ""] and len(names) > 2 and (host is not Host.WINDOWS or not _is_share(names[2:4])):
        raise Refused("begins like a network path")
    for name in names:
        if ":" in name:
            raise Refused("holds a colon, which names an alternate stream")
        is_dotted = name[-1:] == "." and name not in (".", "..", "...")
        if (is_dotted or name[-1:].isspace()) and not (is_rewritten and name.strip(". ")):
            raise Refused("has a name that ends in a dot or a blank, which some systems drop")
        if host is not Host.POSIX and _SHORT_NAME.fullmatch(name):
            raise Refused("has a name in the short form of Windows")
        if host is Host.WINDOWS and (name == "..." or _DEVICE.fullmatch(name)):
            raise Refused("has the name of a Windows device")


def _is_share(names: list[str]) -> bool:
    return len(names) == 2 and all(name not in ("", ".", "..", "?") for name in names)
