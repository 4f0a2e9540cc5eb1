"""Options of the fence mean what was given, also where the host would make something else of it."""

from __future__ import annotations

from typing import Any

import pytest
from mitmproxy.addonmanager import Loader
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from agentfence.mitm.entry import Guard


def loaded(*specs: str, **in_config: Any) -> tuple[Guard, Any]:
    """A guard and the host's options, after those were given before the guard declared its own."""
    guard = Guard(*(None,) * 3)  # type: ignore[arg-type]  # nothing is judged
    with taddons.context(Proxyserver()) as host:
        host.options.update_defer(**in_config)
        host.options.set(*specs, defer=True)
        guard.load(Loader(host.master))
        host.options.process_deferred()
        return guard, host.options


@pytest.mark.parametrize(
    ("given", "text"), [("x y", "x y"), (5, "5"), (2.5, "2.5"), (True, "true"), (False, "false"), ("", "")]
)
def test_value_in_the_hosts_configuration_is_the_text_that_it_means(given: object, text: str) -> None:
    guard, options = loaded(agentfence_max_body=given)

    assert (options.agentfence_max_body, guard._misgiven) == (text, {})


@pytest.mark.parametrize(
    ("specs", "in_config", "got"),
    [
        (["agentfence_policy"], {}, "none"),
        (["agentfence_policy=a", "agentfence_policy=b"], {}, "2 values"),
        ([], {"agentfence_policy": None}, "none"),
        ([], {"agentfence_policy": ["a", "b"]}, "a list"),
        ([], {"agentfence_policy": {"a": 1}}, "a mapping"),
    ],
)
def test_option_without_one_value_is_kept_for_the_start_to_end(
    specs: list[str], in_config: dict[str, Any], got: str
) -> None:
    guard, options = loaded(*specs, **in_config)

    assert (options.agentfence_policy, guard._misgiven) == (None, {"agentfence_policy": got})


def test_other_options_are_left_to_the_host() -> None:
    guard, options = loaded("agentfence_polcy", "other=1")

    assert (guard._misgiven, set(options.deferred)) == ({}, {"agentfence_polcy", "other"})
