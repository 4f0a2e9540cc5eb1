"""What a run's own log is called."""

from __future__ import annotations

from uuid import UUID

from agentfence.audit.opening import _new_id


def test_each_run_has_an_id_of_its_own_that_is_a_uuid() -> None:
    ids = [_new_id() for _ in range(100)]

    assert len(set(ids)) == 100
    assert all(str(UUID(one)) == one and UUID(one).version == 4 for one in ids)
