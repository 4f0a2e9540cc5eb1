r"""Shell patterns, compiled: the one matcher behind every list of patterns in a policy.

    *      any run of characters without the separator
    **     any run of characters
    **/    nothing, or anything that ends in the separator
    ?      one character, not the separator
    [a-z]  one of these, `[!a]` and `[^a]` one of the others; never the separator
    \x     the character x itself

A pattern matches the whole value, and newlines are characters like any other.

- Matching takes time linear in the value, whoever wrote it: the usual shapes are string methods,
  one kind of star is an atomic `re`, and only an odd mix of `*` and `**` needs RE2.
- A folded pattern matches whatever its plain reading matches too, so folding only ever adds.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from agentfence.core.constraints.folding import fold_text
from agentfence.core.constraints.regexes import compile_regex
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

type _Matches = Callable[[str], bool]


class _Wild(Enum):
    ONE = "?"
    STAR = "*"
    ANY = "**"
    FOLDERS = "**/"


@frozen
class _Class:
    """The characters of `[…]`, as ranges that hold neither the separator nor anything twice."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool


type _Token = str | _Wild | _Class

_SPECIAL = late_regex(r"[*?\[\\]")
_NEVER_REFUSED = late_regex(r"(?:[^*\[\\]|\*(?!\*))++|(?:[^*\[\\]|\*\*(?![*/]))++", re.DOTALL)
"""Patterns of text, `?`, and `*` or `**`: nothing in them can be wrong, so they are read when first asked."""
_RUNS = (_Wild.STAR, _Wild.ANY, _Wild.FOLDERS)


class Glob:
    """A pattern that was read; it is compiled when it is first asked, as most of a policy never are."""

    __slots__ = ("_compile", "matches", "pattern")

    matches: _Matches
    """Whether the whole text fits the pattern; never raises."""
    pattern: str
    """As written in the policy."""

    def __init__(self, pattern: str, compile_it: Callable[[], _Matches]) -> None:
        self.pattern = pattern
        self._compile = compile_it

    def __getattr__(self, name: str) -> _Matches:
        if name != "matches":
            raise AttributeError(name)
        self.matches = self._compile()
        return self.matches

    def __repr__(self) -> str:
        return f"Glob({self.pattern!r})"


class GlobSet:
    """Patterns that are asked together: a text is folded once, and simple shapes are asked as one.

    They are read at once, and compiled when they are first asked.
    """

    __slots__ = ("_folded", "_is_folded", "_parsed", "_plain", "_plain_too", "_separator")

    _plain: _Union
    _folded: _Union

    def __init__(self, entries: Iterable[tuple[str, str]], separator: str | None, *, fold: bool) -> None:
        self._parsed = [(shown, _parse(pattern, separator)) for shown, pattern in entries]
        self._separator = separator
        self._is_folded = fold
        self._plain_too = any(_has_negation(tokens) for _, tokens in self._parsed)
        doubtful = [tokens for _, tokens in self._parsed if _may_need_re2(tokens, separator)]
        for tokens in doubtful:
            _shape(_simplify(tokens), separator)
            if fold:
                _shape(_simplify(_fold_tokens(tokens, separator)), separator)

    def __getattr__(self, name: str) -> _Union:
        if name == "_plain":
            self._plain = _Union(self._parsed, self._separator)
            return self._plain
        if name == "_folded":
            folded = [(shown, _fold_tokens(tokens, self._separator)) for shown, tokens in self._parsed]
            self._folded = _Union(folded, self._separator)
            return self._folded
        raise AttributeError(name)

    def find(self, text: str) -> str | None:
        """Give the first pattern, as written in the policy, that matches the text; never raises."""
        if self._is_folded:
            if self._folded.matches(folded := fold_text(text)):
                return self._folded.name(folded)
            if text.isascii() and not self._plain_too:
                return None
        return self._plain.name(text) if self._plain.matches(text) else None


