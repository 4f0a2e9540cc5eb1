"""Puts the approvals page into mitmweb's own application, behind its login.

mitmproxy has no interface for that. What is leaned on is looked at first, so that another version of
it has no page rather than one without a login.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from mitmproxy import version

if TYPE_CHECKING:
    from mitmproxy.master import Master

    from agentfence.mitm.surface import Surface

PATH: Final = "/agentfence/"
_log = logging.getLogger("agentfence")


def install_page(master: Master, surface: Surface) -> None:
    """Serve the page, where there is a mitmweb that this was written for; else say what to use."""
    application = getattr(master, "app", None)
    if application is None:  # mitmdump, the console, the launcher without a view
        return
    problem = _problem(application)
    if problem is not None:
        _log.warning(
            "the approvals page is not there, as mitmweb %s %s: resume and kill answer as ever",
            version.VERSION,
            problem,
        )
        return
    from agentfence.mitm.view.page import routes

    application.add_handlers(r".*", routes(surface))
    shown = str(getattr(master, "web_url", "")).partition("?")[0].rstrip("/")
    _log.info("the approvals page is at %s%s", shown, PATH)


def _problem(application: object) -> str | None:
    """Give what this mitmweb lacks to keep the page behind its login."""
    from mitmproxy.tools.web import app

    own = getattr(app, "RequestHandler", None)
    settings = getattr(application, "settings", {})
    if not isinstance(application, app.Application) or not callable(getattr(own, "get_current_user", None)):
        return "has another application"
    if not hasattr(own, "_require_auth"):
        return "asks for its token in another way"
    if settings.get("xsrf_cookies") is not True or "is_valid_password" not in settings:
        return "has no protection against forged requests"
    return None
