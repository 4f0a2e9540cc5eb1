"""Regular expressions of this package that are compiled when they are first used.

To compile them takes a tenth of a start, and most starts use few. What a policy brings is compiled when
it is loaded, so that a mistake shows at once.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable


def late_regex[Text: (str, bytes)](expression: Text, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[Text]:
    """Give what acts as the compiled expression, and is compiled when it is first asked for anything."""
    return cast("re.Pattern[Text]", _Late(partial(re.compile, expression, flags)))


class _Late:
    def __init__(self, compile_it: Callable[[], object]) -> None:
        self._compile_it = compile_it

    def __getattr__(self, name: str) -> Any:
        """Give a method of the compiled expression, and keep it: the next time it is simply there."""
        found = getattr(self._compile_it(), name)
        setattr(self, name, found)
        return found
