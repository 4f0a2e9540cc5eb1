"""Where a server may send a person: the URLs of `elicitation/create`.

MCP 2025-11-25 and later, client/elicitation: https, and nothing of the person in the URL. Which hosts
is up to the policy's `elicitation:`; without it public names are meant, as for any URL.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import BuildContext, Circumstances
from agentfence.core.decision import Decision
from agentfence.core.policy.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Constraint, Json

METHOD = "elicitation/create"
_RULE = "elicitation"
_NOWHERE = Circumstances(0.0)


def refusal_of_url(params: Mapping[str, Json], urls: Constraint | None) -> Decision | None:
    """Give the refusal of an elicitation that leads a person where it may not; None for any other."""
    if params.get("mode", "form") == "form" and "url" not in params:
        return None
    failure = (urls or _usual_urls()).check({"url": params.get("url")}, _NOWHERE)
    if failure is not None:
        reason = failure.reason.replace("argument `url`", "an elicitation")
        return Decision(Verdict.DENY, failure.code, reason, _RULE)
    if not str(params["url"]).lstrip().lower().startswith("https:"):
        return Decision(Verdict.DENY, "url_not_allowed", "the URL in an elicitation is not https", _RULE)
    return None


@cache
def _usual_urls() -> Constraint:
    from agentfence.core.constraints.urls import build  # its URL parser is needed for nothing else here

    return build({}, BuildContext())
