"""Texts that everybody writes, so that whoever writes them has not copied them: for taint.

Only what is long enough to count there by itself, and steers nothing: no address of one owner.
"""

from __future__ import annotations

_WORDS = """
accessibility accountability administration administrative administrator advertisement announcement
architecture authenticated authentication authorization automatically availability characteristics
characters collaboration collaborator communication compatibility configuration configurations
confirmation congratulations consideration considerations constructor contributing contributions
conversation corresponding credentials dependencies deployments description descriptions development
differences documentation effectiveness environment environments establishment experimental
functionality functionalities fundamental identification implementation implementations implemented
improvements inconsistency independently individually infrastructure initialization initialize
instructions instrumentation integrations intelligence international internationalization investigation
localization maintainability maintenance manufacturing miscellaneous multiplication neighborhood
nevertheless notification notifications opportunities optimization organization organizations
participants particularly performance permissions personalization perspective possibilities
preferences prerequisites presentation productivity professional programming recommendation
recommendations registration relationship relationships representation representative requirements
responsibilities responsibility satisfaction serialization significantly simultaneously specification
specifications straightforward subscription subscriptions successfully synchronization
telecommunications transformation transportation troubleshooting understanding unfortunately university
verification visualization vulnerabilities vulnerability
"""
_FORMS = (
    "Content-Type: application/json; charset=utf-8",
    *("application/octet-stream", "application/x-www-form-urlencoded", "multipart/form-data"),
    *("text/event-stream", "text/plain; charset=utf-8", "text/html; charset=utf-8", "Authorization: Bearer"),
    *("https://www.google.com/search?q=", "https://github.com/", "https://api.github.com/repos/"),
    *("https://raw.githubusercontent.com/", "https://docs.google.com/", "https://en.wikipedia.org/wiki/"),
    *("https://stackoverflow.com/questions/", "https://docs.python.org/3/", "https://developer.mozilla.org/"),
    "https://www.youtube.com/watch?v=",
    *("http://localhost:8080/", "http://127.0.0.1:8000/", "https://example.com/", "https://www.example.com/"),
    *("refs/heads/main", "/usr/local/bin/", "node_modules/", "2>/dev/null", "Lorem ipsum dolor sit amet"),
    '<!DOCTYPE html><html><head><title></title></head><body><div class="',
    '<html lang="en"><head><meta charset="utf-8"><title>',
    '<meta name="viewport" content="width=device-width, initial-scale=1.0">',
    *("</p></div></body></html>", "</li></ul></div></body></html>", "</script></body></html>"),
    *('<?xml version="1.0" encoding="UTF-8"?>', "http://www.w3.org/2000/svg", "xmlns:xlink="),
    '"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"type": "string"',
    '"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {',
    *(
        "#!/usr/bin/env python3",
        "from __future__ import annotations",
        "0123456789",
        "abcdefghijklmnopqrstuvwxyz",
    ),
)
COMMON_TEXTS = (*_WORDS.split(), *_FORMS)
