"""Where servers were met: what is known of one goes on under the name that a changed policy has for it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from agentfence.core.http.traffic import Held, Watched
from agentfence.core.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.http.message import HttpRequest
    from agentfence.core.http.traffic import Sorter
    from agentfence.core.session import Conversation

_MOST: Final = 1_000
_LONGEST_TARGET: Final = 4_096


class Peers:
    """One place of each server, by what it is known by (`Conversation.peer`); bounded, oldest out first."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        """Know none yet."""
        self._places: OrderedDict[str, tuple[str, HttpRequest]] = OrderedDict()

    def meet(self, conversation: Conversation, request: HttpRequest) -> None:
        """Keep where a server is to which a message goes, if that is not known."""
        if conversation.peer in self._places or len(request.target) > _LONGEST_TARGET:
            return
        headers = tuple(field for field in request.headers if field[0].lower() in {"host", "content-type"})
        self._places[conversation.peer] = conversation.origin, replace(request, headers=headers)
        if len(self._places) > _MOST:
            self._places.popitem(last=False)

    def renamed(self, sorter: Sorter) -> Mapping[str, str]:
        """Give what each server is known by once `sorter` sorts, where that is another name."""
        names: dict[str, str] = {}
        for peer, (origin, request) in self._places.items():
            where = sorter.sort(request)
            server = where.server if isinstance(where, Held | Watched) else None
            names[peer] = origin if server is None else server
        return {before: now for before, now in names.items() if before != now}

    def rename(self, names: Mapping[str, str]) -> None:
        """Go on under other names."""
        places = self._places.items()
        self._places = OrderedDict((names.get(peer, peer), place) for peer, place in places)
