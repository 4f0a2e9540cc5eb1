"""One policy on top of another: what an importing file keeps, replaces and cannot undo.

Invariant: an import can make `mode`, `unlisted` and `pins` only stricter, and what it forbids or redacts
stays forbidden and redacted.
"""

from __future__ import annotations

from agentfence.core.policy.nodes import Entry, Items, Node, Table, plain

_BY_NAME = frozenset({"tools", "groups", "servers", "methods", "resources", "prompts"})
"""Sections in which each entry is replaced as a whole."""
_STRICTNESS = {
    "mode": ("observe", "enforce"),
    "unlisted": ("pass", "inspect", "block"),
    "pins": ("off", "observe", "require"),
}
"""Keys of which the stricter value holds, the loosest first."""
_DEFAULTS = {"mode": "enforce", "unlisted": "inspect", "pins": "off"}
_OF_THE_ROOT = ("version", "imports", "defaults", "tests")
"""What no import brings along."""
_STICKY = frozenset({("redaction", "enabled"), ("audit", "include_redacted_arguments"), ("taint", "enabled")})
"""What, once true, no importer can switch off in a policy of the Go AgentFence."""


def merge_documents(imported: Table, importer: Table, *, is_original: bool) -> Table:
    """Give `importer` on top of `imported`."""
    merged = dict(imported.without(*_OF_THE_ROOT).entries)
    for key, entry in importer.entries.items():
        present = merged.get(key)
        merged[key] = entry if present is None else _merge_entry(key, present, entry, is_original=is_original)
    return importer._replace(entries=merged)


def without_looser_imports(merged: Table, root: Node) -> Table:
    """Give the merged document without settings looser than the default that the root itself did not make."""
    own = root.entries if isinstance(root, Table) else {}
    looser = [
        key
        for key, order in _STRICTNESS.items()
        if key in merged.entries
        and key not in own
        and _rank(key, merged.entries[key]) < order.index(_DEFAULTS[key])
    ]
    return merged.without(*looser)


def _merge_entry(key: str, imported: Entry, importer: Entry, *, is_original: bool) -> Entry:
    match imported.value, importer.value:
        case Table() as below, Table() as above if key in _BY_NAME:
            return importer._replace(value=above._replace(entries={**below.entries, **above.entries}))
        case Table() as below, Table() as above:
            return importer._replace(value=_merge_section(key, below, above, is_original=is_original))
        case Items() as below, Items() as above if key == "forbid":
            return importer._replace(value=_union(below, above))
        case _ if key in _STRICTNESS and _rank(key, imported) > _rank(key, importer):
            return imported
        case _:
            return importer


def _merge_section(section: str, imported: Table, importer: Table, *, is_original: bool) -> Table:
    merged = dict(imported.entries)
    for key, entry in importer.entries.items():
        present = merged.get(key)
        is_sticky = is_original and (section, key) in _STICKY
        match present, entry.value:
            case Entry(value=Items() as below), Items() as above if (section, key) == (
                "redaction",
                "patterns",
            ):
                merged[key] = entry._replace(value=_union(below, above))
            case Entry(value=below), _ if is_sticky and plain(below) is True:
                pass
            case _:
                merged[key] = entry
    return importer._replace(entries=merged)


def _union(imported: Items, importer: Items) -> Items:
    """Give both lists, the imported one first, and nothing twice."""
    known: list[object] = []
    items: list[Node] = []
    for item in (*imported.items, *importer.items):
        value = plain(item)
        if value not in known:
            known.append(value)
            items.append(item)
    return importer._replace(items=tuple(items))


def _rank(key: str, entry: Entry) -> int:
    return _STRICTNESS[key].index(str(plain(entry.value)))
