"""Options come from the command line, else from the environment, else from the table; bad ones name themselves."""

from __future__ import annotations

import argparse

import pytest

from agentfence.core.errors import UsageError
from agentfence.core.gate_settings import DenyAs, OnBatch
from agentfence.core.policy.model import Mode
from agentfence.flags import add_option_flags, given_options
from agentfence.settings import OPTIONS, meant_variable, read_settings, unknown_variables


def parse(*arguments: str, relay: bool = True) -> dict[str, str | None]:
    parser = argparse.ArgumentParser()
    add_option_flags(parser, relay=relay)
    return dict(given_options(parser.parse_args(arguments)))


def test_defaults() -> None:
    settings = read_settings({}, {})

    assert (settings.gate.max_body, settings.gate.max_batch, settings.gate.max_answer) == (
        4_194_304,
        100,
        67_108_864,
    )
    assert (settings.gate.on_batch, settings.gate.deny_as, settings.gate.mode) == (
        OnBatch.REJECT,
        DenyAs.ERROR,
        None,
    )
    assert (settings.approval_timeout, settings.audit_log, settings.tamper_evident) == (50.0, None, True)


def test_the_command_line_wins_over_the_environment() -> None:
    environment = {"AGENTFENCE_MAX_BODY": "7", "AGENTFENCE_MAX_BATCH": "8", "AGENTFENCE_MODE": "observe"}
    settings = read_settings({"max_body": "6"}, environment)

    assert (settings.gate.max_body, settings.gate.max_batch, settings.gate.mode) == (6, 8, Mode.OBSERVE)


@pytest.mark.parametrize("name", ["max_body", "max_batch", "max_answer"])
@pytest.mark.parametrize(
    "text", ["0", "-1", "1.5", "1e3", "NaN", "inf", "many", "", " ", "٣", "0x10", "9" * 30]
)
def test_a_size_that_is_no_whole_number_above_zero(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=name.replace("_", "[-_]")):
        read_settings({name: text}, {})


@pytest.mark.parametrize("text", ["0", "-1", "NaN", "inf", "soon", "", "86401"])
def test_a_timeout_that_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match=r"approval[-_]timeout"):
        read_settings({"approval_timeout": text}, {})


@pytest.mark.parametrize(
    "option", [option for option in OPTIONS if option.choices], ids=lambda option: option.name
)
def test_a_value_that_is_no_choice(option: object) -> None:
    name = option.name  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="must be"):
        read_settings({name: "nonsense"}, {})


def test_a_variable_that_is_empty_names_itself() -> None:
    with pytest.raises(UsageError, match="AGENTFENCE_POLICY"):
        read_settings({}, {"AGENTFENCE_POLICY": ""})


@pytest.mark.parametrize("name", ["max_body", "approval_timeout", "audit_keep", "keep_flows", "mode"])
def test_a_value_that_cannot_be_used_is_called_as_it_was_given(name: str) -> None:
    with pytest.raises(UsageError, match=f"^AGENTFENCE_{name.upper()} must be"):
        read_settings({}, {f"AGENTFENCE_{name.upper()}": "x"})
    with pytest.raises(UsageError, match=f"^{name} must be"):
        read_settings({name: "x"}, {f"AGENTFENCE_{name.upper()}": "y"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(
            ("allowed_hosts", text)
            for text in ("https://a.example", "*", "a.example,*.b.example", "a b", "u@a")
        ),
        *(
            ("allowed_origins", text)
            for text in ("a.example", "*", "https://", "https://a.example/b", "://a")
        ),
    ],
)
def test_a_host_or_an_origin_that_no_request_can_have(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"{name} takes"):
        read_settings({name: text}, {})


def test_hosts_and_origins_as_requests_have_them() -> None:
    hosts, origins = (
        "a.example, b.example:80,[::1]:3",
        "https://a.example/,null,vscode-webview://x1,http://b:8",
    )
    settings = read_settings({"allowed_hosts": hosts, "allowed_origins": origins}, {})

    assert settings.allowed_hosts == ("a.example", "b.example:80", "[::1]:3")
    assert settings.allowed_origins == tuple(origins.split(","))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AGENTFENCE_POLCIY", "AGENTFENCE_POLICY"),
        ("AGENTFENCE_MAXBODY", "AGENTFENCE_MAX_BODY"),
        ("AGENTFENCE_Mode", "AGENTFENCE_MODE"),
        ("AGENTFENCE_COLOUR", None),
        ("AGENTFENCE_", None),
    ],
)
def test_a_misspelt_variable_is_told_what_it_is_meant_for(name: str, meant: str | None) -> None:
    assert meant_variable(name) == meant


def test_variables_that_set_nothing_are_named() -> None:
    known = {"AGENTFENCE_TRACEBACK": "1", "AGENTFENCE_MAX_BODY": "1", "AGENTFENCE_SERVER": "a", "PATH": "/"}

    assert unknown_variables({**known, "AGENTFENCE_POLCIY": "x", "AGENTFENCE_": ""}) == [
        "AGENTFENCE_",
        "AGENTFENCE_POLCIY",
    ]


def test_flags_become_options() -> None:
    given = parse("--max-body", "5", "--no-tamper-evident", "--no-interactive")

    assert (given["max_body"], given["tamper_evident"], given["approver"]) == ("5", "false", "deny")
    assert read_settings(given, {}).tamper_evident is False


def test_each_surface_has_its_own_flags() -> None:
    with pytest.raises(SystemExit):
        parse("--allowed-hosts", "x", relay=True)
    with pytest.raises(SystemExit):
        parse("--server", "x", relay=False)


def test_lists_are_split_at_commas() -> None:
    assert read_settings({"allowed_hosts": "a, b:1 ,,c"}, {}).allowed_hosts == ("a", "b:1", "c")
