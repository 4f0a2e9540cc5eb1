from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.errors import UsageError
from agentfence.core.policy.model import Server
from agentfence.core.servers import check_given_name, name_of_command


@pytest.mark.parametrize(
    ("patterns", "command", "fits"),
    [
        (["npx", "**", "@scope/server*", "**"], ["npx", "-y", "@scope/server@1.2", "/work"], True),
        (["npx", "**", "@scope/server*", "**"], ["npx", "@scope/server"], True),
        (["npx", "**", "@scope/server*", "**"], ["npx", "-y", "@other/server"], False),
        (["npx", "server"], ["npx", "server", "more"], False),
        (["npx", "server"], ["npx"], False),
        (["*"], ["/usr/bin/server"], True),
        (["**"], [], True),
        (["**", "a"], ["b", "a", "a"], True),
        (["a", "**", "**", "b"], ["a", "b"], True),
        (["b", "**"], ["a"], False),
        (["a"], [], False),
    ],
)
def test_command_is_covered_word_by_word(patterns: list[str], command: list[str], fits: bool) -> None:
    server = Server("files", command=tuple(patterns))

    assert name_of_command([server], command) == ("files" if fits else None)


def test_first_server_that_covers_the_command_gives_its_name() -> None:
    servers = [
        Server("http", url="https://a"),
        Server("one", command=("a", "**")),
        Server("two", command=("**",)),
    ]

    assert name_of_command(servers, ["a", "b"]) == "one"
    assert name_of_command(servers, ["b"]) == "two"
    assert name_of_command([], ["b"]) is None


words = st.sampled_from(["a", "b", "ab"])


@given(
    st.lists(words | st.sampled_from(["**", "a*", "*"]), min_size=1, max_size=4), st.lists(words, max_size=5)
)
def test_any_number_of_words_means_any_number(patterns: list[str], command: list[str]) -> None:
    counts = [range(len(command) + 1) if pattern == "**" else [1] for pattern in patterns]
    fits = False
    for lengths in itertools.product(*counts):
        if sum(lengths) != len(command):
            continue
        rest = iter(command)
        parts = [list(itertools.islice(rest, length)) for length in lengths]
        fits = fits or all(
            pattern == "**" or compile_glob(pattern, separator=None).matches(part[0])
            for pattern, part in zip(patterns, parts, strict=True)
        )

    assert (name_of_command([Server("s", command=tuple(patterns))], command) == "s") is fits


@pytest.mark.parametrize(("names", "given"), [(["files"], "files"), ([], "files"), ([], "a.b-c")])
def test_name_that_rules_can_be_for_may_be_given(names: list[str], given: str) -> None:
    check_given_name([Server(name) for name in names], given)


@pytest.mark.parametrize(("names", "given"), [(["files"], "flies"), ([], "a/b"), ([], "a*")])
def test_name_that_no_rule_could_be_for_is_refused(names: list[str], given: str) -> None:
    with pytest.raises(UsageError, match="--server must be"):
        check_given_name([Server(name) for name in names], given)
