"""Commands that run in a place of their own. Most cases are in the tables of test_command.py."""

from __future__ import annotations

import pytest

from agentfence.core.constraints.command_launchers import INSIDE, INSIDE_AT_ONCE
from agentfence.core.constraints.command_places import find_inside
from agentfence.core.constraints.shell_words import Word


def inside(line):
    name, *texts = line.split(" ")
    words = [Word(text, is_known="$" not in text) for text in texts]
    return [" ".join(word.text for word in command) for command in find_inside(name, words)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("docker exec -it -u root c a b", ["a b"]),
        ("docker run --rm image", []),
        ("docker run --rm image --option", []),
        ("docker run --rm image a -x", ["a -x"]),
        ("docker run --entrypoint a image -x", ["a -x"]),
        ("docker run --entrypoint=a image b", ["b", "a b"]),
        ("docker run --odd v image a", ["image a", "a"]),
        ("docker exec $x a b", ["a b", "b"]),
        ("docker exec c $x", ["$x"]),
        ("docker --context x container exec c a", ["a"]),
        ("docker compose -f x exec web a", ["a"]),
        ("docker rm c", []),
        ("docker", []),
        ("kubectl exec p -c main -- a b", ["a b"]),
        ("kubectl exec p a", ["a"]),
        ("kubectl delete p", []),
        ("k3s kubectl exec p -- a", ["a"]),
        ("lxc exec c -- a", ["a"]),
        ("ip netns exec n a", ["a"]),
        ("poetry run a", ["a"]),
        ("screen -dmS x a b", ["a b"]),
        ("mosh h -- a", ["a"]),
        ("ls exec c a", []),
    ],
)
def test_command_is_found_behind_what_names_its_place(line, expected):
    assert expected == inside(line)


@pytest.mark.parametrize("name", [*INSIDE, *INSIDE_AT_ONCE])
def test_program_alone_runs_nothing(name):
    assert find_inside(name, []) == []