class _Union:
    """Some patterns, asked at once."""

    __slots__ = ("_ends", "_equals", "_members", "_others", "_starts", "_within")

    def __init__(self, parsed: Iterable[tuple[str, Sequence[_Token]]], separator: str | None) -> None:
        self._members = [(shown, _shape(_simplify(tokens), separator)) for shown, tokens in parsed]
        shapes = [shape for _, shape in self._members]
        self._equals = frozenset(text for shape in shapes for text in shape.equals)
        self._starts = tuple(text for shape in shapes for text in shape.starts)
        self._ends = tuple(text for shape in shapes for text in shape.ends)
        self._within = tuple(text for shape in shapes for text in shape.within)
        self._others = tuple(shape.otherwise for shape in shapes if shape.otherwise is not None)

    def matches(self, text: str) -> bool:
        if text in self._equals or text.startswith(self._starts) or text.endswith(self._ends):
            return True
        for part in self._within:
            if part in text:
                return True
        for matches in self._others:  # noqa: SIM110 - a generator costs more than the matching
            if matches(text):
                return True
        return False

    def name(self, text: str) -> str:
        """Give the first member that matches a text that some member does."""
        return next(shown for shown, shape in self._members if shape.matches(text))


def compile_glob(pattern: str, *, separator: str | None = "/", fold: bool = False) -> Glob:
    """Give the matcher of a pattern.

    Without a separator `*` crosses everything and `**/` still means `/`. `fold` compares without
    regard to case, Unicode compatibility and invisible characters.

    Raises:
        ValueError: the pattern is empty or malformed; the text says how.

    """
    if not fold:
        if separator in ("/", None) and _NEVER_REFUSED.fullmatch(pattern):
            return Glob(
                pattern, lambda: _shape(_simplify(_parse(pattern, separator)), separator).as_function()
            )
        tokens = _parse(pattern, separator)
        glob = Glob(pattern, lambda: _shape(_simplify(tokens), separator).as_function())
        if _may_need_re2(tokens, separator):
            _ = glob.matches
        return glob
    patterns = GlobSet([(pattern, pattern)], separator, fold=True)
    return Glob(pattern, lambda: lambda text: patterns.find(text) is not None)


def compile_globs(
    entries: Iterable[tuple[str, str]], *, separator: str | None = "/", fold: bool = False
) -> GlobSet:
    """Give a set of patterns, each entry being the pattern as the policy has it and the one to match.

    Raises:
        ValueError: a pattern is empty or malformed; the text says how.

    """
    return GlobSet(entries, separator, fold=fold)


def literal_pattern(text: str) -> str:
    """Give the pattern that matches exactly this text."""
    return re.sub(r"([*?\[\\])", r"\\\1", text)


# --- reading -----------------------------------------------------------------------------------


def _parse(pattern: str, separator: str | None) -> list[_Token]:
    if not pattern:
        raise ValueError("a pattern is empty")
    tokens: list[_Token] = []
    position = 0
    while position < len(pattern):
        token, position = _read_token(pattern, position, separator)
        if isinstance(token, str) and tokens and isinstance(tokens[-1], str):
            tokens[-1] += token
        else:
            tokens.append(token)
    return tokens


def _read_token(pattern: str, position: int, separator: str | None) -> tuple[_Token, int]:
    match pattern[position]:
        case "*":
            return _read_stars(pattern, position, separator)
        case "?":
            return _Wild.ONE, position + 1
        case "[":
            return _read_class(pattern, position + 1, separator)
        case "\\":
            if position + 1 == len(pattern):
                raise ValueError(f"pattern `{pattern}` ends in a backslash that escapes nothing")
            return pattern[position + 1], position + 2
        case _:
            special = _SPECIAL.search(pattern, position)
            end = special.start() if special else len(pattern)
            return pattern[position:end], end


