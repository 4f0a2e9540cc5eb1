"""`agentfence validate`: say what is wrong in policies and, with `--lint`, what is doubtful."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING

from agentfence.cli.loading import load, read_file
from agentfence.cli.terminal import Paint, say
from agentfence.core.errors import PolicyError, UsageError
from agentfence.core.policy.rendering import problem_as_json, render_text
from agentfence.policy_files import find_policy

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from agentfence.core.errors import Problem
    from agentfence.core.policy.tool_definitions import ToolDefinition

_DOUBTFUL = 1
_MAX_TOOLS_BYTES = 64 * 1024 * 1024
_WITH_SERVER = re.compile(r"([^/=*?\[\\]+)=(.+)", re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "policies", metavar="POLICY", nargs="*", help="policies; without one that which a run would use"
    )
    parser.add_argument("--policy", metavar="FILE", action="append", default=[], help="one more policy")
    parser.add_argument("--lint", action="store_true", help="also say what is doubtful")
    parser.add_argument(
        "--strict", action="store_true", help="as --lint, and exit with 1 when anything is doubtful"
    )
    parser.add_argument(
        "--tools",
        metavar="[SERVER=]FILE",
        action="append",
        default=[],
        help="an answer to tools/list, to hold the policy to; may be given again; as --lint",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how problems are printed (default: text)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Validate the policies; give the exit status."""
    tools = [tool for text in arguments.tools for tool in _read_tools(text)]
    lints = bool(arguments.lint or arguments.strict or tools)
    names = [*arguments.policies, *arguments.policy] or [find_policy(None, os.environ).reference]
    errors: list[Problem] = []
    warnings: list[Problem] = []
    fine: list[str] = []
    for name in names:
        try:
            found = _warnings(name, tools, lints=lints)
        except PolicyError as error:
            errors += error.problems
        else:
            warnings += found
            if not found:
                fine.append(name)
    _print(errors, warnings, fine, arguments.format)
    if errors:
        return PolicyError.exit_status
    return _DOUBTFUL if warnings and arguments.strict else 0


def _warnings(name: str, tools: Sequence[ToolDefinition], *, lints: bool) -> tuple[Problem, ...]:
    loaded = load(name)
    if not lints:
        return loaded.problems
    from agentfence.core.policy.lint import lint

    return (*loaded.problems, *lint(loaded, time.time(), tools))


def _read_tools(text: str) -> tuple[ToolDefinition, ...]:
    from agentfence.core.policy.tool_definitions import read_tool_definitions

    named = _WITH_SERVER.fullmatch(text)
    server, name = (named[1], named[2]) if named else (None, text)
    try:
        return read_tool_definitions(read_file(name, _MAX_TOOLS_BYTES), server)
    except ValueError as error:
        raise UsageError(f"`{name}` holds no tools: {error}") from error


def _print(errors: Sequence[Problem], warnings: Sequence[Problem], fine: Iterable[str], format_: str) -> None:
    if format_ == "json":
        rows = [{"severity": "error", **problem_as_json(problem)} for problem in errors]
        rows += [{"severity": "warning", **problem_as_json(problem)} for problem in warnings]
        print(json.dumps(rows, ensure_ascii=False, indent=2))
    else:
        paint = Paint(sys.stdout)
        for severity, colour, problems in (("error", "red", errors), ("warning", "yellow", warnings)):
            for problem in problems:
                print(f"{paint(f'{severity}[{problem.code}]', colour)} {render_text([problem])}\n")
        for name in fine:
            print(f"{name}: {paint('ok', 'green')}")
    say(f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}")


def _counted(problems: Sequence[Problem], name: str) -> str:
    return f"{len(problems)} {name}{'' if len(problems) == 1 else 's'}"
