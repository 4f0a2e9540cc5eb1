"""The tables of programs that run others. Cases are in the tables of test_command.py."""

from __future__ import annotations

from agentfence.core.constraints.command_launchers import INSIDE, INSIDE_AT_ONCE, OPTION_SCRIPTS, PREFIXES


def test_names_are_those_that_programs_are_compared_by():
    for name in (*PREFIXES, *INSIDE, *INSIDE_AT_ONCE, *OPTION_SCRIPTS):
        assert name == name.lower()


def test_a_program_has_one_way_to_run_another():
    assert not PREFIXES.keys() & {*INSIDE, *INSIDE_AT_ONCE}
    assert not INSIDE.keys() & INSIDE_AT_ONCE.keys()
