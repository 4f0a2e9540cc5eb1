"""`agentfence init`: policies to start from, which hold what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli.commanding import run

from agentfence.cli import init

SERVERS = init._packaged()


@pytest.mark.parametrize("servers", [[], *[[name] for name in SERVERS], SERVERS], ids="+".join)
def test_starter_has_no_fault_passes_its_tests_and_tests_each_of_its_rules(servers):
    options = ["--server", ",".join(servers)] if servers else []

    assert run("init", *options).status == 0
    assert run("validate", "agentfence.yaml", "--strict").out == "agentfence.yaml: ok\n"
    tested = run("test", "agentfence.yaml")
    assert (tested.status, "no test touches" in tested.out) == (0, False), tested.out


def test_starter_is_commented_and_names_its_own_file():
    run("init", "mine.yaml", "--server", "filesystem")
    text = Path("mine.yaml").read_text()

    assert 'imports: ["agentfence:filesystem"]' in text
    assert "agentfence test mine.yaml" in text
    assert "agentfence.yaml" not in text
    assert sum(line.lstrip().startswith("#") for line in text.splitlines()) >= 10


def test_servers_can_be_listed_in_several_ways_and_count_once():
    out = run("init", "-", "--server", "git, github", "--server", "git").out

    assert 'imports: ["agentfence:git", "agentfence:github"]' in out


def test_file_that_is_there_is_not_overwritten():
    Path("agentfence.yaml").write_text("mine")
    ended = run("init")

    assert ended.status == 2
    assert "not overwritten" in ended.err
    assert Path("agentfence.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    "verb", [["init"], ["audit", "keygen", "--private", "agentfence.yaml", "--public", "public.pem"]]
)
def test_file_that_cannot_be_written_whole_is_not_left_behind(verb):
    limited = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", sys.executable, "-m", "agentfence", *verb]
    ended = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)

    assert (ended.returncode, "File too large" in ended.stderr, "Traceback" in ended.stderr) == (
        2,
        True,
        False,
    )
    assert [*Path().iterdir()] == []


def test_link_to_nowhere_is_not_written_through():
    Path("agentfence.yaml").symlink_to("elsewhere.yaml")

    assert run("init").status == 2
    assert not Path("elsewhere.yaml").exists()


def test_unknown_servers_are_said_with_those_that_are_known():
    assert "did you mean `github`" in run("init", "--server", "githb").err
    ended = run("init", "--server", "?")
    assert ended.status == 2
    assert all(name in ended.err for name in SERVERS)
    assert not Path("agentfence.yaml").exists()


def test_folder_that_is_not_there_is_said():
    assert run("init", "no/such/policy.yaml").status == 2


def test_policies_that_are_used_as_they_are_are_no_servers():
    assert "default" not in SERVERS
    assert {"filesystem", "github", "git", "shell"} <= set(SERVERS)


def test_name_that_is_no_text_is_spelled_out():
    assert run("init", "\udcff.yaml").status == 0
    assert "agentfence test \\u{dcff}.yaml" in Path("\udcff.yaml").read_text()
