"""Whatever the gate lets through runs no denied tool in any reading that a server might use."""

from __future__ import annotations

import random

import pytest
from fuzz.messages import DENIED, MUTATIONS, message
from fuzz.readings import calls_seen
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import Talk

from agentfence.core.effects import Answer, Drop, Forward, Record
from agentfence.core.session import Transport

TRANSPORTS = (Transport.HTTP, Transport.STDIO)
POLICY = 'version: "1"\ndefaults: {decision: deny}\ntools: {read_file: allow, delete_file: deny}\n'


def check(octets: bytes, transport: Transport, on_batch: str) -> None:
    """The invariants of one message: what goes on is harmless, and there is at most one outcome."""
    effects = Talk(POLICY, {"on_batch": on_batch}, transport=transport).agent(octets)
    outcomes = [effect for effect in effects if not isinstance(effect, Record)]

    assert len(outcomes) == 1
    assert isinstance(outcomes[0], Forward | Answer | Drop)
    if isinstance(outcomes[0], Forward):
        reads_lines = transport is Transport.STDIO
        assert DENIED not in calls_seen(outcomes[0].body, reads_lines=reads_lines)
        assert transport is Transport.HTTP or not set(outcomes[0].body) & set(b"\r\n")


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("on_batch", ["reject", "evaluate"])
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_each_mutation_is_harmless(mutation: object, on_batch: str, transport: Transport) -> None:
    for seed in range(40):
        check(mutation(random.Random(seed)), transport, on_batch)  # type: ignore[operator]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.binary(max_size=3), max_size=3),
    transport=st.sampled_from(TRANSPORTS),
)
def test_mutations_of_mutations_are_harmless(seed: int, cuts: list[bytes], transport: Transport) -> None:
    chance = random.Random(seed)
    octets = message(seed)
    for inserted in cuts:
        place = chance.randint(0, len(octets))
        octets = octets[:place] + inserted + octets[place:]
    check(octets, transport, "evaluate")


@settings(max_examples=200, deadline=None)
@given(octets=st.binary(max_size=200), transport=st.sampled_from(TRANSPORTS))
def test_any_bytes_have_one_outcome(octets: bytes, transport: Transport) -> None:
    check(octets, transport, "reject")


def test_the_readings_find_what_servers_find() -> None:
    found = {
        mutation.__name__
        for mutation in MUTATIONS
        if any(DENIED in calls_seen(mutation(random.Random(seed))) for seed in range(40))
    }

    # A mutation in which no reading sees the denied tool would prove nothing.
    assert {mutation.__name__ for mutation in MUTATIONS} - found == {"deep", "overlong"}