def _read_stars(pattern: str, position: int, separator: str | None) -> tuple[_Token, int]:
    if not pattern.startswith("**", position):
        return _Wild.STAR if separator else _Wild.ANY, position + 1
    after = position + 2
    folder_end = separator or "/"
    if pattern.startswith(folder_end, after):
        return _Wild.FOLDERS, after + len(folder_end)
    if pattern.startswith(f"*{folder_end}", after):  # `***/` is `*` and then `**/`
        return _Wild.STAR if separator else _Wild.ANY, position + 1
    return _Wild.ANY, after


def _read_class(pattern: str, position: int, separator: str | None) -> tuple[_Token, int]:
    negated = pattern[position : position + 1] in ("!", "^")
    position += negated
    ranges: list[tuple[str, str]] = []
    while not (ranges and pattern.startswith("]", position)):
        if pattern.startswith(("[:", "[.", "[="), position):
            raise ValueError(f"pattern `{pattern}` names a character class, which is not supported")
        low, position = _read_member(pattern, position)
        high = low
        if pattern.startswith("-", position) and not pattern.startswith("-]", position):
            high, position = _read_member(pattern, position + 1)
        if high < low:
            raise ValueError(f"pattern `{pattern}` has the range `{low}-{high}`, which runs backwards")
        if separator is not None and low == high == separator:
            raise ValueError(f"pattern `{pattern}` has `{separator}` in brackets, which never match it")
        ranges.append((low, high))
    return _make_class(ranges, separator, negated=negated), position + 1


def _read_member(pattern: str, position: int) -> tuple[str, int]:
    position += pattern.startswith("\\", position)
    if position >= len(pattern):
        raise ValueError(f"pattern `{pattern}` has a `[` without its `]`")
    return pattern[position], position + 1


def _make_class(ranges: list[tuple[str, str]], separator: str | None, *, negated: bool) -> _Class:
    if separator is not None and negated:
        ranges = [*ranges, (separator, separator)]
    elif separator is not None:
        ranges = [part for low, high in ranges for part in _without(low, high, separator)]
    return _Class(tuple(ranges), negated)


def _without(low: str, high: str, separator: str) -> list[tuple[str, str]]:
    if not low <= separator <= high:
        return [(low, high)]
    below, above = chr(ord(separator) - 1), chr(ord(separator) + 1)
    return [(start, end) for start, end in ((low, below), (above, high)) if start <= end]


def _may_need_re2(tokens: Sequence[_Token], separator: str | None) -> bool:
    """Whether it may be for RE2, which alone can refuse a pattern that could be read: compile it at once."""
    if _Wild.FOLDERS in tokens:
        tokens = _simplify(tokens)  # `**/*?*` becomes an odd mix
    runs = [token for token in tokens if token in _RUNS]
    if _Wild.FOLDERS not in runs:
        return len({*runs}) > 1
    return separator is None or tokens[0] is not _Wild.FOLDERS or not {*runs[1:]} <= {_Wild.STAR}


def _has_negation(tokens: Sequence[_Token]) -> bool:
    return any(isinstance(token, _Class) and token.negated for token in tokens)


# --- folding and simplifying -------------------------------------------------------------------


def _fold_tokens(tokens: Sequence[_Token], separator: str | None) -> list[_Token]:
    folded: list[_Token] = []
    for token in tokens:
        match token:
            case str():
                folded.append(fold_text(token))
            case _Class(ranges, negated):
                folded.append(_make_class(_fold_ranges(ranges), separator, negated=negated))
            case _:
                folded.append(token)
    return [token for token in folded if token != ""]


