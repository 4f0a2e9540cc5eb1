"""The public conformance suite finds through the fence what it finds without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from e2e.fence import ALLOW_ALL, LAUNCHES, Launch, start_proxy
from e2e.parts import Requirements, run_conformance, start_conformance_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def conformance_server() -> Iterator[str]:
    with start_conformance_server() as url:
        yield url


@pytest.fixture(scope="module", params=[("2025-11-25", 84), ("2026-07-28", 164)], ids=lambda param: param[0])
def direct(request: pytest.FixtureRequest, conformance_server: str) -> tuple[Requirements, set[str]]:
    """The requirements, and the checks that pass without the fence: all that there are."""
    requirements, count = request.param
    passing = run_conformance(conformance_server, requirements)
    assert len(passing) == count
    return requirements, passing


@pytest.mark.parametrize("launch", LAUNCHES)
def test_conformance_is_the_same_through_the_fence(
    direct: tuple[Requirements, set[str]], launch: Launch, conformance_server: str, tmp_path: Path
) -> None:
    requirements, passing = direct
    upstream = conformance_server.removesuffix("/mcp")
    with start_proxy(tmp_path, launch=launch, upstream=upstream, policy=ALLOW_ALL) as proxy:
        assert run_conformance(f"{proxy.origin}/mcp", requirements) == passing
