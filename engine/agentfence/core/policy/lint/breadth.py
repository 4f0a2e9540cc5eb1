"""Lint of patterns and expressions that are broader than they look."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.command_launching import program_name
from agentfence.core.policy.building import text_of
from agentfence.core.policy.lint.basis import ToolPattern, texts_at
from agentfence.core.policy.model import Verdict
from agentfence.core.policy.nodes import Items, Scalar, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis, Block
    from agentfence.core.policy.nodes import Node, Path

_CATCH_ALLS = frozenset({"*", "**"})
_OPEN_ENDED_NAME = re.compile(r"[A-Za-z0-9]\*{1,2}\Z")
_OPEN_ENDED_FOLDER = re.compile(r"[\w-]\*\*(?:/|\Z)")
_LETTERS_AND_MORE = re.compile(r"\[[^\]]*(?<!\\)A-z")
_LOOSE_DOT = re.compile(r"(?<=[A-Za-z0-9])(?<!\\)\.(?=[A-Za-z0-9])")
_EVERYTHING = re.compile(r"\^?(?:\(\?s\))?\.[*+]\$?")
_TOP_LEVEL_CHOICE = re.compile(r"\^[^()|]*\|[^()|]*\$|\^[^()|]*\||\|[^()|]*\$")
_WIDE_HOST = re.compile(r"(?:\*|[A-Za-z][A-Za-z0-9+.-]*)://\*\.([^/:?]+)")
_SHARED_TEXT = """
    co.uk com.au co.jp com.br github.io gitlab.io pages.dev workers.dev netlify.app vercel.app herokuapp.com
    web.app firebaseapp.com appspot.com run.app azurewebsites.net blob.core.windows.net cloudfront.net
    amazonaws.com s3.amazonaws.com ngrok.io ngrok-free.app trycloudflare.com
"""
_SHARED = frozenset(_SHARED_TEXT.split())
"""Names below which anybody can have a host; the best known, not all."""
_RUNS_OTHERS_TEXT = """
    sh bash dash zsh fish ksh python python3 node deno bun perl ruby php lua awk sed vim vi make npm npx pnpm
    yarn pip uv uvx docker podman tar rsync
