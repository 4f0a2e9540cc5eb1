"""AgentFence: the policy firewall for MCP.

Nothing is imported here: `python -m agentfence.stdio` starts often, and pays for every import.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__"]
