"""`agentfence completion`: every verb and option is in each script, and bash completes with its own."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from cli.commanding import run

from agentfence.cli.commands import all_commands
from agentfence.cli.completion import SHELLS, script_for
from agentfence.cli.main import VERBS


def complete(*words: str) -> list[str]:
    """What bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in ("agentfence", *words))
    program = (
        f"{script_for('bash')}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _agentfence\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ended = subprocess.run(["bash", "-uc", program], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_script_names_every_verb_and_every_option(shell):
    ended = run("completion", shell)

    assert ended.status == 0
    for command in all_commands():
        assert all(word in ended.out for word in command.path)
        for option in command.options:
            assert all(flag.lstrip("-") in ended.out for flag in option.flags)
            assert all(word in ended.out for word in option.words)


def test_commands_are_all_verbs_the_relays_options_too():
    commands = {command.path: command for command in all_commands()}

    assert {path[0] for path in commands if path} == set(VERBS)
    assert set(VERBS) == set(commands[()].words)
    assert ("audit", "verify") in commands
    assert {"--policy", "--server"} <= {flag for o in commands[("proxy",)].options for flag in o.flags}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ch"], ["check"]),
        (["check", "--out"], ["--output"]),
        (["check", "--output", ""], ["text", "json", "jsonl"]),
        (["check", "--policy", ""], []),
        (["check", ""], []),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["audit", "ver"], ["verify"]),
        (["proxy", "--on-batch", "e"], ["evaluate"]),
        (["--ver"], ["--version"]),
    ],
)
def test_bash_completes(words, offered):
    assert complete(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_one_that_its_shell_reads(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script_for(shell))

    assert subprocess.run([shell, "-n", file], capture_output=True, check=False).returncode == 0


def test_quotes_and_brackets_in_help_do_not_end_a_word():
    for shell in ("zsh", "fish"):
        for line in script_for(shell).splitlines():
            assert line.replace("'\\''", "").count("'") % 2 == 0


def test_other_shells_are_refused():
    assert run("completion", "tcsh").status == 2
