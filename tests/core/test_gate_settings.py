from __future__ import annotations

from agentfence.core.gate_settings import GateSettings
from agentfence.settings import read_settings


def test_defaults_are_those_of_the_options() -> None:
    assert read_settings({}, {}).gate == GateSettings()
