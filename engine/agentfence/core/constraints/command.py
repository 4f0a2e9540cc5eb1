"""The `command` constraint: which programs a call may run, and with which arguments.

A text is a line for a shell, a list is a program and its arguments; `argv` joins fields to one
command. What counts as the same command is `command_judging`'s matter.

- Every field that is there is judged; what is denied in one goes before what is not allowed in another.
- A text that is a JSON list is judged as a list too: FastMCP makes one of it.
- In policies of the Go AgentFence a list is no command, and all commands in a line are checked, where
  it looked at the first word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from agentfence.core.constraints.command_judging import CommandRules, Problem, Syntax
from agentfence.core.constraints.command_patterns import compile_allowed, compile_denied
from agentfence.core.constraints.effort import TOO_MUCH
from agentfence.core.constraints.fields import Selectors, build_fields, text_readings, twin_failure
from agentfence.core.constraints.interface import Failure, SpecError, together
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agentfence.core.constraints.command_patterns import AllowedCommands, DeniedCommands
    from agentfence.core.constraints.fields import Selector
    from agentfence.core.constraints.interface import Arguments, BuildContext, Circumstances, Json

_OPERATORS = ";|&()`$\n"
_LISTS = ("allow", "allow_executables", "deny_patterns")
_MISPLACED = True  # stands for something where an object should be: neither a text nor a list
_NO_TEXT = "is neither a text nor a list of texts"


@frozen
class CommandConstraint:
    """One compiled `command` block."""

    rules: CommandRules
    fields: Selectors | None
    argv: Selectors | None
    takes_lists: bool

    @property
    def kind(self) -> str:
        """The key in the policy."""
        return "command"

    def constrained_fields(self) -> tuple[str, ...]:
        """Give the top-level arguments that may hold a command or a part of one."""
        parts = [selectors.top_levels for selectors in (self.fields, self.argv) if selectors]
        return tuple(dict.fromkeys(name for names in parts for name in names))

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the first failure of the commands that the fields hold."""
        failures = self._find_failures(arguments, circumstances)
        for failure in failures:
            if not failure.allow_list:
                return failure
        return together(failures) if failures else None

    def _find_failures(self, arguments: Arguments, circumstances: Circumstances) -> list[Failure]:
        failures: list[Failure] = []
        for selectors, judge in ((self.fields, self._judge_fields), (self.argv, self._judge_argv)):
            if selectors is None:
                continue
            twin = selectors.find_twin(arguments)
            if twin is not None:
                failures.append(twin_failure(twin, "command_missing"))
            failures += judge(selectors, arguments, circumstances)
        return failures

    def _judge_fields(
        self, selectors: Selectors, arguments: Arguments, circumstances: Circumstances
    ) -> list[Failure]:
        failures: list[Failure] = []
        is_found = False
        for selector in selectors:
            values, _ = find_values(selector, arguments)
            for value in _elements(values) if selector.text.endswith("[*]") else values:
                is_found = True
                if not circumstances.affords(_cost(value)):
                    return [_failure(Problem("command_syntax", TOO_MUCH), selector)]
                problem = self._judge(value)
                if problem is not None:
                    failures.append(_failure(problem, selector))
        return failures if is_found else [_missing(selectors)]

    def _judge_argv(
        self, selectors: Selectors, arguments: Arguments, circumstances: Circumstances
    ) -> list[Failure]:
        parts = [find_values(selector, arguments) for selector in selectors]
        if not parts[0][0]:
            return [_missing(selectors[:1])]
        texts = list(_elements(value for values, _ in parts for value in values))
        if not circumstances.affords(_cost(texts)):
            return [_failure(Problem("command_syntax", TOO_MUCH), selectors[0])]
        is_list = any(is_list for _, is_list in parts)
        problems = self._judge_parts(texts, is_list=is_list)
        return [_failure(problem, selectors[0]) for problem in problems if problem is not None]

    def _judge_parts(self, texts: list[Json], *, is_list: bool) -> list[Problem | None]:
        """Judge texts that are joined: to a line where no list is among them."""
        if not _are_texts(texts):
            return [Problem("command_missing", _NO_TEXT)]
        problems = [self.rules.judge_list(texts) if is_list else self._judge_line(" ".join(texts))]
        readings = [text_readings(text) for text in texts]
        if any(len(reading) > 1 for reading in readings):
            expanded = [element for reading in readings for element in reading[1:] or reading]
            problems.append(self.rules.judge_list(expanded))
        return problems

    def _judge(self, value: Json) -> Problem | None:
        match value:
            case str():
                return _worse(self._judge_line(value), self._judge_text_of_list(value))
            case [] if self.takes_lists:
                return Problem("command_empty", "is empty")
            case list() if self.takes_lists and _are_texts(value):
                return self.rules.judge_list(value)
            case _:
                return Problem("command_missing", _NO_TEXT)

    def _judge_line(self, line: str) -> Problem | None:
        if not line:
            return Problem("command_missing", "is empty")
        if not line.strip():
            return Problem("command_empty", "is empty")
        return self.rules.judge_line(line)

    def _judge_text_of_list(self, line: str) -> Problem | None:
        _, *elements = text_readings(line)
        return self.rules.judge_list(elements) if elements else None


