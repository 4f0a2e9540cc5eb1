"""Everything that spares mitmproxy work which it does again and again (decision 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.mitm.dispatch import remember
from agentfence.mitm.framing import spare_framing
from agentfence.mitm.lookups import spare_lookups
from agentfence.mitm.part_types import spare_checks

if TYPE_CHECKING:
    from mitmproxy.addonmanager import AddonManager


def spare_work(addons: AddonManager) -> None:
    """Have the host that runs `addons` do less for the same outcome; more than once is as once."""
    remember(addons)
    spare_checks()
    spare_framing()
    spare_lookups()
