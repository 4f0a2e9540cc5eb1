"""Every verb runs in a folder of its own, and nothing that is set around the tests reaches it."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder, which is the home folder too."""
    for name in [*os.environ]:
        if name.startswith(("AGENTFENCE_", "XDG_", "NO_COLOR")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path