def _worse(one: Problem | None, other: Problem | None) -> Problem | None:
    """Give the problem that forbids, where one only lacks an allowance; else the first there is."""
    if one is None or (one.allow_list and other is not None and not other.allow_list):
        return other
    return one


def _cost(value: Json) -> int:
    """Give the microseconds that a command may cost: words, and operators several times as much."""
    match value:
        case str():
            return 16 + len(value) // 4 + 5 * sum(map(value.count, _OPERATORS))
        case list():
            return 16 + sum(map(_cost, value))
        case _:
            return 1


def find_values(selector: Selector, arguments: Arguments) -> tuple[list[Json], bool]:
    """Give what a selector finds, lists as a whole, and whether a list is there or on the way.

    Where the way leads through something that is no object, what is given is no text.
    """
    if selector.plain is not None:  # by far the usual case
        value = arguments.get(selector.plain)
        return [] if value is None else [value], isinstance(value, list)
    if not selector.readings:
        return [found.value for found in selector.select(arguments)], False
    values: list[Json] = []
    is_list = False
    for keys in selector.readings:
        reached: list[Json] = [arguments.get(keys[0])]
        for key in keys[1:]:
            is_list = is_list or any(isinstance(value, list) for value in reached)
            reached = [item.get(key) if isinstance(item, dict) else _MISPLACED for item in _elements(reached)]
        values += [value for value in reached if value is not None]
    return values, is_list or any(isinstance(value, list) for value in values)


def build(spec: Mapping[str, Any], context: BuildContext) -> CommandConstraint:
    """Give the constraint that a block of the policy describes.

    Raises:
        SpecError: a field, a pattern or an entry cannot be read, or there is no list.

    """
    if not any(key in spec for key in _LISTS):
        raise SpecError((), "expected at least one of `allow`, `allow_executables` and `deny_patterns`")
    for key in (*_LISTS, "argv"):
        if key in spec and not spec[key]:
            raise SpecError((key,), f"`{key}` is empty, expected at least one entry")
    executables = spec.get("allow_executables")
    has_allow_list = "allow" in spec or executables is not None
    default = Syntax.NONE if has_allow_list and not context.original else Syntax.ANY
    rules = CommandRules(
        syntax=Syntax(spec.get("syntax", default)),
        allowed=_build_allowed(spec["allow"]) if "allow" in spec else None,
        executables=None if executables is None else frozenset(executables),
        denied=_build_denied(spec["deny_patterns"], original=context.original)
        if "deny_patterns" in spec
        else None,
        is_posix=spec.get("shell") == "posix",
    )
    return CommandConstraint(
        rules,
        fields=build_fields(spec, ["command"]) if "fields" in spec or "argv" not in spec else None,
        argv=build_fields(spec, (), "argv") if "argv" in spec else None,
        takes_lists=not context.original,
    )


def _build_allowed(entries: Iterable[str]) -> AllowedCommands:
    try:
        return compile_allowed(entries)
    except ValueError as error:
        position, reason = error.args
        raise SpecError(("allow", position), reason) from None


def _build_denied(patterns: Sequence[str], *, original: bool) -> DeniedCommands:
    try:
        return compile_denied(patterns, original=original)
    except ValueError as error:
        position, reason = error.args
        raise SpecError(("deny_patterns", position), reason) from None


def _elements(values: Iterable[Json]) -> Iterator[Json]:
    """Give the values, with what is in a list in its place, at any depth; null is none but in a list."""
    waiting: list[Json] = []
    waiting += (value for value in values if value is not None)
    waiting.reverse()
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += reversed(value)
        else:
            yield value


def _are_texts(values: Sequence[Json]) -> TypeGuard[Sequence[str]]:
    return all(isinstance(value, str) for value in values)


def _missing(selectors: Sequence[Selector]) -> Failure:
    names = " or ".join(f"`{selector.text}`" for selector in selectors)
    return Failure("command_missing", f"missing required argument {names}", selectors[0].text)


def _failure(problem: Problem, selector: Selector) -> Failure:
    reason = f"argument `{selector.text}` {problem.reason}"
    return Failure(problem.code, reason, selector.text, allow_list=problem.allow_list)
