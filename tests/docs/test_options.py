"""docs/http.md and docs/stdio.md name every option and every exit status."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from docs.option_tables import GENERATED
from docs.pages import code, read, section, tables

from agentfence import relay_start, starting
from agentfence.cli import proxy_http
from agentfence.core import errors
from agentfence.mitm import host_options

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("page", "mark"), GENERATED)
def test_table_is_made_from_the_code(page: str, mark: str) -> None:
    """`docs/option_tables.py` prints what must stand there."""
    found = re.search(rf"<!-- {mark} -->\n\n(.*?)\n\n<!-- end -->", read(page), re.DOTALL)

    assert found is not None
    assert found[1] == GENERATED[page, mark]()


def test_every_flag_of_the_proxy_is_documented() -> None:
    parser = argparse.ArgumentParser()
    proxy_http.add_arguments(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")}

    missing = {
        flag for flag in flags - {"--help"} if f"{flag}`" not in read("docs/http.md").replace(" ", "`")
    }

    assert missing == set()


def test_every_mode_of_the_host_is_documented() -> None:
    text = section(read("docs/http.md"), "mitmproxy's own options")

    assert all(f"`{mode}`" in text for mode in host_options.MODES)


def statuses_of(page: str) -> list[str]:
    (table,) = tables(section(read(page), "Exit status"))
    return [row[0] for row in table]


def test_every_exit_status_is_documented() -> None:
    raised = {
        str(kind.exit_status)
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.AgentFenceError)
        and kind not in {errors.AgentFenceError, errors.ProtocolViolation}
    }
    own = {str(status) for status in (relay_start.OWN_FAILURE, starting.CANNOT_RUN, starting.NOT_FOUND)}

    assert set(statuses_of("docs/stdio.md")) == {"the server's", "128 + N"} | raised | own
    assert set(statuses_of("docs/http.md")) == {"0", "1"} | raised


ENDINGS = {
    "the server's": (["--", "sh", "-c", "exit 7"], 7),
    "128 + N": (["--", "sh", "-c", "kill -9 $$"], 137),
    "2": (["--max-body", "0", "--", "true"], 2),
    "3": (["--policy", "nowhere.yaml", "--", "true"], 3),
    "4": (["--audit-log", "/nowhere/log", "--", "true"], 4),
    "126": (["--", "/"], 126),
    "127": (["--", "/nowhere"], 127),
}


@pytest.mark.parametrize("status", ENDINGS)
def test_relay_ends_with_the_status_of_the_page(status: str, tmp_path: Path) -> None:
    arguments, expected = ENDINGS[status]
    log = ["--audit-log", str(tmp_path / "log")] if "--audit-log" not in arguments else []

    ended = subprocess.run(
        [sys.executable, "-m", "agentfence.stdio", *log, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )

    assert status in statuses_of("docs/stdio.md")
    assert ended.returncode == expected
    assert ended.stdout == b""


def test_codes_in_the_forced_table_are_options() -> None:
    (table,) = tables(section(read("docs/http.md"), "mitmproxy's own options"))

    assert {code(row[0]) for row in table} == set(host_options.FORCED)
