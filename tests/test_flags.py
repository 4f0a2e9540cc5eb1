"""Flags of the relay: those that are read without argparse mean what argparse says."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.flags import TOGGLES, given_options, read_plain_flags
from agentfence.relay_start import command_line
from agentfence.settings import OPTIONS

FLAGS = [option.flag for option in OPTIONS]
SWITCHES = [
    "--no-interactive",
    *(f"--{no}{name.replace('_', '-')}" for name in TOGGLES for no in ("", "no-")),
]
VALUES = ["a", "a b", "a=b", "1", "-1", "", "-", "--mode", "=", "é", "@f", "true", "%"]
WORDS = [
    *FLAGS,
    *SWITCHES,
    *(f"{flag}={value}" for flag in FLAGS for value in ("x", "", "-x", "a=b")),
    *VALUES,
]


@given(
    st.lists(
        st.sampled_from([*WORDS, "--polic", "--help", "-h", "--unknown", "--tamper-evident=true"]), max_size=6
    )
)
@settings(max_examples=500, deadline=None)
@example(["--policy", "a", "--policy=b"])
@example(["--approver", "tty", "--no-interactive"])
@example(["--no-interactive", "--approver", "tty"])
@example(["--policy=", "a"])
@example(["--policy"])
@example(["--on-unparsed", "reject"])
def test_plain_flags_are_read_as_argparse_reads_them(arguments):
    read = read_plain_flags(arguments)

    if read is not None:
        assert read == given_options(command_line().parse_args(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--policy", "p.yaml", "--log-level", "quiet", "--watch-policy"],
        ["--max-body=1", "--no-tamper-evident", "--no-interactive"],
    ],
)
def test_usual_flags_need_no_argparse(arguments):
    assert read_plain_flags(arguments) is not None


@pytest.mark.parametrize(
    "arguments", [["--help"], ["x"], ["--mode"], ["--mode="], ["--mode", "--policy"], ["--mod", "x"]]
)
def test_mistakes_are_left_to_argparse(arguments):
    assert read_plain_flags(arguments) is None
