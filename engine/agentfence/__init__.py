"""AgentFence: the policy firewall for MCP.

Nothing is imported here: `python -m agentfence.stdio` starts often, and pays for every import. Nor is
`__future__`, which Python would look for in the working folder (`working_folder.py`).
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