def _fold_ranges(ranges: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Give the ranges of the folded characters; those that fold to several keep their plain reading."""
    points = {
        ord(character)
        for low, high in ranges
        for character in map(fold_text, map(chr, range(ord(low), ord(high) + 1)))
        if len(character) == 1
    }
    merged: list[tuple[str, str]] = []
    for point in sorted(points):
        if merged and ord(merged[-1][1]) == point - 1:
            merged[-1] = (merged[-1][0], chr(point))
        else:
            merged.append((chr(point), chr(point)))
    return merged


def _simplify(tokens: Sequence[_Token]) -> tuple[_Token, ...]:
    """Join neighbouring runs, so that one string has one simple shape."""
    simple: list[_Token] = []
    for token in tokens:
        simple.append(token)
        while len(simple) > 1 and (joined := _join_runs(simple[-2], simple[-1])):
            simple[-2:] = [joined]
    return tuple(simple)


def _join_runs(left: _Token, right: _Token) -> _Wild | None:
    if left not in _RUNS or right not in _RUNS:
        return None
    if left is right and isinstance(left, _Wild):
        return left
    if left is _Wild.STAR and right is _Wild.FOLDERS:
        return None
    return _Wild.ANY  # `**/*` is any run: it splits at the last separator


# --- compiling ---------------------------------------------------------------------------------


class _Shape:
    """What a text must be, begin with, end in or hold to match a pattern, or else a function to ask."""

    __slots__ = ("ends", "equals", "otherwise", "starts", "within")

    def __init__(
        self,
        *,
        equals: tuple[str, ...] = (),
        starts: tuple[str, ...] = (),
        ends: tuple[str, ...] = (),
        within: tuple[str, ...] = (),
        otherwise: _Matches | None = None,
    ) -> None:
        self.equals = equals
        self.starts = starts
        self.ends = ends
        self.within = within
        self.otherwise = otherwise

    def matches(self, text: str) -> bool:
        return (
            text in self.equals
            or text.startswith(self.starts)
            or text.endswith(self.ends)
            or any(part in text for part in self.within)
            or (self.otherwise is not None and self.otherwise(text))
        )

    def as_function(self) -> _Matches:
        """Give the plainest function that does the same."""
        match self.equals, self.starts, self.ends, self.within:
            case ((text,), (), (), ()):
                return text.__eq__
            case ((), (head,), (), ()):
                return lambda text: text.startswith(head)
            case ((), (), (tail,), ()):
                return lambda text: text.endswith(tail)
            case _:
                return self.otherwise or self.matches


def _shape(tokens: tuple[_Token, ...], separator: str | None) -> _Shape:
    end = separator or "/"
    match tokens:
        case (str(text),):
            return _Shape(equals=(text,))
        case (str(head), _Wild.ANY):
            return _Shape(starts=(head,))
        case (_Wild.ANY, str(tail)):
            return _Shape(ends=(tail,))
        case (_Wild.ANY, str(middle), _Wild.ANY):
            return _Shape(within=(middle,))
        case (_Wild.FOLDERS, str(tail)):
            return _Shape(equals=(tail,), ends=(end + tail,))
        case (_Wild.FOLDERS, str(head), _Wild.ANY):
            return _Shape(starts=(head,), within=(end + head,))
        case _:
            return _Shape(otherwise=_as_string_methods(tokens, end) or _as_regex(tokens, separator))


def _as_regex(tokens: tuple[_Token, ...], separator: str | None) -> _Matches:
    crossing = [token for token in tokens if token in (_Wild.ANY, _Wild.FOLDERS)]
    if not crossing or (_Wild.STAR not in tokens and _Wild.FOLDERS not in crossing):
        return _as_atomic_regex(tokens, separator)
    if separator is not None and crossing == [_Wild.FOLDERS]:
        match tokens:
            case (_Wild.FOLDERS, *tail):
                return _as_last_names("", tail, separator)
            case (str(head), _Wild.FOLDERS, *tail) if head.endswith(separator):
                return _as_last_names(head, tail, separator)
            case _:
                pass
    return _as_re2(tokens, separator)


def _as_string_methods(tokens: tuple[_Token, ...], separator: str) -> _Matches | None:
    match tokens:
        case (_Wild.ANY,):
            return lambda _: True
        case (_Wild.STAR,):
            return lambda text: separator not in text
        case (_Wild.STAR, str(tail)):
            return _starred("", tail, separator)
        case (str(head), _Wild.STAR):
            return _starred(head, "", separator)
        case (str(head), _Wild.STAR, str(tail)):
            return _starred(head, tail, separator)
        case (str(head), _Wild.ANY, str(tail)):
            least = len(head) + len(tail)
            return lambda text: len(text) >= least and text.startswith(head) and text.endswith(tail)
        case (str(head), _Wild.FOLDERS, str(tail)):
            return _with_folders(head, separator + tail, head + tail)
        case _:
            return None


def _starred(head: str, tail: str, separator: str) -> _Matches:
    start, end = len(head), len(tail)

    def matches(text: str) -> bool:
        stop = len(text) - end
        return (
            stop >= start
            and text.startswith(head)
            and text.endswith(tail)
            and text.find(separator, start, stop) < 0
        )

    return matches


def _with_folders(head: str, tail: str, direct: str) -> _Matches:
    least = len(head) + len(tail)

    def matches(text: str) -> bool:
        return text == direct or (len(text) >= least and text.startswith(head) and text.endswith(tail))

    return matches


def _as_last_names(head: str, tail: Sequence[_Token], separator: str) -> _Matches:
    """Compile `head/**/tail`, where nothing in the tail crosses: it is the last so many names."""
    match_tail = _as_atomic_regex(tail, separator)
    count = 1 + sum(token.count(separator) for token in tail if isinstance(token, str))
    least = len(head)

    def matches(text: str) -> bool:
        if not text.startswith(head):
            return False
        start = len(text)
        for _ in range(count):
            start = text.rfind(separator, 0, max(start, 0))
        return start + 1 >= least and match_tail(text[start + 1 :])

    return matches


def _as_atomic_regex(tokens: Sequence[_Token], separator: str | None) -> _Matches:
    """Compile a pattern with one kind of run: what stands between two runs matches first-come.

    Each piece has a fixed length, so its first place is also its best and nothing need be retried.
    """
    one = _one(separator)
    run = "(?s:.)" if _Wild.ANY in tokens else one
    pieces: list[str] = [""]
    for token in tokens:
        if token in _RUNS:
            pieces.append("")
        else:
            pieces[-1] += _atom(token, one, re.escape)
    if len(pieces) == 1:
        return _full_match(pieces[0])
    first, *between, last = pieces
    return _full_match(first + "".join(f"(?>{run}*?{piece})" for piece in between) + f"{run}*{last}")


def _full_match(regex: str) -> _Matches:
    match_whole: Callable[[str], re.Match[str] | None] | None = None

    def matches(text: str) -> bool:
        nonlocal match_whole
        if match_whole is None:  # only now: most patterns of a policy are never asked, and relays start often
            match_whole = re.compile(regex).fullmatch
        return match_whole(text) is not None

    return matches


def _as_re2(tokens: tuple[_Token, ...], separator: str | None) -> _Matches:
    one = _one(separator)
    folder_end = re.escape(separator or "/")
    runs = {_Wild.STAR: f"{one}*", _Wild.ANY: "(?s:.)*", _Wild.FOLDERS: f"(?:(?s:.)*{folder_end})?"}
    regex = "".join(
        runs[token] if isinstance(token, _Wild) and token in runs else _atom(token, one, _escape_for_re2)
        for token in tokens
    )
    return compile_regex(regex, whole=True)


def _escape_for_re2(text: str) -> str:
    return re.sub(r"[^\w]", lambda character: f"\\x{{{ord(character[0]):X}}}", text)


def _one(separator: str | None) -> str:
    return "(?s:.)" if separator is None else f"[^{re.escape(separator)}]"


def _atom(token: _Token, one: str, escape: Callable[[str], str]) -> str:
    match token:
        case str(text):
            return escape(text)
        case _Class(ranges, negated):
            members = "".join(f"{_member(low)}-{_member(high)}" for low, high in ranges)
            if not members:
                return r"[^\x00-\U0010ffff]" if escape is re.escape else r"[^\x00-\x{10FFFF}]"
            return f"[{'^' if negated else ''}{members}]"
        case _:
            return one


def _member(character: str) -> str:
    return f"\\{character}" if character in r"\]^-[&~|" else character
