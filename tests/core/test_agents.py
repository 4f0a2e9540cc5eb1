from __future__ import annotations

import pytest

from agentfence.core.agents import _MAX_AGENTS_OF_ONE, Agent, Agents, agent_of, network_of


@pytest.mark.parametrize(
    ("user", "chooses_user", "agent"),
    [
        ("ann", False, Agent("user:ann", "user:ann", is_identified=True)),
        ("ann", True, Agent("user:ann", "net:4:c00002", is_identified=False)),
        (None, False, Agent("address:192.0.2.7", "net:4:c00002", is_identified=False)),
    ],
)
def test_agent_is_a_user_that_was_checked_or_an_address(
    user: str | None, chooses_user: bool, agent: Agent
) -> None:
    assert agent_of(user, "192.0.2.7", chooses_user=chooses_user) == agent


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "127.9.9.9", "::1", "::ffff:127.0.0.3"])
def test_agent_sheds_nothing_by_another_address_of_this_machine(address: str) -> None:
    """What came back to it counts for what it sends from there, and so do its rates."""
    agents, first = Agents(), agent_of(None, "127.0.0.1", chooses_user=False)
    second = agent_of(None, address, chooses_user=False)

    assert second.client == "address:127.0.0.1"
    assert agents.session_of(second) is agents.session_of(first)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("127.0.0.1", "127.9.9.9", True),
        ("127.0.0.1", "::1", True),
        ("::ffff:127.0.0.1", "::1", True),
        ("192.0.2.1", "192.0.2.254", True),
        ("192.0.2.1", "192.0.3.1", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("unknown", "unknown", True),
    ],
)
def test_addresses_that_one_machine_may_have_are_one_network(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) is same


def test_agent_keeps_its_session_while_another_comes_under_many_names() -> None:
    agents = Agents()
    victim = agent_of(None, "192.0.2.1", chooses_user=False)
    session = agents.session_of(victim)
    for number in range(2 * _MAX_AGENTS_OF_ONE):
        agents.session_of(agent_of(f"name {number}", "127.0.0.1", chooses_user=True))

    assert agents.session_of(victim) is session
    assert len(agents._sessions) == 1 + _MAX_AGENTS_OF_ONE


def test_agents_share_the_room_for_taint() -> None:
    agents = Agents()
    memories = [
        agents.session_of(Agent(f"user:{number}", f"user:{number}", is_identified=True)).taint
        for number in range(32)
    ]
    shingles = [hash(str(number)) for number in range(40_000)]
    for memory in memories:
        memory.remember("web/fetch", shingles)

    assert sum(memory.places for memory in memories) <= 1 << 25
    assert memories[0].is_empty
    assert not memories[-1].is_empty
