"""The surface for people: `agentfence …`."""
