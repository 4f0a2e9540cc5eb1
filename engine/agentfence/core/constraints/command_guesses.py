"""What a command may run where nobody can say for certain: for deny lists, where a gap is a hole.

- A program that the fence does not know may run any of its words, and any text among them.
- An interpreter runs its code. Texts in quotes in it may be command lines, as in `os.system("rm x")`,
  also in several pieces, as in `["rm", "x"]`. What code puts together in other ways nobody sees.

A guess only ever denies: a text that cannot be read as a command line is passed over, as most such
texts are messages.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agentfence.core.constraints.command_known import DATABASES, INTERPRETERS, READERS_OF_CODE, runs_no_words
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentfence.core.constraints.shell_words import Word

WITHIN = "\x1f"
"""Stands for a blank within a word."""

_is_line = re.compile(r"[\s;&|`$(]").search
_without_version = re.compile(r"[-.\d]+\Z").sub
_is_code = re.compile(r"[\s;&|`$(!]").search
_find_escapes = re.compile(
    r"(?:^[ \t]*|(?<=[ \t;%]))[:.\\]*!([^\n]*)"
    r"|(?:^[ \t]*[:.\\]*|\[)(?:shell|system|spawn|exec|call)[ \t]([^\n]*)",
    re.MULTILINE,
).finditer
_without_option = re.compile(r"\A(?:-[A-Za-z]*?e|--expression=)").sub
_find_programs = re.compile(r"\bprogram\s+'([^']*)'", re.IGNORECASE).findall
_find_in_sed = re.compile(
    r"""s(?P<mark>[!-/:-@[\]-`{-~])(?:\\.|(?!(?P=mark)).)*(?P=mark)
        (?P<new>(?:\\.|(?!(?P=mark)).)*)(?P=mark)(?P<flags>\w*)
    | /(?:\\.|[^/\\\n])*/                                   # an address
    | :[ \t]*[^\s;}]+ | [btT][ \t]+[^\s;}]+                 # a label
    | [aci](?:\\|[ \t]+)[^\n]* | [rRwW][ \t]+[^\n]*         # a text, a file
    | e[ \t]*(?P<run>[^\n]+)
    | .""",
    re.VERBOSE | re.DOTALL,
).finditer
_is_code_option = re.compile(
    r"-[A-Za-z]*[ceErp]|--?(?:eval|execute|print|command)(?:=.*)?", re.DOTALL
).fullmatch
_QUOTED = re.compile(
    r"""(?P<triple>'''|\"{3})(?P<block>.*?)(?P=triple)"""
    r"""|(?P<quote>['"`])(?P<text>(?:[^\\'"`\n]|\\.|(?!(?P=quote))['"`])*+)(?P=quote)"""
    r"""|(?:\bq[qxw]?|%[xwWq])\s*(?:\{(?P<braced>[^}\n]{0,1000}+)\}|\((?P<grouped>[^)\n]{0,1000}+)\)"""
    r"""|\[(?P<listed>[^]\n]{0,1000}+)\]|(?P<mark>[/|!])(?P<marked>[^/|!\n]{0,1000}+))""",
    re.DOTALL,
)
_gives_code = re.compile(
    r"-[^-]*[cemErpnfFvVhl].*|--(?:eval|print|execute|version|help|test|check|run)\b.*", re.DOTALL
).fullmatch
_VALUED = frozenset(["-W", "-X"])
"""Options of Python with a value."""
_CONTENTS = ("block", "text", "braced", "grouped", "listed", "marked")
_LOOK_BACK = 32
_runs_next = re.compile(
    r"(?:(?:system|popen|exec\w*|spawn\w*|run|call|output|command|cmd)[\s(\[{]*|(?<!\|)\|&?\s*)\Z",
    re.IGNORECASE,
).search
_is_piped = re.compile(r"\s*\|(?!\|)").match
_takes_message = re.compile(
    r"-m|--?(?:body|comment|desc|description|label|message|msg|name|notes?|prompt|query|reason|search|subject"
    r"|summary|tags?|text|title)"
).fullmatch
_is_between = re.compile(r"[\s,\[(]*+").fullmatch
_unescape = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-3][0-7]{2})|(['\"`\\]))").sub


@frozen
class Guesses:
    """What a command may run."""

    texts: tuple[str, ...] = ()
    """Texts that may be command lines."""
    line: str = ""
    """All its words where each may be a program, a blank before each, and `WITHIN` for blanks within one."""


def find_guesses(name: str, words: Sequence[Word], inputs: Sequence[Word]) -> Guesses | None:
    """Give what a program may run; None for the many that are known to run nothing."""
    texts = [word.text for word in words]
    if " " in name:  # `tmux new "rm x"`
        return Guesses((" ".join([name, *texts]),))
    plain = name if name in INTERPRETERS else _without_version("", name)
    if plain == "sed":
        return Guesses(tuple(_find_run_by_sed([*texts, *(word.text for word in inputs)])))
    if plain in DATABASES:
        return Guesses(tuple(_find_in_sql([*texts, *(word.text for word in inputs)])))
    if plain in INTERPRETERS:
        code = [*texts, *(word.text for word in inputs)]
        takes_files = plain.endswith(("awk", "vi", "vim", "ex", "view"))
        runs_words = not takes_files and any(map(_is_code_option, texts))
        return Guesses(tuple(_find_in_code(code)), _join(texts) if runs_words else "")
    if runs_no_words(name, texts) or runs_no_words(plain, texts):
        return None
    code = texts if any(map(is_interpreter, texts)) else []
    return Guesses((*_find_lines(texts), *_find_in_code(code)), _join(texts))


def is_interpreter(word: str) -> bool:
    """Whether a program is told what to do in a language of its own."""
    name = word.rpartition("/")[2]
    return name in INTERPRETERS or _without_version("", name) in INTERPRETERS


def runs_unseen(words: Sequence[Word], *, is_piped: bool) -> bool:
    """Whether this is an interpreter that runs what another command writes, as it is given no other code."""
    if not words or _without_version("", words[0].text.rpartition("/")[2]) not in READERS_OF_CODE:
        return False
    texts = iter(word.text for word in words[1:])
    for text in texts:
        if text in _VALUED:
            next(texts, None)
        elif text in ("-", "/dev/stdin"):
            return is_piped
        elif not text.startswith("-") or _gives_code(text):
            return text.startswith("<(")
    return is_piped


def _find_lines(texts: Sequence[str]) -> Iterator[str]:
    for option, word in pairwise(("", *texts)):
        name, _, value = word.partition("=")
        if _takes_message(option) or _takes_message(name):
            continue
        for text in (word, value, word[2:]) if word.startswith("-") else (word,):
            if _is_line(text):
                yield text
            if _is_code(text):
                yield from _find_escapes_to_shell(text)


def _find_escapes_to_shell(text: str) -> Iterator[str]:
    """Give what stands behind `!`, `.shell` and the like in a line."""
    for escape in _find_escapes(text):
        yield (escape[1] or escape[2] or "").strip()


def _find_run_by_sed(scripts: Iterable[str]) -> Iterator[str]:
    """Give what `e` of sed runs, and what `s/…/…/e` makes of a line."""
    for found in (each for script in scripts for each in _find_in_sed(_without_option("", script))):
        if found["run"] or "e" in (found["flags"] or ""):
            yield found["run"] or found["new"]


def _find_in_sql(code: Iterable[str]) -> Iterator[str]:
    """Give what a database's shell runs: texts in quotes are values, but for those of `COPY … PROGRAM`."""
    for text in code:
        yield from _find_escapes_to_shell(text)
        yield from _find_programs(text)


def _find_in_code(code: Iterable[str]) -> Iterator[str]:
    for text in filter(_is_code, code):
        yield from _find_escapes_to_shell(text)
        yield from _find_quoted(text)


def _find_quoted(code: str) -> Iterator[str]:
    """Give the texts in quotes that are several words or run, and those beside each other as one line."""
    neighbours: list[str] = []
    end = 0
    for found in _QUOTED.finditer(code):
        if neighbours and not _is_between(code, end, found.start()):
            yield from _as_line(neighbours)
            neighbours.clear()
        text = _unescape(_decode, _content(found))
        if _is_line(text) or _is_run(code, found):
            yield text
        neighbours.append(text)
        end = found.end()
    yield from _as_line(neighbours)


def _content(quoted: re.Match[str]) -> str:
    return next(filter(None, quoted.group(*_CONTENTS)), "")


def _is_run(code: str, quoted: re.Match[str]) -> bool:
    """Whether a word in quotes is a program that is run, by the quotes or by what is beside them."""
    return (
        quoted["quote"] == "`"
        or quoted[0].startswith(("qx", "%x"))
        or _runs_next(code[max(0, quoted.start() - _LOOK_BACK) : quoted.start()]) is not None
        or _is_piped(code, quoted.end()) is not None
    )


def _as_line(texts: Sequence[str]) -> list[str]:
    return [" ".join(texts)] if len(texts) > 1 else []


def _decode(escape: re.Match[str]) -> str:
    byte, point, octal, character = escape.groups()
    return character or chr(int(byte or point or octal, 8 if octal else 16))


def _join(texts: Iterable[str]) -> str:
    return "".join(f" {text.replace(' ', WITHIN)}" for text in texts)
