"""The tables of options in docs/http.md and docs/stdio.md, made from the table in the code.

    PYTHONPATH=engine:tests python -m docs.option_tables

prints them, to be pasted when an option was added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.flags import TOGGLES
from agentfence.mitm.host_options import FORCED, UNSET
from agentfence.settings import OPTIONS

if TYPE_CHECKING:
    from agentfence.settings import Option


def http_table() -> str:
    """The options of the proxy."""
    rows = [
        (f"`{option.host_option}`", _flag(option), f"`{option.variable}`", _default(option), _meaning(option))
        for option in OPTIONS
        if option.on_http
    ]
    return _table(("option of mitmproxy", "flag", "variable", "default", "what"), rows)


def stdio_table() -> str:
    """The options of the relay."""
    rows = [
        (_flag(option), f"`{option.variable}`", _default(option), _meaning(option))
        for option in OPTIONS
        if option.on_relay
    ]
    return _table(("flag", "variable", "default", "what"), rows)


def forced_table() -> str:
    """What mitmproxy's own options must be."""
    return _table(
        ("option", "must be"), [(f"`{name}`", f"`{str(value).lower()}`") for name, value in FORCED.items()]
    )


def unset_list() -> str:
    """What must stay unset of mitmproxy's own options."""
    return ", ".join(f"`{name}`" for name in UNSET) + "."


def _flag(option: Option) -> str:
    if option.name in TOGGLES:
        return f"`{option.flag}`, `--no-{option.flag[2:]}`"
    return f"`{option.flag} {'|'.join(option.choices) or option.metavar}`".replace("|", r"\|")


def _default(option: Option) -> str:
    return f"`{option.default}`" if option.default else "–"


def _meaning(option: Option) -> str:
    return option.help.replace("|", r"\|")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    first, *others = ("| " + " | ".join(cells) + " |" for cells in (head, *rows))
    return "\n".join((first, "|" + "---|" * len(head), *others))


GENERATED = {
    ("docs/http.md", "options"): http_table,
    ("docs/stdio.md", "options"): stdio_table,
    ("docs/http.md", "forced"): forced_table,
    ("docs/http.md", "unset"): unset_list,
}
"""By page and mark: what must stand between `<!-- MARK -->` and `<!-- end -->`."""

if __name__ == "__main__":
    for (page, mark), make in GENERATED.items():
        print(f"--- {page}, {mark}\n{make()}\n")
