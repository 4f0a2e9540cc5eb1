"""What is doubtful in a policy that loads: each warning has a code, a place and a fix.

The codes are stable, and each has a heading in docs/cli.md.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.policy.imports import PACKAGED
from agentfence.core.policy.lint.arguments import uncovered_arguments, unknown_arguments, unknown_tools
from agentfence.core.policy.lint.basis import Basis
from agentfence.core.policy.lint.breadth import broad_tool_patterns, broad_values
from agentfence.core.policy.lint.matching import (
    hidden_subjects,
    literal_braces,
    misspelt_methods,
    misspelt_servers_of_tests,
    unmatched_tools,
)
from agentfence.core.policy.lint.narrowness import named_servers_alone, narrow_values
from agentfence.core.policy.lint.notation import (
    foreign_paths,
    foreign_tool_names,
    groups_as_tools,
    regular_expressions,
    texts_like_values,
)
from agentfence.core.policy.lint.overtaking import overtaken_denials
from agentfence.core.policy.lint.probing import unmatched_values
from agentfence.core.policy.lint.rules import (
    bare_allows,
    expiries,
    groups_without_rule,
    hidden_patterns,
    open_methods,
    unredacted_arguments,
    without_effect,
)
from agentfence.core.policy.nodes import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.errors import Problem
    from agentfence.core.policy.load import LoadedPolicy
    from agentfence.core.policy.tool_definitions import ToolDefinition

CODES = MappingProxyType(
    {
        "hidden_pattern": "a pattern never decides, because one that comes first covers all that it does",
        "group_without_rule": "a group has no rule, so it has no effect",
        "bare_allow": "a tool is allowed on every server, in a policy that names its servers",
        "uncovered_argument": "an argument looks like a path or a URL, and no field covers it",
        "rule_expired": "a rule has expired, so it denies",
        "rule_expires_soon": "a rule expires within 30 days",
        "unmatched_pattern": "a pattern or value can never match, or never makes a difference",
        "unknown_argument": "a constraint reads an argument that the tool does not have",
        "always_denied": "a constraint asks for arguments that one of the rule's tools does not have",
        "unknown_tool": "a rule is for a tool that no server has",
        "unredacted_arguments": "arguments are written to the audit log as they are",
        "broad_pattern": "a pattern or expression is broader than it looks",
        "narrow_pattern": "a pattern denies less than it looks",
        "without_effect": "what a rule or a section says counts for nothing",
        "open_methods": "tools are denied by default, and all other messages are allowed",
    }
)
_CHECKS = (
    hidden_patterns,
    overtaken_denials,
    groups_without_rule,
    bare_allows,
    expiries,
    open_methods,
    unredacted_arguments,
    without_effect,
    unmatched_tools,
    foreign_tool_names,
    groups_as_tools,
    regular_expressions,
    foreign_paths,
    texts_like_values,
    literal_braces,
    misspelt_methods,
    misspelt_servers_of_tests,
    hidden_subjects,
    unmatched_values,
    broad_tool_patterns,
    broad_values,
    narrow_values,
    named_servers_alone,
    uncovered_arguments,
    unknown_arguments,
    unknown_tools,
)


def lint(loaded: LoadedPolicy, time: float, tools: Iterable[ToolDefinition] = ()) -> tuple[Problem, ...]:
    """Give the warnings about a policy, in order of place; `time` is now, `tools` what servers offer.

    What stands in a packaged policy that is imported is not the importer's to fix, and left out.
    """
    document = loaded.document
    basis = Basis(loaded.policy, document.table, document.is_original, time, tuple(tools))
    problems = [problem for check in _CHECKS for problem in check(basis)]
    own = [
        problem
        for problem in problems
        if problem.place.file == document.file.name or not problem.place.file.startswith(PACKAGED)
    ]
    return in_order(dict.fromkeys(own), document.file.name)