"""
_RUNS_OTHERS = frozenset(_RUNS_OTHERS_TEXT.split())
"""Programs that run code because of a file or an option that the constraint does not look into."""


def broad_tool_patterns(basis: Basis) -> Iterator[Problem]:
    """Find patterns that allow tools which only begin alike."""
    for rule, entry in basis.rules():
        if rule.decision is not Verdict.ALLOW:
            continue
        for pattern in basis.patterns_of(rule, entry):
            name = pattern.text.rpartition("/")[2]
            if name in _CATCH_ALLS:
                why, advice = (
                    "it allows every tool, also one that comes later",
                    "list the tools that are meant",
                )
                yield _broad(pattern, why, advice)
            elif _OPEN_ENDED_NAME.search(name):
                stem = name.rstrip("*")
                why = f"it also fits longer words, as `{stem}xyz`"
                yield _broad(pattern, why, f"write `{stem}_*`, or list the tools that are meant")


def broad_values(basis: Basis) -> Iterator[Problem]:
    """Find patterns and expressions in constraints that let more pass than they look like."""
    for block in basis.blocks():
        match block.kind:
            case "paths":
                yield from _paths(block)
            case "urls":
                yield from _urls(block)
            case "command":
                yield from _commands(block)
            case "args":
                yield from _arguments(block)
            case "schema":
                yield from _schema(block.node, block.path)
            case _:
                pass


def _paths(block: Block) -> Iterator[Problem]:
    for pattern in texts_at(block.node, "allow", block.path):
        if _OPEN_ENDED_FOLDER.search(pattern.text):
            stem = pattern.text.partition("**")[0]
            why = f"it also fits other folders, as `{stem}-old/x`"
            yield _broad(pattern, why, f"write `{stem}/**` for all below that folder")
        yield from _letters(pattern)


def _urls(block: Block) -> Iterator[Problem]:
    for pattern in texts_at(block.node, "allow", block.path):
        wide = _WIDE_HOST.match(pattern.text)
        below = wide[1].lower() if wide else ""
        if below and ("." not in below or below in _SHARED):
            why = f"anybody can have a host below `{below}`"
            yield _broad(pattern, why, "write out the hosts that are meant")
        path = pattern.text.partition("://")[2].partition("/")[2]
        if _OPEN_ENDED_FOLDER.search(path):
            stem = path.partition("**")[0]
            why = f"it also fits other paths, as `/{stem}-old/x`"
            yield _broad(pattern, why, f"write `/{stem}/**` for all below that path")


def _commands(block: Block) -> Iterator[Problem]:
    for program in texts_at(block.node, "allow_executables", block.path):
        if program_name(program.text) in _RUNS_OTHERS and "allow" not in block.node.entries:
            why = "it runs other programs, or code, when its arguments say so"
            yield _broad(program, why, "list whole commands under `allow`")
    for entry in texts_at(block.node, "allow", block.path):
        first, _, rest = entry.text.strip().partition(" ")
        if "*" in first:
            yield _broad(entry, "it allows every program that fits", "write the program out")
        elif program_name(first) in _RUNS_OTHERS and rest.lstrip().startswith("*"):
            why = f"`{first}` runs other programs, or code, when its arguments say so"
            yield _broad(entry, why, "write the first argument out")


def _arguments(block: Block) -> Iterator[Problem]:
    for name, entry in block.node.entries.items():
        if not isinstance(entry.value, Table):
            continue
        path = (*block.path, name)
        for pattern in texts_at(entry.value, "allow", path):
            if pattern.text == "**":
                yield _broad(pattern, "it fits every value", "leave it out, or say what may come")
            yield from _letters(pattern)
        regex = entry.value.get("regex")
        if isinstance(regex, Scalar):
            yield from _expression(regex, (*path, "regex"))


def _expression(node: Scalar, path: Path) -> Iterator[Problem]:
    pattern = ToolPattern(text_of(node), node.position, path)
    if _EVERYTHING.fullmatch(pattern.text):
        yield _broad(pattern, "it fits every value", "leave it out, or say what may come")
    elif _LOOSE_DOT.search(re.sub(r"\[[^\]]*\]", "", pattern.text)):
        yield _broad(pattern, "a `.` fits any character", r"write `\.` for a dot")
    yield from _letters(pattern)


def _letters(pattern: ToolPattern) -> Iterator[Problem]:
    if _LETTERS_AND_MORE.search(pattern.text):
        yield _broad(pattern, "`A-z` also holds `[`, `\\`, `]`, `^`, `_` and a backquote", "write `A-Za-z`")


def _schema(node: Node, path: Path) -> Iterator[Problem]:
    """Find `pattern`s of a JSON Schema, which fit anywhere in a text unless they are anchored."""
    if isinstance(node, Items):
        for index, item in enumerate(node.items):
            yield from _schema(item, (*path, index))
    if not isinstance(node, Table):
        return
    for key, entry in node.entries.items():
        here = (*path, key)
        if key == "pattern" and isinstance(entry.value, Scalar):
            yield from _schema_pattern(entry.value, here)
        elif key not in ("enum", "const", "default", "examples"):
            yield from _schema(entry.value, here)


def _schema_pattern(node: Scalar, path: Path) -> Iterator[Problem]:
    pattern = ToolPattern(text_of(node), node.position, path)
    if not pattern.text.startswith(("^", r"\A")) or not pattern.text.endswith(("$", r"\z")):
        why = "in a schema an expression may fit anywhere in the text"
        yield _broad(pattern, why, "begin it with `^` and end it with `$`")
    elif _TOP_LEVEL_CHOICE.search(pattern.text):
        yield _broad(pattern, "`^` and `$` belong to one choice each", "write `^(?:a|b)$`")
    else:
        yield from _expression(node, path)


def _broad(pattern: ToolPattern, why: str, advice: str) -> Problem:
    message = f"`{pattern.text}` is broader than it looks: {why}"
    return pattern.position.problem("broad_pattern", message, pattern.path, advice)
