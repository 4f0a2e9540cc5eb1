"""Paths in arguments: which files and folders a call may name.

Every reading of every path must lie inside a root, no reading may be denied, and each that a
server is likely to take must be on the allow list. Where the surface shares a disk with the
server, the place that links lead to is held to the same.

- Without roots only relative paths pass, and patterns see them as they are.
- A relative path is taken from the first root; deny lists see it below every root, as the server
  may start anywhere.
- Policies of the Go AgentFence have no roots, look only at the argument `path`, and let a call
  without it pass when they list no pattern.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from agentfence.core.constraints.effort import TOO_MUCH
from agentfence.core.constraints.fields import build_fields, collect_text, text_readings, uncovered
from agentfence.core.constraints.globs import literal_pattern
from agentfence.core.constraints.interface import Circumstances, Failure, SpecError
from agentfence.core.constraints.path_globs import deepen, is_wild
from agentfence.core.constraints.path_patterns import PathPatterns, compile_path_patterns
from agentfence.core.constraints.path_rewriting import OtherTexts, leads_elsewhere
from agentfence.core.constraints.path_roots import Root, below_roots, host_of, place_of, read_roots
from agentfence.core.constraints.path_text import LONGEST, Host, Refused, is_absolute, is_single, read_path
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentfence.core.constraints.fields import Selectors
    from agentfence.core.constraints.interface import Arguments, BuildContext, LinkResolver
    from agentfence.core.constraints.path_text import Reading


_COST_OF_TEXT, _COST_OF_PLACE, _COST_OF_LINKS = 32, 4, 6
"""Microseconds: of a text that may have several readings, of each place, and of looking for its links."""
_LETTERS_READ, _FOLDERS_SEEN = 16, 256
"""In a microsecond."""


@frozen
class Paths:
    """One `paths` block."""

    fields: Selectors
    roots: tuple[Root, ...]
    odd_roots: tuple[Root, ...]
    """Those whose own names are more than names to some program, the longest first."""
    host: Host
    allow: PathPatterns | None
    deny: PathPatterns
    follow_links: bool
    plain_names: tuple[str, ...]
    """The arguments that are read, where each field is no more than one, below roots that begin with `/`."""
    optional: bool
    """True for an implicit check of the Go AgentFence: without patterns, a call needs no path."""

    @property
    def kind(self) -> str:
        """`paths`."""
        return "paths"

    def constrained_fields(self) -> tuple[str, ...]:
        """Give the top-level names that the block reads."""
        return self.fields.top_levels

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the first path that is missing, unsafe, outside, denied or not allowed."""
        if not self.follow_links and circumstances.resolve_links is not None:
            circumstances = Circumstances(circumstances.time, None, circumstances.effort)
        if circumstances.resolve_links is None and self._surely_passes(arguments):
            return None
        texts = collect_text(self.fields, arguments, "path_missing")
        if isinstance(texts, Failure):
            return None if self.optional and self._lacks_only_text(arguments) else texts
        not_allowed: list[str] = []
        for field, text in texts:
            if self.optional and not text:
                continue
            try:
                if not self._judge_text(text, circumstances):
                    not_allowed.append(field)
            except Refused as refusal:
                return Failure(refusal.code, f"argument `{field}` {refusal.reason}", field)
        return uncovered("path_not_allowed", not_allowed, "not in the allowed paths")

    def _surely_passes(self, arguments: Arguments) -> bool:
        """Whether the arguments are as in nearly all calls, and nothing of them is refused; else take a look.

        Each path is one text that says where it is, has one reading, and is in a root and in no list
        but `allow`.
        """
        if self.fields.find_twin(arguments) is not None:
            return False
        has_path = False
        for name in self.plain_names:
            text = arguments.get(name)
            if text is None:
                continue
            if not isinstance(text, str) or not is_single(text):
                return False
            belows = below_roots(self.roots, text)
            if not belows or self.deny.find(text, belows) is not None:
                return False
            if self.allow is not None and self.allow.find(text, belows) is None:
                return False
            has_path = True
        return has_path

    def _lacks_only_text(self, arguments: Arguments) -> bool:
        """Whether the Go AgentFence would find nothing to look at; of lists and twins we make sure."""
        return self.fields.find_twin(arguments) is None and not isinstance(arguments.get("path"), list)

    def _judge_text(self, text: str, circumstances: Circumstances) -> bool:
        """Whether the allow list covers every reading; raises `Refused` when any of them is forbidden."""
        if self.host is not Host.WINDOWS and is_single(text):
            return self._judge_reading((text, text), circumstances)
        if len(text) > LONGEST:  # also to read it as a list
            raise Refused("is longer than a path can be")
        is_allowed = True
        for reading in text_readings(text):
            is_allowed = self._judge(reading, circumstances) and is_allowed
        return is_allowed

    def _judge(self, text: str, circumstances: Circumstances) -> bool:
        """Whether the allow list covers the text; raises `Refused` when any reading of it is forbidden."""
        if not text:
            raise Refused("is empty", "path_missing")
        _spend(circumstances, _COST_OF_TEXT + len(text) // _LETTERS_READ)
        is_allowed = True
        from agentfence.core.constraints.path_root_names import hide_roots  # most texts get by without

        hidden = hide_roots(text, self._odd_roots(circumstances), self.host)
        text = hidden.text
        others = OtherTexts(text, self.host)
        for index, reading in enumerate(read_path(text, self.host)):
            covers = self._judge_reading(hidden.show(reading), circumstances)
            # Where the system is unknown, only the first reading goes for every kind.
            is_allowed = is_allowed and (covers or (index > 0 and self.host is Host.UNKNOWN))
            others.add_made_of(reading[1])
        for other in others:
            _spend(circumstances, _COST_OF_TEXT + len(other) // _LETTERS_READ)
            names_another = leads_elsewhere(other, text)
            for reading in read_path(other, self.host, is_rewritten=True):
                covers = self._judge_reading(hidden.show(reading), circumstances)
                is_allowed = is_allowed and (covers or not names_another)
                others.add_made_of(reading[1])
        return is_allowed

    def _odd_roots(self, circumstances: Circumstances) -> tuple[Root, ...]:
        """Give the roots with odd names, also of those that lead to one."""
        if circumstances.resolve_links is None:
            return self.odd_roots
        odd = list(self.odd_roots)
        for root in self.roots:
            with suppress(Refused):  # what is in a root that cannot be looked at is refused by itself
                real = Root.at(self._resolve(root.place, circumstances.resolve_links))
                odd += _odd_ones([real], self.host) if real != root else ()
        return tuple(odd)

    def _judge_reading(self, reading: Reading, circumstances: Circumstances) -> bool:
        place, spelling = reading
        _spend(circumstances, _COST_OF_PLACE + len(place) // _LETTERS_READ)
        if not self.roots:
            if is_absolute(place):
                raise Refused("is absolute; only relative paths are allowed")
            return self._judge_place(place, (place,))
        if is_absolute(place):
            return self._judge_inside(place, spelling, circumstances)
        covers = [
            self._judge_inside(
                root.prefix + place if place else root.place, root.prefix + spelling, circumstances
            )
            for root in self.roots
        ]
        return covers[0]

    def _judge_inside(self, place: str, spelling: str, circumstances: Circumstances) -> bool:
        belows = below_roots(self.roots, place)
        resolve_links = circumstances.resolve_links
        if resolve_links is None:
            return self._judge_place(place, belows)
        if not belows:
            place, spelling = self._by_name_of_root(place, spelling, resolve_links)
            belows = below_roots(self.roots, place)
        is_allowed = self._judge_place(place, belows)
        # The system goes through all folders above to look at each.
        _spend(circumstances, _COST_OF_LINKS + place.count("/") ** 2 // _FOLDERS_SEEN)
        # The system follows a link before it takes the `..` behind it; some servers do not.
        for path in (place, spelling) if ".." in spelling else (place,):
            target = self._resolve(path, resolve_links)
            if target == place:
                continue
            # A pattern that begins with `/` may name a root as it is written or as it is.
            roots = (*self.roots, *self._resolved_roots(resolve_links))
            covers = self._judge_place(target, below_roots(roots, target))
            named, _ = self._by_name_of_root(target, target, resolve_links)
            if named != target:
                covers = self._judge_place(named, below_roots(self.roots, named)) or covers
            is_same = named == place and path is place
            is_allowed = is_allowed or covers if is_same else is_allowed and covers
        return is_allowed

    def _judge_place(self, place: str, belows: tuple[str, ...]) -> bool:
        if not belows:
            raise Refused("is outside the allowed folders", "path_not_allowed")
        pattern = self.deny.find(place, belows)
        if pattern is not None:
            raise Refused(f"is denied by pattern `{pattern}`", "path_denied")
        if (
            is_wild(place)
            and (pattern := self.deny.find_meeting(self._as_pattern(place), belows)) is not None
        ):
            raise Refused(f"is a pattern that may name what pattern `{pattern}` denies", "path_denied")
        if self.allow is None:
            return True
        if self.allow.find(place, belows) is None:
            return False
        # `docs/*` and `docs/??` cover the text `docs/**`, and not what it stands for.
        return "*" not in place or self.allow.find(deepen(place), map(deepen, belows)) is not None

    def _as_pattern(self, place: str) -> str:
        """Give a place as the pattern that it is below its root, whose own name is none."""
        root = next((root for root in self.odd_roots if place.startswith(root.prefix)), None)
        return place if root is None else literal_pattern(root.prefix) + place[root.length :]

    def _by_name_of_root(self, place: str, spelling: str, resolve_links: LinkResolver) -> Reading:
        """Give a place below where a root leads as the policy spells it: `/tmp/x` for `/private/tmp/x`."""
        for root, real in zip(self.roots, self._resolved_roots(resolve_links), strict=True):
            for below in below_roots((real,), place):
                if below_roots((real,), spelling):
                    return root.prefix + below if below else root.place, root.prefix + spelling[real.length :]
        return place, spelling

    def _resolved_roots(self, resolve_links: LinkResolver) -> Iterator[Root]:
        for root in self.roots:
            yield Root.at(self._resolve(root.place, resolve_links))

    def _resolve(self, path: str, resolve_links: LinkResolver) -> str:
        try:
            target = place_of(resolve_links(path), self.host)
        except (OSError, ValueError, RuntimeError):
            target = None
        if target is None:
            raise Refused("leads through a link that cannot be followed")
        return target


def _spend(circumstances: Circumstances, cost: int) -> None:
    if not circumstances.affords(cost):
        raise Refused(TOO_MUCH)


def _odd_ones(roots: Sequence[Root], host: Host) -> tuple[Root, ...]:
    """Give those whose own names are more than names to some program, the longest first."""
    if host is not Host.WINDOWS and all(root.is_plain for root in roots):
        return ()
    from agentfence.core.constraints.path_root_names import is_odd  # few need it

    return tuple(sorted((root for root in roots if is_odd(root, host)), key=lambda root: -root.length))


def build(spec: Mapping[str, Any], context: BuildContext) -> Paths:
    """Give the constraint of a `paths` block.

    Raises:
        SpecError: a field, root or pattern cannot be used, or links cannot be followed without roots.

    """
    for key in ("roots", "allow", "deny"):
        if key in spec and not spec[key] and not context.original:
            raise SpecError((key,), f"`{key}` is empty", f"leave `{key}` out, or give it an entry")
    roots = read_roots(spec.get("roots") or (), context)
    follow_links = spec.get("follow_links")
    if follow_links and not roots:
        raise SpecError(("follow_links",), "links are followed below `roots`, and there are none")
    allow, deny = spec.get("allow") or (), spec.get("deny") or ()
    fields, host = build_fields(spec, ["path"]), host_of(roots)
    names = [field.plain for field in fields if field.plain is not None]
    compiled = partial(
        compile_path_patterns,
        original=context.original,
        host=Host.POSIX if context.original else host,
    )
    return Paths(
        fields=fields,
        roots=roots,
        odd_roots=_odd_ones(roots, host),
        host=host,
        plain_names=tuple(names) if len(names) == len(fields) and host is Host.POSIX else (),
        allow=compiled(allow, "allow", deny=False) if allow else None,
        deny=compiled(deny, "deny", deny=True),
        follow_links=bool(roots) and (context.follow_links_default if follow_links is None else follow_links),
        optional=context.original and not allow and not deny,
    )
