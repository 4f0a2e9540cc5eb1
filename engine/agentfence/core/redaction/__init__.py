"""One redactor for everything that is written or shown: log, prompts, live view, terminal, errors."""

from __future__ import annotations

from agentfence.core.redaction.redactor import Redactor, build_redactor
from agentfence.core.redaction.work import Work

__all__ = ["Redactor", "Work", "build_redactor"]
