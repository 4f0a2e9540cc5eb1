"""What MCP over HTTP needs besides JSON-RPC: the rules for heads, and which traffic is MCP at all.

Not here: connections, streams and the host's own types; `agentfence.mitm` has those.
"""
