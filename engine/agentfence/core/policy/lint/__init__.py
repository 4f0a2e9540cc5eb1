"""What is doubtful in a policy that loads: `lint` finds it, `CODES` names it."""

from __future__ import annotations

from agentfence.core.policy.lint.checks import CODES, lint

__all__ = ["CODES", "lint"]
